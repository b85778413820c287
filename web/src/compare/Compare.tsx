// Structures side by side: jobs ranked by their scores, and structures superposed, with the scores of every two.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { api, type Comparison, isTerminal } from '../api'
import { Empty, ErrorMessage, Failure, Loading } from '../components'
import { plural } from '../format'
import { navigate, query } from '../router'
import { isActive, useWorkflow } from '../workflow'
import { maxCompared, maxDirect, maxSuperposed, splitStructures, structuresAddress } from './address'
import { type Entry, JobScores, useJobs } from './JobScores'
import { Result } from './Result'
import '../result/result.css'
import './compare.css'

/**
 * The page of a comparison. Its address names jobs (jobs), structures (of, with the position of the reference), or a
 * workflow that has compared them, as id does.
 */
export function Compare({ id = '' }: { id?: string }) {
  const q = query.value
  const ids = [...new Set((q.get('jobs') ?? '').split(',').filter(Boolean))]
  const shown = ids.slice(0, maxCompared)
  const jobs = useJobs(shown)
  useEffect(() => {
    document.title = 'Compare · Pleat'
  }, [])
  const entries = shown.map((id) => [id, jobs[id] ?? null] as const)
  const of = q.has('of') ? splitStructures(q.get('of')!) : completedJobs(entries)
  const reference = Number(q.get('reference') ?? '0') || 0
  const workflow = q.get('workflow') || id
  const left = entries.filter(
    ([, job]) => job !== null && !(job instanceof Error) && !isTerminal(job.run.status),
  ).length
  const isEmpty = shown.length === 0 && of.length === 0 && !workflow
  return (
    <>
      <div class="head">
        <div>
          <h1>Compare</h1>
          <p class="dim" role="status">
            {shown.length > 0 ? plural(shown.length, 'job') : of.length > 0 && plural(of.length, 'structure')}
            {left > 0 && `, ${left} not ended yet`}
            {ids.length > maxCompared && `; only the first ${maxCompared} are shown`}
          </p>
        </div>
      </div>
      {isEmpty && (
        <Empty title="Nothing to compare">
          <p>Select two or more jobs in the list, or name structures below.</p>
          <p>
            <a class="button" href="/ui/jobs">
              Your jobs
            </a>
          </p>
        </Empty>
      )}
      {shown.length > 0 && entries.every(([, job]) => job === null) && <Loading what="Loading the jobs" />}
      {entries.some(([, job]) => job !== null) && <JobScores entries={entries} />}
      {workflow ? (
        <FromWorkflow id={workflow} />
      ) : (
        of.length > 1 && left === 0 && <Structures of={of} reference={reference} />
      )}
      {!workflow && <AddStructure of={of} reference={reference} />}
    </>
  )
}

/** The structures of the jobs that have completed. */
const completedJobs = (entries: (readonly [string, Entry])[]) =>
  entries.flatMap(([id, job]) =>
    job !== null && !(job instanceof Error) && job.run.status === 'COMPLETED' ? [`job:${id}`] : [],
  )

/** Compares structures: at once if they are few, else in a task that the user starts. */
function Structures({ of, reference }: { of: string[]; reference: number }) {
  const [comparison, setComparison] = useState<Comparison>()
  const [error, setError] = useState<Error>()
  const [tries, setTries] = useState(0)
  const key = structuresAddress(of, reference)
  const isDirect = of.length <= maxDirect
  useEffect(() => {
    if (!isDirect) return
    const abort = new AbortController()
    setError(undefined)
    api.compare(of, reference, abort.signal).then(
      (c) => abort.signal.aborted || setComparison(c),
      (e: Error) => abort.signal.aborted || setError(e),
    )
    return () => abort.abort()
  }, [key, tries])
  if (!isDirect) return <InTask of={of} reference={reference} />
  if (error?.message.includes('POST /v1/compare')) return <InTask of={of} reference={reference} why={error.message} />
  if (error)
    return <Failure title="The structures cannot be compared" error={error} retry={() => setTries(tries + 1)} />
  if (!comparison) return <Loading what="Comparing the structures" />
  const setReference = (n: number) => navigate(structuresAddress(of, n), { replace: true })
  return <Result comparison={comparison} setReference={setReference} />
}

/** Offers to compare structures in a task. */
function InTask({ of, reference, why = '' }: { of: string[]; reference: number; why?: string }) {
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  const compared = of.slice(0, maxSuperposed)
  const start = async () => {
    setBusy(true)
    try {
      const w = await api.createComparison(compared, reference)
      navigate(`/ui/compare?workflow=${w.workflow_id}`)
    } catch (e) {
      setError((e as Error).message)
    }
    setBusy(false)
  }
  return (
    <section class="card" aria-labelledby="task-title">
      <h2 id="task-title">Superposition</h2>
      <p>
        {why
          ? 'These structures are too large to be compared at once.'
          : `More than ${maxDirect} structures are compared in a task.`}{' '}
        It counts against the quota of workflows.
        {of.length > maxSuperposed && ` Only the first ${maxSuperposed} are compared.`}
      </p>
      <button type="button" disabled={busy} onClick={() => void start()}>
        Compare {plural(compared.length, 'structure')}
      </button>
      <ErrorMessage text={error} />
    </section>
  )
}

/** The comparison of a workflow, while it runs its progress. */
function FromWorkflow({ id }: { id: string }) {
  const { workflow, error } = useWorkflow(id, 2000)
  const task = workflow?.tasks[0]
  const comparison = useMemo(
    () => (task?.status === 'COMPLETED' ? (task.result_raw_json as unknown as Comparison) : undefined),
    [task?.status],
  )
  if (error && !workflow) return <Failure title="The comparison could not be loaded" error={error} />
  if (!workflow) return <Loading what="Loading the comparison" />
  if (comparison) return <Result comparison={comparison} name={workflow.name} />
  if (isActive(workflow)) {
    const share = workflow.total > 0 ? `, ${workflow.done} of ${workflow.total}` : ''
    return <Loading what={`Comparing the structures${workflow.status === 'QUEUED' ? ' (waiting)' : share}`} />
  }
  return (
    <section class="state failure" role="alert">
      <h2>The structures were not compared</h2>
      <p>{task?.error ?? 'The comparison was stopped.'}</p>
    </section>
  )
}

/** A form that adds a structure. */
function AddStructure({ of, reference }: { of: string[]; reference: number }) {
  const [text, setText] = useState('')
  const add = (e: Event) => {
    e.preventDefault()
    const entry = text.trim()
    if (entry === '') return
    setText('')
    navigate(structuresAddress([...of, /^[0-9a-f-]{36}$/i.test(entry) ? `job:${entry}` : entry], reference))
  }
  return (
    <form class="card row compare-add" onSubmit={add}>
      <label class="grow">
        <span>Add a structure</span>
        <input
          type="text"
          value={text}
          placeholder="job:ID, job:ID/SAMPLE, library:ID/FILE or pdb:1UBQ"
          onInput={(e) => setText(e.currentTarget.value)}
        />
      </label>
      <button type="submit" class="quiet">
        Add
      </button>
    </form>
  )
}
