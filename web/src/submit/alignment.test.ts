import { expect, test } from 'vitest'
import { libraryName, queryMismatch, readA3M } from './alignment'

test('an A3M file is summarized', () => {
  expect(readA3M('# comment\n>q\nACDE\nFG\n\n>1\nAC-EaaFG\n>2\nA*D.EFG\n')).toEqual({ query: 'ACDEFG', rows: 3 })
})

test.each([
  ['# STOCKHOLM 1.0', 'it is in the format STOCKHOLM'],
  ['', 'it has no sequence'],
  ['ACDE', 'line 1 is before the first header'],
  ['>q\n', 'its first row is empty'],
  ['>q\nAC-E', 'its first row has “-” at position 3'],
  ['>q\nAC1E', 'line 2 has “1” at position 3'],
  ['>q\nACDE\n>1\nACD', 'row 2 has 3 columns; the first row has 4 residues'],
])('%j is not an alignment', (text, message) => {
  expect(() => readA3M(text)).toThrow(message)
})

test('a query that differs from the sequence is described', () => {
  expect(queryMismatch('ACDE', 'ACDE')).toBe('')
  expect(queryMismatch('ACDE', 'ACDF')).toBe('is of another sequence: they differ at residue 4')
  expect(queryMismatch('ACDE', 'AGDEFG')).toBe(
    'is of another sequence: it has 4 residues, the chain 6, and they differ at residue 2',
  )
  expect(queryMismatch('ACDE', 'ACDEFG')).toBe('is of another sequence: it has 4 residues, the chain 6')
})

test('a file name is reduced to what the library accepts', () => {
  expect(libraryName('my file (1).A3M')).toBe('my_file_1_.a3m')
  expect(libraryName('..a3m')).toBe('alignment.a3m')
  expect(libraryName('ä.a3m')).toBe('_.a3m')
})
