import { expect, test } from 'vitest'
import { css, rmsdBands } from './colour'
import { plddt, predictedRmsd } from './measure'

test('a value is in the class whose bounds have it', () => {
  const classOf = (m: typeof plddt, v: number) => m.classes.filter((c) => c.has(v)).map((c) => c.name)
  expect([0, 0.5, 0.51, 1, 1.5, 1.51, 2.5, 2.6, 40].map((v) => classOf(predictedRmsd, v)[0])).toEqual([
    'up to 0.5 Å',
    'up to 0.5 Å',
    '0.5–1 Å',
    '0.5–1 Å',
    '1–1.5 Å',
    '1.5–2.5 Å',
    '1.5–2.5 Å',
    'above 2.5 Å',
    'above 2.5 Å',
  ])
  expect(classOf(plddt, 90)).toEqual(['confident'])
})

test('low predicted errors have the dark end of the scale, and the axis holds every value', () => {
  expect(predictedRmsd.colour(0.2)).toBe(css(rmsdBands[0].rgb))
  expect(predictedRmsd.colour(9)).toBe(css(rmsdBands[4].rgb))
  for (const largest of [0.4, 3, 3.2, 12.5]) expect(predictedRmsd.marks(largest).at(-1)).toBeGreaterThanOrEqual(largest)
})

test('a residue without a value has none of either measure', () => {
  const unit = { number: 1, name: 'ALA', plddt: null, tokens: 1 }
  expect([plddt.of(unit), predictedRmsd.of(unit)]).toEqual([null, null])
  expect(predictedRmsd.of({ ...unit, rmsd: 0 })).toBe(0)
})
