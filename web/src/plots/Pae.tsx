// The predicted aligned error: columns are scored residues, rows are aligned residues, and the colour is the error in Å that
// the engine expects for the one when the structures are laid over each other at the other.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { hover, type Marked, selection } from '../store'
import { type Pen, ticks, usePen } from './canvas'
import { css, error as errorColour, marks } from './colour'
import { useDrag } from './drag'
import type { Matrix } from './matrix'
import type { Table } from './residues'

const margin = { left: 46, top: 18, right: 12, bottom: 40 }

interface Cell {
  row: number
  column: number
}

export function Pae({ matrix, table }: { matrix: Matrix; table: Table }) {
  const top = Math.max(matrix.max, 1)
  const picture = useMemo(() => paint(matrix, top), [matrix])
  const [cell, setShown] = useState<Cell | null>(null) // of the pointer or the keyboard
  const cursor = useRef<Cell | null>(null) // the same, for keys that come faster than the page is drawn
  const setCell = (c: Cell | null) => {
    cursor.current = c
    setShown(c)
  }
  const marked = selection.value
  const over = hover.value

  const image = usePen(
    (pen) => {
      drawImage(pen, picture, matrix, table)
      performance.mark('pleat:matrix')
    },
    [picture, table],
  )
  const overlay = usePen((pen) => drawOverlay(pen, matrix, table, marked, cell), [matrix, table, marked, cell])

  // What another part hovers over moves the cross here.
  useEffect(() => {
    if (hover.peek() !== over) return // a key has moved on before this ran
    if (over.length === 0) return setCell(null)
    const scored = table.index(over[0]!)
    const aligned = table.index(over[1] ?? over[0]!)
    if (scored < 0 || aligned < 0) return
    const old = cursor.current
    if (old && table.ofRow(old.column) === scored && table.ofRow(old.row) === aligned) return
    setCell({ row: table.rowsOf(aligned)[0], column: table.rowsOf(scored)[0] })
  }, [over, table])

  const show = (c: Cell | null) => {
    setCell(c)
    hover.value = c ? residuesOf(table, c) : []
  }
  const select = (a: Cell, b: Cell) => {
    const scored = table.stretches(table.ofRow(a.column), table.ofRow(b.column))
    const aligned = table.stretches(table.ofRow(a.row), table.ofRow(b.row))
    selection.value = [
      ...scored.map((s): Marked => ({ ...s, as: 'scored' })),
      ...aligned.map((s): Marked => ({ ...s, as: 'aligned' })),
    ]
  }
  const at = (e: PointerEvent): Cell => {
    const box = (e.currentTarget as HTMLElement).getBoundingClientRect()
    const side = box.width - margin.left - margin.right
    const clip = (v: number) => Math.max(0, Math.min(matrix.n - 1, Math.floor((v / side) * matrix.n)))
    return { row: clip(e.clientY - box.top - margin.top), column: clip(e.clientX - box.left - margin.left) }
  }
  const pointer = useDrag(at, (a, b) => a.row === b.row && a.column === b.column, {
    over: show,
    drag: select,
    click: () => (selection.value = []),
  })
  const anchor = useRef<Cell | null>(null) // where a region of the keyboard began
  const onKey = (e: KeyboardEvent) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[e.key]
    if (e.key === 'Escape') {
      anchor.current = null
      selection.value = []
      show(null)
    } else if (step) {
      e.preventDefault()
      const far = e.ctrlKey || e.altKey ? Math.max(2, Math.round(matrix.n / 20)) : 1
      const from = cursor.current ?? { row: 0, column: 0 }
      const to = {
        row: Math.max(0, Math.min(matrix.n - 1, from.row + step[0]! * far)),
        column: Math.max(0, Math.min(matrix.n - 1, from.column + step[1]! * far)),
      }
      if (e.shiftKey) {
        anchor.current ??= from
        select(anchor.current, to)
      } else anchor.current = null
      show(to)
    }
  }

  return (
    <figure class="plot pae">
      <div
        class="square"
        tabIndex={0}
        role="group"
        data-plot="pae"
        aria-label="Predicted aligned error. Arrow keys move from residue to residue, with shift they select a region, escape lets it go."
        onKeyDown={onKey}
        {...pointer}
      >
        <canvas
          ref={image}
          role="img"
          aria-label={`Matrix of ${matrix.n} by ${matrix.n} expected position errors, from ${errorRange(matrix)} Å`}
        />
        <canvas ref={overlay} class="over" aria-hidden="true" />
      </div>
      <Key top={top} />
      <output class="value" aria-live="polite">
        {sentence(matrix, table, cell, marked)}
      </output>
    </figure>
  )
}

const errorRange = (m: Matrix) => `0 to ${m.max.toFixed(1)}`

function residuesOf(table: Table, c: Cell) {
  const scored = table.residue(table.ofRow(c.column))
  const aligned = table.residue(table.ofRow(c.row))
  if (!scored || !aligned) return []
  return scored.chain === aligned.chain && scored.residue === aligned.residue ? [scored] : [scored, aligned]
}

function Key({ top }: { top: number }) {
  const canvas = usePen(({ g, width, height }) => {
    for (let x = 0; x < width; x++) {
      g.fillStyle = css(errorColour(x / width))
      g.fillRect(x, 0, 1, height)
    }
  }, [])
  return (
    <div class="key">
      <span>0</span>
      <canvas ref={canvas} role="img" aria-label={`Colours from dark for 0 Å to white for ${top.toFixed(1)} Å`} />
      <span>{top.toFixed(1)} Å</span>
      <span class="dim">expected position error</span>
    </div>
  )
}

function sentence(m: Matrix, table: Table, cell: Cell | null, marked: Marked[]): string {
  if (cell) {
    const scored = table.residue(table.ofRow(cell.column))
    const aligned = table.residue(table.ofRow(cell.row))
    if (scored && aligned)
      return `Scored ${table.label(scored)}, aligned ${table.label(aligned)}: ${m.at(cell.row, cell.column).toFixed(1)} Å`
  }
  const blocks = rectangles(table, marked)
  if (blocks.length > 0) {
    let sum = 0
    let count = 0
    for (const b of blocks) {
      const size = (b.rows[1] - b.rows[0] + 1) * (b.columns[1] - b.columns[0] + 1)
      sum += m.mean(b.rows, b.columns) * size
      count += size
    }
    const words = (as: Marked['as']) => table.spans(marked.filter((s) => s.as === as))
    return `Scored ${words('scored')}; aligned ${words('aligned')}: ${(sum / count).toFixed(1)} Å on average`
  }
  return 'Point at a pair of residues, or drag over a region to see it in the structure.'
}

interface Block {
  rows: [number, number]
  columns: [number, number]
}

function rectangles(table: Table, marked: Marked[]): Block[] {
  const rowsOf = (s: Marked): [number, number] | null => {
    const from = table.index({ chain: s.chain, residue: s.from })
    const to = table.index({ chain: s.chain, residue: s.to })
    return from < 0 || to < 0 ? null : [table.rowsOf(from)[0], table.rowsOf(to)[1]]
  }
  const scored = marked.filter((s) => s.as === 'scored')
  const aligned = marked.filter((s) => s.as === 'aligned')
  const out: Block[] = []
  for (const a of aligned)
    for (const s of scored) {
      const rows = rowsOf(a)
      const columns = rowsOf(s)
      if (rows && columns) out.push({ rows, columns })
    }
  return out
}

function paint(m: Matrix, top: number): HTMLCanvasElement {
  const canvas = document.createElement('canvas')
  canvas.width = canvas.height = m.n
  const g = canvas.getContext('2d')!
  const image = g.createImageData(m.n, m.n)
  const pixels = new Uint32Array(image.data.buffer)
  const most = Math.round(top * 100)
  const colours = new Uint32Array(most + 1)
  for (let i = 0; i <= most; i++) {
    const c = errorColour(i / most)
    colours[i] = (255 << 24) | (c[2] << 16) | (c[1] << 8) | c[0]
  }
  for (let i = 0; i < pixels.length; i++) pixels[i] = colours[Math.min(most, m.values[i]!)]!
  g.putImageData(image, 0, 0)
  return canvas
}

const frameOf = (pen: Pen) => ({ x: margin.left, y: margin.top, side: pen.width - margin.left - margin.right })

function drawImage(pen: Pen, picture: HTMLCanvasElement, m: Matrix, table: Table) {
  const { g, ink, dim } = pen
  const { x, y, side } = frameOf(pen)
  g.imageSmoothingEnabled = m.n > side * 1.5
  g.imageSmoothingQuality = 'high'
  g.drawImage(picture, x, y, side, side)
  g.strokeStyle = dim
  g.lineWidth = 1
  g.strokeRect(x - 0.5, y - 0.5, side + 1, side + 1)
  const scale = side / m.n
  let row = 0
  g.fillStyle = ink
  for (const chain of table.chains) {
    const rows = chain.residues.reduce((n, r) => n + r.tokens, 0)
    if (row > 0) {
      g.strokeStyle = ink
      g.beginPath()
      g.moveTo(x + row * scale, y)
      g.lineTo(x + row * scale, y + side)
      g.moveTo(x, y + row * scale)
      g.lineTo(x + side, y + row * scale)
      g.stroke()
    }
    g.fillStyle = dim
    if (chain.kind !== 'ligand') {
      const last = chain.residues.length
      for (const t of ticks(1, last, Math.max(1, Math.round((rows * scale) / 45)))) {
        if (t < 1 || t > last || !Number.isInteger(t)) continue
        const at = (row + t - 0.5) * scale
        g.textAlign = 'center'
        g.textBaseline = 'top'
        if (at + 8 < side) g.fillText(String(chain.residues[t - 1]!.number), x + at, y + side + 4)
        g.textAlign = 'right'
        g.textBaseline = 'middle'
        g.fillText(String(chain.residues[t - 1]!.number), x - 5, y + at)
      }
    }
    if (table.chains.length > 1 && rows * scale > 9) {
      g.fillStyle = ink
      g.textAlign = 'center'
      g.textBaseline = 'bottom'
      g.fillText(chain.id, x + (row + rows / 2) * scale, y - 3)
    }
    row += rows
  }
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

function drawOverlay(pen: Pen, m: Matrix, table: Table, marked: Marked[], cell: Cell | null) {
  const { g, ink } = pen
  const { x, y, side } = frameOf(pen)
  const scale = side / m.n
  for (const b of rectangles(table, marked)) {
    const left = x + b.columns[0] * scale
    const top = y + b.rows[0] * scale
    const width = (b.columns[1] - b.columns[0] + 1) * scale
    const height = (b.rows[1] - b.rows[0] + 1) * scale
    g.fillStyle = 'rgb(208 28 139 / 14%)'
    g.fillRect(left, top, width, height)
    g.lineWidth = 2
    g.strokeStyle = css(marks.scored)
    g.strokeRect(left, top, width, height)
  }
  for (const s of marked) {
    const from = table.index({ chain: s.chain, residue: s.from })
    const to = table.index({ chain: s.chain, residue: s.to })
    if (from < 0 || to < 0) continue
    const a = table.rowsOf(from)[0] * scale
    const b = (table.rowsOf(to)[1] + 1) * scale
    g.fillStyle = css(marks[s.as])
    if (s.as !== 'aligned') g.fillRect(x + a, y + side + 1, b - a, 3)
    if (s.as !== 'scored') g.fillRect(x - 4, y + a, 3, b - a)
  }
  if (cell) {
    g.strokeStyle = ink
    g.globalAlpha = 0.75
    g.lineWidth = 1
    const cx = x + (cell.column + 0.5) * scale
    const cy = y + (cell.row + 0.5) * scale
    g.beginPath()
    g.moveTo(cx, y)
    g.lineTo(cx, y + side)
    g.moveTo(x, cy)
    g.lineTo(x + side, cy)
    g.stroke()
    g.globalAlpha = 1
  }
}
