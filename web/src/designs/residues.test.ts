import { expect, test } from 'vitest'
import type { Residue } from '../store'
import { formatResidues, parseResidues, residuesOf, stretchesOf } from './residues'

test('residues are read by chain, each once', () => {
  const expected = [
    { chain_id: 'A', res_idx: ['12..14', 25] },
    { chain_id: 'B1', res_idx: [3] },
  ]
  for (const text of ['A: 12-14, 25; B1: 3', 'A:12–14 25\nB1:3', ' A : 12..14, B1: 3, A: 25, 12-14 '])
    expect(parseResidues(text)).toEqual(expected)
  expect(parseResidues('1: -3--1, 0')).toEqual([{ chain_id: '1', res_idx: ['-3..-1', 0] }])
  expect(parseResidues('A-2: 5')).toEqual([{ chain_id: 'A-2', res_idx: [5] }])
  expect(parseResidues(' ')).toEqual([])
  expect(parseResidues('5, 7-8', { chain: 'C' })).toEqual([{ chain_id: 'C', res_idx: [5, '7..8'] }])
})

// The texts are those of internal/flow: TestAuthorNumbers.
test('residues may have insertion codes', () => {
  expect(parseResidues('B: 82A, 82a, 82A-84, -2A, 82C..82, 82A')).toEqual([
    { chain_id: 'B', res_idx: ['82A', '82a', '82A..84', '-2A', '82C..82'] },
  ])
})

test('a chain without residues is the whole chain, where that is meant', () => {
  expect(parseResidues('A; B: 3; C:', { whole: true })).toEqual([
    { chain_id: 'A' },
    { chain_id: 'B', res_idx: [3] },
    { chain_id: 'C' },
  ])
  expect(() => parseResidues('A; A: 3', { whole: true })).toThrow('Chain A is named as a whole and by its residues.')
})

test('what is wrong with a list is said in a sentence', () => {
  for (const [text, message] of [
    ['12', 'Residue 12 has no chain; write it as A: 12.'],
    ['A: x', '“x” is not a residue; write chains and residues as A: 12-18, 25, 82A; B: 3.'],
    ['A: 12KK', '“12KK” is not a residue; write chains and residues as A: 12-18, 25, 82A; B: 3.'],
    ['82A', 'Residue 82A has no chain; write it as A: 82A.'],
    ['A: 9999999999', '“9999999999” is not a residue'],
    ['A:; B: 3', 'Chain A is named without residues; write them as A: 12-18, 25.'],
    ['B: 3; A:', 'Chain A is named without residues; write them as A: 12-18, 25.'],
  ] as const)
    expect(() => parseResidues(text)).toThrow(message)
})

test('lists become text, ranges of the structure, and lists again', () => {
  const list = [{ chain_id: 'A', res_idx: [14, 12, 13, 25, '82A..84'] }, { chain_id: 'B' }]
  expect(formatResidues(list)).toBe('A: 14, 12, 13, 25, 82A-84; B')
  expect(formatResidues(list, true)).toBe('A: 12-14, 25, 82A-84; B')
  const read = parseResidues(formatResidues(list, true), { whole: true })
  expect(read).toEqual([{ chain_id: 'A', res_idx: ['12..14', 25, '82A..84'] }, { chain_id: 'B' }])
  const stretches = [
    { chain: 'A', from: 12, to: 14 },
    { chain: 'A', from: 25, to: 25 },
    { chain: 'A', from: 82, to: 84 },
  ]
  const codes = ({ residue }: Residue) => (residue === 82 ? ['', 'A', 'B'] : [''])
  expect(stretchesOf(read)).toEqual(stretches)
  expect(stretchesOf([{ chain_id: 'A', res_idx: ['-3..-1'] }])).toEqual([{ chain: 'A', from: -3, to: -1 }])
  expect(residuesOf(stretches, codes)).toEqual([{ chain_id: 'A', res_idx: ['12..14', 25, '82..84'] }])
  const picked = [
    { chain: 'A', from: 82, to: 82 },
    { chain: 'A', from: 80, to: 82 },
  ]
  expect(formatResidues(residuesOf(picked, codes))).toBe('A: 82-82B, 80-82B')
})
