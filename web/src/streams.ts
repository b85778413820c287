// The event streams of a browser. Browsers open six HTTP/1.1 connections to a host for all their pages together, so one
// shared worker opens the streams of all pages: one for each project, whose changes all of its pages get, and as many
// of runs and batches as leave connections for requests. A leader among the pages, elected by the Web Locks API, would
// need more code to count streams, and does not exist under plain http, where HTTP/2 is missing, too. Some browsers of
// phones and of other programs have no shared worker; a page there opens its streams itself, and so does one whose
// worker does not answer. After an upgrade of the service, pages that were open before have the worker of before.
//
// A stream is read by fetch: EventSource does not tell of comments. The service begins a stream with one, and sends
// one every 15 seconds, so that a stream without a byte is one that something on the way holds back.
import { backoff, readEvents } from 'pleat-client'

/**
 * "off": closed, as in a hidden page; "opening": not connected yet; "reconnecting": interrupted; "silent": nothing
 * arrives; "waiting": other pages of the browser have as many streams open as may be.
 */
export type StreamState = 'off' | 'opening' | 'live' | 'reconnecting' | 'silent' | 'waiting'

/** A stream that a page wants. */
export interface Wanted {
  path: string
  /** The name of the user who reads it; empty: nobody is signed in. */
  user: string
  /** Whether pages share it and its events tell of the present alone; it goes before streams that begin with the past. */
  shared: boolean
}

/** What a reader of a stream is told. */
export type News = { state: StreamState } | { event: string; data: unknown }
type Reader = (news: News) => void

/** What a page sends: it wants a stream, which it calls by a number, or still does, or wants it no longer. */
export interface Order {
  id: number
  open?: Wanted
}

/** What a page receives. */
export type Delivery = News & { id: number }

/** The bounds of the streams of a browser. */
export interface Bounds {
  /** The most streams that are open at once. */
  most: number
  /** How long a stream may take to its first byte until it counts as silent, in ms. */
  patience: number
  /** How long an open stream may be without a byte until it is opened again, in ms: three comments of the service. */
  silence: number
  /** How long the streams of a page that says nothing stay open, in ms: not every browser tells that a page is gone. */
  lease: number
  /** How long a stream waits before it is opened for the nth time without success, in ms. */
  backoff(tries: number): number
}

const usual: Bounds = { most: 4, patience: 5_000, silence: 45_000, lease: 90_000, backoff }

/** The streams of all pages that it serves, at most as many at once as bounds say. */
export class Streams {
  private streams: Stream[] = []

  constructor(
    private readonly service: string,
    private readonly bounds: Bounds = usual,
  ) {}

  /** Serves the page at the other end of a port. */
  serve(port: MessagePort) {
    const closers = new Map<number, () => void>()
    const close = (id: number) => {
      closers.get(id)?.()
      closers.delete(id)
    }
    const gone = () => [...closers.keys()].forEach(close)
    let lease: ReturnType<typeof setTimeout> | undefined
    port.onmessage = ({ data: { id, open } }: MessageEvent<Order>) => {
      clearTimeout(lease)
      lease = setTimeout(gone, this.bounds.lease)
      if (!open) close(id)
      else if (!closers.has(id))
        closers.set(
          id,
          this.open(open, (news) => port.postMessage({ id, ...news } satisfies Delivery)),
        )
    }
    port.addEventListener('close', gone) // the page has crashed
  }

  /** Opens a stream, or joins the one that pages share. Returns the function that ends this. */
  open(wanted: Wanted, reader: Reader): () => void {
    const { path, user, shared } = wanted
    let stream = this.streams.find((s) => shared && s.wanted.shared && s.wanted.path === path && s.wanted.user === user)
    if (!stream) {
      stream = new Stream(wanted, this.service, this.bounds, () => this.remove(stream!))
      this.streams.push(stream)
      this.admit()
    }
    stream.join(reader)
    return () => stream.leave(reader)
  }

  private remove(stream: Stream) {
    this.streams = this.streams.filter((s) => s !== stream)
    this.admit()
  }

  /** Opens the first streams, those of projects before all others, and lets the rest wait. */
  private admit() {
    const order = [...this.streams].sort((a, b) => Number(b.wanted.shared) - Number(a.wanted.shared))
    for (const s of order.slice(this.bounds.most)) s.wait()
    for (const s of order.slice(0, this.bounds.most)) s.start()
  }
}

/** A stream, which is opened again wherever it breaks, from the last event on. */
class Stream {
  private readonly readers = new Set<Reader>()
  private state: StreamState = 'opening'
  private last = '' // id of the last event
  private tries = 0
  private attempt: AbortController | undefined
  private running: object | undefined

  constructor(
    readonly wanted: Wanted,
    private readonly service: string,
    private readonly bounds: Bounds,
    private readonly ended: () => void,
  ) {}

  join(reader: Reader) {
    this.readers.add(reader)
    reader({ state: this.state })
  }

  leave(reader: Reader) {
    if (this.readers.delete(reader) && this.readers.size === 0) this.end()
  }

  start() {
    if (!this.running) void this.follow()
  }

  wait() {
    this.stop()
    this.setState('waiting')
  }

  private stop() {
    this.running = undefined
    this.attempt?.abort()
  }

  private end() {
    this.stop()
    this.ended()
  }

  private tell(news: News) {
    for (const reader of this.readers) reader(news)
  }

  private setState(state: StreamState) {
    if (state === this.state) return
    this.state = state
    this.tell({ state })
  }

  /** Reads the stream until it is complete or stopped. */
  private async follow() {
    const mine = {}
    this.running = mine
    this.setState('opening')
    while (this.running === mine) {
      const attempt = new AbortController()
      this.attempt = attempt
      let complete = false
      let held = false // what holds the stream back still does
      try {
        complete = await this.read(attempt)
      } catch {
        held = attempt.signal.aborted && this.state === 'silent'
      } finally {
        attempt.abort() // closes the connection, whatever has been read of it
      }
      if (this.running !== mine) return
      if (complete) {
        this.setState('off')
        return this.end()
      }
      if (!held) this.setState('reconnecting')
      await new Promise((done) => setTimeout(done, this.bounds.backoff(this.tries++)))
    }
  }

  /** Opens the stream once and reads it until it breaks. Returns whether the service has no more events. */
  private async read(attempt: AbortController): Promise<boolean> {
    const { patience, silence } = this.bounds
    const first = setTimeout(() => this.setState('silent'), patience)
    let next = setTimeout(() => attempt.abort(), silence)
    const heard = () => {
      clearTimeout(first)
      clearTimeout(next)
      next = setTimeout(() => attempt.abort(), silence)
      this.tries = 0
      this.setState('live')
    }
    const { signal } = attempt
    try {
      const headers = { Accept: 'text/event-stream', ...(this.last && { 'Last-Event-ID': this.last }) }
      const response = await fetch(this.service + this.wanted.path, { headers, signal, cache: 'no-store' })
      if (response.status === 204) return true
      if (response.status === 400) this.last = '' // of a server that does not know the id, which must not be sent again
      const isStream = response.ok && response.headers.get('Content-Type')?.startsWith('text/event-stream')
      if (!isStream || !response.body) throw new Error(`the stream was refused with ${response.status}`)
      await this.checkUser(signal)
      const watch = new TransformStream<Uint8Array, Uint8Array>({
        transform(bytes, to) {
          if (!signal.aborted) heard()
          to.enqueue(bytes)
        },
      })
      for await (const { name, id, data } of readEvents(response.body.pipeThrough(watch))) {
        if (signal.aborted) return false
        this.last = id || this.last
        this.tell({ event: name, data })
      }
      return false
    } finally {
      clearTimeout(first)
      clearTimeout(next)
    }
  }

  /** Fails if somebody else has signed in, with whose cookie the stream was then opened: no page may get its events. */
  private async checkUser(signal: AbortSignal) {
    const response = await fetch(`${this.service}/v1/session`, { signal, cache: 'no-store' })
    if (!response.ok) throw new Error(`the session was refused with ${response.status}`)
    const { user } = (await response.json()) as { user: string | null }
    if ((user ?? '') !== this.wanted.user) throw new Error('another user has signed in')
  }
}
