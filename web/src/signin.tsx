// The sign-in dialog.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ServiceError } from './api'
import { Input } from './controls'
import { askToSignIn, issuer, loginFailure, signIn, signInByIssuer } from './session'

/** The dialog that exchanges an API key for a session. */
export function SignIn() {
  const dialog = useRef<HTMLDialogElement>(null)
  const [key, setKey] = useState('')
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  const open = askToSignIn.value
  useEffect(() => {
    const d = dialog.current!
    if (open && !d.open) d.showModal()
    else if (!open && d.open) d.close()
    if (!open) {
      setKey('')
      setError('')
    }
  }, [open])
  const submit = async (e: Event) => {
    e.preventDefault()
    setBusy(true)
    setError('')
    try {
      await signIn(key.trim())
    } catch (err) {
      setError(
        err instanceof ServiceError && err.status === 401
          ? 'This key is not valid. It may have been revoked, or belong to another service.'
          : (err as Error).message,
      )
    }
    setBusy(false)
  }
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="signin-title" onClose={() => (askToSignIn.value = false)}>
      <form onSubmit={(e) => void submit(e)}>
        <h2 id="signin-title">Sign in</h2>
        {issuer.value && (
          <p>
            <button type="button" onClick={signInByIssuer}>
              Sign in with {issuer.value}
            </button>
          </p>
        )}
        <p class="dim">
          Your API key is sent once and exchanged for a cookie that lasts 12 hours. The page does not store the key.
        </p>
        <input type="text" name="username" autocomplete="username" value="api key" readOnly hidden />
        <label class="field">
          <span>API key</span>
          <Input
            type="password"
            autocomplete="current-password"
            required
            maxLength={256}
            value={key}
            onValue={setKey}
            aria-invalid={!!error}
            aria-describedby="signin-error"
          />
        </label>
        <p id="signin-error" class="wrong" role="alert">
          {error || loginFailure.value}
        </p>
        <p class="dim">
          No key yet? The operator of the service creates one: <code>pleat keys create --user NAME</code>
        </p>
        <div class="row end">
          <button type="button" class="quiet" onClick={() => (askToSignIn.value = false)}>
            Cancel
          </button>
          <button type="submit" disabled={busy || !key.trim()}>
            {busy ? 'Signing in…' : 'Sign in'}
          </button>
        </div>
      </form>
    </dialog>
  )
}
