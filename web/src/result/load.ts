// What a result page shows of one structure, read from the files of its run.
import { type Artifact, download, type JobView, type Kind, type Results, type ScoredChains } from '../api'
import { type Matrix, parseMatrix } from '../plots/matrix'
import { type Model, readCif, withoutLigandAtoms } from './structure'

/** Prediction is one structure: that of the whole complex, or of one sequence of a job that folds each on its own. */
export interface Prediction {
  sequence: string // id; empty: the whole complex
  scores: ScoredChains | null
  source: { format: 'mmcif'; text: string } // the same object for as long as the page shows it
  model: Model
  matrix: Matrix | null
  trouble: string[] // what could not be read, in words
  second: Record<string, string> // DSSP's letters by chain
  radius: number | null // of gyration, Å
  notice: string // the engine's own word on what it is worth
  notes: string[]
  alignment: string | null // A3M
  coverage: Artifact | null // a picture of it, where the run has no alignment
}

interface Metrics {
  notice?: string
  notes?: string[]
  predictions?: {
    sequence_id?: string
    plddt?: Record<string, number[]>
    secondary_structure?: Record<string, string>
    radius_of_gyration_angstrom?: number
  }[]
}

/** items are the structures of a job, as tabs show them. */
export function items(view: JobView): { sequence: string; label: string }[] {
  if (view.job.isComplex) return [{ sequence: '', label: 'Complex' }]
  return view.sequences.map((s, i) => ({ sequence: s.id, label: s.name ?? `Sequence ${i + 1}` }))
}

/** of finds a file of a kind: the sequence's own, else the whole run's. */
export function of(files: Artifact[], kind: string, sequence: string): Artifact | undefined {
  const mine = files.filter((f) => f.kind === kind && (!f.sequenceId || f.sequenceId === sequence || !sequence))
  return mine.find((f) => f.sequenceId === sequence) ?? mine[0]
}

/** mostAlignment is the largest alignment that is drawn, in bytes. */
export const mostAlignment = 64 << 20 // bytes

/** load reads a structure with everything that is drawn beside it. It fails where the structure itself cannot be read. */
export async function load(
  view: JobView,
  results: Results,
  sequence: string,
  signal: AbortSignal,
): Promise<Prediction> {
  const files = results.artifacts
  const cif = of(files, 'cif', sequence)
  if (!cif) throw new Error('This run has no structure.')
  const trouble: string[] = []
  const optional = async <T>(kind: string, read: (r: Response) => Promise<T>): Promise<T | null> => {
    const file = of(files, kind, sequence)
    if (!file) return null
    try {
      return await read(await download(file.url, signal))
    } catch (e) {
      if (signal.aborted) throw e
      trouble.push(`${file.name}: ${(e as Error).message}`)
      return null
    }
  }
  const [text, matrix, metrics, alignment] = await Promise.all([
    download(cif.url, signal).then((r) => r.text()),
    optional('pae_json', async (r) => {
      const bytes = new Uint8Array(await r.arrayBuffer())
      performance.mark('pleat:arrived')
      return parseMatrix(bytes)
    }),
    optional('metrics_json', async (r) => (await r.json()) as Metrics),
    optional('msa', async (r) => {
      if ((of(files, 'msa', sequence)?.bytes ?? 0) > mostAlignment)
        throw new Error('the alignment is too large to be drawn')
      return r.text()
    }),
  ])
  const scores =
    view.predictions.find((p) => (p.sequenceId ?? '') === sequence) ??
    (view.predictions.length === 1 ? view.predictions[0]! : null)
  const mine =
    metrics?.predictions?.find((p) => (p.sequence_id ?? '') === sequence) ??
    (metrics?.predictions?.length === 1 ? metrics.predictions[0] : undefined)
  const kinds = new Map<string, Kind>(view.sequences.flatMap((s) => s.chains.map((c) => [c, s.type] as const)))
  const model = readCif(text, kinds, mine?.plddt ?? {})
  let fitting = matrix
  if (matrix && matrix.n !== model.table.rows) {
    const other = withoutLigandAtoms(model.table)
    if (other.rows === matrix.n) model.table = other
    else {
      trouble.push(
        `The matrix of errors has ${matrix.n} rows, and the structure ${model.table.rows}: they do not belong together, so the matrix is not drawn.`,
      )
      fitting = null
    }
  }
  return {
    sequence,
    scores,
    source: { format: 'mmcif', text },
    model,
    matrix: fitting,
    trouble,
    second: mine?.secondary_structure ?? {},
    radius: mine?.radius_of_gyration_angstrom ?? null,
    notice: metrics?.notice ?? '',
    notes: metrics?.notes ?? view.run.notes,
    alignment,
    coverage: of(files, 'msa_coverage_plot', sequence) ?? null,
  }
}
