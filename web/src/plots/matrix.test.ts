import { expect, test } from 'vitest'
import { parseMatrix } from './matrix'

test('the PAE matrix is read to 0.01 Å, and other files are refused', () => {
  const bytes = (s: string) => new TextEncoder().encode(s)
  const m = parseMatrix(
    bytes('[{"predicted_aligned_error":[[0, 1.25,31.75],[2,0,3.5],[4.05,0.1,0]],"max_predicted_aligned_error":31.75}]'),
  )
  expect([m.n, m.max]).toEqual([3, 31.75])
  expect([m.at(0, 1), m.at(0, 2), m.at(2, 0), m.at(2, 1)]).toEqual([1.25, 31.75, 4.05, 0.1])
  expect(m.mean([0, 1], [0, 1])).toBeCloseTo(3.25 / 4)
  expect(() => parseMatrix(bytes('{"plddt":[1,2]}'))).toThrow('no predicted_aligned_error')
  expect(() => parseMatrix(bytes('[{"predicted_aligned_error":[[0,1],[2]]}]'))).toThrow('not square')
})
