// The matrix of predicted aligned errors (PAE). Columns are scored residues, rows are aligned residues; the colour is
// the error in Å that the engine expects for the scored residue when the structures are aligned on the aligned residue.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { hover, type Marked, type Residue, selection } from '../store'
import { usePen } from './canvas'
import { css, errorColour } from './colour'
import { useDrag } from './drag'
import type { Matrix } from './matrix'
import { type Cell, drawMatrix, drawOverlay, margin, renderMatrix, selectedBlocks } from './paeDrawing'
import type { Table } from './residues'

const keyboardHelp =
  'Predicted aligned error. Arrow keys move by residue; with Shift they select a region; Escape clears it.'

/** matrix: the errors by token; table: the residues that the rows and columns belong to. */
interface Props {
  matrix: Matrix
  table: Table
}

/** The matrix with its colour key. Pointer and arrow keys set the hovered pair; dragging selects a region. */
export function Pae({ matrix, table }: Props) {
  const max = Math.max(matrix.max, 1)
  const image = useMemo(() => renderMatrix(matrix, max), [matrix])
  const { cell, getCell, setCell } = useCell(table)
  const marked = selection.value
  const plot = usePen(
    (pen) => {
      drawMatrix(pen, image, matrix, table)
      performance.mark('pleat:matrix')
    },
    [image, table],
  )
  const overlay = usePen((pen) => drawOverlay(pen, matrix, table, marked, cell), [matrix, table, marked, cell])
  const show = (c: Cell | null) => {
    setCell(c)
    hover.value = c ? residuesOf(table, c) : []
  }
  const select = (a: Cell, b: Cell) => selectRegion(table, a, b)
  const pointer = useDrag((e) => cellAt(e, matrix.n), isSameCell, {
    over: show,
    drag: select,
    click: () => (selection.value = []),
  })
  const onKeyDown = useKeyboard(matrix.n, getCell, show, select)
  return (
    <figure class="plot pae">
      <div
        class="square"
        tabIndex={0}
        role="group"
        data-plot="pae"
        aria-label={keyboardHelp}
        onKeyDown={onKeyDown}
        {...pointer}
      >
        <canvas
          ref={plot}
          role="img"
          aria-label={`Matrix of ${matrix.n} by ${matrix.n} predicted aligned errors, 0 to ${matrix.max.toFixed(1)} Å`}
        />
        <canvas ref={overlay} class="over" aria-hidden="true" />
      </div>
      <ColourKey max={max} />
      <output class="value" aria-live="polite">
        {describe(matrix, table, cell, marked)}
      </output>
    </figure>
  )
}

/** The cell under the pointer or the keyboard cursor. It follows what the other plots and the viewer hover over. */
function useCell(table: Table) {
  const [cell, setState] = useState<Cell | null>(null)
  const latest = useRef<Cell | null>(null) // keys may come faster than the page renders
  const setCell = (c: Cell | null) => {
    latest.current = c
    setState(c)
  }
  const hovered = hover.value
  useEffect(() => {
    if (hover.peek() !== hovered) return // a key has moved on before this effect ran
    if (hovered.length === 0) return setCell(null)
    const scored = table.index(hovered[0]!)
    const aligned = table.index(hovered[1] ?? hovered[0]!)
    if (scored < 0 || aligned < 0) return
    const current = latest.current
    if (current && table.ofRow(current.column) === scored && table.ofRow(current.row) === aligned) return
    setCell({ row: table.rowsOf(aligned)[0], column: table.rowsOf(scored)[0] })
  }, [hovered, table])
  return { cell, getCell: () => latest.current, setCell }
}

const isSameCell = (a: Cell, b: Cell) => a.row === b.row && a.column === b.column

/** The nearest index of n. */
const clamp = (v: number, n: number) => Math.max(0, Math.min(n - 1, v))

/** The cell of an n × n matrix under the pointer. */
function cellAt(e: PointerEvent, n: number): Cell {
  const box = (e.currentTarget as HTMLElement).getBoundingClientRect()
  const side = box.width - margin.left - margin.right
  const toIndex = (offset: number) => clamp(Math.floor((offset / side) * n), n)
  return { row: toIndex(e.clientY - box.top - margin.top), column: toIndex(e.clientX - box.left - margin.left) }
}

/** Selects the residues of a rectangle: its columns as scored, its rows as aligned. */
function selectRegion(table: Table, a: Cell, b: Cell) {
  const scored = table.stretches(table.ofRow(a.column), table.ofRow(b.column))
  const aligned = table.stretches(table.ofRow(a.row), table.ofRow(b.row))
  selection.value = [
    ...scored.map((s): Marked => ({ ...s, as: 'scored' })),
    ...aligned.map((s): Marked => ({ ...s, as: 'aligned' })),
  ]
}

// The step of each arrow key.
const arrows: Record<string, [rows: number, columns: number]> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
}

/** Arrow keys move the cell, faster with Control or Alt; Shift selects from where it was pressed; Escape clears. */
function useKeyboard(
  n: number,
  getCell: () => Cell | null,
  show: (c: Cell | null) => void,
  select: (a: Cell, b: Cell) => void,
) {
  const anchor = useRef<Cell | null>(null)
  return (e: KeyboardEvent) => {
    if (e.key === 'Escape') {
      anchor.current = null
      selection.value = []
      return show(null)
    }
    const direction = arrows[e.key]
    if (!direction) return
    e.preventDefault()
    const distance = e.ctrlKey || e.altKey ? Math.max(2, Math.round(n / 20)) : 1
    const from = getCell() ?? { row: 0, column: 0 }
    const to = {
      row: clamp(from.row + direction[0] * distance, n),
      column: clamp(from.column + direction[1] * distance, n),
    }
    if (e.shiftKey) {
      anchor.current ??= from
      select(anchor.current, to)
    } else anchor.current = null
    show(to)
  }
}

/** The scored and the aligned residue of a cell; one if they are the same. */
function residuesOf(table: Table, c: Cell): Residue[] {
  const scored = table.residue(table.ofRow(c.column))
  const aligned = table.residue(table.ofRow(c.row))
  if (!scored || !aligned) return []
  return scored.chain === aligned.chain && scored.residue === aligned.residue ? [scored] : [scored, aligned]
}

/** The colours from 0 to max, in Å. */
function ColourKey({ max }: { max: number }) {
  const canvas = usePen(({ g, width, height }) => {
    for (let x = 0; x < width; x++) {
      g.fillStyle = css(errorColour(x / width))
      g.fillRect(x, 0, 1, height)
    }
  }, [])
  return (
    <div class="key">
      <span>0</span>
      <canvas ref={canvas} role="img" aria-label={`Colours from dark for 0 Å to white for ${max.toFixed(1)} Å`} />
      <span>{max.toFixed(1)} Å</span>
      <span class="dim">predicted aligned error</span>
    </div>
  )
}

/** The value of the cell, else the mean of the selected region, in words. */
function describe(m: Matrix, table: Table, cell: Cell | null, marked: Marked[]): string {
  const scored = cell && table.residue(table.ofRow(cell.column))
  const aligned = cell && table.residue(table.ofRow(cell.row))
  if (scored && aligned) {
    const error = m.at(cell.row, cell.column).toFixed(1)
    return `Scored ${table.label(scored)}, aligned ${table.label(aligned)}: ${error} Å`
  }
  const blocks = selectedBlocks(table, marked)
  if (blocks.length === 0) return 'Point at a pair of residues, or drag over a region to show it in the structure.'
  let sum = 0
  let count = 0
  for (const { rows, columns } of blocks) {
    const size = (rows[1] - rows[0] + 1) * (columns[1] - columns[0] + 1)
    sum += m.mean(rows, columns) * size
    count += size
  }
  const names = (as: Marked['as']) => table.describeStretches(marked.filter((s) => s.as === as))
  return `Scored ${names('scored')}; aligned ${names('aligned')}: mean ${(sum / count).toFixed(1)} Å`
}
