// The head of a result: name, status, and what its owner can do with it.
import { useEffect, useState } from 'preact/hooks'
import { api, isTerminal, type JobView } from '../api'
import { structuresAddress } from '../compare/address'
import { ErrorMessage, StatusChip } from '../components'
import { moment } from '../format'
import { Access, Belongs } from '../people/Access'
import { mayChange, withProject } from '../project'
import { navigate } from '../router'
import { runAddress } from './Runs'

/** reload reads the job again after an action. */
interface Props {
  view: JobView
  reload(): Promise<void>
}

/** The head of the page of a job. */
export function ResultHead({ view, reload }: Props) {
  const { job, run } = view
  const [error, setError] = useState('')
  const perform = async (action: () => Promise<unknown>) => {
    try {
      await action()
      setError('')
      await reload()
    } catch (e) {
      setError((e as Error).message)
    }
  }
  useEffect(() => {
    document.title = `${job.name} · Pleat`
  }, [job.name])
  return (
    <header class="head">
      <div class="grow">
        <h1>{job.name}</h1>
        <p class="dim">
          <StatusChip status={run.status} /> {run.modelName} · <time dateTime={job.date}>{moment(job.date)}</time>
          {view.runs.length > 1 && (
            <>
              {' '}
              · <a href="#runs-title">run {run.number}</a> of {view.runs[0]!.number}
            </>
          )}
          <Belongs of={job} isPublic={job.isPublic} />
          {job.expiresAt && ` · kept until ${moment(job.expiresAt)}`}
        </p>
      </div>
      {mayChange(job) && <OwnerActions view={view} reload={reload} perform={(action) => void perform(action)} />}
      <ErrorMessage text={error} />
    </header>
  )
}

/** The switch for the public link, and the buttons to stop, rerun and delete. */
function OwnerActions({ view, reload, perform }: Props & { perform(action: () => Promise<unknown>): void }) {
  const { job, run } = view
  const runAgain = () =>
    perform(async () => {
      await api.rerun(job.id)
      navigate(runAddress(job.id)) // if an earlier run is shown
    })
  const again = `/ui/?again=${job.id}${view.runs[0]?.id === run.id ? '' : `&run=${run.id}`}`
  const remove = () => {
    if (!confirm(`Delete “${job.name}” and its files? This cannot be undone.`)) return
    perform(async () => {
      await api.deleteJob(job.id)
      navigate('/ui/jobs')
    })
  }
  return (
    <div class="head-actions">
      <Access
        of={job}
        kind="jobs"
        id={job.id}
        isPublic={job.isPublic}
        setPublic={(v) => api.setPublic(job.id, v).then(reload)}
        what="result"
        reload={reload}
      />
      <div class="row">
        {isTerminal(run.status) ? (
          <button type="button" class="quiet small" onClick={runAgain}>
            Run again
          </button>
        ) : (
          <button type="button" class="quiet small" onClick={() => perform(() => api.cancelJob(job.id))}>
            Stop
          </button>
        )}
        {run.status === 'COMPLETED' && (
          <a class="button quiet small" href={withProject(structuresAddress([`job:${job.id}`]), job.projectId)}>
            Compare
          </a>
        )}
        <a class="button quiet small" href={withProject(again, job.projectId)}>
          Edit and rerun
        </a>
        <button type="button" class="danger small" onClick={remove}>
          Delete
        </button>
      </div>
    </div>
  )
}
