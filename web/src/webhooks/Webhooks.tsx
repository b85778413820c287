// The webhook endpoints of a project, and the log of their deliveries.
import { useEffect, useState } from 'preact/hooks'
import { api, type WebhookConfig, type WebhookEndpoints } from '../api'
import { Failure, Loading } from '../components'
import { may } from '../project'
import { Deliveries } from './Deliveries'
import { Endpoint } from './Endpoint'
import { Endpoints } from './Endpoints'

/** The endpoints, as the page shows them; config is null unless you manage the project. */
interface Loaded {
  config: WebhookConfig | null
  endpoints: WebhookEndpoints
}

const loadAll = async (): Promise<Loaded> => {
  const [endpoints, config] = await Promise.all([api.endpoints(), may('manager') ? api.webhook() : null])
  return { endpoints, config }
}

/** The page: the log of deliveries next to the endpoints, which only managers of the project change. */
export function Webhooks() {
  const [loaded, setLoaded] = useState<Loaded | Error>()
  const [version, setVersion] = useState(0) // of the log
  const load = () => loadAll().then(setLoaded, (e: Error) => setLoaded(e))
  useEffect(() => void load(), [])
  if (loaded === undefined) return <Loading what="Loading the webhooks" />
  if (loaded instanceof Error)
    return <Failure title="The webhooks could not be loaded" error={loaded} retry={() => void load()} />
  const onTest = () => setVersion((n) => n + 1)
  return (
    <>
      <div class="head">
        <div>
          <h1>Webhooks</h1>
          <p class="dim">When a run ends, the service sends a signed JSON document to your endpoints.</p>
        </div>
      </div>
      <div class="two">
        <Deliveries version={version} endpoints={loaded.endpoints} />
        <div class="stack">
          {loaded.config && (
            <Endpoint
              config={loaded.config}
              setConfig={(config) => setLoaded({ ...loaded, config })}
              onTest={onTest}
              onChange={() => void load()}
            />
          )}
          <Endpoints endpoints={loaded.endpoints} onTest={onTest} reload={() => load().then(onTest)} />
        </div>
      </div>
    </>
  )
}
