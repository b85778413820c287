// The colours of compared structures.
import { chainColour, css } from '../plots/colour'

/** The colour of a structure, by its position from 1. */
export const structureColour = (position: number) => css(chainColour(position - 1))
