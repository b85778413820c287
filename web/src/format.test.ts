import { expect, test } from 'vitest'
import { about, bytes, confidence, duration, howLong, plural, stageName, valueRange, when } from './format'

test('durations', () => {
  expect([0.25, 42.4, 125, 7260, -1].map(duration)).toEqual(['0.3 s', '42 s', '2 min 05 s', '2 h 01 min', ''])
  expect([0.2, 80, 600, 7200].map(about)).toEqual(['under a second', 'about 80 s', 'about 10 min', 'about 2.0 h'])
})

test('sizes and counts', () => {
  expect([999, 1500, 42_000_000, 5e12].map(bytes)).toEqual(['999 B', '1.5 kB', '42 MB', '5000 GB'])
  expect([plural(1, 'job'), plural(1200, 'job'), plural(2, 'entry', 'entries')]).toEqual([
    '1 job',
    '1,200 jobs',
    '2 entries',
  ])
})

test('times are relative for an hour', () => {
  const now = Date.parse('2026-03-04T12:00:00Z')
  expect(when('2026-03-04T11:59:30', now)).toBe('just now')
  expect(when('2026-03-04T11:48:00', now)).toBe('12 min ago')
  expect(when('2025-03-04T11:48:00', now)).toBe('4 Mar 2025')
})

test('what lasts is told in its largest unit', () => {
  const now = Date.parse('2026-03-04T12:00:00Z')
  const from = ['2026-03-04T11:59:30', '2026-03-04T11:56:26', '2026-03-04T09:30:00', '2026-03-01T11:00:00']
  expect(from.map((t) => howLong(t, now))).toEqual(['less than a minute', '3 min', '2 h', '3 days'])
})

test('pLDDT classes are those of AlphaFold', () => {
  expect([90, 89.9, 69.9, 49.9].map((v) => confidence(v).name)).toEqual(['very high', 'confident', 'low', 'very low'])
})

test('ranges of parameters', () => {
  const range = (min: number | null, max: number | null, values: string[] = []) => valueRange({ min, max, values })
  expect([range(1, 5), range(1, null), range(null, 5), range(null, null)]).toEqual([
    '1 to 5.',
    '1 or more.',
    'At most 5.',
    '',
  ])
  expect(range(null, null, ['a', 'b'])).toBe('One of a, b.')
})

test('stages that the page does not know keep their name', () => {
  expect([stageName('msa'), stageName('own_stage')]).toEqual(['Searching for related sequences', 'Own stage'])
})
