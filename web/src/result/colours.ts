import type { Colour } from '../store'
import type { Prediction } from './load'

/** coloursOf are the colours that a structure can be seen in; without a confidence there is none to show. */
export function coloursOf(p: Prediction): Colour[] {
  return p.scores?.meanPLLDT == null
    ? ['chain', 'secondary', 'type']
    : ['plddt', 'continuous', 'chain', 'secondary', 'type']
}
