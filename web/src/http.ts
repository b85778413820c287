// HTTP to the service: the client of its API with the session's cookie, and downloads.
import { createCalls, ServiceError } from 'pleat-client'

export { ServiceError }

/** Callbacks that session.ts sets. This module cannot import it: session.ts itself makes requests. */
export const listeners = {
  unauthorized: () => {},
  /** Called after a request that counts against a quota. */
  quotaUsed: () => {},
}

/** The client. It repeats no request: the page shows what failed, and its user decides. */
export const service = createCalls({ retries: 0, fetch: send })

/** Downloads a file of a run by the URL that the service gave for it. Throws ServiceError. */
export async function download(url: string, signal?: AbortSignal): Promise<Response> {
  const path = sameOrigin(url) as '/openapi.json' // any path: the service knows the file, the types do not
  const { response } = await service.GET(path, { parseAs: 'stream', ...(signal && { signal }) })
  return response
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

/** Sends a request, and tells the session if the service does not know it any more. */
async function send(request: Request): Promise<Response> {
  const response = await fetch(request)
  if (response.status === 401) listeners.unauthorized()
  return response
}
