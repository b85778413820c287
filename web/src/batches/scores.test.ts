import { expect, test } from 'vitest'
import { nearest, placesOf, pointsOf } from './points'
import { countsOf, distribution, formatScore, gridOf, plotScores, type Row, withKnown } from './scores'

const row = (number: number, scores: Record<string, number | null> = {}, customId = String(number)): Row => ({
  row: number,
  customId,
  jobId: null,
  name: '',
  status: 'COMPLETED',
  error: null,
  ...scores,
})

test('a distribution counts every value once', () => {
  const rows = [0, 1, 2, 3, 10].map((v, i) => row(i + 1, { s: v }))
  expect(distribution([...rows, row(9, { s: null }), row(10)], 's', 5)).toEqual({
    low: 0,
    high: 10,
    median: 2,
    bins: [2, 2, 0, 0, 1],
    count: 5,
  })
  expect(distribution([row(1)], 's')).toBeNull()
  expect(distribution([row(1, { s: 4 }), row(2, { s: 4 })], 's', 3)).toMatchObject({ bins: [2, 0, 0], median: 4 })
})

test('rows that have not changed stay the same objects', () => {
  const old = [row(1, { s: 1 }), row(2, { s: null })]
  const next = withKnown([row(2, { s: 5 }), row(1, { s: 1 }), row(3)], old)
  expect(next[1]).toBe(old[0])
  expect(next[0]).toEqual(row(2, { s: 5 }))
  expect(next).toHaveLength(3)
  expect(withKnown([{ ...row(1, { s: 1 }), status: 'FAILED' }], old)[0]!.status).toBe('FAILED')
})

test('the grid of a matrix has a place for every row, in any order', () => {
  const rows = [row(4, {}, 'b:y'), row(1, {}, 'a:x'), row(2, {}, 'a:y'), row(3, {}, 'b:x')]
  const grid = gridOf(rows)
  expect([grid.binders, grid.targets]).toEqual([
    ['a', 'b'],
    ['x', 'y'],
  ])
  expect(grid.at(1, 1)).toBe(rows[0])
  expect(grid.find(rows[2]!)).toEqual([0, 1])
  expect(grid.at(2, 0)).toBeUndefined()
  expect(gridOf(rows.slice(1)).at(1, 1)).toBeUndefined()
})

test('the scores of a plot differ where there are enough', () => {
  const column = (name: string) => ({ name, unit: '', higherIsBetter: true })
  const all = ['a', 'b', 'c'].map(column)
  expect(plotScores(all, { x: '', y: '', colour: '' })).toEqual({ x: 'a', y: 'b', colour: 'c' })
  expect(plotScores(all, { x: 'b', y: '', colour: 'gone' })).toEqual({ x: 'b', y: 'a', colour: 'c' })
  expect(plotScores([column('a')], { x: '', y: '', colour: '' })).toEqual({ x: 'a', y: 'a', colour: 'a' })
})

test('scores have as many digits as their unit is worth', () => {
  expect([
    formatScore(88.15, '0 to 100'),
    formatScore(0.8, '0 to 1'),
    formatScore(-1.234, 'log10(IC50 in µM)'),
  ]).toEqual(['88.2', '0.800', '-1.23'])
})

test('what failed is named first', () => {
  expect(countsOf({ COMPLETED: 5, FAILED: 1, RUNNING: 0 }).map((c) => c.status)).toEqual(['FAILED', 'COMPLETED'])
})

test('a click finds the nearest point, and none far from all', () => {
  const points = pointsOf([row(1, { x: 0, y: 0 }), row(2, { x: 10, y: 5 }), row(3, { x: 3, y: null })], 'x', 'y', 'y')!
  expect(points.rows.map((r) => r.row)).toEqual([1, 2])
  const places = placesOf(points, 400, 300)
  const at = { x: places.x(10) + 5, y: places.y(5) - 5 }
  expect(points.rows[nearest(points, at, 400, 300)]!.row).toBe(2)
  expect(nearest(points, { x: places.x(5), y: places.y(2.5) }, 400, 300)).toBe(-1)
  expect(pointsOf([row(1)], 'x', 'y', 'y')).toBeNull()
})
