// The links by which anybody reads a job, batch or workflow.
import { useEffect, useState } from 'preact/hooks'
import { api, type Link, type NewLink, type Shared } from '../api'
import { ErrorMessage, Loading } from '../components'
import { Dialog } from '../dialog'
import { moment } from '../format'
import { Once } from '../once'
import { type End, EndField } from './End'
import { endOf } from './ends'

const mostDays = 366

interface Props {
  kind: Shared
  id: string
  /** The word for it in texts. */
  what: string
  close(): void
}

/** The dialog that makes, lists and ends links. */
export function Share({ kind, id, what, close }: Props) {
  const [links, setLinks] = useState<Link[]>()
  const [created, setCreated] = useState<NewLink>()
  const [end, setEnd] = useState<End>({ choice: '30', date: '' })
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  const run = async (action: () => Promise<unknown>) => {
    setBusy(true)
    try {
      await action()
      setLinks((await api.links(kind, id)).data)
      setError('')
    } catch (e) {
      setError((e as Error).message)
    }
    setBusy(false)
  }
  useEffect(() => void run(async () => {}), [])
  const create = (e: Event) => {
    e.preventDefault()
    void run(async () => setCreated(await api.createLink(kind, id, { expiresAt: endOf(end.choice, end.date) })))
  }
  const remove = (link: Link) =>
    void run(async () => {
      await api.deleteLink(kind, id, link.linkId)
      if (created?.linkId === link.linkId) setCreated(undefined)
    })
  return (
    <Dialog title={`Share this ${what}`} close={close}>
      <p class="dim">Anybody who has a link reads this {what}, without a key, until the link ends.</p>
      {created && (
        <Once secret={created.url} done={() => setCreated(undefined)}>
          <strong>The link</strong> ends on {moment(created.expiresAt)}.
        </Once>
      )}
      <form class="row ends" onSubmit={create}>
        <EndField end={end} setEnd={setEnd} most={mostDays} />
        <button type="submit" disabled={busy}>
          Make a link
        </button>
      </form>
      <ErrorMessage text={error} />
      {links === undefined && !error && <Loading what="Loading the links" />}
      {links?.length === 0 && <p class="dim">There are no links.</p>}
      {links && links.length > 0 && (
        <ul class="linked" aria-label="Links">
          {links.map((link) => (
            <li key={link.linkId} class="row between">
              <span>
                by {link.createdBy}, ends <time dateTime={link.expiresAt}>{moment(link.expiresAt)}</time>
              </span>
              <button
                type="button"
                class="danger small"
                disabled={busy}
                aria-label={`End the link of ${link.createdBy} that ends on ${moment(link.expiresAt)}`}
                onClick={() => remove(link)}
              >
                End
              </button>
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  )
}
