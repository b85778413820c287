// The workers, and the button that lets one drain.
import { api, type OperatorWorker } from '../api'
import { moment, when } from '../format'
import { Table } from '../table'
import type { Act } from './act'
import { devicesOf } from './text'

interface Props {
  workers: OperatorWorker[]
  act: Act
}

const columns = [
  'Worker',
  'Class',
  'State',
  { title: 'Tasks', class: 'right' },
  'Devices',
  'Models',
  'Seen',
  { title: 'Actions', hidden: true },
]

/** The workers that are alive or may come back. */
export const Workers = ({ workers, act }: Props) => (
  <section class="card" aria-labelledby="workers-title">
    <h2 id="workers-title">
      Workers <span class="dim num">{workers.filter((w) => w.state === 'live').length} live</span>
    </h2>
    {workers.length === 0 && <p class="dim">No worker has been seen in the last week. Jobs wait until one starts.</p>}
    <Table class="cards dense" columns={columns}>
      {workers.map((w) => (
        <Row key={w.workerId} worker={w} act={act} />
      ))}
    </Table>
  </section>
)

function Row({ worker: w, act }: { worker: OperatorWorker; act: Act }) {
  const drain = () => {
    const held = w.tasks > 0 ? ` It ends when its ${w.tasks === 1 ? 'task has' : `${w.tasks} tasks have`} ended.` : ''
    if (confirm(`Drain the worker on ${w.host}? It claims nothing more.${held}`))
      void act(() => api.drainWorker(w.workerId))
  }
  return (
    <tr data-worker={w.workerId} class={w.state === 'stopped' ? 'dim' : ''}>
      <td data-label="Worker">
        <span class="name">{w.host}</span>{' '}
        <code class="dim id" title={w.workerId}>
          {w.workerId}
        </code>
        {w.clusterJob && <div class="dim">{w.clusterJob}</div>}
      </td>
      <td data-label="Class">{w.class}</td>
      <td data-label="State" class={w.state === 'silent' || w.state === 'draining' ? 'warned' : ''}>
        {w.state}
      </td>
      <td data-label="Tasks" class="num right">
        {w.tasks}
      </td>
      <td data-label="Devices">{devicesOf(w)}</td>
      <td data-label="Models" class="mono">
        {w.models.join(', ')}
      </td>
      <td data-label="Seen" class="num" title={moment(w.seenAt)}>
        {when(w.seenAt)}
      </td>
      <td class="right">
        {(w.state === 'live' || w.state === 'silent') && (
          <button type="button" class="danger small" aria-label={`Drain ${w.host} ${w.workerId}`} onClick={drain}>
            Drain
          </button>
        )}
      </td>
    </tr>
  )
}
