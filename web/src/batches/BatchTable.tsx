// The table of a batch: its scores with their distributions, of which only the rows near the screen are in the document.
import type { RefObject } from 'preact'
import { useCallback, useEffect, useMemo, useRef } from 'preact/hooks'
import type { ScoreColumn } from '../api'
import { StatusChip } from '../components'
import { asSentence } from '../format'
import { type Column, maxWholeList, Table, VirtualRows } from '../table'
import { maxShortlist, nextSort, sortDirection, type View } from './address'
import type { Loaded, RowList } from './data'
import { Histogram } from './Histogram'
import { describeColumn, distribution, formatScore, type Row, scoreOf } from './scores'

interface Props {
  list: RowList
  loaded: Loaded
  view: View
  choose(row: number): void
  toggle(row: number): void
  change(fields: Partial<View>): void
}

const keyboardHelp = 'Rows. Arrow keys choose a row; Space puts it on the shortlist.'

/** The table, which scrolls in a box of its own so that its head stays. */
export function BatchTable({ list, loaded, view, choose, toggle, change }: Props) {
  const { columns, rows, next } = loaded
  const box = useRef<HTMLDivElement>(null)
  const index = rows.findIndex((row) => row.row === view.row)
  useRevealed(box, view.row, index)
  const isLong = rows.length > maxWholeList
  const row = useRow({ columns, view, isLong })
  const onScroll = () => {
    const e = box.current!
    e.toggleAttribute('data-shifted', e.scrollLeft > 0)
    if (next !== null && e.scrollHeight - e.scrollTop - e.clientHeight < 2000) list.loadMore()
  }
  const rowAt = (target: EventTarget) => Number((target as Element).closest('tr[data-row]')?.getAttribute('data-row'))
  const onClick = (e: MouseEvent) => {
    const at = rowAt(e.target!)
    if (at && !(e.target as Element).closest('a, .pick')) choose(at)
  }
  const onChange = (e: Event) => {
    const at = rowAt(e.target!)
    if (at) toggle(at)
  }
  const onKeyDown = useKeyboard(box, { rows, index, choose, toggle })
  const heads = useHeads({ columns, rows, view, change, chosen: rows[index] })
  return (
    <>
      <div
        class={list.stale ? 'batch-rows stale' : 'batch-rows'}
        ref={box}
        style={{ '--scores': String(columns.length) }}
        tabIndex={0}
        role="region"
        aria-label={keyboardHelp}
        onScroll={onScroll}
        onClick={onClick}
        onChange={onChange}
        onKeyDown={onKeyDown}
      >
        <Table
          class="scores-table"
          columns={heads}
          rowCount={isLong ? (next !== null ? -1 : rows.length + 1) : undefined}
        >
          <VirtualRows scroller={box} rows={rows} idOf={(row) => String(row.row)} columns={columns.length + 3}>
            {row}
          </VirtualRows>
        </Table>
      </div>
      {next !== null && !list.reading && (
        <p class="row more-rows">
          <button type="button" class="quiet small" onClick={list.loadMore}>
            Read more rows
          </button>
          <span class="dim small-text">Plots and distributions are those of the rows that are read.</span>
        </p>
      )}
    </>
  )
}

interface HeadsProps {
  columns: ScoreColumn[]
  rows: Row[]
  view: View
  change(fields: Partial<View>): void
  /** The row that is chosen. */
  chosen: Row | undefined
}

/** The heads of the columns. A click on a score sorts by it. */
function useHeads({ columns, rows, view, change, chosen }: HeadsProps): (Column | string)[] {
  const distributions = useMemo(() => columns.map((c) => distribution(rows, c.name)), [columns, rows])
  return [
    { title: 'Shortlist', hidden: true, class: 'pick' },
    { title: 'Row', class: 'id' },
    { title: 'Status', class: 'status-cell' },
    ...columns.map((column, i): Column => {
      const direction = sortDirection(view.sort, column)
      const d = distributions[i]!
      return {
        class: 'score-cell',
        ...(direction && { sort: direction === 'asc' ? 'ascending' : 'descending' }),
        title: (
          <>
            <button
              type="button"
              class="sort"
              title={describeColumn(column)}
              onClick={() => change({ sort: nextSort(view.sort, column) })}
            >
              <span>{breakable(column.name)}</span>
              <span aria-hidden="true">{direction === 'asc' ? '▲' : direction ? '▼' : ''}</span>
            </button>
            <span class="unit">
              {column.unit && `${column.unit}, `}
              {column.higherIsBetter ? 'higher' : 'lower'} better
            </span>
            <Histogram
              name={column.name}
              distribution={d}
              rows={rows.length}
              unit={column.unit}
              marked={chosen ? scoreOf(chosen, column.name) : null}
            />
          </>
        ),
      }
    }),
  ]
}

/** A name that may break after its underscores and dots. */
const breakable = (name: string) =>
  name.split(/(?<=[_.])/).flatMap((part, i) => (i === 0 ? [part] : [<wbr key={i} />, part]))

/** The function that makes a row. It is another one only if what all rows show has changed. */
function useRow({ columns, view, isLong }: { columns: ScoreColumn[]; view: View; isLong: boolean }) {
  const shortlist = view.shortlist.join()
  return useCallback(
    (row: Row, index: number) => (
      <BatchTableRow
        key={row.row}
        row={row}
        columns={columns}
        index={isLong ? index + 2 : undefined} // the head is the first row
        isChosen={row.row === view.row}
        isListed={view.shortlist.includes(row.row)}
        isFull={view.shortlist.length >= maxShortlist}
      />
    ),
    [columns, shortlist, view.row, isLong],
  )
}

const scoreWidth = 128 // px, as in batches.css

interface RowProps {
  row: Row
  columns: ScoreColumn[]
  index: number | undefined
  isChosen: boolean
  isListed: boolean
  /** Whether the shortlist takes no more rows. */
  isFull: boolean
}

/** A row: its id, its status, and its scores or why there are none. */
const BatchTableRow = ({ row, columns, index, isChosen, isListed, isFull }: RowProps) => (
  <tr
    data-row={row.row}
    data-state={row.status}
    class={isChosen ? 'current' : ''}
    aria-rowindex={index}
    aria-current={isChosen ? 'true' : undefined}
  >
    <td class="pick">
      <input
        type="checkbox"
        aria-label={`Put ${row.customId} on the shortlist`}
        checked={isListed}
        disabled={isFull && !isListed}
      />
    </td>
    <td class="id" title={row.customId}>
      <button type="button" class="bare" tabIndex={-1}>
        {row.customId}
      </button>
    </td>
    <td class="status-cell">
      <StatusChip status={row.status} />
    </td>
    {row.error ? (
      <td
        class="why"
        colSpan={Math.max(1, columns.length)}
        style={{ flex: `${columns.length} 0 ${columns.length * scoreWidth}px` }} // as wide as the scores of other rows
        title={row.error}
      >
        {asSentence(row.error)}
      </td>
    ) : (
      columns.map(({ name, unit }) => {
        const value = scoreOf(row, name)
        return (
          <td key={name} class="score-cell num">
            {value === null ? <span class="dim">–</span> : formatScore(value, unit)}
          </td>
        )
      })
    )}
  </tr>
)

/** Scrolls the box to the chosen row when another is chosen. Rows have one height, so its place is known. */
function useRevealed(box: RefObject<HTMLDivElement | null>, chosen: number, index: number) {
  const revealed = useRef(0)
  useEffect(() => {
    if (revealed.current === chosen || index < 0) return
    revealed.current = chosen
    const e = box.current!
    const height = e.querySelector<HTMLElement>('tr[data-row]')?.offsetHeight ?? 0
    const head = e.querySelector('thead')!.offsetHeight
    const top = index * height
    if (top < e.scrollTop) e.scrollTop = top
    else if (head + top + height > e.scrollTop + e.clientHeight) e.scrollTop = head + top + height - e.clientHeight
  }, [chosen, index])
}

interface KeyboardProps {
  rows: Row[]
  /** The index of the chosen row; -1: none. */
  index: number
  choose(row: number): void
  toggle(row: number): void
}

/** Arrow keys, Home, End, and page keys choose a row; Space puts it on the shortlist or takes it away. */
function useKeyboard(box: RefObject<HTMLDivElement | null>, { rows, index, choose, toggle }: KeyboardProps) {
  const at = useRef(index) // keys may come faster than the page renders
  at.current = index
  return (e: KeyboardEvent) => {
    if ((e.target as Element).closest('input, .sort')) return
    const page = Math.max(1, Math.floor((box.current!.clientHeight - 100) / 36))
    const targets: Record<string, number> = {
      ArrowDown: at.current + 1,
      ArrowUp: at.current - 1,
      PageDown: at.current + page,
      PageUp: at.current - page,
      Home: 0,
      End: rows.length - 1,
    }
    const target = targets[e.key]
    if (target !== undefined) {
      e.preventDefault()
      at.current = Math.max(0, Math.min(rows.length - 1, target))
      choose(rows[at.current]!.row)
    } else if (e.key === ' ' && rows[at.current]) {
      e.preventDefault()
      toggle(rows[at.current]!.row)
    }
  }
}
