// Who looks. The key is traded for a cookie that scripts cannot read, so that only the service knows: its answer to the
// quota says whether there is a session.
import { signal } from '@preact/signals'
import { call, Refusal, type Session, type Usage } from './api'

export const signedIn = signal<boolean | null>(null) // null: not known yet
export const usage = signal<Usage | null>(null)
export const askToSignIn = signal(false)

/** Asks the service for the quota, and thereby whether there is a session. */
export async function look() {
  try {
    usage.value = await call<Usage>('GET', '/v1/usage')
    signedIn.value = true
  } catch (e) {
    if (e instanceof Refusal && e.status === 401) {
      signedIn.value = false
      usage.value = null
    }
  }
}

/** Trades a key for a session; throws a Refusal where the key is wrong. */
export async function signIn(key: string): Promise<Session> {
  const session = await call<Session>('POST', '/v1/session', { key })
  await look()
  askToSignIn.value = false
  return session
}

export async function signOut() {
  await call('DELETE', '/v1/session')
  signedIn.value = false
  usage.value = null
}
