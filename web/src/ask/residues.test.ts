import { expect, test } from 'vitest'
import { Table } from '../plots/residues'
import { splitResidues, withSelection } from './residues'

const chain = (id: string, names: string) => ({
  id,
  kind: 'protein' as const,
  residues: names.split(' ').map((name, i) => ({ number: i + 1, name, plddt: 60, tokens: 1 })),
})
const one = new Table([chain('A', 'ASP ALA TYR ALA GLN TRP LEU LYS')])
const two = new Table([chain('A', 'ASP ALA TRP'), chain('B', 'ASP GLY TRP')])

const found = (text: string, table = one) =>
  splitResidues(text, table).flatMap((p) =>
    typeof p === 'string' ? [] : `${p.stretch.chain}:${p.stretch.from}-${p.stretch.to}`,
  )

test('residues in an answer are found unless they do not fit the structure', () => {
  expect(found('TRP 6 (chain A) touches LEU 7')).toEqual(['A:6-6', 'A:7-7'])
  expect(found('ASP 1 to TYR 3 (chain A) are loose')).toEqual(['A:1-3'])
  expect(found('Trp6, W6 and chain A residues 2–5')).toEqual(['A:6-6', 'A:6-6', 'A:2-5'])
  expect(found('Gly6, TRP 99 and residue 12 are not there')).toEqual([])
  expect(found('ASP 1 is in both chains', two)).toEqual([]) // which one is not said
  expect(found('On chain B: ASP 1 and TRP 3. On chain A: TRP 3.', two)).toEqual(['B:1-1', 'B:3-3', 'A:3-3'])
  expect(
    splitResidues('See TRP 6.', one)
      .map((p) => (typeof p === 'string' ? p : p.text))
      .join(''),
  ).toBe('See TRP 6.')
})

test('the selection is named in the question', () => {
  const s = [{ chain: 'A', from: 2, to: 5 }]
  expect(withSelection('How exposed are these residues?', s, one)).toBe('How exposed are residues 2-5 of chain A?')
  expect(withSelection('Which are least certain?', s, one)).toBe('Which are least certain, of residues 2-5 of chain A?')
  expect(withSelection('What touches it?', [], one)).toBe('What touches it?')
})
