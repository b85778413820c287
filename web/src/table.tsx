// The tables of the page, and what a list shows around its table.
import type { ComponentChildren, RefObject, VNode } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Creator } from './api'
import { Failure, Loading } from './components'
import { Segments } from './controls'
import type { PagedList } from './list'
import { creatorName, isShared } from './project'
import { nextRange, type Range, RowHeights, rowsBetween } from './rows'

/** The head of a column: its title, and the CSS classes of its cell. */
export interface Column {
  title: ComponentChildren
  class?: string
  /** Whether only screen readers read the title, as for a column of buttons. */
  hidden?: boolean
  /** How the rows are sorted by the column, if they are. */
  sort?: 'ascending' | 'descending'
}

interface TableProps {
  /** CSS classes in addition to "table". */
  class?: string
  columns: (Column | string)[]
  /** The number of all rows, if only some of them are in the document; -1: unknown. */
  rowCount?: number | undefined
  /** The rows, as <tr> elements. */
  children: ComponentChildren
}

/**
 * A table with a head. A column that is a string has that title and no classes. With the class "cards", a row is a card
 * on a narrow screen, and each cell shows its attribute data-label.
 */
export const Table = ({ class: extra = '', columns, rowCount, children }: TableProps) => (
  <table class={`table ${extra}`} aria-rowcount={rowCount} data-ready>
    <thead>
      <tr>
        {columns.map((column, i) => {
          const { title, class: cell, hidden, sort }: Column = typeof column === 'string' ? { title: column } : column
          return (
            <th key={i} class={cell} aria-sort={sort}>
              {hidden ? <span class="visually-hidden">{title}</span> : title}
            </th>
          )
        })}
      </tr>
    </thead>
    <tbody>{children}</tbody>
  </table>
)

// Lists up to this size are in the document as a whole.
export const maxWholeList = 100

// The space above and below the screen in which rows are in the document, and the rows that a frame has time to add.
const around = 500 // px
const step = 4

interface VirtualRowsProps<T> {
  /** The element that scrolls the rows, if it is not the window. */
  scroller?: RefObject<HTMLElement | null>
  rows: T[]
  idOf(row: T): string
  /** The number of columns. */
  columns: number
  /**
   * Returns the <tr> element of a row with its id as key. It is called again for a row that is another object or has
   * another index, and for all rows when this function is another one: keep it with useCallback.
   */
  children(row: T, index: number): VNode
}

/** The rows of a table; of a long one those near the screen, with empty rows in place of the others. */
export function VirtualRows<T>({ scroller, rows, idOf, columns, children }: VirtualRowsProps<T>) {
  const top = useRef<HTMLTableRowElement>(null)
  const made = useMemo(() => new Map<T, { index: number; element: VNode }>(), [children])
  const ids = useMemo(() => rows.map(idOf), [rows])
  const isLong = rows.length > maxWholeList
  const { first, end, tops } = useRange(top, ids, isLong, scroller)
  const space = (height: number) => <td colSpan={columns} style={{ height: `${height}px` }} />
  const row = (index: number) => {
    const known = made.get(rows[index]!) // what is the same element is not rendered again
    if (known?.index === index) return known.element
    const element = children(rows[index]!, index)
    made.set(rows[index]!, { index, element })
    return element
  }
  return (
    <>
      {isLong && (
        <tr class="space" aria-hidden="true" ref={top}>
          {space(tops[first]!)}
        </tr>
      )}
      {Array.from({ length: end - first }, (_, i) => row(first + i))}
      {isLong && (
        <tr class="space" aria-hidden="true">
          {space(tops[rows.length]! - tops[end]!)}
        </tr>
      )}
    </>
  )
}

/** The range of rows to put into the document, which follows scrolling, and the offsets of all rows. */
function useRange(
  top: RefObject<HTMLTableRowElement | null>,
  ids: string[],
  isLong: boolean,
  scroller?: RefObject<HTMLElement | null>,
) {
  const heights = useRef(new RowHeights()).current
  const [range, setRange] = useState<Range>({ first: 0, end: maxWholeList / 2 })
  const end = isLong ? Math.min(range.end, ids.length) : ids.length
  const first = isLong ? Math.min(range.first, end) : 0
  const update = () => {
    if (!top.current) return
    const screen = scroller?.current?.getBoundingClientRect() ?? { top: 0, height: innerHeight }
    const start = screen.top - top.current.getBoundingClientRect().top
    const near = (px: number) => rowsBetween(heights.tops(ids), start - px, start + screen.height + px)
    const next = nextRange({ first, end }, near(0), near(around), step)
    if (next.first !== first || next.end !== end) setRange(next)
  }
  useObservedHeights(top, isLong, ids, first, heights)
  useLayoutEffect(() => {
    if (!isLong) return
    const forget = () => {
      heights.clear()
      update()
    }
    const timer = setTimeout(update) // the next step, in a task of its own after this frame
    const scrolled = scroller?.current ?? window
    scrolled.addEventListener('scroll', update, { passive: true })
    addEventListener('resize', forget)
    return () => {
      clearTimeout(timer)
      scrolled.removeEventListener('scroll', update)
      removeEventListener('resize', forget)
    }
  }, [isLong, ids, first, end])
  return { first, end, tops: heights.tops(ids) }
}

/**
 * Notes the heights of the rows in the document as the browser lays them out. To ask for them would make it lay out the
 * table at once, which takes most of the time of a frame with new rows.
 */
function useObservedHeights(
  top: RefObject<HTMLTableRowElement | null>,
  isLong: boolean,
  ids: string[],
  first: number,
  heights: RowHeights,
) {
  const observed = useRef(new Map<Element, string>()).current
  const observer = useRef<ResizeObserver>(undefined)
  observer.current ??= new ResizeObserver((entries) =>
    heights.measure(
      entries.filter((e) => e.target.isConnected).map((e) => [observed.get(e.target)!, e.borderBoxSize[0]!.blockSize]),
    ),
  )
  useEffect(() => () => observer.current!.disconnect(), [])
  useLayoutEffect(() => {
    for (const tr of observed.keys()) {
      if (tr.isConnected) continue
      observer.current!.unobserve(tr)
      observed.delete(tr)
    }
    if (!isLong) return
    let index = first
    for (let tr = top.current!.nextElementSibling; tr?.nextElementSibling; tr = tr.nextElementSibling) {
      if (!observed.has(tr)) observer.current!.observe(tr)
      observed.set(tr, ids[index++]!)
    }
  })
}

interface ListViewProps<T> {
  list: PagedList<T>
  /** The noun for the rows, in the plural, such as "jobs". */
  what: string
  /** The rows to show, if they are not those of the list. */
  rows?: T[]
  /** The content if there are no rows. */
  empty: ComponentChildren
  /** The table of at least one row. */
  children(rows: T[]): ComponentChildren
  /** Receives the message of a failed request for older rows. */
  onError(message: string): void
  /** Whether older rows are read as soon as the end comes near the screen. The rows must then be VirtualRows. */
  endless?: boolean
}

/** A list while it loads, after it failed to load, without rows, or as a table with a button for older rows. */
export function ListView<T>({ list, what, rows, empty, children, onError, endless = false }: ListViewProps<T>) {
  const end = useRef<HTMLParagraphElement>(null)
  const count = Array.isArray(list.rows) ? list.rows.length : 0
  const loadOlder = () => void list.loadOlder().catch((e: Error) => onError(e.message))
  useEffect(() => {
    if (!endless || !end.current) return
    const seen = new IntersectionObserver(([entry]) => entry!.isIntersecting && loadOlder(), { rootMargin: '1000px' })
    seen.observe(end.current)
    return () => seen.disconnect()
  }, [endless, list.hasOlder, count])
  if (list.rows === undefined) return <Loading what={`Loading ${what}`} />
  if (list.rows instanceof Error)
    return <Failure title={`The ${what} could not be loaded`} error={list.rows} retry={() => list.reload()} />
  const shown = rows ?? list.rows
  return (
    <>
      {shown.length > 0 ? children(shown) : empty}
      {list.hasOlder && (
        <p class="row more-row" ref={end}>
          <button type="button" class="quiet" disabled={list.loadingOlder} onClick={loadOlder}>
            {list.loadingOlder ? 'Loading…' : `Show older ${what}`}
          </button>
        </p>
      )}
    </>
  )
}

/** The cell of a list that names who made the row. Its column is of shared projects alone. */
export const ByCell = ({ by }: { by: Creator | null }) => <td class="dim wide-only by">{creatorName(by)}</td>

/** The column of these cells, if there is one. */
export const byColumn = (shared: boolean) => (shared ? [{ title: 'By', class: 'wide-only by' }] : [])

const makers = { '': 'Everybody’s', me: 'Mine' }

/** The choice of a list between everybody's rows and one's own, in shared projects alone. */
export const MineFilter = ({ value, onValue }: { value: string; onValue(value: string): void }) =>
  isShared() ? <Segments label="Made by" options={makers} value={value} onValue={onValue} /> : null
