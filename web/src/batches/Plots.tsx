// The plots of a batch: any two scores against each other and, of a matrix, a heat map.
import type { BatchKind, ScoreColumn } from '../api'
import { Select } from '../controls'
import { TabList } from '../tabs'
import type { View } from './address'
import { HeatMap } from './HeatMap'
import { Scatter } from './Scatter'
import { plotScores, type Row } from './scores'

interface Props {
  kind: BatchKind
  rows: Row[]
  columns: ScoreColumn[]
  view: View
  change(fields: Partial<View>): void
}

// The plots of a matrix; other batches have the first alone.
const tabs = [
  { name: 'scatter', title: 'Scatter' },
  { name: 'matrix', title: 'Heat map' },
]

/** The plot that the address names, with the menus of its scores. */
export function Plots({ kind, rows, columns, view, change }: Props) {
  const isMatrix = kind === 'matrix'
  const plot = isMatrix && view.plot !== 'scatter' ? 'matrix' : 'scatter'
  const chosen = plotScores(columns, view)
  const column = (name: string) => columns.find((c) => c.name === name)!
  const shared = { rows, view, choose: (row: number) => change({ row }) }
  // The colour of a heat map is the first score until another is chosen.
  const heat = column(columns.some((c) => c.name === view.colour) ? view.colour : columns[0]!.name)
  return (
    <section class="card batch-plots" aria-label="Plots">
      {isMatrix && (
        <TabList
          label="Plots"
          idPrefix="plot"
          panel="plot"
          tabs={tabs}
          selected={plot}
          select={(name) => change({ plot: name as View['plot'] })}
        />
      )}
      <div
        id="plot"
        role={isMatrix ? 'tabpanel' : undefined}
        aria-labelledby={isMatrix ? `plot-${plot}` : undefined}
        class="plot-panel"
      >
        <div class="row plot-scores">
          {plot === 'scatter' && (
            <>
              <ScoreMenu label="Horizontal" value={chosen.x} columns={columns} onValue={(x) => change({ x })} />
              <ScoreMenu label="Vertical" value={chosen.y} columns={columns} onValue={(y) => change({ y })} />
            </>
          )}
          <ScoreMenu
            label="Colour"
            value={plot === 'scatter' ? chosen.colour : heat.name}
            columns={columns}
            onValue={(colour) => change({ colour })}
          />
        </div>
        {plot === 'scatter' ? (
          <Scatter {...shared} x={column(chosen.x)} y={column(chosen.y)} colour={column(chosen.colour)} />
        ) : (
          <HeatMap {...shared} score={heat} />
        )}
      </div>
    </section>
  )
}

interface MenuProps {
  label: string
  value: string
  columns: ScoreColumn[]
  onValue(name: string): void
}

/** A menu of the scores. */
const ScoreMenu = ({ label, value, columns, onValue }: MenuProps) => (
  <label class="inline">
    <span>{label}</span>
    <Select value={value} onValue={onValue}>
      {columns.map(({ name }) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </Select>
  </label>
)
