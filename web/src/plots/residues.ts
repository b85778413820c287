// A structure as chains of numbered residues. Plots, viewer and answers refer to residues by these numbers. The order
// is that of the file, which is also the order of the rows of the PAE matrix.

import type { Kind } from '../api'
import type { Residue, Stretch } from '../store'

/** One residue of a chain, or a ligand. */
export interface Unit {
  /** The number in the file, from 1. */
  number: number
  /** The component code, such as TRP. */
  name: string
  /** 0 to 100; null: the engine does not give one. */
  plddt: number | null
  /** The predicted RMSD in Å, low being good, of a model that gives it; it is no pLDDT. */
  rmsd?: number | undefined
  /** The number of rows in the PAE matrix: 1, for a ligand one per heavy atom. */
  tokens: number
  /** The insertion codes of the residues that have this number, in order; absent: one residue without a code. */
  codes?: string[]
}

/** A chain and its residues in the order of the file. */
export interface Chain {
  id: string
  kind: Kind
  residues: Unit[]
}

/** The largest distance in Å of two heavy atoms of residues in contact, as in the contacts of the API. */
export const contactDistance = 4.5

/** Finds residues by chain and number, by index, and by row of the PAE matrix. */
export class Table {
  /** All residues in order. An index is a position in this list. */
  readonly flat: { chain: Chain; residue: Unit; row: number }[] = []
  /** The number of rows of the PAE matrix. */
  readonly rows: number
  private readonly indexOf = new Map<string, number>()
  private readonly byRow: number[] = []

  constructor(readonly chains: Chain[]) {
    let row = 0
    for (const chain of chains) {
      for (const residue of chain.residues) {
        this.indexOf.set(chain.id + '|' + residue.number, this.flat.length)
        for (let i = 0; i < residue.tokens; i++) this.byRow.push(this.flat.length)
        this.flat.push({ chain, residue, row })
        row += residue.tokens
      }
    }
    this.rows = row
  }

  /** Returns the index of a residue; -1: there is none. */
  index(p: Residue): number {
    return this.indexOf.get(p.chain + '|' + p.residue) ?? -1
  }

  /** Returns the insertion codes that a number has in its chain, in order; empty where it has none. */
  codes({ chain, residue }: Residue): string[] {
    const named = this.flat.filter((f) => f.chain.id === chain && f.residue.number === residue)
    return named.flatMap((f) => f.residue.codes ?? [''])
  }

  residue(index: number): Residue | null {
    const f = this.flat[index]
    return f ? { chain: f.chain.id, residue: f.residue.number } : null
  }

  /** Returns the index of the residue that a row of the PAE matrix belongs to; -1: there is none. */
  ofRow(row: number): number {
    return this.byRow[row] ?? -1
  }

  /** Returns the first and the last row of a residue. */
  rowsOf(index: number): [number, number] {
    const f = this.flat[index]!
    return [f.row, f.row + f.residue.tokens - 1]
  }

  /** Returns the residues from one index to another, as one stretch per chain. */
  stretches(from: number, to: number): Stretch[] {
    const out: Stretch[] = []
    for (let i = Math.max(0, Math.min(from, to)); i <= Math.min(this.flat.length - 1, Math.max(from, to)); i++) {
      const { chain, residue } = this.flat[i]!
      const last = out[out.length - 1]
      if (last && last.chain === chain.id) last.to = residue.number
      else out.push({ chain: chain.id, from: residue.number, to: residue.number })
    }
    return out
  }

  /** Names a residue, such as Trp6, with its chain if there are several. */
  label(p: Residue): string {
    const f = this.flat[this.index(p)]
    if (!f) return ''
    const name = title(f.residue.name)
    return this.chains.length > 1 ? `${name}${p.residue} (chain ${p.chain})` : `${name}${p.residue}`
  }

  /** Names up to three ranges, and counts the others. */
  describeStretches(list: Stretch[]): string {
    const names = list.slice(0, 3).map((s) => this.describe(s))
    return names.join(', ') + (list.length > 3 ? ` and ${list.length - 3} more` : '')
  }

  private describe(s: Stretch): string {
    const range = s.from === s.to ? this.label({ chain: s.chain, residue: s.from }) : `${s.from}–${s.to}`
    if (s.from === s.to) return range
    return this.chains.length > 1 ? `chain ${s.chain}, residues ${range}` : `residues ${range}`
  }
}

/** A residue name as people write it: TRP becomes Trp. Names of other components are left as they are. */
const title = (name: string) =>
  /^[A-Z]{3}$/.test(name) && letters[name] ? name[0] + name.slice(1).toLowerCase() : name

/** The one-letter codes of the amino acids. */
export const letters: Record<string, string> = {
  ALA: 'A',
  ARG: 'R',
  ASN: 'N',
  ASP: 'D',
  CYS: 'C',
  GLN: 'Q',
  GLU: 'E',
  GLY: 'G',
  HIS: 'H',
  ILE: 'I',
  LEU: 'L',
  LYS: 'K',
  MET: 'M',
  PHE: 'F',
  PRO: 'P',
  SER: 'S',
  THR: 'T',
  TRP: 'W',
  TYR: 'Y',
  VAL: 'V',
}
