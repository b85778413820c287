// The others of a result, the webhook deliveries of its job, and the way to a design.

import type { JobView } from '../api'
import { StatusChip } from '../components'
import { designAddress } from '../designs/address'
import { withProject } from '../project'
import { workflowKind } from '../workflow'

// The effect of a delivery, by its destination.
const destinationNames: Record<string, string> = {
  custom_http: 'To your endpoint',
  qna: 'Starts a question',
  md: 'Starts a simulation',
}

/** Reports whether a workflow type, which may be an alias, is that of questions. */
const isQuestion = (type: string) => /qna|evolla/.test(type)

/** Lists workflows and deliveries. The questions have a thread of their own. */
export function LinkedItems({ view }: { view: JobView }) {
  const others = view.workflows.filter((w) => !isQuestion(w.type))
  return (
    <>
      {others.length > 0 && (
        <ul class="linked" aria-label="Workflows on this structure">
          {others.map((w) => (
            <li key={w.id}>
              <a href={`/ui/workflows/${w.id}`}>{w.name}</a> <span class="dim">{workflowKind(w.type)}</span>{' '}
              <StatusChip status={w.status} />
            </li>
          ))}
        </ul>
      )}
      {view.deliveries.length > 0 && (
        <>
          <h3>Webhook deliveries</h3>
          <ul class="linked" aria-label="Deliveries of this job">
            {view.deliveries.map((d) => (
              <li key={d.id}>
                <a href={withProject(`/ui/webhooks?delivery=${d.id}`, view.job.projectId)}>
                  {destinationNames[d.type] ?? d.type}
                </a>{' '}
                <StatusChip status={d.status} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

/** Links to the form of a design for the structure. */
export function DesignLinks({ view }: { view: JobView }) {
  const target = { job: view.job.id, run: view.run.id }
  return (
    <p class="row design-links">
      <a class="button quiet small" href={withProject(designAddress(target), view.job.projectId)}>
        Design a binder
      </a>
      <a
        class="button quiet small"
        href={withProject(designAddress({ ...target, mode: 'redesign' }), view.job.projectId)}
      >
        Redesign the sequence
      </a>
    </p>
  )
}
