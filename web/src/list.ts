// A list of the service that grows by pages and is read again when something changes.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { List } from './api'

const pageSize = 50
const maxLimit = 200 // the most rows that the service returns at once

/** The rows loaded so far, and the cursor of the next page; null: there is none. */
export interface Loaded<T> {
  rows: T[]
  next: string | null
}

/** A list with the operations on it. */
export interface PagedList<T> {
  /** The rows; undefined until they are loaded, an Error if that failed. */
  rows: T[] | Error | undefined
  hasOlder: boolean
  loadingOlder: boolean
  /** Reads the newest rows again, after a delay in ms, and keeps older ones. A later call replaces an earlier one. */
  reload(delay?: number): void
  /** Reads all rows shown again now. */
  load(): Promise<void>
  /** Appends the next page, unless one is being appended. Throws ServiceError. */
  loadOlder(): Promise<void>
  /** Changes one row in place. Returns false if it is not in the list. */
  patch(id: string, change: (row: T) => T): boolean
}

type FetchPage<T> = (page: { limit: number; cursor?: string }) => Promise<List<T>>

/** Reads rows from the newest on, at least as many as wanted if there are so many; isWanted can end it early. */
async function readRows<T>(fetchPage: FetchPage<T>, wanted: number, isWanted: () => boolean): Promise<Loaded<T>> {
  const rows: T[] = []
  let next: string | null = null
  do {
    const limit = Math.min(maxLimit, Math.max(pageSize, wanted - rows.length))
    const list: List<T> = await fetchPage(next ? { limit, cursor: next } : { limit })
    rows.push(...list.data)
    next = list.next_cursor
  } while (next && rows.length < wanted && isWanted())
  return { rows, next }
}

/** The newest rows, followed by the known rows that are older than them. */
export function withOlder<T>(newest: Loaded<T>, known: Loaded<T> | undefined, idOf: (row: T) => string): Loaded<T> {
  const last = newest.rows.at(-1)
  const index = last && known ? known.rows.findIndex((row) => idOf(row) === idOf(last)) : -1
  if (!known || index < 0 || index === known.rows.length - 1) return newest
  return { rows: [...newest.rows, ...known.rows.slice(index + 1)], next: known.next }
}

/** The rows that are loaded, and the ways to read them again. */
function useRows<T>(fetchPage: FetchPage<T>, idOf: (row: T) => string) {
  const [state, setState] = useState<Loaded<T> | Error>()
  const loaded = useRef<Loaded<T> | undefined>(undefined)
  const readingAll = useRef(0)
  const newestRequest = useRef(0)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const fetcher = useRef(fetchPage)
  fetcher.current = fetchPage
  const show = (next: Loaded<T> | undefined) => {
    loaded.current = next
    setState(next)
  }
  /** Reads rows from the newest on and shows what merge makes of them, unless a later request has begun. */
  const read = async (wanted: number, merge: (newest: Loaded<T>) => Loaded<T>) => {
    const request = ++newestRequest.current
    const isLatest = () => request === newestRequest.current
    try {
      const newest = await readRows(fetcher.current, wanted, isLatest)
      if (isLatest()) show(merge(newest))
    } catch (e) {
      if (isLatest() && !loaded.current) setState(e as Error)
    }
  }
  const load = async () => {
    readingAll.current++
    await read(loaded.current?.rows.length ?? 0, (all) => all)
    readingAll.current--
  }
  const readNewest = () => {
    if (readingAll.current > 0) return load() // it would otherwise end what is being read
    const wanted = Math.min(maxLimit, loaded.current?.rows.length ?? 0)
    return read(wanted, (newest) => withOlder(newest, loaded.current, idOf))
  }
  const reload = (delay = 0) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => void readNewest(), delay)
  }
  useEffect(
    () => () => {
      clearTimeout(timer.current)
      newestRequest.current++
    },
    [],
  )
  return { state, loaded, fetcher, show, load, reload }
}

/** Lists what fetchPage returns. If filter changes, the list starts again from the newest row. */
export function usePagedList<T>(fetchPage: FetchPage<T>, idOf: (row: T) => string, filter = ''): PagedList<T> {
  const { state, loaded, fetcher, show, load, reload } = useRows(fetchPage, idOf)
  const [loadingOlder, setLoadingOlder] = useState(false)
  const appending = useRef(false)
  useEffect(() => {
    show(undefined)
    reload(filter ? 200 : 0) // while the user types a filter, wait for the next letter
  }, [filter])

  const loadOlder = async () => {
    const current = loaded.current
    if (!current?.next || appending.current) return
    appending.current = true
    setLoadingOlder(true)
    try {
      const list = await fetcher.current({ limit: maxLimit, cursor: current.next })
      const latest = loaded.current
      if (latest?.next !== current.next) return // the list has been read again
      const known = new Set(latest.rows.map(idOf))
      show({ rows: [...latest.rows, ...list.data.filter((row) => !known.has(idOf(row)))], next: list.next_cursor })
    } finally {
      appending.current = false
      setLoadingOlder(false)
    }
  }
  const patch = (id: string, change: (row: T) => T) => {
    const current = loaded.current
    const index = current?.rows.findIndex((row) => idOf(row) === id) ?? -1
    if (!current || index < 0) return false
    show({ ...current, rows: current.rows.with(index, change(current.rows[index]!)) })
    return true
  }
  return {
    rows: state instanceof Error ? state : state?.rows,
    hasOlder: !!state && !(state instanceof Error) && state.next !== null,
    loadingOlder,
    reload,
    load,
    loadOlder,
    patch,
  }
}
