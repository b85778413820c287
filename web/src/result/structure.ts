// Reads from a structure's file what the plots need: chains, residues, and the contacts between chains. The viewer
// reads the same file itself; this also works without WebGL.
import type { Kind } from '../api'
import { type Chain, contactDistance, Table } from '../plots/residues'
import type { Stretch } from '../store'

/** A structure: its residues, and its atoms for the search of contacts. */
export interface Model {
  table: Table
  atoms: Atoms
}

/** The heavy atoms. residue is the index of the atom's residue in the table; coordinates are in Å. */
interface Atoms {
  residue: number[]
  x: number[]
  y: number[]
  z: number[]
}

// The columns of _atom_site that are read.
const columns = {
  symbol: 'type_symbol',
  name: 'label_comp_id',
  chain: 'auth_asym_id',
  number: 'auth_seq_id',
  x: 'Cartn_x',
  y: 'Cartn_y',
  z: 'Cartn_z',
}

/** The values of an atom, by the names in columns. */
type AtomRow = Record<keyof typeof columns | 'code', string>

/** Values of residues by chain, in the order of the file. */
type ByChain = Record<string, (number | null)[]>

/** Reports whether a file says that its B-factors are predicted RMSD in Å, as the service writes them: no pLDDT. */
export const hasRmsdInB = (text: string) =>
  /^REMARK 999 The B-factor column holds the predicted RMSD/m.test(text) ||
  (/^\d+ local 'predicted RMSD' /m.test(text) && !/^\d+ local pLDDT /m.test(text))

/** Collects atoms into chains and residues, in the order of the file. */
class ModelBuilder {
  readonly chains: Chain[] = []
  private readonly byId = new Map<string, Chain>()
  /** The chain and the index in it of each residue, by chain and number. */
  private readonly residues = new Map<string, { chain: Chain; index: number; heavyAtoms: number }>()
  private readonly heavyAtoms: { key: string; x: number; y: number; z: number }[] = []

  constructor(
    private readonly kinds: Map<string, Kind>,
    private readonly plddt: ByChain,
    private readonly rmsd: ByChain,
  ) {}

  add(atom: AtomRow) {
    const key = `${atom.chain}|${atom.number}`
    const residue = this.residues.get(key) ?? this.addResidue(key, atom)
    const codes = (residue.chain.residues[residue.index]!.codes ??= [])
    if (!codes.includes(atom.code)) codes.push(atom.code)
    if (atom.symbol === 'H' || atom.symbol === 'D') return
    residue.heavyAtoms++
    this.heavyAtoms.push({ key, x: Number(atom.x), y: Number(atom.y), z: Number(atom.z) })
  }

  private addResidue(key: string, { chain: id, number, name }: AtomRow) {
    let chain = this.byId.get(id)
    if (!chain) {
      chain = { id, kind: this.kinds.get(id) ?? 'protein', residues: [] }
      this.byId.set(id, chain)
      this.chains.push(chain)
    }
    const index = chain.residues.length
    const rmsd = this.rmsd[id]?.[index] ?? undefined
    chain.residues.push({ number: Number(number), name, plddt: this.plddt[id]?.[index] ?? null, rmsd, tokens: 1 })
    const residue = { chain, index, heavyAtoms: 0 }
    this.residues.set(key, residue)
    return residue
  }

  build(): Model {
    for (const { chain, index, heavyAtoms } of this.residues.values())
      if (chain.kind === 'ligand') chain.residues[index]!.tokens = Math.max(1, heavyAtoms)
    const table = new Table(this.chains)
    const atoms: Atoms = { residue: [], x: [], y: [], z: [] }
    for (const { key, x, y, z } of this.heavyAtoms) {
      const { chain, index } = this.residues.get(key)!
      atoms.residue.push(table.index({ chain: chain.id, residue: chain.residues[index]!.number }))
      atoms.x.push(x)
      atoms.y.push(y)
      atoms.z.push(z)
    }
    return { table, atoms }
  }
}

/**
 * Reads the first model of an mmCIF file as the service writes it. kinds, plddt and rmsd are by chain; the latter two
 * have one value per residue, in the order of the file. Throws an Error for the user if the file has no atoms.
 */
export function readCif(text: string, kinds: Map<string, Kind>, plddt: ByChain, rmsd: ByChain = {}): Model {
  const { names, rows } = readAtomSite(text)
  const column = (name: string) => names.indexOf(`_atom_site.${name}`)
  const wanted = Object.entries(columns).map(([key, name]) => [key, column(name)] as const)
  if (wanted.some(([, index]) => index < 0)) throw new Error('The structure’s file has no readable atoms.')
  const modelColumn = column('pdbx_PDB_model_num')
  const codeColumn = column('pdbx_PDB_ins_code')
  const firstModel = rows[0]?.[modelColumn]
  const builder = new ModelBuilder(kinds, plddt, rmsd)
  for (const row of rows) {
    if (modelColumn >= 0 && row[modelColumn] !== firstModel) continue
    const atom = Object.fromEntries(wanted.map(([key, index]) => [key, row[index]!]))
    const code = row[codeColumn] ?? '?'
    builder.add({ ...atom, code: /^[?.]$/.test(code) ? '' : code } as AtomRow)
  }
  return builder.build()
}

/** Returns the table with each ligand counted as one token, as in the PAE matrices of some engines. */
export function withoutLigandAtoms(table: Table): Table {
  return new Table(table.chains.map((c) => ({ ...c, residues: c.residues.map((r) => ({ ...r, tokens: 1 })) })))
}

// The 27 cells around and including a cell of a grid.
const offsets = [-1, 0, 1]
const neighbourCells = offsets.flatMap((dx) => offsets.flatMap((dy) => offsets.map((dz) => [dx, dy, dz] as const)))

/** Finds the residues of each of two chains that are in contact with the other chain. */
export function contacts({ table, atoms }: Model, a: string, b: string): [Stretch[], Stretch[]] {
  const distance = contactDistance
  const cellOf = (i: number) =>
    [atoms.x[i]!, atoms.y[i]!, atoms.z[i]!].map((v) => Math.floor(v / distance)) as [number, number, number]
  const atomsOf = (chain: string) =>
    [...atoms.residue.keys()].filter((i) => table.flat[atoms.residue[i]!]!.chain.id === chain)
  const cells = new Map<string, number[]>()
  for (const i of atomsOf(b)) {
    const cell = cellOf(i).join()
    const list = cells.get(cell)
    if (list) list.push(i)
    else cells.set(cell, [i])
  }
  const squaredDistance = (i: number, j: number) =>
    (atoms.x[i]! - atoms.x[j]!) ** 2 + (atoms.y[i]! - atoms.y[j]!) ** 2 + (atoms.z[i]! - atoms.z[j]!) ** 2
  const ofA = new Set<number>()
  const ofB = new Set<number>()
  for (const i of atomsOf(a)) {
    const [x, y, z] = cellOf(i)
    for (const [dx, dy, dz] of neighbourCells) {
      for (const j of cells.get([x + dx, y + dy, z + dz].join()) ?? []) {
        if (squaredDistance(i, j) > distance * distance) continue
        ofA.add(atoms.residue[i]!)
        ofB.add(atoms.residue[j]!)
      }
    }
  }
  return [toStretches(table, ofA), toStretches(table, ofB)]
}

/** Joins adjacent residues, given by their index in the table, to stretches. */
export function toStretches(table: Table, indices: Set<number>): Stretch[] {
  const stretches: Stretch[] = []
  let previous = -2
  for (const i of [...indices].sort((p, q) => p - q)) {
    const { chain, residue } = table.flat[i]!
    const last = stretches.at(-1)
    if (last && i === previous + 1 && last.chain === chain.id) last.to = residue.number
    else stretches.push({ chain: chain.id, from: residue.number, to: residue.number })
    previous = i
  }
  return stretches
}

// A value of mmCIF: in double quotes, in single quotes, or without spaces.
const quotedValues = /"[^"]*"(?=\s|$)|'(?:[^']|'(?=\S))*'(?=\s|$)|\S+/g

/** Splits a line of a loop into values. Values with spaces or quotes in them are quoted. */
function splitValues(line: string): string[] {
  if (!/["']/.test(line)) return line.split(/\s+/)
  return (line.match(quotedValues) ?? []).map((v) => (/^(["']).*\1$/.test(v) ? v.slice(1, -1) : v))
}

/** Reads the column names and the rows of the _atom_site loop. */
function readAtomSite(text: string): { names: string[]; rows: string[][] } {
  const names: string[] = []
  const rows: string[][] = []
  let start = text.search(/^_atom_site\./m)
  while (start >= 0 && start < text.length) {
    const newline = text.indexOf('\n', start)
    const end = newline < 0 ? text.length : newline
    const line = text.slice(start, end).trimEnd()
    start = end + 1
    if (line.startsWith('_atom_site.')) names.push(line.trim())
    else if (line === '' || /^(#|_|loop_|data_)/.test(line)) break
    else {
      const values = splitValues(line)
      if (values.length === names.length) rows.push(values)
    }
  }
  return { names, rows }
}
