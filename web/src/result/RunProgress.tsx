// The progress of a run that has not ended, and its log.
import { useEffect, useRef, useState } from 'preact/hooks'
import { isTerminal, parseTime, type RunEvent, type Waiting } from '../api'
import { openStream, runNotice, type StreamState } from '../events'
import { asSentence, howLong, moment, stageName } from '../format'

/** The state of a run, from its events so far. */
export interface RunState {
  stage: string
  done: number
  total: number
  status: string
  error: string
  /** The last lines of the log. */
  lines: string[]
}

const initialState: RunState = { stage: '', done: 0, total: 0, status: '', error: '', lines: [] }
// The number of lines of the log that are shown.
const maxLines = 200

/** The state after an event. */
function applyEvent(state: RunState, e: RunEvent): RunState {
  switch (e.kind) {
    case 'stage':
      return { ...state, stage: e.stage ?? '', done: e.done ?? 0, total: e.total ?? 0 }
    case 'log':
      return { ...state, lines: [...state.lines, e.line ?? ''].slice(-maxLines) }
    case 'state':
      return { ...state, status: e.state ?? '', error: e.error ?? '' }
    default:
      return state
  }
}

/** Reads the event stream of a run while open is true. onEvent is called for each new event. */
export function useRunEvents(
  path: string,
  open: boolean,
  onEvent: (e: RunEvent) => void,
): { run: RunState; streamState: StreamState } {
  const [run, setRun] = useState(initialState)
  const [streamState, setStreamState] = useState<StreamState>('off')
  const listener = useRef(onEvent)
  listener.current = onEvent
  useEffect(() => {
    if (!open) return
    setRun(initialState)
    let lastSeq = 0
    let runId: string | null | undefined
    const stream = openStream(path, {
      state: setStreamState,
      event(_, data) {
        const e = data as RunEvent
        const of = e.jobRunId ?? e.taskId
        if (of !== runId) {
          runId = of // the run of the stream, or a later one
          lastSeq = 0
          setRun(initialState)
        }
        if (e.seq <= lastSeq) return // a reopened stream starts from the first event
        lastSeq = e.seq
        setRun((state) => applyEvent(state, e))
        listener.current(e)
        if (e.kind === 'state' && e.state && isTerminal(e.state)) stream.close()
      },
    })
    return () => stream.close()
  }, [path, open])
  return { run, streamState }
}

/** Times as the API sends them. done and total count steps of the stage; total 0: unknown. */
interface Props {
  stage: string
  done: number
  total: number
  queuePosition: number | null
  waiting: Waiting | null
  startedAt: string | null
  createdAt: string
  lines: string[]
  running: boolean
  streamState: StreamState
}

/** The stage with its progress, the time since the start, and the log. */
export function RunProgress(props: Props) {
  const { stage, done, total, waiting, startedAt, createdAt, lines, running, streamState } = props
  const elapsed = useSecondsSince(startedAt ?? createdAt)
  const title = running ? stageName(stage) || 'Starting' : queueText(props.queuePosition)
  const notice = runNotice(streamState)
  const percent = total > 0 ? Math.min(100, (done / total) * 100) : null
  return (
    <section class="card live" aria-label="Progress" data-stage={stage}>
      <div class="row between">
        <h2>
          <span role="status">{title}</span>
          {running && total > 1 && (
            <span class="dim num">
              {' '}
              {done} of {total}
            </span>
          )}
        </h2>
        <span class="dim num" title={startedAt ? 'since it started' : 'since it was created'}>
          {clock(elapsed)}
        </span>
      </div>
      <div
        class={percent === null ? 'progress unknown' : 'progress'}
        role="progressbar"
        aria-label={title}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent === null ? undefined : Math.round(percent)}
      >
        <i style={{ width: `${percent ?? 100}%` }} />
      </div>
      {!running && waiting && <WaitingReason waiting={waiting} />}
      {notice && <p class="caution">{notice}</p>}
      {lines.length > 0 && <Log lines={lines} />}
    </section>
  )
}

/** Why a run waits, and for how long. */
function WaitingReason({ waiting: w }: { waiting: Waiting }) {
  return (
    <p class="dim reason" data-waiting={w.class ?? ''}>
      {asSentence(w.reason)} <span title={'since ' + moment(w.since)}>Waiting for {howLong(w.since)}.</span>
      {w.class && ` Class of workers: ${w.class}.`}
      {w.expected_start && ` It is expected to start at ${moment(w.expected_start)}.`}
    </p>
  )
}

/** The position in the queue in words; null: it is not known. */
function queueText(position: number | null): string {
  if (position === null) return 'In the queue'
  return position > 1 ? `Position ${position} in the queue` : 'Next in the queue'
}

/** The whole seconds since a time, updated every second. */
function useSecondsSince(time: string): number {
  const [, setTick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setTick((n) => n + 1), 1000)
    return () => clearInterval(timer)
  }, [])
  return Math.max(0, Math.round((Date.now() - parseTime(time).getTime()) / 1000))
}

/** A log that scrolls with new lines while its end is in view. */
export function Log({ lines }: { lines: string[] }) {
  const element = useRef<HTMLPreElement>(null)
  useEffect(() => {
    const e = element.current
    if (e && e.scrollHeight - e.scrollTop - e.clientHeight < 80) e.scrollTop = e.scrollHeight
  }, [lines])
  return (
    <pre class="log" ref={element} tabIndex={0} role="log" aria-label="The run’s log">
      {lines.join('\n')}
    </pre>
  )
}

/** Formats whole seconds as hours, minutes and seconds. */
export function clock(seconds: number): string {
  const s = seconds % 60
  const m = Math.floor(seconds / 60) % 60
  const h = Math.floor(seconds / 3600)
  return (h > 0 ? `${h} h ` : '') + (h > 0 || m > 0 ? `${m} min ` : '') + `${s} s`
}
