// A design that is being prepared: its fields as text, and the request that they make. No page, no network.
import type { Model } from '../api'
import { parseResidues } from './residues'

/** The object of the design: a binder for a target, or a new sequence for a structure. */
export type Mode = 'binder' | 'redesign'

/** Where the target comes from: the field of the request that names it. */
export type Way = 'sourceJobId' | 'libraryItemId' | 'pdbId' | 'sequence' | 'ccd' | 'smiles'

export const wayNames: Record<Way, string> = {
  sourceJobId: 'Fold',
  libraryItemId: 'Library file',
  pdbId: 'PDB entry',
  sequence: 'Protein sequence',
  ccd: 'Molecule (CCD code)',
  smiles: 'Molecule (SMILES)',
}

/** Reports whether a target is a structure, whose chains and residues can be named. */
export const isStructure = (way: Way) => way === 'sourceJobId' || way === 'libraryItemId' || way === 'pdbId'

/** Reports whether the residues of a target may have other numbers than their positions. Those of folds have not. */
export const hasNumbering = (way: Way) => way === 'libraryItemId' || way === 'pdbId'

/** Reports whether a target is a small molecule. */
export const isMolecule = (way: Way) => way === 'ccd' || way === 'smiles'

export type BinderKind = 'protein' | 'peptide' | 'nanobody'

/** The lengths that binders have by default; a nanobody has a sequence instead. */
export const usualLengths: Record<BinderKind, string> = { protein: '80..120', peptide: '10..20', nanobody: '' }

/** The effect of each protocol; all need an engine for binders. */
export const protocols: Record<string, string> = {
  'protein-anything': 'Designs a protein, and refolds it with the target and alone.',
  'peptide-anything': 'Designs a peptide without new cysteines, and refolds it with the target.',
  'nanobody-anything': 'Designs the loops of a nanobody without new cysteines, and refolds it with the target.',
  'antibody-anything': 'Designs loops of an antibody without new cysteines, and refolds it with the target.',
  'protein-small_molecule':
    'Designs a protein, refolds it with the molecule and alone, and predicts how strongly they bind.',
}

export interface Draft {
  mode: Mode
  name: string
  way: Way
  /** The name of the target, by the way it is chosen. */
  target: Partial<Record<Way, string>>
  /** The run of the fold; empty: the latest. */
  run: string
  /** The file of the library item; empty: its only one. */
  file: string
  /** Names of chains with commas; empty: all. */
  chains: string
  /** Whether residues have the numbers of the file, or their positions in the chain. */
  numbering: 'author' | 'label'
  epitope: string
  avoid: string
  kind: BinderKind
  length: string
  sequence: string
  isCyclic: boolean
  /** Pairs of cysteines, such as 1-2, 3-4. */
  disulfides: string
  /** Empty: by the kind of binder and the target. */
  protocol: string
  redesign: string
  temperature: string
  model: string
  numDesigns: string
  budget: string
  seed: string
  isPublic: boolean
}

export const emptyDraft: Draft = {
  mode: 'binder',
  name: '',
  way: 'sourceJobId',
  target: {},
  run: '',
  file: '',
  chains: '',
  numbering: 'author',
  epitope: '',
  avoid: '',
  kind: 'protein',
  length: '',
  sequence: '',
  isCyclic: false,
  disulfides: '',
  protocol: '',
  redesign: '',
  temperature: '',
  model: '',
  numDesigns: '',
  budget: '',
  seed: '',
  isPublic: false,
}

/**
 * The draft that an address asks for: ?job=ID&run=ID, ?item=ID&file=NAME, ?pdb=ID, and &mode=redesign. usual: where the
 * target of an address without one comes from.
 */
export function draftOf(query: URLSearchParams, usual: Way = emptyDraft.way): Draft {
  const get = (name: string) => query.get(name) ?? ''
  const target = { sourceJobId: get('job'), libraryItemId: get('item'), pdbId: get('pdb') }
  const way = (Object.keys(target) as (keyof typeof target)[]).find((w) => target[w]) ?? usual
  return {
    ...emptyDraft,
    mode: get('mode') === 'redesign' ? 'redesign' : 'binder',
    way,
    target,
    run: get('run'),
    file: get('file'),
  }
}

/** The names of the chains that take part; empty: all. */
export const chainNames = ({ chains }: Draft) => chains.split(/[\s,;]+/).filter(Boolean)

/** The chain of residues that name none: the only one; empty: there are several. known: those of the target. */
export function onlyChain(draft: Draft, known: string[]): string {
  if (!isStructure(draft.way)) return 'A' // as the service names it
  const named = chainNames(draft)
  const list = named.length > 0 ? named : known
  return list.length === 1 ? list[0]! : ''
}

/** Reports whether residues have the numbers of the file, by which they are picked in the structure. */
export const isPickable = ({ way, numbering }: Draft) => !hasNumbering(way) || numbering === 'author'

/** The protocol that the service chooses. */
export const usualProtocol = ({ way, kind }: Draft) => (isMolecule(way) ? 'protein-small_molecule' : `${kind}-anything`)

/** Whether the sequence of the binder has cysteines that disulfides can join. */
export const hasCysteines = (sequence: string) => (sequence.match(/c/gi)?.length ?? 0) >= 2

/** Reports whether a model runs designs of a mode: one with the feature sequence_only runs no others. */
export const runsMode = (model: Model, mode: Mode) =>
  model.kind === 'design' && model.features.includes('sequence_only') === (mode === 'redesign')

/** Messages by the field of the request that each is about; '': about no field of the form. */
export type Problems = Record<string, string>

// The fields of the form, by their path in workflow_input.
const fields = [
  'target',
  'targetChains',
  'epitope',
  'avoid',
  'redesign',
  'binder.kind',
  'binder.length',
  'binder.sequence',
  'binder.cyclic',
  'binder.disulfides',
  'protocol',
  'protocolName',
  'numDesigns',
  'budget',
  'seed',
  'temperature',
  'modelName',
]

/** The field that a message of the service is about: the first that it names, such as workflow_input.binder.length. */
export function fieldOf(message: string): string {
  const path = /workflow_input\.([\w.]+)/.exec(message)?.[1]?.replace(/\.$/, '')
  if (!path) return /^name\b/.test(message) ? 'name' : ''
  return fields.find((f) => path === f || path.startsWith(`${f}.`)) ?? ''
}

/** A number as the service takes it; what is none is sent as it is typed, for the service to refuse. */
function number(text: string): number | string | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  return Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed
}

/** Reads pairs of cysteines such as 1-2, 3-4. */
function parsePairs(text: string): [number, number][] {
  return text
    .split(/[,;]/)
    .filter((pair) => pair.trim())
    .map((pair) => {
      const found = /^\s*(\d{1,4})\s*[-–]\s*(\d{1,4})\s*$/.exec(pair)
      if (!found) throw new Error(`“${pair.trim()}” is no pair of cysteines; write pairs as 1-2, 3-4.`)
      return [Number(found[1]), Number(found[2])]
    })
}

/** Removes fields without a value. */
const compact = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, v]) => v !== undefined && v !== '' && v !== false))

/**
 * The workflow_input of a draft, and what is wrong with it: only what the service cannot be asked about. chains are
 * those of the target, if they are known: residues of the only one need no chain.
 */
export function toInput(draft: Draft, chains: string[] = []): { input: Record<string, unknown>; problems: Problems } {
  const problems: Problems = {}
  const read = <T>(field: string, parse: () => T[]): T[] | undefined => {
    try {
      const list = parse()
      return list.length > 0 ? list : undefined
    } catch (e) {
      problems[field] = (e as Error).message
      return undefined
    }
  }
  const named = chainNames(draft)
  const chain = onlyChain(draft, chains)
  const residues = (field: 'epitope' | 'avoid' | 'redesign', whole = false) =>
    read(field, () => parseResidues(draft[field], { chain, whole }))
  const structure = isStructure(draft.way)
  const shared = {
    target: targetOf(draft),
    targetChains: structure && named.length > 0 ? named : undefined,
    numbering: hasNumbering(draft.way) && draft.numbering === 'author' ? 'author' : undefined,
    numDesigns: number(draft.numDesigns),
    budget: number(draft.budget),
    seed: draft.seed.trim(),
    modelName: draft.model,
    isPublic: draft.isPublic,
  }
  if (!shared.target) problems.target = 'Say what the target is.'
  if (draft.mode === 'redesign') {
    const redesign = residues('redesign', true)
    if (!redesign) problems.redesign ??= 'Name the chains or residues that are redesigned, such as A or A: 12-18, 25.'
    const temperature = number(draft.temperature)
    return { input: compact({ protocol: 'sequence_only', ...shared, redesign, temperature }), problems }
  }
  const binder = compact({
    kind: draft.kind,
    length: draft.sequence.trim() ? undefined : (number(draft.length) ?? undefined),
    sequence: draft.sequence.trim(),
    cyclic: draft.isCyclic,
    disulfides: hasCysteines(draft.sequence)
      ? read('binder.disulfides', () => parsePairs(draft.disulfides))
      : undefined,
  })
  const [epitope, avoid] = isMolecule(draft.way) ? [] : [residues('epitope'), residues('avoid')]
  return { input: compact({ ...shared, epitope, avoid, binder, protocol: draft.protocol }), problems }
}

/** The target of the request; undefined: it is not named yet. */
function targetOf({ way, target, run, file }: Draft): Record<string, string> | undefined {
  const value = target[way]?.trim()
  if (!value) return undefined
  return {
    [way]: value,
    ...(way === 'sourceJobId' && run && { sourceJobRunId: run }),
    ...(way === 'libraryItemId' && file && { fileName: file }),
  }
}
