// The profile of confidence along the chains, one bar for each residue in the colour of its class, over the secondary structure.
import { useRef } from 'preact/hooks'
import { hover, select, selection } from '../store'
import { type Pen, ticks, usePen } from './canvas'
import { band, bands, css, marks, none, smooth } from './colour'
import { useDrag } from './drag'
import type { Table } from './residues'

const margin = { left: 46, top: 10, right: 12, bottom: 46 }

/** second is the secondary structure by chain, in DSSP's letters. */
export function Plddt({
  table,
  second,
  continuous,
}: {
  table: Table
  second: Record<string, string>
  continuous: boolean
}) {
  const marked = selection.value
  const over = hover.value
  const cursor = useRef(-1) // of the keyboard
  const anchor = useRef(-1)
  const n = table.flat.length

  const image = usePen((pen) => drawProfile(pen, table, second, continuous), [table, second, continuous])
  const overlay = usePen(
    (pen) => {
      const { g, ink } = pen
      const { x, step, top, bottom } = frameOf(pen, n)
      for (const s of marked) {
        const from = table.index({ chain: s.chain, residue: s.from })
        const to = table.index({ chain: s.chain, residue: s.to })
        if (from < 0 || to < 0) continue
        const left = x + from * step
        const width = Math.max(2, (to - from + 1) * step)
        g.globalAlpha = 0.16
        g.fillStyle = css(marks[s.as])
        g.fillRect(left, top, width, bottom - top)
        g.globalAlpha = 1
        g.fillRect(left, bottom + 1, width, 3)
        g.fillRect(left, top - 3, width, 3)
      }
      for (const r of over) {
        const i = table.index(r)
        if (i < 0) continue
        g.strokeStyle = ink
        g.beginPath()
        g.moveTo(x + (i + 0.5) * step, top - 4)
        g.lineTo(x + (i + 0.5) * step, bottom)
        g.stroke()
      }
    },
    [table, marked, over],
  )

  const at = (e: PointerEvent) => {
    const box = (e.currentTarget as HTMLElement).getBoundingClientRect()
    const v = ((e.clientX - box.left - margin.left) / (box.width - margin.left - margin.right)) * n
    return Math.max(0, Math.min(n - 1, Math.floor(v)))
  }
  const show = (i: number | null) => {
    const r = i === null ? undefined : table.residue(i)
    hover.value = r ? [r] : []
  }
  const pointer = useDrag(at, (a, b) => a === b, {
    over: show,
    drag: (a, b) => select(table.stretches(a, b)),
    click: (i) => select(selection.value.length > 0 ? [] : table.stretches(i, i)),
  })
  const onKey = (e: KeyboardEvent) => {
    if (e.key === 'Escape') {
      select([])
      hover.value = []
      anchor.current = -1
    }
    const by = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0
    if (!by) return
    e.preventDefault()
    const from = Math.max(0, cursor.current)
    const to = Math.max(0, Math.min(n - 1, from + by * (e.ctrlKey || e.altKey ? 10 : 1)))
    if (e.shiftKey) {
      if (anchor.current < 0) anchor.current = from
      select(table.stretches(anchor.current, to))
    } else anchor.current = -1
    cursor.current = to
    show(to)
  }

  return (
    <figure class="plot profile">
      <div
        class="wide"
        tabIndex={0}
        role="group"
        data-plot="plddt"
        aria-label="pLDDT of each residue. Arrow keys move from residue to residue, with shift they select, escape lets go."
        onKeyDown={onKey}
        {...pointer}
      >
        <canvas ref={image} role="img" aria-label={summary(table)} />
        <canvas ref={overlay} class="over" aria-hidden="true" />
      </div>
      <output class="value" aria-live="polite">
        {sentence(table, over[0] && table.index(over[0]), second)}
      </output>
    </figure>
  )
}

/** Bands is the key to the classes of confidence. */
export function Bands() {
  return (
    <ul class="bands">
      {bands.map((b) => (
        <li>
          <i class={`swatch plddt-${b.label.toLowerCase().replace(' ', '-')}`} />
          {b.label} <span class="dim">{b.range}</span>
        </li>
      ))}
    </ul>
  )
}

function summary(table: Table): string {
  const known = table.flat.map((f) => f.residue.plddt).filter((v) => v !== null)
  if (known.length === 0) return 'pLDDT is not given by this engine'
  const part = bands.map(
    (b) => `${b.label.toLowerCase()} ${Math.round((known.filter((v) => band(v) === b).length / known.length) * 100)} %`,
  )
  return `pLDDT of ${known.length} residues: ${part.join(', ')}`
}

const shapes: Record<string, string> = {
  H: 'α-helix',
  G: '3-10 helix',
  I: 'π-helix',
  E: 'strand',
  B: 'bridge',
  T: 'turn',
  S: 'bend',
  P: 'polyproline helix',
}

function sentence(table: Table, index: number | undefined, second: Record<string, string>): string {
  const f = index === undefined ? undefined : table.flat[index]
  if (!f) return 'Point at a residue, or drag over a stretch to see it in the structure.'
  const label = table.label(table.residue(index!)!)
  const shape = shapes[second[f.chain.id]?.[f.chain.residues.indexOf(f.residue)] ?? '']
  const value =
    f.residue.plddt === null
      ? 'no pLDDT given'
      : `pLDDT ${f.residue.plddt.toFixed(1)}, ${band(f.residue.plddt).label.toLowerCase()}`
  return `${label}: ${value}${shape ? `, ${shape}` : ''}`
}

function frameOf(pen: Pen, n: number) {
  const width = pen.width - margin.left - margin.right
  return { x: margin.left, step: width / n, top: margin.top, bottom: pen.height - margin.bottom, width }
}

function drawProfile(pen: Pen, table: Table, second: Record<string, string>, continuous: boolean) {
  const { g, ink, dim, line } = pen
  const n = table.flat.length
  const { x, step, top, bottom, width } = frameOf(pen, n)
  const y = (v: number) => bottom - (v / 100) * (bottom - top)
  g.strokeStyle = line
  g.fillStyle = dim
  g.textAlign = 'right'
  g.textBaseline = 'middle'
  for (const v of [0, 50, 70, 90, 100]) {
    g.beginPath()
    g.moveTo(x, y(v))
    g.lineTo(x + width, y(v))
    g.stroke()
    if (v !== 100) g.fillText(String(v), x - 5, y(v))
  }
  const gap = step > 5 ? 1 : 0
  const outline = step > 3
  table.flat.forEach((f, i) => {
    const v = f.residue.plddt
    g.fillStyle = css(v === null ? none : continuous ? smooth(v / 100) : band(v).rgb)
    const left = x + i * step
    const high = v ?? 0
    g.fillRect(left, y(high), Math.max(step - gap, 0.7), bottom - y(high))
    if (outline && v !== null) {
      g.strokeStyle = ink
      g.globalAlpha = 0.45
      g.strokeRect(left + 0.5, y(high) + 0.5, Math.max(step - gap - 1, 0.2), bottom - y(high) - 0.5)
      g.globalAlpha = 1
    }
  })
  if (!outline) {
    // the outline that each bar is too thin for
    g.strokeStyle = ink
    g.globalAlpha = 0.6
    g.beginPath()
    table.flat.forEach((f, i) => {
      const v = y(f.residue.plddt ?? 0)
      if (i === 0) g.moveTo(x, v)
      g.lineTo(x + i * step, v)
      g.lineTo(x + (i + 1) * step, v)
    })
    g.stroke()
    g.globalAlpha = 1
  }
  drawAxis(pen, table, second)
}

// Below: the secondary structure, the residues' numbers, and where the chains end.
function drawAxis(pen: Pen, table: Table, second: Record<string, string>) {
  const { g, ink, dim } = pen
  const { x, step, top, bottom, width } = frameOf(pen, table.flat.length)
  let from = 0
  for (const chain of table.chains) {
    const n = chain.residues.length
    if (from > 0) {
      g.strokeStyle = ink
      g.beginPath()
      g.moveTo(x + from * step, top - 4)
      g.lineTo(x + from * step, bottom + 12)
      g.stroke()
    }
    const letters = second[chain.id] ?? ''
    for (let i = 0; i < letters.length; i++) {
      const c = letters[i]!
      const helix = 'HGI'.includes(c)
      if (!helix && c !== 'E' && c !== 'B') continue
      g.fillStyle = ink
      g.globalAlpha = helix ? 0.75 : 0.4
      g.fillRect(x + (from + i) * step, bottom + (helix ? 5 : 6), Math.max(step, 0.7), helix ? 7 : 5)
      g.globalAlpha = 1
    }
    if (letters) {
      g.strokeStyle = dim
      g.beginPath()
      g.moveTo(x + from * step, bottom + 8.5)
      g.lineTo(x + (from + letters.length) * step, bottom + 8.5)
      g.stroke()
    }
    g.fillStyle = dim
    g.textAlign = 'center'
    g.textBaseline = 'top'
    if (chain.kind !== 'ligand') {
      for (const t of ticks(1, n, Math.max(1, Math.round((n * step) / 60)))) {
        if (t >= 1 && t <= n && Number.isInteger(t))
          g.fillText(String(chain.residues[t - 1]!.number), x + (from + t - 0.5) * step, bottom + 15)
      }
    }
    if (table.chains.length > 1 && n * step > 14) {
      g.fillStyle = ink
      g.textBaseline = 'bottom'
      g.fillText(chain.id, x + (from + n / 2) * step, pen.height - 1)
    }
    from += n
  }
  g.fillStyle = ink
  g.textAlign = 'center'
  g.textBaseline = 'bottom'
  if (table.chains.length === 1) g.fillText('Residue', x + width / 2, pen.height - 1)
  g.save()
  g.translate(11, (top + bottom) / 2)
  g.rotate(-Math.PI / 2)
  g.textBaseline = 'middle'
  g.fillText('pLDDT', 0, 0)
  g.restore()
}
