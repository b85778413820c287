// API keys and today's quota.
import { useEffect, useState } from 'preact/hooks'
import { type AuditEntry, api, type CreateKey, type Key, type NewKey, type Quota } from '../api'
import { AuditTable } from '../auditTable'
import { ErrorMessage, Failure, Loading, ProgressBar } from '../components'
import { Checkbox, Input } from '../controls'
import { moment, plural, when } from '../format'
import { NotificationsCard } from '../notifications/Notifications'
import { Once } from '../once'
import { project, withProject } from '../project'
import { byIssuer, refreshSession, signedIn, usage } from '../session'
import { KeyTable } from './KeyTable'

/** Creates and revokes keys, and shows the quota. */
export function Keys() {
  const [keys, setKeys] = useState<Key[] | Error>()
  const [created, setCreated] = useState<NewKey>()
  const [error, setError] = useState('')
  const [audit, setAudit] = useState<AuditEntry[]>([])
  const [own, setOwn] = useState('')
  const load = async () => {
    await api.keys().then(
      (list) => setKeys(list.data),
      (e: Error) => setKeys(e),
    )
    await api.audit().then(
      (list) => setAudit(list.data),
      () => setAudit([]), // the list of keys reports the error
    )
  }
  useEffect(() => {
    void load()
    void refreshSession()
  }, [])
  const run = async (action: () => Promise<void>) => {
    setError('')
    await action().catch((e: Error) => setError(e.message))
  }
  const create = (what: CreateKey) =>
    run(async () => {
      setCreated(await api.createKey(own.trim(), what))
      await load()
    })
  const revoke = (key: Key) =>
    run(async () => {
      if (!byIssuer.value && !own.trim()) throw new Error('Enter your API key below first: revoking a key needs it.')
      if (!confirm(revokeQuestion(key))) return
      await api.revokeKey(own.trim(), key.id)
      if (key.current) signedIn.value = false
      else await load()
    })
  return (
    <>
      <div class="head">
        <div>
          <h1>Keys and usage</h1>
          <p class="dim">Programs, and this page, sign in with an API key.</p>
        </div>
      </div>
      <Quotas />
      <section class="card">
        <h2>API keys</h2>
        {created && (
          <Once secret={created.key} done={() => setCreated(undefined)}>
            <strong>Your new key</strong>
            {created.label && ` “${created.label}”`}.
          </Once>
        )}
        <ErrorMessage text={error} />
        {keys === undefined && <Loading what="Loading keys" />}
        {keys instanceof Error && (
          <Failure title="The keys could not be loaded" error={keys} retry={() => void load()} />
        )}
        {Array.isArray(keys) && <KeyTable keys={keys} revoke={(key) => void revoke(key)} full />}
        <CreateForm own={own} setOwn={setOwn} create={create} />
      </section>
      <NotificationsCard />
      {audit.length > 0 && (
        <section class="card">
          <h2>Recent changes</h2>
          <AuditTable entries={audit} />
        </section>
      )}
    </>
  )
}

/** The question to confirm, which names what stops working. */
function revokeQuestion(key: Key): string {
  const name = key.label || key.prefix
  return key.current
    ? `Revoke “${name}”? It is the key of this session, so you will be signed out.`
    : `Revoke “${name}”? Programs that use it will be refused.`
}

/** The permitted uses of a key, in the words of the page. */
const scopes = [
  { name: 'read', text: 'Read jobs, workflows and files' },
  { name: 'submit', text: 'Submit, run and cancel; upload files' },
  { name: 'manage', text: 'Manage keys, webhooks and public links; delete' },
]

interface CreateFormProps {
  /** The user's API key, which creating and revoking a key needs. The page forgets it when it is left. */
  own: string
  setOwn(key: string): void
  create(what: CreateKey): Promise<void>
}

/** The form for a new key; the label and the end are optional. */
function CreateForm({ own, setOwn, create }: CreateFormProps) {
  const [label, setLabel] = useState('')
  const [chosen, setChosen] = useState(scopes.map((s) => s.name))
  const [expires, setExpires] = useState('')
  const submit = (e: Event) => {
    e.preventDefault()
    void create({
      ...(label.trim() && { label: label.trim() }),
      ...(chosen.length < scopes.length && { scopes: chosen }),
      ...(expires && { expiresAt: `${expires}T00:00:00Z` }),
    })
    setLabel('')
  }
  const choose = (name: string, on: boolean) =>
    setChosen(scopes.map((s) => s.name).filter((s) => (s === name ? on : chosen.includes(s))))
  return (
    <form class="new-key" onSubmit={submit}>
      <div class="new-key-fields">
        {!byIssuer.value && (
          <label class="field">
            <span>Your API key</span>
            <Input
              type="password"
              autocomplete="current-password"
              required
              maxLength={256}
              value={own}
              onValue={setOwn}
            />
            <small>Creating and revoking keys need it. It is not stored.</small>
          </label>
        )}
        <label class="field">
          <span>Label of a new key</span>
          <Input maxLength={255} placeholder="e.g. cluster" value={label} onValue={setLabel} />
        </label>
        <label class="field">
          <span>Expires</span>
          <Input type="date" value={expires} onValue={setExpires} />
          <small>At the start of this day in UTC. Without a date, when your key does.</small>
        </label>
      </div>
      <fieldset class="field">
        <legend>The new key may</legend>
        <div class="new-key-scopes">
          {scopes.map((s) => (
            <Checkbox key={s.name} checked={chosen.includes(s.name)} onValue={(on) => choose(s.name, on)}>
              {s.text}
            </Checkbox>
          ))}
        </div>
      </fieldset>
      <button type="submit" disabled={chosen.length === 0}>
        Create key
      </button>
    </form>
  )
}

/** Today's quotas, each as a bar. */
function Quotas() {
  const u = usage.value
  if (!u) return null
  return (
    <section class="card">
      <div class="row between">
        <h2>Today{project.value && !project.value.isOwn && `, of “${project.value.name}”`}</h2>
        <span class="dim small-text" title={moment(u.reset_at)}>
          resets {when(u.reset_at)}
        </span>
      </div>
      <QuotaBar label="Quota used today" quota={u} what="job" done="created" />
      <QuotaBar label="Workflows started today" quota={u.workflows} what="workflow" done="started" />
      <QuotaBar label="Rows of batches today" quota={u.batch_rows} what="row" done="of batches created" />
      <p class="dim small-text">
        Quotas are per day in UTC. <a href={withProject('/ui/usage')}>Usage by month</a>
      </p>
    </section>
  )
}

/** How much of one quota is used; what and done say of what, and what was done with it. */
function QuotaBar({ label, quota: q, what, done }: { label: string; quota: Quota; what: string; done: string }) {
  const nearlyUsed = q.used >= 0.9 * q.limit
  return (
    <>
      <ProgressBar label={label} done={q.used} total={q.limit} class={nearlyUsed ? 'tall nearly' : 'tall'} />
      <p class="num quota-text">
        <strong>{q.used}</strong> of {plural(q.limit, what)} {done}, <strong>{q.remaining}</strong> left.
      </p>
    </>
  )
}
