import { expect, test } from 'vitest'
import { contacts, hasRmsdInB, readCif } from './structure'

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
    { B: [0.25] },
  )
  expect(m.table.chains.map((c) => [c.id, c.kind, c.residues.length])).toEqual([
    ['A', 'protein', 2],
    ['B', 'protein', 1],
    ['C', 'ligand', 1],
  ])
  expect(m.table.flat.map((f) => f.residue.plddt)).toEqual([91, 42, null, null])
  expect(m.table.flat.map((f) => f.residue.rmsd)).toEqual([undefined, undefined, 0.25, undefined])
  expect(m.table.rows).toBe(5) // a ligand has a row for each heavy atom
  expect(contacts(m, 'A', 'B')).toEqual([[{ chain: 'A', from: 1, to: 1 }], [{ chain: 'B', from: 1, to: 1 }]])
  expect(contacts(m, 'A', 'C')).toEqual([[], []])
})

test('a file says whether its B-factors are predicted RMSD', () => {
  const local = "3 local 'predicted RMSD' 1 distance 'Predicted RMSD in Angstrom, lower is better, per residue'\n"
  expect(hasRmsdInB(local)).toBe(true)
  expect(hasRmsdInB(`2 local pLDDT 1 pLDDT x\n${local}`)).toBe(false) // pLDDT goes first
  expect(hasRmsdInB('REMARK 999 The B-factor column holds the predicted RMSD in Angstrom.   \n')).toBe(true)
  expect(hasRmsdInB('REMARK 999 The B-factor column holds pLDDT, 0 to 100.\n')).toBe(false)
})

test('residues that share a number have their insertion codes', () => {
  const names = 'type_symbol label_comp_id auth_asym_id auth_seq_id pdbx_PDB_ins_code Cartn_x Cartn_y Cartn_z'.split(
    ' ',
  )
  const rows = ['C SER H 82 ?', 'C SER H 82 A', 'C SER H 82 A', 'C SER H 82 B', 'C SER H 83 ?'].map((r) => `${r} 0 0 0`)
  const text = `data_x\nloop_\n${names.map((n) => `_atom_site.${n}`).join('\n')}\n${rows.join('\n')}\n#\n`
  const { table } = readCif(text, new Map(), {})
  expect([82, 83, 84].map((residue) => table.codes({ chain: 'H', residue }))).toEqual([['', 'A', 'B'], [''], []])
})
