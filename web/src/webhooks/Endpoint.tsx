// The settings of the default webhook endpoint.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { api, type PayloadFormat, type WebhookConfig } from '../api'
import { Copy, ErrorMessage } from '../components'
import { Checkbox, Input, Select } from '../controls'
import { moment, randomHex, when } from '../format'
import { Once } from '../once'

interface Props {
  config: WebhookConfig
  setConfig(config: WebhookConfig): void
  /** Called when a test delivery has been queued. */
  onTest(): void
  /** Called when the endpoint has changed, for what else shows it. */
  onChange(): void
}

/** Runs one action at a time and reports its result. */
type Run = (action: () => Promise<WebhookConfig | undefined>, doneMessage?: string) => Promise<void>

/** The settings and the state of the endpoint. */
export function Endpoint({ config, setConfig, onTest, onChange }: Props) {
  const [secret, setSecret] = useState('')
  const [error, setError] = useState('')
  const [message, setMessage] = useState('')
  const [busy, setBusy] = useState(false)
  const run: Run = async (action, doneMessage = '') => {
    setBusy(true)
    setError('')
    setMessage('')
    try {
      const changed = await action()
      if (changed) {
        setConfig(changed)
        onChange()
      }
      if (changed?.signing_secret) setSecret(changed.signing_secret)
      setMessage(doneMessage)
    } catch (e) {
      setError((e as Error).message)
    }
    setBusy(false)
  }
  return (
    <section class="card" aria-label="Your endpoint">
      <div class="row between">
        <h2>Your endpoint</h2>
        {config.is_configured && <EndpointStatus config={config} />}
      </div>
      <Notices config={config} />
      {secret && (
        <Once secret={secret} done={() => setSecret('')}>
          <strong>Signing secret.</strong> Your receiver verifies signatures with it.
        </Once>
      )}
      <SettingsForm config={config} run={run} busy={busy} onTest={onTest}>
        <ErrorMessage text={error} />
        {message && (
          <p class="success" role="status">
            {message}
          </p>
        )}
      </SettingsForm>
      {config.is_configured && (
        <>
          <hr />
          <Controls config={config} run={run} busy={busy} />
          <Signature config={config} />
        </>
      )}
    </section>
  )
}

/** The state of the endpoint in one word. */
function EndpointStatus({ config: c }: { config: WebhookConfig }) {
  const status = c.is_paused ? 'paused' : c.is_active ? 'active' : 'inactive'
  return (
    <span class={`chip ${status === 'active' ? 's-completed' : 's-stopped'}`} data-hook={status}>
      {status}
    </span>
  )
}

/** The notices and actions for the user about the endpoint. */
function Notices({ config: c }: { config: WebhookConfig }) {
  return (
    <>
      {!c.is_configured && (
        <p class="hint">
          No endpoint is set up yet. Enter its URL, and a token by which your receiver recognizes this service.
        </p>
      )}
      {c.disabled_reason && <p class="caution">{c.disabled_reason}</p>}
      {c.rests_until && (
        <p class="caution" title={moment(c.rests_until)}>
          The endpoint failed repeatedly, so deliveries are on hold until {when(c.rests_until)}.
        </p>
      )}
    </>
  )
}

interface FormProps {
  config: WebhookConfig
  run: Run
  busy: boolean
  onTest(): void
  children: ComponentChildren
}

/** The form for URL, token, format and default. */
function SettingsForm({ config: c, run, busy, onTest, children }: FormProps) {
  const [url, setUrl] = useState(c.target_url ?? '')
  const [token, setToken] = useState('')
  const [enabledByDefault, setEnabledByDefault] = useState(c.enabled_by_default)
  const [format, setFormat] = useState(c.format || 'plain')
  const save = (e: Event) => {
    e.preventDefault()
    void run(async () => {
      const settings = { target_url: url.trim(), enabled_by_default: enabledByDefault, format }
      const saved = await api.putWebhook({ ...settings, ...(token && { token_value: token }) })
      setToken('')
      return saved
    }, 'Saved.')
  }
  const test = async () => {
    await api.testWebhook()
    onTest()
    return undefined
  }
  return (
    <form onSubmit={save}>
      <label class="field">
        <span>URL</span>
        <Input
          type="url"
          required
          maxLength={2048}
          placeholder="https://hooks.example.org/pleat"
          value={url}
          onValue={setUrl}
        />
      </label>
      <Token config={c} token={token} setToken={setToken} />
      <label class="field">
        <span>Payload format</span>
        <Select value={format} onValue={(v) => setFormat(v as PayloadFormat)}>
          <option value="plain">Plain JSON</option>
          <option value="cloudevents">CloudEvents 1.0</option>
        </Select>
      </label>
      <Checkbox
        checked={enabledByDefault}
        onValue={setEnabledByDefault}
        hint="Otherwise only for runs that ask for it."
      >
        Notify for every run
      </Checkbox>
      {children}
      <div class="row hook-actions">
        <button type="submit" disabled={busy}>
          {c.is_configured ? 'Save' : 'Set up'}
        </button>
        {c.is_configured && (
          <button
            type="button"
            class="quiet"
            disabled={busy}
            onClick={() => void run(test, 'Test sent. See the first delivery in the log.')}
          >
            Send test
          </button>
        )}
      </div>
    </form>
  )
}

const tokenBytes = 32

interface TokenProps {
  config: WebhookConfig
  token: string
  setToken(token: string): void
}

/** The token, typed or generated. A generated one is shown until it is saved, for the user to copy it. */
function Token({ config: c, token, setToken }: TokenProps) {
  const [generated, setGenerated] = useState('')
  const storedToken = c.secret_token_masked ? `stored: ${c.secret_token_masked}` : 'stored'
  const isGenerated = token !== '' && token === generated
  const generate = () => {
    const made = randomHex(tokenBytes)
    setGenerated(made)
    setToken(made)
  }
  return (
    <div class="field">
      <span>
        <label for="hook-token">Token</label>
        {!c.has_token && <span class="dim"> (required)</span>}
      </span>
      <div class="row nowrap">
        <Input
          id="hook-token"
          type={isGenerated ? 'text' : 'password'}
          autocomplete="off"
          maxLength={1024}
          required={!c.has_token}
          placeholder={c.has_token ? storedToken : 'a long random text'}
          value={token}
          onValue={setToken}
          aria-describedby="hook-token-hint"
        />
        {isGenerated ? (
          <Copy text={token} />
        ) : (
          <button type="button" class="quiet small" onClick={generate}>
            Generate
          </button>
        )}
      </div>
      <small id="hook-token-hint">
        Sent in the header <code>{c.token_header}</code>. It can be replaced here, but not read.
      </small>
    </div>
  )
}

/** Pause, rotate, deactivate. */
function Controls({ config: c, run, busy }: { config: WebhookConfig; run: Run; busy: boolean }) {
  const stopped = c.is_paused || !c.is_active
  const rotate = () => {
    if (confirm('Create a new signing secret? For 24 hours deliveries are signed with both.'))
      void run(() => api.changeWebhook('rotate-secret'))
  }
  const deactivate = () => {
    if (confirm('Deactivate this endpoint? It will not be notified any more.'))
      void run(() => api.deleteWebhook(), 'Deactivated.')
  }
  return (
    <div class="row">
      {stopped ? (
        <button
          type="button"
          class="quiet small"
          disabled={busy}
          onClick={() => void run(() => api.changeWebhook('resume'), 'Deliveries have been resumed.')}
        >
          Resume
        </button>
      ) : (
        <button
          type="button"
          class="quiet small"
          disabled={busy}
          onClick={() => void run(() => api.changeWebhook('pause'), 'Deliveries wait until you resume.')}
        >
          Pause
        </button>
      )}
      <button type="button" class="quiet small" disabled={busy} onClick={rotate}>
        Rotate secret
      </button>
      <button type="button" class="danger small" disabled={busy} onClick={deactivate}>
        Deactivate
      </button>
    </div>
  )
}

/** How deliveries are signed. */
function Signature({ config: c }: { config: WebhookConfig }) {
  return (
    <p class="dim small-text signs">
      Deliveries are signed as in Standard Webhooks with{' '}
      {c.signature_scheme === 'v1a' ? (
        <>
          Ed25519; verify them with <code class="secret">{c.verification_key}</code>
        </>
      ) : (
        'a shared secret (HMAC-SHA256)'
      )}
      .{c.secret_rotated_at && ` Secret created ${when(c.secret_rotated_at)}.`}
      {c.old_secret_until && ` The previous secret signs as well until ${moment(c.old_secret_until)}.`}
    </p>
  )
}
