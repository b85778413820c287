// Folds of designs with other models: the form that starts them and, beside the columns of the table of designs, all of
// them if there are several of a design.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type DesignFold, isTerminal, type Model, type Workflow } from '../api'
import { ErrorMessage, StatusChip } from '../components'
import { Input, Select } from '../controls'
import { plural, randomHex } from '../format'
import { mayChange } from '../project'
import { Table } from '../table'
import { type Design, foldsByDesign, formatValue, hasFilters } from './rows'

// The most designs that one request folds.
const maxFolds = 20

interface Props {
  workflow: Workflow
  designs: Design[]
  /** The ticked designs. */
  shortlist: Design[]
  folds: DesignFold[]
  /** Reads the folds again. */
  reload(): void
}

/** For the owner the form of further folds, and the table of all if some design has several. */
export function Folds({ workflow, designs, shortlist, folds, reload }: Props) {
  const byDesign = foldsByDesign(folds)
  const several = [...byDesign.values()].some((list) => list.length > 1)
  if (!several && !mayChange(workflow)) return null
  return (
    <section class="card" aria-labelledby="folds-title">
      <h2 id="folds-title">Fold with another model</h2>
      <p class="dim">
        {hasFilters(designs)
          ? 'The designs are ranked by kin of the network that made them. Another model is a second opinion.'
          : 'Nothing has been folded yet: a fold shows whether a sequence takes the structure that it is designed for.'}
      </p>
      {mayChange(workflow) && workflow.status === 'COMPLETED' && (
        <FoldForm id={workflow.workflow_id} shortlist={shortlist} count={designs.length} reload={reload} />
      )}
      {several && <Agreement byDesign={byDesign} designs={designs} />}
    </section>
  )
}

/** The folds, read again after a change and, while some are unfinished, every few seconds. */
export function useFolds(workflow: Workflow) {
  const [folds, setFolds] = useState(workflow.folds ?? [])
  const reload = () =>
    void api.workflow(workflow.workflow_id).then(
      (w) => setFolds(w.folds ?? []),
      () => undefined, // the page has what it had
    )
  const unfinished = folds.some((f) => !isTerminal(f.status))
  useEffect(() => {
    if (!unfinished) return
    const timer = setInterval(reload, 3000)
    return () => clearInterval(timer)
  }, [unfinished])
  return { folds, reload }
}

/** The models that fold complexes; undefined until they are loaded. */
function useModels(): Model[] | Error | undefined {
  const [models, setModels] = useState<Model[] | Error>()
  useEffect(() => {
    api.models().then(
      ({ data }) => setModels(data.filter((m) => m.kind === 'fold' && m.features.includes('complex'))),
      (e: Error) => setModels(e),
    )
  }, [])
  return models
}

interface FormProps {
  id: string
  shortlist: Design[]
  /** The number of all designs. */
  count: number
  reload(): void
}

/** Starts folds of the shortlist, or of the best designs if nothing is ticked. */
function FoldForm({ id, shortlist, count, reload }: FormProps) {
  const models = useModels()
  const [model, setModel] = useState('')
  const [best, setBest] = useState(String(Math.min(3, count)))
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const [notes, setNotes] = useState<string[]>([])
  const key = useRef('') // of a request whose answer was lost
  if (models === undefined) return null
  if (models instanceof Error) return <ErrorMessage text={`The models could not be loaded: ${models.message}`} />
  if (models.length === 0) return <p class="caution">No model that folds complexes is running here.</p>
  const modelName = models.some((m) => m.name === model) ? model : models[0]!.name
  const start = async (e: Event) => {
    e.preventDefault()
    setBusy(true)
    setError('')
    key.current ||= randomHex(16)
    try {
      const which = shortlist.length > 0 ? { designs: shortlist.map((d) => d.id) } : { top: Number(best) }
      const answer = await api.foldDesigns(id, { ...which, params: { modelName } }, key.current)
      setNotes(answer.notes)
      reload()
      key.current = ''
    } catch (e) {
      const { status, message } = e as { status?: number; message: string }
      if (status) key.current = '' // it was refused; another request is another one
      setError(message)
    }
    setBusy(false)
  }
  const number = shortlist.length || Number(best)
  return (
    <form class="row fold-form" onSubmit={(e) => void start(e)}>
      <label class="inline">
        <span>Model</span>
        <Select value={modelName} onValue={setModel}>
          {models.map((m) => (
            <option key={m.name} value={m.name}>
              {m.title}
            </option>
          ))}
        </Select>
      </label>
      {shortlist.length === 0 && (
        <label class="inline">
          <span>Best</span>
          <Input type="number" required min={1} max={Math.min(maxFolds, count)} value={best} onValue={setBest} />
        </label>
      )}
      <button type="submit" class="small" disabled={busy || number > maxFolds}>
        {busy ? 'Starting…' : `Fold ${plural(number, 'design')}`}
      </button>
      <span class="dim small-text">
        {number > maxFolds
          ? `At most ${maxFolds} designs are folded at once.`
          : shortlist.length > 0
            ? 'Those in the shortlist.'
            : 'Tick designs to fold others.'}
      </span>
      <ErrorMessage text={error} />
      {notes.map((note) => (
        <p key={note} class="caution" role="status">
          {note}
        </p>
      ))}
    </form>
  )
}

const scores = [
  { name: 'iptm_score', title: 'ipTM' },
  { name: 'ptm_score', title: 'pTM' },
  { name: 'mean_plddt', title: 'Mean pLDDT' },
  { name: 'predicted_rmsd', title: 'Predicted RMSD (Å)' },
  { name: 'binder_rmsd', title: 'Binder RMSD (Å)' },
] as const

const columnsOf = (shown: { title: string }[]) => [
  'Design',
  'Model',
  'Status',
  ...shown.map(({ title }) => ({ title, class: 'right' })),
  'Job',
]

/** All folds of each design. */
function Agreement({ byDesign, designs }: { byDesign: Map<string, DesignFold[]>; designs: Design[] }) {
  const hasRmsd = [...byDesign.values()].flat().some((f) => f.predicted_rmsd !== null)
  const shown = scores.filter(({ name }) => hasRmsd || name !== 'predicted_rmsd')
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="All folds">
      <Table class="agreement" columns={columnsOf(shown)}>
        {designs.flatMap((design) =>
          (byDesign.get(design.id) ?? []).map((fold) => (
            <tr key={fold.jobId}>
              <td>{design.id}</td>
              <td>{fold.modelName}</td>
              <td>
                <StatusChip status={fold.status} />
              </td>
              {shown.map(({ name }) => (
                <td key={name} class="right num">
                  {formatValue(fold[name], { type: 'number' })}
                </td>
              ))}
              <td>
                <FoldLink fold={fold}>Open</FoldLink>
              </td>
            </tr>
          )),
        )}
      </Table>
    </div>
  )
}

/** The link to the job of a fold. */
export const FoldLink = ({ fold, children }: { fold: DesignFold; children: ComponentChildren }) => (
  <a href={`/ui/jobs/${fold.jobId}`} aria-label={`Open the fold of ${fold.designId} with ${fold.modelName}`}>
    {children}
  </a>
)
