// The trajectory in the viewer, bound to the plots of what was measured over it.

import { useEffect, useState } from 'preact/hooks'
import { download, type Workflow } from '../api'
import { Failure, Loading } from '../components'
import { LinePlot } from '../plots/LinePlot'
import { continuousPlddt, plddt } from '../plots/measure'
import { Profile } from '../plots/Profile'
import type { Table } from '../plots/residues'
import { mayChange } from '../project'
import { fileSize } from '../result/Files'
import { type Colour, colour, frame, hover, type Residue, reset } from '../store'
import { Stage } from '../viewer/Stage'
import { ExtractFrame } from './ExtractFrame'
import { Player } from './Player'
import { centreFrames, readTopology, type Series, type SimulationResult } from './simulation'

const maxAutoloadBytes = 128 << 20 // a larger trajectory is loaded only on request

/** A trajectory with what was measured of it. */
interface Loaded {
  source: { topology: string; frames: Uint8Array<ArrayBuffer>; maxRadius: number }
  table: Table
  series: Series
  /** The RMSF of each residue in nm, if there is one for each. */
  rmsf: { at: Residue; value: number }[] | undefined
  notes: string[]
  notice: string
}

/** Loads the topology, the trajectory and the metrics. Throws if one of them is missing. */
async function load({ artifacts }: SimulationResult, signal: AbortSignal): Promise<Loaded> {
  const fetchFile = (path: string) => {
    const file = artifacts.find((a) => a.path === path)
    if (!file) throw new Error(`This run has no ${path}.`)
    return download(file.url, signal)
  }
  const [topology, frames, metrics] = await Promise.all([
    fetchFile('topology.pdb').then((r) => r.text()),
    fetchFile('trajectory.dcd').then(async (r) => new Uint8Array(await r.arrayBuffer())),
    fetchFile('metrics.json').then(
      async (r) => (await r.json()) as { series: Series; notes?: string[]; notice?: string },
    ),
  ])
  const table = readTopology(topology)
  const { series, notes = [], notice = '' } = metrics
  const rmsf = series.rmsf_nm
  return {
    source: { topology, frames, maxRadius: centreFrames(frames) },
    table,
    series,
    rmsf: rmsf?.length === table.flat.length ? rmsf.map((value, i) => ({ at: table.residue(i)!, value })) : undefined,
    notes,
    notice,
  }
}

/** Loads topology, trajectory and series, a large trajectory only on request, and shows them. */
export function Trajectory({ workflow, result }: { workflow: Workflow; result: SimulationResult }) {
  const bytes = result.artifacts.find((a) => a.path === 'trajectory.dcd')?.sizeBytes ?? 0
  const [requested, setRequested] = useState(bytes <= maxAutoloadBytes)
  const [loaded, setLoaded] = useState<Loaded>()
  const [error, setError] = useState<Error>()
  useEffect(() => {
    if (!requested) return
    const abort = new AbortController()
    reset()
    load(result, abort.signal).then(
      (l) => {
        colour.value = l.series.rmsf_nm ? 'rmsf' : 'chain'
        setLoaded(l)
      },
      (e: Error) => abort.signal.aborted || setError(e),
    )
    return () => abort.abort()
  }, [requested])
  if (error) return <Failure title="The trajectory could not be loaded" error={error} />
  if (!requested)
    return (
      <section class="card">
        <p>The trajectory has {fileSize(bytes)}.</p>
        <button type="button" onClick={() => setRequested(true)}>
          Load and play
        </button>
      </section>
    )
  return loaded ? <View workflow={workflow} loaded={loaded} /> : <Loading what="Loading the trajectory" />
}

/** The player and the plots. The frame shown, the hovered residue and the selection are shared. */
function View({ workflow, loaded }: { workflow: Workflow; loaded: Loaded }) {
  const { table, series, rmsf, source, notice, notes } = loaded
  const hasPlddt = table.flat.some((f) => f.residue.plddt !== null)
  const colours: Colour[] = ['chain', 'type']
  if (hasPlddt) colours.unshift('plddt', 'continuous')
  if (rmsf) colours.unshift('rmsf')
  return (
    <>
      {notice && <p class="hint">{notice}</p>}
      {notes.map((note) => (
        <p key={note} class="caution">
          {note}
        </p>
      ))}
      <div class="sides">
        <div class="stack">
          <Stage
            source={source}
            table={table}
            colours={colours}
            values={rmsf}
            name={workflow.name.replace(/[^\w.-]+/g, '-')}
            footer={<Player times={series.time_ns} />}
          />
          {mayChange(workflow) && <ExtractFrame workflow={workflow} times={series.time_ns} />}
          {hasPlddt && colour.value !== 'rmsf' && (
            <section class="card">
              <h2>Confidence of the starting structure</h2>
              <Profile table={table} secondary={{}} measure={colour.value === 'continuous' ? continuousPlddt : plddt} />
            </section>
          )}
        </div>
        <Plots loaded={loaded} />
      </div>
    </>
  )
}

/** The plots over time and the RMSF by residue; pointing at a plot shows that frame or residue. */
function Plots({ loaded: { table, series, rmsf } }: { loaded: Loaded }) {
  const oneChain = table.chains.length === 1
  const residueNumbers = table.flat.map((f, i) => (oneChain ? f.residue.number : i + 1))
  const overTime = [
    { title: 'RMSD from the start', values: series.rmsd_nm, colour: 0 },
    { title: 'Radius of gyration', values: series.radius_of_gyration_nm, colour: 2 },
    { title: 'End-to-end distance', values: oneChain ? series.end_to_end_nm : undefined, colour: 5 },
  ]
  return (
    <section class="card plots" aria-label="Plots">
      {overTime.map(
        ({ title, values, colour }) =>
          values && (
            <LinePlot
              key={title}
              title={title}
              x={series.time_ns}
              y={values}
              xLabel="Time (ns)"
              unit="nm"
              describeX={(time) => `${time} ns`}
              marked={frame.value}
              colour={colour}
              onPoint={(i) => {
                if (i !== null) frame.value = i
              }}
            />
          ),
      )}
      {rmsf && (
        <LinePlot
          title="RMSF by residue"
          x={residueNumbers}
          y={series.rmsf_nm!}
          xLabel="Residue"
          unit="nm"
          describeX={(residue) => `residue ${residue}`}
          marked={hover.value[0] ? table.index(hover.value[0]) : -1}
          colour={3}
          onPoint={(i) => (hover.value = i === null ? [] : [table.residue(i)!])}
        />
      )}
    </section>
  )
}
