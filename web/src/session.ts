// The signed-in user. The page exchanges the API key for a cookie that scripts cannot read and does not keep the key.
import { signal } from '@preact/signals'
import { api, listeners, ServiceError, type Session, type Usage } from './api'
import { hasChosen, me, namedId } from './project'
import { query } from './router'

/** Whether a user is signed in; null until the service has answered. */
export const signedIn = signal<boolean | null>(null)
/** The name of the signed-in user; empty: none. */
export const user = signal('')
/** The user's quota; null: nobody is signed in. */
export const usage = signal<Usage | null>(null)
/** Whether the user signed in by the issuer, so that the session itself makes keys. */
export const byIssuer = signal(false)
/** The name of the issuer by which people sign in; empty: they use API keys alone. */
export const issuer = signal('')
/** Why the last sign-in by the issuer has failed; empty: it has not. */
export const loginFailure = signal('')
/** Whether the service may fetch entries of the Protein Data Bank. */
export const fetchesPDB = signal(false)
/** Whether the sign-in dialog is open. */
export const askToSignIn = signal(false)

/** Reads from the service who is signed in, and the user's quota unless it was read just before. */
export async function refreshSession(quota?: Usage) {
  try {
    const { user: name, fetchPdb, byIssuer: login } = await api.session()
    fetchesPDB.value = fetchPdb
    byIssuer.value = login
    if (name === null) me.value = null
    else {
      const reading = refreshProjects()
      if (hasChosen() || query.peek().has('project')) await reading // what the page reads depends on it
    }
    if (name !== null) {
      if (user.peek() !== '' && user.peek() !== name) return location.reload() // the page holds the data of another user
      user.value = name
    }
    signedIn.value = name !== null
    usage.value = name === null ? null : (quota ?? (await api.usage()))
    if (name === null) await readLogin()
  } catch {
    signedIn.value ??= false // the service is unreachable; the part of the page that needs it reports the error
  }
}

/** Reads the user's quota again. */
export async function refreshUsage() {
  if (!signedIn.peek()) return
  const read = await api.usage().catch(() => null)
  if (read && signedIn.peek()) usage.value = read
}

/** Reads who is signed in, and in which projects the user has a role. */
export async function refreshProjects() {
  const read = await api.me().catch(() => null) // a key that may not read has no answer
  if (read) me.value = read
}

// The quota is that of the chosen project.
namedId.subscribe(() => void refreshUsage())

listeners.quotaUsed = () => void refreshUsage()

// A session ends after 12 hours, or when its key is revoked. The draft stays, for the user to sign in again.
listeners.unauthorized = () => {
  if (signedIn.peek()) void refreshSession()
}

/** Reads how people sign in, and shows why a sign-in has failed that led here. */
async function readLogin() {
  const read = await api.login().catch(() => null)
  issuer.value = read?.issuer?.title ?? ''
  loginFailure.value = read?.failure ?? ''
  if (read?.failure) askToSignIn.value = true
}

/** Leads to the issuer, and back to this page. */
export function signInByIssuer() {
  keepToken()
  location.assign(`/v1/login/start?next=${encodeURIComponent(location.pathname + location.search)}`)
}

/** Exchanges an API key for a session. Throws ServiceError if the key is invalid, or may not read, as the page must. */
export async function signIn(key: string): Promise<Session> {
  const session = await api.openSession(key)
  const quota = await api.usage().catch(async (err: ServiceError) => {
    if (err.status !== 403) return undefined // what else is wrong does not depend on the key
    await api.closeSession()
    throw new ServiceError(
      403,
      'This key does not have the scope read, which the page needs. Sign in with another key.',
    )
  })
  await refreshSession(quota)
  askToSignIn.value = false
  return session
}

/** Ends the session, also at the issuer, and loads the page again, so that no data of the user stays in the tab. */
export async function signOut() {
  const { url } = await api.logout()
  location.assign(url || '/ui/')
}

// The token behind the # of a link is sent to no server, so that the way over the issuer loses it. The tab keeps it
// meanwhile.
const tokenKey = 'pleat.token'

function keepToken() {
  if (location.hash) sessionStorage.setItem(tokenKey, location.pathname + location.hash)
}

/** The token behind the # of the page's address, also after a sign-in by the issuer. */
export function tokenOfAddress(): string {
  const [path, kept] = (sessionStorage.getItem(tokenKey) ?? '').split('#')
  sessionStorage.removeItem(tokenKey)
  return location.hash.slice(1) || (path === location.pathname && kept) || ''
}
