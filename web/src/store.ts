// What the plots, the matrix, the question and the structure share: whichever of them sets a signal, all follow.
import { signal } from '@preact/signals'

/** A residue by its chain and its number in the sequence, counted from 1. */
export interface Residue {
  chain: string
  residue: number
}

/** Residues of one chain from one to another, both counted in. */
export interface Stretch {
  chain: string
  from: number
  to: number
}

/** A selected stretch: picked by itself, or as one side of a region of the matrix of errors. */
export interface Marked extends Stretch {
  as: 'picked' | 'scored' | 'aligned'
}

/** pLDDT in AlphaFold's four classes, pLDDT as a continuous colour-blind scale, chains, helices and strands, residue types, or how much each residue moves. */
export type Colour = 'plddt' | 'continuous' | 'chain' | 'secondary' | 'type' | 'rmsf'

/** What is under the pointer or the keyboard's cursor: a residue, or the two of a place in the matrix of errors. */
export const hover = signal<Residue[]>([])

/** What is selected; empty: nothing. */
export const range = signal<Marked[]>([])

export const colour = signal<Colour>('plddt')

/** The frame of a trajectory, counted from 0. */
export const frame = signal(0)

/** Selects stretches; nothing where there are none. */
export const pick = (list: Stretch[]) => (range.value = list.map((s) => ({ ...s, as: 'picked' })))

/** Forgets what belongs to a structure; a page that shows another calls it. */
export function reset() {
  hover.value = []
  range.value = []
  frame.value = 0
}
