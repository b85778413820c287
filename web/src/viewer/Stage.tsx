// The 3D viewer with its controls, bound to the state that the page shares. Without WebGL it shows a message, and the
// rest of the page still works.
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Select } from '../controls'
import { useTheme } from '../plots/canvas'
import { css, marks } from '../plots/colour'
import type { Table } from '../plots/residues'
import { hasRmsdInB } from '../result/structure'
import { type Colour, colour, frame, hover, type Marked, type Residue, select, selection } from '../store'
import { Frame, ViewButtons } from './Frame'
import { Legend } from './Legend'
import { loadViewer } from './load'
import type { Shape, Source, Viewer } from './viewer'

/** table: null while the structure loads; colours: the schemes to offer; name: of a saved picture. */
interface Props {
  source: Source
  table: Table | null
  colours: Colour[]
  /** The RMSF of each residue in nm, for the colour scheme rmsf. */
  values?: { at: Residue; value: number }[] | undefined
  /** The names of the designed chains, for the colour scheme design. */
  designed?: string[] | undefined
  /** The name of saved images, without the extension. */
  name: string
  /** Shown below the view. */
  footer?: ComponentChildren
}

// The names of the colour schemes in the menu.
const colourNames: Record<Colour, string> = {
  plddt: 'Confidence (pLDDT classes)',
  continuous: 'Confidence (continuous)',
  rmsd: 'Predicted RMSD (Å)',
  chain: 'Chain',
  secondary: 'Secondary structure',
  type: 'Residue type',
  rmsf: 'Flexibility (RMSF)',
  design: 'Designed and target',
}

/** The viewer with menus, legend and selection. */
export function Stage({ source, table, colours, values, designed, name, footer }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const [shape, setShape] = useState<Shape>('cartoon')
  const { viewer, ready, problem } = useViewer(host, source, shape, values, designed)
  const schemes = useMemo(() => schemesFor(source, colours), [source, colours.join()])
  return (
    <section class="stage" aria-label="3D structure">
      <div class="controls">
        <label class="inline">
          <span>Colour</span>
          <Select value={colour.value} onValue={(c) => (colour.value = c as Colour)}>
            {schemes.map((c) => (
              <option key={c} value={c}>
                {colourNames[c]}
              </option>
            ))}
          </Select>
        </label>
        {!('topology' in source) && (
          <label class="inline">
            <span>Shape</span>
            <Select value={shape} onValue={(s) => setShape(s as Shape)}>
              <option value="cartoon">Cartoon</option>
              <option value="sticks">Ball and stick</option>
              <option value="surface">Surface</option>
            </Select>
          </label>
        )}
        <ViewButtons
          ready={ready}
          focus={selection.value.length > 0 ? 'Zoom to selection' : 'Show all'}
          onFocus={() => viewer.current?.focus(selection.value)}
          onSave={() => void viewer.current?.savePicture(`${name}.png`)}
        />
      </div>
      <Frame host={host} ready={ready} problem={problem} remaining="The plots and the files are still available.">
        {ready && hover.value.length > 0 && table && (
          <p class="tip">{hover.value.map((r) => describeResidue(table, r)).join(' · ')}</p>
        )}
      </Frame>
      {footer}
      <Legend table={table} values={values} designed={designed} />
      <Selection table={table} marked={selection.value} />
    </section>
  )
}

/** The schemes for a source: those by pLDDT are not for B-factors that are predicted RMSD, which have their own. */
function schemesFor(source: Source, colours: Colour[]): Colour[] {
  if (!('text' in source) || !hasRmsdInB(source.text)) return colours
  return [...new Set(colours.map((c) => (c === 'plddt' || c === 'continuous' ? 'rmsd' : c)))]
}

/** Loads the code of the viewer and opens one. */
async function openViewer(element: HTMLElement, dark: boolean): Promise<Viewer> {
  const { Viewer } = await loadViewer()
  return Viewer.open(element, {
    dark,
    colour: colour.peek(),
    onHover: (residue) => (hover.value = residue ? [residue] : []),
    onPick: toggleSelection,
  })
}

/**
 * Opens the viewer in the host element, draws the source, and keeps the viewer in line with the shared state. Another
 * source is drawn by the same viewer.
 */
function useViewer(
  host: RefObject<HTMLDivElement | null>,
  source: Source,
  shape: Shape,
  values: Props['values'],
  designed: Props['designed'],
) {
  const opening = useRef<Promise<Viewer> | null>(null)
  const viewer = useRef<Viewer | null>(null)
  const [ready, setReady] = useState(false)
  const [problem, setProblem] = useState<{ title: string; text: string }>()
  const dark = useTheme()
  useEffect(() => {
    let superseded = false
    setReady(false)
    setProblem(undefined)
    const draw = async () => {
      opening.current ??= openViewer(host.current!, dark)
      const opened = await opening.current
      if (superseded) return
      viewer.current = opened
      await opened.load(source)
      if (!superseded) setReady(true)
    }
    draw().catch((e: Error) => {
      if (!viewer.current) opening.current = null // another source tries again
      if (superseded) return
      const noWebGL = e.name === 'NoWebGL'
      if (!noWebGL) console.error(e)
      setProblem({ title: noWebGL ? 'No 3D view' : 'The structure could not be drawn', text: e.message })
    })
    return () => {
      superseded = true
    }
  }, [source])
  useEffect(
    () => () => {
      viewer.current = null
      opening.current?.then(
        (opened) => opened.dispose(),
        () => undefined, // it was not opened
      )
    },
    [],
  )
  const useUpdate = (apply: (v: Viewer) => unknown, deps: unknown[]) =>
    useEffect(() => {
      if (ready && viewer.current) void apply(viewer.current)
    }, [ready, ...deps])
  useUpdate((v) => v.setTheme(dark), [dark])
  useUpdate((v) => v.setColours(colour.value, values, designed), [colour.value, values, designed?.join()])
  useUpdate((v) => v.setShape(shape), [shape])
  useUpdate((v) => v.highlight(hover.value), [hover.value])
  useUpdate((v) => v.paint(paintsOf(selection.value), selection.value.some(isPicked)), [selection.value])
  useUpdate((v) => ('topology' in source ? v.setFrame(frame.value) : undefined), [frame.value])
  return { viewer, ready, problem }
}

const isPicked = (m: Marked) => m.as === 'picked'

/** Selects a clicked residue, or clears the selection if it was the only one. extend adds it or removes it. */
function toggleSelection(residue: Residue | null, extend: boolean) {
  if (!residue) {
    if (!extend) select([])
    return
  }
  const clicked = { chain: residue.chain, from: residue.residue, to: residue.residue }
  const isClicked = (m: Marked) => m.chain === clicked.chain && m.from === clicked.from && m.to === clicked.to
  const selected = selection.peek().filter(isPicked)
  if (!selected.some(isClicked)) select(extend ? [...selected, clicked] : [clicked])
  else if (extend) select(selected.filter((m) => !isClicked(m)))
  else select(selected.length === 1 ? [] : [clicked])
}

/** The colours that mark the selected ranges. */
function paintsOf(marked: Marked[]) {
  return (['scored', 'aligned', 'picked'] as const)
    .map((as) => ({ stretches: marked.filter((m) => m.as === as), rgb: marks[as] }))
    .filter((p) => p.stretches.length > 0)
}

/** The name of a residue with its pLDDT and predicted RMSD. */
function describeResidue(table: Table, r: Residue): string {
  const { plddt = null, rmsd } = table.flat[table.index(r)]?.residue ?? {}
  return (
    table.label(r) +
    (plddt === null ? '' : `, pLDDT ${plddt.toFixed(1)}`) +
    (rmsd === undefined ? '' : `, predicted RMSD ${rmsd.toFixed(2)} Å`)
  )
}

// The names of the kinds of selected ranges, in the order in which they are listed.
const selectionNames: [Marked['as'], string][] = [
  ['picked', 'Selected'],
  ['scored', 'Scored'],
  ['aligned', 'Aligned'],
]

/** The selection in words. */
function Selection({ table, marked }: { table: Table | null; marked: Marked[] }) {
  if (!table || marked.length === 0)
    return <p class="selection dim">Nothing is selected. Click a residue to select it; hold Shift for several.</p>
  return (
    <p class="selection" data-selection={marked.map((m) => `${m.as}:${m.chain}:${m.from}-${m.to}`).join(' ')}>
      {selectionNames.map(([as, name]) => {
        const stretches = marked.filter((m) => m.as === as)
        return (
          stretches.length > 0 && (
            <span key={as}>
              <i style={{ background: css(marks[as]) }} />
              {name}: {table.describeStretches(stretches)}
            </span>
          )
        )
      })}
      <button type="button" class="bare" onClick={() => select([])}>
        Clear
      </button>
    </p>
  )
}
