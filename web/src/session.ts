// Who looks. The key is traded for a cookie that scripts cannot read, so that only the service knows whom it stands for.
import { signal } from '@preact/signals'
import { call, refused, type Session, type Usage } from './api'

export const signedIn = signal<boolean | null>(null) // null: not known yet
export const user = signal('')
export const usage = signal<Usage | null>(null)
export const askToSignIn = signal(false)

/** Asks the service who is signed in, and for their quota. */
export async function look() {
  try {
    const name = (await call<{ user: string | null }>('GET', '/v1/session')).user
    if (name !== null) user.value = name
    signedIn.value = name !== null
    usage.value = name === null ? null : await call<Usage>('GET', '/v1/usage')
  } catch {
    signedIn.value ??= false // the service is not there; the page says so where it asks for something
  }
}

// A session ends after 12 hours, and with its key. What was being written stays for whoever signs in again.
refused.tell = () => {
  if (signedIn.peek()) void look()
}

/** Trades a key for a session; throws a Refusal where the key is wrong. */
export async function signIn(key: string): Promise<Session> {
  const before = user.peek(),
    session = await call<Session>('POST', '/v1/session', { key })
  if (before !== '' && before !== session.user) location.reload() // what this tab holds is another's
  await look()
  askToSignIn.value = false
  return session
}

/** Ends the session. The tab begins anew, so that nothing of its user stays in it. */
export async function signOut() {
  await call('DELETE', '/v1/session')
  location.assign('/ui/')
}
