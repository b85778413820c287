// The draft of this tab: it outlives a visit to another page, and nothing else.
import { computed, signal } from '@preact/signals'
import {
  api,
  download,
  type ImportedJobs,
  type Model,
  type Validation,
  type WebhookConfig,
} from '../api'
import { bytes } from '../say'
import { mostBytes, readA3M } from './alignment'
import {
  type Alignment,
  alignmentsOf,
  blank,
  type Draft,
  fromBody,
  grouped,
  letters,
  misaligned,
  nameOf,
  newItem,
  nextKey,
  type Place,
  placeOf,
  toBody,
} from './draft'

export const draft = signal<Draft>(blank())
export const models = signal<Model[] | Error | null>(null)
export const webhook = signal<WebhookConfig | null>(null)

/** What the service says of the draft; null: nothing yet. */
export const verdict = signal<Validation | Error | null>(null)

/** A file that held several jobs, of which one is open. */
export const imported = signal<(ImportedJobs & { file: string }) | null>(null)

/** Changes the draft. */
export function edit(change: (d: Draft) => void) {
  const d = structuredClone(draft.peek())
  change(d)
  draft.value = d
}

export const model = computed(() =>
  Array.isArray(models.value) ? models.value.find((m) => m.name === draft.value.model) : undefined,
)

export const body = computed(() => toBody(draft.value, model.value))

const errors = computed<{ message: string; place: Place }[]>(() => {
  const v = verdict.value
  return v && !(v instanceof Error) ? v.errors.map((e) => ({ message: e.message, place: placeOf(e.field) })) : []
})

/** The messages of the errors in one part of the draft. */
export const saidOf = (is: (p: Place) => boolean): string[] =>
  errors.value.filter((e) => is(e.place)).map((e) => e.message)

/** What it says of none that is shown, or of the whole. */
export const saidElse = () => saidOf((p) => p.part === 'none')

/** Reads once what the page needs besides the draft. */
export async function loadModels() {
  try {
    const list = (await api.models()).data.filter((m) => m.kind === 'fold')
    models.value = list
    if (!draft.peek().model && list[0])
      edit((d) => {
        d.model = list[0]!.name
      })
  } catch (e) {
    models.value = e as Error
  }
}

export async function loadWebhook() {
  webhook.value = await api.webhook().catch(() => null)
}

/** Opens a job as a draft, with the model that is chosen where it names none that runs here. */
export function open(d: Draft) {
  const list = models.peek(),
    here = Array.isArray(list) ? list : []
  if (!here.some((m) => m.name === d.model)) d.model = draft.peek().model || here[0]?.name || d.model
  for (const i of d.items) if (i.kind !== 'ligand') i.text = grouped(i.text)
  draft.value = d
}

/** Opens an older job to run it changed. */
export async function openJob(id: string) {
  const view = await api.job(id)
  const d = fromBody({
    name: view.job.name,
    isPublic: view.job.isPublic,
    sequences: view.sequences.map((s) => s.item),
    params: view.params as never,
    ...(view.constraints && { constraints: view.constraints }),
    ...(view.job.chatId && { chatId: view.job.chatId }),
  })
  d.from = view.job.libraryItemId ?? ''
  if (d.from) await takeStored(d)
  open(d)
}

// The alignments that an older job was made with stand on its chains again.
async function takeStored(d: Draft) {
  const item = await api.item(d.from).catch(() => null)
  if (!item) d.from = '' // deleted since
  for (const f of item?.metadata.files ?? []) {
    if (!/\.a3m$/i.test(f.file_name) || f.size_bytes > mostBytes) continue
    const a = await api
      .fileUrl(d.from, f.file_name)
      .then(download)
      .then((r) => r.blob())
      .then((b) => readFile(f.file_name, b))
      .catch(() => null)
    const fits = d.items.find((i) => a && i.kind === 'protein' && letters(i.text) === a.query)
    if (fits) fits.alignment = a
  }
}

async function readFile(name: string, file: Blob): Promise<Alignment> {
  if (file.size > mostBytes)
    throw new Error(`${name} has ${bytes(file.size)}; an alignment may have ${bytes(mostBytes)}`)
  try {
    return { ...readA3M(await file.text()), key: nextKey(), name, file }
  } catch (e) {
    throw new Error(`${name} is no alignment: ${(e as Error).message}`)
  }
}

/** Puts an alignment on the chain that is meant, or on the one whose sequence it is of; where there is none yet, the sequence comes with it. */
export async function align(file: File, key?: number) {
  const a = await readFile(file.name, file)
  const d = draft.peek()
  const to = d.items.find((i) =>
    key === undefined ? i.kind === 'protein' && letters(i.text).toUpperCase() === a.query : i.key === key,
  )
  if (!to && d.items.length > 0)
    throw new Error(
      `${file.name} is of none of the chains: its first row has ${a.query.length} residues and begins with ${a.query.slice(0, 12)}`,
    )
  edit((n) => {
    n.from = '' // from now on the alignments of this draft are its own
    if (to) n.items.find((i) => i.key === to.key)!.alignment = a
    else n.items.push({ ...newItem('protein', grouped(a.query)), alignment: a })
  })
}

let brought = { keys: '', item: '' }

/** The library item that the job is made from: its own alignments, which are put there first, or that of an older job. */
export async function bring(d: Draft): Promise<string> {
  const files = alignmentsOf(d, model.peek()),
    keys = files.map((f) => f.key).join()
  if (d.from || files.length === 0) return d.from
  if (brought.keys === keys) return brought.item
  const { id } = await api.createItem(`Alignments of ${nameOf(d)}`.slice(0, 255), 'a3m')
  try {
    for (const f of files) await api.uploadFile(id, f.stored, f.file)
  } catch (e) {
    await api.deleteItem(id).catch(() => undefined)
    throw e
  }
  brought = { keys, item: id }
  return id
}

/** Takes back what was brought for a job that was refused. */
export async function takeBack(item: string) {
  if (item !== brought.item || !item) return
  brought = { keys: '', item: '' }
  await api.deleteItem(item).catch(() => undefined)
}

/** How many chains have an alignment that is not theirs. */
export const misfits = computed(() => draft.value.items.filter((i) => misaligned(i) !== '').length)

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
