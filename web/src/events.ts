// Server-sent events. A visible page has the stream of its project, /v1/events, and those of the run or batch that it
// shows; streams.ts opens them for all pages of the browser. A hidden page has none, and catches up when it becomes
// visible. While a stream tells nothing, the page polls.
import { computed, effect, signal, untracked } from '@preact/signals'
import type { Change } from './api'
import { namedId } from './project'
import { refreshSession, refreshUsage, signedIn, user } from './session'
import { subscribe } from './streamPort'
import type { StreamState } from './streams'

export type { StreamState }

/** The state of the project's stream. */
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

/** Receives the events and the states of a stream. */
export interface StreamListener {
  event(name: string, data: unknown): void
  state(s: StreamState): void
}

const causes: Partial<Record<StreamState, string>> = {
  reconnecting: 'are interrupted',
  silent: 'do not arrive: a proxy may be buffering them',
  waiting: 'wait until other pages of this browser are closed or hidden',
}

/** Whether the page asks every few seconds for what a stream in this state does not tell. */
export const polls = (s: StreamState) => s in causes

/** Why a stream in this state does not tell of changes; empty: it does, or is about to. */
export const streamNotice = (s: StreamState) =>
  polls(s) ? `Live updates ${causes[s]}. The page asks every few seconds instead.` : ''

/** The same of a stream of a run or batch; empty, too, while the page has a notice about that of the project. */
export const runNotice = (s: StreamState) => (polls(streamState.value) ? '' : streamNotice(s))

const visible = signal(true)

/** The name of the user who reads streams, empty if nobody is signed in; null: the service has not answered yet. */
const reader = computed(() => (signedIn.value === null ? null : signedIn.value ? user.value : ''))

/**
 * Reads an event stream while the page is visible. It is opened again wherever it breaks, from the last event on, and
 * from its beginning when the page becomes visible again. Events of a shared stream tell of the present alone.
 */
export function openStream(path: string, on: StreamListener, shared = false): Stream {
  const close = effect(() => {
    const name = reader.value
    if (!visible.value || name === null) return
    return untracked(() => {
      on.state('opening')
      const leave = subscribe({ path, user: name, shared }, (news) => {
        if ('event' in news) return on.event(news.event, news.data)
        if (news.state === 'reconnecting') void refreshSession() // it may have ended, or be that of another user
        on.state(news.state)
      })
      return () => {
        leave()
        untracked(() => on.state('off'))
      }
    })
  })
  return { close }
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

let polling: ReturnType<typeof setInterval> | undefined

const pollInterval = 4_000 // ms

/** Follows the state of the project's stream: polls while it tells nothing, and reads everything again when it does. */
function setState(state: StreamState) {
  const previous = streamState.peek()
  streamState.value = state
  if (polls(state)) {
    polling ??= setInterval(() => {
      void refreshSession() // the session may have ended
      notify(null)
    }, pollInterval)
  } else {
    clearInterval(polling)
    polling = undefined
  }
  const reopened = state === 'opening' && previous === 'off' && subscribers.size > 0
  if (reopened || (state === 'live' && polls(previous))) notify(null)
}

/** Keeps the stream of the chosen project open while a user is signed in and the page is visible. */
export function startStream() {
  const follow = () => {
    visible.value = document.visibilityState === 'visible'
  }
  follow()
  document.addEventListener('visibilitychange', follow)
  effect(() => {
    if (!signedIn.value) return
    const query = namedId.value && `?${new URLSearchParams({ projectId: namedId.value })}`
    const event = (_: string, data: unknown) => {
      noteRun(data as Change)
      notify(data as Change)
    }
    return untracked(() => openStream(`/v1/events${query}`, { event, state: setState }, true)).close
  })
}
