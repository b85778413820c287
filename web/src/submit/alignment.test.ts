import { expect, test } from 'vitest'
import { readA3M } from '../a3m'
import { libraryName, queryMismatch } from './alignment'

test('an A3M file is summarized', () => {
  expect(readA3M('# comment\n>q\nACDE\nFG\n\n>1\nAC-EaaFG\n>2\nA*D.EFG\n')).toEqual({
    queries: ['ACDEFG'],
    copies: [1],
    rows: 3,
  })
  expect(readA3M('#2\t3\n>q\rAC\r\n>1\rA-')).toEqual({ queries: ['AC'], copies: [3], rows: 2 })
})

// As TestRead and TestPairsBelongTogether of internal/msa.
test('the chains of a complex of ColabFold are its queries', () => {
  const complexA3M = '#4,3\t1,2\n>101\t102\nMKTAGGE\n>A\tB\nMKaT-GbGE\n>101\nMKTA---\n>102\n----GGE\n'
  expect(readA3M(complexA3M)).toEqual({ queries: ['MKTA', 'GGE'], copies: [1, 2], rows: 4 })
  const late = '#2,2,2\t1,1,1\n>101\t102\nMKGG--\n>101\nMKAA--\n>103\n----CC\n'
  expect(readA3M(late).queries).toEqual(['MK', 'GG', 'CC'])
})

test.each([
  ['# STOCKHOLM 1.0', 'it is in the format STOCKHOLM'],
  ['', 'it has no sequence'],
  ['ACDE', 'line 1 is before the first header'],
  ['>q\n', 'its first row is empty'],
  ['>q\nAC-E', 'its first row has “-” at position 3'],
  ['>q\nAC1E', 'line 2 has “1” at position 3'],
  ['#2,1\t1,1\n>101\nMK-\n>x\n--g\n', 'row 2 has 2 columns; by the first line, the chains of the complex have 3'],
  ['#2,1\t1,1\n>101\nMK-\n', 'it has no row of chain 2'],
  ['#2,1\t1,1\n>101\nM-G\n', 'row 1, the first of chain 1, has “-” at position 2'],
  ['>q\nACDE\n>1\nACD', 'row 2 has 3 columns; the first row has 4 residues'],
])('%j is not an alignment', (text, message) => {
  expect(() => readA3M(text)).toThrow(message)
})

test('a query that differs from the sequence is described', () => {
  const other = 'is of another sequence; '
  for (const [queries, sequence, want] of [
    [['ACDE'], 'ACDE', ''],
    [['GG', 'ACDE'], 'ACDE', ''],
    [['ACDE'], 'ACDF', `${other}residue 4 is F in the chain and E in the alignment`],
    [
      ['ACDE'],
      'AGDEFG',
      `${other}it has 4 residues, and the chain 6; residue 2 is G in the chain and C in the alignment`,
    ],
    [['ACDE'], 'ACDEFG', `${other}it has 4 residues, and the chain 6`],
    [
      ['MK', 'GGE'],
      'GGA',
      'is ColabFold’s of a complex, whose chains have 2, 3 residues; none of them is this sequence; ' +
        'residue 3 is A in the chain and E in the alignment',
    ],
  ] as const)
    expect(queryMismatch([...queries], sequence)).toBe(want)
})

test('a file name is reduced to what the library accepts', () => {
  expect(libraryName('my file (1).A3M')).toBe('my_file_1_.a3m')
  expect(libraryName('..a3m')).toBe('alignment.a3m')
  expect(libraryName('ä.a3m')).toBe('_.a3m')
})
