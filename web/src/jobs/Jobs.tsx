// The user's jobs, newest first, each with its current status.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { api, isTerminal, type JobRow, parseTime } from '../api'
import { compareAddress, maxCompared } from '../compare/address'
import { Empty, ErrorMessage } from '../components'
import { Input, Segments } from '../controls'
import { onChange, polls, streamState } from '../events'
import { plural } from '../format'
import { usePagedList } from '../list'
import { isShared, listText, may, withProject } from '../project'
import { navigate, query } from '../router'
import { byColumn, ListView, MineFilter, maxWholeList, Table, VirtualRows } from '../table'
import { JobTableRow, now, type Queued } from './JobTableRow'
import { Tabs } from './Tabs'

// The statuses that the list can be filtered by, with their names; '' is all.
const filters = {
  '': 'All',
  INITIALIZED: 'Queued',
  RUNNING: 'Running',
  COMPLETED: 'Completed',
  FAILED: 'Failed',
  STOPPED: 'Stopped',
}

/** The filter, which is part of the address: q is a part of the name, status one of filters; createdBy may be me. */
interface Filter {
  q: string
  status: string
  createdBy: string
}

const noFilter: Filter = { q: '', status: '', createdBy: '' }

/** The list of jobs, and the actions on those that are selected. */
export function Jobs() {
  const filter: Filter = {
    q: query.value.get('q') ?? '',
    status: query.value.get('status') ?? '',
    createdBy: query.value.get('createdBy') === 'me' ? 'me' : '',
  }
  const list = useJobList(filter)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [error, setError] = useState('')
  const rows = list.rows instanceof Error ? [] : (list.rows ?? [])

  /** Calls an action for each job, stops at the first error, and reads the list again. */
  const forEachJob = async (jobs: JobRow[], action: (id: string) => Promise<unknown>, failed: string) => {
    setError('')
    try {
      for (const job of jobs) await action(job.id)
    } catch (e) {
      setError(`${failed}: ${(e as Error).message}`)
    }
    setSelected(new Set())
    await list.load()
  }
  const cancel = (jobs: JobRow[]) => void forEachJob(jobs, api.cancelJob, 'The job could not be stopped')
  const remove = (jobs: JobRow[]) => void forEachJob(jobs, api.deleteJob, 'The job could not be deleted')
  const selectedJobs = rows.filter((job) => selected.has(job.id))
  return (
    <>
      <div class="head">
        <div>
          <h1>Jobs</h1>
          <p class="dim">{listText('Your folds', 'Folds')}, with live progress.</p>
        </div>
        {may('member') && (
          <a class="button" href="/ui/">
            New fold
          </a>
        )}
      </div>
      <Tabs />
      <FilterBar filter={filter} />
      <ErrorMessage text={error} />
      {selectedJobs.length > 0 && (
        <SelectionBar jobs={selectedJobs} cancel={cancel} remove={remove} clear={() => setSelected(new Set())} />
      )}
      <ListView
        list={list}
        what="jobs"
        empty={<NoJobs filtered={Object.values(filter).some((v) => v !== '')} />}
        onError={setError}
        endless
      >
        {(jobs) => (
          <JobTable
            jobs={jobs}
            hasOlder={list.hasOlder}
            selected={selected}
            setSelected={setSelected}
            cancel={cancel}
          />
        )}
      </ListView>
    </>
  )
}

/** The list of jobs, updated by events. */
function useJobList(filter: Filter) {
  const list = usePagedList(
    (page) => api.jobs({ ...filter, ...page }),
    (job: JobRow) => job.id,
    `${filter.createdBy} ${filter.status} ${filter.q}`.trim(),
  )
  useEffect(
    () =>
      onChange((change) => {
        // While the stream tells nothing, this comes every few seconds.
        if (!change) return polls(streamState.peek()) ? list.reload() : void list.load()
        if (!change.jobId) return
        const shown = list.patch(change.jobId, (job) => ({
          ...job,
          status: change.status as JobRow['status'],
          stage: change.stage,
          done: change.done,
          total: change.total,
          startedAt: job.startedAt ?? (change.status === 'RUNNING' ? new Date().toISOString() : null),
        }))
        if (!shown) list.reload(150)
        else if (isTerminal(change.status)) list.reload(300) // for its scores
      }),
    [],
  )
  useEffect(() => {
    const timer = setInterval(() => {
      now.value = Date.now()
    }, 1000)
    return () => clearInterval(timer)
  }, [])
  return list
}

/** Puts a filter into the address, from which the page reads it. */
function setFilter(filter: Filter) {
  const parameters = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== '')).toString()
  navigate(withProject(`/ui/jobs${parameters && `?${parameters}`}`), { replace: true })
}

/** The search field and the buttons of the statuses. */
const FilterBar = ({ filter }: { filter: Filter }) => (
  <div class="row filters">
    <label class="grow search">
      <span class="visually-hidden">Search by name</span>
      <Input type="search" placeholder="Search by name" value={filter.q} onValue={(q) => setFilter({ ...filter, q })} />
    </label>
    <Segments
      label="Status"
      options={filters}
      value={filter.status}
      onValue={(status) => setFilter({ ...filter, status })}
    />
    <MineFilter value={filter.createdBy} onValue={(createdBy) => setFilter({ ...filter, createdBy })} />
  </div>
)

interface SelectionBarProps {
  jobs: JobRow[]
  cancel(jobs: JobRow[]): void
  remove(jobs: JobRow[]): void
  clear(): void
}

/** The actions for the selected jobs. */
function SelectionBar({ jobs, cancel, remove, clear }: SelectionBarProps) {
  const completed = jobs.filter((job) => job.status === 'COMPLETED')
  const unfinished = jobs.filter((job) => !isTerminal(job.status))
  const confirmRemove = () => {
    if (confirm(`Delete ${plural(jobs.length, 'job')} and all their files? This cannot be undone.`)) remove(jobs)
  }
  return (
    <section class="row card chosen" aria-label="Selected jobs">
      <span class="grow">{plural(jobs.length, 'job')} selected</span>
      <button
        type="button"
        class="quiet small"
        disabled={jobs.length < 2 || jobs.length > maxCompared}
        title={`2 to ${maxCompared} jobs`}
        onClick={() => navigate(compareAddress(jobs.map((job) => job.id)))}
      >
        Compare
      </button>
      <button
        type="button"
        class="quiet small"
        disabled={completed.length === 0}
        onClick={() => void downloadArchives(completed)}
      >
        Download {completed.length > 0 ? plural(completed.length, 'archive') : 'archives'}
      </button>
      {may('member') && (
        <>
          <button
            type="button"
            class="quiet small"
            disabled={unfinished.length === 0}
            onClick={() => cancel(unfinished)}
          >
            Stop
          </button>
          <button type="button" class="danger small" onClick={confirmRemove}>
            Delete
          </button>
        </>
      )}
      <button type="button" class="bare" onClick={clear}>
        Clear
      </button>
    </section>
  )
}

/** Downloads several archives, one after the other: browsers drop downloads that start at once. */
async function downloadArchives(jobs: JobRow[]) {
  for (const job of jobs) {
    const link = document.createElement('a')
    link.href = api.archive(job.id)
    link.download = ''
    link.click()
    await new Promise((resolve) => setTimeout(resolve, 400))
  }
}

/** The placeholder of an empty list: how to begin, or how to see more. */
function NoJobs({ filtered }: { filtered: boolean }) {
  if (!filtered)
    return (
      <Empty title="No jobs yet">
        <p>Jobs will appear here, with live progress.</p>
        {may('member') && (
          <p>
            <a class="button" href="/ui/">
              Fold a protein
            </a>
          </p>
        )}
      </Empty>
    )
  return (
    <Empty title="No jobs match">
      <p>Try another name or status.</p>
      <p>
        <button type="button" class="quiet" onClick={() => setFilter(noFilter)}>
          Show all jobs
        </button>
      </p>
    </Empty>
  )
}

interface JobTableProps {
  jobs: JobRow[]
  hasOlder: boolean
  selected: ReadonlySet<string>
  setSelected(ids: ReadonlySet<string>): void
  cancel(jobs: JobRow[]): void
}

// The columns after the one of the checkboxes.
const columnsOf = (shared: boolean) => [
  'Name',
  'Status',
  { title: 'Model', class: 'wide-only' },
  { title: 'pLDDT', class: 'right' },
  { title: 'Duration', class: 'right wide-only' },
  ...byColumn(shared),
  { title: 'Created', class: 'wide-only' },
  { title: 'Actions', hidden: true },
]

const maxForMedian = 500 // the newest jobs, of which the usual duration is taken

/** The rows, with queue positions and the usual duration of each model. */
function JobTable({ jobs, hasOlder, selected, setSelected, cancel }: JobTableProps) {
  const positions = useQueuePositions(jobs)
  const medians = useUnchanged(medianDurations(jobs.slice(0, maxForMedian)))
  const isLong = jobs.length > maxWholeList
  const columns = columnsOf(isShared())
  const row = useJobRow({ positions, medians, isLong, selected, setSelected, cancel })
  const allSelected = jobs.every((job) => selected.has(job.id))
  const selectAll = (
    <input
      type="checkbox"
      aria-label="Select all"
      checked={allSelected}
      onChange={() => setSelected(new Set(allSelected ? [] : jobs.map((job) => job.id)))}
    />
  )
  return (
    <div class="card flush">
      <Table
        class="jobs"
        columns={[{ title: selectAll, class: 'pick' }, ...columns]}
        rowCount={isLong ? (hasOlder ? -1 : jobs.length + 1) : undefined}
      >
        <VirtualRows rows={jobs} idOf={(job) => job.id} columns={columns.length + 1}>
          {row}
        </VirtualRows>
      </Table>
    </div>
  )
}

interface JobRowProps extends Pick<JobTableProps, 'selected' | 'setSelected' | 'cancel'> {
  positions: Record<string, Queued>
  medians: Record<string, number>
  isLong: boolean
}

/** The function that makes a row. It is another one only if what all rows show has changed: older rows do not count. */
function useJobRow({ positions, medians, isLong, selected, setSelected, cancel }: JobRowProps) {
  const actions = useRef({ setSelected, cancel })
  actions.current = { setSelected, cancel }
  return useCallback(
    (job: JobRow, index: number) => (
      <JobTableRow
        key={job.id}
        job={job}
        index={isLong ? index + 2 : undefined} // the head is the first row
        queued={positions[job.id]}
        medianDuration={medians[job.modelName]}
        selected={selected.has(job.id)}
        setSelected={(on) => {
          const ids = new Set(selected)
          if (on) ids.add(job.id)
          else ids.delete(job.id)
          actions.current.setSelected(ids)
        }}
        cancel={() => actions.current.cancel([job])}
      />
    ),
    [positions, medians, isLong, selected],
  )
}

/** Returns the earlier object as long as a value is equal to it. */
function useUnchanged<T>(value: T): T {
  const last = useRef(value)
  if (JSON.stringify(last.current) !== JSON.stringify(value)) last.current = value
  return last.current
}

const maxPositions = 10 // the queued jobs whose position is requested: those that are next

/** Reads the positions of the oldest queued jobs and why they wait, again whenever a job ends. */
function useQueuePositions(jobs: JobRow[]): Record<string, Queued> {
  const [positions, setPositions] = useState<Record<string, Queued>>({})
  const queued = jobs
    .filter((job) => job.status === 'INITIALIZED')
    .slice(-maxPositions)
    .map((job) => job.id)
  const ended = jobs.filter((job) => isTerminal(job.status)).length
  useEffect(() => {
    let cancelled = false
    const read = async () => {
      const entries = await Promise.all(
        queued.map(async (id) => {
          const { progress, waiting } = await api.job(id)
          return [id, { position: progress.queuePosition, reason: waiting?.reason ?? '' }] as const
        }),
      )
      if (!cancelled) setPositions(Object.fromEntries(entries))
    }
    read().catch(() => {}) // the positions are a convenience
    return () => {
      cancelled = true
    }
  }, [queued.join(), ended])
  return useUnchanged(positions)
}

/** The median duration in seconds of the completed jobs of each model that has at least three. */
function medianDurations(jobs: JobRow[]): Record<string, number> {
  const durations: Record<string, number[]> = {}
  for (const { status, startedAt, finishedAt, modelName } of jobs) {
    if (status !== 'COMPLETED' || !startedAt || !finishedAt) continue
    durations[modelName] ??= []
    durations[modelName].push((parseTime(finishedAt).getTime() - parseTime(startedAt).getTime()) / 1000)
  }
  const enough = Object.entries(durations).filter(([, seconds]) => seconds.length >= 3)
  return Object.fromEntries(
    enough.map(([name, seconds]) => [name, seconds.sort((a, b) => a - b)[seconds.length >> 1]!]),
  )
}
