// Shared code of the pages of questions and of simulations: loading a workflow, and the fold that it is about.
import { useEffect, useState } from 'preact/hooks'
import { api, isTerminal, type Workflow } from './api'
import { onChange } from './events'
import { signedIn } from './session'

/**
 * The fold that a workflow is about. run and sequence may be empty: the latest run, the whole complex. project: the one
 * that owns it, in which what is about it is created; null: it is not known to the reader.
 */
export interface Source {
  job: string
  project: string | null
  run: string
  sequence: string
}

/** Finds the fold that a workflow is about; undefined: it is about something else, such as a file of the library. */
export function sourceOf(workflow: Workflow): Source | undefined {
  const payload = workflow.input_payload
  const input = { ...payload, ...(payload.target as Record<string, unknown> | undefined) } // a design’s is in its target
  const text = (...names: string[]) =>
    names.map((n) => input[n]).find((v) => typeof v === 'string') as string | undefined
  const job = text('source_job_id', 'sourceJobId')
  if (!job) return undefined
  return {
    job,
    project: workflow.projectId,
    run: text('source_job_run_id', 'sourceJobRunId') ?? '',
    sequence: text('source_sequence_id', 'sourceSequenceId') ?? '',
  }
}

/** The address of the fold: the run that the workflow is about, which only its owner may open. */
export const sourceAddress = (workflow: Workflow, { job, run }: Source) =>
  `/ui/jobs/${job}${workflow.is_owner && run ? `?run=${run}` : ''}`

/** The kind of a workflow by its type on the wire, which may be an alias. */
export function workflowKind(type: string) {
  if (type === 'compare_v1') return 'Comparison'
  if (type === 'alignment_v1') return 'Alignment'
  if (/^(design|boltzgen)(_v1)?$/.test(type)) return 'Design'
  return /qna|evolla/.test(type) ? 'Question' : 'Simulation'
}

/** Reports whether a workflow is queued or running. */
export const isActive = (workflow: Workflow | undefined) =>
  !!workflow && !isTerminal(workflow.status) && workflow.status !== 'DRAFT'

/** Loads a workflow as its owner or, if that fails or there is no session, as the public. */
const fetchWorkflow = (id: string) =>
  signedIn.peek() ? api.workflow(id).catch(() => api.publicWorkflow(id)) : api.publicWorkflow(id)

/** Keeps a workflow up to date by events and, while it is active, by polling every pollInterval ms. */
export function useWorkflow(id: string, pollInterval: number) {
  const [workflow, setWorkflow] = useState<Workflow>()
  const [error, setError] = useState<Error>()
  const user = signedIn.value
  const load = async () => {
    try {
      setWorkflow(await fetchWorkflow(id))
      setError(undefined)
    } catch (e) {
      setError(e as Error)
    }
  }
  useEffect(() => {
    if (user === null) return
    void load()
    return onChange((change) => {
      if (!change || change.workflowId === id) void load()
    })
  }, [id, user])
  const active = isActive(workflow)
  useEffect(() => {
    if (!active) return
    const timer = setInterval(() => void load(), pollInterval)
    return () => clearInterval(timer)
  }, [active, id])
  return { workflow, error, load, setError }
}
