// The draft of this tab: it outlives a visit to another page, and nothing else.
import { computed, signal } from '@preact/signals'
import { api, type Blocking, type Imported, type Model, type Validation, type WebhookConfig } from '../api'
import { blank, type Draft, fromBody, grouped, placeOf, type Place, toBody } from './draft'

export const draft = signal<Draft>(blank())
export const models = signal<Model[] | Error | null>(null)
export const webhook = signal<WebhookConfig | null>(null)

/** What the service says of the draft; null: nothing yet. */
export const verdict = signal<Validation | Error | null>(null)

/** A file that held several jobs, of which one is open. */
export const imported = signal<(Imported & { file: string }) | null>(null)

/** Changes the draft. */
export function edit(change: (d: Draft) => void) {
  const d = structuredClone(draft.peek())
  change(d)
  draft.value = d
}

export const model = computed(() => (Array.isArray(models.value) ? models.value.find((m) => m.name === draft.value.model) : undefined))

export const body = computed(() => toBody(draft.value, model.value))

const errors = computed<{ blocking: Blocking; place: Place }[]>(() => {
  const v = verdict.value
  return v && !(v instanceof Error) ? v.errors.map((blocking) => ({ blocking, place: placeOf(blocking.field) })) : []
})

/** What the service says of one part of the draft. */
export const saidOf = (is: (p: Place) => boolean): string[] => errors.value.filter((e) => is(e.place)).map((e) => plain(e.blocking))

/** What it says of none that is shown, or of the whole. */
export const saidElse = () => saidOf((p) => p.part === 'none')

// Beside its field a message need not say the field's address.
function plain(b: Blocking): string {
  const text = b.message.replace(/^Invalid sequence format: /, '')
  if (!b.field || !text.startsWith(b.field)) return text
  const rest = text.slice(b.field.length).replace(/^:?\s*/, '')
  const name = b.field.split('.').at(-1)!.replace(/^\w+\[\d+\]$/, '')
  return /^(is|has|must|holds|are) /.test(rest) && name ? `${name} ${rest}` : rest.charAt(0).toUpperCase() + rest.slice(1)
}

/** Reads once what the page needs besides the draft. */
export async function loadModels() {
  try {
    const list = (await api.models()).data.filter((m) => m.kind === 'fold')
    models.value = list
    if (!draft.peek().model && list[0]) edit((d) => { d.model = list[0]!.name })
  } catch (e) {
    models.value = e as Error
  }
}

export async function loadWebhook() {
  webhook.value = await api.webhook().catch(() => null)
}

/** Opens a job as a draft, with the model that is chosen where it names none that runs here. */
export function open(d: Draft) {
  const list = models.peek(), here = Array.isArray(list) ? list : []
  if (!here.some((m) => m.name === d.model)) d.model = draft.peek().model || here[0]?.name || d.model
  for (const i of d.items) if (i.kind !== 'ligand') i.text = grouped(i.text)
  draft.value = d
}

/** Opens an older job to run it changed. */
export async function openJob(id: string) {
  const view = await api.job(id)
  const d = fromBody({
    name: view.job.name, isPublic: view.job.isPublic, sequences: view.sequences.map((s) => s.item), params: view.params as never,
    ...(view.constraints && { constraints: view.constraints }), ...(view.job.chatId && { chatId: view.job.chatId }),
  })
  d.from = view.job.libraryItemId ?? ''
  open(d)
}

let running: AbortController | undefined

/** Asks the service what it thinks of the draft. Only the newest question counts. */
export async function check() {
  running?.abort()
  if (draft.peek().items.length === 0 || !draft.peek().model) {
    verdict.value = null
    return
  }
  const mine = (running = new AbortController())
  try {
    const said = await api.validate(body.peek(), mine.signal)
    if (!mine.signal.aborted) verdict.value = said
  } catch (e) {
    if (!mine.signal.aborted) verdict.value = e as Error
  }
}
