// Follow-ups of a completed fold: a question, a simulation, a notification.
import { Checkbox, Input, Select } from '../controls'
import { hasProfiles, settingNames } from '../dynamics/methods'
import { WebhookSwitch } from '../webhooks/Switch'
import type { Simulation } from './draft'
import { Problems } from './Problems'
import { draft, methods, problemsOf, update, webhook } from './state'

/** The follow-ups of the draft. */
export function FollowUps() {
  const { ask, question, simulate } = draft.value
  const problems = (...names: string[]) => problemsOf((p) => p.part === 'followUp' && names.includes(p.name))
  return (
    <fieldset class="follow">
      <legend>When it is done</legend>
      <Checkbox checked={ask} onValue={(v) => update({ ask: v })}>
        Ask a question about it
      </Checkbox>
      {ask && (
        <>
          <textarea
            rows={2}
            aria-label="The question"
            placeholder="Which residues are least certain?"
            value={question}
            onInput={(e) => update({ question: e.currentTarget.value })}
          />
          <p class="dim small-text">Without a question, a draft is created that you can complete later.</p>
        </>
      )}
      <Problems messages={problems('qna', 'evolla')} />
      <Checkbox checked={simulate} onValue={(v) => update({ simulate: v })}>
        Simulate its dynamics
      </Checkbox>
      {simulate && <SimulationFields />}
      <Problems messages={problems('md', 'openmm')} />
      <WebhookSwitch config={webhook.value} notify={draft.value.notify} setNotify={(notify) => update({ notify })} />
      <Problems messages={problems('custom_http')} />
    </fieldset>
  )
}

// The fields of the draft, each with its key in workflow_input.
const simulationFields: { name: keyof Simulation; key: string }[] = [
  { name: 'length', key: 'sim_length_ns' },
  { name: 'frameInterval', key: 'step_size_ns' },
  { name: 'temperature', key: 'temp' },
  { name: 'ionic', key: 'ionic' },
  { name: 'pH', key: 'pH' },
]

/** The settings of the simulation. */
function SimulationFields() {
  const { simulation } = draft.value
  const set = (fields: Partial<Simulation>) => update({ simulation: { ...draft.peek().simulation, ...fields } })
  const method = methods.value.find((m) => m.preset === simulation.preset)
  return (
    <div class="grid-2">
      {(methods.value.length > 1 || !method) && (
        <label class="field span-2">
          <span>Model</span>
          <Select value={simulation.preset} onValue={(preset) => set({ preset })}>
            {!method && <option>{simulation.preset}</option>}
            {methods.value.map((m) => (
              <option key={m.preset} value={m.preset}>
                {m.model.title}
              </option>
            ))}
          </Select>
        </label>
      )}
      {simulationFields.map(({ name, key }) => (
        <label key={name} class="field short">
          <span>{settingNames[key]}</span>
          <Input inputMode="decimal" value={simulation[name]} onValue={(v) => set({ [name]: v })} />
        </label>
      ))}
      {hasProfiles(simulation.preset) && (
        <label class="field short">
          <span>{settingNames.residue_profile}</span>
          <Select value={simulation.residueProfile} onValue={(residueProfile) => set({ residueProfile })}>
            <option>calvados2</option>
            <option>calvados3</option>
          </Select>
        </label>
      )}
    </div>
  )
}
