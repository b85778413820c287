// What a page shows when it has nothing to show yet, or nothing at all, and small things that every page has.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { ServiceError } from './api'
import { askToSignIn } from './session'

export const Loading = ({ what = 'Loading' }: { what?: string }) => (
  <p class="loading" aria-busy="true">
    {what}…
  </p>
)

/** An error of a whole page or part, in the service's words, with what can be done. */
export function Failure({ title, error, again }: { title: string; error: Error; again?: () => void }) {
  const refused = error instanceof ServiceError && error.status === 401
  return (
    <section class="state failure" role="alert">
      <h2>{title}</h2>
      <p>{refused ? 'It is not public. Sign in with a key of its owner.' : error.message}</p>
      <p>
        {refused && (
          <button type="button" onClick={() => (askToSignIn.value = true)}>
            Sign in
          </button>
        )}
        {again && !refused && (
          <button type="button" onClick={again}>
            Try again
          </button>
        )}
      </p>
    </section>
  )
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <section class="state">
      <h2>{title}</h2>
      {children}
    </section>
  )
}

/** A button that puts a text into the clipboard. */
export function Copy({ text, label = 'Copy' }: { text: string | (() => string); label?: string }) {
  const [done, setDone] = useState<'' | 'yes' | 'no'>('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : text())
      setDone('yes')
    } catch {
      // not a secure context, or not allowed
      setDone('no')
    }
    setTimeout(() => setDone(''), 2000)
  }
  return (
    <button type="button" class="quiet small" onClick={() => void copy()}>
      {done === 'yes' ? 'Copied' : done === 'no' ? 'Select and copy by hand' : label}
    </button>
  )
}

const words: Record<string, string> = {
  PENDING: 'waiting',
  INITIALIZED: 'queued',
  QUEUED: 'queued',
  DRAFT: 'draft',
  RUNNING: 'running',
  COMPLETED: 'done',
  FAILED: 'failed',
  STOPPED: 'stopped',
  SUCCEEDED: 'delivered',
}

/** A state as a chip; its word tells what its colour tells. */
export const StateChip = ({ state }: { state: string }) => (
  <span class={`chip s-${state.toLowerCase()}`} data-state={state}>
    {words[state] ?? state}
  </span>
)
