// The row that is chosen: its scores and its structure, with the way to its job.
import { useEffect, useState } from 'preact/hooks'
import { api, type ScoreColumn } from '../api'
import { StatusChip } from '../components'
import { asSentence } from '../format'
import { coloursOf } from '../result/colours'
import { loadStructure, type Prediction, structuresOf } from '../result/load'
import { colour, reset } from '../store'
import { Stage } from '../viewer/Stage'
import type { View } from './address'
import { formatScore, type Row, scoreOf } from './scores'

interface Props {
  /** Its batch. */
  id: string
  columns: ScoreColumn[]
  view: View
  /** The rows of the table, which may lack the chosen one. */
  rows: Row[]
  toggle(row: number): void
}

/** The chosen row, or how to choose one. */
export function RowPanel({ id, columns, view, rows, toggle }: Props) {
  const row = useRow(id, view.row, rows)
  if (view.row === 0)
    return (
      <section class="card row-panel" aria-label="Chosen row">
        <p class="dim">Choose a row in the table or in a plot to see its structure here.</p>
      </section>
    )
  return (
    <section class="card row-panel" aria-label="Chosen row" data-chosen={view.row}>
      {row instanceof Error && <p class="error">The row could not be read: {row.message}</p>}
      {row && !(row instanceof Error) && (
        <>
          <div class="row between">
            <h2 aria-live="polite">
              <span class="dim num">{row.row}</span> {row.customId}
            </h2>
            <StatusChip status={row.status} />
          </div>
          <p class="row">
            {row.jobId && <a href={`/ui/jobs/${row.jobId}`}>Open the job</a>}
            <button
              type="button"
              class="bare"
              aria-pressed={view.shortlist.includes(row.row)}
              onClick={() => toggle(row.row)}
            >
              {view.shortlist.includes(row.row) ? 'Take off the shortlist' : 'Put on the shortlist'}
            </button>
          </p>
          {row.error && <p class="error">{asSentence(row.error)}</p>}
          {row.status === 'COMPLETED' && row.jobId && <RowStructure job={row.jobId} />}
          <Scores row={row} columns={columns} />
        </>
      )}
    </section>
  )
}

/** The row with a number: one of those that are loaded, or else read on its own. */
function useRow(id: string, number: number, rows: Row[]): Row | Error | undefined {
  const known = rows.find((row) => row.row === number)
  const [read, setRead] = useState<{ number: number; row: Row | Error }>()
  const missing = number > 0 && !known
  useEffect(() => {
    if (!missing) return
    const abort = new AbortController()
    const timer = setTimeout(() => {
      api.batchRows(id, `rows=${number}`, {}, abort.signal).then(
        ({ data }) => setRead({ number, row: data[0] as Row }),
        (e: Error) => abort.signal.aborted || setRead({ number, row: e }),
      )
    }, chooseDelay)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [id, number, missing])
  return known ?? (read?.number === number ? read.row : undefined)
}

/** The scores that the row has. */
function Scores({ row, columns }: { row: Row; columns: ScoreColumn[] }) {
  const known = columns.filter((c) => scoreOf(row, c.name) !== null)
  if (known.length === 0) return null
  return (
    <dl class="row-scores">
      {known.map(({ name, unit }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="num">
            {formatScore(scoreOf(row, name)!, unit)} <span class="dim">{unit}</span>
          </dd>
        </div>
      ))}
    </dl>
  )
}

const chooseDelay = 250 // ms; while keys move through the rows, no structure is loaded

/** The structure of a completed row. */
function RowStructure({ job }: { job: string }) {
  const [found, setFound] = useState<{ of: string; p: Prediction; name: string; others: number } | Error>()
  const [tries, setTries] = useState(0)
  useEffect(() => {
    const abort = new AbortController()
    const read = async () => {
      const [view, results] = await Promise.all([api.job(job), api.results(job)])
      const structures = structuresOf(view)
      const p = await loadStructure(view, results, structures[0]?.sequence ?? '', abort.signal)
      if (abort.signal.aborted) return
      const colours = coloursOf(p)
      if (!colours.includes(colour.peek())) colour.value = colours[0]!
      setFound({ of: job, p, name: view.job.name, others: structures.length - 1 })
    }
    const timer = setTimeout(() => {
      reset()
      read().catch((e: Error) => abort.signal.aborted || setFound(e))
    }, chooseDelay)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [job, tries])
  useEffect(() => reset, [])
  if (found instanceof Error)
    return (
      <p class="error" role="alert">
        The structure could not be loaded: {found.message}{' '}
        <button type="button" class="bare" onClick={() => setTries(tries + 1)}>
          Try again
        </button>
      </p>
    )
  if (!found)
    return (
      <div class="stage waiting" aria-busy="true">
        <p class="loading">Loading the structure…</p>
      </div>
    )
  const { of, p, name, others } = found
  return (
    <div class={of === job ? '' : 'outdated'} aria-busy={of !== job} data-structure={of}>
      <Stage source={p.source} table={p.model.table} colours={coloursOf(p)} name={name.replace(/[^\w.-]+/g, '-')} />
      {others > 0 && <p class="dim small-text">The first chain of {others + 1}, each of which is folded alone.</p>}
    </div>
  )
}
