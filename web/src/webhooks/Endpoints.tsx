// The named endpoints of a project.
import { useState } from 'preact/hooks'
import { api, type WebhookEndpoint, type WebhookEndpoints } from '../api'
import { ErrorMessage } from '../components'
import { moment, when } from '../format'
import { Once } from '../once'
import { may } from '../project'
import { EndpointForm } from './EndpointForm'
import { eventsText } from './eventNames'

interface Props {
  endpoints: WebhookEndpoints
  /** Called when a test delivery has been queued. */
  onTest(): void
  /** Reads the endpoints again. */
  reload(): Promise<void>
}

/** The endpoints, which managers of the project change, and everybody else in it sees. */
export function Endpoints({ endpoints, onTest, reload }: Props) {
  // The endpoint in the form; null: a new one, undefined: the form is closed.
  const [edited, setEdited] = useState<WebhookEndpoint | null>()
  const [fresh, setFresh] = useState<WebhookEndpoint>()
  const [error, setError] = useState('')
  const [message, setMessage] = useState('')
  const [busy, setBusy] = useState(false)
  const changed = async (e: WebhookEndpoint | undefined) => {
    if (e?.signing_secret) setFresh(e)
    setEdited(undefined)
    await reload()
  }
  const run = async (action: () => Promise<WebhookEndpoint | undefined>, done: string) => {
    setBusy(true)
    setError('')
    setMessage('')
    try {
      await changed(await action())
      setMessage(done)
    } catch (e) {
      setError((e as Error).message)
    }
    setBusy(false)
  }
  const full = endpoints.data.length >= 10
  return (
    <section class="card" aria-label="Further endpoints">
      <div class="row between">
        <h2>{may('manager') ? 'Further endpoints' : 'Endpoints'}</h2>
        {may('manager') && (
          <button
            type="button"
            class="quiet small"
            disabled={full}
            title={full ? 'A project has at most 10' : ''}
            onClick={() => setEdited(null)}
          >
            Add endpoint
          </button>
        )}
      </div>
      {may('manager') ? (
        <p class="dim small-text">Each gets the events that it is for, whatever the settings of a run are.</p>
      ) : (
        <DefaultEndpointLine endpoints={endpoints} />
      )}
      {fresh?.signing_secret && endpoints.data.some((e) => e.id === fresh.id) && (
        <Once secret={fresh.signing_secret} done={() => setFresh(undefined)}>
          <strong>Signing secret of “{fresh.name}”.</strong> Your receiver verifies signatures with it.
        </Once>
      )}
      <ErrorMessage text={error} />
      {message && (
        <p class="success" role="status">
          {message}
        </p>
      )}
      <ul class="endpoints">
        {endpoints.data.map((e) => (
          <li key={e.id} data-endpoint={e.name}>
            <EndpointHead endpoint={e} />
            {may('manager') && (
              <EndpointActions endpoint={e} busy={busy} run={run} onTest={onTest} edit={() => setEdited(e)} />
            )}
          </li>
        ))}
      </ul>
      {edited !== undefined && (
        <EndpointForm endpoint={edited} close={() => setEdited(undefined)} saved={(e) => void changed(e)} />
      )}
    </section>
  )
}

/** The default endpoint, as members see it. */
function DefaultEndpointLine({ endpoints: { default_endpoint: e, data } }: { endpoints: WebhookEndpoints }) {
  if (!e) return data.length > 0 ? null : <p class="hint">The managers of the project have set up no endpoint.</p>
  return (
    <p class="small-text">
      {e.enabled_by_default ? 'Every run notifies' : 'Runs that ask for it notify'} <code>{e.target_url}</code>
      {(!e.is_active || e.is_paused) && ` (${e.is_paused ? 'paused' : 'inactive'})`}.
    </p>
  )
}

/** The name, the state, the address and the events of an endpoint. */
function EndpointHead({ endpoint: e }: { endpoint: WebhookEndpoint }) {
  const state = !e.is_active ? 'disabled' : e.is_paused ? 'paused' : e.rests_until ? 'resting' : 'active'
  return (
    <>
      <div class="row between">
        <strong class="endpoint-name">{e.name}</strong>
        <span class={`chip ${state === 'active' ? 's-completed' : 's-stopped'}`}>{state}</span>
      </div>
      <code class="endpoint-url">{e.target_url}</code>
      <p class="dim small-text">{eventsText(e.events)}</p>
      {e.disabled_reason && <p class="caution">{e.disabled_reason}</p>}
      {e.rests_until && (
        <p class="caution" title={moment(e.rests_until)}>
          It failed repeatedly, so deliveries are on hold until {when(e.rests_until)}.
        </p>
      )}
    </>
  )
}

interface ActionProps {
  endpoint: WebhookEndpoint
  busy: boolean
  run(action: () => Promise<WebhookEndpoint | undefined>, done: string): Promise<void>
  onTest(): void
  edit(): void
}

/** Edit, test, pause, rotate, delete. */
function EndpointActions({ endpoint: e, busy, run, onTest, edit }: ActionProps) {
  const stopped = e.is_paused || !e.is_active
  const test = async () => {
    await api.testEndpoint(e.id)
    onTest()
    return undefined
  }
  const remove = async () => {
    await api.deleteEndpoint(e.id)
    return undefined
  }
  const actions: [string, () => void][] = [
    ['Edit', edit],
    ['Test', () => void run(test, `Test sent to “${e.name}”. See the first delivery in the log.`)],
    stopped
      ? ['Resume', () => void run(() => api.switchEndpoint(e.id, 'resume'), 'Deliveries have been resumed.')]
      : ['Pause', () => void run(() => api.switchEndpoint(e.id, 'pause'), 'Deliveries wait until you resume.')],
    [
      'Rotate secret',
      () => {
        if (confirm(`Create a new signing secret of “${e.name}”? For 24 hours deliveries are signed with both.`))
          void run(() => api.switchEndpoint(e.id, 'rotate-secret'), '')
      },
    ],
    [
      'Delete',
      () => {
        if (confirm(`Delete “${e.name}”? Deliveries that wait for it fail, and it is not notified any more.`))
          void run(remove, `“${e.name}” is deleted.`)
      },
    ],
  ]
  return (
    <div class="row">
      {actions.map(([name, act]) => (
        <button
          key={name}
          type="button"
          class={`${name === 'Delete' ? 'danger' : 'quiet'} small`}
          disabled={busy}
          aria-label={`${name} “${e.name}”`}
          onClick={act}
        >
          {name}
        </button>
      ))}
    </div>
  )
}
