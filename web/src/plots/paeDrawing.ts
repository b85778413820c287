// Draws the PAE matrix, its axes, and the overlay of selection and cursor.
import type { Marked } from '../store'
import { type Pen, ticks } from './canvas'
import { css, errorColour, marks } from './colour'
import type { Matrix } from './matrix'
import type { Chain, Table } from './residues'

// The space around the matrix for its axes, in px.
export const margin = { left: 46, top: 18, right: 12, bottom: 40 }

/** A cell of the matrix: the aligned residue's row and the scored residue's column. */
export interface Cell {
  row: number
  column: number
}

/** A region of the matrix; both ends are included. */
export interface Block {
  rows: [number, number]
  columns: [number, number]
}

/** The rows of a marked stretch; null if it is not in the table. */
function rowRange(table: Table, { chain, from, to }: Marked): [number, number] | null {
  const first = table.index({ chain, residue: from })
  const last = table.index({ chain, residue: to })
  return first < 0 || last < 0 ? null : [table.rowsOf(first)[0], table.rowsOf(last)[1]]
}

/** The regions of the matrix that a selection covers: each aligned stretch with each scored one. */
export function selectedBlocks(table: Table, marked: Marked[]): Block[] {
  const ranges = (as: Marked['as']) =>
    marked.filter((s) => s.as === as).flatMap((s) => [rowRange(table, s)].filter((r) => r !== null))
  return ranges('aligned').flatMap((rows) => ranges('scored').map((columns) => ({ rows, columns })))
}

/** Renders the matrix with one pixel per cell. max: the error of the last colour, in Å. */
export function renderMatrix(m: Matrix, max: number): HTMLCanvasElement {
  const canvas = document.createElement('canvas')
  canvas.width = m.n
  canvas.height = m.n
  const g = canvas.getContext('2d')!
  const image = g.createImageData(m.n, m.n)
  const pixels = new Uint32Array(image.data.buffer)
  const last = Math.round(max * 100)
  const colours = new Uint32Array(last + 1)
  for (let i = 0; i <= last; i++) {
    const c = errorColour(i / last)
    colours[i] = (255 << 24) | (c[2] << 16) | (c[1] << 8) | c[0]
  }
  for (let i = 0; i < pixels.length; i++) pixels[i] = colours[Math.min(last, m.values[i]!)]!
  g.putImageData(image, 0, 0)
  return canvas
}

/** The square that the matrix fills. scale: the size of a cell in CSS pixels. */
function square(pen: Pen, n: number) {
  const side = pen.width - margin.left - margin.right
  return { x: margin.left, y: margin.top, side, scale: side / n }
}

type Square = ReturnType<typeof square>

/** Draws the matrix, the borders of chains, and the axes. */
export function drawMatrix(pen: Pen, image: HTMLCanvasElement, m: Matrix, table: Table) {
  const { g, ink, dim } = pen
  const area = square(pen, m.n)
  const { x, y, side, scale } = area
  g.imageSmoothingEnabled = m.n > side * 1.5
  g.imageSmoothingQuality = 'high'
  g.drawImage(image, x, y, side, side)
  g.strokeStyle = dim
  g.lineWidth = 1
  g.strokeRect(x - 0.5, y - 0.5, side + 1, side + 1)
  let row = 0
  for (const chain of table.chains) {
    const rows = chain.residues.reduce((n, r) => n + r.tokens, 0)
    if (row > 0) drawCross(pen, area, row * scale, row * scale)
    if (chain.kind !== 'ligand') drawTicks(pen, area, chain, row, rows)
    if (table.chains.length > 1 && rows * scale > 9) {
      g.fillStyle = ink
      g.textAlign = 'center'
      g.textBaseline = 'bottom'
      g.fillText(chain.id, x + (row + rows / 2) * scale, y - 3)
    }
    row += rows
  }
  drawAxisTitles(pen, area)
}

/** Draws a horizontal and a vertical line through the square, at offsets in CSS pixels. */
function drawCross({ g, ink }: Pen, { x, y, side }: Square, dx: number, dy: number) {
  g.strokeStyle = ink
  g.beginPath()
  g.moveTo(x + dx, y)
  g.lineTo(x + dx, y + side)
  g.moveTo(x, y + dy)
  g.lineTo(x + side, y + dy)
  g.stroke()
}

/** Draws the residue numbers of a chain on both axes. */
function drawTicks({ g, dim }: Pen, { x, y, side, scale }: Square, chain: Chain, row: number, rows: number) {
  const last = chain.residues.length
  g.fillStyle = dim
  for (const t of ticks(1, last, Math.max(1, Math.round((rows * scale) / 45)))) {
    if (t < 1 || t > last || !Number.isInteger(t)) continue
    const offset = (row + t - 0.5) * scale
    const label = String(chain.residues[t - 1]!.number)
    g.textAlign = 'center'
    g.textBaseline = 'top'
    if (offset + 8 < side) g.fillText(label, x + offset, y + side + 4)
    g.textAlign = 'right'
    g.textBaseline = 'middle'
    g.fillText(label, x - 5, y + offset)
  }
}

function drawAxisTitles({ g, ink }: Pen, { x, y, side }: Square) {
  g.fillStyle = ink
  g.textAlign = 'center'
  g.textBaseline = 'bottom'
  g.fillText('Scored residue', x + side / 2, y + side + margin.bottom - 4)
  g.save()
  g.translate(11, y + side / 2)
  g.rotate(-Math.PI / 2)
  g.textBaseline = 'middle'
  g.fillText('Aligned residue', 0, 0)
  g.restore()
}

/** Draws the outline of the selected regions and the cross of the cursor. */
export function drawOverlay(pen: Pen, m: Matrix, table: Table, marked: Marked[], cell: Cell | null) {
  const { g } = pen
  const area = square(pen, m.n)
  const { x, y, side, scale } = area
  g.lineWidth = 2
  g.strokeStyle = css(marks.scored)
  for (const { rows, columns } of selectedBlocks(table, marked)) {
    const left = x + columns[0] * scale
    const top = y + rows[0] * scale
    const width = (columns[1] - columns[0] + 1) * scale
    const height = (rows[1] - rows[0] + 1) * scale
    g.fillStyle = 'rgb(208 28 139 / 14%)'
    g.fillRect(left, top, width, height)
    g.strokeRect(left, top, width, height)
  }
  for (const s of marked) {
    const range = rowRange(table, s)
    if (!range) continue
    const start = range[0] * scale
    const length = (range[1] + 1) * scale - start
    g.fillStyle = css(marks[s.as])
    if (s.as !== 'aligned') g.fillRect(x + start, y + side + 1, length, 3)
    if (s.as !== 'scored') g.fillRect(x - 4, y + start, 3, length)
  }
  if (!cell) return
  g.globalAlpha = 0.75
  g.lineWidth = 1
  drawCross(pen, area, (cell.column + 0.5) * scale, (cell.row + 0.5) * scale)
  g.globalAlpha = 1
}
