// Shared parts of the pages of simulations and alignments: the head with the owner's actions, the progress, and why
// there is no result.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { api, type Workflow } from './api'
import { Failure, Loading, StatusChip } from './components'
import { moment } from './format'
import { Access, Belongs } from './people/Access'
import { mayChange } from './project'
import { Log, RunProgress, useRunEvents } from './result/RunProgress'
import { navigate } from './router'
import { isActive, sourceAddress, sourceOf, useWorkflow } from './workflow'

interface WorkflowFrameProps {
  id: string
  /** The kind of the workflow in a sentence, such as simulation. */
  what: string
  /** The content below the progress. */
  children(workflow: Workflow): ComponentChildren
}

/** The page of a workflow with one task. */
export function WorkflowFrame({ id, what, children }: WorkflowFrameProps) {
  const { workflow, error, load, setError } = useWorkflow(id, 5000)
  const active = isActive(workflow)
  const { run, streamState } = useRunEvents(`/v1/workflows/${encodeURIComponent(id)}/events`, active, (e) => {
    if (e.kind === 'state') void load()
  })
  useEffect(() => {
    if (workflow) document.title = `${workflow.name} · Pleat`
  }, [workflow?.name])
  if (error && !workflow)
    return <Failure title={`The ${what} could not be loaded`} error={error} retry={() => void load()} />
  if (!workflow) return <Loading what={`Loading the ${what}`} />
  const progress = run.stage ? run : workflow
  return (
    <article data-workflow={id} data-state={workflow.status}>
      <Head workflow={workflow} what={what} reload={load} perform={(action) => void action.then(load, setError)} />
      {error && (
        <p class="caution" role="status">
          {error.message}
        </p>
      )}
      {active && (
        <RunProgress
          stage={progress.stage}
          done={progress.done}
          total={progress.total}
          queuePosition={null}
          waiting={workflow.waiting}
          startedAt={null}
          createdAt={workflow.created_at}
          lines={run.lines}
          running={workflow.status === 'RUNNING' || !!run.stage}
          streamState={streamState}
        />
      )}
      {(workflow.status === 'FAILED' || workflow.status === 'STOPPED') && <Failed workflow={workflow} what={what} />}
      {workflow.status === 'DRAFT' && (
        <section class="card">
          <p>This is a draft. It has not been run.</p>
          {mayChange(workflow) && (
            <button type="button" class="small" onClick={() => void api.executeWorkflow(id).then(load, setError)}>
              Run
            </button>
          )}
        </section>
      )}
      {children(workflow)}
    </article>
  )
}

interface HeadProps {
  workflow: Workflow
  what: string
  /** Waits for an action and loads the workflow again. */
  perform(action: Promise<unknown>): void
  reload(): Promise<void>
}

/** Name, status, the structure that it is about, and the owner's actions. */
function Head({ workflow: w, what, perform, reload }: HeadProps) {
  const source = sourceOf(w)
  const remove = () => {
    if (!confirm(`Delete “${w.name}” and its files? This cannot be undone.`)) return
    perform(api.deleteWorkflow(w.workflow_id).then(() => navigate('/ui/workflows')))
  }
  const setPublic = async (isPublic: boolean) => perform(api.setWorkflowPublic(w.workflow_id, isPublic))
  return (
    <header class="head">
      <div class="grow">
        <h1>{w.name}</h1>
        <p class="dim">
          <StatusChip status={w.status} /> <time dateTime={w.created_at}>{moment(w.created_at)}</time>
          <Belongs of={w} isPublic={w.is_public} />
          {w.expires_at && ` · kept until ${moment(w.expires_at)}`}
          {source && (
            <>
              {' '}
              · <a href={sourceAddress(w, source)}>starting structure</a>
            </>
          )}
        </p>
      </div>
      {mayChange(w) && (
        <div class="head-actions">
          <Access
            of={w}
            kind="workflows"
            id={w.workflow_id}
            isPublic={w.is_public}
            setPublic={setPublic}
            what={what}
            reload={reload}
          />
          {isActive(w) && (
            <button type="button" class="quiet small" onClick={() => perform(api.cancelWorkflow(w.workflow_id))}>
              Stop
            </button>
          )}
          <button type="button" class="danger small" onClick={remove}>
            Delete
          </button>
        </div>
      )}
    </header>
  )
}

/** A task that failed or was stopped, with the end of its log. */
function Failed({ workflow, what }: { workflow: Workflow; what: string }) {
  const [log, setLog] = useState('')
  useEffect(() => {
    if (workflow.is_owner) void api.workflowLog(workflow.workflow_id).then(setLog, () => undefined)
  }, [workflow.workflow_id])
  const error = workflow.tasks[0]?.error
  return (
    <section class="card failed" role="alert">
      <h2>
        This {what} {workflow.status === 'STOPPED' ? 'was stopped' : 'failed'}
      </h2>
      {error && <p>{error}</p>}
      {log.trim() && (
        <>
          <h3>End of the log</h3>
          <Log lines={log.trim().split('\n').slice(-40)} />
        </>
      )}
    </section>
  )
}
