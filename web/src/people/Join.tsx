// The page of an invitation, whose token is behind the # of the address: a browser does not send it to a server.
import { useEffect, useState } from 'preact/hooks'
import { api, type InvitedTo, type Joined } from '../api'
import { ErrorMessage, Loading } from '../components'
import { Input } from '../controls'
import { moment } from '../format'
import { Once } from '../once'
import { choose, roleTexts, withProject } from '../project'
import { navigate } from '../router'
import { askToSignIn, refreshProjects, signedIn, signIn, tokenOfAddress, user } from '../session'

/** Reads to what the invitation is, and accepts it. */
export function Join() {
  const [token] = useState(tokenOfAddress)
  const [invited, setInvited] = useState<InvitedTo | Error>()
  const [joined, setJoined] = useState<Joined>()
  useEffect(() => {
    if (!token) return setInvited(new Error('The link is incomplete: the part after # is missing.'))
    api.readInvitation(token).then(setInvited, (e: Error) => setInvited(e))
  }, [token])
  if (joined) return <Welcome joined={joined} />
  if (!invited || signedIn.value === null) return <Loading what="Reading the invitation" />
  if (invited instanceof Error)
    return (
      <section class="state failure" role="alert">
        <h1>This invitation cannot be used</h1>
        <p>{invited.message}</p>
        <p class="dim">It may have been used, revoked, or have ended. Ask for another one.</p>
      </section>
    )
  return (
    <section class="state">
      <h1>Join “{invited.projectName}”</h1>
      <p>
        You are invited as <strong>{invited.role}</strong>: you may {roleTexts[invited.role]}.
      </p>
      <p class="dim">The invitation can be used once, until {moment(invited.expiresAt)}.</p>
      {signedIn.value ? <AsUser token={token} done={setJoined} /> : <AsNewUser token={token} done={setJoined} />}
    </section>
  )
}

interface Props {
  token: string
  done(joined: Joined): void
}

/** Accepts an invitation and reports why it could not be. */
function useAccept(accept: () => Promise<void>) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const submit = async (e: Event) => {
    e.preventDefault()
    setBusy(true)
    try {
      await accept()
    } catch (e) {
      setError((e as Error).message)
      setBusy(false)
    }
  }
  return { busy, error, submit: (e: Event) => void submit(e) }
}

/** Joins as the user who is signed in. */
function AsUser({ token, done }: Props) {
  const { busy, error, submit } = useAccept(async () => {
    const joined = await api.acceptInvitation(token)
    await refreshProjects()
    done(joined)
  })
  return (
    <form onSubmit={submit}>
      <ErrorMessage text={error} />
      <button type="submit" disabled={busy}>
        Join as {user.value}
      </button>
      <p class="dim small-text joins">To join as somebody else, sign out first.</p>
    </form>
  )
}

/** Joins as a new user, whose key signs in at once, or as one who signs in. */
function AsNewUser({ token, done }: Props) {
  const [name, setName] = useState('')
  const { busy, error, submit } = useAccept(async () => {
    const joined = await api.acceptInvitation(token, name.trim())
    done(joined) // also if the session could not be opened: the key is shown this once
    if (joined.key) await signIn(joined.key)
  })
  return (
    <form class="joins" onSubmit={submit}>
      <label class="field">
        <span>Your name on this service</span>
        <Input required maxLength={255} autocomplete="username" value={name} onValue={setName} />
      </label>
      <ErrorMessage text={error} />
      <div class="row centred">
        <button type="submit" disabled={busy}>
          Join as a new user
        </button>
        <button type="button" class="quiet" onClick={() => (askToSignIn.value = true)}>
          I have a key
        </button>
      </div>
    </form>
  )
}

/** The result for the user: a role, and perhaps a key. */
function Welcome({ joined }: { joined: Joined }) {
  const open = () => {
    choose(joined.projectId)
    navigate(withProject('/ui/jobs', joined.projectId))
  }
  return (
    <section class="state" data-joined={joined.projectId}>
      <h1>You have joined “{joined.projectName}”</h1>
      <p>
        You are {joined.name}, and may {roleTexts[joined.role]}.
      </p>
      {joined.key && (
        <Once secret={joined.key}>
          <strong>Your API key.</strong> You sign in with it from now on.
        </Once>
      )}
      <p>
        {signedIn.value ? (
          <button type="button" onClick={open}>
            Open the project
          </button>
        ) : (
          <button type="button" onClick={() => (askToSignIn.value = true)}>
            Sign in
          </button>
        )}
      </p>
    </section>
  )
}
