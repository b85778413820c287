// Questions about structures and simulations of them, newest first.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type Change, isTerminal, type WorkflowRow, type WorkflowState } from '../api'
import { onChange } from '../events'
import { moment, stageName, when } from '../say'
import { Empty, Failure, Loading, StateChip } from '../states'
import { Tabs } from './Jobs'

const pageSize = 50
const kindOf = (type: string) => (/qna|evolla/.test(type) ? 'Question' : 'Simulation')

interface Page {
  rows: WorkflowRow[]
  next: string | null
}

export function Flows() {
  const [page, setPage] = useState<Page | Error>(),
    [said, setSaid] = useState('')
  const held = useRef<Page | undefined>(undefined),
    latest = useRef(0)
  const keep = (p: Page | Error) => {
    if (!(p instanceof Error)) held.current = p
    setPage(p)
  }
  const read = async () => {
    const mine = ++latest.current
    try {
      const l = await api.workflows({ limit: Math.min(200, Math.max(pageSize, held.current?.rows.length ?? 0)) })
      if (mine === latest.current) keep({ rows: l.data, next: l.next_cursor })
    } catch (e) {
      if (mine === latest.current && !held.current) keep(e as Error)
    }
  }
  useEffect(() => {
    void read()
    let timer: ReturnType<typeof setTimeout>
    const off = onChange((c) => {
      if ((c && !c.workflowId) || (c && apply(held.current, c, keep))) return
      clearTimeout(timer)
      timer = setTimeout(() => void read(), 200)
    })
    return () => {
      off()
      clearTimeout(timer)
      latest.current++
    }
  }, [])
  const older = async () => {
    const p = held.current
    if (!p?.next) return
    try {
      const l = await api.workflows({ limit: pageSize, cursor: p.next })
      keep({ rows: [...p.rows, ...l.data], next: l.next_cursor })
    } catch (e) {
      setSaid((e as Error).message)
    }
  }
  const stop = async (id: string) => {
    setSaid('')
    await api.cancelWorkflow(id).catch((e: Error) => setSaid(`It could not be stopped: ${e.message}`))
    await read()
  }
  return (
    <>
      <div class="head">
        <div>
          <h1>Jobs</h1>
          <p class="dim">What you have asked about structures, and what you have simulated.</p>
        </div>
      </div>
      <Tabs />
      {said && (
        <p class="refused" role="alert">
          {said}
        </p>
      )}
      {page === undefined ? (
        <Loading />
      ) : page instanceof Error ? (
        <Failure title="They cannot be listed" error={page} again={() => void read()} />
      ) : page.rows.length === 0 ? (
        <Empty title="Nothing asked or simulated yet">
          <p>Open a result to ask about it or to simulate it.</p>
          <p>
            <a class="button" href="/ui/jobs">
              Your folds
            </a>
          </p>
        </Empty>
      ) : (
        <div class="card flush">
          <table class="table jobs flows" data-ready>
            <thead>
              <tr>
                <th>Name</th>
                <th>State</th>
                <th class="wide-only">Kind</th>
                <th class="wide-only">Of</th>
                <th class="wide-only">Created</th>
                <th>
                  <span class="hush">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {page.rows.map((r) => (
                <Row key={r.workflow_id} row={r} stop={() => void stop(r.workflow_id)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {page && !(page instanceof Error) && page.next && (
        <p class="row more-row">
          <button type="button" class="quiet" onClick={() => void older()}>
            Show older ones
          </button>
        </p>
      )}
    </>
  )
}

/** Writes a change into the rows; false: the row must be read, since it is new or has ended. */
function apply(p: Page | undefined, c: Change, keep: (p: Page) => void): boolean {
  const i = p?.rows.findIndex((r) => r.workflow_id === c.workflowId) ?? -1
  if (!p || i < 0) return false
  keep({
    ...p,
    rows: p.rows.with(i, {
      ...p.rows[i]!,
      status: c.status as WorkflowState,
      stage: c.stage,
      done: c.done,
      total: c.total,
    }),
  })
  return !isTerminal(c.status)
}

function Row({ row: r, stop }: { row: WorkflowRow; stop: () => void }) {
  const live = !isTerminal(r.status) && r.status !== 'DRAFT'
  return (
    <tr data-workflow={r.workflow_id} data-state={r.status}>
      <td class="name">
        <a href={`/ui/workflows/${r.workflow_id}`}>{r.name}</a>
        {r.is_public && <span class="chip plain public">public</span>}
        {r.error && (
          <div class="dim clip" title={r.error}>
            {r.error}
          </div>
        )}
      </td>
      <td class="state-cell">
        <StateChip state={r.status} />
        {r.status === 'RUNNING' && (
          <span class="small-text standing">
            {stageName(r.stage)}
            {r.total > 0 && <span class="dim num"> {Math.round((100 * r.done) / r.total)} %</span>}
          </span>
        )}
        {r.status === 'RUNNING' && r.total > 0 && (
          <div
            class="progress"
            role="progressbar"
            aria-label={`Progress of ${r.name}`}
            aria-valuemin={0}
            aria-valuemax={r.total}
            aria-valuenow={r.done}
          >
            <i style={{ width: `${Math.min(100, (100 * r.done) / r.total)}%` }} />
          </div>
        )}
      </td>
      <td class="dim wide-only">{kindOf(r.workflow_type)}</td>
      <td class="wide-only">
        {r.source_job_id ? <a href={`/ui/jobs/${r.source_job_id}`}>its fold</a> : <span class="dim">–</span>}
      </td>
      <td class="dim num wide-only" title={moment(r.created_at)}>
        {when(r.created_at)}
      </td>
      <td class="right actions">
        {live && (
          <button type="button" class="quiet small" aria-label={`Stop ${r.name}`} onClick={stop}>
            Stop
          </button>
        )}
      </td>
    </tr>
  )
}
