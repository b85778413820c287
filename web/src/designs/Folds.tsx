// Folds of designs with other models: the form that starts them, and how far they agree with the designs.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type DesignFold, isTerminal, type Model, type Workflow } from '../api'
import { ErrorMessage, StatusChip } from '../components'
import { Input, Select } from '../controls'
import { plural, randomHex } from '../format'
import { Table } from '../table'
import { type Design, type DesignResult, foldsByDesign, formatValue, isFiltered } from './rows'

// The most designs that one request folds.
const maxFolds = 20

interface Props {
  workflow: Workflow
  result: DesignResult
  designs: Design[]
  /** The ticked designs. */
  shortlist: Design[]
}

/** The folds, and for the owner the form of further ones. */
export function Folds({ workflow, result, designs, shortlist }: Props) {
  const { folds, reload } = useFolds(workflow)
  if (folds.length === 0 && !workflow.is_owner) return null
  return (
    <section class="card" aria-labelledby="folds-title">
      <h2 id="folds-title">Fold with another model</h2>
      <p class="dim">
        {isFiltered(designs)
          ? 'The designs are ranked with a network that is kin to the one that made them. Another model is a second opinion.'
          : 'The score says how likely the model finds a sequence. A fold says whether it has the given backbone.'}
      </p>
      {workflow.is_owner && workflow.status === 'COMPLETED' && (
        <FoldForm
          id={workflow.workflow_id}
          isComplex={result.chains.length > 1}
          shortlist={shortlist}
          count={designs.length}
          reload={reload}
        />
      )}
      {folds.length > 0 && <Agreement folds={folds} designs={designs} />}
    </section>
  )
}

/** The folds, read again after a change and, while some are unfinished, every few seconds. */
function useFolds(workflow: Workflow) {
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

/** The models that fold the designs; undefined until they are loaded. */
function useModels(isComplex: boolean): Model[] | Error | undefined {
  const [models, setModels] = useState<Model[] | Error>()
  useEffect(() => {
    api.models().then(
      ({ data }) => setModels(data.filter((m) => m.kind === 'fold' && (!isComplex || m.features.includes('complex')))),
      (e: Error) => setModels(e),
    )
  }, [])
  return models
}

interface FormProps {
  id: string
  /** The designs have several chains. */
  isComplex: boolean
  shortlist: Design[]
  /** The number of all designs. */
  count: number
  reload(): void
}

/** Starts folds of the shortlist, or of the best designs if nothing is ticked. */
function FoldForm({ id, isComplex, shortlist, count, reload }: FormProps) {
  const models = useModels(isComplex)
  const [model, setModel] = useState('')
  const [best, setBest] = useState(String(Math.min(3, count)))
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const [notes, setNotes] = useState<string[]>([])
  const key = useRef('') // of a request whose answer was lost
  if (models === undefined) return null
  if (models instanceof Error) return <ErrorMessage text={`The models could not be loaded: ${models.message}`} />
  if (models.length === 0)
    return <p class="caution">No model that folds {isComplex ? 'complexes' : 'proteins'} is running here.</p>
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
  { name: 'binder_rmsd', title: 'Binder RMSD (Å)' },
] as const

const foldColumns = ['Design', 'Model', 'Status', ...scores.map(({ title }) => ({ title, class: 'right' })), 'Job']

/** The folds of each design beside it. */
function Agreement({ folds, designs }: { folds: DesignFold[]; designs: Design[] }) {
  const byDesign = foldsByDesign(folds)
  return (
    <div class="scroll">
      <Table class="agreement" columns={foldColumns}>
        {designs.flatMap((design) =>
          (byDesign.get(design.id) ?? []).map((fold) => (
            <tr key={fold.jobId} data-fold={fold.jobId} data-state={fold.status}>
              <td>{design.id}</td>
              <td>{fold.modelName}</td>
              <td>
                <StatusChip status={fold.status} />
              </td>
              {scores.map(({ name }) => (
                <td key={name} class="right num">
                  {formatValue(fold[name], { type: 'number' })}
                </td>
              ))}
              <td>
                <a href={`/ui/jobs/${fold.jobId}`} aria-label={`Open the fold of ${design.id} with ${fold.modelName}`}>
                  Open
                </a>
              </td>
            </tr>
          )),
        )}
      </Table>
      <p class="dim small-text">
        Binder RMSD: of the binder’s backbone against the design, the targets superposed. Low agrees.
      </p>
    </div>
  )
}
