// The user's webhook endpoint, and the log of its deliveries.
import { useEffect, useState } from 'preact/hooks'
import { api, type WebhookConfig } from '../api'
import { Failure, Loading } from '../components'
import { may, project } from '../project'
import { Deliveries } from './Deliveries'
import { Endpoint } from './Endpoint'

/** The page: the log of deliveries and, for managers of the project, the endpoint. */
export const Webhooks = () => (
  <>
    <div class="head">
      <div>
        <h1>Webhooks</h1>
        <p class="dim">When a run ends, the service sends a signed JSON document to your endpoint.</p>
      </div>
    </div>
    {may('manager') ? <WithEndpoint /> : <DeliveriesAlone />}
  </>
)

/** The log, for who may not see the endpoint. */
const DeliveriesAlone = () => (
  <>
    <p class="hint">The endpoint is seen and changed by managers of “{project.value?.name}” alone.</p>
    <Deliveries testsSent={0} />
  </>
)

/** The log next to the endpoint. */
function WithEndpoint() {
  const [config, setConfig] = useState<WebhookConfig | Error>()
  const [testsSent, setTestsSent] = useState(0)
  const load = () => api.webhook().then(setConfig, (e: Error) => setConfig(e))
  useEffect(() => void load(), [])
  if (config === undefined) return <Loading what="Loading the webhook" />
  if (config instanceof Error)
    return <Failure title="The webhook could not be loaded" error={config} retry={() => void load()} />
  return (
    <div class="two">
      <Deliveries testsSent={testsSent} />
      <Endpoint config={config} setConfig={setConfig} onTest={() => setTestsSent(testsSent + 1)} />
    </div>
  )
}
