// Loads the code that draws in 3D, which is large, where the browser can draw.
import { graphics, NoWebGL } from './graphics'

/** Loads the code of the viewer. Throws NoWebGL where it could not draw. */
export async function loadViewer() {
  if (!graphics().available) throw new NoWebGL('This browser has no WebGL.')
  return import('./viewer')
}

/** Loads the code that draws several structures. Throws NoWebGL where it could not draw. */
export async function loadSuperposed() {
  if (!graphics().available) throw new NoWebGL('This browser has no WebGL.')
  return import('./superposed')
}
