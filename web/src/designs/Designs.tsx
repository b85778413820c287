// The page of a design: its progress, then the final set with its structures, and folds of it with other models.
import { useMemo, useState } from 'preact/hooks'
import type { Workflow } from '../api'
import { Scatter } from '../batches/Scatter'
import { Foldable } from '../components'
import { Select } from '../controls'
import { plural } from '../format'
import { FileTable } from '../result/Files'
import { WorkflowFrame } from '../workflowFrame'
import { DesignPanel } from './DesignPanel'
import { ColumnChooser, DesignTable } from './DesignTable'
import { Folds } from './Folds'
import {
  asRows,
  asScore,
  countNames,
  csv,
  type Design,
  type DesignColumn,
  type DesignResult,
  designsOf,
  fasta,
  firstChoice,
  isFiltered,
  numeric,
  type Order,
  plotted,
  sorted,
} from './rows'
import '../result/result.css'
import '../batches/batches.css'
import './designs.css'

/** The page of the design with this workflow id. */
export const Designs = ({ id }: { id: string }) => (
  <WorkflowFrame id={id} what="design">
    {(workflow) => {
      const result = workflow.tasks[0]?.result_raw_json as DesignResult | null | undefined
      return (
        <>
          {result?.columns && <FinalSet workflow={workflow} result={result} designs={designsOf(workflow)} />}
          <Settings values={result?.parameters ?? workflow.input_payload} />
        </>
      )
    }}
  </WorkflowFrame>
)

interface Props {
  workflow: Workflow
  result: DesignResult
  designs: Design[]
}

/** Everything that a completed run has. */
function FinalSet({ workflow, result, designs }: Props) {
  const { columns } = result
  const [order, setOrder] = useState<Order>({ column: 'final_rank', descending: false })
  const [shown, setShown] = useState(() => firstChoice(columns, designs))
  const [chosen, setChosen] = useState(designs[0]?.id ?? '')
  const [ticked, setTicked] = useState(new Set<string>())
  const rows = useMemo(() => sorted(designs, order), [designs, order])
  const design = designs.find((d) => d.id === chosen)
  const toggle = (id: string) =>
    setTicked((old) => new Set(old.has(id) ? [...old].filter((o) => o !== id) : [...old, id]))
  const shortlist = designs.filter((d) => ticked.has(d.id))
  const designed = useMemo(() => result.chains.filter((c) => c.designed).map((c) => c.name), [workflow.workflow_id])
  return (
    <>
      <Counts result={result} />
      <div class="campaign">
        <div class="campaign-main">
          <section class="card flush" aria-labelledby="designs-title">
            <div class="row between rows-head">
              <h2 id="designs-title">
                Final set <span class="dim num">{designs.length}</span>
              </h2>
              <ColumnChooser columns={columns} shown={shown} setShown={setShown} />
            </div>
            <DesignTable
              designs={rows}
              columns={shown.flatMap((name) => columns.find((c) => c.name === name) ?? [])}
              order={order}
              setOrder={setOrder}
              chosen={chosen}
              ticked={ticked}
              choose={setChosen}
              toggle={toggle}
            />
          </section>
          {shortlist.length > 0 && (
            <Shortlist designs={shortlist} columns={columns} name={workflow.name} clear={() => setTicked(new Set())} />
          )}
          <Plot designs={designs} columns={columns} chosen={chosen} ticked={ticked} choose={setChosen} />
        </div>
        {design && <DesignPanel design={design} designed={designed} />}
      </div>
      <Folds workflow={workflow} result={result} designs={designs} shortlist={shortlist} />
      <Files result={result} />
    </>
  )
}

/** How many designs each step left, and the remarks of the run, such as that its weights are random. */
const Counts = ({ result }: { result: DesignResult }) => (
  <section class="card" aria-label="Counts">
    <dl class="design-counts">
      {countNames.map((name) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="num">{result.metrics[name]?.toLocaleString('en') ?? '–'}</dd>
        </div>
      ))}
    </dl>
    {result.notes.map((note) => (
      <p key={note} class="caution">
        {note}
      </p>
    ))}
    {result.notice && <p class="dim small-text">{result.notice}</p>}
  </section>
)

interface PlotProps {
  designs: Design[]
  columns: DesignColumn[]
  chosen: string
  ticked: Set<string>
  choose(id: string): void
}

/** Two columns against each other. Designs that pass the filters are filled. */
function Plot({ designs, columns, chosen, ticked, choose }: PlotProps) {
  const [x, setX] = useState<string>(() => plotted(designs)[0])
  const [y, setY] = useState<string>(() => plotted(designs)[1])
  const rows = useMemo(() => asRows(designs), [designs])
  const filtered = isFiltered(designs)
  const axes = useMemo(() => numeric(columns), [columns])
  const scores = useMemo(() => new Map(axes.map((c) => [c.name, asScore(c)])), [axes])
  const [xs, ys] = [scores.get(x), scores.get(y)]
  const colour = (designs.some((d) => d.plddt != null) && scores.get('plddt')) || ys
  const view = {
    row: designs.findIndex((d) => d.id === chosen) + 1,
    shortlist: designs.flatMap((d, i) => (ticked.has(d.id) ? i + 1 : [])),
  }
  return (
    <section class="card" aria-labelledby="plot-title">
      <div class="row between">
        <h2 id="plot-title">Plot</h2>
        <div class="row">
          <Axis name="Across" axes={axes} value={x} onValue={setX} />
          <Axis name="Up" axes={axes} value={y} onValue={setY} />
        </div>
      </div>
      {xs && ys && colour && (
        <Scatter
          rows={rows}
          x={xs}
          y={ys}
          colour={colour}
          view={view}
          isHollow={(row) => filtered && row.pass_filters !== true}
          choose={(row) => choose(designs[row - 1]!.id)}
        />
      )}
      {filtered && <p class="dim small-text">Filled: passed every filter. A ring: failed one.</p>}
    </section>
  )
}

interface AxisProps {
  name: string
  axes: DesignColumn[]
  value: string
  onValue(value: string): void
}

const Axis = ({ name, axes, value, onValue }: AxisProps) => (
  <label class="inline">
    <span>{name}</span>
    <Select value={value} onValue={onValue}>
      {axes.map((c) => (
        <option key={c.name} value={c.name}>
          {c.name}
        </option>
      ))}
    </Select>
  </label>
)

interface ShortlistProps {
  designs: Design[]
  columns: DesignColumn[]
  name: string
  clear(): void
}

/** What can be done with the ticked designs. */
function Shortlist({ designs, columns, name, clear }: ShortlistProps) {
  const save = (text: string, ending: string, type: string) => {
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob([text], { type }))
    link.download = `${name.replace(/[^\w.-]+/g, '-') || 'designs'}.${ending}`
    link.click()
    URL.revokeObjectURL(link.href)
  }
  return (
    <section class="row card chosen" aria-label="Shortlist" data-shortlist={designs.map((d) => d.id).join()}>
      <span class="grow">{plural(designs.length, 'design')} in the shortlist</span>
      <button type="button" class="quiet small" onClick={() => save(fasta(designs), 'fasta', 'text/plain')}>
        Download FASTA
      </button>
      <button type="button" class="quiet small" onClick={() => save(csv(designs, columns), 'csv', 'text/csv')}>
        Download CSV
      </button>
      <button type="button" class="bare" onClick={clear}>
        Clear
      </button>
    </section>
  )
}

/** The files of the run. */
const Files = ({ result }: { result: DesignResult }) => (
  <Foldable title="Files" count={result.artifacts.length} class="files-card">
    <FileTable artifacts={result.artifacts} />
  </Foldable>
)

/** The parameters as they took effect; before that, those of the request. */
const Settings = ({ values }: { values: Record<string, unknown> }) => (
  <Foldable title="Settings">
    <dl class="pairs">
      {Object.entries(values)
        .filter(([, value]) => value !== null && typeof value !== 'object')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{String(value)}</dd>
          </div>
        ))}
    </dl>
  </Foldable>
)
