// The frame of every page: where one can go, who is signed in, whether news come, and the page that the address names.
import { Component, type ComponentChildren, type ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, ServiceError, type Workflow } from './api'
import { streamState } from './events'
import { match, path } from './router'
import { askToSignIn, refreshSession, signedIn, signOut, usage, user } from './session'
import { SignIn } from './signin'
import { Failure, Loading } from './states'
import { Submit } from './submit/Submit'

type Page = ComponentType<{ id: string }>
interface Route {
  pattern: string
  title: string
  page?: Page
  load?: () => Promise<Page>
  open?: boolean
}

// open: shows public things to whoever has no session; the page itself asks for one where the service does.
const routes: Route[] = [
  { pattern: '/ui', title: 'Fold', page: Submit as Page },
  { pattern: '/ui/jobs', title: 'Jobs', load: async () => (await import('./jobs/Jobs')).Jobs as Page },
  { pattern: '/ui/jobs/:id', title: 'Result', load: async () => (await import('./result/Result')).Result, open: true },
  {
    pattern: '/ui/workflows',
    title: 'Questions and simulations',
    load: async () => (await import('./jobs/Flows')).Flows as Page,
  },
  { pattern: '/ui/workflows/:id', title: 'Workflow', page: WorkflowPage, open: true },
  {
    pattern: '/ui/webhooks',
    title: 'Webhooks',
    load: async () => (await import('./webhooks/Webhooks')).Webhooks as Page,
  },
  { pattern: '/ui/keys', title: 'Keys', load: async () => (await import('./keys/Keys')).Keys as Page },
  {
    pattern: '/ui/models',
    title: 'Models',
    load: async () => (await import('./models/Models')).Models as Page,
    open: true,
  },
]

const nav: [string, string][] = [
  ['/ui/', 'Fold'],
  ['/ui/jobs', 'Jobs'],
  ['/ui/webhooks', 'Webhooks'],
  ['/ui/keys', 'Keys'],
  ['/ui/models', 'Models'],
]

export function Shell() {
  const at = path.value
  const was = useRef(at)
  useEffect(() => {
    // who goes by keyboard or ear goes on from the new page's beginning
    if (was.current !== at) document.getElementById('main')?.focus({ preventScroll: true })
    was.current = at
  }, [at])
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="bar">
        <a class="brand" href="/ui/">
          <Mark />
          Pleat
        </a>
        <nav aria-label="Pages">
          {nav.map(([to, name]) => {
            const current =
              at.replace(/(.)\/$/, '$1') === to.replace(/(.)\/$/, '$1')
                ? 'page'
                : (to !== '/ui/' && at.startsWith(to + '/')) || (to === '/ui/jobs' && at.startsWith('/ui/workflows'))
                  ? 'true'
                  : undefined
            return (
              <a href={to} aria-current={current}>
                {name}
              </a>
            )
          })}
          <a href="/docs" class="away">
            API
          </a>
        </nav>
        <Who />
      </header>
      <StreamNote />
      <main id="main" tabIndex={-1}>
        <Here />
      </main>
      <SignIn />
    </>
  )
}

const Mark = () => (
  <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
    <path class="mark-a" d="M3 23 9 9l6 14 6-14 6 14" />
    <path class="mark-b" d="m15 23 6-14" />
  </svg>
)

function Who() {
  if (signedIn.value === null) return <div class="who" />
  if (!signedIn.value)
    return (
      <div class="who">
        <button type="button" class="small" onClick={() => (askToSignIn.value = true)}>
          Sign in
        </button>
      </div>
    )
  const u = usage.value
  return (
    <div class="who">
      {u && (
        <a href="/ui/keys" class="quota" title={`${u.used} of ${u.limit} jobs created today (UTC)`}>
          {u.remaining} of {u.limit} left today
        </a>
      )}
      <span class="user" title="Signed in">
        {user.value}
      </span>
      <button type="button" class="quiet small" onClick={() => void signOut().catch(() => refreshSession())}>
        Sign out
      </button>
    </div>
  )
}

function StreamNote() {
  const [late, setLate] = useState(false)
  const lost = streamState.value === 'reconnecting'
  useEffect(() => {
    // a cut of a moment is nobody's business
    setLate(false)
    if (!lost) return
    const timer = setTimeout(() => setLate(true), 1000)
    return () => clearTimeout(timer)
  }, [lost])
  return (
    <div role="status" class={lost && late ? 'notice' : 'none'} data-stream={streamState.value}>
      {lost &&
        late &&
        'The connection for live news is lost. Reconnecting; until then this page asks every few seconds.'}
    </div>
  )
}

function Here() {
  for (const r of routes) {
    const found = match(r.pattern, path.value)
    if (!found) continue
    if (!r.open && signedIn.value === null) return <Loading />
    if (!r.open && signedIn.value === false) return <SignInFirst title={r.title} />
    const id = found.id ?? ''
    return (
      <Guard key={r.pattern + id}>
        {r.page ? (
          <Titled title={r.title}>
            <r.page id={id} />
          </Titled>
        ) : (
          <Titled title={r.title}>
            <Late load={r.load!} id={id} />
          </Titled>
        )}
      </Guard>
    )
  }
  return (
    <Titled title="Not found">
      <section class="state">
        <h1>There is no such page</h1>
        <p>
          The address <code>{path.value}</code> leads nowhere here.
        </p>
        <p>
          <a class="button" href="/ui/">
            Fold something
          </a>{' '}
          <a class="button quiet" href="/ui/jobs">
            Your jobs
          </a>
        </p>
      </section>
    </Titled>
  )
}

function Titled({ title, children }: { title: string; children: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · Pleat`
  }, [title])
  return <>{children}</>
}

function SignInFirst({ title }: { title: string }) {
  useEffect(() => {
    askToSignIn.value = true
  }, [])
  return (
    <Titled title={title}>
      <section class="state">
        <h1>Sign in to go on</h1>
        <p>This page shows what is yours. Sign in with an API key of this service.</p>
        <p>
          <button type="button" onClick={() => (askToSignIn.value = true)}>
            Sign in
          </button>{' '}
          <a class="button quiet" href="/ui/models">
            What runs here
          </a>
        </p>
      </section>
    </Titled>
  )
}

/** A page whose code comes when it is first needed. */
function Late({ load, id }: { load: () => Promise<Page>; id: string }) {
  const [page, setPage] = useState<{ is: Page } | Error>()
  const [tries, setTries] = useState(0)
  useEffect(() => {
    let gone = false
    load().then(
      (is) => gone || setPage({ is }),
      (e: Error) => gone || setPage(e),
    )
    return () => {
      gone = true
    }
  }, [load, tries])
  if (page instanceof Error)
    return (
      <Failure
        title="This page could not be loaded"
        error={page}
        again={() => {
          setPage(undefined)
          setTries(tries + 1)
        }}
      />
    )
  return page ? <page.is id={id} /> : <Loading />
}

const ask = async () => (await import('./ask/Ask')).Ask as Page
const dynamics = async () => (await import('./dynamics/Dynamics')).Dynamics as Page

/** Reads what kind of workflow an address names. */
function WorkflowPage({ id }: { id: string }) {
  const [found, setFound] = useState<Workflow | Error>()
  const [tries, setTries] = useState(0)
  const who = signedIn.value
  useEffect(() => {
    if (who === null) return
    let gone = false
    const read = who
      ? api.workflow(id).catch((e) => {
          if (e instanceof ServiceError && e.status === 404) return api.publicWorkflow(id)
          throw e
        })
      : api.publicWorkflow(id)
    read.then(
      (w) => gone || setFound(w),
      (e: Error) => gone || setFound(e),
    )
    return () => {
      gone = true
    }
  }, [id, who, tries])
  if (!found) return <Loading />
  if (found instanceof Error)
    return <Failure title="This workflow cannot be shown" error={found} again={() => setTries(tries + 1)} />
  return <Late load={/qna|evolla/.test(found.workflow_type) ? ask : dynamics} id={id} />
}

/** Keeps a page that broke from taking the frame with it. */
class Guard extends Component<{ children?: ComponentChildren }, { error?: Error }> {
  static override getDerivedStateFromError(error: Error) {
    return { error }
  }
  override componentDidCatch(error: Error) {
    console.error(error)
  }
  render() {
    if (this.state.error)
      return (
        <Failure
          title="This page broke"
          error={this.state.error}
          again={() => this.setState({ error: undefined as never })}
        />
      )
    return this.props.children
  }
}
