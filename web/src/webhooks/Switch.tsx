// The switch of a form that notifies the user's webhook.
import type { WebhookConfig } from '../api'
import { Checkbox } from '../controls'
import { may, project } from '../project'

interface Props {
  /** The user's webhook; null: not loaded, or there is none. */
  config: WebhookConfig | null
  /** Whether to notify it; null: its default. */
  notify: boolean | null
  setNotify(notify: boolean): void
}

/** The switch for the webhook, or the link to set it up. */
export function WebhookSwitch({ config, notify, setNotify }: Props) {
  if (!may('manager'))
    return (
      <p class="dim small-text">
        If the managers of “{project.value?.name}” have set up a webhook for every run, it is notified.
      </p>
    )
  if (!config?.is_configured)
    return (
      <p class="dim small-text">
        Set up a <a href="/ui/webhooks">webhook</a> to notify another program.
      </p>
    )
  return (
    <Checkbox checked={isNotified(config, notify)} onValue={setNotify} hint={config.target_url}>
      Notify my webhook
    </Checkbox>
  )
}

/** Whether a webhook will be notified. notify: as in a form; null: the webhook's default. */
export const isNotified = (config: WebhookConfig | null, notify: boolean | null) =>
  !!config?.is_configured && (notify ?? config.enabled_by_default)
