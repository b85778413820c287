// The resources spent in a month, as the chart and its tables show them. Days and months are those of UTC.
import type { BudgetUse, Spent, SpentRow } from '../api'
import { bytes } from '../format'

/** The measures. */
export type Measure = 'gpuSeconds' | 'cpuSeconds' | 'tokens' | 'bytes' | 'runs'

/** The names of what is counted, which are the units, too. */
export const measures: Record<Measure, string> = {
  gpuSeconds: 'GPU-seconds',
  cpuSeconds: 'CPU-seconds',
  tokens: 'Tokens',
  bytes: 'Bytes',
  runs: 'Runs',
}

/** The fields by which sums are split. */
export type Key = 'model' | 'user' | 'project'

/** The most series of a chart, which has a colour for each; the smallest are one of them together. */
export const maxSeries = 8

/** A series of a chart: its name, and a value for each day of the month. */
export interface Series {
  name: string
  values: number[]
  total: number
}

/** A value of a row; what is not known counts as 0. */
export const amountOf = (row: Spent, measure: Measure) => row[measure] ?? 0

/** The name of a row by a key, and what tells it from rows of the same name. */
function nameOf(row: SpentRow, key: Key): { id: string; name: string } {
  if (key === 'model') return { id: row.model ?? '', name: row.model || 'no model' }
  const [id, name] = key === 'user' ? [row.userId, row.userName] : [row.projectId, row.projectName]
  return { id: id ?? '', name: name || `a deleted ${key}` }
}

/** The months, such as 2027-01, that can be chosen: that of a moment and those before it. */
export function monthsUntil(now: Date, count: number): string[] {
  const first = (i: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - i, 1))
  return Array.from({ length: count }, (_, i) => first(i).toISOString().slice(0, 7))
}

/** The number of days of a month. */
export function daysIn(month: string): number {
  const [year, number] = month.split('-').map(Number)
  return new Date(Date.UTC(year!, number!, 0)).getUTCDate()
}

/** The first and the last day of a month. */
export const boundsOf = (month: string) => ({ from: `${month}-01`, to: `${month}-${daysIn(month)}` })

/** The day of the month with a number. */
export const dayOf = (month: string, number: number) => `${month}-${String(number).padStart(2, '0')}`

const monthName = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })

/** The name of a month. */
export const nameOfMonth = (month: string) => monthName.format(new Date(`${month}-01T00:00:00Z`))

/** The series of a month, the largest first; of more than maxSeries the rest is one series. None is empty. */
export function seriesOf(rows: SpentRow[], key: Key, measure: Measure, month: string): Series[] {
  const found = new Map<string, Series>()
  for (const row of rows) {
    const value = amountOf(row, measure)
    if (!row.day?.startsWith(month) || value === 0) continue
    const { id, name } = nameOf(row, key)
    const series = found.get(id) ?? { name, values: Array<number>(daysIn(month)).fill(0), total: 0 }
    series.values[Number(row.day.slice(8)) - 1]! += value
    series.total += value
    found.set(id, series)
  }
  const all = [...found.values()].sort((a, b) => b.total - a.total || a.name.localeCompare(b.name))
  if (all.length <= maxSeries) return all
  const rest = all.slice(maxSeries - 1)
  const others: Series = {
    name: `${rest.length} others`,
    values: rest[0]!.values.map((_, day) => rest.reduce((sum, s) => sum + s.values[day]!, 0)),
    total: rest.reduce((sum, s) => sum + s.total, 0),
  }
  return [...all.slice(0, maxSeries - 1), others]
}

/** The sums of each day over all series. */
export const sumsOf = (series: Series[]) =>
  (series[0]?.values ?? []).map((_, day) => series.reduce((sum, s) => sum + s.values[day]!, 0))

/** A row of the table of sums: a name, and what was spent under it. */
export interface Sum {
  id: string
  name: string
  spent: Record<Measure, number>
}

/** The sums of a month by a key, in the order of their names. */
export function totalsOf(rows: SpentRow[], key: Key): Sum[] {
  const found = new Map<string, Sum>()
  for (const row of rows) {
    const { id, name } = nameOf(row, key)
    const sum = found.get(id) ?? { id, name, spent: { gpuSeconds: 0, cpuSeconds: 0, tokens: 0, bytes: 0, runs: 0 } }
    for (const measure of Object.keys(measures) as Measure[]) sum.spent[measure] += amountOf(row, measure)
    found.set(id, sum)
  }
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name))
}

/** The measure that a chart shows first: the first of GPU-seconds, CPU-seconds and runs that is not zero. */
export const firstMeasure = (total: Spent): Measure =>
  amountOf(total, 'gpuSeconds') > 0 ? 'gpuSeconds' : amountOf(total, 'cpuSeconds') > 0 ? 'cpuSeconds' : 'runs'

/** The ticks of an axis from 0 to at least the largest value, at round numbers; at whole ones for what is counted. */
export function ticksTo(most: number, isWhole: boolean): number[] {
  const rough = most > 0 ? most / 4 : 1
  const power = 10 ** Math.floor(Math.log10(rough))
  const fitting = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= rough * (1 - 1e-9))!
  const step = isWhole ? Math.max(1, fitting) : fitting
  const count = Math.max(1, Math.ceil((most / step) * (1 - 1e-9)))
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(12)))
}

/** Whether a measure has whole numbers alone. */
export const isWhole = (measure: Measure) => measure === 'tokens' || measure === 'bytes' || measure === 'runs'

const whole = new Intl.NumberFormat('en')
const tenths = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })

/** A value for a table: seconds to a tenth. A little is not nothing. */
export function exact(value: number, measure: Measure): string {
  if (measure === 'bytes') return bytes(value)
  if (isWhole(measure)) return whole.format(value)
  return value > 0 && value < 0.05 ? '< 0.1' : tenths.format(value)
}

/** A value for an axis, such as 12K. */
export const brief = (value: number, measure: Measure) => (measure === 'bytes' ? bytes(value) : short.format(value))

/** A budget for a bar: its parts as fractions of the bar, which is the budget or, once that is passed, all that is. */
export interface BudgetParts {
  limit: number
  used: number
  planned: number
  /** The rest of the budget; 0: nothing is left. */
  left: number
  usedPart: number
  plannedPart: number
}

/** The parts of the budget of a unit; null: it has no limit. */
export function budgetParts(use: BudgetUse, unit: 'gpu' | 'cpu'): BudgetParts | null {
  const [limit, used, planned] =
    unit === 'gpu'
      ? [use.gpuSeconds, use.usedGpuSeconds, use.expectedGpuSeconds]
      : [use.cpuSeconds, use.usedCpuSeconds, use.expectedCpuSeconds]
  if (limit === null) return null
  const whole = Math.max(limit, used + planned)
  const part = (n: number) => (whole > 0 ? n / whole : 0)
  const left = Math.max(0, limit - used - planned)
  return { limit, used, planned, left, usedPart: part(used), plannedPart: part(planned) }
}
