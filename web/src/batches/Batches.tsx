// The user's batches, newest first, each with the states of its rows.
import { useEffect, useState } from 'preact/hooks'
import { api, type Batch } from '../api'
import { Empty, ErrorMessage, StatusChip } from '../components'
import { moment, when } from '../format'
import { usePagedList } from '../list'
import { isShared, may } from '../project'
import { ByCell, byColumn, ListView, MineFilter, Table } from '../table'
import { Counts, CountsBar } from './Counts'
import { kindNames } from './kinds'
import './batches.css'

const pollInterval = 4000 // ms, while a batch has not ended

/** The list of batches. The service sends no events of all batches, so the list is read again while one runs. */
export function Batches() {
  const [error, setError] = useState('')
  const [createdBy, setCreatedBy] = useState('')
  const list = usePagedList(
    (page) => api.batches({ ...page, createdBy }),
    (batch: Batch) => batch.batchId,
    createdBy,
  )
  const running = Array.isArray(list.rows) && list.rows.some((batch) => batch.finishedAt === null)
  useEffect(() => {
    if (!running) return
    const timer = setInterval(() => document.visibilityState === 'visible' && list.reload(), pollInterval)
    return () => clearInterval(timer)
  }, [running])
  return (
    <>
      <div class="head">
        <div>
          <h1>Batches</h1>
          <p class="dim">Many folds of one model, with one table of their scores.</p>
        </div>
        {may('member') && (
          <a class="button" href="/ui/batches/new">
            New batch
          </a>
        )}
      </div>
      <MineFilter value={createdBy} onValue={setCreatedBy} />
      <ErrorMessage text={error} />
      <ListView list={list} what="batches" empty={<NoBatches isNarrowed={createdBy !== ''} />} onError={setError}>
        {(batches) => (
          <div class="card flush">
            <Table class="jobs flows batch-list" columns={columnsOf(isShared())}>
              {batches.map((batch) => (
                <BatchRow key={batch.batchId} batch={batch} />
              ))}
            </Table>
          </div>
        )}
      </ListView>
    </>
  )
}

const NoBatches = ({ isNarrowed }: { isNarrowed: boolean }) => (
  <Empty title={isNarrowed ? 'No batches of yours yet' : 'No batches yet'}>
    <p>Screen a list of sequences, every binder with every target, ligands, mutations, or seeds.</p>
    {may('member') && (
      <p>
        <a class="button" href="/ui/batches/new">
          New batch
        </a>
      </p>
    )}
  </Empty>
)

const columnsOf = (shared: boolean) => [
  'Name',
  'Status',
  { title: 'Kind', class: 'wide-only' },
  { title: 'Model', class: 'wide-only' },
  { title: 'Rows', class: 'right wide-only' },
  ...byColumn(shared),
  { title: 'Created', class: 'wide-only' },
]

/** A batch. Failures are shown in any state. */
const BatchRow = ({ batch: b }: { batch: Batch }) => (
  <tr data-batch={b.batchId} data-state={b.status}>
    <td class="name">
      <a href={`/ui/batches/${b.batchId}`}>{b.name}</a>
      {b.isPublic && <span class="chip plain public">public</span>}
    </td>
    <td class="state-cell">
      <StatusChip status={b.status} /> <Counts counts={b.counts} />
      <CountsBar name={b.name} counts={b.counts} rows={b.rows} />
    </td>
    <td class="dim wide-only">{kindNames[b.kind]}</td>
    <td class="dim wide-only">{b.modelName}</td>
    <td class="right num wide-only">{b.rows.toLocaleString('en')}</td>
    {isShared() && <ByCell by={b.createdBy} />}
    <td class="dim num wide-only" title={moment(b.createdAt)}>
      {when(b.createdAt)}
    </td>
  </tr>
)
