import { describe, expect, test } from 'vitest'
import type { BudgetUse, SpentRow } from '../api'
import {
  boundsOf,
  brief,
  budgetParts,
  daysIn,
  exact,
  maxSeries,
  monthsUntil,
  nameOfMonth,
  seriesOf,
  sumsOf,
  ticksTo,
  totalsOf,
} from './spent'

const row = (day: string, model: string, gpuSeconds: number | null, runs = 1): SpentRow => ({
  day,
  model,
  projectId: null,
  projectName: null,
  userId: null,
  userName: null,
  attempts: runs,
  seconds: gpuSeconds ?? 0,
  gpuSeconds,
  cpuSeconds: null,
  unknownGpuSeconds: 0,
  unknownCpuSeconds: 0,
  runs,
  tokens: 10 * runs,
  bytes: 1000 * runs,
})

describe('months', () => {
  test('have their days', () => {
    expect(['2026-11', '2026-12', '2027-02', '2028-02'].map(daysIn)).toEqual([30, 31, 28, 29])
    expect(boundsOf('2028-02')).toEqual({ from: '2028-02-01', to: '2028-02-29' })
    expect(nameOfMonth('2026-11')).toBe('November 2026')
  })
  test('are those of UTC, back over the end of a year', () => {
    expect(monthsUntil(new Date('2027-01-31T23:30:00Z'), 3)).toEqual(['2027-01', '2026-12', '2026-11'])
    expect(monthsUntil(new Date('2027-03-31T00:00:00Z'), 2)).toEqual(['2027-03', '2027-02'])
  })
})

describe('series', () => {
  const rows = [
    row('2026-11-01', 'mini', 1.5),
    row('2026-11-30', 'mini', 2),
    row('2026-11-30', 'boltz', 4),
    row('2026-11-30', 'none', null),
    row('2026-12-01', 'mini', 100),
  ]
  test('have a value for each day, the largest first, and none is empty', () => {
    const series = seriesOf(rows, 'model', 'gpuSeconds', '2026-11')
    expect(series.map((s) => [s.name, s.total])).toEqual([
      ['boltz', 4],
      ['mini', 3.5],
    ])
    expect(series[1]!.values).toHaveLength(30)
    expect(series[1]!.values[0]).toBe(1.5)
    expect(sumsOf(series)[29]).toBe(6)
    expect(seriesOf(rows, 'model', 'cpuSeconds', '2026-11')).toEqual([])
    expect(sumsOf([])).toEqual([])
  })
  test('beyond the colours are one', () => {
    const many = Array.from({ length: 12 }, (_, i) => row('2026-11-02', `m${i}`, i + 1))
    const series = seriesOf(many, 'model', 'gpuSeconds', '2026-11')
    expect(series).toHaveLength(maxSeries)
    expect(series.at(-1)).toMatchObject({ name: '5 others', total: 1 + 2 + 3 + 4 + 5 })
    expect(series.reduce((sum, s) => sum + s.total, 0)).toBe((12 * 13) / 2)
    expect(seriesOf(many.slice(0, 8), 'model', 'gpuSeconds', '2026-11').at(-1)!.name).toBe('m0')
  })
  test('of people of one name are not mixed', () => {
    const two = ['a', 'b'].map((userId) => ({ ...row('2026-11-02', 'mini', 1), userId, userName: 'ada' }))
    expect(seriesOf(two, 'user', 'runs', '2026-11')).toHaveLength(2)
    expect(totalsOf(two, 'user').map((s) => s.spent.runs)).toEqual([1, 1])
    expect(totalsOf([{ ...two[0]!, userName: null }], 'user')[0]!.name).toBe('a deleted user')
  })
  test('and the sums of a month agree', () => {
    const november = rows.slice(0, 4)
    for (const sum of totalsOf(november, 'model')) {
      const series = seriesOf(november, 'model', 'gpuSeconds', '2026-11').find((s) => s.name === sum.name)
      expect(sum.spent.gpuSeconds).toBe(series?.total ?? 0)
    }
  })
})

test('ticks are round numbers that reach the largest value', () => {
  expect(ticksTo(0, false)).toEqual([0, 1])
  expect(ticksTo(1, true)).toEqual([0, 1])
  expect(ticksTo(3, true)).toEqual([0, 1, 2, 3])
  expect(ticksTo(0.7, false)).toEqual([0, 0.2, 0.4, 0.6, 0.8])
  expect(ticksTo(40, false)).toEqual([0, 10, 20, 30, 40])
  expect(ticksTo(12_345, false)).toEqual([0, 5000, 10_000, 15_000])
  for (const most of [0.003, 1, 9.99, 77, 1e6, 123_456_789]) {
    const ticks = ticksTo(most, false)
    expect(ticks.at(-1)!).toBeGreaterThanOrEqual(most)
    expect(ticks.length).toBeLessThanOrEqual(6)
  }
})

test('values have their unit, and a little is not nothing', () => {
  expect(exact(1234.56, 'gpuSeconds')).toBe('1,234.6')
  expect(exact(0.01, 'cpuSeconds')).toBe('< 0.1')
  expect(exact(0, 'cpuSeconds')).toBe('0.0')
  expect(exact(1_500_000, 'bytes')).toBe('1.5 MB')
  expect(exact(12_345, 'tokens')).toBe('12,345')
  expect(brief(12_000, 'gpuSeconds')).toBe('12K')
})

test('a budget has what is used, planned and left', () => {
  const use: BudgetUse = {
    gpuSeconds: 100,
    cpuSeconds: null,
    usedGpuSeconds: 30,
    usedCpuSeconds: 5,
    expectedGpuSeconds: 20,
    expectedCpuSeconds: 0,
    resetAt: '2026-12-01T00:00:00Z',
  }
  expect(budgetParts(use, 'gpu')).toEqual({
    limit: 100,
    used: 30,
    planned: 20,
    left: 50,
    usedPart: 0.3,
    plannedPart: 0.2,
  })
  expect(budgetParts(use, 'cpu')).toBeNull()
  const passed = budgetParts({ ...use, usedGpuSeconds: 150 }, 'gpu')!
  expect(passed.left).toBe(0)
  expect(passed.usedPart + passed.plannedPart).toBe(1)
  expect(budgetParts({ ...use, gpuSeconds: 0, usedGpuSeconds: 0, expectedGpuSeconds: 0 }, 'gpu')).toMatchObject({
    left: 0,
    usedPart: 0,
  })
})
