// Two columns of the designs against each other.
import { useMemo, useState } from 'preact/hooks'
import { Scatter } from '../batches/Scatter'
import { Select } from '../controls'
import { asRows, asScore, type Design, type DesignColumn, firstAxes, hasFilters, numeric } from './rows'

interface PlotProps {
  designs: Design[]
  columns: DesignColumn[]
  chosen: string
  ticked: Set<string>
  choose(id: string): void
}

/** The plot; nothing if the designs have no two columns of numbers. Designs that fail a filter are rings. */
export function Plot({ designs, columns, chosen, ticked, choose }: PlotProps) {
  const axes = useMemo(() => numeric(columns, designs), [columns, designs])
  const [picked, pick] = useState<{ x?: string; y?: string }>({})
  const first = useMemo(() => firstAxes(axes), [axes])
  const rows = useMemo(() => asRows(designs), [designs])
  const scores = useMemo(() => new Map(axes.map((c) => [c.name, asScore(c)])), [axes])
  if (!first) return null
  const [x, y] = [picked.x ?? first[0], picked.y ?? first[1]]
  const [xs, ys] = [scores.get(x), scores.get(y)]
  const colour = scores.get('plddt') ?? ys
  const view = {
    row: designs.findIndex((d) => d.id === chosen) + 1,
    shortlist: designs.flatMap((d, i) => (ticked.has(d.id) ? i + 1 : [])),
  }
  return (
    <section class="card" aria-labelledby="plot-title">
      <div class="row between">
        <h2 id="plot-title">Plot</h2>
        <div class="row">
          <Axis name="Across" axes={axes} value={x} onValue={(x) => pick({ ...picked, x })} />
          <Axis name="Up" axes={axes} value={y} onValue={(y) => pick({ ...picked, y })} />
        </div>
      </div>
      {xs && ys && colour && (
        <Scatter
          rows={rows}
          x={xs}
          y={ys}
          colour={colour}
          view={view}
          isHollow={(row) => row.pass_filters === false}
          choose={(row) => choose(designs[row - 1]!.id)}
        />
      )}
      {hasFilters(designs) && <p class="dim small-text">Filled: passed every filter. A ring: failed one.</p>}
    </section>
  )
}

interface AxisProps {
  name: string
  axes: DesignColumn[]
  value: string
  onValue(value: string): void
}

const Axis = ({ name, axes, value, onValue }: AxisProps) => (
  <label class="inline">
    <span>{name}</span>
    <Select value={value} onValue={onValue}>
      {axes.map((c) => (
        <option key={c.name} value={c.name}>
          {c.name}
        </option>
      ))}
    </Select>
  </label>
)
