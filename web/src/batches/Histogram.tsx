import { type Distribution, formatScore } from './scores'

interface Props {
  name: string
  /** Null: no row has the score. */
  distribution: Distribution | null
  /** The number of rows. */
  rows: number
  unit: string
  /** The score of the chosen row; null: none. */
  marked: number | null
}

const height = 20

/** How a score is distributed over the rows, with the place of the chosen row. */
export function Histogram({ name, distribution: d, rows, unit, marked }: Props) {
  if (!d) return <span class="histogram" />
  const most = Math.max(...d.bins)
  const width = d.bins.length
  // A part with any value can be seen.
  const bars = d.bins.map((n, i) =>
    n === 0 ? '' : `M${i} ${height}v${-Math.max(1.5, (n / most) * height)}h1V${height}z`,
  )
  const text = (value: number) => formatScore(value, unit)
  const label =
    `Distribution of ${name}: ${text(d.low)} to ${text(d.high)}, median ${text(d.median)}, ` +
    `${d.count.toLocaleString('en')} of ${rows.toLocaleString('en')} rows`
  const at = marked === null ? null : d.high > d.low ? ((marked - d.low) / (d.high - d.low)) * width : 0.5
  return (
    <span class="histogram">
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
        <path d={bars.join('')} />
        {at !== null && <line x1={at} x2={at} y1={0} y2={height} />}
      </svg>
      <span class="ends num" aria-hidden="true">
        <span>{text(d.low)}</span>
        <span>{text(d.high)}</span>
      </span>
    </span>
  )
}
