import { useEffect, useRef, useState } from 'preact/hooks'
import { ServiceError } from './api'
import { askToSignIn, signIn } from './session'

/** The dialog that trades a key for a session. */
export function SignIn() {
  const dialog = useRef<HTMLDialogElement>(null)
  const [key, setKey] = useState(''),
    [wrong, setWrong] = useState(''),
    [busy, setBusy] = useState(false)
  const open = askToSignIn.value
  useEffect(() => {
    const d = dialog.current!
    if (open && !d.open) d.showModal()
    else if (!open && d.open) d.close()
    if (!open) {
      setKey('')
      setWrong('')
    }
  }, [open])
  const submit = async (e: Event) => {
    e.preventDefault()
    setBusy(true)
    setWrong('')
    try {
      await signIn(key.trim())
    } catch (err) {
      setWrong(
        err instanceof ServiceError && err.status === 401
          ? 'This key is not valid here. It may have been revoked, or belong to another service.'
          : (err as Error).message,
      )
    }
    setBusy(false)
  }
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="signin-title" onClose={() => (askToSignIn.value = false)}>
      <form onSubmit={(e) => void submit(e)}>
        <h2 id="signin-title">Sign in</h2>
        <p class="dim">Your API key is sent once and exchanged for a cookie of 12 hours. This page does not keep it.</p>
        <input type="text" name="username" autocomplete="username" value="api key" readOnly hidden />
        <label class="field">
          <span>API key</span>
          <input
            type="password"
            autocomplete="current-password"
            required
            maxLength={256}
            value={key}
            onInput={(e) => setKey(e.currentTarget.value)}
            aria-invalid={!!wrong}
            aria-describedby="signin-wrong"
          />
        </label>
        <p id="signin-wrong" class="wrong" role="alert">
          {wrong}
        </p>
        <p class="dim">
          No key yet? Whoever runs the service makes one: <code>pleat keys create --user NAME</code>
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
