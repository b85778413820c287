// The page of a question: the thread of all questions about the same structure, and the structure itself.
import { useEffect, useState } from 'preact/hooks'
import { api, type JobView, ServiceError, type Workflow } from '../api'
import { Failure, Loading, StatusChip } from '../components'
import { Access } from '../people/Access'
import type { Table } from '../plots/residues'
import { mayChange } from '../project'
import { coloursOf } from '../result/colours'
import { load, type Prediction } from '../result/load'
import { colour, reset } from '../store'
import { Stage } from '../viewer/Stage'
import { type Source, sourceAddress, sourceOf, useWorkflow } from '../workflow'
import { Answer, TextWithResidues } from './Answer'
import { Thread } from './Thread'
import '../result/result.css'

/** The fold that a question is about, with one of its structures. */
interface Fold {
  view: JobView
  prediction: Prediction
}

/** The page of the question with this workflow id. */
export function Ask({ id }: { id: string }) {
  const { workflow, error, load: reload } = useWorkflow(id, 2000)
  const source = workflow && sourceOf(workflow)
  const { fold, error: foldError } = useFold(source)
  if (error && !workflow) return <Failure title="The question could not be loaded" error={error} />
  if (!workflow) return <Loading what="Loading the question" />
  const table = fold?.prediction.model.table ?? null
  return (
    <>
      <div class="head">
        <div>
          <h1>Questions{fold ? ` about ${fold.view.job.name}` : ''}</h1>
          <p class="dim">
            {source ? <a href={sourceAddress(workflow, source)}>Back to the result</a> : `About ${subjectOf(workflow)}`}{' '}
            <StatusChip status={workflow.status} />
          </p>
        </div>
        {mayChange(workflow) && (
          <div class="head-actions">
            <Access
              of={workflow}
              kind="workflows"
              id={id}
              isPublic={workflow.is_public}
              setPublic={(v) => api.setWorkflowPublic(id, v).then(reload)}
              what="question"
              reload={reload}
            />
          </div>
        )}
      </div>
      <div class={source ? 'sides side-by-side' : ''}>
        {source && <FoldStage source={source} fold={fold} error={foldError} />}
        <section class="card" aria-label="Thread">
          {workflow.is_owner && source ? (
            <Thread
              source={{ ...source, run: source.run || fold?.view.run.id || '' }}
              table={table}
              current={id}
              readOnly={!mayChange(workflow)}
            />
          ) : (
            <SingleQuestion workflow={workflow} table={table} />
          )}
        </section>
      </div>
    </>
  )
}

/** The name of a structure that is not a fold of this service, or is one that the reader may not see. */
const subjectOf = ({ input_payload: input }: Workflow) =>
  String(input.pdbId ?? input.uniprotId ?? (input.targetSource === 'fold_job' ? 'a private fold' : 'a library file'))

/** Loads the structure that a question is about. */
function useFold(source: Source | undefined) {
  const [fold, setFold] = useState<Fold>()
  const [error, setError] = useState('')
  useEffect(() => {
    reset()
    if (!source) return
    const abort = new AbortController()
    loadFold(source, abort.signal).then(setFold, (e: Error) => abort.signal.aborted || setError(e.message))
    return () => {
      abort.abort()
      reset()
    }
  }, [source?.job, source?.sequence])
  return { fold, error }
}

/** Reads a run of a job; the latest one if the reader may not see that one. */
async function readRun(job: string, run: string) {
  const read = (run: string) => Promise.all([api.job(job, run), api.results(job, run)])
  return read(run).catch((e) => {
    if (run && e instanceof ServiceError && e.status === 404) return read('')
    throw e
  })
}

/** Loads the structure of a fold: of the named sequence, of all chains of a complex, or else of the first protein. */
async function loadFold(source: Source, signal: AbortSignal): Promise<Fold> {
  const [view, results] = await readRun(source.job, source.run)
  const firstProtein = view.sequences.find((s) => s.type === 'protein')?.id ?? ''
  const prediction = await load(view, results, view.job.isComplex ? '' : source.sequence || firstProtein, signal)
  const colours = coloursOf(prediction)
  if (!colours.includes(colour.peek())) colour.value = colours[0]!
  return { view, prediction }
}

/** The 3D view of the fold, or why there is none. */
function FoldStage({ source, fold, error }: { source: Source; fold: Fold | undefined; error: string }) {
  if (!fold)
    return (
      <div>
        {error ? (
          <p class="caution">The structure could not be loaded: {error}</p>
        ) : (
          <Loading what="Loading the structure" />
        )}
      </div>
    )
  const { prediction, view } = fold
  return (
    <div>
      {source.run && source.run !== view.run.id && (
        <p class="caution">The question was about an earlier run. The structure shown is from the latest run.</p>
      )}
      <Stage
        source={prediction.source}
        table={prediction.model.table}
        colours={coloursOf(prediction)}
        name={view.job.name}
      />
    </div>
  )
}

/** One question with its answer, for readers who are not the owner or when there is no fold. */
function SingleQuestion({ workflow, table }: { workflow: Workflow; table: Table | null }) {
  const task = workflow.tasks[0]
  const result = task?.result_raw_json as { question: string; answer: string } | null | undefined
  const question = result?.question ?? String(workflow.input_payload.question ?? '')
  return (
    <div class="thread">
      <ol aria-label="Questions and answers">
        <li class="entry current" data-question={workflow.workflow_id}>
          <p class="question">
            <TextWithResidues text={question} table={table} />
          </p>
          <Answer status={workflow.status} text={result?.answer ?? null} table={table} error={task?.error ?? null} />
        </li>
      </ol>
    </div>
  )
}
