// The data that the page of a batch reads from the service, and keeps up to date while the batch runs.
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { api, type Batch, type BatchRows, batchPath, type ScoreColumn } from '../api'
import { openStream, polls, type StreamState } from '../events'
import { navigate, path, query } from '../router'
import { signedIn } from '../session'
import { formatView, parseView, type View } from './address'
import { type Row, withKnown } from './scores'

const writeDelay = 200 // ms; browsers refuse to write the address at every key that is held down

/** The view that the address names, and the function that changes it. The address follows a moment later. */
export function useView(): [View, (fields: Partial<View>) => void] {
  const given = formatView(parseView(query.value))
  const [text, setText] = useState(given)
  const latest = useRef(given) // changes may come faster than the page renders
  const written = useRef(given)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const show = (next: string) => {
    clearTimeout(timer.current)
    latest.current = next
    setText(next)
  }
  useEffect(() => {
    if (given === written.current) return
    written.current = given // by a link, or by going back
    show(given)
  }, [given])
  useEffect(() => () => clearTimeout(timer.current), [])
  const change = useCallback((fields: Partial<View>) => {
    const next = formatView({ ...parseView(new URLSearchParams(latest.current)), ...fields })
    if (next === latest.current) return
    show(next)
    timer.current = setTimeout(() => {
      written.current = next
      navigate(path.peek() + (next && `?${next}`), { replace: true })
    }, writeDelay)
  }, [])
  return [useMemo(() => parseView(new URLSearchParams(text)), [text]), change]
}

const pollInterval = 5000 // ms, while the stream tells nothing

/** A batch, read again whenever it changes. error: why it could not be read last. */
export function useBatch(id: string) {
  const [batch, setBatch] = useState<Batch>()
  const [error, setError] = useState<Error>()
  const [streamState, setStreamState] = useState<StreamState>('off')
  const user = signedIn.value
  const mounted = useRef(true)
  const load = useCallback(async () => {
    try {
      const read = await api.batch(id)
      if (!mounted.current) return
      setBatch(read)
      setError(undefined)
    } catch (e) {
      if (mounted.current) setError(e as Error)
    }
  }, [id])
  useEffect(() => {
    mounted.current = true
    if (user !== null) void load()
    return () => {
      mounted.current = false
    }
  }, [load, user])
  const running = !!batch && batch.finishedAt === null
  useEffect(() => {
    if (!running) return
    const stream = openStream(batchPath(id) + '/events', {
      state: setStreamState,
      event(_, data) {
        const read = data as Batch
        if (read.finishedAt !== null) stream.close()
        setBatch(read)
      },
    })
    return () => stream.close()
  }, [id, running])
  useEffect(() => {
    if (!running || !polls(streamState)) return
    const timer = setInterval(() => void load(), pollInterval)
    return () => clearInterval(timer)
  }, [running, streamState, load])
  return { batch, error, streamState, load }
}

const pageSize = 1000 // the most rows that the service returns at once

/** The most rows that are read without being asked for. */
export const readAtOnce = 10_000

/** The rows of the table that are loaded. */
export interface Loaded {
  columns: ScoreColumn[]
  rows: Row[]
  /** The cursor of the next page; null: all rows of the selection are loaded. */
  next: string | null
}

interface Wanted {
  id: string
  /** The filter and the order, as a query. */
  selection: string
  /** How many rows are wanted at least, if there are so many. */
  count: number
}

/** Reads rows from the first on. received gets what is there after each page. Returns all. */
async function readRows(wanted: Wanted, signal: AbortSignal, received: (soFar: Loaded) => void = () => {}) {
  let loaded: Loaded = { columns: [], rows: [], next: null }
  do {
    const page = { limit: pageSize, ...(loaded.next && { cursor: loaded.next }) }
    loaded = append(loaded, await api.batchRows(wanted.id, wanted.selection, page, signal))
    received(loaded)
  } while (loaded.next !== null && loaded.rows.length < wanted.count)
  return loaded
}

/** The loaded rows, with another page. */
const append = (loaded: Loaded, page: BatchRows): Loaded => ({
  columns: page.columns,
  rows: [...loaded.rows, ...(page.data as Row[])],
  next: page.next_cursor,
})

/** Whether two lists of columns are the same. */
const isSame = (a: ScoreColumn[], b?: ScoreColumn[]) => JSON.stringify(a) === JSON.stringify(b)

/** The rows of a batch, with the operations on them. */
export interface RowList {
  /** Undefined until the first page is there. */
  loaded: Loaded | undefined
  error: Error | undefined
  /** Whether the rows are those of an earlier selection, while the first page of the new one is read. */
  stale: boolean
  /** Whether rows are being read that are to be shown besides. */
  reading: boolean
  /** Reads the shown rows again, soon, if they may have changed. */
  refresh(): void
  /** Reads the rows of the selection anew. */
  retry(): void
  /** Reads the next page, unless rows are being read. */
  loadMore(): void
}

/** The time after which rows are read again in ms, at least, and as a multiple of the time that this takes. */
const refreshDelay = 1000
const refreshShare = 4

/** Runs one request at a time: another ends the one before. */
function useRequests() {
  const [error, setError] = useState<Error>()
  const [reading, setReading] = useState(false)
  const running = useRef<AbortController | undefined>(undefined)
  const took = useRef(0) // ms, by the last request
  const run = async (request: (signal: AbortSignal) => Promise<void>) => {
    running.current?.abort()
    const mine = new AbortController()
    running.current = mine
    const began = performance.now()
    setReading(true)
    try {
      await request(mine.signal)
      if (!mine.signal.aborted) setError(undefined)
    } catch (e) {
      if (!mine.signal.aborted) setError(e as Error)
    }
    if (mine.signal.aborted) return
    took.current = performance.now() - began
    running.current = undefined
    setReading(false)
  }
  return { error, reading, running, took, run }
}

/** The rows that a selection names, the first pages at once. */
export function useRowList(id: string, selection: string): RowList {
  const { error, reading, running, took, run } = useRequests()
  const [loaded, setLoaded] = useState<Loaded>()
  const [shown, setShown] = useState<string>()
  const latest = useRef<Loaded | undefined>(undefined)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const show = (next: Loaded) => {
    const known = latest.current
    latest.current = {
      rows: withKnown(next.rows, known?.rows ?? []),
      columns: isSame(next.columns, known?.columns) ? known!.columns : next.columns,
      next: next.next,
    }
    setLoaded(latest.current)
    setShown(selection)
  }
  const read = () =>
    run(async (signal) => {
      await readRows({ id, selection, count: readAtOnce }, signal, (soFar) => signal.aborted || show(soFar))
    })
  const readAgain = () =>
    run(async (signal) => {
      const count = Math.max(readAtOnce, latest.current?.rows.length ?? 0)
      const all = await readRows({ id, selection, count }, signal)
      if (!signal.aborted) show(all) // at once, so that no row is missing for a moment
    })
  useEffect(() => {
    void read()
    return () => {
      clearTimeout(timer.current)
      timer.current = undefined
      running.current?.abort()
    }
  }, [id, selection])
  const again = useRef(readAgain)
  again.current = readAgain
  const refresh = useCallback(() => {
    const attempt = () => {
      timer.current = running.current ? setTimeout(attempt, refreshDelay) : undefined
      if (!timer.current) void again.current()
    }
    timer.current ??= setTimeout(attempt, Math.max(refreshDelay, refreshShare * took.current))
  }, [])
  const loadMore = () => {
    const known = latest.current
    if (!known?.next || running.current) return
    const page = { limit: pageSize, cursor: known.next }
    void run(async (signal) => show(append(known, await api.batchRows(id, selection, page, signal))))
  }
  return { loaded, error, stale: shown !== selection, reading, refresh, retry: () => void read(), loadMore }
}
