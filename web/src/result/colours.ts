import type { Colour } from '../store'
import type { Prediction } from './load'

/** The colour schemes for a prediction; those by confidence only if it has one. */
export function coloursOf(p: Prediction): Colour[] {
  const always: Colour[] = ['chain', 'secondary', 'type']
  return (p.scores?.meanPLLDT ?? null) === null ? always : ['plddt', 'continuous', ...always]
}
