// The switch of a form that notifies the user's webhook.
import { useEffect, useState } from 'preact/hooks'
import { api, type WebhookConfig, type WebhookEndpoints } from '../api'
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
  if (!may('manager')) return <MembersNote />
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

/** Shows users who do not manage the project which destinations are notified when a run ends. */
function MembersNote() {
  const [endpoints, setEndpoints] = useState<WebhookEndpoints>()
  const id = project.value?.projectId
  useEffect(() => {
    api.endpoints().then(setEndpoints, () => undefined) // a hint, which the form does without
  }, [id])
  if (!endpoints) return null
  const names = endpoints.data.map((e) => e.name)
  if (endpoints.default_endpoint?.enabled_by_default) names.unshift(endpoints.default_endpoint.target_url)
  return (
    <p class="dim small-text">
      {names.length > 0
        ? `Webhooks of the project: ${names.join(', ')}.`
        : `“${project.value?.name}” has no webhook for every run.`}
    </p>
  )
}

/** Whether a webhook will be notified. notify: as in a form; null: the webhook's default. */
export const isNotified = (config: WebhookConfig | null, notify: boolean | null) =>
  !!config?.is_configured && (notify ?? config.enabled_by_default)
