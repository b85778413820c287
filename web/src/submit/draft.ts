// The job that is being prepared on the Submit page. All fields are as the user typed them; body.ts converts them.
// No page, no network.
import type { Constraints, FileRef, Kind, Model } from '../api'
import { defaultPreset } from '../dynamics/methods'
import { type AlignmentSummary, libraryName, queryMismatch } from './alignment'
import { cutEnd, inTens, type ParsedSequence, stripSpace } from './sequences'

/** An item of the job: one molecule, or several copies of it. */
export interface Item {
  /** Identifies the item in this tab. */
  key: number
  kind: Kind
  /** The sequence, or the CCD code or SMILES of a ligand. */
  text: string
  /** The text as it was written, before it was put into groups of ten letters; absent: as it is. */
  written?: string
  label: string
  count: number
  /** The chain name asked for; empty: by order. */
  chain: string
  /** Whether the text of a ligand is a CCD code; otherwise it is a SMILES. */
  ccd: boolean
  affinity: boolean
  cyclic: boolean
  modifications: Modification[]
  /** The sourceSequenceId that the item was imported with. */
  source: string
  /** The user's own alignment. */
  alignment: Alignment | null
  /** The alignment in the library that the item was imported with. The form sends it as it is, or removes it. */
  msa: FileRef | null
}

/** An alignment that the user supplied. The file is a handle: its text is not copied with the draft. */
export interface Alignment extends AlignmentSummary {
  key: number
  name: string
  file: Blob
}

/** A modified residue: its position, counted from 1, and its CCD code. */
export interface Modification {
  residue: string
  ccd: string
}

/** The kinds of constraints that the API has. */
export type ConstraintKind = 'contact' | 'pocket' | 'bond'

/** A constraint: residues as A:12, atoms as A:12:SG, the distance in Å. */
export interface Constraint {
  key: number
  kind: ConstraintKind
  first: string
  second: string
  distance: string
}

/** Where a template comes from. */
export type TemplateSource = 'library' | 'job' | 'pdb'

/** A structure that is an example of a protein chain. */
export interface Template {
  key: number
  source: TemplateSource
  /** The id of the library item, of the job, or of the entry of the Protein Data Bank. */
  id: string
  /** The file of the item or of the run; empty: the first structure. */
  file: string
  /** The chain of the file; empty: its only protein. */
  templateChain: string
  /** The chain of the job; empty: its only protein. */
  chain: string
  /** Whether the chain is held near the template, within maxDistance in Å. */
  force: boolean
  maxDistance: string
}

/** The settings of a simulation: times in ns, temperature in K, ionic strength in mol/L. */
export interface Simulation {
  preset: string
  length: string
  frameInterval: string
  temperature: string
  ionic: string
  pH: string
  residueProfile: string
}

/** A job that is not submitted yet. */
export interface Draft {
  name: string
  isPublic: boolean
  items: Item[]
  model: string
  /** Models that fold it besides. */
  otherModels: string[]
  /** Seeds as a list, such as "1, 2, 5-8"; empty: the parameter seed counts. */
  seeds: string
  params: Record<string, string | boolean>
  constraints: Constraint[]
  templates: Template[]
  /** Those of the job that this draft was opened from. The form sends them as they are, or removes them. */
  components: NonNullable<Constraints['components']>
  ask: boolean
  question: string
  simulate: boolean
  simulation: Simulation
  /** Whether to notify the user's webhook; null: the webhook's default. */
  notify: boolean | null
  chatId: string
  /** The library item of the older job that this draft was opened from. It is sent in the URL, not in the body. */
  libraryItem: string
}

/** The defaults of the service. */
export const defaultSimulation: Simulation = {
  preset: defaultPreset,
  length: '0.2',
  frameInterval: '0.01',
  temperature: '293.15',
  ionic: '0.15',
  pH: '7.5',
  residueProfile: 'calvados2',
}

// Items and constraints have keys, so that their fields keep their state when the list changes.
let lastKey = 0
export const nextKey = () => ++lastKey

/** A draft without sequences. */
export const emptyDraft = (): Draft => ({
  name: '',
  isPublic: false,
  items: [],
  model: '',
  otherModels: [],
  seeds: '',
  params: {},
  constraints: [],
  templates: [],
  components: [],
  ask: false,
  question: '',
  simulate: false,
  simulation: { ...defaultSimulation },
  notify: null,
  chatId: '',
  libraryItem: '',
})

/** An item with a new key. */
export const newItem = (kind: Kind, text = ''): Item => ({
  key: nextKey(),
  kind,
  text,
  label: '',
  count: 1,
  chain: '',
  ccd: kind === 'ligand',
  affinity: false,
  cyclic: false,
  modifications: [],
  source: '',
  alignment: null,
  msa: null,
})

/** Makes an item of a pasted sequence, in groups of ten letters. The lines of a ligand become one, with spaces. */
export function itemFrom({ kind, text, label, ccd }: ParsedSequence): Item {
  const written = text.replace(/\s*[\r\n]\s*/g, ' ')
  return { ...newItem(kind, kind === 'ligand' ? written : inTens(text)), written, label, ccd }
}

// Symbols of atoms alone, such as CCO: a SMILES rather than one of the few codes that look so.
const atomsAlone = /^(?:Cl|Br|[BCFINOPS]){3,}$/

/** The fields of an item that becomes another kind. A ligand is what was written: a name may stand behind a SMILES. */
export function ofKind({ text, written = text }: Item, kind: Kind): Partial<Item> {
  if (kind !== 'ligand') return { kind, ccd: false, text: inTens(text), written }
  const line = written.trim().replace(/\s*[\r\n]\s*/g, ' ')
  return { kind, ccd: /^[A-Z0-9]{1,5}$/i.test(line) && !atomsAlone.test(line), text: line }
}

/** An empty constraint with a new key. */
export const newConstraint = (kind: ConstraintKind): Constraint => ({
  key: nextKey(),
  kind,
  first: '',
  second: '',
  distance: '',
})

/** An empty template with a new key. */
export const newTemplate = (source: TemplateSource = 'library', id = ''): Template => ({
  key: nextKey(),
  source,
  id,
  file: '',
  templateChain: '',
  chain: '',
  force: false,
  maxDistance: '',
})

/** The sequence of an item as the service reads it. */
export const sequenceOf = (item: Item) =>
  item.kind === 'ligand' ? item.text.trim() : stripSpace(cutEnd(item.text)).toUpperCase()

/** The name of the job: the one typed, else that of its records, such as "GB1" or "GB1 + 2 more". */
export function jobName({ name, items }: Draft): string {
  const first = items.find((item) => item.label)?.label
  if (name.trim() || !first) return name.trim() || 'Untitled fold'
  const more = items.length > 1 ? ` + ${items.length - 1} more` : ''
  return first.slice(0, 255 - more.length) + more
}

/** Reports whether the model uses alignments with the draft's parameters. */
export const usesAlignments = (draft: Draft, model?: Model) =>
  !!model?.features.includes('msa') && draft.params.msaAlgorithm !== 'none'

/** An alignment to upload: its name in the library, and the indices of the items that it is for. */
export interface AlignmentFile extends Alignment {
  fileName: string
  items: number[]
}

/** Lists the alignments to upload with the job, each once and under a distinct file name. */
export function alignmentsToUpload(draft: Draft, model?: Model): AlignmentFile[] {
  if (!usesAlignments(draft, model)) return []
  const files = new Map<number, AlignmentFile>()
  const used = new Set<string>()
  for (const [i, { alignment, kind }] of draft.items.entries()) {
    if (!alignment || kind !== 'protein') continue
    const known = files.get(alignment.key)
    if (known) {
      known.items.push(i)
      continue
    }
    let fileName = libraryName(alignment.name)
    if (used.has(fileName)) fileName = `${i + 1}-${fileName}`
    used.add(fileName)
    files.set(alignment.key, { ...alignment, fileName, items: [i] })
  }
  return [...files.values()]
}

/**
 * Whether the proteins of the job name their alignments. Without names the service finds the protein of each by its
 * first row, which an alignment of a complex does not have.
 */
export const areNamed = (files: AlignmentFile[]) => files.some((f) => f.queries.length > 1)

/** Explains why an item's alignment does not belong to its sequence; empty: it does, or there is none. */
export const alignmentProblem = (item: Item) =>
  item.alignment && item.kind === 'protein' ? queryMismatch(item.alignment.queries, sequenceOf(item)) : ''

/** The part of the form that a field path of the service belongs to. */
export type FormPart =
  | { part: 'item'; index: number; field: string }
  | { part: 'constraint'; kind: ConstraintKind; index: number }
  /** index: of the template; -1: all of them. */
  | { part: 'template'; index: number }
  | { part: 'parameter'; name: string }
  | { part: 'followUp'; name: string }
  | { part: 'name' }
  | { part: 'none' }

/** Finds the part of the form for a field path such as "sequences[1].proteinChain.sequence". */
export function formPart(field: string): FormPart {
  let m = /^sequences\[(\d+)\](?:\.\w+)?\.?(.*)$/.exec(field)
  if (m) return { part: 'item', index: Number(m[1]), field: m[2]! }
  m = /^constraints\.(contact|pocket|bond)\[(\d+)\]/.exec(field)
  if (m) return { part: 'constraint', kind: m[1] as ConstraintKind, index: Number(m[2]) }
  m = /^constraints\.templates(?:\[(\d+)\])?/.exec(field)
  if (m) return { part: 'template', index: Number(m[1] ?? -1) }
  m = /^params\.(\w+)/.exec(field)
  if (m) return { part: 'parameter', name: m[1]! }
  m = /^constraints\.webhooks\.(\w+)/.exec(field)
  if (m) return { part: 'followUp', name: m[1]! }
  return field === 'name' ? { part: 'name' } : { part: 'none' }
}
