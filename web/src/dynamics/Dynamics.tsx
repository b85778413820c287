// The page of a simulation: its progress, then the trajectory and what was measured.
import { useEffect, useState } from 'preact/hooks'
import { api, type Workflow } from '../api'
import { Failure, Loading, StatusChip } from '../components'
import { moment } from '../format'
import { PublicSwitch } from '../result/PublicSwitch'
import { Log, RunProgress, useRunEvents } from '../result/RunProgress'
import { navigate } from '../router'
import { reset } from '../store'
import { isActive, sourceAddress, sourceOf, useWorkflow } from '../workflow'
import { Measurements } from './Measurements'
import { settingName } from './methods'
import type { SimulationResult } from './simulation'
import { Trajectory } from './Trajectory'
import '../result/result.css'

/** The page of the simulation with this workflow id. */
export function Dynamics({ id }: { id: string }) {
  const { workflow, error, load, setError } = useWorkflow(id, 5000)
  useEffect(() => reset, [id])
  const active = isActive(workflow)
  const { run, streamState } = useRunEvents(`/v1/workflows/${encodeURIComponent(id)}/events`, active, (e) => {
    if (e.kind === 'state') void load()
  })
  useEffect(() => {
    if (workflow) document.title = `${workflow.name} · Pleat`
  }, [workflow?.name])
  if (error && !workflow)
    return <Failure title="The simulation could not be loaded" error={error} retry={() => void load()} />
  if (!workflow) return <Loading what="Loading the simulation" />
  const progress = run.stage ? run : workflow
  const task = workflow.tasks[0]
  const result = task?.result_raw_json as SimulationResult | null | undefined
  return (
    <article data-workflow={id} data-state={workflow.status}>
      <Head workflow={workflow} perform={(action) => void action.then(load, setError)} />
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
      {(workflow.status === 'FAILED' || workflow.status === 'STOPPED') && <Failed workflow={workflow} />}
      {workflow.status === 'DRAFT' && (
        <section class="card">
          <p>This is a draft. It has not been run.</p>
          {workflow.is_owner && (
            <button type="button" class="small" onClick={() => void api.executeWorkflow(id).then(load, setError)}>
              Run
            </button>
          )}
        </section>
      )}
      {result && task && (
        <>
          <Trajectory key={task.task_id} workflow={workflow} result={result} />
          <Measurements result={result} />
        </>
      )}
      <Settings workflow={workflow} />
    </article>
  )
}

interface HeadProps {
  workflow: Workflow
  /** Waits for an action and loads the workflow again. */
  perform(action: Promise<unknown>): void
}

/** Name, status, the structure that was simulated, and the owner's actions. */
function Head({ workflow: w, perform }: HeadProps) {
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
          {w.expires_at && ` · kept until ${moment(w.expires_at)}`}
          {source && (
            <>
              {' '}
              · <a href={sourceAddress(w, source)}>starting structure</a>
            </>
          )}
        </p>
      </div>
      {w.is_owner && (
        <div class="head-actions">
          <PublicSwitch isPublic={w.is_public} setPublic={setPublic} what="simulation" />
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

/** A simulation that failed or was stopped, with the end of its log. */
function Failed({ workflow }: { workflow: Workflow }) {
  const [log, setLog] = useState('')
  useEffect(() => {
    if (workflow.is_owner) void api.workflowLog(workflow.workflow_id).then(setLog, () => undefined)
  }, [workflow.workflow_id])
  const error = workflow.tasks[0]?.error
  return (
    <section class="card failed" role="alert">
      <h2>{workflow.status === 'STOPPED' ? 'This simulation was stopped' : 'This simulation failed'}</h2>
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

/** The settings in the input of the workflow; references to its source are left out. */
function Settings({ workflow }: { workflow: Workflow }) {
  const settings = Object.entries(workflow.input_payload).filter(
    ([name, value]) => value !== null && typeof value !== 'object' && !/^(source|isPublic)/.test(name),
  )
  return (
    <section class="card" aria-labelledby="settings-title">
      <h2 id="settings-title">Settings</h2>
      <dl class="pairs">
        {settings.map(([name, value]) => (
          <div key={name}>
            <dt>{settingName(name)}</dt>
            <dd>{String(value)}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
