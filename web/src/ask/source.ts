import type { Workflow } from '../api'

/** sourceOf is the fold that a workflow is about; undefined: none. */
export function sourceOf(flow: Workflow): { job: string; run: string; sequence: string } | undefined {
  const p = flow.input_payload
  const text = (...names: string[]) => names.map((n) => p[n]).find((v): v is string => typeof v === 'string') ?? ''
  const job = text('source_job_id', 'sourceJobId')
  return job
    ? {
        job,
        run: text('source_job_run_id', 'sourceJobRunId'),
        sequence: text('source_sequence_id', 'sourceSequenceId'),
      }
    : undefined
}
