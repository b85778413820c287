// A run that has not ended: where it stands and what it says, as it says it.
import { useEffect, useRef, useState } from 'preact/hooks'
import { isTerminal, parseTime, type RunEvent } from '../api'
import { openStream, type StreamState } from '../events'
import { stageName } from '../format'

export interface Told {
  stage: string
  done: number
  total: number
  state: string
  lines: string[]
  error: string
}

const mostLines = 200

/** useRun follows a run's events while open is true. ended is called when the run has ended, or anything became readable. */
export function useRun(
  path: string,
  open: boolean,
  news: (e: RunEvent) => void,
): { told: Told; streamState: StreamState } {
  const [told, setTold] = useState<Told>({ stage: '', done: 0, total: 0, state: '', lines: [], error: '' })
  const [streamState, setStreamState] = useState<StreamState>('off')
  const tell = useRef(news)
  tell.current = news
  useEffect(() => {
    if (!open) return
    setTold({ stage: '', done: 0, total: 0, state: '', lines: [], error: '' })
    const seen = { last: 0 }
    const s = openStream(path, ['state', 'stage', 'log', 'artifact'], {
      state: setStreamState,
      event(_, data) {
        const e = data as RunEvent
        if (e.seq <= seen.last) return // a stream that was opened again tells from the start
        seen.last = e.seq
        setTold((old) => {
          switch (e.kind) {
            case 'stage':
              return { ...old, stage: e.stage ?? '', done: e.done ?? 0, total: e.total ?? 0 }
            case 'log':
              return { ...old, lines: [...old.lines, e.line ?? ''].slice(-mostLines) }
            case 'state':
              return { ...old, state: e.state ?? '', error: e.error ?? '' }
            default:
              return old
          }
        })
        tell.current(e)
        if (e.kind === 'state' && e.state && isTerminal(e.state)) s.close()
      },
    })
    return () => s.close()
  }, [path, open])
  return { told, streamState }
}

interface Props {
  stage: string
  done: number
  total: number
  queue: number | null
  started: string | null
  created: string
  lines: string[]
  running: boolean
  streamState: StreamState
}

export function Progress({ stage, done, total, queue, started, created, lines, running, streamState }: Props) {
  const [, tick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 1000)
    return () => clearInterval(timer)
  }, [])
  const since = started ?? created
  const elapsed = Math.max(0, Math.round((Date.now() - parseTime(since).getTime()) / 1000))
  const words = running
    ? stageName(stage) || 'Starting'
    : queue !== null
      ? queue > 1
        ? `In the queue at place ${queue}`
        : 'Next in the queue'
      : 'In the queue'
  const share = total > 0 ? Math.min(100, (done / total) * 100) : null
  return (
    <section class="card live" aria-label="Progress" data-stage={stage}>
      <div class="row between">
        <h2>
          <span role="status">{words}</span>
          {running && total > 1 && (
            <span class="dim num">
              {' '}
              {done} of {total}
            </span>
          )}
        </h2>
        <span class="dim num" title={started ? 'since it started' : 'since it was created'}>
          {clock(elapsed)}
        </span>
      </div>
      <div
        class={share === null ? 'progress unknown' : 'progress'}
        role="progressbar"
        aria-label={words}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={share === null ? undefined : Math.round(share)}
      >
        <i style={{ width: share === null ? '100%' : share + '%' }} />
      </div>
      {streamState === 'reconnecting' && <p class="caution">The connection for live news is lost. Reconnecting…</p>}
      {lines.length > 0 && <Log lines={lines} />}
    </section>
  )
}

export function Log({ lines }: { lines: string[] }) {
  const end = useRef<HTMLPreElement>(null)
  useEffect(() => {
    const e = end.current
    if (e && e.scrollHeight - e.scrollTop - e.clientHeight < 80) e.scrollTop = e.scrollHeight
  }, [lines])
  return (
    <pre class="log" ref={end} tabIndex={0} role="log" aria-label="The run’s log">
      {lines.join('\n')}
    </pre>
  )
}

export function clock(seconds: number): string {
  const s = seconds % 60
  const m = Math.floor(seconds / 60) % 60
  const h = Math.floor(seconds / 3600)
  return (h > 0 ? `${h} h ` : '') + (h > 0 || m > 0 ? `${m} min ` : '') + `${s} s`
}
