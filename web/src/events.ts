// News. A tab keeps one stream, /v1/events; browsers allow few connections, so a hidden tab lets it go and catches up when
// it is looked at again. While the stream is cut, pages are told to ask anew every few seconds.
import { signal } from '@preact/signals'
import type { Change } from './api'
import { look, signedIn } from './session'

export type StreamState = 'off' | 'opening' | 'live' | 'reconnecting'

/** How the tab's stream is. */
export const stream = signal<StreamState>('off')

/** Gets a change of one job or workflow, or null: anything may have changed, ask anew. */
export type Listener = (change: Change | null) => void

const listeners = new Set<Listener>()

/** Calls a listener with news until the function returned is called. */
export function onNews(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const tell = (change: Change | null) => listeners.forEach((l) => l(change))

export interface Stream {
  close(): void
}

/** How long to wait before another try: longer each time, and not all tabs at once. */
const pause = (tries: number) => Math.min(15_000, 500 * 2 ** tries) * (0.75 + Math.random() / 2)

/**
 * Follows a stream of the service and opens it again where it breaks, from the last event on. EventSource does so itself
 * after a cut, but gives up after an answer that is no stream, such as one of a proxy while the service starts.
 */
export function follow(
  path: string,
  names: string[],
  on: { event(name: string, data: unknown): void; state(s: StreamState): void },
): Stream {
  let source: EventSource | undefined,
    timer: ReturnType<typeof setTimeout> | undefined,
    tries = 0
  const open = () => {
    source = new EventSource(path)
    source.onopen = () => {
      tries = 0
      on.state('live')
    }
    source.onerror = () => {
      on.state('reconnecting')
      if (source?.readyState !== EventSource.CLOSED) return
      clearTimeout(timer)
      timer = setTimeout(open, pause(tries++))
    }
    for (const name of names) source.addEventListener(name, (e) => on.event(name, JSON.parse(e.data)))
  }
  on.state('opening')
  open()
  return {
    close() {
      clearTimeout(timer)
      source?.close()
      on.state('off')
    },
  }
}

let current: Stream | undefined, polling: ReturnType<typeof setInterval> | undefined

const askEvery = 4_000

function setState(s: StreamState) {
  const was = stream.peek()
  stream.value = s
  if (s === 'reconnecting') {
    polling ??= setInterval(() => {
      void look() // it may be the session that has ended
      tell(null)
    }, askEvery)
  } else {
    clearInterval(polling)
    polling = undefined
  }
  if (s === 'live' && was === 'reconnecting') tell(null)
}

/** Keeps the stream while somebody is signed in and the tab is in sight. */
export function listen() {
  const settle = () => {
    const wanted = signedIn.value === true && document.visibilityState === 'visible'
    if (wanted && !current) {
      const again = stream.peek() === 'off' && listeners.size > 0
      current = follow('/v1/events', ['job', 'workflow'], { event: (_, data) => tell(data as Change), state: setState })
      if (again) tell(null)
    } else if (!wanted && current) {
      current.close()
      current = undefined
    }
  }
  signedIn.subscribe(settle)
  document.addEventListener('visibilitychange', settle)
}
