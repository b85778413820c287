import { secondsUntil } from './error.js'

/** Waits for a time in ms, or until the signal aborts: then it throws the signal's reason. */
export function delay(ms: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** The pause before a further try, in ms: exponential, with jitter so that clients do not return all at once. */
export const backoff = (tries: number) => Math.min(15_000, 500 * 2 ** tries) * (0.75 + Math.random() / 2)

/** The longest Retry-After that is waited for, in ms; a longer one is an error at once. */
const longestWait = 60_000

/** The statuses after which a request is sent again, as the Python client does: the service or a proxy is busy. */
const busy = new Set([429, 502, 503, 504])

/**
 * Returns a fetch that sends again what is safe to repeat, requests that only read or that have an Idempotency-Key:
 * while the service is busy, as Retry-After says, and after a lost connection.
 */
export function retrying(fetch: (request: Request) => Promise<Response>, retries: number) {
  return async (request: Request): Promise<Response> => {
    const safe = request.method === 'GET' || request.headers.has('Idempotency-Key')
    for (let tries = 0; ; tries++) {
      const last = !safe || tries >= retries
      let wait = backoff(tries)
      try {
        const response = await fetch(last ? request : request.clone())
        if (last || !busy.has(response.status)) return response
        wait = secondsUntil(response.headers.get('Retry-After')) * 1000 || wait
        if (wait > longestWait) return response
        await response.body?.cancel()
      } catch (error) {
        if (last || request.signal.aborted) throw error
      }
      await delay(wait, request.signal)
    }
  }
}
