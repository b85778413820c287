// Server-sent events. Each tab keeps one stream, /v1/events. Browsers allow only a few connections per server, so a
// hidden tab closes its stream and catches up when it becomes visible. While the stream is interrupted, the pages poll.
import { signal } from '@preact/signals'
import { backoff } from 'pleat-client'
import type { Change } from './api'
import { namedId } from './project'
import { refreshSession, refreshUsage, signedIn } from './session'

/** "off": closed, as in a hidden tab; "opening": not connected yet; "reconnecting": interrupted. */
export type StreamState = 'off' | 'opening' | 'live' | 'reconnecting'

/** The state of this tab's stream. */
export const streamState = signal<StreamState>('off')

/** Receives a change of one job or workflow, or null: anything may have changed, so read everything again. */
export type Listener = (change: Change | null) => void

const subscribers = new Set<Listener>()

/** Subscribes to changes. Returns the function that ends the subscription. */
export function onChange(listener: Listener): () => void {
  subscribers.add(listener)
  return () => subscribers.delete(listener)
}

/** Calls every subscriber. */
function notify(change: Change | null) {
  for (const subscriber of subscribers) subscriber(change)
}

/** An open event stream. */
export interface Stream {
  close(): void
}

/**
 * Opens an event stream and reopens it after an error, from the last event on. EventSource itself reconnects after a
 * network error, but gives up after an answer that is not a stream, such as a proxy's while the service starts.
 */
export function openStream(
  path: string,
  names: string[],
  on: { event(name: string, data: unknown): void; state(s: StreamState): void },
): Stream {
  let source: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let tries = 0
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
      timer = setTimeout(open, backoff(tries++))
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

const usageDelay = 500 // ms; the quota is read at most once in it
let usageRequested = false
const maxKnownRuns = 1000
const knownRuns = new Set<string>() // of which an event has come

/**
 * Reads the quota again soon if an event is the first of its run, which another tab or program may have created. The
 * first event can have any status: the service may leave out events that newer ones follow.
 */
function noteRun({ jobRunId, workflowId, taskId }: Change) {
  const run = jobRunId ?? taskId ?? workflowId
  if (!run || knownRuns.has(run)) return
  if (knownRuns.size >= maxKnownRuns) knownRuns.clear()
  knownRuns.add(run)
  if (usageRequested) return
  usageRequested = true
  setTimeout(() => {
    usageRequested = false
    void refreshUsage()
  }, usageDelay)
}

// The stream of this tab, the project whose changes it has, and the timer that polls while it is interrupted.
let current: Stream | undefined
let streamed = ''
let polling: ReturnType<typeof setInterval> | undefined

const pollInterval = 4_000 // ms

/** Follows the state of the stream: polls while it is interrupted, and reads everything again when it is back. */
function setState(state: StreamState) {
  const previous = streamState.peek()
  streamState.value = state
  if (state === 'reconnecting') {
    polling ??= setInterval(() => {
      void refreshSession() // the session may have ended
      notify(null)
    }, pollInterval)
  } else {
    clearInterval(polling)
    polling = undefined
  }
  if (state === 'live' && previous === 'reconnecting') notify(null)
}

/** Keeps the stream open while a user is signed in and the tab is visible. */
export function startStream() {
  const update = () => {
    const wanted = signedIn.value === true && document.visibilityState === 'visible'
    if (current && streamed !== namedId.value) {
      current.close() // it has the changes of another project
      current = undefined
    }
    if (wanted && !current) {
      streamed = namedId.value
      const query = streamed && `?${new URLSearchParams({ projectId: streamed })}`
      const wasClosed = streamState.peek() === 'off' && subscribers.size > 0
      current = openStream(`/v1/events${query}`, ['job', 'workflow'], {
        event(_, data) {
          const change = data as Change
          noteRun(change)
          notify(change)
        },
        state: setState,
      })
      if (wasClosed) notify(null)
    } else if (!wanted && current) {
      current.close()
      current = undefined
    }
  }
  signedIn.subscribe(update)
  namedId.subscribe(update)
  document.addEventListener('visibilitychange', update)
}
