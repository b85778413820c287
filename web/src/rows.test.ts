import { expect, test } from 'vitest'
import { nextRange, RowHeights, rowsBetween } from './rows'

const ids = (n: number) => Array.from({ length: n }, (_, i) => String(i))

test('the rows on the screen are found whatever their heights', () => {
  const heights = new RowHeights()
  heights.measure([
    ['0', 10],
    ['1', 30],
    ['2', 20],
  ])
  const tops = heights.tops(ids(5)) // the others are 20 high, as the average
  expect([...tops]).toEqual([0, 10, 40, 60, 80, 100])
  expect(rowsBetween(tops, 0, 10)).toEqual({ first: 0, end: 2 })
  expect(rowsBetween(tops, 15, 39)).toEqual({ first: 1, end: 2 })
  expect(rowsBetween(tops, 40, 61)).toEqual({ first: 2, end: 4 })
  expect(rowsBetween(tops, -50, -10)).toEqual({ first: 0, end: 1 }) // scrolled above the table
  expect(rowsBetween(tops, 500, 900)).toEqual({ first: 4, end: 5 }) // and below it
  expect(rowsBetween(new RowHeights().tops([]), 0, 100)).toEqual({ first: 0, end: 0 })
})

test('rows measured later do not move those that are not', () => {
  const heights = new RowHeights()
  heights.measure([['0', 10]])
  heights.measure([['0', 10.2]]) // a fraction of a pixel changes nothing
  heights.measure([['1', 90]])
  expect([...heights.tops(ids(3))]).toEqual([0, 10, 100, 110])
  heights.clear()
  heights.measure([['0', 40]])
  expect([...heights.tops(ids(3))]).toEqual([0, 40, 80, 120])
})

test('ten thousand rows leave a few dozen in the document', () => {
  const tops = new RowHeights().tops(ids(10_000))
  const { first, end } = rowsBetween(tops, 100_000, 101_000)
  expect(end - first).toBe(22)
})

test('the range follows the screen and grows by a few rows at a time', () => {
  const range = (first: number, end: number) => ({ first, end })
  expect(nextRange(range(0, 20), range(5, 15), range(0, 30), 8)).toEqual(range(0, 28)) // a step towards the target
  expect(nextRange(range(0, 28), range(5, 15), range(0, 30), 8)).toEqual(range(0, 30)) // and no further
  expect(nextRange(range(0, 30), range(22, 34), range(15, 41), 8)).toEqual(range(15, 34)) // what is needed, first
  expect(nextRange(range(15, 34), range(22, 34), range(15, 41), 8)).toEqual(range(15, 41))
  expect(nextRange(range(0, 30), range(900, 920), range(890, 930), 8)).toEqual(range(900, 920)) // a jump
})
