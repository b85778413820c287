// The page of the link in a mail that asks to confirm an address. Its token is behind the # of the address, and opening
// the page changes nothing: programs that look through mails open links, too.
import { useState } from 'preact/hooks'
import { api } from '../api'
import { ErrorMessage } from '../components'
import { tokenOfAddress, user } from '../session'

/** Confirms the address when the person says so. */
export function Confirm() {
  const [token] = useState(tokenOfAddress)
  const [done, setDone] = useState<string>()
  const [error, setError] = useState(token ? '' : 'The link is incomplete: the part after # is missing.')
  const confirm = async () => {
    try {
      const n = await api.confirmNotifications(token)
      setDone(n.mail ?? '')
    } catch (e) {
      setError((e as Error).message)
    }
  }
  if (done !== undefined)
    return (
      <section class="state" data-confirmed>
        <h1>Your address is confirmed</h1>
        <p>
          Mails go to <strong>{done}</strong> from now on.
        </p>
        <p>
          <a class="button" href="/ui/notifications">
            Notifications
          </a>
        </p>
      </section>
    )
  return (
    <section class="state">
      <h1>Confirm your mail address</h1>
      <p>Notifications of this service then go to the address at which you got the link.</p>
      <ErrorMessage text={error} />
      <p>
        <button type="button" disabled={!token} onClick={() => void confirm()}>
          Confirm as {user.value}
        </button>
      </p>
    </section>
  )
}
