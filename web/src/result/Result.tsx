// A job: what came of it, or how it is getting on, or why nothing came.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { api, isTerminal, type JobView, type Results, ServiceError } from '../api'
import { Failure, Loading, StatusChip } from '../components'
import { onChange } from '../events'
import { moment } from '../format'
import { navigate } from '../router'
import { askToSignIn, signedIn } from '../session'
import { reset } from '../store'
import { Early } from './Early'
import { Citation, Files, Reproduce } from './Files'
import { Linked, Simulate } from './Follow'
import { Log, Progress, useRun } from './Live'
import { items } from './load'
import { PublicSwitch } from './Share'
import { Structure } from './Structure'
import './result.css'

interface Loaded {
  view: JobView
  results: Results
}

export function Result({ id }: { id: string }) {
  const [loaded, setLoaded] = useState<Loaded>()
  const [error, setError] = useState<Error>()
  const who = signedIn.value
  const alive = useRef(true)
  const known = useRef<JobView | null>(null)
  const read = useCallback(async () => {
    try {
      const [view, results] = await Promise.all([api.job(id), api.results(id)])
      if (!alive.current) return
      known.current = view
      setLoaded({ view, results })
      setError(undefined)
    } catch (e) {
      if (alive.current) setError(e as Error)
    }
  }, [id])
  useEffect(() => {
    alive.current = true
    if (who === null) return
    void read()
    const stop = onChange((change) => {
      // Of workflows, those that are new or whose state is another: of their progress there is much news.
      if (
        !change ||
        change.jobId === id ||
        (change.workflowId &&
          known.current?.workflows.find((w) => w.id === change.workflowId)?.status !== change.status)
      )
        void read()
    })
    const renew = setInterval(() => void read(), 6 * 3600_000) // links end after a day
    return () => {
      alive.current = false
      clearInterval(renew)
      stop()
    }
  }, [id, who, read])
  useEffect(() => reset, [id])

  const running = !!loaded && !isTerminal(loaded.view.run.status)
  const { told, streamState } = useRun(`/v1/jobs/${encodeURIComponent(id)}/events`, running, (e) => {
    if (e.kind === 'artifact' || (e.kind === 'state' && e.state)) void read()
  })
  useEffect(() => {
    // should a stream be refused, or the end be missed
    if (!running) return
    const timer = setInterval(() => void read(), 5000)
    return () => clearInterval(timer)
  }, [running, read])

  if (error && !loaded) return <NotShown error={error} again={() => void read()} />
  if (!loaded) return <Loading what="Loading the result" />
  const { view, results } = loaded
  const state = view.run.status
  return (
    <article data-job={view.job.id} data-state={state}>
      <Head view={view} read={read} />
      {error && (
        <p class="caution" role="status">
          {error.message}
        </p>
      )}
      {running && (
        <Progress
          stage={told.stage || view.progress.stage}
          done={told.stage ? told.done : view.progress.done}
          total={told.stage ? told.total : view.progress.total}
          queue={view.progress.queuePosition}
          started={view.run.startedAt}
          created={view.run.createdAt}
          lines={told.lines}
          running={state === 'RUNNING' || !!told.stage}
          streamState={streamState}
        />
      )}
      {(state === 'FAILED' || state === 'STOPPED') && <Failed view={view} />}
      {state === 'COMPLETED' && <Shown view={view} results={results} />}
      {running && <Asked view={view} results={results} />}
    </article>
  )
}

function NotShown({ error, again }: { error: Error; again(): void }) {
  if (error instanceof ServiceError && error.status === 401) {
    return (
      <section class="state" role="alert">
        <h1>This job is private</h1>
        <p>Its owner has not made it public. If it is yours, sign in with a key of yours.</p>
        <p>
          <button type="button" onClick={() => (askToSignIn.value = true)}>
            Sign in
          </button>
        </p>
      </section>
    )
  }
  if (error instanceof ServiceError && (error.status === 404 || error.status === 400)) {
    return (
      <section class="state" role="alert">
        <h1>There is no such job</h1>
        <p>It may have been deleted, belong to somebody else, or the address may be cut short.</p>
        <p>
          <a class="button" href="/ui/jobs">
            Your jobs
          </a>{' '}
          <a class="button quiet" href="/ui/">
            Fold something
          </a>
        </p>
      </section>
    )
  }
  return <Failure title="The result cannot be shown" error={error} retry={again} />
}

function Head({ view, read }: { view: JobView; read(): Promise<void> }) {
  const { job, run } = view
  const [trouble, setTrouble] = useState('')
  const act = async (what: () => Promise<unknown>) => {
    try {
      await what()
      setTrouble('')
      await read()
    } catch (e) {
      setTrouble((e as Error).message)
    }
  }
  useEffect(() => {
    document.title = `${job.name} · Pleat`
  }, [job.name])
  return (
    <header class="head">
      <div class="grow">
        <h1>{job.name}</h1>
        <p class="dim">
          <StatusChip status={run.status} /> {run.modelName} · <time dateTime={job.date}>{moment(job.date)}</time>
          {view.runs.length > 1 && ` · run ${run.number}`}
          {!job.isOwner && ' · public'}
        </p>
      </div>
      {job.isOwner && (
        <div class="acts">
          <PublicSwitch
            isPublic={job.isPublic}
            set={(v) => api.setPublic(job.id, v).then(read)}
            done={() => undefined}
            what="result"
          />
          <div class="row">
            {!isTerminal(run.status) && (
              <button type="button" class="quiet small" onClick={() => void act(() => api.cancelJob(job.id))}>
                Stop
              </button>
            )}
            {isTerminal(run.status) && (
              <button type="button" class="quiet small" onClick={() => void act(() => api.rerun(job.id))}>
                Run again
              </button>
            )}
            <a class="button quiet small" href={`/ui/?again=${job.id}`}>
              Change and run again
            </a>
            <button
              type="button"
              class="danger small"
              onClick={() => {
                if (confirm(`Delete “${job.name}” with its files? This cannot be undone.`))
                  void act(async () => {
                    await api.deleteJob(job.id)
                    navigate('/ui/jobs')
                  })
              }}
            >
              Delete
            </button>
          </div>
        </div>
      )}
      {trouble && (
        <p class="refused" role="alert">
          {trouble}
        </p>
      )}
    </header>
  )
}

const reasons: Record<string, string> = {
  oom: 'There was not enough memory',
  timeout: 'It took longer than allowed',
  invalid_input: 'The input could not be used',
  invalid: 'The input could not be used',
  unsupported: 'The engine cannot do this',
  internal: 'The engine failed',
  storage: 'The results could not be stored',
  crashed: 'The worker stopped',
  runner_crashed: 'The engine stopped',
  output_invalid: 'The engine gave no usable result',
  cancelled: 'It was stopped',
}

function Failed({ view }: { view: JobView }) {
  const { told } = useRun(`/v1/jobs/${encodeURIComponent(view.job.id)}/events`, view.job.isOwner, () => undefined)
  const failure = view.run.failure
  const stopped = view.run.status === 'STOPPED'
  return (
    <section class={stopped ? 'card' : 'card failed'} role="alert" data-failure={failure?.kind ?? ''}>
      <h2>{stopped ? 'This run was stopped' : (reasons[failure?.kind ?? ''] ?? 'This run failed')}</h2>
      {failure && !stopped && <p>{sentence(failure.message)}</p>}
      {told.lines.length > 0 && (
        <>
          <h3>The end of its log</h3>
          <Log lines={told.lines.slice(-40)} />
        </>
      )}
      {view.job.isOwner && (
        <p class="row">
          <a class="button small" href={`/ui/?again=${view.job.id}`}>
            Change and run again
          </a>{' '}
          <span class="dim">The form opens with this input.</span>
        </p>
      )}
    </section>
  )
}

const sentence = (s: string) => s.charAt(0).toUpperCase() + s.slice(1) + (/[.!?]$/.test(s) ? '' : '.')

function Shown({ view, results }: Loaded) {
  const tabs = items(view)
  const [sequence, setSequence] = useState(tabs[0]?.sequence ?? '')
  const choose = (s: string) => {
    reset()
    setSequence(s)
  }
  return (
    <>
      {tabs.length > 1 && (
        <div class="tabs" role="tablist" aria-label="Structures of this job">
          {tabs.map((t, i) => (
            <button
              type="button"
              role="tab"
              id={`tab-${i}`}
              aria-controls="structure"
              aria-selected={t.sequence === sequence}
              tabIndex={t.sequence === sequence ? 0 : -1}
              onClick={() => choose(t.sequence)}
              onKeyDown={(e) => {
                const by = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0
                if (!by) return
                const next = tabs[(i + by + tabs.length) % tabs.length]!
                choose(next.sequence)
                ;(e.currentTarget.parentElement!.children[tabs.indexOf(next)] as HTMLElement).focus()
              }}
            >
              {t.label}
            </button>
          ))}
        </div>
      )}
      <div
        id="structure"
        role={tabs.length > 1 ? 'tabpanel' : undefined}
        aria-labelledby={tabs.length > 1 ? `tab-${tabs.findIndex((t) => t.sequence === sequence)}` : undefined}
      >
        <Structure key={view.run.id + sequence} view={view} results={results} sequence={sequence}>
          <Linked view={view} />
          {view.job.isOwner && <Simulate view={view} sequence={sequence} />}
        </Structure>
      </div>
      <div class="columns">
        <Files view={view} results={results} />
        <div>
          <Reproduce view={view} results={results} />
          <Citation results={results} />
        </div>
      </div>
    </>
  )
}

// What is known before there is a result.
function Asked({ view, results }: Loaded) {
  return (
    <>
      <Early results={results} />
      <div class="columns">
        <Reproduce view={view} results={results} />
        {results.artifacts.length > 0 && <Files view={view} results={results} />}
      </div>
    </>
  )
}
