// Notifications by mail: the address, what mails come about, and what became of the last ones.
import { useEffect, useState } from 'preact/hooks'
import { api, type MailEvent, type NotificationMail, type Notifications as Settings } from '../api'
import { ErrorMessage, Failure, Loading } from '../components'
import { Checkbox, Input } from '../controls'
import { moment, when } from '../format'
import { Table } from '../table'

type Chosen = Exclude<MailEvent, 'confirm'>

/** The events that send mails, in the words of the page. */
const events: { name: Chosen; text: string }[] = [
  { name: 'run_completed', text: 'A run of mine has completed' },
  { name: 'run_failed', text: 'A run of mine has failed' },
  { name: 'batch_ended', text: 'A batch of mine has ended' },
  { name: 'endpoint_disabled', text: 'The service has disabled a webhook of a project that I manage' },
]

const about: Record<MailEvent, string> = {
  confirm: 'confirm the address',
  run_completed: 'run completed',
  run_failed: 'run failed',
  batch_ended: 'batch ended',
  endpoint_disabled: 'webhook disabled',
}

/** The page of the settings alone, to which mails lead. */
export function Notifications() {
  return (
    <>
      <div class="head">
        <div>
          <h1>Notifications</h1>
          <p class="dim">Mails about your runs, in all of your projects.</p>
        </div>
      </div>
      <NotificationsCard alone />
    </>
  )
}

/** The settings. On a page with other things there is nothing to see where the service sends no mails. */
export function NotificationsCard({ alone }: { alone?: boolean }) {
  const [settings, setSettings] = useState<Settings | Error>()
  const load = () =>
    api.notifications().then(
      (n) => setSettings(n),
      (e: Error) => setSettings(e),
    )
  useEffect(() => {
    void load()
  }, [])
  if (settings instanceof Error && alone)
    return <Failure title="The settings could not be loaded" error={settings} retry={() => void load()} />
  if (!settings) return alone ? <Loading what="Loading the settings" /> : null
  if (settings instanceof Error || (!settings.available && !alone)) return null
  if (!settings.available)
    return (
      <section class="card">
        <p>This service sends no mails. Its operator can set a mail server.</p>
      </section>
    )
  return <Form settings={settings} changed={setSettings} />
}

function Form({ settings, changed }: { settings: Settings; changed(n: Settings): void }) {
  const [mail, setMail] = useState(settings.mail ?? '')
  const [chosen, setChosen] = useState<string[]>(settings.events)
  const [error, setError] = useState('')
  const [saved, setSaved] = useState(false)
  const run = async (call: () => Promise<Settings>) => {
    setError('')
    setSaved(false)
    try {
      changed(await call())
      setSaved(true)
    } catch (e) {
      setError((e as Error).message)
    }
  }
  const save = (e: Event) => {
    e.preventDefault()
    const list = events.map((c) => c.name).filter((name) => chosen.includes(name))
    void run(() => api.setNotifications({ mail: mail.trim() || null, events: list }))
  }
  const choose = (name: string, on: boolean) => setChosen([...chosen.filter((c) => c !== name), ...(on ? [name] : [])])
  return (
    <section class="card" data-notifications={settings.confirmed ? 'confirmed' : 'unconfirmed'}>
      <h2>Notifications by mail</h2>
      {settings.offReason && (
        <p class="failure" role="alert">
          No mails are sent: {settings.offReason}.
        </p>
      )}
      <form onSubmit={save}>
        <label class="field">
          <span>Mail address</span>
          <Input type="email" maxLength={254} autocomplete="email" value={mail} onValue={setMail} />
          <small>
            <AddressState settings={settings} />
          </small>
        </label>
        <fieldset class="field">
          <legend>Send a mail when</legend>
          {events.map((c) => (
            <Checkbox key={c.name} checked={chosen.includes(c.name)} onValue={(on) => choose(c.name, on)}>
              {c.text}
            </Checkbox>
          ))}
        </fieldset>
        <ErrorMessage text={error} />
        <div class="row">
          <button type="submit">Save notifications</button>
          {settings.mail && !settings.confirmed && (
            <button type="button" class="quiet" onClick={() => void run(() => api.askNotifications())}>
              Send the link again
            </button>
          )}
          <span role="status">{saved && 'Saved.'}</span>
        </div>
      </form>
      {settings.recent.length > 0 && (
        <div class="new-key">
          <Recent mails={settings.recent} />
        </div>
      )}
    </section>
  )
}

/** Whether mails go to the address, and what to do if not. */
function AddressState({ settings: s }: { settings: Settings }) {
  if (!s.mail) return <>Empty: no mails come.</>
  if (s.confirmed) return <>Confirmed: mails go to {s.mail}.</>
  if (s.linkUntil)
    return (
      <>
        Not confirmed yet: open the link in the mail to {s.mail} until {moment(s.linkUntil)}.
      </>
    )
  return <>Not confirmed, and the link has ended.</>
}

/** Where to see what a mail is about. */
function Source({ mail: m }: { mail: NotificationMail }) {
  if (!m.sourceId) return <span class="dim">none</span>
  const paths = { fold_job: 'jobs', workflow: 'workflows', batch: 'batches' }
  return <a href={`/ui/${paths[m.sourceKind!]}/${m.sourceId}`}>Open</a>
}

const Recent = ({ mails }: { mails: NotificationMail[] }) => (
  <>
    <h3>Last mails</h3>
    <div class="scroll">
      <Table class="cards" columns={['When', 'About', 'State', 'Reason', 'Result']}>
        {mails.map((m) => (
          <tr key={m.id}>
            <td class="num" data-label="When" title={moment(m.createdAt)}>
              {when(m.createdAt)}
            </td>
            <td data-label="About">{about[m.event]}</td>
            <td data-label="State">
              {m.status.toLowerCase()}
              {m.status === 'PENDING' && m.nextAt && m.attempts > 0 && `, next try ${when(m.nextAt)}`}
            </td>
            <td data-label="Reason">{m.reason ?? ''}</td>
            <td data-label="Result">
              <Source mail={m} />
            </td>
          </tr>
        ))}
      </Table>
    </div>
  </>
)
