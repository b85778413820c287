import type { BatchKind } from '../api'

/** The names of the kinds of batches. */
export const kindNames: Record<BatchKind, string> = {
  list: 'List',
  matrix: 'Matrix',
  ligands: 'Ligands',
  variants: 'Variants',
  seeds: 'Seeds',
}
