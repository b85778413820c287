// A score of each binder with each target. Pointer and arrow keys choose a row.
import { useMemo, useState } from 'preact/hooks'
import type { ScoreColumn } from '../api'
import { type Pen, usePen } from '../plots/canvas'
import { css, marks, smooth } from '../plots/colour'
import type { View } from './address'
import { ScoreKey } from './ScoreKey'
import { describeRow, extent, fraction, type Grid, gridOf, type Row, scoreOf } from './scores'

interface Props {
  rows: Row[]
  score: ScoreColumn
  view: View
  choose(row: number): void
}

/** The sizes of the map in px. */
interface Geometry {
  left: number
  top: number
  cellWidth: number
  cellHeight: number
}

const labels = { most: 120, letter: 6.6, line: 12 } // px: the longest label, a letter of it, the least space of a line

/** The space of the labels of a list, by the longest. */
const labelSpace = (ids: string[]) =>
  Math.min(labels.most, 12 + labels.letter * ids.reduce((most, id) => Math.max(most, id.length), 0))

/** The height of a line in px. All lines of a large matrix fit on a screen. */
const lineHeight = (lines: number) => Math.min(30, Math.max(3, Math.floor(520 / Math.max(1, lines))))

/** Where the cells of a grid are on a canvas of a width. */
export function geometry(grid: Grid, width: number): Geometry {
  const left = labelSpace(grid.binders)
  const cellWidth = Math.min(64, (width - left - 8) / Math.max(1, grid.targets.length))
  const top = cellWidth >= labels.line ? labelSpace(grid.targets) : 20
  return { left, top, cellWidth, cellHeight: lineHeight(grid.binders.length) }
}

/** The map with its colour key. */
export function HeatMap({ rows, score, view, choose }: Props) {
  const grid = useMemo(() => gridOf(rows), [rows])
  const range = useMemo(() => extent(rows.map((row) => scoreOf(row, score.name))), [rows, score])
  const [hovered, setHovered] = useState<Row>()
  const base = usePen((pen) => drawCells(pen, grid, score, range), [grid, score, range])
  const over = usePen((pen) => drawMarks(pen, grid, hovered, view), [grid, hovered, view])
  const find = (e: MouseEvent) => {
    const box = (e.currentTarget as HTMLElement).getBoundingClientRect()
    const { left, top, cellWidth, cellHeight } = geometry(grid, box.width)
    return grid.at(
      Math.floor((e.clientY - box.top - top) / cellHeight),
      Math.floor((e.clientX - box.left - left) / cellWidth),
    )
  }
  const named = hovered ?? rows.find((row) => row.row === view.row)
  const space = labelSpace(grid.targets)
  return (
    <figure class="plot heat" data-cells={rows.length}>
      <div
        class="cells"
        style={{ height: `${space + lineHeight(grid.binders.length) * grid.binders.length + 4}px` }}
        tabIndex={0}
        role="group"
        aria-label="Heat map. Arrow keys move to another binder or target."
        onPointerMove={(e) => setHovered(find(e))}
        onPointerLeave={() => setHovered(undefined)}
        onClick={(e) => {
          const row = find(e)
          if (row) choose(row.row)
        }}
        onKeyDown={(e) =>
          moveByKey(
            e,
            grid,
            rows.find((row) => row.row === view.row),
            choose,
          )
        }
      >
        <canvas
          ref={base}
          role="img"
          aria-label={`${score.name} of ${grid.binders.length} binders with ${grid.targets.length} targets`}
        />
        <canvas ref={over} class="over" aria-hidden="true" />
      </div>
      <ScoreKey column={score} range={range} />
      <output class="value" aria-live="polite">
        {named
          ? named.error
            ? `${named.customId}: ${named.error}`
            : describeRow(named, [score])
          : 'Point at a cell to name its row; click it to choose it. A cross marks a row that failed or was stopped.'}
      </output>
    </figure>
  )
}

// The step of each arrow key.
const arrows: Record<string, [lines: number, columns: number]> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
}

/** Chooses the next row in the direction of an arrow key, past cells without a row. */
function moveByKey(e: KeyboardEvent, grid: Grid, from: Row | undefined, choose: (row: number) => void) {
  const step = arrows[e.key]
  if (!step) return
  e.preventDefault()
  let [line, column] = (from && grid.find(from)) ?? [0, -1]
  if (!from && step[1] !== 1) column = 0
  do {
    line += step[0]
    column += step[1]
    const row = grid.at(line, column)
    if (row) return choose(row.row)
  } while (line >= 0 && column >= 0 && line < grid.binders.length && column < grid.targets.length)
}

/** Draws the cells with the names of their lines and columns. */
function drawCells(pen: Pen, grid: Grid, score: ScoreColumn, range: [number, number] | null) {
  const { g, dim, line: lines } = pen
  const { left, top, cellWidth, cellHeight } = geometry(grid, pen.width)
  const gap = Math.min(cellWidth, cellHeight) > 8 ? 1 : 0
  for (let line = 0; line < grid.binders.length; line++)
    for (let column = 0; column < grid.targets.length; column++) {
      const row = grid.at(line, column)
      if (!row) continue
      const [x, y] = [left + column * cellWidth, top + line * cellHeight]
      const value = scoreOf(row, score.name)
      if (value !== null && range) {
        g.fillStyle = css(smooth(fraction(value, range)))
        g.fillRect(x, y, cellWidth - gap, cellHeight - gap)
        continue
      }
      g.strokeStyle = lines
      if (gap) g.strokeRect(x + 0.5, y + 0.5, cellWidth - gap - 1, cellHeight - gap - 1)
      if (row.status === 'FAILED' || row.status === 'STOPPED') drawCross(g, dim, { x, y, cellWidth, cellHeight })
    }
  drawLabels(pen, grid)
}

/** Draws a cross into a cell. */
function drawCross(
  g: CanvasRenderingContext2D,
  colour: string,
  cell: { x: number; y: number; cellWidth: number; cellHeight: number },
) {
  const size = Math.min(5, cell.cellWidth / 3, cell.cellHeight / 3)
  const [x, y] = [cell.x + cell.cellWidth / 2, cell.y + cell.cellHeight / 2]
  g.strokeStyle = colour
  g.lineWidth = 1.5
  g.beginPath()
  g.moveTo(x - size, y - size)
  g.lineTo(x + size, y + size)
  g.moveTo(x + size, y - size)
  g.lineTo(x - size, y + size)
  g.stroke()
}

/** Draws the ids of binders and targets that have room. */
function drawLabels({ g, ink, width }: Pen, grid: Grid) {
  const { left, top, cellWidth, cellHeight } = geometry(grid, width)
  const fitting = (id: string) => {
    const most = Math.floor((labels.most - 12) / labels.letter)
    return id.length > most ? `${id.slice(0, most - 1)}…` : id
  }
  g.fillStyle = ink
  g.textBaseline = 'middle'
  g.textAlign = 'right'
  const each = Math.ceil(labels.line / cellHeight)
  for (let line = 0; line < grid.binders.length; line += each)
    g.fillText(fitting(grid.binders[line]!), left - 5, top + (line + 0.5) * cellHeight)
  if (cellWidth < labels.line) return
  g.textAlign = 'left'
  for (const [column, id] of grid.targets.entries()) {
    g.save()
    g.translate(left + (column + 0.5) * cellWidth, top - 5)
    g.rotate(-Math.PI / 2)
    g.fillText(fitting(id), 0, 0)
    g.restore()
  }
}

/** Draws the borders of the rows of the shortlist, of the chosen row, and of the one under the pointer. */
function drawMarks({ g, width, ink }: Pen, grid: Grid, hovered: Row | undefined, view: View) {
  const { left, top, cellWidth, cellHeight } = geometry(grid, width)
  const border = (line: number, column: number, colour: string, lineWidth: number) => {
    g.strokeStyle = colour
    g.lineWidth = lineWidth
    g.strokeRect(left + column * cellWidth - 0.5, top + line * cellHeight - 0.5, cellWidth, cellHeight)
  }
  for (let line = 0; line < grid.binders.length; line++)
    for (let column = 0; column < grid.targets.length; column++) {
      const row = grid.at(line, column)
      if (!row) continue
      if (view.shortlist.includes(row.row)) border(line, column, ink, 1.5)
      if (row === hovered) border(line, column, ink, 2)
    }
  const chosen = [...grid.binders.keys()].flatMap((line) =>
    [...grid.targets.keys()].filter((column) => grid.at(line, column)?.row === view.row).map((c) => [line, c] as const),
  )
  for (const [line, column] of chosen) border(line, column, css(marks.picked), 3)
}
