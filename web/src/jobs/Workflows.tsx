// Questions about structures, simulations, designs, comparisons and alignments, newest first.
import { useEffect, useState } from 'preact/hooks'
import { api, isTerminal, type WorkflowRow, type WorkflowStatus } from '../api'
import { Empty, ErrorMessage, ProgressBar, StatusChip } from '../components'
import { onChange } from '../events'
import { moment, stageName, when } from '../format'
import { usePagedList } from '../list'
import { isShared, listText, may } from '../project'
import { ByCell, byColumn, ListView, MineFilter, Table } from '../table'
import { workflowKind } from '../workflow'
import { Tabs } from './Tabs'

/** The list of workflows, updated by events. */
export function Workflows() {
  const [error, setError] = useState('')
  const [createdBy, setCreatedBy] = useState('')
  const list = usePagedList(
    (page) => api.workflows({ ...page, createdBy }),
    (workflow: WorkflowRow) => workflow.workflow_id,
    createdBy,
  )
  useEffect(
    () =>
      onChange((change) => {
        if (!change) return list.reload(200)
        if (!change.workflowId) return
        const shown = list.patch(change.workflowId, (workflow) => ({
          ...workflow,
          status: change.status as WorkflowStatus,
          stage: change.stage,
          done: change.done,
          total: change.total,
        }))
        if (!shown || isTerminal(change.status)) list.reload(200)
      }),
    [],
  )
  const cancel = async (id: string) => {
    setError('')
    await api.cancelWorkflow(id).catch((e: Error) => setError(`The workflow could not be stopped: ${e.message}`))
    await list.load()
  }
  const remove = async (workflow: WorkflowRow) => {
    if (!confirm(`Delete “${workflow.name}” and its files? This cannot be undone.`)) return
    setError('')
    await api
      .deleteWorkflow(workflow.workflow_id)
      .catch((e: Error) => setError(`The workflow could not be deleted: ${e.message}`))
    await list.load()
  }
  return (
    <>
      <div class="head">
        <div>
          <h1>Jobs</h1>
          <p class="dim">
            {listText('Your questions', 'Questions')} about structures, simulations, designs, comparisons and
            alignments.
          </p>
        </div>
        {may('member') && (
          <a class="button quiet small" href="/ui/designs/new">
            New design
          </a>
        )}
      </div>
      <Tabs />
      <MineFilter value={createdBy} onValue={setCreatedBy} />
      <ErrorMessage text={error} />
      <ListView list={list} what="workflows" empty={<NoWorkflows isNarrowed={createdBy !== ''} />} onError={setError}>
        {(workflows) => (
          <WorkflowTable workflows={workflows} cancel={(id) => void cancel(id)} remove={(w) => void remove(w)} />
        )}
      </ListView>
    </>
  )
}

const NoWorkflows = ({ isNarrowed }: { isNarrowed: boolean }) => (
  <Empty title={isNarrowed ? 'No questions or simulations of yours yet' : 'No questions or simulations yet'}>
    <p>Open a result to ask a question about it or to simulate it.</p>
    <p>
      <a class="button" href="/ui/jobs">
        Your folds
      </a>
    </p>
  </Empty>
)

const columnsOf = (shared: boolean) => [
  'Name',
  'Status',
  { title: 'Type', class: 'wide-only' },
  { title: 'Source', class: 'wide-only' },
  ...byColumn(shared),
  { title: 'Created', class: 'wide-only' },
  { title: 'Actions', hidden: true },
]

interface TableProps {
  workflows: WorkflowRow[]
  cancel(id: string): void
  remove(workflow: WorkflowRow): void
}

const WorkflowTable = ({ workflows, cancel, remove }: TableProps) => (
  <div class="card flush">
    <Table class="jobs flows" columns={columnsOf(isShared())}>
      {workflows.map((w) => (
        <Row key={w.workflow_id} workflow={w} cancel={() => cancel(w.workflow_id)} remove={() => remove(w)} />
      ))}
    </Table>
  </div>
)

/** The row of a workflow, with its progress while it runs. */
function Row({ workflow: w, cancel, remove }: { workflow: WorkflowRow; cancel(): void; remove(): void }) {
  const unfinished = !isTerminal(w.status) && w.status !== 'DRAFT'
  return (
    <tr data-workflow={w.workflow_id} data-state={w.status}>
      <td class="name">
        <a href={`/ui/workflows/${w.workflow_id}`}>{w.name}</a>
        {w.is_public && <span class="chip plain public">public</span>}
        {w.error && (
          <div class="dim clip" title={w.error}>
            {w.error}
          </div>
        )}
      </td>
      <td class="state-cell">
        <StatusChip status={w.status} />
        {w.status === 'RUNNING' && (
          <span class="small-text standing">
            {stageName(w.stage)}
            {w.total > 0 && <span class="dim num"> {Math.round((100 * w.done) / w.total)} %</span>}
          </span>
        )}
        {w.status === 'RUNNING' && w.total > 0 && (
          <ProgressBar label={`Progress of ${w.name}`} done={w.done} total={w.total} />
        )}
      </td>
      <td class="dim wide-only">{workflowKind(w.workflow_type)}</td>
      <td class="wide-only">
        {w.source_job_id ? <a href={`/ui/jobs/${w.source_job_id}`}>Fold</a> : <span class="dim">–</span>}
      </td>
      {isShared() && <ByCell by={w.createdBy} />}
      <td class="dim num wide-only" title={moment(w.created_at)}>
        {when(w.created_at)}
      </td>
      <td class="right actions">
        {unfinished && may('member') && (
          <button type="button" class="quiet small" aria-label={`Stop ${w.name}`} onClick={cancel}>
            Stop
          </button>
        )}
        {may('member') && (
          <button type="button" class="quiet small" aria-label={`Delete ${w.name}`} onClick={remove}>
            Delete
          </button>
        )}
      </td>
    </tr>
  )
}
