// API keys and today's quota.
import { useEffect, useState } from 'preact/hooks'
import { api, type Key, type NewKey, type Quota } from '../api'
import { Copy, ErrorMessage, Failure, Loading, ProgressBar } from '../components'
import { Input } from '../controls'
import { moment, plural, when } from '../format'
import { refreshSession, signedIn, usage } from '../session'
import { Table } from '../table'

/** Creates and revokes keys, and shows the quota. */
export function Keys() {
  const [keys, setKeys] = useState<Key[] | Error>()
  const [created, setCreated] = useState<NewKey>()
  const [error, setError] = useState('')
  const load = () =>
    api.keys().then(
      (list) => setKeys(list.data),
      (e: Error) => setKeys(e),
    )
  useEffect(() => {
    void load()
    void refreshSession()
  }, [])
  const run = async (action: () => Promise<void>) => {
    setError('')
    await action().catch((e: Error) => setError(e.message))
  }
  const create = (label: string) =>
    run(async () => {
      setCreated(await api.createKey(label))
      await load()
    })
  const revoke = (key: Key) =>
    run(async () => {
      if (!confirm(revokeQuestion(key))) return
      await api.revokeKey(key.id)
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
        {created && <CreatedKey created={created} done={() => setCreated(undefined)} />}
        <ErrorMessage text={error} />
        {keys === undefined && <Loading what="Loading keys" />}
        {keys instanceof Error && (
          <Failure title="The keys could not be loaded" error={keys} retry={() => void load()} />
        )}
        {Array.isArray(keys) && <KeyTable keys={keys} revoke={(key) => void revoke(key)} />}
        <CreateForm create={create} />
      </section>
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

/** A new key. The service never shows it again. */
function CreatedKey({ created, done }: { created: NewKey; done(): void }) {
  return (
    <div class="success once" role="status">
      <p>
        <strong>Your new key</strong>
        {created.label && ` “${created.label}”`}. Copy it now: it is shown only once.
      </p>
      <div class="row">
        <code class="secret">{created.key}</code>
        <Copy text={created.key} />
        <button type="button" class="bare" onClick={done}>
          I have copied it
        </button>
      </div>
    </div>
  )
}

const KeyTable = ({ keys, revoke }: { keys: Key[]; revoke(key: Key): void }) => (
  <div class="scroll">
    <Table columns={['Key', 'Label', 'Created', 'Last used', { title: 'Actions', hidden: true }]}>
      {keys.map((key) => (
        <Row key={key.id} apiKey={key} revoke={() => revoke(key)} />
      ))}
    </Table>
  </div>
)

function Row({ apiKey, revoke }: { apiKey: Key; revoke(): void }) {
  return (
    <tr class={apiKey.revokedAt ? 'dim' : ''}>
      <td class="mono">{apiKey.prefix}…</td>
      <td>
        {apiKey.label || <span class="dim">none</span>} {apiKey.current && <span class="chip plain">this session</span>}
      </td>
      <td class="num" title={moment(apiKey.createdAt)}>
        {when(apiKey.createdAt)}
      </td>
      <td class="num" title={apiKey.lastUsedAt ? moment(apiKey.lastUsedAt) : ''}>
        {apiKey.lastUsedAt ? when(apiKey.lastUsedAt) : 'never'}
      </td>
      <td class="right">
        {apiKey.revokedAt ? (
          <span title={moment(apiKey.revokedAt)}>revoked {when(apiKey.revokedAt)}</span>
        ) : (
          <button
            type="button"
            class="danger small"
            aria-label={`Revoke ${apiKey.label || apiKey.prefix}`}
            onClick={revoke}
          >
            Revoke
          </button>
        )}
      </td>
    </tr>
  )
}

/** The form for a new key; the label is optional. */
function CreateForm({ create }: { create(label: string): Promise<void> }) {
  const [label, setLabel] = useState('')
  const submit = (e: Event) => {
    e.preventDefault()
    void create(label.trim())
    setLabel('')
  }
  return (
    <form class="row new-key" onSubmit={submit}>
      <label class="grow">
        <span class="visually-hidden">Label of a new key</span>
        <Input maxLength={255} placeholder="Label, e.g. cluster" value={label} onValue={setLabel} />
      </label>
      <button type="submit">Create key</button>
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
        <h2>Today</h2>
        <span class="dim small-text" title={moment(u.reset_at)}>
          resets {when(u.reset_at)}
        </span>
      </div>
      <QuotaBar label="Quota used today" quota={u} what="job" done="created" />
      <QuotaBar label="Workflows started today" quota={u.workflows} what="workflow" done="started" />
      <p class="dim small-text">Quotas are per day in UTC.</p>
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
