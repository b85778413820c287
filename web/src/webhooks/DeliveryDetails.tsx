// The attempts of one delivery, and the button that sends it again.
import { useEffect, useState } from 'preact/hooks'
import { api, type Delivery, type DeliveryAttempt, type DeliveryDetail } from '../api'
import { ErrorMessage, Failure, Loading } from '../components'
import { moment, when } from '../format'
import { may } from '../project'

/** onRedelivered is called when the delivery waits to be sent again. */
interface Props {
  delivery: Delivery
  /** Its endpoint was deleted. */
  gone: boolean
  onRedelivered(): void
}

/** Why a delivery cannot be sent again; empty: it can. */
function whyNot(ended: boolean, gone: boolean): string {
  if (!may('member')) return 'A viewer of the project may not'
  if (gone) return 'The endpoint was deleted'
  return ended ? '' : 'The delivery is still in progress'
}

/** The attempts of a delivery, newest first, and the button to send it again. */
export function DeliveryDetails({ delivery, gone, onRedelivered }: Props) {
  const [detail, setDetail] = useState<DeliveryDetail | Error>()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const load = () => api.delivery(delivery.id).then(setDetail, (e: Error) => setDetail(e))
  useEffect(() => void load(), [delivery.id, delivery.status, delivery.attempts])
  const redeliver = async () => {
    setBusy(true)
    setError('')
    try {
      await api.redeliver(delivery.id)
      onRedelivered()
      await load()
    } catch (e) {
      setError((e as Error).message)
    }
    setBusy(false)
  }
  if (detail === undefined) return <Loading />
  if (detail instanceof Error)
    return <Failure title="The delivery could not be loaded" error={detail} retry={() => void load()} />
  const ended = detail.status === 'SUCCEEDED' || detail.status === 'FAILED'
  return (
    <div class="detail-body">
      <div class="row between">
        <span class="small-text">
          <span class="dim">webhook-id</span> <code>{detail.id}</code>
        </span>
        <button
          type="button"
          class="small"
          disabled={!ended || busy || gone || !may('member')}
          title={whyNot(ended, gone)}
          onClick={() => void redeliver()}
        >
          {busy ? 'Sending…' : 'Send again'}
        </button>
      </div>
      <ErrorMessage text={error} />
      {detail.reason && <p class="error">{detail.reason}</p>}
      {detail.attempt_log.length === 0 && <p class="dim">No attempts yet.</p>}
      {detail.attempt_log.toReversed().map((attempt) => (
        <Attempt key={attempt.number} attempt={attempt} />
      ))}
    </div>
  )
}

// The names of the outcomes of an attempt.
const outcomeNames: Record<DeliveryAttempt['outcome'], string> = {
  running: 'in progress',
  done: 'accepted',
  failed: 'failed',
  released: 'released when the service stopped',
  lost: 'interrupted: its process ended',
}

function chipClass(outcome: DeliveryAttempt['outcome']): string {
  if (outcome === 'done') return 's-completed'
  return outcome === 'running' ? 's-running' : 's-failed'
}

/** Lists the phases of a request with their times. */
function describeTimings(t: DeliveryAttempt['timings']): string {
  const phases: [string, number][] = [
    ['DNS', t.dns_ms],
    ['connect', t.connect_ms],
    ['TLS', t.tls_ms],
    ['send', t.send_ms],
    ['wait', t.wait_ms],
    ['response body', t.body_ms],
  ]
  return phases
    .filter(([, ms]) => ms > 0)
    .map(([name, ms]) => `${name} ${ms.toFixed(1)} ms`)
    .join(', ')
}

/** An attempt with its response. */
function Attempt({ attempt: a }: { attempt: DeliveryAttempt }) {
  return (
    <div class="attempt">
      <div class="row">
        <strong>Attempt {a.number}</strong>
        <span title={moment(a.started_at)} class="dim">
          {when(a.started_at)}
        </span>
        <span class={`chip ${chipClass(a.outcome)}`}>
          {outcomeNames[a.outcome]}
          {a.response_status !== null && ` · ${a.response_status}`}
        </span>
        {a.ended_at && (
          <span class="num" title={describeTimings(a.timings)}>
            {a.timings.total_ms.toFixed(0)} ms
          </span>
        )}
        {a.timings.connection_reused && <span class="dim small-text">connection reused</span>}
      </div>
      {a.message && <p class="wrong">{a.message}</p>}
      {a.answer && (
        <pre class="answer" tabIndex={0} aria-label={`Response to attempt ${a.number}`}>
          {a.answer}
        </pre>
      )}
      {!a.answer && a.response_status !== null && (
        <p class="dim small-text">
          The response body is empty, or it came from a network whose responses are not stored.
        </p>
      )}
    </div>
  )
}
