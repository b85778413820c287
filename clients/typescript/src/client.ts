import createFetchClient, { type Client, type Middleware } from 'openapi-fetch'
import { errorOf, ServiceError } from './error.js'
import { backoff, delay, retrying } from './retry.js'
import type { Batch, Change, Event, JobView, paths, Workflow } from './schema.js'
import { readEvents, StreamError, type StreamEvent } from './stream.js'

/** How to reach the service. */
export interface Options {
  /** Its address, without a slash at the end; absent: that of the page that the code runs in. */
  url?: string
  /** The API key; absent: the session's cookie of a browser, or none. */
  key?: string
  /** How often a request that is safe to repeat is sent again; absent: 4. */
  retries?: number
  /** Sends the requests; absent: the fetch of the platform. */
  fetch?: (request: Request) => Promise<Response>
}

/** The kinds of runs, by the name of their list in the paths, and their descriptions. */
export interface Tracked {
  jobs: JobView
  workflows: Workflow
  batches: Batch
}

/** An event of a stream: of one run (Event), or of a batch (Batch). */
export interface TrackedEvent<K extends keyof Tracked> {
  name: string
  id: string
  data: K extends 'batches' ? Batch : Event
}

/** How a stream is followed. */
export interface StreamOptions {
  signal?: AbortSignal
  /** The id of the last event received: the stream resumes after it. */
  lastEventId?: string
}

/** How an end is waited for. */
export interface WaitOptions<K extends keyof Tracked> {
  signal?: AbortSignal
  /** Called with every event. */
  onEvent?: (event: TrackedEvent<K>) => void
}

/**
 * A client of the service: the typed methods of openapi-fetch (GET, POST, PUT, PATCH, DELETE), and event streams. A
 * response with a status other than 2xx is thrown as a ServiceError.
 */
export interface Pleat extends Client<paths> {
  /** Follows a run or a batch to its end; reconnects after an interruption. */
  events<K extends keyof Tracked>(kind: K, id: string, options?: StreamOptions): AsyncGenerator<TrackedEvent<K>>
  /** Follows all jobs and workflows of the caller, without an end; reconnects after an interruption. */
  changes(options?: StreamOptions): AsyncGenerator<Change>
  /** Waits until a job, a workflow or a batch has ended, and returns it. Aborting the wait leaves the work running. */
  wait<K extends keyof Tracked>(kind: K, id: string, options?: WaitOptions<K>): Promise<Tracked[K]>
}

/** Makes a client. */
export function createPleat(options: Options = {}): Pleat {
  const client = createCalls(options)
  const streams = new Streams(client)
  return Object.assign(client, {
    events: streams.events.bind(streams),
    changes: streams.changes.bind(streams),
    wait: streams.wait.bind(streams),
  }) as Pleat
}

/** Makes a client without event streams, for programs that must be small. */
export function createCalls(options: Options = {}): Client<paths> {
  const url = (options.url ?? '').replace(/\/+$/, '')
  const send = options.fetch ?? ((request: Request) => globalThis.fetch(request))
  const retries = options.retries ?? 4
  const client = createFetchClient<paths>({ baseUrl: url, fetch: retrying(send, retries) })
  client.use(middleware(options.key, retries > 0))
  return client
}

/** Returns the data of a response, which a client of this package gives for every success. */
export async function dataOf<T>(response: Promise<{ data?: T }>): Promise<NonNullable<T>> {
  return (await response).data as NonNullable<T>
}

/** Reports whether a job, a workflow or a batch with this status has ended. */
export const isTerminal = (status: string) => status === 'COMPLETED' || status === 'FAILED' || status === 'STOPPED'

/** The status of a job, a workflow or a batch; the API has that of a job one level deeper. */
const statusOf = (of: JobView | Workflow | Batch) => ('job' in of ? of.job.status : of.status)

/** The paths whose POST takes an Idempotency-Key. The compiler checks that these are all. */
const idempotent: Record<Idempotent, true> = {
  '/v1/batches': true,
  '/v1/batches/{id}/rerun': true,
  '/v1/jobs': true,
  '/v1/workflows': true,
  '/v1/workflows/design/{id}/fold': true,
}

type Idempotent = {
  [P in keyof paths]: paths[P] extends { post: { parameters: { header?: infer H } } }
    ? [NonNullable<H>] extends [never]
      ? never
      : 'Idempotency-Key' extends keyof NonNullable<H>
        ? P
        : never
    : never
}[keyof paths]

/** The SHA-256 that the entity tag of a whole file holds, if it does. That of a file sent with gzip ends with -gzip. */
function stated(response: Response): string | undefined {
  if (response.status !== 200) return undefined
  return /^(?:W\/)?"([0-9a-f]{64})(?:-gzip)?"$/.exec(response.headers.get('ETag') ?? '')?.[1]
}

/** Adds the credential to requests, and an idempotency key if they are repeatable, and throws refusals. */
function middleware(key: string | undefined, repeatable: boolean): Middleware {
  return {
    onRequest({ request, schemaPath }) {
      if (key) request.headers.set('Authorization', `Bearer ${key}`)
      const takesKey = request.method === 'POST' && schemaPath in idempotent
      if (repeatable && takesKey && !request.headers.has('Idempotency-Key'))
        request.headers.set('Idempotency-Key', crypto.randomUUID())
      return request
    },
    async onResponse({ request, response, options }) {
      if (!response.ok) throw await errorOf(response)
      const want = request.method === 'GET' && stated(response)
      if (!want) return undefined
      const { compared } = await import('./compare.js') // later, since pages must be small at first
      return compared(response, want, { asStream: options.parseAs === 'stream', signal: request.signal })
    },
    onError({ error }) {
      if (error instanceof ServiceError || (error instanceof Error && error.name === 'AbortError')) return
      return new ServiceError(0, 'The service cannot be reached. It may be starting, or the network is down.')
    },
  }
}

/** The streams of a client. */
class Streams {
  constructor(private readonly client: Client<paths>) {}

  async *events<K extends keyof Tracked>(
    kind: K,
    id: string,
    options: StreamOptions = {},
  ): AsyncGenerator<TrackedEvent<K>> {
    for await (const event of this.reconnecting(`/v1/${kind}/{id}/events`, id, options)) {
      yield event as TrackedEvent<K>
      if (isLast(event)) return
    }
  }

  async *changes(options: StreamOptions = {}): AsyncGenerator<Change> {
    for await (const event of this.reconnecting('/v1/events', '', options)) yield event.data as Change
  }

  async wait<K extends keyof Tracked>(kind: K, id: string, options: WaitOptions<K> = {}): Promise<Tracked[K]> {
    const signal = options.signal ? { signal: options.signal } : {}
    const path = `/v1/${kind}/{id}` as '/v1/jobs/{id}' // the paths of all three have the same parameters
    const read = () => dataOf(this.client.GET(path, { params: { path: { id } }, ...signal })) as Promise<Tracked[K]>
    let now = await read()
    while (!isTerminal(statusOf(now))) {
      for await (const event of this.events(kind, id, signal)) options.onEvent?.(event)
      now = await read()
    }
    return now
  }

  /** Yields the events of a stream, over several connections if need be, until the service has no more. */
  private async *reconnecting(path: StreamPath, id: string, options: StreamOptions): AsyncGenerator<StreamEvent> {
    let last = options.lastEventId ?? ''
    for (let tries = 0; ; tries++) {
      try {
        const body = await this.open(path, id, last, options.signal)
        if (!body) return
        for await (const event of readEvents(body)) {
          options.signal?.throwIfAborted() // events that had arrived before are dropped
          tries = 0
          last = event.id || last
          yield event
        }
      } catch (error) {
        options.signal?.throwIfAborted()
        if (error instanceof StreamError) throw error
        if (error instanceof ServiceError && !transient.has(error.status)) throw error
      }
      await delay(backoff(tries), options.signal)
    }
  }

  /** Opens a stream after an event; undefined: the service has no more events. */
  private async open(path: StreamPath, id: string, last: string, signal: AbortSignal | undefined) {
    const { data, response } = await this.client.GET(path as '/v1/jobs/{id}/events', {
      params: { path: { id }, ...(last && { header: { 'Last-Event-ID': last } }) },
      headers: { Accept: 'text/event-stream' },
      parseAs: 'stream',
      ...(signal && { signal }),
    })
    return response.status === 204 ? undefined : (data as ReadableStream<Uint8Array> | null | undefined)
  }
}

type StreamPath = '/v1/jobs/{id}/events' | '/v1/workflows/{id}/events' | '/v1/batches/{id}/events' | '/v1/events'

/** The statuses after which a stream is opened again: the service or a proxy before it is busy or restarts. */
const transient = new Set([0, 429, 500, 502, 503, 504])

/** Reports whether an event is the last one of its stream. */
function isLast({ name, data }: StreamEvent): boolean {
  if (name === 'batch') return (data as Batch).finishedAt !== null
  return name === 'state' && isTerminal((data as Event).state ?? '')
}
