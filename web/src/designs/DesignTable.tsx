// The final set as a table: the columns that are chosen, and whether each design passes the filters.
import { useRef } from 'preact/hooks'
import { StatusChip } from '../components'
import { type Column, Table } from '../table'
import { FoldLink } from './Folds'
import {
  choices,
  type Design,
  type DesignColumn,
  describeColumn,
  formatValue,
  hasFilters,
  nextOrder,
  type Order,
  titleOf,
} from './rows'

interface Props {
  /** The rows in their order. */
  designs: Design[]
  columns: DesignColumn[]
  order: Order
  setOrder(order: Order): void
  /** The ids of the design that is shown, and of those that are ticked. */
  chosen: string
  ticked: Set<string>
  choose(id: string): void
  toggle(id: string): void
}

/** The table, which scrolls in a box of its own. Arrow keys choose a row, Space ticks it. */
export function DesignTable(props: Props) {
  const { designs, chosen, choose, toggle } = props
  const box = useRef<HTMLDivElement>(null)
  const index = designs.findIndex((d) => d.id === chosen)
  const onKeyDown = (e: KeyboardEvent) => {
    if ((e.target as Element).closest('input, a, .sort')) return
    const last = designs.length - 1
    const targets: Record<string, number> = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: last }
    const target = targets[e.key]
    if (target !== undefined) {
      const next = designs[Math.max(0, Math.min(last, target))]!
      choose(next.id)
      box.current!.querySelector(`tr[data-design="${CSS.escape(next.id)}"]`)?.scrollIntoView({ block: 'nearest' })
    } else if (e.key === ' ' && index >= 0) toggle(chosen)
    else return
    e.preventDefault()
  }
  return (
    <div
      class="scroll design-rows"
      ref={box}
      tabIndex={0}
      role="region"
      aria-label="Designs. Arrow keys choose a design; Space puts it on the shortlist."
      onKeyDown={onKeyDown}
    >
      <Rows {...props} />
    </div>
  )
}

/** The rows. The first columns stay in sight. Without filters there is no column for them. */
function Rows({ designs, columns, order, setOrder, chosen, ticked, choose, toggle }: Props) {
  const filters = hasFilters(designs)
  const heads: Column[] = [
    { title: 'Shortlist', hidden: true, class: 'pick' },
    { title: 'Design', class: 'design-id' },
    ...(filters ? [{ title: 'Filters' }] : []),
    ...columns.map((column) => head(column, order, setOrder)),
  ]
  return (
    <Table class="designs" columns={heads}>
      {designs.map((design) => (
        <tr
          key={design.id}
          data-design={design.id}
          class={design.id === chosen ? 'current' : ''}
          aria-current={design.id === chosen ? 'true' : undefined}
          onClick={(e) => (e.target as Element).closest('.pick, a') || choose(design.id)}
        >
          <td class="pick">
            <input
              type="checkbox"
              aria-label={`Put ${design.id} on the shortlist`}
              checked={ticked.has(design.id)}
              onChange={() => toggle(design.id)}
            />
          </td>
          <td class="design-id">
            <button type="button" class="bare" tabIndex={-1} title={design.id}>
              {design.id}
            </button>
          </td>
          {filters && (
            <td>
              <Passed design={design} />
            </td>
          )}
          {columns.map((column) => (
            <Cell key={column.name} design={design} column={column} />
          ))}
        </tr>
      ))}
    </Table>
  )
}

/** A value; of a fold, the link to its job and, until it is completed, its status. */
function Cell({ design, column }: { design: Design; column: DesignColumn }) {
  const { fold } = design
  if (column.name === 'fold_model' && fold)
    return (
      <td data-fold={fold.jobId} data-state={fold.status}>
        <FoldLink fold={fold}>{fold.modelName}</FoldLink>{' '}
        {fold.status !== 'COMPLETED' && <StatusChip status={fold.status} />}
      </td>
    )
  return (
    <td class={column.type === 'string' ? 'text-cell' : 'right num'}>{formatValue(design[column.name], column)}</td>
  )
}

/** Whether a design passes the filters, else which it fails. */
export function Passed({ design }: { design: Design }) {
  if (design.pass_filters === null) return <span class="dim">not known</span>
  if (design.pass_filters) return <span class="chip s-completed">passed</span>
  return (
    <>
      <span class="chip s-failed">failed</span>
      {design.failed_filters.length > 0 && <span class="failed-filters">{design.failed_filters.join(', ')}</span>}
    </>
  )
}

/** The head of a column. A click sorts by it. */
function head(column: DesignColumn, order: Order, setOrder: (order: Order) => void): Column {
  const isSorted = order.column === column.name
  return {
    class: column.type === 'string' ? '' : 'right',
    ...(isSorted && { sort: order.descending ? 'descending' : 'ascending' }),
    title: (
      <>
        <button
          type="button"
          class="sort"
          title={`${column.name}: ${column.description}`}
          onClick={() => setOrder(nextOrder(order, column))}
        >
          <span>{titleOf(column)}</span>
          <span aria-hidden="true">{isSorted ? (order.descending ? '▼' : '▲') : ''}</span>
        </button>
        <span class="unit">{describeColumn(column)}</span>
      </>
    ),
  }
}

interface ChooserProps {
  columns: DesignColumn[]
  shown: string[]
  setShown(shown: string[]): void
}

/** The choice of the columns that are shown. */
export function ColumnChooser({ columns, shown, setShown }: ChooserProps) {
  const all = choices(columns)
  return (
    <details class="column-chooser">
      <summary>
        Columns{' '}
        <span class="dim num">
          {shown.length} of {all.length}
        </span>
      </summary>
      <fieldset>
        <legend class="visually-hidden">Columns of the table</legend>
        {all.map(({ name, description }) => (
          <label key={name} class="check" title={description}>
            <input
              type="checkbox"
              checked={shown.includes(name)}
              onChange={(e) => setShown(e.currentTarget.checked ? [...shown, name] : shown.filter((s) => s !== name))}
            />
            <span>{name}</span>
          </label>
        ))}
      </fieldset>
    </details>
  )
}
