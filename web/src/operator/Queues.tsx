// The queue of each model, and its pause.
import { useState } from 'preact/hooks'
import { api, type ModelQueue, type Overview } from '../api'
import { Input } from '../controls'
import { Dialog } from '../dialog'
import { howLong, moment, plural } from '../format'
import { Table } from '../table'
import type { Act } from './act'

interface Props {
  overview: Overview
  act: Act
}

const columns = [
  'Model',
  { title: 'Waiting', class: 'right' },
  { title: 'Running', class: 'right' },
  { title: 'Oldest', class: 'right' },
  { title: 'Workers', class: 'right' },
  'State',
  { title: 'Actions', hidden: true },
]

/** The queues of the models. */
export function Queues({ overview, act }: Props) {
  const [pausing, setPausing] = useState('')
  return (
    <section class="card" aria-labelledby="queues-title">
      <h2 id="queues-title">
        Queue by model <span class="dim">{plural(overview.waiting, 'task')} waiting</span>
      </h2>
      {overview.models.length === 0 && <p class="dim">No worker has run a model yet.</p>}
      <Table class="cards dense" columns={columns}>
        {overview.models.map((q) => (
          <Row key={q.modelName} queue={q} act={act} pause={() => setPausing(q.modelName)} />
        ))}
      </Table>
      {pausing && <Pause model={pausing} act={act} close={() => setPausing('')} />}
    </section>
  )
}

function Row({ queue: q, act, pause }: { queue: ModelQueue; act: Act; pause(): void }) {
  const name = q.modelName
  return (
    <tr data-model={name} class={q.paused ? 'current' : ''}>
      <td data-label="Model" class="mono">
        {name}
      </td>
      <td data-label="Waiting" class="num right">
        {q.waiting}
      </td>
      <td data-label="Running" class="num right">
        {q.running}
      </td>
      <td data-label="Oldest" class="num right" title={moment(q.waitingSince ?? '')}>
        {q.waitingSince ? howLong(q.waitingSince) : '–'}
      </td>
      <td data-label="Workers" class="num right">
        {q.workers}
      </td>
      <td data-label="State">
        {q.paused ? (
          <>
            <strong class="warned">paused</strong>{' '}
            <span class="dim" title={moment(q.paused.since)}>
              by {q.paused.by || 'an operator'} for {howLong(q.paused.since)}
            </span>
            {q.paused.reason && <div class="reason">{q.paused.reason}</div>}
          </>
        ) : (
          <span class="dim">{q.workers > 0 ? 'open' : 'no worker'}</span>
        )}
      </td>
      <td class="right">
        {q.paused ? (
          <button
            type="button"
            class="quiet small"
            aria-label={`Resume ${name}`}
            onClick={() => void act(() => api.resumeModel(name))}
          >
            Resume
          </button>
        ) : (
          <button type="button" class="quiet small" aria-label={`Pause ${name}`} onClick={pause}>
            Pause…
          </button>
        )}
      </td>
    </tr>
  )
}

/** The dialog that asks why a model is paused. */
function Pause({ model, act, close }: { model: string; act: Act; close(): void }) {
  const [reason, setReason] = useState('')
  const pause = async (e: Event) => {
    e.preventDefault()
    await act(() => api.pauseModel(model, reason.trim()))
    close() // the page shows why it failed
  }
  return (
    <Dialog title={`Pause ${model}`} close={close}>
      <p class="dim">Its jobs are accepted and wait. What runs goes on.</p>
      <form onSubmit={(e) => void pause(e)}>
        <label class="field">
          <span>Reason</span>
          <Input maxLength={200} placeholder="e.g. its weights are being replaced" value={reason} onValue={setReason} />
          <small>Users read it with each job that waits.</small>
        </label>
        <button type="submit">Pause</button>
      </form>
    </Dialog>
  )
}
