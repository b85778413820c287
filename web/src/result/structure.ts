// What the plots need of a structure's file: its chains and residues, and which residues of two chains touch. The viewer reads
// the same file for itself; this works without WebGL.
import type { Kind } from '../api'
import { type Chain, Table } from '../plots/residues'
import type { Stretch } from '../store'

export interface Model {
  table: Table
  atoms: Atoms
}

/** Atoms are the heavy atoms, each with the residue it belongs to, as a position in the table. */
interface Atoms {
  residue: number[]
  x: number[]
  y: number[]
  z: number[]
}

/** readCif reads the first model of an mmCIF file as the service writes it. plddt is by chain and residue. */
export function readCif(text: string, kinds: Map<string, Kind>, plddt: Record<string, (number | null)[]>): Model {
  const { names, rows } = atomSite(text)
  const column = (name: string) => names.indexOf('_atom_site.' + name)
  const [symbol, comp, chainAt, number, x, y, z, model] = [
    'type_symbol',
    'label_comp_id',
    'auth_asym_id',
    'auth_seq_id',
    'Cartn_x',
    'Cartn_y',
    'Cartn_z',
    'pdbx_PDB_model_num',
  ].map(column) as [number, number, number, number, number, number, number, number]
  if ([symbol, comp, chainAt, number, x, y, z].some((i) => i < 0))
    throw new Error('The structure’s file has no atoms that can be read.')
  const chains: Chain[] = []
  const byId = new Map<string, Chain>()
  const places = new Map<string, { chain: Chain; index: number; heavy: number }>()
  const found: { key: string; x: number; y: number; z: number }[] = []
  let first = ''
  for (const row of rows) {
    if (model >= 0) {
      first ||= row[model]!
      if (row[model] !== first) continue
    }
    const id = row[chainAt]!
    const key = id + '|' + row[number]
    let place = places.get(key)
    if (!place) {
      let chain = byId.get(id)
      if (!chain) {
        chain = { id, kind: kinds.get(id) ?? 'protein', residues: [] }
        byId.set(id, chain)
        chains.push(chain)
      }
      const index = chain.residues.length
      chain.residues.push({
        number: Number(row[number]),
        name: row[comp]!,
        plddt: plddt[id]?.[index] ?? null,
        tokens: 1,
      })
      places.set(key, (place = { chain, index, heavy: 0 }))
    }
    if (row[symbol] === 'H' || row[symbol] === 'D') continue
    place.heavy++
    found.push({ key, x: Number(row[x]), y: Number(row[y]), z: Number(row[z]) })
  }
  for (const { chain, index, heavy } of places.values())
    if (chain.kind === 'ligand') chain.residues[index]!.tokens = Math.max(1, heavy)
  const table = new Table(chains)
  const atoms: Atoms = { residue: [], x: [], y: [], z: [] }
  for (const a of found) {
    const { chain, index } = places.get(a.key)!
    atoms.residue.push(table.index({ chain: chain.id, residue: chain.residues[index]!.number }))
    atoms.x.push(a.x)
    atoms.y.push(a.y)
    atoms.z.push(a.z)
  }
  return { table, atoms }
}

/** withoutLigandAtoms counts a ligand as one row, as some engines' matrices do. */
export function withoutLigandAtoms(table: Table): Table {
  return new Table(table.chains.map((c) => ({ ...c, residues: c.residues.map((r) => ({ ...r, tokens: 1 })) })))
}

/** contacts are the residues of two chains that have heavy atoms within a distance (Å) of the other chain. */
export function contacts(m: Model, a: string, b: string, within = 5): [Stretch[], Stretch[]] {
  const { table, atoms } = m
  const cell = (i: number) =>
    [Math.floor(atoms.x[i]! / within), Math.floor(atoms.y[i]! / within), Math.floor(atoms.z[i]! / within)] as const
  const grid = new Map<string, number[]>()
  const of = (i: number) => table.flat[atoms.residue[i]!]!.chain.id
  for (let i = 0; i < atoms.residue.length; i++) {
    if (of(i) !== b) continue
    const k = cell(i).join()
    const list = grid.get(k)
    if (list) list.push(i)
    else grid.set(k, [i])
  }
  const left = new Set<number>()
  const right = new Set<number>()
  for (let i = 0; i < atoms.residue.length; i++) {
    if (of(i) !== a) continue
    const [cx, cy, cz] = cell(i)
    for (let dx = -1; dx <= 1; dx++)
      for (let dy = -1; dy <= 1; dy++)
        for (let dz = -1; dz <= 1; dz++) {
          for (const j of grid.get([cx + dx, cy + dy, cz + dz].join()) ?? []) {
            const d =
              (atoms.x[i]! - atoms.x[j]!) ** 2 + (atoms.y[i]! - atoms.y[j]!) ** 2 + (atoms.z[i]! - atoms.z[j]!) ** 2
            if (d > within * within) continue
            left.add(atoms.residue[i]!)
            right.add(atoms.residue[j]!)
          }
        }
  }
  return [runs(table, left), runs(table, right)]
}

/** runs joins neighbours to stretches. */
export function runs(table: Table, indices: Set<number>): Stretch[] {
  const out: Stretch[] = []
  let before = -2
  for (const i of [...indices].sort((p, q) => p - q)) {
    const { chain, residue } = table.flat[i]!
    const last = out[out.length - 1]
    if (last && i === before + 1 && last.chain === chain.id) last.to = residue.number
    else out.push({ chain: chain.id, from: residue.number, to: residue.number })
    before = i
  }
  return out
}

// The rows of the loop of atoms. Values are separated by spaces, those with spaces or quotes in them are quoted.
function atomSite(text: string): { names: string[]; rows: string[][] } {
  const names: string[] = []
  const rows: string[][] = []
  let at = text.search(/^_atom_site\./m)
  if (at < 0) return { names, rows }
  for (; at < text.length; ) {
    let end = text.indexOf('\n', at)
    if (end < 0) end = text.length
    const line = text.slice(at, end).trimEnd()
    at = end + 1
    if (line.startsWith('_atom_site.')) names.push(line.trim())
    else if (
      line === '' ||
      line.startsWith('#') ||
      line.startsWith('_') ||
      line.startsWith('loop_') ||
      line.startsWith('data_')
    )
      break
    else {
      const row = /["']/.test(line)
        ? (line.match(/"[^"]*"(?=\s|$)|'(?:[^']|'(?=\S))*'(?=\s|$)|\S+/g) ?? []).map((v) =>
            /^(["']).*\1$/.test(v) ? v.slice(1, -1) : v,
          )
        : line.split(/\s+/)
      if (row.length === names.length) rows.push(row)
    }
  }
  return { names, rows }
}
