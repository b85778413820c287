import { expect, test } from 'vitest'
import { withOlder } from './list'

const loaded = (rows: string, next: string | null) => ({ rows: rows.split(''), next })
const self = (row: string) => row

test('the newest rows are followed by the older ones that are known', () => {
  expect(withOlder(loaded('xab', 'b'), loaded('abcd', 'd'), self)).toEqual(loaded('xabcd', 'd'))
  expect(withOlder(loaded('ac', 'c'), loaded('abcd', null), self)).toEqual(loaded('acd', null)) // b was deleted
  expect(withOlder(loaded('abcd', 'd'), loaded('abcd', 'd'), self)).toEqual(loaded('abcd', 'd'))
  expect(withOlder(loaded('xyz', 'z'), loaded('abc', 'c'), self)).toEqual(loaded('xyz', 'z')) // rows between are unknown
  expect(withOlder(loaded('ab', 'b'), undefined, self)).toEqual(loaded('ab', 'b'))
  expect(withOlder({ rows: [], next: null }, loaded('ab', null), self)).toEqual({ rows: [], next: null })
})
