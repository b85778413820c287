/** One fault of a request: the field and what is wrong with it. */
export interface Fault {
  field: string
  message: string
}

/** A refusal of the service, in its own words. Status 0: the service could not be reached. */
export class ServiceError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Every fault of the request by its field, if the service lists them. */
    readonly faults: Fault[] = [],
    /** The Retry-After header in seconds; 0: the response had none. */
    readonly retryAfter = 0,
  ) {
    super(message)
    this.name = 'ServiceError'
  }
}

/** Returns the error that a response with a status other than 2xx stands for. */
export async function errorOf(response: Response): Promise<ServiceError> {
  let message = `The service answered ${response.status} ${response.statusText}`
  let faults: Fault[] = []
  try {
    const body: unknown = await response.json()
    if (typeof body === 'object' && body) {
      if ('message' in body && typeof body.message === 'string') message = body.message
      else if ('detail' in body && typeof body.detail === 'string') message = body.detail
      if ('errors' in body && Array.isArray(body.errors)) faults = body.errors.filter(isFault)
    }
  } catch {
    // The response is not from the service itself but, for example, from a proxy. Only the status is known.
  }
  return new ServiceError(response.status, message, faults, secondsUntil(response.headers.get('Retry-After')))
}

/** Reads a Retry-After header, which has seconds or a date; 0 if there is none. */
export function secondsUntil(header: string | null): number {
  if (!header) return 0
  const seconds = Number(header)
  if (Number.isFinite(seconds)) return Math.max(0, seconds)
  const at = Date.parse(header)
  return Number.isNaN(at) ? 0 : Math.max(0, (at - Date.now()) / 1000)
}

const isFault = (v: unknown): v is Fault =>
  typeof v === 'object' && v !== null && 'field' in v && 'message' in v && typeof v.message === 'string'
