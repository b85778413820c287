// A measure of each residue as a bar in the colour of its class, above the secondary structure.
import { useRef } from 'preact/hooks'
import { hover, type Marked, type Residue, select, selection } from '../store'
import { type Pen, ticks, usePen } from './canvas'
import { css, marks, none } from './colour'
import { useDrag } from './drag'
import type { Measure } from './measure'
import type { Chain, Table } from './residues'

// The space around the plot for its axes, in px.
const margin = { left: 46, top: 10, right: 12, bottom: 46 }

interface Props {
  table: Table
  /** DSSP letters by chain. */
  secondary: Record<string, string>
  measure: Measure
}

/** The plot. Pointer and arrow keys set the hovered residue; dragging selects a range. */
export function Profile({ table, secondary, measure }: Props) {
  const marked = selection.value
  const hovered = hover.value
  const n = table.flat.length
  const plot = usePen((pen) => drawProfile(pen, table, secondary, measure), [table, secondary, measure])
  const overlay = usePen((pen) => drawOverlay(pen, table, marked, hovered), [table, marked, hovered])
  const show = (index: number | null) => {
    const residue = index === null ? null : table.residue(index)
    hover.value = residue ? [residue] : []
  }
  const pointer = useDrag(
    (e) => indexAt(e, n),
    (a, b) => a === b,
    {
      over: show,
      drag: (a, b) => select(table.stretches(a, b)),
      click: (i) => select(selection.value.length > 0 ? [] : table.stretches(i, i)),
    },
  )
  const onKeyDown = useKeyboard(table, show)
  return (
    <figure class="plot profile">
      <div
        class="wide"
        tabIndex={0}
        role="group"
        data-plot={measure.name === 'pLDDT' ? 'plddt' : 'rmsd'}
        aria-label={`${measure.name} by residue. Arrow keys move by residue; with Shift they select; Escape clears the selection.`}
        onKeyDown={onKeyDown}
        {...pointer}
      >
        <canvas ref={plot} role="img" aria-label={summarize(table, measure)} />
        <canvas ref={overlay} class="over" aria-hidden="true" />
      </div>
      <output class="value" aria-live="polite">
        {describe(table, hovered[0] && table.index(hovered[0]), secondary, measure)}
      </output>
    </figure>
  )
}

/** The index of the residue under the pointer. */
function indexAt(e: PointerEvent, n: number): number {
  const box = (e.currentTarget as HTMLElement).getBoundingClientRect()
  const fraction = (e.clientX - box.left - margin.left) / (box.width - margin.left - margin.right)
  return Math.max(0, Math.min(n - 1, Math.floor(fraction * n)))
}

/** Arrow keys move by residue, ten with Control or Alt; Shift selects from where it was pressed; Escape clears. */
function useKeyboard(table: Table, show: (index: number | null) => void) {
  const cursor = useRef(-1)
  const anchor = useRef(-1)
  return (e: KeyboardEvent) => {
    if (e.key === 'Escape') {
      select([])
      hover.value = []
      anchor.current = -1
    }
    const direction = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0
    if (direction === 0) return
    e.preventDefault()
    const from = Math.max(0, cursor.current)
    const distance = e.ctrlKey || e.altKey ? 10 : 1
    const to = Math.max(0, Math.min(table.flat.length - 1, from + direction * distance))
    if (e.shiftKey) {
      if (anchor.current < 0) anchor.current = from
      select(table.stretches(anchor.current, to))
    } else anchor.current = -1
    cursor.current = to
    show(to)
  }
}

/** The share of each class, as the text of the plot for screen readers. */
function summarize(table: Table, measure: Measure): string {
  const values = valuesOf(table, measure)
  if (values.length === 0) return `This engine gives no ${measure.name}`
  const parts = measure.classes.map((c) => {
    const share = values.filter((v) => c.has(v)).length / values.length
    return `${c.name} ${Math.round(share * 100)} %`
  })
  return `${measure.name} of ${values.length} residues: ${parts.join(', ')}`
}

/** The known values of all residues. */
const valuesOf = (table: Table, measure: Measure) =>
  table.flat.map((f) => measure.of(f.residue)).filter((v) => v !== null)

// The names of the DSSP letters.
const dsspNames: Record<string, string> = {
  H: 'α-helix',
  G: '3-10 helix',
  I: 'π-helix',
  E: 'strand',
  B: 'bridge',
  T: 'turn',
  S: 'bend',
  P: 'polyproline helix',
}

/** The residue at an index with its value and secondary structure, in words. */
function describe(table: Table, index: number | undefined, secondary: Props['secondary'], measure: Measure): string {
  const entry = index === undefined ? undefined : table.flat[index]
  if (!entry) return 'Point at a residue, or drag over residues to show them in the structure.'
  const { chain, residue } = entry
  const letter = secondary[chain.id]?.[chain.residues.indexOf(residue)] ?? ''
  const value = measure.of(residue)
  const parts = [value === null ? `no ${measure.name} given` : measure.words(value)]
  if (dsspNames[letter]) parts.push(dsspNames[letter])
  return `${table.label({ chain: chain.id, residue: residue.number })}: ${parts.join(', ')}`
}

/** The area of the bars. step: the width of a residue; all in CSS pixels. */
function plotArea(pen: Pen, n: number) {
  const width = pen.width - margin.left - margin.right
  return { x: margin.left, width, step: width / n, top: margin.top, bottom: pen.height - margin.bottom }
}

/** Draws the selection and the hovered residue over the plot. */
function drawOverlay(pen: Pen, table: Table, marked: Marked[], hovered: Residue[]) {
  const { g, ink } = pen
  const { x, step, top, bottom } = plotArea(pen, table.flat.length)
  for (const { chain, from, to, as } of marked) {
    const first = table.index({ chain, residue: from })
    const last = table.index({ chain, residue: to })
    if (first < 0 || last < 0) continue
    const left = x + first * step
    const width = Math.max(2, (last - first + 1) * step)
    g.globalAlpha = 0.16
    g.fillStyle = css(marks[as])
    g.fillRect(left, top, width, bottom - top)
    g.globalAlpha = 1
    g.fillRect(left, bottom + 1, width, 3)
    g.fillRect(left, top - 3, width, 3)
  }
  g.strokeStyle = ink
  for (const residue of hovered) {
    const i = table.index(residue)
    if (i >= 0) drawLine(g, x + (i + 0.5) * step, top - 4, x + (i + 0.5) * step, bottom)
  }
}

function drawLine(g: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number) {
  g.beginPath()
  g.moveTo(x1, y1)
  g.lineTo(x2, y2)
  g.stroke()
}

/** Draws bars, axes, secondary structure and the borders of chains. */
function drawProfile(pen: Pen, table: Table, secondary: Props['secondary'], measure: Measure) {
  const { g, ink, dim, line } = pen
  const { x, width, step, top, bottom } = plotArea(pen, table.flat.length)
  const axisMarks = measure.marks(valuesOf(table, measure).reduce((a, b) => Math.max(a, b), 0))
  const end = axisMarks.at(-1)!
  const toY = (v: number) => bottom - (v / end) * (bottom - top)
  g.strokeStyle = line
  g.fillStyle = dim
  g.textAlign = 'right'
  g.textBaseline = 'middle'
  for (const v of axisMarks) {
    drawLine(g, x, toY(v), x + width, toY(v))
    if (v !== end) g.fillText(String(v), x - 5, toY(v))
  }
  const gap = step > 5 ? 1 : 0
  const outlined = step > 3
  g.strokeStyle = ink
  for (const [i, { residue }] of table.flat.entries()) {
    const value = measure.of(residue)
    const left = x + i * step
    const barTop = toY(value ?? 0)
    g.fillStyle = value === null ? css(none) : measure.colour(value)
    g.fillRect(left, barTop, Math.max(step - gap, 0.7), bottom - barTop)
    if (!outlined || value === null) continue
    g.globalAlpha = 0.45
    g.strokeRect(left + 0.5, barTop + 0.5, Math.max(step - gap - 1, 0.2), bottom - barTop - 0.5)
    g.globalAlpha = 1
  }
  if (!outlined) drawContour(pen, table, measure, toY)
  drawAxes(pen, table, secondary, measure.axis)
}

/** Draws one line along the tops of all bars, for bars that are too thin for outlines of their own. */
function drawContour(pen: Pen, table: Table, measure: Measure, toY: (v: number) => number) {
  const { g, ink } = pen
  const { x, step } = plotArea(pen, table.flat.length)
  g.strokeStyle = ink
  g.globalAlpha = 0.6
  g.beginPath()
  for (const [i, { residue }] of table.flat.entries()) {
    const y = toY(measure.of(residue) ?? 0)
    g.lineTo(x + i * step, y)
    g.lineTo(x + (i + 1) * step, y)
  }
  g.stroke()
  g.globalAlpha = 1
}

/** Draws, below the bars, secondary structure, residue numbers and chain names, and the titles of the axes. */
function drawAxes(pen: Pen, table: Table, secondary: Props['secondary'], title: string) {
  const { g, ink } = pen
  const { x, width, step, top, bottom } = plotArea(pen, table.flat.length)
  let first = 0
  for (const chain of table.chains) {
    const start = x + first * step
    if (first > 0) {
      g.strokeStyle = ink
      drawLine(g, start, top - 4, start, bottom + 12)
    }
    drawSecondary(pen, secondary[chain.id] ?? '', start, step, bottom)
    drawNumbers(pen, chain, start, step, bottom)
    if (table.chains.length > 1 && chain.residues.length * step > 14) {
      g.fillStyle = ink
      g.textBaseline = 'bottom'
      g.fillText(chain.id, start + (chain.residues.length / 2) * step, pen.height - 1)
    }
    first += chain.residues.length
  }
  g.fillStyle = ink
  g.textAlign = 'center'
  g.textBaseline = 'bottom'
  if (table.chains.length === 1) g.fillText('Residue', x + width / 2, pen.height - 1)
  g.save()
  g.translate(11, (top + bottom) / 2)
  g.rotate(-Math.PI / 2)
  g.textBaseline = 'middle'
  g.fillText(title, 0, 0)
  g.restore()
}

/** Draws helices as thick bars and strands as thin ones, on a line. */
function drawSecondary({ g, ink, dim }: Pen, letters: string, start: number, step: number, bottom: number) {
  if (letters === '') return
  g.fillStyle = ink
  for (const [i, letter] of [...letters].entries()) {
    const isHelix = 'HGI'.includes(letter)
    if (!isHelix && letter !== 'E' && letter !== 'B') continue
    g.globalAlpha = isHelix ? 0.75 : 0.4
    g.fillRect(start + i * step, bottom + (isHelix ? 5 : 6), Math.max(step, 0.7), isHelix ? 7 : 5)
  }
  g.globalAlpha = 1
  g.strokeStyle = dim
  drawLine(g, start, bottom + 8.5, start + letters.length * step, bottom + 8.5)
}

/** Draws the residue numbers below a chain. */
function drawNumbers({ g, dim }: Pen, chain: Chain, start: number, step: number, bottom: number) {
  g.fillStyle = dim
  g.textAlign = 'center'
  g.textBaseline = 'top'
  if (chain.kind === 'ligand') return
  const last = chain.residues.length
  for (const t of ticks(1, last, Math.max(1, Math.round((last * step) / 60)))) {
    if (t < 1 || t > last || !Number.isInteger(t)) continue
    g.fillText(String(chain.residues[t - 1]!.number), start + (t - 0.5) * step, bottom + 15)
  }
}
