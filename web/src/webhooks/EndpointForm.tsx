// The form of a named endpoint.
import { useState } from 'preact/hooks'
import { api, type PayloadFormat, type WebhookEndpoint } from '../api'
import { ErrorMessage } from '../components'
import { Checkbox, Input, Select } from '../controls'
import { Dialog } from '../dialog'
import { chosenEvents, eventNames } from './eventNames'

interface Props {
  /** The endpoint to change; null: a new one. */
  endpoint: WebhookEndpoint | null
  close(): void
  /** Called with what the service has stored. */
  saved(endpoint: WebhookEndpoint): void
}

/** A dialog that adds or changes an endpoint. */
export function EndpointForm({ endpoint: e, close, saved }: Props) {
  const [name, setName] = useState(e?.name ?? '')
  const [url, setUrl] = useState(e?.target_url ?? '')
  const [token, setToken] = useState('')
  const [withoutToken, setWithoutToken] = useState(false)
  const [format, setFormat] = useState<string>(e?.format ?? 'plain')
  const [events, setEvents] = useState(new Set(e?.events.length ? e.events : Object.keys(eventNames)))
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  const toggle = (event: string, on: boolean) => {
    const next = new Set(events)
    if (on) next.add(event)
    else next.delete(event)
    setEvents(next)
  }
  const save = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    try {
      const body = { name, target_url: url.trim(), format: format as PayloadFormat, events: chosenEvents(events) }
      const secret = withoutToken ? { token_value: '' } : token ? { token_value: token } : {}
      saved(await (e ? api.changeEndpoint(e.id, { ...body, ...secret }) : api.createEndpoint({ ...body, ...secret })))
    } catch (failure) {
      setError((failure as Error).message)
      setBusy(false)
    }
  }
  return (
    <Dialog title={e ? `Change “${e.name}”` : 'Add an endpoint'} close={close}>
      <form onSubmit={(event) => void save(event)}>
        <label class="field">
          <span>Name</span>
          <Input required maxLength={60} value={name} onValue={setName} />
        </label>
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
        <label class="field">
          <span>
            Token <span class="dim">(optional)</span>
          </span>
          <Input
            type="password"
            autocomplete="off"
            maxLength={1024}
            placeholder={e?.has_token ? `stored: ${e.secret_token_masked}` : 'none'}
            value={token}
            onValue={setToken}
          />
        </label>
        {e?.has_token && (
          <Checkbox checked={withoutToken} onValue={setWithoutToken}>
            Send no token
          </Checkbox>
        )}
        <label class="field">
          <span>Payload format</span>
          <Select value={format} onValue={setFormat}>
            <option value="plain">Plain JSON</option>
            <option value="cloudevents">CloudEvents 1.0</option>
          </Select>
        </label>
        <fieldset class="field events">
          <legend>Events</legend>
          {Object.entries(eventNames).map(([event, title]) => (
            <Checkbox key={event} checked={events.has(event)} onValue={(on) => toggle(event, on)}>
              {title}
            </Checkbox>
          ))}
        </fieldset>
        <ErrorMessage text={events.size === 0 ? 'Choose at least one event.' : error} />
        <div class="row hook-actions">
          <button type="submit" disabled={busy || events.size === 0}>
            {e ? 'Save' : 'Add'}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
