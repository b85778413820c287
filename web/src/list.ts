// A list of the service that grows by pages and is read again when something changes.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { List } from './api'

const pageSize = 50
const maxLimit = 200 // the most rows that the service returns at once

/** The rows loaded so far, and the cursor of the next page; null: there is none. */
interface Loaded<T> {
  rows: T[]
  next: string | null
}

/** A list with the operations on it. */
export interface PagedList<T> {
  /** The rows; undefined until they are loaded, an Error if that failed. */
  rows: T[] | Error | undefined
  hasOlder: boolean
  loadingOlder: boolean
  /** Reads all rows shown again, after a delay in ms. A later call replaces an earlier one. */
  reload(delay?: number): void
  /** Reads all rows shown again now. */
  load(): Promise<void>
  /** Appends the next page. Throws ServiceError. */
  loadOlder(): Promise<void>
  /** Changes one row in place. Returns false if it is not in the list. */
  patch(id: string, change: (row: T) => T): boolean
}

/** Lists what fetchPage returns. If filter changes, the list starts again from the newest row. */
export function usePagedList<T>(
  fetchPage: (page: { limit: number; cursor?: string }) => Promise<List<T>>,
  idOf: (row: T) => string,
  filter = '',
): PagedList<T> {
  const [state, setState] = useState<Loaded<T> | Error>()
  const [loadingOlder, setLoadingOlder] = useState(false)
  const loaded = useRef<Loaded<T> | undefined>(undefined)
  const newestRequest = useRef(0)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const fetcher = useRef(fetchPage)
  fetcher.current = fetchPage
  const show = (next: Loaded<T>) => {
    loaded.current = next
    setState(next)
  }

  const load = async () => {
    const request = ++newestRequest.current
    try {
      const shown = loaded.current?.rows.length ?? 0
      const list = await fetcher.current({ limit: Math.min(maxLimit, Math.max(pageSize, shown)) })
      if (request === newestRequest.current) show({ rows: list.data, next: list.next_cursor })
    } catch (e) {
      if (request === newestRequest.current && !loaded.current) setState(e as Error)
    }
  }
  const reload = (delay = 0) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => void load(), delay)
  }
  useEffect(() => {
    loaded.current = undefined
    setState(undefined)
    reload(filter ? 200 : 0) // while the user types a filter, wait for the next letter
  }, [filter])
  useEffect(
    () => () => {
      clearTimeout(timer.current)
      newestRequest.current++
    },
    [],
  )

  const loadOlder = async () => {
    const current = loaded.current
    if (!current?.next) return
    setLoadingOlder(true)
    try {
      const list = await fetcher.current({ limit: pageSize, cursor: current.next })
      const known = new Set(current.rows.map(idOf))
      show({ rows: [...current.rows, ...list.data.filter((row) => !known.has(idOf(row)))], next: list.next_cursor })
    } finally {
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
