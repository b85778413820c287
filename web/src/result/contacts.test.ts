import { expect, test } from 'vitest'
import { type Contact, countOf, errorsOf, isMarked, marksOf } from './contacts'

const contact: Contact = {
  a: { chain: 'A', residue: 12, name: 'LYS' },
  b: { chain: 'L', residue: 1, name: 'ATP' },
  distance: 2.81,
  paeAB: 3.04,
  paeBA: 12,
}

test('a contact marks its two residues', () => {
  const marks = marksOf(contact)
  expect(marks).toEqual([
    { chain: 'A', from: 12, to: 12, as: 'scored' },
    { chain: 'L', from: 1, to: 1, as: 'aligned' },
  ])
  expect(isMarked(contact, marks)).toBe(true)
  expect(isMarked(contact, [])).toBe(false)
  expect(isMarked(contact, [marks[0]!, { ...marks[1]!, to: 2 }])).toBe(false)
})

test('errors that an engine does not give are no numbers', () => {
  expect(errorsOf(contact)).toBe('3.0 / 12.0')
  expect(errorsOf({ ...contact, paeAB: null, paeBA: null })).toBe('–')
})

test('the count says what is missing', () => {
  expect(countOf({ data: [], total: 0 })).toBe('No contacts.')
  expect(countOf({ data: [contact], total: 1 })).toBe('1 contact.')
  expect(countOf({ data: [contact], total: 7 })).toBe('The first 1 of 7 contacts.')
})
