// Whether and how the browser draws in 3D. It is known before the viewer, which is large, is loaded.

/** This browser cannot draw in 3D. */
export class NoWebGL extends Error {
  override name = 'NoWebGL'
}

/** Whether the browser has WebGL, and whether it draws in software instead of on a graphics card. */
interface Graphics {
  available: boolean
  software: boolean
}

let found: Graphics | undefined

/** Finds out, once, how the browser draws. */
export function graphics(): Graphics {
  if (found?.available) return found // a context that failed once may be there later
  const gl = document.createElement('canvas').getContext('webgl2')
  const unmaskedRenderer = 37446 // UNMASKED_RENDERER_WEBGL of the extension
  const name = gl?.getExtension('WEBGL_debug_renderer_info') ? String(gl.getParameter(unmaskedRenderer)) : ''
  gl?.getExtension('WEBGL_lose_context')?.loseContext()
  found = { available: gl !== null, software: /swiftshader|llvmpipe|softpipe|software/i.test(name) }
  return found
}
