// A batch that is being prepared, as it is typed, and the request that it makes. No page, no network.
import type { BatchKind, CreateBatch, FieldError, Kind, Model } from '../api'
import { paramsBody } from '../submit/body'
import type { Settings } from '../submit/ModelSettings'
import { parseSeeds } from '../submit/series'
import { readComplex, readLigands, readRows, type Source } from './input'
import { kindNames } from './kinds'

/** A text, and the name of the file that it is from; empty: it was typed. */
export interface Text {
  text: string
  file: string
}

/** The sources of a batch that are tables or lists. */
export type SourceName = 'jobs' | 'binders' | 'targets' | 'ligands'

/** A batch that is not created yet. All is as the user typed it. */
export interface Draft extends Settings, Record<SourceName, Text> {
  name: string
  kind: BatchKind
  isPublic: boolean
  /** Whether to notify the user's webhook; null: the webhook's default. */
  notify: boolean | null
  /** Whether each row has an event of its own, besides that of the batch. */
  notifyRows: boolean
  /** The kind of sequences without a declared kind. */
  molecule: Exclude<Kind, 'ligand'>
  complex: string
  upperTriangle: boolean
  self: boolean
  affinity: boolean
  chain: string
  mutations: string
  scanFrom: string
  scanTo: string
  scanResidues: string
  seeds: string
  /** A batch from a file, instead of the forms. */
  file: { name: string; body: Partial<CreateBatch> & Pick<CreateBatch, 'kind'> } | null
}

const noText: Text = { text: '', file: '' }

/** A draft without rows. */
export const emptyDraft = (): Draft => ({
  name: '',
  kind: 'list',
  model: '',
  params: {},
  isPublic: false,
  notify: null,
  notifyRows: false,
  molecule: 'protein',
  jobs: noText,
  binders: noText,
  targets: noText,
  ligands: noText,
  complex: '',
  upperTriangle: true,
  self: false,
  affinity: false,
  chain: '',
  mutations: '',
  scanFrom: '',
  scanTo: '',
  scanResidues: '',
  seeds: '',
  file: null,
})

/** The content of a text, or why it could not be read. */
export interface Parsed<T> extends Source<T> {
  error: string
}

/** Reads a source. A text that cannot be read has no entries. */
function attempt<T>(read: () => Source<T>): Parsed<T> {
  try {
    return { ...read(), error: '' }
  } catch (e) {
    return { entries: [], lines: [], error: (e as Error).message }
  }
}

export const parseRows = (text: string, kind: Kind) => attempt(() => readRows(text, kind))
export const parseLigands = (text: string, affinity: boolean) => attempt(() => readLigands(text, affinity))

/** The parsed sources of a draft. */
export interface Sources {
  jobs: ReturnType<typeof parseRows>
  binders: ReturnType<typeof parseRows>
  targets: ReturnType<typeof parseRows>
  ligands: ReturnType<typeof parseLigands>
}

// The sources of each kind.
const sourcesOf: Record<BatchKind, SourceName[]> = {
  list: ['jobs'],
  matrix: ['binders', 'targets'],
  ligands: ['ligands'],
  variants: [],
  seeds: [],
}

/** Why a draft cannot be checked yet: it lacks something, or a text cannot be read. Empty: it can. */
export function missing(draft: Draft, sources: Sources): string {
  if (draft.file) return ''
  const unreadable = sourcesOf[draft.kind].find((name) => sources[name].error)
  if (unreadable)
    return `The ${unreadable === 'jobs' ? 'rows' : unreadable} cannot be read: ${sources[unreadable].error}.`
  const [first] = sourcesOf[draft.kind]
  if (first && sources[first].entries.length === 0)
    return first === 'jobs' ? 'Add rows to begin.' : `Add ${first} to begin.`
  const needsComplex = draft.kind === 'ligands' || draft.kind === 'variants' || draft.kind === 'seeds'
  if (needsComplex && draft.complex.trim() === '') return 'Add the complex to begin.'
  if (draft.kind === 'variants' && !draft.mutations.trim() && !draft.scanFrom.trim()) return 'Add mutations or a scan.'
  if (draft.kind === 'seeds' && !draft.seeds.trim()) return 'Add seeds, or how many.'
  return ''
}

/** The name of a batch: as typed, else that of its file, else of its kind. */
export function batchName(draft: Draft): string {
  const file = draft.file?.name || sourcesOf[draft.kind].map((name) => draft[name].file).find(Boolean) || ''
  return (
    draft.name.trim() || draft.file?.body.name || file.replace(/\.[^.]*$/, '').slice(0, 255) || kindNames[draft.kind]
  )
}

/** The whole number that a text is; else the text, which the service refuses with a message. */
const toInteger = (text: string) => (/^\s*\d+\s*$/.test(text) ? Number(text) : text) as number

/** The fields of a kind. */
function kindBody(draft: Draft, sources: Sources): Partial<CreateBatch> {
  const sequences = draft.complex
  switch (draft.kind) {
    case 'list':
      return { jobs: sources.jobs.entries }
    case 'matrix':
      return {
        binders: sources.binders.entries,
        ...(sources.targets.entries.length > 0
          ? { targets: sources.targets.entries }
          : { upperTriangle: draft.upperTriangle, self: draft.self }),
      }
    case 'ligands':
      return { sequences: readComplex(sequences), ligands: sources.ligands.entries }
    case 'variants': {
      const mutations = draft.mutations.split(/[\s,;]+/).filter(Boolean)
      return {
        sequences: readComplex(sequences),
        ...(draft.chain.trim() && { chain: draft.chain.trim() }),
        ...(mutations.length > 0 && { mutations }),
        ...(draft.scanFrom.trim() && {
          scan: {
            from: toInteger(draft.scanFrom),
            to: toInteger(draft.scanTo || draft.scanFrom),
            ...(draft.scanResidues.trim() && { residues: draft.scanResidues.trim() }),
          },
        }),
      }
    }
    case 'seeds': {
      const count = /^\s*(\d+)\s+seeds?\s*$/.exec(draft.seeds)
      return {
        sequences: readComplex(sequences),
        ...(count ? { seedCount: Number(count[1]) } : { seeds: parseSeeds(draft.seeds) }),
      }
    }
  }
}

/** The request of a draft. */
export function toBatch(draft: Draft, sources: Sources, model?: Model): CreateBatch {
  const common = { name: batchName(draft), ...(draft.isPublic && { isPublic: true }) }
  const webhooks = webhooksBody(draft)
  const settings = { params: paramsBody(draft, model), ...(webhooks && { webhooks }) }
  if (draft.file) return { ...settings, ...draft.file.body, ...common }
  return { ...common, kind: draft.kind, ...settings, ...kindBody(draft, sources) }
}

/** The receiver of notifications; undefined: the default of the user's webhook decides. */
function webhooksBody({ notify, notifyRows }: Draft) {
  if (notify === null && !notifyRows) return undefined
  return {
    ...(notify !== null && { custom_http: { enabled: notify } }),
    ...(notify !== false && notifyRows && { rows: true }),
  }
}

/** The size of the texts of a draft in characters, which bounds that of its request. */
export const sizeOf = (draft: Draft) =>
  draft.jobs.text.length + draft.binders.text.length + draft.targets.text.length + draft.ligands.text.length

/** A fault with the place in the text at which it stands. */
export interface Fault {
  /** The name of the place: "Row 3", or the name of a field; empty: the batch as a whole. */
  place: string
  /** The user's id of the row; empty: none. */
  id: string
  /** The line of the text; 0: unknown. */
  line: number
  message: string
}

// The name of an element of a list.
const elementNames: Record<string, string> = {
  jobs: 'Row',
  binders: 'Binder',
  targets: 'Target',
  ligands: 'Ligand',
  mutations: 'Mutation',
  seeds: 'Seed',
}

/** Says of a fault where it is, without the path of the field. */
export function faultOf({ field, message }: FieldError, body: CreateBatch, sources: Sources): Fault {
  const found = /^(jobs|binders|targets|ligands|mutations|seeds)\[(\d+)\]\.?/.exec(field)
  if (!found) return { place: '', id: '', line: 0, message }
  const [path, list, index] = found as unknown as [string, string, string]
  const i = Number(index)
  const entry = (body[list as SourceName] as { customId?: string | null }[] | undefined)?.[i]
  const source = sources[list as SourceName] as Source<unknown> | undefined
  return {
    place: `${elementNames[list]} ${i + 1}`,
    id: (typeof entry === 'object' && entry?.customId) || '',
    line: source && body[list as SourceName] === source.entries ? (source.lines[i] ?? 0) : 0,
    message: withoutPath(message.replace('Invalid sequence format: ', '').replace(path, '')),
  }
}

/** A message in which a sequence is named by its number, as in the text, and not by its field. */
const withoutPath = (message: string) =>
  message.replace(/^sequences\[(\d+)\]\.\w+\.(?:sequence, )?/, (_, n) => (n === '0' ? '' : `chain ${Number(n) + 1}, `))
