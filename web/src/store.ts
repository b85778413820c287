// What the plots, the matrix, the question and the structure share: whichever of them sets a signal, all follow.
import { signal } from '@preact/signals'

/** A residue by its chain and its number in the sequence, counted from 1. */
export interface Residue { chain: string; residue: number }

/** Residues of one chain from one to another, both counted in. */
export interface Stretch { chain: string; from: number; to: number }

/** pLDDT in AlphaFold's four classes, pLDDT as a continuous colour-blind scale, chains, or the sequence's course. */
export type Colour = 'plddt' | 'continuous' | 'chain' | 'course'

/** The residue under the pointer or the keyboard's cursor. */
export const hover = signal<Residue | null>(null)

/** What is selected; empty: nothing. */
export const range = signal<Stretch[]>([])

export const colour = signal<Colour>('plddt')

/** The frame of a trajectory, counted from 0. */
export const frame = signal(0)

/** Forgets what belongs to a structure; a page that shows another calls it. */
export function reset() {
  hover.value = null
  range.value = []
  frame.value = 0
}
