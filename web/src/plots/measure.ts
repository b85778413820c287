// What the profile along the residues can show: pLDDT, and the predicted RMSD of models that give that in its place.
import { band, bands, css, rmsdBand, rmsdBands, smooth } from './colour'
import type { Unit } from './residues'

/** A value of residues, with its axis and its words. */
export interface Measure {
  name: string
  /** The title of the axis. */
  axis: string
  of(r: Unit): number | null
  /** The marks of the axis for the largest value; the last is its end, which has no number. */
  marks(largest: number): number[]
  colour(v: number): string
  /** A value in words. */
  words(v: number): string
  classes: readonly { name: string; has(v: number): boolean }[]
}

/** pLDDT in AlphaFold's classes. */
export const plddt: Measure = {
  name: 'pLDDT',
  axis: 'pLDDT',
  of: (r) => r.plddt,
  marks: () => [0, 50, 70, 90, 100],
  colour: (v) => css(band(v).rgb),
  words: (v) => `pLDDT ${v.toFixed(1)}, ${band(v).label.toLowerCase()}`,
  classes: bands.map((b) => ({ name: b.label.toLowerCase(), has: (v) => band(v) === b })),
}

/** pLDDT on a continuous scale. */
export const continuousPlddt: Measure = { ...plddt, colour: (v) => css(smooth(v / 100)) }

/** The predicted RMSD in Å, of which low values are good. */
export const predictedRmsd: Measure = {
  name: 'Predicted RMSD',
  axis: 'Predicted RMSD (Å)',
  of: (r) => r.rmsd ?? null,
  marks: (largest) => [0, 0.5, 1, 1.5, 2.5, ...(largest > 10 ? [10] : []), Math.max(3, Math.ceil(largest))],
  colour: (v) => css(rmsdBand(v).rgb),
  words: (v) => `predicted RMSD ${v.toFixed(2)} Å`,
  classes: rmsdBands.map((b) => ({ name: b.range, has: (v) => rmsdBand(v) === b })),
}
