// API keys and the day's quota.
import { useEffect, useState } from 'preact/hooks'
import { api, type Key, type NewKey } from '../api'
import { moment, plural, when } from '../say'
import { refreshSession, signedIn, usage } from '../session'
import { Copy, Failure, Loading } from '../states'

export function Keys() {
  const [keys, setKeys] = useState<Key[] | Error>(),
    [made, setMade] = useState<NewKey>(),
    [label, setLabel] = useState(''),
    [wrong, setWrong] = useState('')
  const read = () =>
    api.keys().then(
      (l) => setKeys(l.data),
      (e: Error) => setKeys(e),
    )
  useEffect(() => {
    void read()
    void refreshSession()
  }, [])
  const create = async (e: Event) => {
    e.preventDefault()
    setWrong('')
    try {
      setMade(await api.createKey(label.trim()))
      setLabel('')
      await read()
    } catch (err) {
      setWrong((err as Error).message)
    }
  }
  const revoke = async (k: Key) => {
    const name = k.label || k.prefix
    if (
      !confirm(
        k.current
          ? `“${name}” is the key of this session. Revoke it and be signed out?`
          : `Revoke “${name}”? Programs that use it are refused from then on.`,
      )
    )
      return
    setWrong('')
    try {
      await api.revokeKey(k.id)
      if (k.current) {
        signedIn.value = false
        return
      }
      await read()
    } catch (err) {
      setWrong((err as Error).message)
    }
  }
  return (
    <>
      <div class="head">
        <div>
          <h1>Keys and usage</h1>
          <p class="dim">A key is what a program, or this page, signs in with.</p>
        </div>
      </div>
      <Quota />
      <section class="card">
        <h2>Keys</h2>
        {made && (
          <div class="praise once" role="status">
            <p>
              <strong>Your new key</strong>
              {made.label && ` “${made.label}”`}. It is shown this once; copy it now.
            </p>
            <div class="row">
              <code class="secret">{made.key}</code>
              <Copy text={made.key} />
              <button type="button" class="bare" onClick={() => setMade(undefined)}>
                I have it
              </button>
            </div>
          </div>
        )}
        {wrong && (
          <p class="refused" role="alert">
            {wrong}
          </p>
        )}
        {keys === undefined ? (
          <Loading what="Loading your keys" />
        ) : keys instanceof Error ? (
          <Failure title="Your keys cannot be listed" error={keys} again={() => void read()} />
        ) : (
          <div class="scroll">
            <table class="table" data-ready>
              <thead>
                <tr>
                  <th>Key</th>
                  <th>Label</th>
                  <th>Created</th>
                  <th>Last used</th>
                  <th>
                    <span class="hush">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {keys.map((k) => (
                  <tr key={k.id} class={k.revokedAt ? 'dim' : ''}>
                    <td class="mono">{k.prefix}…</td>
                    <td>
                      {k.label || <span class="dim">none</span>}{' '}
                      {k.current && <span class="chip plain">this session</span>}
                    </td>
                    <td class="num" title={moment(k.createdAt)}>
                      {when(k.createdAt)}
                    </td>
                    <td class="num" title={k.lastUsedAt ? moment(k.lastUsedAt) : ''}>
                      {k.lastUsedAt ? when(k.lastUsedAt) : 'never'}
                    </td>
                    <td class="right">
                      {k.revokedAt ? (
                        <span title={moment(k.revokedAt)}>revoked {when(k.revokedAt)}</span>
                      ) : (
                        <button
                          type="button"
                          class="danger small"
                          aria-label={`Revoke ${k.label || k.prefix}`}
                          onClick={() => void revoke(k)}
                        >
                          Revoke
                        </button>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        <form class="row new-key" onSubmit={(e) => void create(e)}>
          <label class="grow">
            <span class="hush">Label of a new key</span>
            <input
              type="text"
              maxLength={255}
              placeholder="What a new key is for, such as: cluster"
              value={label}
              onInput={(e) => setLabel(e.currentTarget.value)}
            />
          </label>
          <button type="submit">Create a key</button>
        </form>
      </section>
    </>
  )
}

function Quota() {
  const u = usage.value
  if (!u) return null
  const part = u.limit > 0 ? Math.min(1, u.used / u.limit) : 1
  return (
    <section class="card">
      <div class="row between">
        <h2>Today</h2>
        <span class="dim small-text" title={moment(u.reset_at)}>
          begins anew {when(u.reset_at)}
        </span>
      </div>
      <div
        class={`progress tall${part >= 0.9 ? ' nearly' : ''}`}
        role="progressbar"
        aria-label="Quota used today"
        aria-valuemin={0}
        aria-valuemax={u.limit}
        aria-valuenow={u.used}
      >
        <i style={{ width: `${100 * part}%` }} />
      </div>
      <p class="num quota-words">
        <strong>{u.used}</strong> of {plural(u.limit, 'job')} created, <strong>{u.remaining}</strong> left. The day is
        UTC.
      </p>
    </section>
  )
}
