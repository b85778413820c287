// The user's webhook endpoint, and the log of its deliveries.
import { useEffect, useState } from 'preact/hooks'
import { api, type WebhookConfig } from '../api'
import { Failure, Loading } from '../components'
import { may } from '../project'
import { Deliveries } from './Deliveries'
import { Endpoint, EndpointOfOthers } from './Endpoint'

/** The page: the log of deliveries, and the endpoint. */
export function Webhooks() {
  const [config, setConfig] = useState<WebhookConfig | Error>()
  const [testsSent, setTestsSent] = useState(0)
  const load = () => api.webhook().then(setConfig, (e: Error) => setConfig(e))
  useEffect(() => void load(), [])
  if (config === undefined) return <Loading what="Loading the webhook" />
  if (config instanceof Error)
    return <Failure title="The webhook could not be loaded" error={config} retry={() => void load()} />
  return (
    <>
      <div class="head">
        <div>
          <h1>Webhooks</h1>
          <p class="dim">When a run ends, the service sends a signed JSON document to your endpoint.</p>
        </div>
      </div>
      <div class="two">
        <Deliveries testsSent={testsSent} />
        {may('manager') ? (
          <Endpoint config={config} setConfig={setConfig} onTest={() => setTestsSent(testsSent + 1)} />
        ) : (
          <EndpointOfOthers config={config} />
        )}
      </div>
    </>
  )
}
