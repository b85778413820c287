// HTTP to the service: one request function, downloads, and the error that both throw.

/** An error answer of the service, in the service's own words. Status 0: the service could not be reached. */
export class ServiceError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** The Retry-After header in seconds; 0: the answer had none. */
    readonly retryAfter = 0,
  ) {
    super(message)
  }
}

/** Callbacks that session.ts sets. This module cannot import it: session.ts itself makes requests. */
export const listeners = {
  unauthorized: () => {},
  /** Called after a request that counts against a quota. */
  quotaUsed: () => {},
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

interface RequestOptions {
  signal?: AbortSignal
  headers?: Record<string, string>
}

/** Sends a JSON or form body with the session's cookie and parses the JSON answer. Throws ServiceError. */
export async function request<T = unknown>(
  method: Method,
  path: string,
  body?: unknown,
  options: RequestOptions = {},
): Promise<T> {
  const init: RequestInit = { method, headers: { ...options.headers }, signal: options.signal ?? null }
  if (body instanceof FormData) init.body = body
  else if (body !== undefined) {
    init.body = JSON.stringify(body)
    init.headers = { ...options.headers, 'Content-Type': 'application/json' }
  }
  return (await send(path, init)).json() as Promise<T>
}

/** Posts a body that is JSON already. Throws ServiceError. */
export async function sendJSON<T = unknown>(path: string, body: string, options: RequestOptions = {}): Promise<T> {
  const headers = { ...options.headers, 'Content-Type': 'application/json' }
  return (await send(path, { method: 'POST', body, headers, signal: options.signal ?? null })).json() as Promise<T>
}

/** Downloads a file of a run by the URL that the service gave for it. Throws ServiceError. */
export async function download(url: string, signal?: AbortSignal): Promise<Response> {
  return send(sameOrigin(url), { signal: signal ?? null })
}

/**
 * The path of a URL of the service, to be fetched from the page's own origin. The service builds URLs with its public
 * name. If the page was opened under another name, such as localhost, the content-security policy blocks the public
 * one.
 */
export function sameOrigin(url: string): string {
  const u = new URL(url, location.origin)
  return u.pathname + u.search
}

/** Sends a request and returns an answer with status 2xx. Throws ServiceError for any other, and for none. */
async function send(path: string, init: RequestInit): Promise<Response> {
  let response: Response
  try {
    response = await fetch(path, init)
  } catch (e) {
    if (e instanceof DOMException && e.name === 'AbortError') throw e
    throw new ServiceError(0, 'The service cannot be reached. It may be starting, or the network is down.')
  }
  if (response.ok) return response
  let message = `The service answered ${response.status} ${response.statusText}`
  try {
    const body: unknown = await response.json()
    if (typeof body === 'object' && body && 'message' in body && typeof body.message === 'string')
      message = body.message
  } catch {
    // The answer is not from the service itself but, for example, from a proxy. Only the status is known.
  }
  if (response.status === 401) listeners.unauthorized()
  throw new ServiceError(response.status, message, Number(response.headers.get('Retry-After')) || 0)
}
