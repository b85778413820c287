import { expect, test } from 'vitest'
import { dayIn, endOf } from './ends'

const now = Date.parse('2026-02-27T13:00:00Z')

test('an end is a number of days from now, or the day that is picked', () => {
  expect(endOf('1', '', now)).toBe('2026-02-28T13:00:00.000Z')
  expect(endOf('30', '2026-03-01', now)).toBe('2026-03-29T13:00:00.000Z')
  expect(endOf('date', '2026-03-01', now)).toBe('2026-03-01')
})

test('the bounds of a picked day are days in UTC', () => {
  expect(dayIn(0, now)).toBe('2026-02-27')
  expect(dayIn(2, now)).toBe('2026-03-01')
})
