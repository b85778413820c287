// One row of the list of jobs.
import { signal } from '@preact/signals'
import { api, isTerminal, type JobRow, parseTime } from '../api'
import { ProgressBar, StatusChip } from '../components'
import { asSentence, duration, moment, stageName, when } from '../format'
import { isShared, may } from '../project'
import { Confidence } from '../scores'
import { ByCell } from '../table'

/** The current time in ms; the list advances it every second. */
export const now = signal(Date.now())

/** Where a queued job stands, and why it waits. */
export interface Queued {
  position: number | null
  reason: string
}

interface Props {
  job: JobRow
  /** The number of the row if not all rows are in the document. */
  index: number | undefined
  queued: Queued | undefined
  /** The time of this model's folds in the list, in seconds. */
  medianDuration: number | undefined
  selected: boolean
  setSelected(selected: boolean): void
  cancel(): void
}

/** The row of a job, with its progress and the one action that its status allows. */
export function JobTableRow({ job, index, queued, medianDuration, selected, setSelected, cancel }: Props) {
  return (
    <tr data-job={job.id} data-state={job.status} aria-rowindex={index}>
      <td class="pick">
        <input
          type="checkbox"
          aria-label={`Select ${job.name}`}
          checked={selected}
          onChange={(e) => setSelected(e.currentTarget.checked)}
        />
      </td>
      <td class="name">
        <a href={`/ui/jobs/${job.id}`}>{job.name}</a>
        {job.isPublic && <span class="chip plain public">public</span>}
        {job.error && (
          <div class="dim clip" title={job.error}>
            {job.error}
          </div>
        )}
      </td>
      <td class="state-cell">
        <StatusChip status={job.status} />
        <Progress job={job} queued={queued} />
      </td>
      <td class="dim wide-only">{job.modelName}</td>
      <td class="right plddt">
        <Confidence plddt={job.meanPLLDT} rmsd={job.predictedRmsd} />
      </td>
      <td class="right num dim wide-only">
        {job.startedAt ? <Elapsed from={job.startedAt} to={job.finishedAt} /> : '–'}
        {job.status === 'RUNNING' && medianDuration && (
          <div class="small-text" title={`Median of your ${job.modelName} folds in this list`}>
            usually {duration(medianDuration)}
          </div>
        )}
      </td>
      {isShared() && <ByCell by={job.createdBy} />}
      <td class="dim num wide-only" title={moment(job.date)}>
        <When time={job.date} />
      </td>
      <td class="right actions">
        <Actions job={job} cancel={cancel} />
      </td>
    </tr>
  )
}

/** Stop, download or rerun. */
function Actions({ job, cancel }: { job: JobRow; cancel(): void }) {
  if (!isTerminal(job.status))
    return !may('member') ? null : (
      <button type="button" class="quiet small" aria-label={`Stop ${job.name}`} onClick={cancel}>
        Stop
      </button>
    )
  if (job.status === 'COMPLETED')
    return (
      <a
        class="button quiet small"
        href={api.archive(job.id)}
        download
        aria-label={`Download the files of ${job.name}`}
      >
        Download
      </a>
    )
  if (!may('member')) return null
  return (
    <a class="button quiet small" href={`/ui/?again=${job.id}`} aria-label={`Edit ${job.name} and run it again`}>
      Edit and rerun
    </a>
  )
}

/** The queue position of a queued job and why it waits; the stage and the progress of a running one. */
function Progress({ job, queued }: { job: JobRow; queued: Queued | undefined }) {
  if (job.status === 'INITIALIZED') {
    const stage = job.stage === 'queued' ? '' : stageName(job.stage)
    return (
      <>
        <span class="dim small-text standing">{queued?.position ? `${ordinal(queued.position)} in queue` : stage}</span>
        {queued?.reason && <div class="dim clip">{asSentence(queued.reason)}</div>}
      </>
    )
  }
  if (job.status !== 'RUNNING') return null
  return (
    <>
      <span class="small-text standing">
        {stageName(job.stage)}
        {job.total > 0 && (
          <span class="num dim">
            {' '}
            {job.done} of {job.total}
          </span>
        )}
      </span>
      {job.total > 0 && <ProgressBar label={`Progress of ${job.name}`} done={job.done} total={job.total} />}
    </>
  )
}

/** A position as people count it: next, 2nd, 3rd, 11th. */
function ordinal(n: number): string {
  if (n === 1) return 'next'
  const isTeen = n % 100 > 10 && n % 100 < 14
  return n + (isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th'))
}

// The parts that change with time are separate components, so that a second renders only them and not whole rows.

/** The time from one moment to another, or until now. */
function Elapsed({ from, to }: { from: string; to: string | null }) {
  const end = to ? parseTime(to).getTime() : now.value
  return <>{duration(Math.max(0, (end - parseTime(from).getTime()) / 1000))}</>
}

/** When something was. */
const When = ({ time }: { time: string }) => <>{when(time, now.value)}</>
