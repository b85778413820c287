import { ServiceError } from './error.js'

/** A file whose bytes are not those that the service states. */
export class DamagedFileError extends Error {
  constructor(
    /** The SHA-256 that the service states, in hexadecimal. */
    readonly sha256: string,
    /** That of what was received. */
    readonly received: string,
  ) {
    super(`The file was damaged on its way or in its store: its SHA-256 is ${received}; the service states ${sha256}.`)
    this.name = 'DamagedFileError'
  }
}

/** The largest file that is read as a stream and compared, in bytes: to compare it, memory must hold it. */
const largestStream = 256 << 20

/**
 * Compares a file with the SHA-256 that the service states, and returns a response with the same content. It throws a
 * DamagedFileError where they differ. A browser can compare only in pages by HTTPS and of localhost.
 */
export async function compared(
  response: Response,
  want: string,
  { asStream, signal }: { asStream: boolean; signal: AbortSignal },
): Promise<Response> {
  if (!globalThis.crypto?.subtle) return response
  // That of a compressed response is not known before its end.
  if (asStream && !(Number(response.headers.get('Content-Length') || Infinity) <= largestStream)) return response
  let content: ArrayBuffer
  try {
    content = await response.arrayBuffer()
  } catch (error) {
    if (signal.aborted) throw error
    throw new ServiceError(0, 'The file ended early: the connection has broken, or the stored file is damaged.')
  }
  const sum = new Uint8Array(await crypto.subtle.digest('SHA-256', content))
  const received = Array.from(sum, (byte) => byte.toString(16).padStart(2, '0')).join('')
  if (received !== want) throw new DamagedFileError(want, received)
  return new Response(content, response)
}
