// The page of a simulation: its progress, then the trajectory and what was measured.
import { useEffect } from 'preact/hooks'
import type { Workflow } from '../api'
import { reset } from '../store'
import { WorkflowFrame } from '../workflowFrame'
import { Measurements } from './Measurements'
import { settingName } from './methods'
import type { SimulationResult } from './simulation'
import { Trajectory } from './Trajectory'
import '../result/result.css'

/** The page of the simulation with this workflow id. */
export function Dynamics({ id }: { id: string }) {
  useEffect(() => reset, [id])
  return (
    <WorkflowFrame id={id} what="simulation">
      {(workflow) => {
        const task = workflow.tasks[0]
        const result = task?.result_raw_json as SimulationResult | null | undefined
        return (
          <>
            {result && task && (
              <>
                <Trajectory key={task.task_id} workflow={workflow} result={result} />
                <Measurements result={result} />
              </>
            )}
            <Settings workflow={workflow} />
          </>
        )
      }}
    </WorkflowFrame>
  )
}

/** The settings in the input of the workflow; references to its source are left out. */
function Settings({ workflow }: { workflow: Workflow }) {
  const settings = Object.entries(workflow.input_payload).filter(
    ([name, value]) => value !== null && typeof value !== 'object' && !/^(source|isPublic)/.test(name),
  )
  return (
    <section class="card" aria-labelledby="settings-title">
      <h2 id="settings-title">Settings</h2>
      <dl class="pairs">
        {settings.map(([name, value]) => (
          <div key={name}>
            <dt>{settingName(name)}</dt>
            <dd>{String(value)}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
