import { expect, test } from 'vitest'
import { formatResidues, parseResidues, residuesOf, stretchesOf } from './residues'

test('residues are read by chain, each once', () => {
  const expected = [
    { chain_id: 'A', res_idx: [12, 13, 14, 25] },
    { chain_id: 'B1', res_idx: [3] },
  ]
  for (const text of ['A: 12-14, 25; B1: 3', 'A:12–14 25\nB1:3', ' A : 12, 13-14, B1: 3, A: 25, 12 '])
    expect(parseResidues(text)).toEqual(expected)
  expect(parseResidues('1: -3--1, 0')).toEqual([{ chain_id: '1', res_idx: [-3, -2, -1, 0] }])
  expect(parseResidues(' ')).toEqual([])
  expect(parseResidues('5, 7-8', { chain: 'C' })).toEqual([{ chain_id: 'C', res_idx: [5, 7, 8] }])
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
    ['A: x', '“x” is not a residue; write chains and residues as A: 12-18, 25; B: 3.'],
    ['A: 12K', '“12K” is not a residue; write chains and residues as A: 12-18, 25; B: 3.'],
    ['A: 9-3', '“9-3” runs backwards; write 3-9.'],
    ['A: 1-99999', '“1-99999” names more than 10000 residues.'],
    ['A:; B: 3', 'Chain A is named without residues; write them as A: 12-18, 25.'],
    ['B: 3; A:', 'Chain A is named without residues; write them as A: 12-18, 25.'],
  ] as const)
    expect(() => parseResidues(text)).toThrow(message)
})

test('lists become text, ranges of the structure, and lists again', () => {
  const list = [{ chain_id: 'A', res_idx: [14, 12, 13, 25] }, { chain_id: 'B' }]
  expect(formatResidues(list)).toBe('A: 12-14, 25; B')
  expect(stretchesOf(list)).toEqual([
    { chain: 'A', from: 12, to: 14 },
    { chain: 'A', from: 25, to: 25 },
  ])
  expect(residuesOf([...stretchesOf(list), { chain: 'A', from: 13, to: 15 }])).toEqual([
    { chain_id: 'A', res_idx: [12, 13, 14, 15, 25] },
  ])
})
