// The runs that take longest compared with what was expected.
import type { SlowRun } from '../api'
import { parseTime } from '../api'
import { duration, moment } from '../format'
import { Table } from '../table'
import { ratio } from './text'

const columns = [
  'Run',
  'Project',
  'Model',
  { title: 'Takes', class: 'right' },
  { title: 'Expected', class: 'right' },
  'Worker',
]

/** The running runs, the slowest first. Their content is not shown: operators do not read it. */
export const SlowRuns = ({ runs }: { runs: SlowRun[] }) => (
  <section class="card" aria-labelledby="slow-title">
    <h2 id="slow-title">
      Slowest running runs <span class="dim">compared with what was expected</span>
    </h2>
    {runs.length === 0 ? (
      <p class="dim">Nothing runs.</p>
    ) : (
      <Table class="cards dense" columns={columns}>
        {runs.map((r) => (
          <Row key={r.runId} run={r} />
        ))}
      </Table>
    )}
  </section>
)

function Row({ run: r }: { run: SlowRun }) {
  const seconds = Math.max(0, (Date.now() - parseTime(r.startedAt).getTime()) / 1000)
  const times = ratio(seconds, r.expectedSeconds)
  return (
    <tr data-run={r.runId}>
      <td data-label="Run">
        {r.jobId ? 'job' : 'workflow'} <code class="id">{r.jobId ?? r.workflowId}</code>
      </td>
      <td data-label="Project">{r.projectName}</td>
      <td data-label="Model" class="mono">
        {r.modelName}
      </td>
      <td data-label="Takes" class="num right" title={moment(r.startedAt)}>
        {duration(seconds)} {times && <span class="dim">{times}</span>}
      </td>
      <td data-label="Expected" class="num right">
        {r.expectedSeconds === null ? <span class="dim">not known</span> : duration(r.expectedSeconds)}
      </td>
      <td data-label="Worker">
        <code class="id" title={r.workerId}>
          {r.workerId}
        </code>
      </td>
    </tr>
  )
}
