// Whom the service tells when a run ends, and what became of each telling.
import { useEffect, useState } from 'preact/hooks'
import { api, type WebhookConfig } from '../api'
import { moment, when } from '../say'
import { Copy, Failure, Loading } from '../states'
import { Deliveries } from './Deliveries'

export function Webhooks() {
  const [config, setConfig] = useState<WebhookConfig | Error>(),
    [sent, setSent] = useState(0)
  const read = () => api.webhook().then(setConfig, (e: Error) => setConfig(e))
  useEffect(() => void read(), [])
  if (config === undefined) return <Loading what="Loading your webhook" />
  if (config instanceof Error)
    return <Failure title="Your webhook cannot be shown" error={config} again={() => void read()} />
  return (
    <>
      <div class="head">
        <div>
          <h1>Webhooks</h1>
          <p class="dim">When a run ends, the service posts a signed JSON document to an address of yours.</p>
        </div>
      </div>
      <div class="two">
        <Deliveries news={sent} />
        <Settings config={config} changed={(c) => setConfig(c)} tested={() => setSent(sent + 1)} />
      </div>
    </>
  )
}

function Settings({
  config: c,
  changed,
  tested,
}: {
  config: WebhookConfig
  changed: (c: WebhookConfig) => void
  tested: () => void
}) {
  const [url, setUrl] = useState(c.target_url ?? ''),
    [token, setToken] = useState(''),
    [always, setAlways] = useState(c.enabled_by_default),
    [format, setFormat] = useState(c.format || 'plain')
  const [secret, setSecret] = useState(''),
    [wrong, setWrong] = useState(''),
    [said, setSaid] = useState(''),
    [busy, setBusy] = useState(false)
  const act = async (what: () => Promise<WebhookConfig | void>, done = '') => {
    setBusy(true)
    setWrong('')
    setSaid('')
    try {
      const now = await what()
      if (now) {
        changed(now)
        if (now.signing_secret) setSecret(now.signing_secret)
      }
      setSaid(done)
    } catch (e) {
      setWrong((e as Error).message)
    }
    setBusy(false)
  }
  const save = (e: Event) => {
    e.preventDefault()
    void act(async () => {
      const now = await api.putWebhook({
        target_url: url.trim(),
        enabled_by_default: always,
        format,
        ...(token && { token_value: token }),
      })
      setToken('')
      return now
    }, 'Saved.')
  }
  const works = c.is_configured && c.is_active && !c.is_paused
  return (
    <section class="card run" aria-label="Your endpoint">
      <div class="row between">
        <h2>Your endpoint</h2>
        {c.is_configured && (
          <span
            class={`chip ${works ? 's-completed' : 's-stopped'}`}
            data-hook={works ? 'active' : c.is_paused ? 'paused' : 'inactive'}
          >
            {works ? 'active' : c.is_paused ? 'paused' : 'not active'}
          </span>
        )}
      </div>
      {!c.is_configured && (
        <p class="hint">
          Nothing is set up yet. Give the address that is to be told and a token of your choosing, by which your
          receiver knows that it is this service.
        </p>
      )}
      {c.disabled_reason && <p class="caution">{c.disabled_reason}</p>}
      {c.rests_until && (
        <p class="caution" title={moment(c.rests_until)}>
          It failed repeatedly and is left alone until {when(c.rests_until)}. Deliveries wait.
        </p>
      )}
      {secret && (
        <div class="praise once" role="status">
          <p>
            <strong>Signing secret.</strong> It is shown this once; your receiver verifies signatures with it.
          </p>
          <div class="row">
            <code class="secret">{secret}</code>
            <Copy text={secret} />
            <button type="button" class="bare" onClick={() => setSecret('')}>
              I have it
            </button>
          </div>
        </div>
      )}
      <form onSubmit={save}>
        <label class="field">
          <span>Address</span>
          <input
            type="url"
            required
            maxLength={2048}
            placeholder="https://hooks.example.org/pleat"
            value={url}
            onInput={(e) => setUrl(e.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>Token</span>
          <input
            type="password"
            autocomplete="off"
            maxLength={1024}
            required={!c.has_token}
            placeholder={
              c.has_token ? `kept${c.secret_token_masked ? `: ${c.secret_token_masked}` : ''}` : 'a long random text'
            }
            value={token}
            onInput={(e) => setToken(e.currentTarget.value)}
          />
          <small>
            Sent in <code>{c.token_header}</code>. It can be replaced here, never read.
          </small>
        </label>
        <label class="field">
          <span>Form of the body</span>
          <select value={format} onChange={(e) => setFormat(e.currentTarget.value as 'plain')}>
            <option value="plain">plain</option>
            <option value="cloudevents">CloudEvents 1.0</option>
          </select>
        </label>
        <label class="check">
          <input type="checkbox" checked={always} onChange={(e) => setAlways(e.currentTarget.checked)} />
          <span>
            Tell it of every run<small>Otherwise only of runs that ask for it.</small>
          </span>
        </label>
        {wrong && (
          <p class="refused" role="alert">
            {wrong}
          </p>
        )}
        {said && (
          <p class="praise" role="status">
            {said}
          </p>
        )}
        <div class="row hook-actions">
          <button type="submit" disabled={busy}>
            {c.is_configured ? 'Save' : 'Set up'}
          </button>
          {c.is_configured && (
            <button
              type="button"
              class="quiet"
              disabled={busy}
              onClick={() =>
                void act(async () => {
                  await api.testWebhook()
                  tested()
                }, 'A test is on its way; it stands first in the log.')
              }
            >
              Send a test
            </button>
          )}
        </div>
      </form>
      {c.is_configured && (
        <>
          <hr />
          <div class="row">
            {c.is_paused || !c.is_active ? (
              <button
                type="button"
                class="quiet small"
                disabled={busy}
                onClick={() => void act(() => api.changeWebhook('resume'), 'Deliveries go out again.')}
              >
                Resume
              </button>
            ) : (
              <button
                type="button"
                class="quiet small"
                disabled={busy}
                onClick={() => void act(() => api.changeWebhook('pause'), 'Deliveries wait until you resume.')}
              >
                Pause
              </button>
            )}
            <button
              type="button"
              class="quiet small"
              disabled={busy}
              onClick={() => {
                if (confirm('Make a new signing secret? The old one signs beside it for 24 hours.'))
                  void act(() => api.changeWebhook('rotate-secret'))
              }}
            >
              New secret
            </button>
            <button
              type="button"
              class="danger small"
              disabled={busy}
              onClick={() => {
                if (confirm('Deactivate this endpoint? No run tells it any more.'))
                  void act(() => api.deleteWebhook(), 'Deactivated.')
              }}
            >
              Deactivate
            </button>
          </div>
          <p class="dim small-text signs">
            Signed with{' '}
            {c.signature_scheme === 'v1a' ? (
              <>
                Ed25519; verify with <code class="secret">{c.verification_key}</code>
              </>
            ) : (
              'a shared secret'
            )}
            , as Standard Webhooks has it.{c.secret_rotated_at && ` Secret made ${when(c.secret_rotated_at)}.`}
            {c.old_secret_until && ` The one before signs too until ${moment(c.old_secret_until)}.`}
          </p>
        </>
      )}
    </section>
  )
}
