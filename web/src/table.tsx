// The tables of the page, and what a list shows around its table.
import type { ComponentChildren } from 'preact'
import { Failure, Loading } from './components'
import type { PagedList } from './list'

/** The head of a column: its title, and the CSS classes of its cell. */
export interface Column {
  title: ComponentChildren
  class?: string
  /** Whether only screen readers read the title, as for a column of buttons. */
  hidden?: boolean
}

interface TableProps {
  /** CSS classes in addition to "table". */
  class?: string
  columns: (Column | string)[]
  /** The rows, as <tr> elements. */
  children: ComponentChildren
}

/**
 * A table with a head. A column that is a string has that title and no classes. With the class "cards", a row is a card
 * on a narrow screen, and each cell shows its attribute data-label.
 */
export const Table = ({ class: extra = '', columns, children }: TableProps) => (
  <table class={`table ${extra}`} data-ready>
    <thead>
      <tr>
        {columns.map((column, i) => {
          const { title, class: cell, hidden }: Column = typeof column === 'string' ? { title: column } : column
          return (
            <th key={i} class={cell}>
              {hidden ? <span class="visually-hidden">{title}</span> : title}
            </th>
          )
        })}
      </tr>
    </thead>
    <tbody>{children}</tbody>
  </table>
)

interface ListViewProps<T> {
  list: PagedList<T>
  /** What the rows are, in the plural, such as "jobs". */
  what: string
  /** The rows to show, if they are not those of the list. */
  rows?: T[]
  /** What to show if there are no rows. */
  empty: ComponentChildren
  /** The table of at least one row. */
  children(rows: T[]): ComponentChildren
  /** Receives the message of a failed request for older rows. */
  onError(message: string): void
}

/** A list while it loads, after it failed to load, without rows, or as a table with a button for older rows. */
export function ListView<T>({ list, what, rows, empty, children, onError }: ListViewProps<T>) {
  if (list.rows === undefined) return <Loading what={`Loading ${what}`} />
  if (list.rows instanceof Error)
    return <Failure title={`The ${what} could not be loaded`} error={list.rows} retry={() => list.reload()} />
  const shown = rows ?? list.rows
  return (
    <>
      {shown.length > 0 ? children(shown) : empty}
      {list.hasOlder && (
        <p class="row more-row">
          <button
            type="button"
            class="quiet"
            disabled={list.loadingOlder}
            onClick={() => void list.loadOlder().catch((e: Error) => onError(e.message))}
          >
            {list.loadingOlder ? 'Loading…' : `Show older ${what}`}
          </button>
        </p>
      )}
    </>
  )
}
