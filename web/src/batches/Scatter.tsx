// Two scores of the rows against each other, coloured by a third. The table has the same rows for the keyboard.
import { useMemo, useState } from 'preact/hooks'
import type { ScoreColumn } from '../api'
import { type Pen, ticks, usePen } from '../plots/canvas'
import { css, marks, none, smooth } from '../plots/colour'
import type { View } from './address'
import { margin, nearest, type Points, placesOf, pointsOf, radius } from './points'
import { ScoreKey } from './ScoreKey'
import { describeRow, fraction, type Row } from './scores'

interface Props {
  rows: Row[]
  x: ScoreColumn
  y: ScoreColumn
  colour: ScoreColumn
  view: Pick<View, 'row' | 'shortlist'>
  /** Whether a row is a ring instead of a disc; by default none is. */
  isHollow?: (row: Row) => boolean
  choose(row: number): void
}

/** The plot. Pointing at a point names its row, and a click chooses it. */
export function Scatter({ rows, x, y, colour, view, isHollow, choose }: Props) {
  const points = useMemo(() => pointsOf(rows, x.name, y.name, colour.name), [rows, x, y, colour])
  const [hovered, setHovered] = useState(-1)
  const base = usePen((pen) => points && drawPoints(pen, points, x, y, isHollow), [points])
  const over = usePen((pen) => points && drawMarks(pen, points, hovered, view), [points, hovered, view])
  const find = (e: PointerEvent | MouseEvent) => {
    if (!points) return -1
    const box = (e.currentTarget as HTMLElement).getBoundingClientRect()
    return nearest(points, { x: e.clientX - box.left, y: e.clientY - box.top }, box.width, box.height)
  }
  const click = (e: MouseEvent) => {
    const i = find(e)
    if (i >= 0) choose(points!.rows[i]!.row)
  }
  const count = points?.rows.length ?? 0
  const named = points?.rows[hovered] ?? points?.rows.find((row) => row.row === view.row)
  return (
    <figure class="plot scatter" data-points={count}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: the table chooses rows by keys */}
      <div
        class="points"
        onPointerMove={(e) => setHovered(find(e))}
        onPointerLeave={() => setHovered(-1)}
        onClick={click}
      >
        <canvas
          ref={base}
          role="img"
          aria-label={`${y.name} against ${x.name} of ${count.toLocaleString('en')} rows, coloured by ${colour.name}`}
        />
        <canvas ref={over} class="over" aria-hidden="true" />
      </div>
      <ScoreKey column={colour} range={points?.colours ?? null} />
      <output class="value">{named ? describeRow(named, [x, y, colour]) : describeCount(count, rows.length)}</output>
    </figure>
  )
}

/** How many rows have both scores. */
function describeCount(count: number, all: number): string {
  if (count === all) return 'Point at a row to name it; click it to choose it.'
  return `${count.toLocaleString('en')} of ${all.toLocaleString('en')} rows have both scores.`
}

/** Draws the axes and the points. Points of one colour are one path. */
function drawPoints(pen: Pen, points: Points, x: ScoreColumn, y: ScoreColumn, isHollow: Props['isHollow']) {
  const { g, width, height } = pen
  const places = placesOf(points, width, height)
  drawAxes(pen, points, x, y)
  const steps = 64
  const byColour = new Map<number, number[]>()
  const hollow = points.rows.flatMap((row, i) => (isHollow?.(row) ? i : []))
  for (const [i, value] of points.colour.entries()) {
    if (hollow.includes(i)) continue
    const step = value === null || !points.colours ? -1 : Math.round(fraction(value, points.colours) * steps)
    const list = byColour.get(step)
    if (list) list.push(i)
    else byColour.set(step, [i])
  }
  g.globalAlpha = points.rows.length > 2000 ? 0.7 : 0.9
  g.lineWidth = 0.5
  g.strokeStyle = pen.dim
  for (const [step, indices] of [...byColour].sort(([a], [b]) => a - b)) {
    g.fillStyle = css(step < 0 ? none : smooth(step / steps))
    g.beginPath()
    for (const i of indices) {
      const [px, py] = [places.x(points.x[i]!), places.y(points.y[i]!)]
      g.moveTo(px + radius, py)
      g.arc(px, py, radius, 0, 2 * Math.PI)
    }
    g.fill()
    g.stroke() // light points are seen on a light ground, and dark ones on a dark one
  }
  g.lineWidth = 1.5
  for (const i of hollow) {
    g.beginPath()
    g.arc(places.x(points.x[i]!), places.y(points.y[i]!), radius, 0, 2 * Math.PI)
    g.stroke()
  }
  g.globalAlpha = 1
}

/** Draws both axes with their ticks and titles. */
function drawAxes({ g, width, height, ink, dim, line }: Pen, points: Points, x: ScoreColumn, y: ScoreColumn) {
  const places = placesOf(points, width, height)
  const bottom = height - margin.bottom
  g.strokeStyle = line
  g.lineWidth = 1
  g.strokeRect(margin.left + 0.5, margin.top + 0.5, width - margin.left - margin.right, bottom - margin.top)
  g.fillStyle = dim
  g.textAlign = 'center'
  g.textBaseline = 'top'
  for (const t of ticks(...points.xRange, width / 90)) g.fillText(String(t), places.x(t), bottom + 4)
  g.textAlign = 'right'
  g.textBaseline = 'middle'
  for (const t of ticks(...points.yRange, height / 50)) g.fillText(String(t), margin.left - 5, places.y(t))
  g.fillStyle = ink
  g.textAlign = 'center'
  g.textBaseline = 'bottom'
  const title = ({ name, unit }: ScoreColumn) => name + (unit && ` (${unit})`)
  g.fillText(title(x), (margin.left + width - margin.right) / 2, height - 1)
  g.save()
  g.translate(11, (margin.top + bottom) / 2)
  g.rotate(-Math.PI / 2)
  g.textBaseline = 'middle'
  g.fillText(title(y), 0, 0)
  g.restore()
}

/** Draws rings around the rows of the shortlist, the chosen row, and the one under the pointer. */
function drawMarks({ g, width, height, ink }: Pen, points: Points, hovered: number, view: Props['view']) {
  const places = placesOf(points, width, height)
  const ring = (i: number, size: number, colour: string, lineWidth: number) => {
    g.strokeStyle = colour
    g.lineWidth = lineWidth
    g.beginPath()
    g.arc(places.x(points.x[i]!), places.y(points.y[i]!), size, 0, 2 * Math.PI)
    g.stroke()
  }
  if (view.shortlist.length > 0 || view.row > 0)
    for (const [i, { row }] of points.rows.entries()) {
      if (view.shortlist.includes(row)) ring(i, radius + 2, ink, 1.5)
      if (row === view.row) ring(i, radius + 4, css(marks.picked), 2.5)
    }
  if (hovered >= 0 && hovered < points.x.length) ring(hovered, radius + 2, ink, 2)
}
