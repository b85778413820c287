// A simulation: the molecule as it moves, bound to the curves of what was measured.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { api, download, isTerminal, sameOrigin, type Workflow } from '../api'
import { sourceOf } from '../ask/source'
import { Copy, Failure, Loading, StatusChip } from '../components'
import { onChange } from '../events'
import { moment } from '../format'
import { Lines } from '../plots/Lines'
import { Plddt } from '../plots/Plddt'
import type { Table } from '../plots/residues'
import { size } from '../result/Files'
import { Log, Progress, useRun } from '../result/Live'
import { Picture } from '../result/Picture'
import { PublicSwitch } from '../result/Share'
import { signedIn } from '../session'
import { type Colour, colour, frame, hover, reset } from '../store'
import { Stage } from '../viewer/Stage'
import { type Answer, figures, held, measured, readBeads, type Series } from './beads'
import '../result/result.css'

export function Dynamics({ id }: { id: string }) {
  const [flow, setFlow] = useState<Workflow>()
  const [error, setError] = useState<Error>()
  const who = signedIn.value
  const read = async () => {
    try {
      setFlow(await (who ? api.workflow(id).catch(() => api.publicWorkflow(id)) : api.publicWorkflow(id)))
      setError(undefined)
    } catch (e) {
      setError(e as Error)
    }
  }
  useEffect(() => {
    if (who === null) return
    void read()
    return onChange((change) => {
      if (!change || change.workflowId === id) void read()
    })
  }, [id, who])
  useEffect(() => reset, [id])
  const running = !!flow && !isTerminal(flow.status) && flow.status !== 'DRAFT'
  const { told, streamState } = useRun(`/v1/workflows/${encodeURIComponent(id)}/events`, running, (e) => {
    if (e.kind === 'state') void read()
  })
  useEffect(() => {
    if (!running) return
    const timer = setInterval(() => void read(), 5000)
    return () => clearInterval(timer)
  }, [running])
  useEffect(() => {
    if (flow) document.title = `${flow.name} · Pleat`
  }, [flow?.name])

  if (error && !flow) return <Failure title="This simulation cannot be shown" error={error} retry={() => void read()} />
  if (!flow) return <Loading what="Loading the simulation" />
  const source = sourceOf(flow)
  const task = flow.tasks[0]
  const answer = task?.result_raw_json as Answer | null | undefined
  return (
    <article data-workflow={id} data-state={flow.status}>
      <header class="head">
        <div class="grow">
          <h1>{flow.name}</h1>
          <p class="dim">
            <StatusChip status={flow.status} /> <time dateTime={flow.created_at}>{moment(flow.created_at)}</time>
            {source && (
              <>
                {' '}
                · <a href={`/ui/jobs/${source.job}`}>the result it began from</a>
              </>
            )}
          </p>
        </div>
        {flow.is_owner && (
          <div class="acts">
            <PublicSwitch
              isPublic={flow.is_public}
              set={(v) => api.setWorkflowPublic(id, v)}
              done={(v) => setFlow({ ...flow, is_public: v })}
              what="simulation"
            />
            {running && (
              <button
                type="button"
                class="quiet small"
                onClick={() => void api.cancelWorkflow(id).then(read, (e: Error) => setError(e))}
              >
                Stop
              </button>
            )}
          </div>
        )}
      </header>
      {error && (
        <p class="caution" role="status">
          {error.message}
        </p>
      )}
      {running && (
        <Progress
          stage={told.stage || flow.stage}
          done={told.stage ? told.done : flow.done}
          total={told.stage ? told.total : flow.total}
          queue={null}
          started={null}
          created={flow.created_at}
          lines={told.lines}
          running={flow.status === 'RUNNING' || !!told.stage}
          streamState={streamState}
        />
      )}
      {(flow.status === 'FAILED' || flow.status === 'STOPPED') && <Ended flow={flow} />}
      {flow.status === 'DRAFT' && (
        <section class="card">
          <p>This is a draft: it has not been run.</p>
          {flow.is_owner && (
            <button
              type="button"
              class="small"
              onClick={() => void api.executeWorkflow(id).then(read, (e: Error) => setError(e))}
            >
              Run it
            </button>
          )}
        </section>
      )}
      {answer && <Moving key={task!.task_id} flow={flow} answer={answer} />}
      <Asked flow={flow} />
    </article>
  )
}

function Ended({ flow }: { flow: Workflow }) {
  const [log, setLog] = useState('')
  useEffect(() => {
    if (flow.is_owner) void api.workflowLog(flow.workflow_id).then(setLog, () => undefined)
  }, [flow.workflow_id])
  return (
    <section class="card failed" role="alert">
      <h2>{flow.status === 'STOPPED' ? 'This simulation was stopped' : 'This simulation failed'}</h2>
      {flow.tasks[0]?.error && <p>{flow.tasks[0].error}</p>}
      {log.trim() && (
        <>
          <h3>The end of its log</h3>
          <Log lines={log.trim().split('\n').slice(-40)} />
        </>
      )}
    </section>
  )
}

function Asked({ flow }: { flow: Workflow }) {
  const rows = Object.entries(flow.input_payload).filter(
    ([k, v]) => v !== null && typeof v !== 'object' && !/^(source|isPublic)/.test(k),
  )
  return (
    <section class="card" aria-labelledby="with-title">
      <h2 id="with-title">What it ran with</h2>
      <dl class="pairs">
        {rows.map(([k, v]) => (
          <div>
            <dt>{k}</dt>
            <dd>{String(v)}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

const mostAtOnce = 128 << 20 // bytes of a trajectory that is loaded without being asked for

interface Loaded {
  source: { topology: string; frames: Uint8Array<ArrayBuffer>; reach: number }
  table: Table
  series: Series
  notes: string[]
  notice: string
}

function Moving({ flow, answer }: { flow: Workflow; answer: Answer }) {
  const file = (path: string) => answer.artifacts.find((a) => a.path === path)
  const [loaded, setLoaded] = useState<Loaded>()
  const [error, setError] = useState<Error>()
  const large = (file('trajectory.dcd')?.sizeBytes ?? 0) > mostAtOnce
  const [wanted, setWanted] = useState(!large)
  useEffect(() => {
    if (!wanted) return
    const stop = new AbortController()
    const get = (path: string) => {
      const f = file(path)
      if (!f) throw new Error(`This run has no ${path}.`)
      return download(f.url, stop.signal)
    }
    reset()
    void (async () => {
      try {
        const [topology, frames, metrics] = await Promise.all([
          get('topology.pdb').then((r) => r.text()),
          get('trajectory.dcd').then(async (r) => new Uint8Array(await r.arrayBuffer())),
          get('metrics.json').then(
            async (r) => (await r.json()) as { series: Series; notes?: string[]; notice?: string },
          ),
        ])
        const table = readBeads(topology)
        colour.value = metrics.series.rmsf_nm ? 'rmsf' : 'chain'
        setLoaded({
          source: { topology, frames, reach: held(frames) },
          table,
          series: metrics.series,
          notes: metrics.notes ?? [],
          notice: metrics.notice ?? '',
        })
      } catch (e) {
        if (!stop.signal.aborted) setError(e as Error)
      }
    })()
    return () => stop.abort()
  }, [wanted])
  const values = useMemo(() => {
    const rmsf = loaded?.series.rmsf_nm
    return rmsf?.length === loaded?.table.flat.length
      ? rmsf?.map((value, i) => ({ at: loaded!.table.residue(i)!, value }))
      : undefined
  }, [loaded])
  if (error) return <Failure title="The simulation cannot be shown" error={error} />
  if (!wanted)
    return (
      <section class="card">
        <p>The trajectory has {size(file('trajectory.dcd')!.sizeBytes)}.</p>
        <button type="button" onClick={() => setWanted(true)}>
          Load and play it
        </button>
      </section>
    )
  if (!loaded) return <Loading what="Loading the trajectory" />
  const { series, table } = loaded
  const n = series.time_ns.length
  const scored = table.flat.some((f) => f.residue.plddt !== null)
  const colours: Colour[] = [
    ...(values ? ['rmsf' as const] : []),
    ...(scored ? ['plddt' as const, 'continuous' as const] : []),
    'chain',
    'type',
  ]
  const point = (i: number | null) => {
    if (i !== null) frame.value = i
  }
  const numbers = table.flat.map((f, i) => (table.chains.length === 1 ? f.residue.number : i + 1))
  const over = hover.value[0] ? table.index(hover.value[0]) : -1
  return (
    <>
      {loaded.notice && <p class="hint">{loaded.notice}</p>}
      {loaded.notes.map((t) => (
        <p class="caution">{t}</p>
      ))}
      <div class="sides">
        <div class="stack">
          <Stage
            source={loaded.source}
            table={table}
            colours={colours}
            values={values}
            name={flow.name.replace(/[^\w.-]+/g, '-')}
            foot={<Player n={n} times={series.time_ns} />}
          />
          {flow.is_owner && <Extract flow={flow} times={series.time_ns} />}
          {scored && colour.value !== 'rmsf' && (
            <section class="card">
              <h2>Confidence of the structure it began from</h2>
              <Plddt table={table} second={{}} continuous={colour.value === 'continuous'} />
            </section>
          )}
        </div>
        <section class="card plots" aria-label="Curves">
          {series.rmsd_nm && (
            <Curve title="RMSD from the start" x={series.time_ns} y={series.rmsd_nm} colour={0} point={point} />
          )}
          {series.radius_of_gyration_nm && (
            <Curve
              title="Radius of gyration"
              x={series.time_ns}
              y={series.radius_of_gyration_nm}
              colour={2}
              point={point}
            />
          )}
          {series.end_to_end_nm && table.chains.length === 1 && (
            <Curve title="End-to-end distance" x={series.time_ns} y={series.end_to_end_nm} colour={5} point={point} />
          )}
          {values && (
            <Lines
              title="How much each residue moves"
              x={numbers}
              y={series.rmsf_nm!}
              xLabel="Residue"
              unit="nm"
              place="residue"
              at={over}
              colour={3}
              onPoint={(i) => (hover.value = i === null ? [] : [table.residue(i)!])}
            />
          )}
        </section>
      </div>
      <div class="columns">
        <div>
          <Metrics metrics={answer.metrics} />
          <Landscapes answer={answer} />
        </div>
        <div>
          <Files answer={answer} />
        </div>
      </div>
    </>
  )
}

function Curve({
  title,
  x,
  y,
  colour,
  point,
}: {
  title: string
  x: number[]
  y: number[]
  colour: number
  point(i: number | null): void
}) {
  return (
    <Lines
      title={title}
      x={x}
      y={y}
      xLabel="Time in ns"
      unit="nm"
      place="ns"
      at={frame.value}
      colour={colour}
      onPoint={point}
    />
  )
}

function Player({ n, times }: { n: number; times: number[] }) {
  const [playing, setPlaying] = useState(false)
  useEffect(() => {
    if (!playing) return
    const first = frame.peek()
    const began = performance.now()
    const rate = Math.max(15, n / 30) / 1000 // frames a millisecond: all of a long run in half a minute
    let next = requestAnimationFrame(function step(now) {
      // by the clock, so that a slow machine leaves frames out rather than lag
      frame.value = (first + Math.floor(Math.max(0, now - began) * rate)) % n
      next = requestAnimationFrame(step)
    })
    return () => cancelAnimationFrame(next)
  }, [playing, n])
  return (
    <div class="player" role="group" aria-label="Player">
      <button type="button" class="small" aria-pressed={playing} onClick={() => setPlaying(!playing)}>
        {playing ? 'Pause' : 'Play'}
      </button>
      <input
        type="range"
        min={0}
        max={n - 1}
        step={1}
        value={frame.value}
        aria-label="Frame"
        aria-valuetext={`${times[frame.value]} ns`}
        onInput={(e) => {
          setPlaying(false)
          frame.value = Number(e.currentTarget.value)
        }}
      />
      <output data-frame={frame.value}>
        {times[frame.value] !== undefined && `${Number(times[frame.value]!.toPrecision(4))} ns`} · frame{' '}
        {frame.value + 1} of {n}
      </output>
    </div>
  )
}

function Metrics({ metrics }: { metrics: Record<string, unknown> }) {
  const number = (v: number | null | undefined) => (v === null || v === undefined ? '–' : v.toFixed(3))
  return (
    <section class="card" aria-labelledby="measured-title">
      <h2 id="measured-title">Measured</h2>
      <div class="scroll">
        <table class="table num">
          <thead>
            <tr>
              <th>Quantity</th>
              <th class="right">Mean</th>
              <th class="right">± error</th>
              <th class="right">SD</th>
              <th class="right">Least</th>
              <th class="right">Most</th>
              <th>Unit</th>
            </tr>
          </thead>
          <tbody>
            {measured(metrics).map(([name, m]) => (
              <tr>
                <td>{name}</td>
                <td class="right">{number(m.mean)}</td>
                <td class="right">{number(m.error)}</td>
                <td class="right">{number(m.sd)}</td>
                <td class="right">{number(m.min)}</td>
                <td class="right">{number(m.max)}</td>
                <td>{m.unit}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="dim">
        The error is a standard error from blocks; while the run is shorter than the chain’s memory it is a lower bound.
      </p>
      <dl class="pairs">
        {figures(metrics).map(([k, v]) => (
          <div>
            <dt>{k}</dt>
            <dd>{v}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function Landscapes({ answer }: { answer: Answer }) {
  const find = (path: string) => answer.artifacts.find((a) => a.path === path)
  const both = [
    { file: find('free_energy.svg'), alt: 'Free energy over RMSD and radius of gyration' },
    { file: find('free_energy_pca.svg'), alt: 'Free energy over the first two principal components' },
  ].filter((b) => b.file)
  if (both.length === 0) return null
  return (
    <section class="card" aria-labelledby="land-title">
      <h2 id="land-title">Energy landscape</h2>
      <p class="dim">
        How often each place was visited, as −RT ln. It means a free energy only once every part was visited many times.
      </p>
      {both.map((b) => (
        <Picture file={b.file!} alt={b.alt} />
      ))}
    </section>
  )
}

function Extract({ flow, times }: { flow: Workflow; times: number[] }) {
  const [selection, setSelection] = useState('all')
  const [name, setName] = useState('frame.pdb')
  const [busy, setBusy] = useState(false)
  const [trouble, setTrouble] = useState('')
  const [made, setMade] = useState<{ url: string; words: string; path: string }>()
  const time = times[frame.value] ?? 0
  const take = async (e: Event) => {
    e.preventDefault()
    setBusy(true)
    setTrouble('')
    try {
      const f = await api.extractFrame(flow.workflow_id, { timeNs: time, selection, outputFilename: name })
      setMade({
        url: sameOrigin(f.pdbUrl),
        path: f.path,
        words: `Frame ${f.frameIndex + 1} at ${f.actualTimeNs} ns, ${f.atomCount} atoms. It is in your library too.`,
      })
    } catch (err) {
      setMade(undefined)
      setTrouble((err as Error).message)
    }
    setBusy(false)
  }
  return (
    <section class="card" aria-labelledby="take-title">
      <h2 id="take-title">Take this moment as a structure</h2>
      <form onSubmit={(e) => void take(e)}>
        <div class="fields">
          <label class="field">
            <span>Time in ns</span>
            <input type="text" class="num" value={String(time)} readOnly />
            <small>The frame that is shown; move the player to choose.</small>
          </label>
          <label class="field">
            <span>Which residues</span>
            <input
              type="text"
              value={selection}
              required
              maxLength={1000}
              onInput={(e) => setSelection(e.currentTarget.value)}
            />
            <small>all, resid 5:12, chainID A and not resname GLY</small>
          </label>
          <label class="field">
            <span>Name of the file</span>
            <input type="text" value={name} required maxLength={100} onInput={(e) => setName(e.currentTarget.value)} />
          </label>
        </div>
        {trouble && (
          <p class="refused" role="alert">
            {trouble}
          </p>
        )}
        <div class="row">
          <button type="submit" class="small" disabled={busy}>
            {busy ? 'Taking…' : 'Take it'}
          </button>
          {made && (
            <span role="status">
              <a href={made.url} download={made.path}>
                {made.path}
              </a>{' '}
              <span class="dim">{made.words}</span>
            </span>
          )}
        </div>
      </form>
    </section>
  )
}

function Files({ answer }: { answer: Answer }) {
  const cite = answer.artifacts.find((a) => a.path === 'citations.bib')
  const [bibtex, setBibtex] = useState('')
  const asked = useRef(false)
  useEffect(() => {
    if (!cite || asked.current) return
    asked.current = true
    void download(cite.url).then(
      async (r) => setBibtex(await r.text()),
      () => undefined,
    )
  }, [cite])
  return (
    <section class="card" aria-labelledby="mdfiles-title">
      <div class="row between">
        <h2 id="mdfiles-title">Files</h2>
        {bibtex && <Copy text={bibtex} label="Copy BibTeX" />}
      </div>
      <div class="scroll">
        <table class="table files">
          <thead>
            <tr>
              <th>File</th>
              <th class="right">Size</th>
            </tr>
          </thead>
          <tbody>
            {answer.artifacts.map((a) => (
              <tr>
                <td>
                  <a href={sameOrigin(a.url)} download={a.path}>
                    {a.path}
                  </a>
                </td>
                <td class="right num">{size(a.sizeBytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
