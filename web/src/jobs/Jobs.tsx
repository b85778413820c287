// The jobs of whoever is signed in, newest first, each row as it is now.
import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type Change, isTerminal, type JobRow, parseTime } from '../api'
import { onChange } from '../events'
import { navigate, path, query } from '../router'
import { confidence, duration, moment, plural, stageName, when } from '../say'
import { Empty, Failure, Loading, StateChip } from '../states'

const now = signal(Date.now())

const states: [string, string][] = [
  ['', 'All'],
  ['INITIALIZED', 'Queued'],
  ['RUNNING', 'Running'],
  ['COMPLETED', 'Done'],
  ['FAILED', 'Failed'],
  ['STOPPED', 'Stopped'],
]

interface Page {
  rows: JobRow[]
  next: string | null
}

const pageSize = 50
const placesShown = 10 // queued rows whose place in the queue is asked for

export function Jobs() {
  const q = query.value.get('q') ?? '',
    status = query.value.get('status') ?? ''
  const [page, setPage] = useState<Page | Error>(),
    [more, setMore] = useState(false),
    [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [places, setPlaces] = useState<Record<string, number>>({}),
    [said, setSaid] = useState('')
  const latest = useRef(0),
    held = useRef<Page | undefined>(undefined),
    filter = useRef({ q, status })
  filter.current = { q, status }
  const keep = (p: Page | Error) => {
    if (!(p instanceof Error)) held.current = p
    setPage(p)
  }

  /** Reads as many rows as are shown, from the newest on. */
  const read = async () => {
    const mine = ++latest.current
    try {
      const list = await api.jobs({
        ...filter.current,
        limit: Math.min(200, Math.max(pageSize, held.current?.rows.length ?? 0)),
      })
      if (mine === latest.current) keep({ rows: list.data, next: list.next_cursor })
    } catch (e) {
      if (mine === latest.current && !held.current) keep(e as Error)
    }
  }
  const soon = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const readSoon = (ms: number) => {
    clearTimeout(soon.current)
    soon.current = setTimeout(() => void read(), ms)
  }
  useEffect(() => {
    held.current = undefined
    setPage(undefined)
    readSoon(q ? 200 : 0)
  }, [q, status])
  useEffect(() => {
    const off = onChange((c) => {
      if (!c) return readSoon(0)
      if (c.jobId && !apply(held.current, c, keep)) readSoon(150)
      else if (c.jobId && isTerminal(c.status)) readSoon(300) // its scores
    })
    const timer = setInterval(() => (now.value = Date.now()), 1000)
    return () => {
      off()
      clearInterval(timer)
      clearTimeout(soon.current)
      latest.current++
    }
  }, [])

  const rows = page && !(page instanceof Error) ? page.rows : []
  const queued = rows
    .filter((r) => r.status === 'INITIALIZED')
    .slice(-placesShown)
    .map((r) => r.id)
    .join(' ')
  const ended = rows.filter((r) => isTerminal(r.status)).length
  useEffect(() => {
    // a place changes when another job ends
    let gone = false
    void Promise.all(
      queued
        .split(' ')
        .filter(Boolean)
        .map(async (id) => [id, (await api.job(id)).progress.queuePosition] as const),
    ).then(
      (list) => gone || setPlaces(Object.fromEntries(list.filter((l): l is [string, number] => l[1] !== null))),
      () => {},
    )
    return () => {
      gone = true
    }
  }, [queued, ended])

  const older = async () => {
    const p = held.current
    if (!p?.next) return
    setMore(true)
    try {
      const list = await api.jobs({ ...filter.current, limit: pageSize, cursor: p.next })
      keep({
        rows: [...p.rows, ...list.data.filter((r) => !p.rows.some((o) => o.id === r.id))],
        next: list.next_cursor,
      })
    } catch (e) {
      setSaid((e as Error).message)
    }
    setMore(false)
  }
  const act = async (what: string, ids: string[], one: (id: string) => Promise<unknown>) => {
    setSaid('')
    for (const id of ids) {
      try {
        await one(id)
      } catch (e) {
        setSaid(`${what}: ${(e as Error).message}`)
        break
      }
    }
    setChosen(new Set())
    await read()
  }
  const picked = rows.filter((r) => chosen.has(r.id))
  const files = picked.filter((r) => r.status === 'COMPLETED'),
    live = picked.filter((r) => !isTerminal(r.status))
  const usual = usually(rows)
  return (
    <>
      <div class="head">
        <div>
          <h1>Jobs</h1>
          <p class="dim">What you have folded, and what is folding now.</p>
        </div>
        <a class="button" href="/ui/">
          Fold
        </a>
      </div>
      <Tabs />
      <div class="row filters">
        <label class="grow search">
          <span class="hush">Search by name</span>
          <input
            type="search"
            placeholder="Search by name"
            value={q}
            onInput={(e) => filterBy({ q: e.currentTarget.value, status })}
          />
        </label>
        <div class="row segments" role="group" aria-label="State">
          {states.map(([s, name]) => (
            <button
              type="button"
              class="quiet small"
              aria-pressed={status === s}
              onClick={() => filterBy({ q, status: s })}
            >
              {name}
            </button>
          ))}
        </div>
      </div>
      {said && (
        <p class="refused" role="alert">
          {said}
        </p>
      )}
      {picked.length > 0 && (
        <div class="row card chosen" role="region" aria-label="Chosen jobs">
          <span class="grow">{plural(picked.length, 'job')} chosen</span>
          <button type="button" class="quiet small" disabled={files.length === 0} onClick={() => void downloads(files)}>
            Download {files.length > 0 ? plural(files.length, 'archive') : 'archives'}
          </button>
          <button
            type="button"
            class="quiet small"
            disabled={live.length === 0}
            onClick={() =>
              void act(
                'It could not be stopped',
                live.map((r) => r.id),
                api.cancelJob,
              )
            }
          >
            Stop
          </button>
          <button
            type="button"
            class="danger small"
            onClick={() => {
              if (confirm(`Delete ${plural(picked.length, 'job')} with all files? This cannot be undone.`))
                void act(
                  'It could not be deleted',
                  picked.map((r) => r.id),
                  api.deleteJob,
                )
            }}
          >
            Delete
          </button>
          <button type="button" class="bare" onClick={() => setChosen(new Set())}>
            Clear
          </button>
        </div>
      )}
      {page === undefined ? (
        <Loading what="Loading your jobs" />
      ) : page instanceof Error ? (
        <Failure title="Your jobs cannot be listed" error={page} again={() => void read()} />
      ) : rows.length === 0 ? (
        <Nothing filtered={q !== '' || status !== ''} />
      ) : (
        <div class="card flush">
          <table class="table jobs" data-ready>
            <thead>
              <tr>
                <th class="pick">
                  <input
                    type="checkbox"
                    aria-label="Choose all"
                    checked={picked.length === rows.length}
                    onChange={(e) => setChosen(new Set(e.currentTarget.checked ? rows.map((r) => r.id) : []))}
                  />
                </th>
                <th>Name</th>
                <th>State</th>
                <th class="wide-only">Model</th>
                <th class="right">pLDDT</th>
                <th class="right wide-only">Took</th>
                <th class="wide-only">Created</th>
                <th>
                  <span class="hush">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((r) => (
                <Row
                  key={r.id}
                  row={r}
                  place={places[r.id]}
                  usual={usual[r.modelName]}
                  chosen={chosen.has(r.id)}
                  choose={(on) => {
                    const s = new Set(chosen)
                    if (on) s.add(r.id)
                    else s.delete(r.id)
                    setChosen(s)
                  }}
                  stop={() => void act('It could not be stopped', [r.id], api.cancelJob)}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {page && !(page instanceof Error) && page.next && (
        <p class="row more-row">
          <button type="button" class="quiet" disabled={more} onClick={() => void older()}>
            {more ? 'Loading…' : 'Show older jobs'}
          </button>
        </p>
      )}
    </>
  )
}

/** Folds, and what was done with their results. */
export const Tabs = () => (
  <nav class="tabs" aria-label="Kinds of runs">
    {[
      ['/ui/jobs', 'Folds'],
      ['/ui/workflows', 'Questions and simulations'],
    ].map(([to, name]) => (
      <a href={to} aria-current={path.value === to ? 'page' : undefined}>
        {name}
      </a>
    ))}
  </nav>
)

function Nothing({ filtered }: { filtered: boolean }) {
  if (filtered)
    return (
      <Empty title="No job is like that">
        <p>Another name or state may find it.</p>
        <p>
          <button type="button" class="quiet" onClick={() => filterBy({ q: '', status: '' })}>
            Show all jobs
          </button>
        </p>
      </Empty>
    )
  return (
    <Empty title="Nothing folded yet">
      <p>Your jobs will stand here, with their progress as it happens.</p>
      <p>
        <a class="button" href="/ui/">
          Fold something
        </a>
      </p>
    </Empty>
  )
}

function filterBy({ q, status }: { q: string; status: string }) {
  const p = new URLSearchParams({ ...(q && { q }), ...(status && { status }) }).toString()
  navigate('/ui/jobs' + (p && '?' + p), { replace: true })
}

/** Writes a change into the rows; false: there is no such row. */
function apply(p: Page | undefined, c: Change, keep: (p: Page) => void): boolean {
  const i = p?.rows.findIndex((r) => r.id === c.jobId) ?? -1
  if (!p || i < 0) return false
  const r = { ...p.rows[i]!, status: c.status as JobRow['status'], stage: c.stage, done: c.done, total: c.total }
  if (c.status === 'RUNNING' && !r.startedAt) r.startedAt = new Date().toISOString()
  keep({ ...p, rows: p.rows.with(i, r) })
  return true
}

/** How long folds of each model usually took, in seconds: the median of those shown, where there are three. */
function usually(rows: JobRow[]): Record<string, number> {
  const took: Record<string, number[]> = {}
  for (const r of rows)
    if (r.status === 'COMPLETED' && r.startedAt && r.finishedAt)
      (took[r.modelName] ??= []).push((parseTime(r.finishedAt).getTime() - parseTime(r.startedAt).getTime()) / 1000)
  return Object.fromEntries(
    Object.entries(took)
      .filter(([, t]) => t.length >= 3)
      .map(([m, t]) => [m, t.sort((a, b) => a - b)[t.length >> 1]!]),
  )
}

interface RowProps {
  row: JobRow
  place: number | undefined
  usual: number | undefined
  chosen: boolean
  choose(on: boolean): void
  stop(): void
}

function Row({ row: r, place, usual, chosen, choose, stop }: RowProps) {
  const live = !isTerminal(r.status)
  return (
    <tr data-job={r.id} data-state={r.status}>
      <td class="pick">
        <input
          type="checkbox"
          aria-label={`Choose ${r.name}`}
          checked={chosen}
          onChange={(e) => choose(e.currentTarget.checked)}
        />
      </td>
      <td class="name">
        <a href={`/ui/jobs/${r.id}`}>{r.name}</a>
        {r.isPublic && <span class="chip plain public">public</span>}
        {r.error && (
          <div class="dim clip" title={r.error}>
            {r.error}
          </div>
        )}
      </td>
      <td class="state-cell">
        <StateChip state={r.status} />
        <Standing row={r} place={place} />
      </td>
      <td class="dim wide-only">{r.modelName}</td>
      <td class="right plddt">{r.meanPLLDT === null ? <span class="dim">–</span> : <Score plddt={r.meanPLLDT} />}</td>
      <td class="right num dim wide-only">
        {r.startedAt ? <Elapsed from={r.startedAt} to={r.finishedAt} /> : '–'}
        {r.status === 'RUNNING' && usual && (
          <div class="small-text" title={`The median of your folds by ${r.modelName} in this list`}>
            usually {duration(usual)}
          </div>
        )}
      </td>
      <td class="dim num wide-only" title={moment(r.date)}>
        {when(r.date, now.value)}
      </td>
      <td class="right actions">
        {live && (
          <button type="button" class="quiet small" aria-label={`Stop ${r.name}`} onClick={stop}>
            Stop
          </button>
        )}
        {r.status === 'COMPLETED' && (
          <a
            class="button quiet small"
            href={api.archive(r.id)}
            download
            aria-label={`Download the files of ${r.name}`}
          >
            Files
          </a>
        )}
        {(r.status === 'FAILED' || r.status === 'STOPPED') && (
          <a class="button quiet small" href={`/ui/?again=${r.id}`} aria-label={`Change ${r.name} and run it again`}>
            Again
          </a>
        )}
      </td>
    </tr>
  )
}

/** Where a run stands, in words and as a bar. */
function Standing({ row: r, place }: { row: JobRow; place: number | undefined }) {
  if (r.status === 'INITIALIZED')
    return (
      <span class="dim small-text standing">
        {place ? `${ordinal(place)} in line` : r.stage === 'queued' ? '' : stageName(r.stage)}
      </span>
    )
  if (r.status !== 'RUNNING') return null
  return (
    <>
      <span class="small-text standing">
        {stageName(r.stage)}
        {r.total > 0 && (
          <span class="num dim">
            {' '}
            {r.done} of {r.total}
          </span>
        )}
      </span>
      {r.total > 0 && (
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
    </>
  )
}

const ordinal = (n: number) =>
  n === 1 ? 'next' : n + (n % 100 > 10 && n % 100 < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th'))

function Elapsed({ from, to }: { from: string; to: string | null }) {
  const end = to ? parseTime(to).getTime() : now.value
  return <>{duration(Math.max(0, (end - parseTime(from).getTime()) / 1000))}</>
}

/** A mean pLDDT with AlphaFold's colour beside it. */
export function Score({ plddt }: { plddt: number }) {
  const c = confidence(plddt)
  return (
    <span class="score num" title={`Mean pLDDT: ${c.name}`}>
      <i class={`swatch ${c.class}`} />
      {plddt.toFixed(1)}
    </span>
  )
}

/** Asks the browser for several archives, one after the other. */
async function downloads(rows: JobRow[]) {
  for (const r of rows) {
    const a = document.createElement('a')
    a.href = api.archive(r.id)
    a.download = ''
    a.click()
    await new Promise((ok) => setTimeout(ok, 400)) // browsers drop downloads that come at once
  }
}
