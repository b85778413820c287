// The frame of every page: navigation, the signed-in user, the state of the event stream, and the page of the address.
import { Component, type ComponentChildren, type ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, ServiceError, type Workflow } from './api'
import { Failure, Loading } from './components'
import { polls, streamNotice, streamState } from './events'
import { may, me, namedId, withProject } from './project'
import { match, path } from './router'
import { askToSignIn, refreshSession, signedIn, signOut, usage, user } from './session'
import { SignIn } from './signin'
import { Submit } from './submit/Submit'
import { RoleTooSmall, Switcher, ViewerNote } from './switcher'
import { workflowKind } from './workflow'

/** The component of a page; id is the last part of its address. */
type Page = ComponentType<{ id: string }>

/** An address with its page. page is part of the first download; load fetches it when it is needed. */
interface Route {
  pattern: string
  title: string
  page?: Page
  /** Loads the page's code when it is first needed. */
  load?: () => Promise<Page>
  /** Whether the page is shown without a session. It asks to sign in itself if the service answers 401. */
  isPublic?: boolean
  /** For a page that lists or creates in the chosen project: the role without which it cannot be used. */
  role?: 'viewer' | 'member'
}

// The pages, by address.
const routes: Route[] = [
  { pattern: '/ui', title: 'Fold', page: Submit as Page, role: 'member' },
  { pattern: '/ui/jobs', title: 'Jobs', load: async () => (await import('./jobs/Jobs')).Jobs as Page, role: 'viewer' },
  {
    pattern: '/ui/jobs/:id',
    title: 'Result',
    load: async () => (await import('./result/Result')).Result,
    isPublic: true,
  },
  {
    pattern: '/ui/batches',
    title: 'Batches',
    load: async () => (await import('./batches/Batches')).Batches as Page,
    role: 'viewer',
  },
  {
    pattern: '/ui/batches/new',
    title: 'New batch',
    load: async () => (await import('./batches/NewBatch')).NewBatch as Page,
    role: 'member',
  },
  {
    pattern: '/ui/batches/:id',
    title: 'Batch',
    load: async () => (await import('./batches/Batch')).BatchPage,
    isPublic: true,
  },
  {
    pattern: '/ui/compare',
    title: 'Compare',
    load: async () => (await import('./compare/Compare')).Compare as Page,
    isPublic: true,
  },
  {
    pattern: '/ui/workflows',
    title: 'Questions and simulations',
    load: async () => (await import('./jobs/Workflows')).Workflows as Page,
    role: 'viewer',
  },
  {
    pattern: '/ui/designs/new',
    title: 'New design',
    load: async () => (await import('./designs/NewDesign')).NewDesign as Page,
    role: 'member',
  },
  { pattern: '/ui/workflows/:id', title: 'Workflow', page: WorkflowPage, isPublic: true },
  {
    pattern: '/ui/library/:id',
    title: 'Structure',
    load: async () => (await import('./designs/Item')).Item,
  },
  {
    pattern: '/ui/library',
    title: 'Library',
    load: async () => (await import('./library/Library')).Library as Page,
    role: 'viewer',
  },
  {
    pattern: '/ui/webhooks',
    title: 'Webhooks',
    load: async () => (await import('./webhooks/Webhooks')).Webhooks as Page,
    role: 'viewer',
  },
  { pattern: '/ui/keys', title: 'Keys', load: async () => (await import('./keys/Keys')).Keys as Page },
  {
    pattern: '/ui/usage',
    title: 'Usage',
    load: async () => (await import('./usage/Usage')).Usage as Page,
  },
  {
    pattern: '/ui/notifications',
    title: 'Notifications',
    load: async () => (await import('./notifications/Notifications')).Notifications as Page,
  },
  {
    pattern: '/ui/confirm',
    title: 'Confirm your address',
    load: async () => (await import('./notifications/Confirm')).Confirm as Page,
  },
  {
    pattern: '/ui/projects',
    title: 'Projects',
    load: async () => (await import('./people/Projects')).Projects as Page,
  },
  {
    pattern: '/ui/projects/:id',
    title: 'People',
    load: async () => (await import('./people/People')).People,
  },
  {
    pattern: '/ui/join',
    title: 'Invitation',
    load: async () => (await import('./people/Join')).Join as Page,
    isPublic: true,
  },
  {
    pattern: '/ui/operator',
    title: 'Operators',
    load: async () => (await import('./operator/Operator')).Operator as Page,
  },
  {
    pattern: '/ui/models',
    title: 'Models',
    load: async () => (await import('./models/Models')).Models as Page,
    isPublic: true,
  },
]

/** Begins to load the page of the address, while the service is asked who is signed in. */
export function preload() {
  const route = routes.find((r) => match(r.pattern, path.peek()))
  route?.load?.().catch(() => undefined) // LazyPage reports it
}

// The links at the top. ofProject: the page lists what the chosen project owns, which its address names.
const navigation = [
  { href: '/ui/', name: 'Fold' },
  { href: '/ui/jobs', name: 'Jobs', ofProject: true },
  { href: '/ui/batches', name: 'Batches', ofProject: true },
  { href: '/ui/library', name: 'Library', ofProject: true },
  { href: '/ui/webhooks', name: 'Webhooks', ofProject: true },
  { href: '/ui/keys', name: 'Keys', ofProject: true },
  { href: '/ui/models', name: 'Models' },
]

/** The aria-current of a navigation link: "page" for the page itself, "true" for a page below it. */
function currentState(href: string, address: string): 'page' | 'true' | undefined {
  const withoutSlash = (path: string) => path.replace(/(.)\/$/, '$1')
  if (withoutSlash(address) === withoutSlash(href)) return 'page'
  if (href === '/ui/jobs' && /^\/ui\/(workflows|compare|designs)/.test(address)) return 'true'
  return href !== '/ui/' && address.startsWith(`${href}/`) ? 'true' : undefined
}

/** The frame with the page of the address. */
export function Shell() {
  const address = path.value
  const previous = useRef(address)
  useEffect(() => {
    // Keyboards and screen readers continue at the beginning of the new page.
    if (previous.current !== address) document.getElementById('main')?.focus({ preventScroll: true })
    previous.current = address
  }, [address])
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="bar">
        <a class="brand" href="/ui/">
          <Logo />
          Pleat
        </a>
        <nav aria-label="Pages">
          {navigation.map(({ href, name, ofProject }) => (
            <a key={href} href={ofProject ? withProject(href) : href} aria-current={currentState(href, address)}>
              {name}
            </a>
          ))}
          {me.value?.isOperator && (
            <a href="/ui/operator" aria-current={currentState('/ui/operator', address)}>
              Operators
            </a>
          )}
          <a href="/docs" class="away">
            API
          </a>
        </nav>
        <Switcher />
        <Account />
      </header>
      <StreamNotice />
      <main id="main" tabIndex={-1}>
        <CurrentPage />
      </main>
      <SignIn />
    </>
  )
}

const Logo = () => (
  <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
    <path class="mark-a" d="M3 23 9 9l6 14 6-14 6 14" />
    <path class="mark-b" d="m15 23 6-14" />
  </svg>
)

/** The quota, the user, and the button to sign in or out. */
function Account() {
  if (signedIn.value === null) return <div class="account" />
  if (!signedIn.value)
    return (
      <div class="account">
        <button type="button" class="small" onClick={() => (askToSignIn.value = true)}>
          Sign in
        </button>
      </div>
    )
  const u = usage.value
  return (
    <div class="account">
      {u && (
        <a href="/ui/keys" class="quota" title={`${u.used} of ${u.limit} jobs created today (UTC)`}>
          {u.remaining} of {u.limit} jobs left today
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

/** A notice while the event stream tells nothing for longer than a second. */
function StreamNotice() {
  const [late, setLate] = useState(false)
  const lost = polls(streamState.value)
  useEffect(() => {
    setLate(false)
    if (!lost) return
    const timer = setTimeout(() => setLate(true), 1000)
    return () => clearTimeout(timer)
  }, [lost])
  return (
    <div role="status" class={lost && late ? 'notice' : 'none'} data-stream={streamState.value}>
      {lost && late && streamNotice(streamState.value)}
    </div>
  )
}

/** The page of the address, or the request to sign in if the page is not public. */
function CurrentPage() {
  for (const r of routes) {
    const parameters = match(r.pattern, path.value)
    if (!parameters) continue
    if (!r.isPublic && signedIn.value === null) return <Loading />
    if (!r.isPublic && signedIn.value === false) return <SignInFirst title={r.title} />
    if (r.role && !may(r.role)) return <RoleTooSmall title={r.title} />
    const id = parameters.id ?? ''
    return (
      // The lists and forms of another project are others.
      <ErrorBoundary key={r.pattern + id + (r.role ? namedId.value : '')}>
        {r.role && !may('member') && <ViewerNote />}
        {r.page ? (
          <Titled title={r.title}>
            <r.page id={id} />
          </Titled>
        ) : (
          <Titled title={r.title}>
            <LazyPage load={r.load!} id={id} />
          </Titled>
        )}
      </ErrorBoundary>
    )
  }
  return (
    <Titled title="Not found">
      <section class="state">
        <h1>Page not found</h1>
        <p>
          There is no page at <code>{path.value}</code>.
        </p>
        <p>
          <a class="button" href="/ui/">
            New fold
          </a>{' '}
          <a class="button quiet" href="/ui/jobs">
            Your jobs
          </a>
        </p>
      </section>
    </Titled>
  )
}

/** Sets the title of the window. */
function Titled({ title, children }: { title: string; children: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · Pleat`
  }, [title])
  return <>{children}</>
}

/** Opens the sign-in dialog in place of a page that needs a user. */
function SignInFirst({ title }: { title: string }) {
  useEffect(() => {
    askToSignIn.value = true
  }, [])
  return (
    <Titled title={title}>
      <section class="state">
        <h1>Sign in to continue</h1>
        <p>This page shows your own data. Sign in with an API key of this service.</p>
        <p>
          <button type="button" onClick={() => (askToSignIn.value = true)}>
            Sign in
          </button>{' '}
          <a class="button quiet" href="/ui/models">
            Models
          </a>
        </p>
      </section>
    </Titled>
  )
}

/** A page whose code is loaded when it is first needed. */
function LazyPage({ load, id }: { load: () => Promise<Page>; id: string }) {
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
        retry={() => {
          setPage(undefined)
          setTries(tries + 1)
        }}
      />
    )
  return page ? <page.is id={id} /> : <Loading />
}

// The pages of workflows, loaded when needed.
const ask = async () => (await import('./ask/Ask')).Ask as Page
const dynamics = async () => (await import('./dynamics/Dynamics')).Dynamics as Page
const compare = async () => (await import('./compare/Compare')).Compare as Page
const designs = async () => (await import('./designs/Designs')).Designs as Page
const alignment = async () => (await import('./alignment/Alignment')).AlignmentPage

/** The page of a workflow, depending on its type. */
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
    return <Failure title="The workflow could not be loaded" error={found} retry={() => setTries(tries + 1)} />
  return <LazyPage load={pages[workflowKind(found.workflow_type)]} id={id} />
}

// The pages of workflows, by kind.
const pages = {
  Design: designs,
  Question: ask,
  Simulation: dynamics,
  Comparison: compare,
  Alignment: alignment,
}

/** Shows an error instead of a page that throws, and keeps the frame. */
class ErrorBoundary extends Component<{ children?: ComponentChildren }, { error?: Error }> {
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
          title="This page failed"
          error={this.state.error}
          retry={() => this.setState({ error: undefined as never })}
        />
      )
    return this.props.children
  }
}
