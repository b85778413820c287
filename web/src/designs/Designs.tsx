// The page of a design: its progress, then the final set with its structures, and folds of it with other models.
import { useMemo, useState } from 'preact/hooks'
import type { DesignFold, Workflow } from '../api'
import { Foldable } from '../components'
import { Select } from '../controls'
import { plural } from '../format'
import { FileTable } from '../result/Files'
import { WorkflowFrame } from '../workflowFrame'
import { DesignPanel } from './DesignPanel'
import { ColumnChooser, DesignTable } from './DesignTable'
import { Folds, useFolds } from './Folds'
import { Plot } from './Plot'
import {
  countNames,
  csv,
  type Design,
  type DesignColumn,
  type DesignResult,
  designsOf,
  fasta,
  firstChoice,
  foldColumns,
  foldModels,
  type Order,
  sorted,
  withFolds,
} from './rows'
import { settingsOf } from './settings'
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
          <Settings values={settings(workflow, result)} />
        </>
      )
    }}
  </WorkflowFrame>
)

/** The settings of the request and, once it has run, the parameters as they took effect. */
function settings({ input_payload: { protocol, ...input } }: Workflow, result: DesignResult | null | undefined) {
  return { ...input, ...(result ? result.parameters : { protocol }) }
}

interface Props {
  workflow: Workflow
  result: DesignResult
  designs: Design[]
}

/** Everything that a completed run has. */
function FinalSet({ workflow, result, designs: found }: Props) {
  const { folds, reload } = useFolds(workflow)
  const { designs, columns, chooser } = useFoldColumns(found, result.columns, folds)
  const [order, setOrder] = useState<Order>({ column: 'final_rank', descending: false })
  const [shown, setShown] = useState(() => firstChoice(result.columns, designs))
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
              {chooser}
              <ColumnChooser columns={result.columns} shown={shown} setShown={setShown} />
            </div>
            <DesignTable
              designs={rows}
              columns={columnsIn(columns, shown)}
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
      <Folds workflow={workflow} designs={designs} shortlist={shortlist} folds={folds} reload={reload} />
      <Files result={result} />
    </>
  )
}

/** The columns that are shown: those that are chosen, in their order, then those of folds. */
const columnsIn = (columns: DesignColumn[], shown: string[]) => [
  ...shown.flatMap((name) => columns.find((c) => c.name === name) ?? []),
  ...columns.filter((c) => foldColumns.includes(c)),
]

/** The designs with their folds by one model, which the chooser picks if several models have folded some. */
function useFoldColumns(designs: Design[], columns: DesignColumn[], folds: DesignFold[]) {
  const models = foldModels(folds)
  const [picked, pick] = useState('')
  const model = models.includes(picked) ? picked : models.at(-1)
  return {
    designs: useMemo(() => (model ? withFolds(designs, folds, model) : designs), [designs, folds, model]),
    columns: useMemo(() => (model ? [...columns, ...foldColumns] : columns), [columns, !model]),
    chooser: models.length > 1 && (
      <label class="inline">
        <span>Folds by</span>
        <Select value={model!} onValue={pick}>
          {models.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </Select>
      </label>
    ),
  }
}

/** How many designs each step left, the notice of the model, and the remarks of the run. */
function Counts({ result }: { result: DesignResult }) {
  return (
    <section class="card" aria-label="Counts">
      <dl class="design-counts">
        {countNames.map(
          (name) =>
            result.metrics[name] !== null && (
              <div key={name}>
                <dt>{name}</dt>
                <dd class="num">{result.metrics[name].toLocaleString('en')}</dd>
              </div>
            ),
        )}
      </dl>
      {result.notice && <p class="dim model-notice">{result.notice}</p>}
      {result.notes.map((note) => (
        <p key={note} class="caution">
          {note}
        </p>
      ))}
    </section>
  )
}

interface ShortlistProps {
  designs: Design[]
  columns: DesignColumn[]
  name: string
  clear(): void
}

/** The actions for the ticked designs. */
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

/** The settings in words. */
const Settings = ({ values }: { values: Record<string, unknown> }) => (
  <Foldable title="Settings">
    <dl class="pairs">
      {settingsOf(values).map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  </Foldable>
)
