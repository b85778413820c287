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

/** A design: the fields that the page names, and all others by the names of their columns. */
export interface Design {
  id: string
  final_rank: number | null
  pass_filters: boolean | null
  failed_filters: string[] | null
  designed_chain_sequence: string | null
  cif_url: string | null
  notes: string[]
  [column: string]: unknown
}

/** result_raw_json of a design. */
export interface DesignResult {
  artifacts: { path: string; sizeBytes: number; url: string }[]
  /** Null: not known, or there is nothing to count. */
  metrics: Record<(typeof countNames)[number], number | null>
  parameters: Record<string, unknown>
  columns: DesignColumn[]
  chains: { name: string; designed: boolean }[]
  notes: string[]
  /** What to know of the model before one relies on it; absent from old runs. */
  notice?: string
}

/** The counts of a run, in the order in which designs become fewer. */
export const countNames = ['requested', 'generated', 'considered', 'duplicates', 'passed', 'returned'] as const

/** The designs of a workflow, best first; empty until it is completed. */
export const designsOf = (workflow: Workflow) => (workflow.tasks[0]?.parsed_results ?? []) as Design[]

/** The columns that are shown at first, if some design has a value: those that rank. */
const usualColumns = [
  'final_rank',
  'sequence_score',
  'sequence_recovery',
  'design_to_target_iptm',
  'min_design_to_target_pae',
  'filter_rmsd',
  'plddt',
  'num_design',
]

// What is plotted at first: the first pair that some design has both of. Across, then up.
const usualAxes = [
  ['min_design_to_target_pae', 'design_to_target_iptm'],
  ['sequence_score', 'sequence_recovery'],
] as const

// What the table shows in columns of its own, or not at all.
const ownColumns = new Set(['id', 'pass_filters', 'failed_filters', 'file', 'cif_url', 'notes'])

/** The columns that can be chosen. */
export const choices = (columns: DesignColumn[]) => columns.filter((c) => !ownColumns.has(c.name))

const isThere = (designs: Design[], name: string) => designs.some((d) => (d[name] ?? null) !== null)

/** The names of the columns that are shown at first. */
export const firstChoice = (columns: DesignColumn[], designs: Design[]) =>
  usualColumns.filter((name) => columns.some((c) => c.name === name) && isThere(designs, name))

/** The names of the columns that are plotted at first. */
export const plotted = (designs: Design[]) =>
  usualAxes.find((axes) => axes.every((name) => isThere(designs, name))) ?? usualAxes[0]

/** Whether the designs were filtered. */
export const isFiltered = (designs: Design[]) => isThere(designs, 'pass_filters')

/** The columns with numbers, which can be plotted. */
export const numeric = (columns: DesignColumn[]) =>
  choices(columns).filter((c) => c.type === 'number' || c.type === 'integer')

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

/** All columns as CSV (RFC 4180); null is empty. A text that a spreadsheet would compute has an apostrophe before it. */
export function csv(designs: Design[], columns: DesignColumn[]): string {
  const shown = columns.filter((c) => c.type !== 'object' && c.name !== 'cif_url')
  const cell = (value: unknown) => {
    if (value === null || value === undefined) return ''
    if (typeof value === 'number' || typeof value === 'boolean') return String(value)
    const text = (Array.isArray(value) ? value.join('; ') : String(value)).replace(/^[=+\-@\t\r]/, "'$&")
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
