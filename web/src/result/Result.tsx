// The page of a job: its result, its progress, or why it failed.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { api, isTerminal, type JobView, type Results, ServiceError } from '../api'
import { Failure, Loading } from '../components'
import { onChange } from '../events'
import { asSentence } from '../format'
import { mayChange, withProject } from '../project'
import { query } from '../router'
import { askToSignIn, signedIn } from '../session'
import { reset } from '../store'
import { TabList } from '../tabs'
import { EarlyAlignment } from './EarlyAlignment'
import { FileImage } from './FileImage'
import { Citation, Files, RunSettings } from './Files'
import { DesignLinks, LinkedItems } from './FollowUps'
import { structuresOf } from './load'
import { RecordScores } from './RecordScores'
import { ResultHead } from './ResultHead'
import { Log, RunProgress, useRunEvents } from './RunProgress'
import { RunNotices, Runs } from './Runs'
import { Simulate } from './Simulate'
import { Structure } from './Structure'
import { Timings } from './Timings'
import { verdict } from './verdict'
import './result.css'

/** A job with its results, as far as there are any. */
interface Loaded {
  view: JobView
  results: Results
}

/** The path of a job's event stream. */
const eventsPath = (id: string) => `/v1/jobs/${encodeURIComponent(id)}/events`

/** The page of the job with this id. */
export function Result({ id }: { id: string }) {
  const { loaded, error, load } = useResult(id, query.value.get('run') ?? '')
  useEffect(() => reset, [id])
  const running = !!loaded && !isTerminal(loaded.view.run.status)
  const { run, streamState } = useRunEvents(eventsPath(id), running, (e) => {
    if (e.kind === 'artifact' || (e.kind === 'state' && e.state)) void load()
  })
  useEffect(() => {
    if (!running) return
    // The stream may be refused, or the last event missed.
    const timer = setInterval(() => void load(), 5000)
    return () => clearInterval(timer)
  }, [running, load])

  if (error && !loaded) return <LoadError error={error} retry={() => void load()} />
  if (!loaded) return <Loading what="Loading the result" />
  const { view, results } = loaded
  const { status } = view.run
  const progress = run.stage ? run : view.progress
  return (
    <article data-job={view.job.id} data-state={status}>
      <ResultHead view={view} reload={load} />
      <RunNotices view={view} reload={load} />
      {error && (
        <p class="caution" role="status">
          {error.message}
        </p>
      )}
      {running && (
        <RunProgress
          stage={progress.stage}
          done={progress.done}
          total={progress.total}
          queuePosition={view.progress.queuePosition}
          waiting={view.waiting}
          startedAt={view.run.startedAt}
          createdAt={view.run.createdAt}
          lines={run.lines}
          running={status === 'RUNNING' || !!run.stage}
          streamState={streamState}
        />
      )}
      {(status === 'FAILED' || status === 'STOPPED') && (
        <>
          <Failed view={view} />
          <Timings run={view.run} />
        </>
      )}
      {status === 'COMPLETED' && <Completed view={view} results={results} />}
      {running && <Unfinished view={view} results={results} />}
      <Runs view={view} />
    </article>
  )
}

const renewInterval = 6 * 3600_000 // ms; the links to files expire after a day

/** Loads the job and the results of a run, again whenever they change. run: empty for the latest. */
function useResult(id: string, run: string) {
  const [loaded, setLoaded] = useState<Loaded>()
  const [error, setError] = useState<Error>()
  const user = signedIn.value
  const mounted = useRef(true)
  const known = useRef<JobView | null>(null)
  const shown = useRef('')
  shown.current = id + run
  const load = useCallback(async () => {
    try {
      const [view, results] = await Promise.all([api.job(id, run), api.results(id, run)])
      if (!mounted.current || shown.current !== id + run) return // the address is another now
      known.current = view
      setLoaded({ view, results })
      setError(undefined)
    } catch (e) {
      if (mounted.current && shown.current === id + run) setError(e as Error)
    }
  }, [id, run])
  useEffect(() => {
    mounted.current = true
    if (user === null) return
    void load()
    const unsubscribe = onChange((change) => {
      // Workflows send many progress events; only a new workflow or a new status matters here.
      const status = known.current?.workflows.find((w) => w.id === change?.workflowId)?.status
      if (!change || change.jobId === id || (change.workflowId && status !== change.status)) void load()
    })
    const timer = setInterval(() => void load(), renewInterval)
    return () => {
      mounted.current = false
      clearInterval(timer)
      unsubscribe()
    }
  }, [id, user, load])
  return { loaded, error, load }
}

/** Why a job cannot be shown: it is private, does not exist, or the service failed. */
function LoadError({ error, retry }: { error: Error; retry(): void }) {
  const status = error instanceof ServiceError ? error.status : 0
  if (status === 401)
    return (
      <section class="state" role="alert">
        <h1>This job is private</h1>
        <p>Its owner has not made it public. If it is yours, sign in with one of your keys.</p>
        <p>
          <button type="button" onClick={() => (askToSignIn.value = true)}>
            Sign in
          </button>
        </p>
      </section>
    )
  if (status === 404 || status === 400)
    return (
      <section class="state" role="alert">
        <h1>Job not found</h1>
        <p>It may have been deleted, it may belong to another user, or the address may be incomplete.</p>
        <p>
          <a class="button" href="/ui/jobs">
            Your jobs
          </a>{' '}
          <a class="button quiet" href="/ui/">
            New fold
          </a>
        </p>
      </section>
    )
  return <Failure title="The result could not be loaded" error={error} retry={retry} />
}

// Titles of failures, by their kind.
const failureTitles: Record<string, string> = {
  oom: 'Out of memory',
  timeout: 'The run exceeded its time limit',
  invalid_input: 'Invalid input',
  invalid: 'Invalid input',
  unsupported: 'Not supported by the engine',
  internal: 'The engine failed',
  storage: 'The results could not be stored',
  crashed: 'The worker stopped unexpectedly',
  runner_crashed: 'The engine stopped unexpectedly',
  output_invalid: 'The engine returned invalid output',
  cancelled: 'This run was stopped',
}

/** A run that failed or was stopped, with the end of its log. */
function Failed({ view }: { view: JobView }) {
  const isLatest = view.runs[0]?.id === view.run.id // the service streams the events of the latest run
  const { run } = useRunEvents(eventsPath(view.job.id), view.job.isOwner && isLatest, () => undefined)
  const { failure } = view.run
  const stopped = view.run.status === 'STOPPED'
  const title = stopped ? 'This run was stopped' : (failureTitles[failure?.kind ?? ''] ?? 'This run failed')
  return (
    <section class={stopped ? 'card' : 'card failed'} role="alert" data-failure={failure?.kind ?? ''}>
      <h2>{title}</h2>
      {failure && !stopped && <p>{asSentence(failure.message)}</p>}
      {run.lines.length > 0 && (
        <>
          <h3>End of the log</h3>
          <Log lines={run.lines.slice(-40)} />
        </>
      )}
      {mayChange(view.job) && (
        <p class="row">
          <a class="button small" href={withProject(`/ui/?again=${view.job.id}`, view.job.projectId)}>
            Edit and rerun
          </a>{' '}
          <span class="dim">Opens the form with this input.</span>
        </p>
      )}
    </section>
  )
}

// More structures than this have no tabs; the table of records leads to each.
const maxTabs = 12

/** A completed job: a tab for each structure, then files, settings and citations. */
function Completed({ view, results }: Loaded) {
  const structures = structuresOf(view)
  const [chosen, setSequence] = useState('')
  // The runs of a job have sequences of their own.
  const sequence = structures.find((s) => s.sequence === chosen)?.sequence ?? structures[0]?.sequence ?? ''
  const hasRecords = structures.length > 1
  const hasTabs = hasRecords && structures.length <= maxTabs
  const show = (name: string) => {
    reset()
    setSequence(name)
  }
  return (
    <>
      {hasRecords && <RecordScores view={view} selected={sequence} select={show} />}
      {hasTabs && (
        <TabList
          label="Structures of this job"
          idPrefix="tab"
          panel="structure"
          tabs={structures.map(({ sequence, label }) => ({ name: sequence, title: label }))}
          selected={sequence}
          select={show}
        />
      )}
      <div
        id="structure"
        role={hasTabs ? 'tabpanel' : undefined}
        aria-labelledby={hasTabs ? `tab-${sequence}` : undefined}
      >
        <Structure key={view.run.id + sequence} view={view} results={results} sequence={sequence}>
          <LinkedItems view={view} />
          {mayChange(view.job) && <Simulate view={view} sequence={sequence} />}
          {mayChange(view.job) && sequence === structures[0]?.sequence && <DesignLinks view={view} />}
        </Structure>
      </div>
      {hasRecords && <OtherStructures view={view} results={results} shown={sequence} />}
      <div class="columns">
        <Files view={view} results={results} />
        <div>
          <Timings run={view.run} />
          <RunSettings view={view} results={results} />
          <Citation results={results} />
        </div>
      </div>
    </>
  )
}

// More structures than this are printed without plots.
const maxPrintedPlots = 12

/** The structures that are not shown, for print: the verdict and the service's plots of each. */
function OtherStructures({ view, results, shown }: Loaded & { shown: string }) {
  const others = structuresOf(view).filter((s) => s.sequence !== shown)
  return (
    <div class="print-only">
      {others.map(({ sequence, label }, i) => {
        const v = verdict(view.predictions.find((p) => p.sequenceId === sequence) ?? null, null)
        const plots = plotKinds.flatMap(({ kind, title }) => {
          const file = results.artifacts.find((a) => a.kind === kind && a.sequenceId === sequence)
          return file && i < maxPrintedPlots ? [{ file, title }] : []
        })
        return (
          <section key={sequence} class="card" aria-label={label}>
            <div class={`verdict ${v.tone}`}>
              <h2>
                {label}: {v.title}
              </h2>
              <p>{v.lines.join(' ')}</p>
            </div>
            {plots.map(({ file, title }) => (
              <figure key={title} class="plot">
                <h3>{title}</h3>
                <FileImage file={file} alt={`${title} of ${label}`} />
              </figure>
            ))}
          </section>
        )
      })}
    </div>
  )
}

// The plots that the service draws of each structure.
const plotKinds = [
  { kind: 'plddt_plot', title: 'Confidence by residue' },
  { kind: 'predicted_rmsd_plot', title: 'Predicted RMSD by residue' },
  { kind: 'pae_plot', title: 'Predicted aligned error' },
]

/** The facts that are known before the run has ended. */
function Unfinished({ view, results }: Loaded) {
  return (
    <>
      <EarlyAlignment results={results} />
      <div class="columns">
        <RunSettings view={view} results={results} />
        {results.artifacts.length > 0 && <Files view={view} results={results} />}
      </div>
    </>
  )
}
