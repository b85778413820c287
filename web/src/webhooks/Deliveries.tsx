// The log of webhook deliveries.
import { useEffect, useState } from 'preact/hooks'
import { api, type Delivery, isTerminal, type WebhookEndpoints } from '../api'
import { Empty, ErrorMessage, StatusChip } from '../components'
import { Segments, Select } from '../controls'
import { onChange } from '../events'
import { moment, when } from '../format'
import { usePagedList } from '../list'
import { may } from '../project'
import { query } from '../router'
import { ListView, Table } from '../table'
import { DeliveryDetails } from './DeliveryDetails'

// The statuses that the list can be filtered by, with their names; '' is all.
const filters = { '': 'All', PENDING: 'Waiting', SUCCEEDED: 'Delivered', FAILED: 'Failed' }

const pollInterval = 2_000 // ms, while a delivery is in progress: deliveries have no events

interface Props {
  /** The list is read again when it changes. */
  version: number
  endpoints: WebhookEndpoints
}

/** The deliveries, of all endpoints or of one. */
export function Deliveries({ version, endpoints }: Props) {
  const linkedId = query.value.get('delivery') ?? '' // from the link of a result
  const [status, setStatus] = useState('')
  const [chosen, setEndpoint] = useState('')
  const [open, setOpen] = useState(linkedId)
  const [error, setError] = useState('')
  // One that was deleted cannot be chosen any more.
  const endpoint = [endpoints.default_endpoint, ...endpoints.data].some((e) => e?.id === chosen) ? chosen : ''
  const list = useDeliveryList(status, endpoint, version)
  const linked = useDelivery(linkedId)
  const loaded = Array.isArray(list.rows) ? list.rows : []
  // The linked delivery may be older than those listed.
  const linkedIsMissing = linked && !status && !endpoint && !loaded.some((d) => d.id === linked.id)
  const rows = linkedIsMissing ? [linked, ...loaded] : loaded
  return (
    <section class="stack" aria-label="Deliveries">
      <div class="row between">
        <h2 class="flat">Deliveries</h2>
        <div class="row choices">
          {may('member') && rows.some(waits) && <SendWaiting onSent={() => void list.load()} onError={setError} />}
          <EndpointFilter endpoints={endpoints} value={endpoint} onValue={setEndpoint} />
          <Segments label="Status" options={filters} value={status} onValue={setStatus} />
        </div>
      </div>
      <ErrorMessage text={error} />
      <ListView
        list={list}
        what="deliveries"
        rows={rows}
        empty={<NoDeliveries filtered={status !== '' || endpoint !== ''} />}
        onError={setError}
      >
        {(deliveries) => (
          <DeliveryTable
            deliveries={deliveries}
            open={open}
            toggle={(id) => setOpen(open === id ? '' : id)}
            reload={() => void list.load()}
            isGone={(d) => d.endpoint_name !== null && !endpoints.data.some((e) => e.id === d.endpoint_id)}
          />
        )}
      </ListView>
    </section>
  )
}

/** The choice of one endpoint, where there are several. */
function EndpointFilter({ endpoints: e, ...select }: { endpoints: WebhookEndpoints } & FilterProps) {
  if (e.data.length === 0) return null
  return (
    <Select aria-label="Endpoint" {...select}>
      <option value="">All endpoints</option>
      {e.default_endpoint && <option value={e.default_endpoint.id}>Default endpoint</option>}
      {e.data.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </Select>
  )
}

interface FilterProps {
  value: string
  onValue(value: string): void
}

/** A delivery is in progress if it is being sent or its next attempt is due within 15 s. */
const inProgress = (d: Delivery) =>
  d.status === 'RUNNING' ||
  (d.status === 'PENDING' && d.next_attempt_at !== null && Date.parse(d.next_attempt_at) < Date.now() + 15_000)

/** A delivery that has failed waits for its next attempt. */
const waits = (d: Delivery) => d.status === 'PENDING' && d.attempts > 0

/** The button that sends now what waits for its next attempt. */
function SendWaiting({ onSent, onError }: { onSent(): void; onError(text: string): void }) {
  const [busy, setBusy] = useState(false)
  const send = async () => {
    setBusy(true)
    try {
      await api.sendWaiting()
      onError('')
      onSent()
    } catch (e) {
      onError((e as Error).message)
    }
    setBusy(false)
  }
  return (
    <button
      type="button"
      class="small"
      disabled={busy}
      title="Sends every delivery that waits for its next attempt"
      onClick={() => void send()}
    >
      {busy ? 'Sending…' : 'Send waiting now'}
    </button>
  )
}

/** The deliveries with a status to an endpoint; the list is read again after events, for a new version, and while a delivery is in progress. */
function useDeliveryList(status: string, endpoint: string, version: number) {
  const list = usePagedList(
    (page) => api.deliveries({ status, endpoint_id: endpoint, ...page }),
    (d: Delivery) => d.id,
    status + endpoint,
  )
  useEffect(() => {
    if (version > 0) void list.load()
  }, [version])
  useEffect(
    () =>
      onChange((change) => {
        if (!change || isTerminal(change.status)) list.reload(400) // a run that ends starts deliveries
      }),
    [],
  )
  const poll = Array.isArray(list.rows) && list.rows.some(inProgress)
  useEffect(() => {
    if (!poll) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void list.load()
    }, pollInterval)
    return () => clearInterval(timer)
  }, [poll, status, endpoint])
  return list
}

/** Loads the delivery that a link names. */
function useDelivery(id: string): Delivery | undefined {
  const [delivery, setDelivery] = useState<Delivery>()
  useEffect(() => {
    if (id) api.delivery(id).then(setDelivery, () => undefined)
  }, [id])
  return delivery
}

/** The placeholder of an empty list. */
const NoDeliveries = ({ filtered }: { filtered: boolean }) =>
  filtered ? (
    <Empty title="No such deliveries">
      <p>Choose another status or endpoint.</p>
    </Empty>
  ) : (
    <Empty title="No deliveries yet">
      <p>Deliveries will appear here, with their attempts and your receiver's responses.</p>
    </Empty>
  )

const columns = [
  'Event',
  'Status',
  { title: 'Response', class: 'right' },
  { title: 'Attempts', class: 'right wide-only' },
  { title: 'Created', class: 'wide-only' },
  { title: 'Details', hidden: true },
]

interface TableProps {
  deliveries: Delivery[]
  /** The id of the delivery whose details are shown; empty: none. */
  open: string
  toggle(id: string): void
  reload(): void
  /** Whether the endpoint of a delivery was deleted. */
  isGone(d: Delivery): boolean
}

const DeliveryTable = ({ deliveries, open, toggle, reload, isGone }: TableProps) => (
  <div class="card flush scroll">
    <Table class="deliveries" columns={columns}>
      {deliveries.map((d) => (
        <Row
          key={d.id}
          delivery={d}
          open={open === d.id}
          toggle={() => toggle(d.id)}
          reload={reload}
          gone={isGone(d)}
        />
      ))}
    </Table>
  </div>
)

// The names of sources, events and destinations.
const sourceNames: Record<string, string> = { fold_job: 'Fold', workflow: 'Workflow', batch: 'Batch', test: 'Test' }
const eventNames: Record<string, string> = { COMPLETED: 'completed', FAILED: 'failed', STOPPED: 'stopped' }
const destinationNames: Record<string, string> = {
  custom_http: 'to your endpoint',
  qna: 'starts a question',
  md: 'starts a simulation',
}

/** The page of the run that a delivery reports; empty for tests. */
function sourcePage(d: Delivery): string {
  if (d.source_kind === 'fold_job') return `/ui/jobs/${d.source_id}`
  if (d.source_kind === 'batch') return `/ui/batches/${d.source_id}`
  return d.source_kind === 'workflow' ? `/ui/workflows/${d.source_id}` : ''
}

interface RowProps {
  delivery: Delivery
  open: boolean
  toggle(): void
  reload(): void
  /** Its endpoint was deleted. */
  gone: boolean
}

/** The row of a delivery and, if it is open, its details. */
function Row({ delivery: d, open, toggle, reload, gone }: RowProps) {
  const page = sourcePage(d)
  const source = sourceNames[d.source_kind] ?? d.source_kind
  const event = d.source_kind === 'test' ? source : `${source} ${eventNames[d.event_status] ?? 'ended'}`
  return (
    <>
      <tr data-delivery={d.id} data-state={d.status}>
        <td>
          {page ? <a href={page}>{event}</a> : event}
          <div class="dim small-text">
            {d.endpoint_name ? `to ${d.endpoint_name}` : (destinationNames[d.destination] ?? d.destination)}
            {d.triggered_target_id && (
              <>
                : <a href={`/ui/workflows/${d.triggered_target_id}`}>open</a>
              </>
            )}
          </div>
        </td>
        <td>
          <StatusChip status={d.status} />
          <NextAttempt delivery={d} />
        </td>
        <td class="right num">{d.response_status ?? <span class="dim">–</span>}</td>
        <td class="right num wide-only">{d.attempts}</td>
        <td class="num dim wide-only" title={moment(d.created_at)}>
          {when(d.created_at)}
        </td>
        <td class="right">
          <button
            type="button"
            class="quiet small"
            aria-expanded={open}
            aria-label={`Details of the delivery created ${when(d.created_at)}`}
            onClick={toggle}
          >
            {open ? 'Close' : 'Details'}
          </button>
        </td>
      </tr>
      {open && (
        <tr class="detail">
          <td colSpan={columns.length}>
            <DeliveryDetails delivery={d} gone={gone} onRedelivered={reload} />
          </td>
        </tr>
      )}
    </>
  )
}

/** When a delivery that has failed is tried again. */
function NextAttempt({ delivery: d }: { delivery: Delivery }) {
  if (d.status !== 'PENDING' || !d.next_attempt_at || d.attempts === 0) return null
  const soon = Date.parse(d.next_attempt_at) < Date.now() + 60_000
  return (
    <div class="dim small-text" title={moment(d.next_attempt_at)}>
      next attempt {soon ? 'in a moment' : when(d.next_attempt_at)}
    </div>
  )
}
