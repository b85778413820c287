// The state that the plots, the PAE matrix, the questions and the 3D viewer share: whichever sets a signal, all follow.
import { signal } from '@preact/signals'

/** A residue: its chain and its number in the sequence, counted from 1. */
export interface Residue {
  chain: string
  residue: number
}

/** A range of residues of one chain; both ends are included. */
export interface Stretch {
  chain: string
  from: number
  to: number
}

/** A selected range: picked on its own, or one side of a region of the PAE matrix. */
export interface Marked extends Stretch {
  as: 'picked' | 'scored' | 'aligned'
}

/**
 * A colour scheme: pLDDT in AlphaFold's four classes, pLDDT as a continuous colour-blind scale, the predicted RMSD of
 * models that give that in place of pLDDT, chains, secondary structure, residue types, RMSF, or designed chains apart from others.
 */
export type Colour = 'plddt' | 'continuous' | 'rmsd' | 'chain' | 'secondary' | 'type' | 'rmsf' | 'design'

/** The residue under the pointer or keyboard cursor, or the two residues of a cell of the PAE matrix. */
export const hover = signal<Residue[]>([])

/** The selection; empty: nothing is selected. */
export const selection = signal<Marked[]>([])

/** The colour scheme of the 3D view. */
export const colour = signal<Colour>('plddt')

/** The frame of a trajectory, counted from 0. */
export const frame = signal(0)

/** Replaces the selection. */
export function select(list: Stretch[]) {
  selection.value = list.map((s) => ({ ...s, as: 'picked' }))
}

/** Clears what refers to the structure shown. A page that shows another structure calls it. */
export function reset() {
  hover.value = []
  selection.value = []
  frame.value = 0
}
