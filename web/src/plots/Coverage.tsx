// How many sequences of an alignment cover each residue, and how similar to the query they are.
import { useMemo } from 'preact/hooks'
import { type Pen, ticks, usePen } from './canvas'
import { smooth } from './colour'

// The space around the plot for its axes, in px.
const margin = { left: 56, top: 8, right: 12, bottom: 36 }
// More rows than this are counted, but not drawn.
const maxRows = 20_000

/** The rows are sorted by identity. depth counts all sequences, hidden those that are not drawn. */
interface Alignment {
  length: number
  rows: { identity: number; covered: Uint8Array }[]
  depth: number
  hidden: number
}

/** Draws an alignment in A3M format. */
export function Coverage({ text }: { text: string }) {
  const alignment = useMemo(() => readAlignment(text), [text])
  const canvas = usePen((pen) => draw(pen, alignment), [alignment])
  if (alignment.length === 0) return <p class="dim">The alignment has no sequences.</p>
  const low = alignment.rows.length === 0 ? 0 : Math.min(...counts(alignment))
  return (
    <figure class="plot profile">
      <div class="wide tall" data-plot="coverage">
        <canvas
          ref={canvas}
          role="img"
          aria-label={`Alignment of ${alignment.depth} sequences over ${alignment.length} residues`}
        />
      </div>
      <output class="value">
        {alignment.depth} sequences over {alignment.length} residues; the least covered residue has {low}.
        {alignment.hidden > 0 && ` Only the first ${alignment.rows.length} are drawn.`}
      </output>
    </figure>
  )
}

/** Reads an A3M file: the first sequence is the query, small letters are insertions. */
function readAlignment(text: string): Alignment {
  const rows: Alignment['rows'] = []
  let query = ''
  let depth = 0
  const add = (sequence: string) => {
    const s = sequence.replace(/[a-z.\s\0]/g, '')
    if (!s) return
    depth++
    query ||= s
    if (s.length !== query.length || rows.length >= maxRows) return
    const covered = new Uint8Array(s.length)
    let same = 0
    let n = 0
    for (let i = 0; i < s.length; i++) {
      if (s[i] === '-') continue
      covered[i] = 1
      n++
      if (s[i] === query[i]) same++
    }
    if (n > 0) rows.push({ identity: same / n, covered })
  }
  let current = ''
  for (let at = 0; at < text.length; ) {
    let end = text.indexOf('\n', at)
    if (end < 0) end = text.length
    const line = text.slice(at, end)
    at = end + 1
    if (line.startsWith('>')) {
      add(current)
      current = ''
    } else if (!line.startsWith('#')) current += line
  }
  add(current)
  rows.sort((a, b) => b.identity - a.identity)
  return { length: query.length, rows, depth, hidden: depth - rows.length }
}

/** The number of sequences that cover each residue. */
function counts(a: Alignment): number[] {
  const out = new Array<number>(a.length).fill(0)
  for (const r of a.rows) for (let i = 0; i < a.length; i++) out[i]! += r.covered[i]!
  return out
}

/** Draws the rows, the line of the coverage, and the axes. */
function draw(pen: Pen, a: Alignment) {
  const { g, ink, dim } = pen
  const width = pen.width - margin.left - margin.right
  const height = pen.height - margin.top - margin.bottom
  const picture = document.createElement('canvas')
  const tall = Math.min(a.rows.length, 600)
  if (tall === 0) return
  picture.width = a.length
  picture.height = tall
  const p = picture.getContext('2d')!
  const image = p.createImageData(a.length, tall)
  for (let y = 0; y < tall; y++) {
    const row = a.rows[Math.floor((y * a.rows.length) / tall)]! // the most similar at the top, as in the service's plot
    const c = smooth(row.identity)
    for (let x = 0; x < a.length; x++) if (row.covered[x]) image.data.set([...c, 255], (y * a.length + x) * 4)
  }
  p.putImageData(image, 0, 0)
  g.imageSmoothingEnabled = false
  g.drawImage(picture, margin.left, margin.top, width, height)
  g.strokeStyle = dim
  g.strokeRect(margin.left - 0.5, margin.top - 0.5, width + 1, height + 1)
  const high = Math.max(1, a.rows.length)
  g.strokeStyle = ink
  g.lineWidth = 1.5
  g.beginPath()
  counts(a).forEach((n, i) => {
    const y = margin.top + height * (1 - n / high)
    g.lineTo(margin.left + (width * i) / a.length, y)
    g.lineTo(margin.left + (width * (i + 1)) / a.length, y)
  })
  g.stroke()
  g.fillStyle = dim
  g.textAlign = 'right'
  g.textBaseline = 'middle'
  for (const t of ticks(0, high, 4)) g.fillText(String(t), margin.left - 5, margin.top + height * (1 - t / high))
  g.textAlign = 'center'
  g.textBaseline = 'top'
  for (const t of ticks(1, a.length, width / 70))
    if (t >= 1) g.fillText(String(t), margin.left + (width * (t - 0.5)) / a.length, margin.top + height + 4)
  g.fillStyle = ink
  g.textBaseline = 'bottom'
  g.fillText('Residue', margin.left + width / 2, pen.height - 1)
  g.save()
  g.translate(11, margin.top + height / 2)
  g.rotate(-Math.PI / 2)
  g.textBaseline = 'middle'
  g.fillText('Sequences', 0, 0)
  g.restore()
}
