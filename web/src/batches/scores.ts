// The scores of rows: their distribution, their text, and the grid of a matrix. No page, no network.
import type { BatchRow, ScoreColumn } from '../api'

/** A row of the table: its fields, and its scores under their names. */
export type Row = BatchRow & { [score: string]: unknown }

/** The score of a row; null: it has none. */
export function scoreOf(row: Row, name: string): number | null {
  const value = row[name]
  return typeof value === 'number' ? value : null
}

/** Whether two answers say the same of a row. */
export function isSameRow(a: Row, b: Row): boolean {
  const names = Object.keys(b)
  return names.length === Object.keys(a).length && names.every((name) => a[name] === b[name])
}

/** The new rows, in which those that have not changed are the known objects, so that they are not rendered again. */
export function withKnown(rows: Row[], known: Row[]): Row[] {
  const byNumber = new Map(known.map((row) => [row.row, row]))
  return rows.map((row) => {
    const old = byNumber.get(row.row)
    return old && isSameRow(old, row) ? old : row
  })
}

/** The smallest and the largest of values; null: there are none. */
export function extent(values: Iterable<number | null>): [number, number] | null {
  let low = Number.POSITIVE_INFINITY
  let high = Number.NEGATIVE_INFINITY
  for (const v of values) {
    if (v === null) continue
    if (v < low) low = v
    if (v > high) high = v
  }
  return low <= high ? [low, high] : null
}

/** The fraction of a value in a range, 0 to 1. */
export const fraction = (value: number, [low, high]: [number, number]) =>
  high > low ? (value - low) / (high - low) : 0.5

/** How the values of a score are distributed. */
export interface Distribution {
  low: number
  high: number
  median: number
  /** The number of values in equal parts from low to high. */
  bins: number[]
  /** The number of values. */
  count: number
}

/** The distribution of a score over rows; null: no row has it. */
export function distribution(rows: Row[], name: string, parts = 24): Distribution | null {
  const values = Float64Array.from(rows.flatMap((row) => scoreOf(row, name) ?? [])).sort()
  if (values.length === 0) return null
  const low = values[0]!
  const high = values[values.length - 1]!
  const bins = new Array<number>(parts).fill(0)
  for (const v of values) bins[high > low ? Math.min(parts - 1, Math.floor(((v - low) / (high - low)) * parts)) : 0]!++
  const middle = values.length >> 1
  const median = values.length % 2 === 1 ? values[middle]! : (values[middle - 1]! + values[middle]!) / 2
  return { low, high, median, bins, count: values.length }
}

/** A score with as many digits as its unit is worth. */
export function formatScore(value: number, unit: string): string {
  if (unit === '0 to 100') return value.toFixed(1)
  if (unit === '0 to 1') return value.toFixed(3)
  return value.toFixed(2)
}

/** The unit and the direction of a score in words. */
export const describeColumn = ({ unit, higherIsBetter }: ScoreColumn) =>
  `${unit && `${unit}, `}${higherIsBetter ? 'higher' : 'lower'} is better`

/** A row with some of its scores, each once. */
export function describeRow(row: Row, columns: ScoreColumn[]): string {
  const scores = [...new Set(columns)].map(({ name, unit }) => {
    const value = scoreOf(row, name)
    return `${name} ${value === null ? 'none' : formatScore(value, unit)}`
  })
  return `${row.customId}: ${scores.join(', ')}`
}

/** A grid of the rows of a matrix: a line for each binder, a column for each target, in the order of the rows. */
export interface Grid {
  binders: string[]
  targets: string[]
  /** The row at a line and a column. */
  at(line: number, column: number): Row | undefined
  /** Where a row is; undefined: it is not in the grid. */
  find(row: Row): [line: number, column: number] | undefined
}

/** The grid of rows whose custom ids join those of binder and target by a colon, which neither has. */
export function gridOf(rows: Row[]): Grid {
  const lines = new Map<string, number>()
  const columns = new Map<string, number>()
  const cells = new Map<string, Row>()
  const place = (of: Map<string, number>, id: string) => {
    if (!of.has(id)) of.set(id, of.size)
    return of.get(id)!
  }
  const split = (row: Row) => row.customId.split(':') as [string, string?]
  for (const row of [...rows].sort((a, b) => a.row - b.row)) {
    const [binder, target] = split(row)
    if (target !== undefined) cells.set(`${place(lines, binder)} ${place(columns, target)}`, row)
  }
  return {
    binders: [...lines.keys()],
    targets: [...columns.keys()],
    at: (line, column) => cells.get(`${line} ${column}`),
    find(row) {
      const [binder, target = ''] = split(row)
      const line = lines.get(binder)
      const column = columns.get(target)
      return line === undefined || column === undefined ? undefined : [line, column]
    },
  }
}

/** The scores to begin with in a plot: two that differ, and a third for the colour. */
export function plotScores(columns: ScoreColumn[], chosen: { x: string; y: string; colour: string }) {
  const names = columns.map((c) => c.name)
  const known = (name: string, otherwise: string) => (names.includes(name) ? name : otherwise)
  const x = known(chosen.x, names[0] ?? '')
  const y = known(chosen.y, names.find((name) => name !== x) ?? x)
  const colour = known(chosen.colour, names.find((name) => name !== x && name !== y) ?? y)
  return { x, y, colour }
}

/** Counts in the order of their importance: what failed is never last or left out. */
const statuses = ['FAILED', 'STOPPED', 'COMPLETED', 'RUNNING', 'INITIALIZED'] as const

/** The rows by status, those that failed first; a status that no row has is left out. */
export const countsOf = (counts: Record<string, number>) =>
  statuses.flatMap((status) => (counts[status] ? [{ status, count: counts[status] }] : []))
