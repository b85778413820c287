// Loads everything that a result page shows of one structure from the files of its run.
import { type Artifact, download, type JobView, type Kind, type Results, type ScoredChains } from '../api'
import { type Matrix, parseMatrix } from '../plots/matrix'
import { loadViewer } from '../viewer/load'
import { type Model, readCif, withoutLigandAtoms } from './structure'

/** One predicted structure: the whole complex, or one sequence of a job that folds each sequence separately. */
export interface Prediction {
  /** The id of the sequence; empty: the whole complex. */
  sequence: string
  scores: ScoredChains | null
  /** The file that the viewer draws. It must stay the same object while it is shown. */
  source: { format: 'mmcif'; text: string }
  /** The name of that file among the files of the run. */
  file: string
  model: Model
  /** Predicted aligned errors; undefined while they are loaded. */
  matrix: Matrix | null | undefined
  /** Messages about files that could not be read. */
  problems: string[]
  /** DSSP letters by chain. */
  secondaryStructure: Record<string, string>
  /** The radius of gyration in Å. */
  radius: number | null
  /** The engine's statement on how to read its results. */
  notice: string
  notes: string[]
  /** The alignment as A3M; undefined while it is loaded. */
  alignment: string | null | undefined
  /** An image of the alignment's coverage, for runs without the alignment itself. */
  coverage: Artifact | null
}

/** The part of metrics.json about one structure. */
interface MetricsPrediction {
  sequence_id?: string
  plddt?: Record<string, number[]>
  predicted_rmsd?: Record<string, number[]>
  secondary_structure?: Record<string, string>
  radius_of_gyration_angstrom?: number
}

/** The fields of metrics.json that the page reads. */
interface Metrics {
  notice?: string
  notes?: string[]
  predictions?: MetricsPrediction[]
}

/** The structures of a job, with the titles of their tabs. */
export function structuresOf(view: JobView): { sequence: string; label: string }[] {
  if (view.job.isComplex) return [{ sequence: '', label: 'Complex' }]
  return view.sequences.map((s, i) => ({ sequence: s.id, label: s.name ?? `Sequence ${i + 1}` }))
}

/** Finds a file of a kind: the sequence's own, else the whole run's. */
export function findFile(files: Artifact[], kind: string, sequence: string): Artifact | undefined {
  const candidates = files.filter((f) => f.kind === kind && (!f.sequenceId || f.sequenceId === sequence || !sequence))
  return candidates.find((f) => f.sequenceId === sequence) ?? candidates[0]
}

/** The largest alignment that is drawn, in bytes. */
export const maxAlignmentBytes = 64 << 20

/** Finds the entry of a sequence. A list with a single entry is for all sequences. */
function entryOf<T>(entries: T[], sequence: string, idOf: (entry: T) => string | undefined): T | undefined {
  return entries.find((e) => (idOf(e) ?? '') === sequence) ?? (entries.length === 1 ? entries[0] : undefined)
}

/** Downloads files that a result can do without. A failure becomes a problem instead of an error. */
class OptionalFiles {
  readonly problems: string[] = []

  constructor(
    private readonly files: Artifact[],
    private readonly sequence: string,
    private readonly signal: AbortSignal,
  ) {}

  async read<T>(kind: string, parse: (r: Response) => Promise<T>, maxBytes = Number.POSITIVE_INFINITY) {
    const file = findFile(this.files, kind, this.sequence)
    if (!file) return null
    try {
      if (file.bytes > maxBytes) throw new Error('the file is too large to be drawn')
      return await parse(await download(file.url, this.signal))
    } catch (e) {
      if (this.signal.aborted) throw e
      this.problems.push(`${file.name}: ${(e as Error).message}`)
      return null
    }
  }
}

/** Parses pae.json. The mark lets a test measure the time from arrival to drawing. */
async function parsePae(r: Response): Promise<Matrix> {
  const bytes = new Uint8Array(await r.arrayBuffer())
  performance.mark('pleat:arrived')
  return parseMatrix(bytes)
}

/** Loads a structure with what is drawn in 3D, without matrix and alignment. Throws if it cannot be read. */
export async function loadStructure(
  view: JobView,
  results: Results,
  sequence: string,
  signal: AbortSignal,
): Promise<Prediction> {
  const optional = new OptionalFiles(results.artifacts, sequence, signal)
  const first = await readStructure(view, results, sequence, beginStructure(results, sequence, signal), optional)
  return { ...first, matrix: null, alignment: null }
}

/** Begins to download a structure, and the viewer after it. Throws if there is none. */
function beginStructure(results: Results, sequence: string, signal: AbortSignal): Promise<string> {
  const cif = findFile(results.artifacts, 'cif', sequence)
  if (!cif) throw new Error('This run has no structure.')
  const structure = download(cif.url, signal).then((r) => r.text())
  // The viewer is larger than most files: on a slow line it would keep them, and the text that needs them, waiting.
  structure.then(loadViewer).catch(() => undefined) // Stage reports an error
  return structure
}

/** Reads a structure whose download has begun. Its matrix and alignment are still to be loaded, if there are any. */
async function readStructure(
  view: JobView,
  { artifacts: files }: Results,
  sequence: string,
  structure: Promise<string>,
  optional: OptionalFiles,
): Promise<Prediction> {
  const [text, metrics] = await Promise.all([
    structure,
    optional.read('metrics_json', async (r) => (await r.json()) as Metrics),
  ])
  const measured = entryOf(metrics?.predictions ?? [], sequence, (p) => p.sequence_id)
  const kinds = new Map<string, Kind>(view.sequences.flatMap((s) => s.chains.map((c) => [c, s.type] as const)))
  return {
    sequence,
    scores: entryOf(view.predictions, sequence, (p) => p.sequenceId) ?? null,
    source: { format: 'mmcif', text },
    file: findFile(files, 'cif', sequence)!.name,
    model: readCif(text, kinds, measured?.plddt ?? {}, measured?.predicted_rmsd),
    matrix: findFile(files, 'pae_json', sequence) ? undefined : null,
    problems: [...optional.problems],
    secondaryStructure: measured?.secondary_structure ?? {},
    radius: measured?.radius_of_gyration_angstrom ?? null,
    notice: metrics?.notice ?? '',
    notes: metrics?.notes ?? view.run.notes,
    alignment: findFile(files, 'msa', sequence) ? undefined : null,
    coverage: findFile(files, 'msa_coverage_plot', sequence) ?? null,
  }
}

/**
 * Loads a structure with everything that is drawn with it. Before it reads the matrix and the alignment, which may be
 * many times as large, it shows the structure without them. Throws if the structure itself cannot be read; other files
 * that cannot be read are reported in problems.
 */
export async function load(
  view: JobView,
  results: Results,
  sequence: string,
  signal: AbortSignal,
  showFirst: (p: Prediction) => void = () => {},
): Promise<Prediction> {
  const optional = new OptionalFiles(results.artifacts, sequence, signal)
  const structure = beginStructure(results, sequence, signal)
  const large = Promise.all([
    optional.read('pae_json', parsePae),
    optional.read('msa', (r) => r.text(), maxAlignmentBytes),
  ])
  large.catch(() => undefined) // it is awaited below, unless the structure fails
  const first = await readStructure(view, results, sequence, structure, optional)
  if (!signal.aborted) showFirst(first)
  const [pae, alignment] = await large
  const model = { ...first.model }
  const { problems } = optional
  const matrix = pae && fitMatrix(pae, model, problems)
  return { ...first, model, matrix, alignment, problems }
}

/** Returns the matrix if it has one row per residue of the model, counting ligands by atom or as a whole; else null. */
function fitMatrix(matrix: Matrix, model: Model, problems: string[]): Matrix | null {
  if (matrix.n === model.table.rows) return matrix
  const byMolecule = withoutLigandAtoms(model.table)
  if (byMolecule.rows === matrix.n) {
    model.table = byMolecule
    return matrix
  }
  problems.push(
    `The PAE matrix has ${matrix.n} rows but the structure has ${model.table.rows} residues, so it is not drawn.`,
  )
  return null
}
