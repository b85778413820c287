// The state of the Submit page: the draft of this tab and its validation by the service. The draft survives a visit to
// another page of the tab; it is stored nowhere.
import { computed, signal } from '@preact/signals'
import { api, download, type ImportedJobs, type Model, type Validation, type WebhookConfig } from '../api'
import { type Method, methodsOf } from '../dynamics/methods'
import { bytes } from '../format'
import { may, namedId } from '../project'
import { maxAlignmentBytes } from './alignment'
import { fromBody, toBody } from './body'
import {
  type Alignment,
  type AlignmentFile,
  alignmentProblem,
  alignmentsToUpload,
  type Draft,
  emptyDraft,
  type FormPart,
  formPart,
  type Item,
  jobName,
  newItem,
  nextKey,
  sequenceOf,
  usesAlignments,
} from './draft'
import { inTens } from './sequences'
import { chosenModels, seriesOf } from './series'

/** The draft of this tab. */
export const draft = signal<Draft>(emptyDraft())

/** The folding models; null: not loaded yet. */
export const models = signal<Model[] | Error | null>(null)
/** The ways to simulate a structure that run here. */
export const methods = signal<Method[]>([])
/** The user's webhook; null: not loaded, or there is none. */
export const webhook = signal<WebhookConfig | null>(null)

/** The service's validation of the draft; null: none yet. */
export const validation = signal<Validation | Error | null>(null)

/** The jobs imported from a file, one of which is open, and the file's name. */
export const imported = signal<(ImportedJobs & { file: string }) | null>(null)

/** Replaces fields of the draft. */
export function update(fields: Partial<Draft>) {
  draft.value = { ...draft.peek(), ...fields }
}

/** Replaces fields of one item. A function gets the current item: events may come faster than the page renders. */
export function updateItem(key: number, fields: Partial<Item> | ((item: Item) => Partial<Item>)) {
  const change = (item: Item) => ({ ...item, ...(typeof fields === 'function' ? fields(item) : fields) })
  update({ items: draft.peek().items.map((item) => (item.key === key ? change(item) : item)) })
}

/** The chosen model. */
export const model = computed(() => {
  const list = models.value
  return Array.isArray(list) ? list.find((m) => m.name === draft.value.model) : undefined
})

/** The body of POST /v1/jobs for the draft. */
export const body = computed(() => toBody(draft.value, model.value))

/** The jobs of the draft: one for each chosen model and seed. */
export const series = computed(() => {
  const list = models.value
  return Array.isArray(list) ? seriesOf(draft.value, list) : []
})

// The problems of the validation, each with the part of the form it concerns.
const problems = computed(() => {
  const v = validation.value
  if (!v || v instanceof Error) return []
  return v.errors.map(({ field, message }) => ({ message, part: formPart(field) }))
})

/** The service's messages about one part of the form. */
export const problemsOf = (matches: (part: FormPart) => boolean): string[] =>
  problems.value.filter((p) => matches(p.part)).map((p) => p.message)

/** The service's messages that belong to no field of the form. */
export const otherProblems = () => problemsOf((p) => p.part === 'none')

/** The number of items whose alignment belongs to another sequence. */
export const alignmentProblems = computed(
  () => draft.value.items.filter((item) => alignmentProblem(item) !== '').length,
)

/** Loads the models, and selects the first folding model if the draft has none. */
export async function loadModels() {
  try {
    const all = (await api.models()).data
    const list = all.filter((m) => m.kind === 'fold')
    methods.value = methodsOf(all)
    models.value = list
    if (!draft.peek().model && list[0]) update({ model: list[0].name })
  } catch (e) {
    models.value = e as Error
  }
}

/** Loads the webhook of the project, which only its managers read. */
export async function loadWebhook() {
  webhook.value = may('manager') ? await api.webhook().catch(() => null) : null
}

/** Opens a draft. If its model does not run here, the model chosen before stays. */
export function openDraft(opened: Draft) {
  const list = models.peek()
  const available = Array.isArray(list) ? list : []
  if (!available.some((m) => m.name === opened.model))
    opened.model = draft.peek().model || available[0]?.name || opened.model
  for (const item of opened.items) if (item.kind !== 'ligand') item.text = inTens(item.text)
  draft.value = opened
}

/** Opens an older job as a draft, to change it and run it again. The new job is private, also if that one is public. */
export async function openJob(id: string, run: string) {
  const view = await api.job(id, run)
  const opened = fromBody({
    name: view.job.name,
    sequences: view.sequences.map((s) => s.item),
    params: view.params as never,
    ...(view.constraints && { constraints: view.constraints }),
    ...(view.job.chatId && { chatId: view.job.chatId }),
  })
  opened.libraryItem = view.job.libraryItemId ?? ''
  if (opened.libraryItem) await loadAlignments(opened)
  openDraft(opened)
}

/** Reads the alignments of the draft's library item and attaches them to the items with the same sequence. */
async function loadAlignments(opened: Draft) {
  const library = await api.item(opened.libraryItem).catch(() => null)
  if (!library) opened.libraryItem = '' // it was deleted
  for (const file of library?.metadata.files ?? []) {
    if (!/\.a3m$/i.test(file.file_name) || file.size_bytes > maxAlignmentBytes) continue
    const alignment = await loadAlignment(opened.libraryItem, file.file_name).catch(() => null)
    const item = opened.items.find((i) => i.kind === 'protein' && alignment?.queries.includes(sequenceOf(i)))
    if (item) item.alignment = alignment
  }
}

/** Loads an alignment from the user's library. */
async function loadAlignment(libraryItem: string, fileName: string): Promise<Alignment> {
  const response = await download(await api.fileUrl(libraryItem, fileName))
  return readAlignment(fileName, await response.blob())
}

/** Reads an A3M file. Throws an Error with a sentence for the user. */
async function readAlignment(name: string, file: Blob): Promise<Alignment> {
  if (file.size > maxAlignmentBytes)
    throw new Error(`${name} has ${bytes(file.size)}; an alignment may have ${bytes(maxAlignmentBytes)}`)
  const { readA3M } = await import('../a3m')
  try {
    return { ...readA3M(await file.text()), key: nextKey(), name, file }
  } catch (e) {
    throw new Error(`${name} is not an alignment: ${(e as Error).message}`)
  }
}

/**
 * Attaches an alignment file to the item with the key, or to the protein with the same sequence; that of a complex also
 * to its other chains. If the draft is empty, the alignment's queries become its items. Throws an Error for the user if
 * the file fits no item.
 */
export async function attachAlignment(file: File, key?: number) {
  const alignment = await readAlignment(file.name, file)
  const { queries, copies } = alignment
  const { items } = draft.peek()
  const fits = (i: Item) => i.kind === 'protein' && queries.includes(sequenceOf(i))
  const first = items.find((i) => (key === undefined ? fits(i) : i.key === key))
  const isShared = (i: Item) => queries.length > 1 && fits(i) && (key === undefined || !i.alignment)
  if (!first && items.length > 0) {
    const { misfit } = await import('../a3m')
    const chains = items.filter((i) => i.kind === 'protein').map(sequenceOf)
    throw new Error(`${file.name} ${misfit(queries, chains)}`)
  }
  const added = queries.map((q, i) => ({ ...newItem('protein', inTens(q)), count: copies[i]!, alignment }))
  const attached = items.map((i) => (i === first || isShared(i) ? { ...i, alignment, msa: null } : i))
  update({ items: items.length > 0 ? attached : added })
  update({ libraryItem: '' }) // the alignments of this draft now differ from the older job's
}

/** Removes the alignment of one item, or of all. */
export function removeAlignments(key?: number) {
  const items = draft
    .peek()
    .items.map((i) => (key === undefined || i.key === key ? { ...i, alignment: null, msa: null } : i))
  update({ libraryItem: '', items })
}

// The library item of a job is in its project; in another one its alignments are uploaded again.
namedId.subscribe(() => {
  if (draft.peek().libraryItem) update({ libraryItem: '' })
})

/** The library item that holds the alignments with these keys, so that a repeated submission uploads nothing twice. */
let uploaded = { keys: '', item: '' }

/** Uploads the draft's alignments. Returns their library item, empty if none is needed, and its new files. */
export async function uploadAlignments(submitted: Draft): Promise<{ item: string; files: AlignmentFile[] }> {
  const list = models.peek()
  const chosen = Array.isArray(list) ? chosenModels(submitted, list) : []
  const files = alignmentsToUpload(submitted, chosen.find((m) => usesAlignments(submitted, m)) ?? model.peek())
  const keys = [namedId.peek(), ...files.map((f) => f.key)].join() // an item belongs to one project
  if (submitted.libraryItem || files.length === 0) return { item: submitted.libraryItem, files: [] }
  if (uploaded.keys === keys) return { item: uploaded.item, files }
  const { id } = await api.createItem(`Alignments of ${jobName(submitted)}`.slice(0, 255), 'a3m')
  try {
    for (const f of files) await api.uploadFile(id, f.fileName, f.file)
  } catch (e) {
    await api.deleteItem(id).catch(() => undefined)
    throw e
  }
  uploaded = { keys, item: id }
  return { item: id, files }
}

/** Deletes the alignments that were uploaded for a job that the service refused. */
export async function deleteUploaded(item: string) {
  if (item !== uploaded.item || !item) return
  uploaded = { keys: '', item: '' }
  await api.deleteItem(item).catch(() => undefined)
}

// The request in progress, which a newer one aborts.
let running: AbortController | undefined

/** Asks the service to validate the draft. Only the answer to the newest request counts. */
export async function validate() {
  running?.abort()
  if (draft.peek().items.length === 0 || !draft.peek().model) {
    validation.value = null
    return
  }
  const mine = new AbortController()
  running = mine
  try {
    const result = await api.validate(body.peek(), mine.signal)
    if (!mine.signal.aborted) validation.value = result
  } catch (e) {
    if (!mine.signal.aborted) validation.value = e as Error
  }
}
