// A question about a structure, in the thread of all that were asked about it, beside the structure itself.
import { useEffect, useState } from 'preact/hooks'
import { api, isTerminal, type JobView, type Results, type Workflow } from '../api'
import { Failure, Loading, StatusChip } from '../components'
import { onChange } from '../events'
import { coloursOf } from '../result/colours'
import { load, type Prediction } from '../result/load'
import { PublicSwitch } from '../result/Share'
import { signedIn } from '../session'
import { colour, reset } from '../store'
import { Stage } from '../viewer/Stage'
import { sourceOf } from './source'
import { Answer, Said, Thread } from './Thread'
import '../result/result.css'

interface Answered {
  question: string
  answer: string
  image: string
  targetRef: unknown
}

export function Ask({ id }: { id: string }) {
  const [flow, setFlow] = useState<Workflow>()
  const [fold, setFold] = useState<{ view: JobView; prediction: Prediction }>()
  const [error, setError] = useState<Error>()
  const [foldError, setFoldError] = useState('')
  const who = signedIn.value

  useEffect(() => {
    if (who === null) return
    let gone = false
    const read = () =>
      (who ? api.workflow(id).catch(() => api.publicWorkflow(id)) : api.publicWorkflow(id)).then(
        (f) => gone || setFlow(f),
        (e: Error) => gone || setError(e),
      )
    void read()
    const stop = onChange((change) => {
      if (!change || change.workflowId === id) void read()
    })
    return () => {
      gone = true
      stop()
    }
  }, [id, who])
  const open = flow && !isTerminal(flow.status) && flow.status !== 'DRAFT'
  useEffect(() => {
    if (!open) return
    const timer = setInterval(
      () => void (who ? api.workflow(id) : api.publicWorkflow(id)).then(setFlow, () => undefined),
      2000,
    )
    return () => clearInterval(timer)
  }, [open, id])

  const source = flow && sourceOf(flow)
  useEffect(() => {
    reset()
    if (!source) return
    const stop = new AbortController()
    void (async () => {
      try {
        const [view, results]: [JobView, Results] = await Promise.all([api.job(source.job), api.results(source.job)])
        const sequence = view.job.isComplex
          ? ''
          : source.sequence || view.sequences.find((s) => s.type === 'protein')?.id || ''
        const prediction = await load(view, results, sequence, stop.signal)
        const offered = coloursOf(prediction)
        if (!offered.includes(colour.peek())) colour.value = offered[0]!
        setFold({ view, prediction })
      } catch (e) {
        if (!stop.signal.aborted) setFoldError((e as Error).message)
      }
    })()
    return () => {
      stop.abort()
      reset()
    }
  }, [source?.job, source?.sequence])

  if (error) return <Failure title="This question cannot be shown" error={error} />
  if (!flow) return <Loading what="Loading the question" />
  const table = fold?.prediction.model.table ?? null
  const answered = flow.tasks[0]?.result_raw_json as Answered | null | undefined
  const linked = flow.is_owner && source
  return (
    <>
      <div class="head">
        <div>
          <h1>Questions{fold ? ` about ${fold.view.job.name}` : ''}</h1>
          <p class="dim">
            {source ? (
              <a href={`/ui/jobs/${source.job}`}>Back to the result</a>
            ) : (
              `About ${String(flow.input_payload.pdbId ?? flow.input_payload.uniprotId ?? 'a file of the library')}`
            )}{' '}
            <StatusChip status={flow.status} />
          </p>
        </div>
        {flow.is_owner && (
          <PublicSwitch
            isPublic={flow.is_public}
            set={(v) => api.setWorkflowPublic(id, v)}
            what="question"
            done={(v) => setFlow({ ...flow, is_public: v })}
          />
        )}
      </div>
      <div class={source ? 'sides beside' : ''}>
        {source && (
          <div>
            {fold && source.run && source.run !== fold.view.run.id && (
              <p class="caution">The question was about an earlier run. Shown is the structure of the latest.</p>
            )}
            {fold ? (
              <Stage
                source={fold.prediction.source}
                table={table}
                colours={coloursOf(fold.prediction)}
                name={fold.view.job.name}
              />
            ) : foldError ? (
              <p class="caution">The structure cannot be shown: {foldError}</p>
            ) : (
              <Loading what="Loading the structure" />
            )}
          </div>
        )}
        <section class="card" aria-label="Thread">
          {linked ? (
            <Thread source={{ ...source, run: source.run || fold?.view.run.id || '' }} table={table} current={id} />
          ) : (
            <div class="thread">
              <ol aria-label="Questions and answers">
                <li class="entry current" data-question={id}>
                  <p class="question">
                    <Said text={answered?.question ?? String(flow.input_payload.question ?? '')} table={table} />
                  </p>
                  <Answer
                    state={flow.status}
                    text={answered?.answer ?? null}
                    table={table}
                    error={flow.tasks[0]?.error ?? null}
                  />
                </li>
              </ol>
            </div>
          )}
        </section>
      </div>
    </>
  )
}
