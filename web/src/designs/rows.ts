// The rows of a design: their columns, order, text, and the files that the page makes of them. No page, no network.
import type { DesignFold, ScoreColumn, Workflow } from '../api'
import type { Row } from '../batches/scores'

/** A column, as the service describes it. */
export interface DesignColumn {
  name: string
  type: 'string' | 'integer' | 'number' | 'boolean' | 'list' | 'object'
  unit?: string
  better?: 'higher' | 'lower'
  description: string
}

// Short titles of the columns that are shown at first. All others have their names.
const titles: Record<string, string> = {
  final_rank: 'Rank',
  design_to_target_iptm: 'ipTM',
  min_design_to_target_pae: 'PAE',
  filter_rmsd: 'RMSD',
  plddt: 'pLDDT',
  sequence_score: 'Score',
  sequence_recovery: 'Recovery',
  fold_model: 'Fold',
  fold_iptm: 'Fold ipTM',
  fold_plddt: 'Fold pLDDT',
  fold_rmsd: 'Fold RMSD',
}

/** The title of a column in the table. */
export const titleOf = ({ name }: DesignColumn) => titles[name] ?? name

/** A design: the fields that the page names, and all others by the names of their columns. */
export interface Design {
  id: string
  final_rank: number | null
  pass_filters: boolean | null
  failed_filters: string[]
  designed_chain_sequence: string | null
  cif_url: string | null
  notes: string[]
  /** Its last fold by the model whose folds are shown. */
  fold?: DesignFold | undefined
  [column: string]: unknown
}

/** result_raw_json of a design. */
export interface DesignResult {
  artifacts: { path: string; sizeBytes: number; url: string }[]
  /** null: the engine does not say, or has no filters. */
  metrics: Record<(typeof countNames)[number], number | null>
  parameters: Record<string, unknown>
  columns: DesignColumn[]
  chains: { name: string; designed: boolean }[]
  notes: string[]
  /** A notice to read before one relies on the model; absent from old runs. */
  notice?: string
}

/** The counts of a run, in the order in which designs become fewer. */
export const countNames = ['requested', 'generated', 'considered', 'duplicates', 'passed', 'returned'] as const

/** The designs of a workflow, best first; empty until it is completed. */
export const designsOf = (workflow: Workflow) => (workflow.tasks[0]?.parsed_results ?? []) as Design[]

// The columns that are shown at first, those that rank, as far as the rows have them.
const usualColumns = [
  'final_rank',
  'design_to_target_iptm',
  'affinity_probability_binary1',
  'sequence_score',
  'sequence_recovery',
  'min_design_to_target_pae',
  'filter_rmsd',
  'plddt',
]

// The first of these pairs of which a row has both is plotted at first: across, up.
const usualAxes = [
  ['min_design_to_target_pae', 'design_to_target_iptm'],
  ['sequence_recovery', 'sequence_score'],
] as const

// The columns that the table shows separately, or not at all.
const ownColumns = new Set(['id', 'pass_filters', 'failed_filters', 'file', 'cif_url', 'notes'])

/** The columns that can be chosen. */
export const choices = (columns: DesignColumn[]) => columns.filter((c) => !ownColumns.has(c.name))

/** Reports whether a row has a value in a column. */
const hasValue = (designs: Design[], name: string) => designs.some((d) => (d[name] ?? null) !== null)

/** The names of the columns that are shown at first: none without a value. */
export const firstChoice = (columns: DesignColumn[], designs: Design[]) =>
  usualColumns.filter((name) => columns.some((c) => c.name === name) && hasValue(designs, name))

/** The columns with numbers, which can be plotted. */
export const numeric = (columns: DesignColumn[], designs: Design[]) =>
  choices(columns).filter((c) => (c.type === 'number' || c.type === 'integer') && hasValue(designs, c.name))

/** The names of the columns that are plotted at first, of those that can be; null: there are no two. */
export function firstAxes(axes: DesignColumn[]): readonly [string, string] | null {
  const has = (name: string) => axes.some((c) => c.name === name)
  const usual = usualAxes.find((pair) => pair.every(has))
  if (usual) return usual
  const [x, y] = axes.filter((c) => c.name !== 'final_rank')
  return x && y ? [x.name, y.name] : null
}

/** Whether the engine has filters: a protocol without them leaves the answer open in every row. */
export const hasFilters = (designs: Design[]) => hasValue(designs, 'pass_filters')

/** An order of the rows; of no column: by rank. */
export interface Order {
  column: string
  descending: boolean
}

/** The order after a click on a column: the better values first, then the other way round. */
export function nextOrder(order: Order, { name, better }: DesignColumn): Order {
  if (order.column === name) return { column: name, descending: !order.descending }
  return { column: name, descending: better === 'higher' }
}

/** The rows in an order. Rows without a value are last in both directions; equal rows keep their order. */
export function sorted(rows: Design[], { column, descending }: Order): Design[] {
  const sign = descending ? -1 : 1
  return [...rows].sort((a, b) => {
    const [p, q] = [a[column] ?? null, b[column] ?? null]
    if (p === null || q === null) return Number(p === null) - Number(q === null)
    if (typeof p === 'number' && typeof q === 'number') return sign * (p - q)
    return sign * String(p).localeCompare(String(q), 'en')
  })
}

/** A value as text; null: a dash. */
export function formatValue(value: unknown, { type, unit }: Pick<DesignColumn, 'type' | 'unit'>): string {
  if (value === null || value === undefined) return '–'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.join(', ') || '–'
  if (typeof value !== 'number') return String(value)
  if (type === 'integer') return String(value)
  if (unit === 'fraction') return `${Math.round(100 * value)} %`
  return value.toFixed(Math.abs(value) < 1 ? 3 : Math.abs(value) < 100 ? 2 : 0)
}

/** The unit and the direction of a column in words; empty: it has neither. */
export const describeColumn = ({ unit, better }: DesignColumn) =>
  [unit === 'fraction' ? '%' : unit, better && `${better} better`].filter(Boolean).join(', ')

/** A column as the plots of batches take it. */
export const asScore = ({ name, unit, better }: DesignColumn): ScoreColumn =>
  ({ name, unit: unit ?? '', higherIsBetter: better !== 'lower' }) as ScoreColumn

/** The designs as the plots of batches take them: the number of a row is its place, from 1. */
export const asRows = (designs: Design[]) =>
  designs.map((d, i) => ({ ...d, row: i + 1, customId: d.id }) as unknown as Row)

/** The sequences as FASTA. Designs without one are left out. */
export const fasta = (designs: Design[]) =>
  designs
    .filter((d) => d.designed_chain_sequence)
    .map((d) => {
      const facts = [`rank=${d.final_rank ?? 'none'}`, `pass_filters=${d.pass_filters ?? 'none'}`]
      const lines = d.designed_chain_sequence!.match(/.{1,60}/g) ?? []
      return [`>${d.id} ${facts.join(' ')}`, ...lines].join('\n') + '\n'
    })
    .join('')

/** All columns as CSV (RFC 4180); null is empty. What a spreadsheet would compute has an apostrophe in front. */
export function csv(designs: Design[], columns: DesignColumn[]): string {
  const shown = columns.filter((c) => c.type !== 'object' && c.name !== 'cif_url')
  const cell = (value: unknown) => {
    if (value === null || value === undefined) return ''
    if (typeof value === 'number' || typeof value === 'boolean') return String(value)
    const text = (Array.isArray(value) ? value.join('; ') : String(value)).replace(
      /(^"*|[;\t\r\n]"*)(?=[=+\-@\t\r\n])/g,
      "$1'",
    )
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  }
  const lines = [shown.map((c) => c.name), ...designs.map((d) => shown.map((c) => cell(d[c.name])))]
  return lines.map((line) => line.join(',') + '\r\n').join('')
}

/** The folds of designs, by the id of the design. */
export function foldsByDesign(folds: DesignFold[]): Map<string, DesignFold[]> {
  const byDesign = new Map<string, DesignFold[]>()
  for (const fold of folds) byDesign.set(fold.designId, [...(byDesign.get(fold.designId) ?? []), fold])
  return byDesign
}

/** The models that have folded designs, in the order of their first folds. */
export const foldModels = (folds: DesignFold[]) => [...new Set(folds.map((f) => f.modelName))]

/** The columns of a fold beside its design. */
export const foldColumns: DesignColumn[] = [
  { name: 'fold_model', type: 'string', description: 'The model that folded the design, with a link to the job.' },
  { name: 'fold_iptm', type: 'number', better: 'higher', description: 'ipTM of the fold.' },
  { name: 'fold_plddt', type: 'number', better: 'higher', description: 'Mean pLDDT of the fold, 0 to 100.' },
  {
    name: 'fold_rmsd',
    type: 'number',
    unit: 'Å',
    better: 'lower',
    description: 'Backbone RMSD of the binder in the fold to the design, the targets superposed.',
  },
]

/** The designs with the values of foldColumns. A design that a model has folded several times has its last fold. */
export function withFolds(designs: Design[], folds: DesignFold[], model: string): Design[] {
  const last = new Map(folds.filter((f) => f.modelName === model).map((f) => [f.designId, f]))
  return designs.map((design) => {
    const fold = last.get(design.id)
    return {
      ...design,
      fold,
      fold_model: fold?.modelName ?? null,
      fold_iptm: fold?.iptm_score ?? null,
      fold_plddt: fold?.mean_plddt ?? null,
      fold_rmsd: fold?.binder_rmsd ?? null,
    }
  })
}
