// The structures of a comparison in one 3D view.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type ComparedStructure, type Comparison, download } from '../api'
import { useTheme } from '../plots/canvas'
import { chainColour } from '../plots/colour'
import { Frame, ViewButtons } from '../viewer/Frame'
import { loadSuperposed } from '../viewer/load'
import type { ResidueOf, Superposed, SuperposedViewer } from '../viewer/superposed'
import { structureColour } from './colour'

interface Props {
  comparison: Comparison
  hovered: ResidueOf[]
  onHover(residues: ResidueOf[]): void
}

/** The view, with a switch for each structure. Without WebGL it shows a message. */
export function Overlay({ comparison: c, hovered, onHover }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const { viewer, drawn, missing, problem } = useSuperposed(host, c, onHover)
  const [hidden, setHidden] = useState<boolean[]>([])
  useEffect(() => setHidden([]), [c])
  useEffect(() => {
    if (drawn.length > 0) viewer.current?.highlight(inView(hovered, drawn))
  }, [drawn, hovered])
  useEffect(() => {
    if (drawn.length > 0) void viewer.current?.setHidden(drawn.map((i) => hidden[i] ?? false))
  }, [drawn, hidden])
  const isReady = drawn.length > 0
  return (
    <section class="stage" aria-label="Superposed structures">
      <div class="controls">
        {c.structures.map((s, i) => (
          <label key={`${i} ${s.of}`} class="inline check">
            <input
              type="checkbox"
              checked={drawn.includes(i) && !hidden[i]}
              disabled={!drawn.includes(i)}
              onChange={(e) =>
                setHidden(c.structures.map((_, k) => (k === i ? !e.currentTarget.checked : !!hidden[k])))
              }
            />
            <i class="swatch" style={{ background: structureColour(i + 1) }} />
            <span>
              {i + 1}
              <span class="visually-hidden"> {s.name}</span>
            </span>
          </label>
        ))}
        <ViewButtons
          ready={isReady}
          focus="Show all"
          onFocus={() => viewer.current?.focus([])}
          onSave={() => void viewer.current?.savePicture('comparison.png')}
        />
      </div>
      <Frame
        host={host}
        ready={isReady}
        problem={problem ? { title: 'No 3D view', text: problem } : undefined}
        remaining="The scores are still available."
      />
      <p class="selection dim">
        {hovered.length > 0
          ? hovered.map((r) => `${r.structure + 1}: ${r.chain} ${r.residue}`).join(' · ')
          : 'Point at a residue, in the view or in the plot, to find its counterpart.'}
      </p>
      {missing.map((text) => (
        <p key={text} class="caution">
          {text}
        </p>
      ))}
    </section>
  )
}

/** The residues by the index of their structure in the view; those of structures that are not in it are left out. */
const inView = (residues: ResidueOf[], drawn: number[]) =>
  residues.flatMap((r) => {
    const structure = drawn.indexOf(r.structure)
    return structure < 0 ? [] : [{ ...r, structure }]
  })

/** Loads and draws the structures. drawn: the indices of those in the view, in its order. */
function useSuperposed(
  host: { current: HTMLDivElement | null },
  c: Comparison,
  onHover: (residues: ResidueOf[]) => void,
) {
  const viewer = useRef<SuperposedViewer | null>(null)
  const [drawn, setDrawn] = useState<number[]>([])
  const [missing, setMissing] = useState<string[]>([])
  const [problem, setProblem] = useState('')
  const dark = useTheme()
  useEffect(() => {
    const abort = new AbortController()
    setDrawn([])
    setMissing([])
    setProblem('')
    const open = async () => {
      const [{ SuperposedViewer: View }, files] = await Promise.all([
        loadSuperposed(),
        loadAll(c.structures, abort.signal),
      ])
      if (abort.signal.aborted || !host.current) return
      setMissing(files.filter((f) => typeof f === 'string'))
      const list = files.flatMap((f, i) => (typeof f === 'string' ? [] : [{ index: i, file: f }]))
      if (list.length === 0) {
        setProblem('The coordinates of these structures cannot be shown.')
        return
      }
      const opened = await View.open(
        host.current,
        list.map((l) => l.file),
        dark,
        (r) => onHover(r ? [{ ...r, structure: list[r.structure]!.index }] : []),
      )
      if (abort.signal.aborted) return opened.dispose()
      viewer.current = opened
      setDrawn(list.map((l) => l.index))
    }
    open().catch((e: Error) => {
      if (abort.signal.aborted) return
      if (e.name !== 'NoWebGL') console.error(e)
      setProblem(e.message)
    })
    return () => {
      abort.abort()
      viewer.current?.dispose()
      viewer.current = null
    }
  }, [c])
  useEffect(() => viewer.current?.setTheme(dark), [dark])
  return { viewer, drawn, missing, problem }
}

/** Loads the structures: entries of the Protein Data Bank one after the other, since the service sends few at a time. */
function loadAll(structures: ComparedStructure[], signal: AbortSignal) {
  let turn: Promise<unknown> = Promise.resolve()
  return Promise.all(
    structures.map((s, i) => {
      if (s.kind !== 'pdb') return loadOne(s, i, signal)
      const loaded = turn.then(() => loadOne(s, i, signal))
      turn = loaded
      return loaded
    }),
  )
}

/** Loads one structure; a sentence if it cannot be shown. */
async function loadOne(s: ComparedStructure, index: number, signal: AbortSignal): Promise<Superposed | string> {
  const what = `Structure ${index + 1} (${s.name})`
  if (s.transform === null) return `${what} cannot be superposed.`
  const url = await fileUrl(s).catch((e: Error) => e)
  if (url === '') return `${what} is not yours, so it is not in the 3D view.`
  if (url instanceof Error) return `${what} could not be loaded: ${url.message}`
  try {
    const answer = await download(url, signal)
    const isCIF = s.kind === 'pdb' ? isMmCIF(answer) : /\.(cif|mmcif)$/i.test(s.file ?? '')
    return {
      format: isCIF ? 'mmcif' : 'pdb',
      text: await answer.text(),
      rotation: s.transform.rotation,
      translation: s.transform.translation,
      rgb: chainColour(index),
    }
  } catch (e) {
    return `${what} could not be loaded: ${(e as Error).message}`
  }
}

const isMmCIF = (answer: Response) => answer.headers.get('Content-Type') === 'chemical/x-mmcif'

/** The address of the file of a structure; empty if it is not known. */
async function fileUrl(s: ComparedStructure): Promise<string> {
  if (s.jobId && s.file) {
    const run = s.jobRunId ?? ''
    const results = await api.results(s.jobId).then(
      (r) => (r.jobRunId === run ? r : api.results(s.jobId!, run)), // only the owner may read an earlier run
    )
    return results.artifacts.find((a) => a.name === s.file)?.url ?? ''
  }
  if (s.kind === 'pdb') return api.entryUrl(s.of)
  if (s.libraryItemId && s.file) return api.fileUrl(s.libraryItemId, s.file)
  return ''
}
