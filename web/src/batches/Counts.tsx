// The rows of a batch by status, in words and as a bar.
import { countsOf } from './scores'

// The statuses of rows in words.
const names: Record<string, string> = {
  FAILED: 'failed',
  STOPPED: 'stopped',
  COMPLETED: 'completed',
  RUNNING: 'running',
  INITIALIZED: 'queued',
}

/** The number of rows of each status, those that failed first. */
export const Counts = ({ counts }: { counts: Record<string, number> }) => (
  <span class="counts num small-text">
    {countsOf(counts).map(({ status, count }) => (
      <span key={status} class={`count c-${status.toLowerCase()}`} data-count={status}>
        {count.toLocaleString('en')} {names[status]}
      </span>
    ))}
  </span>
)

/** A bar with a part for each status; what waits is the rest. */
export function CountsBar({ name, counts, rows }: { name: string; counts: Record<string, number>; rows: number }) {
  const ended = (counts.COMPLETED ?? 0) + (counts.FAILED ?? 0) + (counts.STOPPED ?? 0)
  return (
    <div
      class="progress parts"
      role="progressbar"
      aria-label={`Progress of ${name}`}
      aria-valuemin={0}
      aria-valuemax={rows}
      aria-valuenow={ended}
    >
      {(['COMPLETED', 'FAILED', 'STOPPED', 'RUNNING'] as const).map((status) => (
        <i
          key={status}
          class={`c-${status.toLowerCase()}`}
          style={{ width: `${(100 * (counts[status] ?? 0)) / Math.max(1, rows)}%` }}
        />
      ))}
    </div>
  )
}
