// The stage: the viewer with its controls, bound to what the page shares. Where there is no WebGL it says so, and everything
// beside it still works.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useTheme } from '../plots/canvas'
import { bands, chainColour, css, marks, smooth } from '../plots/colour'
import type { Table } from '../plots/residues'
import { type Colour, colour, frame, hover, type Marked, type Residue, select, selection } from '../store'
import type { Shape, Source, Viewer } from './viewer'

interface Props {
  source: Source
  table: Table | null
  colours: Colour[]
  values?: { at: Residue; value: number }[] // for the colour rmsf, in nm
  name: string // of the picture's file
  foot?: ComponentChildren // below the picture
}

const titles: Record<Colour, string> = {
  plddt: 'Confidence (pLDDT classes)',
  continuous: 'Confidence (continuous)',
  chain: 'Chain',
  secondary: 'Helices and strands',
  type: 'Residue type',
  rmsf: 'Movement (RMSF)',
}

export function Stage({ source, table, colours, values, name, foot }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const viewer = useRef<Viewer | null>(null)
  const [ready, setReady] = useState(false)
  const [trouble, setTrouble] = useState<{ head: string; text: string }>()
  const [shape, setShape] = useState<Shape>('cartoon')
  const dark = useTheme()
  const trajectory = 'topology' in source

  useEffect(() => {
    let gone = false
    setReady(false)
    setTrouble(undefined)
    const element = host.current!
    void (async () => {
      try {
        const { Viewer } = await import('./viewer')
        if (gone) return
        const opened = await Viewer.open(element, {
          dark,
          colour: colour.peek(),
          onHover: (at) => (hover.value = at ? [at] : []),
          onPick: (at, extend) => picked(at, extend),
        })
        if (gone) return opened.dispose()
        viewer.current = opened
        await opened.load(source)
        if (!gone) setReady(true)
      } catch (e) {
        if (gone) return
        const none = (e as Error).name === 'NoWebGL'
        if (!none) console.error(e)
        setTrouble({ head: none ? 'No 3D here' : 'The structure could not be drawn', text: (e as Error).message })
      }
    })()
    return () => {
      gone = true
      viewer.current?.dispose()
      viewer.current = null
    }
  }, [source])

  const on = (act: (v: Viewer) => unknown, deps: unknown[]) =>
    useEffect(() => {
      if (ready && viewer.current) void act(viewer.current)
    }, [ready, ...deps])
  on((v) => v.light(dark), [dark])
  on((v) => v.colours(colour.value, values), [colour.value, values])
  on((v) => v.shape(shape), [shape])
  on((v) => v.highlight(hover.value), [hover.value])
  on(
    (v) =>
      v.paint(
        paintsOf(selection.value),
        selection.value.some((m) => m.as === 'picked'),
      ),
    [selection.value],
  )
  on((v) => (trajectory ? v.frame(frame.value) : undefined), [frame.value])

  return (
    <section class="stage" aria-label="Structure in three dimensions">
      <div class="controls">
        <label class="inline">
          <span>Colour</span>
          <select value={colour.value} onChange={(e) => (colour.value = e.currentTarget.value as Colour)}>
            {colours.map((c) => (
              <option value={c}>{titles[c]}</option>
            ))}
          </select>
        </label>
        {!trajectory && (
          <label class="inline">
            <span>Shape</span>
            <select value={shape} onChange={(e) => setShape(e.currentTarget.value as Shape)}>
              <option value="cartoon">Cartoon</option>
              <option value="sticks">Balls and sticks</option>
              <option value="surface">Surface</option>
            </select>
          </label>
        )}
        <span class="grow" />
        <button
          type="button"
          class="quiet small"
          disabled={!ready}
          onClick={() => viewer.current?.focus(selection.value)}
          title="Show all, or what is selected"
        >
          {selection.value.length > 0 ? 'Zoom to selection' : 'Show all'}
        </button>
        <button
          type="button"
          class="quiet small"
          disabled={!ready}
          onClick={() => void viewer.current?.picture(name + '.png')}
        >
          Picture
        </button>
      </div>
      <div class="view">
        <div class="host" ref={host} data-viewer="" />
        {!ready && !trouble && (
          <p class="veil" aria-busy="true">
            Drawing the structure…
          </p>
        )}
        {trouble && (
          <div class="veil" role="status" data-trouble="">
            <div>
              <strong>{trouble.head}</strong>
              <p>{trouble.text} The plots and the files are there all the same.</p>
            </div>
          </div>
        )}
        {ready && hover.value.length > 0 && table && (
          <p class="tip">{hover.value.map((r) => tip(table, r)).join(' · ')}</p>
        )}
      </div>
      {foot}
      <Legend table={table} values={values} />
      <Selection table={table} marked={selection.value} />
    </section>
  )
}

function picked(at: Residue | null, extend: boolean) {
  if (!at) return extend ? undefined : void select([])
  const one = { chain: at.chain, from: at.residue, to: at.residue }
  const old = selection.peek().filter((m) => m.as === 'picked')
  const is = old.some((m) => m.chain === one.chain && m.from === one.from && m.to === one.to)
  if (extend)
    select(is ? old.filter((m) => m.chain !== one.chain || m.from !== one.from || m.to !== one.to) : [...old, one])
  else select(is && old.length === 1 ? [] : [one])
}

function paintsOf(marked: Marked[]) {
  return (['scored', 'aligned', 'picked'] as const)
    .map((as) => ({ stretches: marked.filter((m) => m.as === as), rgb: marks[as] }))
    .filter((p) => p.stretches.length > 0)
}

function tip(table: Table, r: Residue): string {
  const value = table.flat[table.index(r)]?.residue.plddt
  return table.label(r) + (value === null || value === undefined ? '' : `, pLDDT ${value.toFixed(1)}`)
}

function Legend({ table, values }: { table: Table | null; values?: { value: number }[] | undefined }) {
  switch (colour.value) {
    case 'plddt':
      return (
        <ul class="legend" aria-label="Key to the colours">
          {bands.map((b) => (
            <li>
              <i style={{ background: css(b.rgb) }} />
              {b.label} <span class="dim">{b.range}</span>
            </li>
          ))}
        </ul>
      )
    case 'continuous':
      return <Ramp low="0" high="100" what="pLDDT" />
    case 'rmsf': {
      const all = values?.map((v) => v.value) ?? []
      return all.length > 0 ? (
        <Ramp low={Math.min(...all).toFixed(2)} high={Math.max(...all).toFixed(2)} what="RMSF in nm" />
      ) : null
    }
    case 'chain':
      return (
        table && (
          <ul class="legend" aria-label="Key to the colours">
            {table.chains.map((c, i) => (
              <li>
                <i style={{ background: css(chainColour(i)) }} />
                Chain {c.id} <span class="dim">{c.kind}</span>
              </li>
            ))}
          </ul>
        )
      )
    case 'secondary':
      return (
        <ul class="legend" aria-label="Key to the colours">
          {[
            ['#ff0080', 'α-helix'],
            ['#a00080', '3-10 helix'],
            ['#ffc800', 'Strand'],
            ['#6080ff', 'Turn'],
            ['#ffffff', 'Other'],
          ].map(([c, l]) => (
            <li>
              <i style={{ background: c! }} />
              {l}
            </li>
          ))}
        </ul>
      )
    case 'type':
      return <p class="legend dim">One colour for each kind of residue.</p>
  }
}

function Ramp({ low, high, what }: { low: string; high: string; what: string }) {
  const stops = Array.from({ length: 9 }, (_, i) => css(smooth(i / 8))).join(', ')
  return (
    <p class="legend">
      <span>{low}</span>
      <i class="ramp" style={{ background: `linear-gradient(to right, ${stops})` }} />
      <span>{high}</span> <span class="dim">{what}</span>
    </p>
  )
}

function Selection({ table, marked }: { table: Table | null; marked: Marked[] }) {
  if (!table || marked.length === 0)
    return <p class="selection dim">Nothing is selected. Click a residue; with shift, several.</p>
  const part = (as: Marked['as']) => marked.filter((m) => m.as === as)
  return (
    <p class="selection" data-selection={marked.map((m) => `${m.as}:${m.chain}:${m.from}-${m.to}`).join(' ')}>
      {part('picked').length > 0 && (
        <span>
          <i style={{ background: css(marks.picked) }} />
          Selected: {table.spans(part('picked'))}
        </span>
      )}
      {part('scored').length > 0 && (
        <span>
          <i style={{ background: css(marks.scored) }} />
          Scored: {table.spans(part('scored'))}
        </span>
      )}
      {part('aligned').length > 0 && (
        <span>
          <i style={{ background: css(marks.aligned) }} />
          Aligned: {table.spans(part('aligned'))}
        </span>
      )}
      <button type="button" class="bare" onClick={() => select([])}>
        Clear
      </button>
    </p>
  )
}
