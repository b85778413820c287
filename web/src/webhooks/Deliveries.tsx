// The log of deliveries: each with its attempts, what was answered, and a way to send it again.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type Delivery, type DeliveryAttempt, type DeliveryDetail } from '../api'
import { onChange } from '../events'
import { query } from '../router'
import { moment, when } from '../say'
import { Empty, Failure, Loading, StateChip } from '../states'

const states: [string, string][] = [
  ['', 'All'],
  ['PENDING', 'Waiting'],
  ['SUCCEEDED', 'Delivered'],
  ['FAILED', 'Failed'],
]
const ends: Record<string, string> = { COMPLETED: 'completed', FAILED: 'failed', STOPPED: 'stopped' }
const sources: Record<string, string> = { fold_job: 'Fold', workflow: 'Workflow', test: 'Test' }

const askEvery = 2_000 // while something is under way: deliveries send no news of their own

export function Deliveries({ news }: { news: number }) {
  const wanted = query.value.get('delivery') ?? '' // the one that a result's link leads to
  const [list, setList] = useState<{ rows: Delivery[]; next: string | null } | Error>(),
    [status, setStatus] = useState(''),
    [open, setOpen] = useState(wanted),
    [one, setOne] = useState<Delivery>()
  const latest = useRef(0),
    shown = useRef(50)
  const read = async () => {
    const mine = ++latest.current
    try {
      const l = await api.deliveries({ status, limit: Math.min(200, shown.current) })
      if (mine === latest.current) setList({ rows: l.data, next: l.next_cursor })
    } catch (e) {
      if (mine === latest.current) setList((was) => (was && !(was instanceof Error) ? was : (e as Error)))
    }
  }
  useEffect(() => {
    void read()
    let timer: ReturnType<typeof setTimeout>
    const off = onChange((c) => {
      if (!c || c.status === 'COMPLETED' || c.status === 'FAILED' || c.status === 'STOPPED') {
        clearTimeout(timer)
        timer = setTimeout(() => void read(), 400)
      }
    })
    return () => {
      off()
      clearTimeout(timer)
      latest.current++
    }
  }, [status, news])
  useEffect(() => {
    if (wanted) void api.delivery(wanted).then(setOne, () => undefined)
  }, [wanted])
  const listed = list && !(list instanceof Error) ? list.rows : []
  const rows = one && !status && !listed.some((r) => r.id === one.id) ? [one, ...listed] : listed // it may be older than those listed
  const soon = rows.some(
    (r) =>
      r.status === 'RUNNING' ||
      (r.status === 'PENDING' && r.next_attempt_at !== null && Date.parse(r.next_attempt_at) < Date.now() + 15_000),
  )
  useEffect(() => {
    if (!soon) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void read()
    }, askEvery)
    return () => clearInterval(timer)
  }, [soon, status])
  const older = async () => {
    if (!list || list instanceof Error || !list.next) return
    const l = await api.deliveries({ status, limit: 50, cursor: list.next })
    shown.current += 50
    setList({ rows: [...list.rows, ...l.data], next: l.next_cursor })
  }
  return (
    <section class="stack" aria-label="Deliveries">
      <div class="row between">
        <h2 class="flat">Deliveries</h2>
        <div class="row segments" role="group" aria-label="State">
          {states.map(([s, name]) => (
            <button type="button" class="quiet small" aria-pressed={status === s} onClick={() => setStatus(s)}>
              {name}
            </button>
          ))}
        </div>
      </div>
      {list === undefined ? (
        <Loading what="Loading deliveries" />
      ) : list instanceof Error ? (
        <Failure title="Deliveries cannot be listed" error={list} again={() => void read()} />
      ) : rows.length === 0 ? (
        <Empty title={status ? 'None is in this state' : 'Nothing was sent yet'}>
          <p>
            {status
              ? 'Another state may have some.'
              : 'Each delivery will stand here with its attempts and what your receiver answered.'}
          </p>
        </Empty>
      ) : (
        <div class="card flush scroll">
          <table class="table deliveries" data-ready>
            <thead>
              <tr>
                <th>Of</th>
                <th>State</th>
                <th class="right">Answer</th>
                <th class="right wide-only">Attempts</th>
                <th class="wide-only">When</th>
                <th>
                  <span class="hush">Details</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((r) => (
                <Row
                  key={r.id}
                  row={r}
                  open={open === r.id}
                  toggle={() => setOpen(open === r.id ? '' : r.id)}
                  changed={() => void read()}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {list && !(list instanceof Error) && list.next && (
        <p class="row more-row">
          <button type="button" class="quiet" onClick={() => void older()}>
            Show older deliveries
          </button>
        </p>
      )}
    </section>
  )
}

const target: Record<string, string> = {
  custom_http: 'to your endpoint',
  qna: 'starts a question',
  md: 'starts dynamics',
}

function Row({
  row: r,
  open,
  toggle,
  changed,
}: {
  row: Delivery
  open: boolean
  toggle: () => void
  changed: () => void
}) {
  const link =
    r.source_kind === 'fold_job'
      ? `/ui/jobs/${r.source_id}`
      : r.source_kind === 'workflow'
        ? `/ui/workflows/${r.source_id}`
        : ''
  const what = `${sources[r.source_kind] ?? r.source_kind}${r.source_kind === 'test' ? '' : ` ${ends[r.event_status] ?? 'ended'}`}`
  return (
    <>
      <tr data-delivery={r.id} data-state={r.status}>
        <td>
          {link ? <a href={link}>{what}</a> : what}
          <div class="dim small-text">
            {target[r.destination] ?? r.destination}
            {r.triggered_target_id && (
              <>
                : <a href={`/ui/workflows/${r.triggered_target_id}`}>open</a>
              </>
            )}
          </div>
        </td>
        <td>
          <StateChip state={r.status} />
          {r.status === 'PENDING' && r.next_attempt_at && r.attempts > 0 && (
            <div class="dim small-text" title={moment(r.next_attempt_at)}>
              again {Date.parse(r.next_attempt_at) < Date.now() + 60_000 ? 'in a moment' : when(r.next_attempt_at)}
            </div>
          )}
        </td>
        <td class="right num">{r.response_status ?? <span class="dim">–</span>}</td>
        <td class="right num wide-only">{r.attempts}</td>
        <td class="num dim wide-only" title={moment(r.created_at)}>
          {when(r.created_at)}
        </td>
        <td class="right">
          <button
            type="button"
            class="quiet small"
            aria-expanded={open}
            aria-label={`Details of the delivery of ${when(r.created_at)}`}
            onClick={toggle}
          >
            {open ? 'Close' : 'Details'}
          </button>
        </td>
      </tr>
      {open && (
        <tr class="detail">
          <td colSpan={6}>
            <Detail row={r} changed={changed} />
          </td>
        </tr>
      )}
    </>
  )
}

function Detail({ row: r, changed }: { row: Delivery; changed: () => void }) {
  const [d, setD] = useState<DeliveryDetail | Error>(),
    [busy, setBusy] = useState(false),
    [wrong, setWrong] = useState('')
  const read = () => api.delivery(r.id).then(setD, (e: Error) => setD(e))
  useEffect(() => void read(), [r.id, r.status, r.attempts])
  const again = async () => {
    setBusy(true)
    setWrong('')
    try {
      await api.redeliver(r.id)
      changed()
      await read()
    } catch (e) {
      setWrong((e as Error).message)
    }
    setBusy(false)
  }
  if (d === undefined) return <Loading />
  if (d instanceof Error) return <Failure title="This delivery cannot be shown" error={d} again={() => void read()} />
  const ended = d.status === 'SUCCEEDED' || d.status === 'FAILED'
  return (
    <div class="detail-body">
      <div class="row between">
        <span class="small-text">
          <span class="dim">webhook-id</span> <code>{d.id}</code>
        </span>
        <button
          type="button"
          class="small"
          disabled={!ended || busy}
          title={ended ? '' : 'It is still under way'}
          onClick={() => void again()}
        >
          {busy ? 'Sending…' : 'Send again'}
        </button>
      </div>
      {wrong && (
        <p class="refused" role="alert">
          {wrong}
        </p>
      )}
      {d.reason && <p class="refused">{d.reason}</p>}
      {d.attempt_log.length === 0 ? (
        <p class="dim">No attempt was made yet.</p>
      ) : (
        d.attempt_log.toReversed().map((a) => <Attempt key={a.number} attempt={a} />)
      )}
    </div>
  )
}

const outcomes: Record<DeliveryAttempt['outcome'], string> = {
  running: 'under way',
  done: 'accepted',
  failed: 'failed',
  released: 'given back when the service stopped',
  lost: 'lost with its process',
}

function Attempt({ attempt: a }: { attempt: DeliveryAttempt }) {
  const t = a.timings
  const phases: [string, number][] = [
    ['look-up', t.dns_ms],
    ['connection', t.connect_ms],
    ['TLS', t.tls_ms],
    ['sending', t.send_ms],
    ['waiting', t.wait_ms],
    ['answer', t.body_ms],
  ]
  return (
    <div class="attempt">
      <div class="row">
        <strong>Attempt {a.number}</strong>
        <span title={moment(a.started_at)} class="dim">
          {when(a.started_at)}
        </span>
        <span
          class={`chip ${a.outcome === 'done' ? 's-completed' : a.outcome === 'running' ? 's-running' : 's-failed'}`}
        >
          {outcomes[a.outcome]}
          {a.response_status !== null && ` · ${a.response_status}`}
        </span>
        {a.ended_at && (
          <span
            class="num"
            title={phases
              .filter(([, ms]) => ms > 0)
              .map(([n, ms]) => `${n} ${ms.toFixed(1)} ms`)
              .join(', ')}
          >
            {t.total_ms.toFixed(0)} ms
          </span>
        )}
        {t.connection_reused && <span class="dim small-text">on an open connection</span>}
      </div>
      {a.message && <p class="wrong">{a.message}</p>}
      {a.answer ? (
        <pre class="answer" tabIndex={0} aria-label={`Answer to attempt ${a.number}`}>
          {a.answer}
        </pre>
      ) : (
        a.response_status !== null && (
          <p class="dim small-text">The answer's body is empty, or from a network whose answers are not kept.</p>
        )
      )}
    </div>
  )
}
