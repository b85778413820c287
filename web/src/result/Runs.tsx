// The runs of a job: which one is shown, and the others.

import { useState } from 'preact/hooks'
import { api, type JobView, type Params } from '../api'
import { ErrorMessage } from '../components'
import { moment, newSeed, plural } from '../format'
import { mayChange } from '../project'
import { navigate } from '../router'
import { ScoredRuns } from '../scores'

/** The address of a run; of the job's latest run if run is empty. */
export const runAddress = (job: string, run = '') => `/ui/jobs/${job}${run && `?run=${run}`}`

/** Says that the run shown is not the latest, or that its results are stored ones. */
export function RunNotices({ view, reload }: { view: JobView; reload(): Promise<void> }) {
  const { job, run, runs } = view
  const isEarlier = runs.length > 0 && runs[0]!.id !== run.id
  return (
    <>
      {isEarlier && (
        <p class="caution" role="status" data-earlier="">
          You are looking at an earlier run of this job, created {moment(run.createdAt)}.{' '}
          <a href={runAddress(job.id)}>Open the latest run</a>
        </p>
      )}
      {run.cached && <StoredRun view={view} reload={reload} />}
    </>
  )
}

/** A run whose results are those of an earlier one, and the way to new ones. */
function StoredRun({ view, reload }: { view: JobView; reload(): Promise<void> }) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const runAgain = async () => {
    setBusy(true)
    try {
      await api.rerun(view.job.id, { ...(view.params as Params), seed: newSeed() })
      navigate(runAddress(view.job.id))
      await reload()
      setError('')
    } catch (e) {
      setError((e as Error).message)
    }
    setBusy(false)
  }
  return (
    <div class="hint" role="status" data-stored="">
      The results are those of a stored run with the same input, settings and seed.{' '}
      {mayChange(view.job) && (
        <button type="button" class="bare" disabled={busy} onClick={() => void runAgain()}>
          Run with a new seed
        </button>
      )}
      <ErrorMessage text={error} />
    </div>
  )
}

/** The runs of a job that has several. Only its owner may open the earlier ones. */
export function Runs({ view }: { view: JobView }) {
  const { job, run, runs } = view
  if (runs.length < 2 || !job.isOwner) return null
  const rows = runs.map((r, i) => ({
    ...r,
    name: `Run ${r.number}`,
    href: runAddress(job.id, i === 0 ? '' : r.id),
    current: r.id === run.id,
    ...(r.failure ? { note: r.failure.message } : r.cached && { note: 'from a stored run' }),
  }))
  return (
    <section class="card" aria-labelledby="runs-title">
      <h2 id="runs-title">
        Runs <span class="dim num">{plural(runs.length, 'run')}</span>
      </h2>
      <ScoredRuns rows={rows} byScore={false} />
    </section>
  )
}
