// Jobs side by side, ranked by their scores, with their current status.
import { useEffect, useState } from 'preact/hooks'
import { api, isTerminal, type JobView, type ServiceError } from '../api'
import { Empty, Loading } from '../components'
import { onChange } from '../events'
import { plural, stageName } from '../format'
import type { ScoredRun } from '../ranking'
import { query } from '../router'
import { ScoredRuns } from '../scores'
import { maxCompared } from './address'

/** A job, why it could not be read, or null while it is loaded. */
type Entry = JobView | Error | null

/** The page of the jobs that the address names in ?jobs=. */
export function Compare() {
  const ids = [...new Set((query.value.get('jobs') ?? '').split(',').filter(Boolean))]
  const shown = ids.slice(0, maxCompared)
  const jobs = useJobs(shown)
  useEffect(() => {
    document.title = 'Compare · Pleat'
  }, [])
  const entries = shown.map((id) => [id, jobs[id] ?? null] as const)
  const left = entries.filter(
    ([, job]) => job !== null && !(job instanceof Error) && !isTerminal(job.run.status),
  ).length
  return (
    <>
      <div class="head">
        <div>
          <h1>Compare</h1>
          <p class="dim" role="status">
            {plural(shown.length, 'job')}
            {left > 0 && `, ${left} not ended yet`}
            {ids.length > maxCompared && `; only the first ${maxCompared} are shown`}
          </p>
        </div>
      </div>
      {shown.length === 0 && (
        <Empty title="No jobs to compare">
          <p>Select two or more jobs in the list.</p>
          <p>
            <a class="button" href="/ui/jobs">
              Your jobs
            </a>
          </p>
        </Empty>
      )}
      {shown.length > 0 && entries.every(([, job]) => job === null) && <Loading what="Loading the jobs" />}
      {entries.some(([, job]) => job !== null) && (
        <section class="card" aria-label="Jobs" data-ready>
          <ScoredRuns rows={entries.flatMap(([id, job]) => (job === null ? [] : [rowOf(id, job)]))} />
        </section>
      )}
    </>
  )
}

/** Loads the jobs, each again when it changes. */
function useJobs(ids: string[]): Record<string, Entry> {
  const [jobs, setJobs] = useState<Record<string, Entry>>({})
  useEffect(() => {
    let gone = false
    const load = async (id: string) => {
      const entry = await api.job(id).catch((e: Error) => e)
      if (!gone) setJobs((old) => ({ ...old, [id]: entry }))
    }
    for (const id of ids) void load(id)
    const unsubscribe = onChange((change) => {
      if (!change) for (const id of ids) void load(id)
      else if (change.jobId && ids.includes(change.jobId)) void load(change.jobId)
    })
    return () => {
      gone = true
      unsubscribe()
    }
  }, [ids.join()])
  return jobs
}

/** The row of a job by its latest run, with the stage of a run in progress and the reason of a failure. */
function rowOf(id: string, job: JobView | Error): ScoredRun {
  const href = `/ui/jobs/${id}`
  if (job instanceof Error) {
    const none = { meanPLLDT: null, ptm_score: null, iptm_score: null, modelName: '', seed: '', createdAt: '' }
    const name = (job as ServiceError).status === 404 ? 'Deleted job' : 'Job that could not be read'
    return { ...none, id, href, name, status: 'FAILED', note: job.message }
  }
  const { run, progress } = job
  const note =
    run.failure?.message ??
    (run.status === 'RUNNING' && progress.stage ? stageName(progress.stage) : run.cached ? 'from a stored run' : '')
  return { ...run, id, href, name: job.job.name, ...(note && { note }) }
}
