// What a structure consists of, as the plots, the viewer and the answers count it: chains of numbered residues. The order
// is the file's, which is also the order of the rows of the matrix of errors.

import type { Kind } from '../api'
import type { Residue, Stretch } from '../store'

/** Unit is one residue of a chain, or a ligand. */
export interface Unit {
  number: number // as the file and the answers number it, from 1
  name: string // component code, such as TRP
  plddt: number | null // 0–100; null: the engine does not give one
  tokens: number // rows of the matrix of errors: 1, for a ligand one for each heavy atom
}

export interface Chain {
  id: string
  kind: Kind
  residues: Unit[]
}

/** Table finds residues by chain and number, by position in the profile, and by row of the matrix of errors. */
export class Table {
  readonly flat: { chain: Chain; residue: Unit; row: number }[] = []
  readonly rows: number // of the matrix of errors
  private readonly at = new Map<string, number>()
  private readonly byRow: number[] = []

  constructor(readonly chains: Chain[]) {
    let row = 0
    for (const chain of chains) {
      for (const residue of chain.residues) {
        this.at.set(chain.id + '|' + residue.number, this.flat.length)
        for (let i = 0; i < residue.tokens; i++) this.byRow.push(this.flat.length)
        this.flat.push({ chain, residue, row })
        row += residue.tokens
      }
    }
    this.rows = row
  }

  /** Index is the position of a residue in flat; -1: there is none. */
  index(p: Residue): number {
    return this.at.get(p.chain + '|' + p.residue) ?? -1
  }

  residue(index: number): Residue | null {
    const f = this.flat[index]
    return f ? { chain: f.chain.id, residue: f.residue.number } : null
  }

  /** ofRow is the position in flat of the residue that a row of the matrix belongs to. */
  ofRow(row: number): number {
    return this.byRow[row] ?? -1
  }

  /** rowsOf are the first and the last row of a residue. */
  rowsOf(index: number): [number, number] {
    const f = this.flat[index]!
    return [f.row, f.row + f.residue.tokens - 1]
  }

  /** stretches are the runs that lie between two positions of flat, one for each chain touched. */
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

  /** indices are the positions in flat of the residues of some stretches. */
  indices(list: Stretch[]): Set<number> {
    const out = new Set<number>()
    this.flat.forEach((f, i) => {
      if (list.some((s) => contains(s, { chain: f.chain.id, residue: f.residue.number }))) out.add(i)
    })
    return out
  }

  /** label names a residue as a biologist would: Trp6, with its chain where there are several. */
  label(p: Residue): string {
    const f = this.flat[this.index(p)]
    if (!f) return ''
    const name = title(f.residue.name)
    return this.chains.length > 1 ? `${name}${p.residue} (chain ${p.chain})` : `${name}${p.residue}`
  }

  /** spans names stretches, the first few. */
  spans(list: Stretch[]): string {
    const words = list.slice(0, 3).map((s) => this.span(s))
    return words.join(', ') + (list.length > 3 ? ` and ${list.length - 3} more` : '')
  }

  /** span names a stretch. */
  span(s: Stretch): string {
    const words = s.from === s.to ? this.label({ chain: s.chain, residue: s.from }) : `${s.from}–${s.to}`
    if (s.from === s.to) return words
    return this.chains.length > 1 ? `chain ${s.chain}, residues ${words}` : `residues ${words}`
  }
}

export function contains(s: Stretch, p: Residue): boolean {
  return s.chain === p.chain && p.residue >= s.from && p.residue <= s.to
}

export function same(a: Residue | null, b: Residue | null): boolean {
  return a === b || (!!a && !!b && a.chain === b.chain && a.residue === b.residue)
}

const title = (name: string) =>
  /^[A-Z]{3}$/.test(name) && letters[name] ? name[0] + name.slice(1).toLowerCase() : name

/** letters are the one-letter codes of the amino acids. */
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
