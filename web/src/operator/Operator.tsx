// The page of the operators: what the service does, its workers, its users, and the log of changes.
import { useState } from 'preact/hooks'
import { api, type OperatorWorker, type Overview } from '../api'
import { ErrorMessage, Failure, Loading } from '../components'
import { me } from '../project'
import { Audit } from './Audit'
import type { Act } from './act'
import { Queues } from './Queues'
import { useRefreshed } from './refresh'
import { Service } from './Service'
import { SlowRuns } from './SlowRuns'
import { Users } from './Users'
import { Workers } from './Workers'
import './operator.css'

/** The data that the page reads periodically. */
interface Seen {
  overview: Overview
  workers: OperatorWorker[]
}

async function read(): Promise<Seen> {
  const [overview, workers] = await Promise.all([api.overview(), api.workers()])
  return { overview, workers: workers.data }
}

/** The page. Users who are not operators see that it is for operators. */
export function Operator() {
  if (me.value === null) return <Loading />
  return me.value.isOperator ? <Panels /> : <NotOperator />
}

const NotOperator = () => (
  <section class="state">
    <h1>Operators</h1>
    <p>This page is for those who operate the service. Ask one of them to make you an operator.</p>
  </section>
)

function Panels() {
  const { value, error, read: again } = useRefreshed(read)
  const [failed, setFailed] = useState('')
  // The number of acts, after which the lists that do not refresh by themselves are read again.
  const [acts, setActs] = useState(0)
  const act: Act = async (action) => {
    try {
      await action()
      setFailed('')
    } catch (e) {
      setFailed((e as Error).message)
      return false
    }
    setActs((n) => n + 1)
    await again()
    return true
  }
  if (value === undefined) return <Loading what="Loading what the service does" />
  if (value instanceof Error)
    return <Failure title="The service could not be read" error={value} retry={() => void again()} />
  const { overview, workers } = value
  return (
    <div class="operator" data-ready>
      <div class="head">
        <div>
          <h1>Operators</h1>
          <p class="dim">What the service does. It refreshes every five seconds while you look at it.</p>
        </div>
      </div>
      <ErrorMessage text={failed || (error && `The page could not be refreshed: ${error}`)} />
      <Queues overview={overview} act={act} />
      <Workers workers={workers} act={act} />
      <SlowRuns runs={overview.slowRuns} />
      <Service overview={overview} />
      <Users acts={acts} act={act} />
      <Audit acts={acts} />
    </div>
  )
}
