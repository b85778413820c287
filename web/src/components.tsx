// Small components that several pages use.
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { ServiceError } from './api'
import { askToSignIn } from './session'

/** The placeholder of a page, or of a part of it, until its data is there. */
export const Loading = ({ what = 'Loading' }: { what?: string }) => (
  <p class="loading" aria-busy="true">
    {what}…
  </p>
)

/** An error in place of a page or a part of it, with the service's message and what the user can do. */
export function Failure({ title, error, retry }: { title: string; error: Error; retry?: () => void }) {
  const status = error instanceof ServiceError ? error.status : 0
  const unauthorized = status === 401
  return (
    <section class="state failure" role="alert">
      <h2>{title}</h2>
      <p>{unauthorized ? 'It is not public. Sign in with a key of its owner.' : error.message}</p>
      <p>
        {unauthorized && (
          <button type="button" onClick={() => (askToSignIn.value = true)}>
            Sign in
          </button>
        )}
        {retry && !unauthorized && status !== 403 && (
          <button type="button" onClick={retry}>
            Try again
          </button>
        )}
      </p>
    </section>
  )
}

/** An error message below a form or list; nothing if the message is empty. */
export const ErrorMessage = ({ text }: { text: string }) =>
  text ? (
    <p class="error" role="alert">
      {text}
    </p>
  ) : null

/** The placeholder of a list without rows. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <section class="state">
      <h2>{title}</h2>
      {children}
    </section>
  )
}

const narrowScreen = matchMedia('(max-width: 720px)')

interface FoldableProps {
  title: string
  /** The number of things inside, shown next to the title. */
  count?: number
  class?: string
  children: ComponentChildren
}

/** A card that is folded at first on a narrow screen. */
export function Foldable({ title, count, class: extra = '', children }: FoldableProps) {
  const id = useId()
  const [open] = useState(!narrowScreen.matches)
  return (
    <section class={`card foldable ${extra}`} aria-labelledby={id}>
      <details open={open}>
        <summary>
          <h2 id={id}>{title}</h2>
          {count !== undefined && <span class="dim num"> {count}</span>}
        </summary>
        {children}
      </details>
    </section>
  )
}

/** A button that copies a text to the clipboard. */
export function Copy({ text, label = 'Copy' }: { text: string | (() => string); label?: string }) {
  const [result, setResult] = useState('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : text())
      setResult('Copied')
    } catch {
      // The page is not in a secure context, or the browser denies access.
      setResult('Select and copy by hand')
    }
    setTimeout(() => setResult(''), 2000)
  }
  return (
    <button type="button" class="quiet small" onClick={() => void copy()}>
      {result || label}
    </button>
  )
}

// The names of the statuses of jobs, workflows and deliveries.
const statusNames: Record<string, string> = {
  PENDING: 'waiting',
  INITIALIZED: 'queued',
  QUEUED: 'queued',
  DRAFT: 'draft',
  RUNNING: 'running',
  COMPLETED: 'completed',
  FAILED: 'failed',
  STOPPED: 'stopped',
  SUCCEEDED: 'delivered',
}

/** The status of a job, workflow or delivery, as a coloured label. */
export const StatusChip = ({ status }: { status: string }) => (
  <span class={`chip s-${status.toLowerCase()}`} data-state={status}>
    {statusNames[status] ?? status}
  </span>
)

interface ProgressBarProps {
  label: string
  done: number
  total: number
  class?: string
}

/** A bar that is done/total full; full if total is 0. */
export const ProgressBar = ({ label, done, total, class: extra = '' }: ProgressBarProps) => (
  <div
    class={`progress ${extra}`}
    role="progressbar"
    aria-label={label}
    aria-valuemin={0}
    aria-valuemax={total}
    aria-valuenow={done}
  >
    <i style={{ width: `${total > 0 ? Math.min(100, (100 * done) / total) : 100}%` }} />
  </div>
)
