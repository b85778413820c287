// The scores of jobs side by side, with their current status.
import { useEffect, useState } from 'preact/hooks'
import { api, type JobView, type ServiceError } from '../api'
import { onChange } from '../events'
import { stageName } from '../format'
import type { ScoredRun } from '../ranking'
import { ScoredRuns } from '../scores'

/** A job, why it could not be read, or null while it is loaded. */
export type Entry = JobView | Error | null

/** Loads the jobs, each again when it changes. */
export function useJobs(ids: string[]): Record<string, Entry> {
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

/** The table of the jobs that are loaded. */
export const JobScores = ({ entries }: { entries: (readonly [string, Entry])[] }) => (
  <section class="card" aria-label="Jobs" data-ready>
    <ScoredRuns rows={entries.flatMap(([id, job]) => (job === null ? [] : [rowOf(id, job)]))} />
  </section>
)

/** The row of a job by its latest run, with the stage of a run in progress and the reason of a failure. */
function rowOf(id: string, job: JobView | Error): ScoredRun {
  const href = `/ui/jobs/${id}`
  if (job instanceof Error) {
    const none = {
      meanPLLDT: null,
      predictedRmsd: null,
      ptm_score: null,
      iptm_score: null,
      modelName: '',
      seed: '',
      createdAt: '',
    }
    const name = (job as ServiceError).status === 404 ? 'Deleted job' : 'Job that could not be read'
    return { ...none, id, href, name, status: 'FAILED', note: job.message }
  }
  const { run, progress } = job
  const note =
    run.failure?.message ??
    (run.status === 'RUNNING' && progress.stage ? stageName(progress.stage) : run.cached ? 'from a stored run' : '')
  return { ...run, id, href, name: job.job.name, ...(note && { note }) }
}
