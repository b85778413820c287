// What of the results is words and numbers, without a browser.
import { expect, test } from 'vitest'
import type { ScoredChains } from './api'
import { attached, pieces } from './ask/residues'
import { held } from './dynamics/beads'
import { parseMatrix } from './plots/matrix'
import { Table } from './plots/residues'
import { contacts, readCif } from './result/structure'
import { verdict } from './result/verdict'

const chain = (id: string, names: string) => ({
  id,
  kind: 'protein' as const,
  residues: names.split(' ').map((name, i) => ({ number: i + 1, name, plddt: 60, tokens: 1 })),
})
const one = new Table([chain('A', 'ASP ALA TYR ALA GLN TRP LEU LYS')])
const two = new Table([chain('A', 'ASP ALA TRP'), chain('B', 'ASP GLY TRP')])

const found = (text: string, table = one) =>
  pieces(text, table).flatMap((p) =>
    typeof p === 'string' ? [] : p.stretches.map((s) => `${s.chain}:${s.from}-${s.to}`),
  )

test('residues of an answer are found, and what does not fit the structure is left alone', () => {
  expect(found('TRP 6 (chain A) touches LEU 7')).toEqual(['A:6-6', 'A:7-7'])
  expect(found('ASP 1 to TYR 3 (chain A) are loose')).toEqual(['A:1-3'])
  expect(found('Trp6, W6 and chain A residues 2–5')).toEqual(['A:6-6', 'A:6-6', 'A:2-5'])
  expect(found('Gly6, TRP 99 and residue 12 are not there')).toEqual([])
  expect(found('ASP 1 is in both chains', two)).toEqual([]) // which one is not said
  expect(found('On chain B: ASP 1 and TRP 3. On chain A: TRP 3.', two)).toEqual(['B:1-1', 'B:3-3', 'A:3-3'])
  expect(
    pieces('See TRP 6.', one)
      .map((p) => (typeof p === 'string' ? p : p.text))
      .join(''),
  ).toBe('See TRP 6.')
})

test('a selection goes into the question', () => {
  const s = [{ chain: 'A', from: 2, to: 5 }]
  expect(attached('How exposed are these residues?', s, one)).toBe('How exposed are residues 2-5 of chain A?')
  expect(attached('Which are least certain?', s, one)).toBe('Which are least certain, of residues 2-5 of chain A?')
  expect(attached('What touches it?', [], one)).toBe('What touches it?')
})

test('the matrix is read to the hundredth of an Å, and what is none is refused', () => {
  const bytes = (s: string) => new TextEncoder().encode(s)
  const m = parseMatrix(
    bytes('[{"predicted_aligned_error":[[0, 1.25,31.75],[2,0,3.5],[4.05,0.1,0]],"max_predicted_aligned_error":31.75}]'),
  )
  expect([m.n, m.max]).toEqual([3, 31.75])
  expect([m.at(0, 1), m.at(0, 2), m.at(2, 0), m.at(2, 1)]).toEqual([1.25, 31.75, 4.05, 0.1])
  expect(m.mean([0, 1], [0, 1])).toBeCloseTo(3.25 / 4)
  expect(() => parseMatrix(bytes('{"plddt":[1,2]}'))).toThrow('no predicted_aligned_error')
  expect(() => parseMatrix(bytes('[{"predicted_aligned_error":[[0,1],[2]]}]'))).toThrow('not square')
})

test('chains, residues and contacts are read from mmCIF', () => {
  const names =
    'group_PDB id type_symbol label_atom_id label_comp_id auth_asym_id auth_seq_id Cartn_x Cartn_y Cartn_z pdbx_PDB_model_num'.split(
      ' ',
    )
  const rows = [
    'ATOM 1 C CA ALA A 1 0 0 0 1',
    'ATOM 2 C CA GLY A 2 20 0 0 1',
    'ATOM 3 C "C1\'" GLY B 1 4 0 0 1',
    'ATOM 4 H H GLY B 1 4 0 1 1',
    'HETATM 5 C C1 LIG C 1 50 0 0 1',
    'HETATM 6 C C2 LIG C 1 51 0 0 1',
    'ATOM 7 C CA ALA A 1 9 9 9 2',
  ]
  const m = readCif(
    'data_x\nloop_\n' + names.map((n) => '_atom_site.' + n).join('\n') + '\n' + rows.join('\n') + '\n#\n',
    new Map([['C', 'ligand']]),
    { A: [91, 42] },
  )
  expect(m.table.chains.map((c) => [c.id, c.kind, c.residues.length])).toEqual([
    ['A', 'protein', 2],
    ['B', 'protein', 1],
    ['C', 'ligand', 1],
  ])
  expect(m.table.flat.map((f) => f.residue.plddt)).toEqual([91, 42, null, null])
  expect(m.table.rows).toBe(5) // a ligand has a row for each heavy atom
  expect(contacts(m, 'A', 'B')).toEqual([[{ chain: 'A', from: 1, to: 1 }], [{ chain: 'B', from: 1, to: 1 }]])
  expect(contacts(m, 'A', 'C')).toEqual([[], []])
})

test('the verdict names what it rests on, and is silent of what is not given', () => {
  const s: ScoredChains = {
    chains: ['A', 'B'],
    meanPLLDT: 91.2,
    ptm_score: 0.9,
    iptm_score: 0.5,
    max_pae_score: 20,
    confidence: '',
    pairs: [{ chainA: 'A', chainB: 'B', iptm: 0.5, ipsae: null, pdockq2: null }],
  }
  const v = verdict(s, null)
  expect(v.head).toBe('Very confident fold, uncertain interface')
  expect(v.lines).toContain('A–B interface not to be relied on: ipTM 0.50.')
  expect(verdict({ ...s, pairs: [], iptm_score: null }, null).lines).toContain(
    'How the chains lie to each other is not rated by this engine.',
  )
  const none = verdict({ ...s, meanPLLDT: null, pairs: [], iptm_score: null, chains: ['A'] }, null)
  expect([none.tone, none.head, none.lines.length]).toEqual(['unknown', 'No confidence given', 1])
})

test('a molecule that drifts stays in the picture, and keeps its shape', () => {
  const parts: DataView[] = []
  const record = (bytes: number, fill: (v: DataView) => void) => {
    const v = new DataView(new ArrayBuffer(bytes + 8))
    v.setUint32(0, bytes, true), v.setUint32(bytes + 4, bytes, true)
    fill(v)
    parts.push(v)
  }
  record(84, (v) => {
    v.setUint32(4, 0x44524f43, true)
    v.setUint32(48, 1, true)
  })
  record(84, () => {})
  record(4, (v) => v.setUint32(4, 2, true))
  for (const drift of [0, 10]) {
    record(48, () => {})
    for (const axis of [0, 1, 2])
      record(8, (v) => {
        v.setFloat32(4, drift + axis, true)
        v.setFloat32(8, drift + axis + 2 + drift, true)
      })
  }
  const dcd = new Uint8Array(parts.flatMap((v) => [...new Uint8Array(v.buffer)]))
  const last = dcd.length - 16 // the third axis of the second frame
  expect(held(dcd)).toBeCloseTo(Math.sqrt(3) * 6) // in the second frame, where the atoms are 12 apart along each axis
  const out = new DataView(dcd.buffer)
  expect([out.getFloat32(last + 4, true), out.getFloat32(last + 8, true)]).toEqual([-3, 9]) // it was 12 and 24 around 18, and 2 and 4 around 3 before
  expect(held(dcd.slice(0, 300))).toBeCloseTo(Math.sqrt(3)) // the first frame alone
  expect(held(new Uint8Array([1, 2, 3]))).toBe(0)
})
