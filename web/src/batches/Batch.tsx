// The page of a batch: its rows as a table and as plots, and the structure of the row that is chosen.
import { useEffect, useRef } from 'preact/hooks'
import { type Batch, ServiceError } from '../api'
import { Failure, Loading } from '../components'
import { runNotice } from '../events'
import { statusOf, tableQuery, toggled, type View } from './address'
import { BatchHead } from './BatchHead'
import { BatchTable } from './BatchTable'
import { type RowList, useBatch, useRowList, useView } from './data'
import { Exports } from './Exports'
import { Filters } from './Filters'
import { Plots } from './Plots'
import { RowPanel } from './RowPanel'
import { Shortlist } from './Shortlist'
import './batches.css'
import '../result/result.css'

/** The page of the batch with this id. */
export function BatchPage({ id }: { id: string }) {
  const { batch, error, streamState, load } = useBatch(id)
  const notice = runNotice(streamState)
  if (!batch)
    return error ? <LoadError error={error} retry={() => void load()} /> : <Loading what="Loading the batch" />
  return (
    <article class="batch" data-batch={batch.batchId} data-state={batch.status}>
      <BatchHead batch={batch} reload={load} />
      {notice && batch.finishedAt === null && (
        <p class="caution" role="status">
          {notice}
        </p>
      )}
      {error && (
        <p class="caution" role="status">
          {error.message}
        </p>
      )}
      <Rows batch={batch} />
    </article>
  )
}

/** Why a batch cannot be shown. */
function LoadError({ error, retry }: { error: Error; retry(): void }) {
  const status = error instanceof ServiceError ? error.status : 0
  if (status !== 404 && status !== 400)
    return <Failure title="The batch could not be loaded" error={error} retry={retry} />
  return (
    <section class="state" role="alert">
      <h1>Batch not found</h1>
      <p>It may have been deleted, it may belong to another user, or the address may be incomplete.</p>
      <p>
        <a class="button" href="/ui/batches">
          Your batches
        </a>
      </p>
    </section>
  )
}

/** The rows that the address selects. */
function Rows({ batch }: { batch: Batch }) {
  const [view, change] = useView()
  const selection = tableQuery(view)
  const list = useRowList(batch.batchId, selection)
  useFollowed(batch, list)
  const rows = list.loaded?.rows ?? []
  const columns = list.loaded?.columns ?? []
  const choose = (row: number) => change({ row })
  const toggle = (row: number) => change({ shortlist: toggled(view.shortlist, row) })
  return (
    <>
      <Filters batch={batch} columns={columns} view={view} change={change} />
      {view.shortlist.length > 0 && <Shortlist rows={rows} view={view} change={change} />}
      {list.error && (
        <p class="error" role="alert">
          The rows could not be read: {list.error.message}{' '}
          <button type="button" class="bare" onClick={list.retry}>
            Try again
          </button>
        </p>
      )}
      <div class="campaign">
        <div class="stack campaign-main">
          {rows.length > 0 && columns.length > 0 && (
            <Plots kind={batch.kind} rows={rows} columns={columns} view={view} change={change} />
          )}
          <section class="card flush" aria-labelledby="rows-title" aria-busy={list.stale}>
            <div class="row between rows-head">
              <h2 id="rows-title">
                Rows <span class="dim num">{describeSize(batch, list, view)}</span>
              </h2>
              <Exports id={batch.batchId} selection={selection} />
            </div>
            <Body list={list} view={view} choose={choose} toggle={toggle} change={change} />
          </section>
        </div>
        <RowPanel id={batch.batchId} columns={columns} view={view} rows={rows} toggle={toggle} />
      </div>
    </>
  )
}

/** Reads the rows again when a row of the batch has another status. */
function useFollowed(batch: Batch, list: RowList) {
  const counts = JSON.stringify(batch.counts)
  const known = useRef(counts)
  useEffect(() => {
    if (counts !== known.current) list.refresh()
    known.current = counts
  }, [counts])
}

/** How many rows are shown, and of how many. */
function describeSize(batch: Batch, list: RowList, view: View): string {
  if (!list.loaded || list.stale) return ''
  const count = list.loaded.rows.length.toLocaleString('en')
  if (list.loaded.next !== null) return list.reading ? `${count}, reading more…` : `the first ${count}`
  const isFiltered = view.conditions.length > 0 || view.onlyShortlist
  return isFiltered ? `${count} of ${batch.rows.toLocaleString('en')}` : count
}

interface BodyProps {
  list: RowList
  view: View
  choose(row: number): void
  toggle(row: number): void
  change(fields: Partial<View>): void
}

/** The table, or what is shown without rows. */
function Body({ list, view, choose, toggle, change }: BodyProps) {
  if (!list.loaded) return list.error ? null : <Loading what="Loading the rows" />
  if (list.loaded.rows.length === 0)
    return (
      <div class="no-rows">
        <p>
          <strong>No rows match.</strong>{' '}
          {statusOf(view) === '' && 'A row without a score, such as one that failed, meets no condition on it.'}
        </p>
        <button type="button" class="quiet" onClick={() => change({ conditions: [], onlyShortlist: false })}>
          Show all rows
        </button>
      </div>
    )
  return <BatchTable list={list} loaded={list.loaded} view={view} choose={choose} toggle={toggle} change={change} />
}
