// Who looks. The key is traded for a cookie that scripts cannot read, so that only the service knows whom it stands for.
import { signal } from '@preact/signals'
import { call, type Session, type Usage } from './api'

export const signedIn = signal<boolean | null>(null) // null: not known yet
export const user = signal('')
export const usage = signal<Usage | null>(null)
export const askToSignIn = signal(false)

/** Asks the service who is signed in, and for their quota. */
export async function look() {
  try {
    const name = (await call<{ user: string | null }>('GET', '/v1/session')).user
    user.value = name ?? ''
    signedIn.value = name !== null
    usage.value = name === null ? null : await call<Usage>('GET', '/v1/usage')
  } catch {
    signedIn.value ??= false // the service is not there; the page says so where it asks for something
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
