import type { Colour } from '../store'
import type { Prediction } from './load'

/** The colour schemes for a prediction; those by confidence only if it has one. */
export function coloursOf(p: Prediction): Colour[] {
  const always: Colour[] = ['chain', 'secondary', 'type']
  if ((p.scores?.meanPLLDT ?? null) !== null) return ['plddt', 'continuous', ...always]
  return (p.scores?.predictedRmsd ?? null) === null ? always : ['rmsd', ...always]
}
