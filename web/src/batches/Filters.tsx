// The conditions that select rows. They are part of the address and are sent to the service.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Batch, ScoreColumn } from '../api'
import { Input, Segments, Select } from '../controls'
import {
  type Condition,
  formatFilter,
  operators,
  searchOf,
  statusOf,
  type View,
  withSearch,
  withStatus,
} from './address'
import { countsOf, describeColumn } from './scores'

interface Props {
  batch: Batch
  columns: ScoreColumn[]
  view: View
  change(fields: Partial<View>): void
}

// The statuses of rows as the filter names them.
const statusNames: Record<string, string> = {
  FAILED: 'Failed',
  STOPPED: 'Stopped',
  COMPLETED: 'Completed',
  RUNNING: 'Running',
  INITIALIZED: 'Queued',
}

/** The buttons of the statuses, with the number of rows of each, and the conditions on scores. */
export function Filters({ batch, columns, view, change }: Props) {
  const status = statusOf(view)
  const options: Record<string, string> = { '': `All ${batch.rows.toLocaleString('en')}` }
  for (const { status, count } of countsOf(batch.counts))
    options[status] = `${statusNames[status]} ${count.toLocaleString('en')}`
  if (status && !options[status]) options[status] = statusNames[status] ?? status
  const others = view.conditions.filter((c) => c.name !== 'status' && !(c.name === 'customId' && c.op === '~'))
  return (
    <div class="row filters batch-filters">
      <Segments
        label="Status"
        options={options}
        value={status}
        onValue={(s) => change({ conditions: withStatus(view, s) })}
      />
      <Search text={searchOf(view)} search={(text) => change({ conditions: withSearch(view, text) })} />
      {columns.length > 0 && (
        <AddCondition columns={columns} add={(condition) => change({ conditions: [...view.conditions, condition] })} />
      )}
      {others.map((condition) => {
        const text = formatFilter([condition])
        return (
          <span key={text} class="chip plain condition" data-condition={text}>
            {condition.name} {condition.op} {condition.value}
            <button
              type="button"
              class="bare"
              aria-label={`Remove the condition ${text}`}
              onClick={() => change({ conditions: view.conditions.filter((c) => c !== condition) })}
            >
              ×
            </button>
          </span>
        )
      })}
    </div>
  )
}

const searchDelay = 300 // ms after the last key

/** The field that searches for ids, a moment after it has changed. */
function Search({ text, search }: { text: string; search(text: string): void }) {
  const [typed, setTyped] = useState(text)
  const asked = useRef(text)
  const latest = useRef(search)
  latest.current = search
  useEffect(() => {
    if (text !== asked.current) setTyped(text) // by a link, or by "Show all rows"
    asked.current = text
  }, [text])
  useEffect(() => {
    if (typed.trim() === asked.current) return
    const timer = setTimeout(() => {
      asked.current = typed.trim()
      latest.current(typed)
    }, searchDelay)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <Input
      type="search"
      class="search-rows"
      aria-label="Search rows by id"
      placeholder="Search ids"
      maxLength={200}
      value={typed}
      onValue={setTyped}
    />
  )
}

/** The form of a new condition on a score. */
function AddCondition({ columns, add }: { columns: ScoreColumn[]; add(condition: Condition): void }) {
  const [chosen, setName] = useState('')
  const [operator, setOperator] = useState('')
  const [value, setValue] = useState('')
  const column = columns.find((c) => c.name === chosen) ?? columns[0]!
  const op = operator || (column.higherIsBetter ? '>=' : '<=')
  const submit = (e: Event) => {
    e.preventDefault()
    if (value.trim() === '') return
    add({ name: column.name, op, value: value.trim() })
    setValue('')
  }
  return (
    <form class="row add-condition" aria-label="Filter by score" onSubmit={submit}>
      <Select aria-label="Score" value={column.name} onValue={setName}>
        {columns.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </Select>
      <Select aria-label="Comparison" value={op} onValue={setOperator}>
        {operators.map((o) => (
          <option key={o} value={o}>
            {o}
          </option>
        ))}
      </Select>
      <Input
        type="number"
        step="any"
        aria-label="Value"
        placeholder={column.unit || 'value'}
        value={value}
        onValue={setValue}
      />
      <button type="submit" class="quiet small" title={describeColumn(column)}>
        Filter
      </button>
    </form>
  )
}
