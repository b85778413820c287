// The form that starts a simulation of a structure.
import { useEffect, useState } from 'preact/hooks'
import { api, type JobView } from '../api'
import { ErrorMessage, Loading } from '../components'
import { Input, Select } from '../controls'
import { type Method, methodsOf, settingNames } from '../dynamics/methods'
import { navigate } from '../router'

/** A number of the form. name is its key in workflow_input; min and max are the bounds of the engine. */
interface Field {
  name: string
  initial: string
  min: number
  max: number
  hint?: string
}

const fields: Field[] = [
  {
    name: 'sim_length_ns',
    initial: '0.2',
    min: 0.001,
    max: 2000,
    hint: '0.2 ns gives a first impression; averages need far longer runs.',
  },
  {
    name: 'step_size_ns',
    initial: '0.002',
    min: 0.00001,
    max: 100,
    hint: 'One frame is saved and measured per interval.',
  },
  { name: 'temp', initial: '293.15', min: 250, max: 400 },
  { name: 'ionic', initial: '0.15', min: 0, max: 5 },
  { name: 'pH', initial: '7.5', min: 0, max: 14 },
]

/** The texts of the fields, by their name. */
type Values = Record<string, string>

/**
 * Starts a simulation of a sequence's structure, or of the first protein if sequence is empty, and goes to its page.
 */
export function Simulate({ view, sequence }: { view: JobView; sequence: string }) {
  const protein = sequence || view.sequences.find((s) => s.type === 'protein')?.id
  const [opened, setOpened] = useState(false)
  if (!protein) return null
  return (
    <details class="simulate" onToggle={(e) => e.currentTarget.open && setOpened(true)}>
      <summary>Start a simulation</summary>
      {opened && <Form view={view} protein={protein} />}
    </details>
  )
}

/** The ways to simulate that run here; undefined until they are loaded. */
function useMethods(): Method[] | Error | undefined {
  const [methods, setMethods] = useState<Method[] | Error>()
  useEffect(() => {
    api.models().then(
      (list) => setMethods(methodsOf(list.data)),
      (e: Error) => setMethods(e),
    )
  }, [])
  return methods
}

/** The form for the protein with this sequence id. */
function Form({ view, protein }: { view: JobView; protein: string }) {
  const methods = useMethods()
  const [preset, setPreset] = useState('')
  const [values, setValues] = useState<Values>(Object.fromEntries(fields.map((f) => [f.name, f.initial])))
  const [seed, setSeed] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  if (methods === undefined) return <Loading what="Loading the engines" />
  if (methods instanceof Error) return <ErrorMessage text={`The engines could not be loaded: ${methods.message}`} />
  const method = methods.find((m) => m.preset === preset) ?? methods[0]
  if (!method) return <p class="dim">No engine for simulations is running here.</p>
  const start = async (e: Event) => {
    e.preventDefault()
    setBusy(true)
    try {
      const input = {
        sourceType: 'fold_job',
        sourceJobId: view.job.id,
        sourceJobRunId: view.run.id,
        sourceSequenceId: protein,
        preset: method.preset,
        ...Object.fromEntries(fields.map((f) => [f.name, Number(values[f.name])])),
        ...(seed.trim() && { seed: seed.trim() }),
      }
      // The service names it after what is simulated.
      const created = await api.createWorkflow('md', '', input, { of: view.job.projectId })
      navigate(`/ui/workflows/${created.workflow_id}`)
    } catch (e) {
      setError((e as Error).message)
    }
    setBusy(false)
  }
  const frames = Math.round(Number(values.sim_length_ns) / Number(values.step_size_ns))
  return (
    <form onSubmit={(e) => void start(e)}>
      {methods.length > 1 && (
        <label class="field">
          <span>Model</span>
          <Select value={method.preset} onValue={setPreset}>
            {methods.map((m) => (
              <option key={m.preset} value={m.preset}>
                {m.model.title}
              </option>
            ))}
          </Select>
        </label>
      )}
      <p class="dim">{method.model.notice}</p>
      <SimulationFields
        values={values}
        setValue={(name, v) => setValues((old) => ({ ...old, [name]: v }))}
        seed={seed}
        setSeed={setSeed}
      />
      <ErrorMessage text={error} />
      <div class="row">
        <button type="submit" class="small" disabled={busy}>
          {busy ? 'Starting…' : 'Simulate'}
        </button>
        {frames > 0 && Number.isFinite(frames) && <span class="dim">{frames} frames</span>}
      </div>
    </form>
  )
}

interface FieldsProps {
  values: Values
  setValue(name: string, value: string): void
  seed: string
  setSeed(seed: string): void
}

const SimulationFields = ({ values, setValue, seed, setSeed }: FieldsProps) => (
  <div class="fields">
    {fields.map(({ name, min, max, hint }) => (
      <label key={name} class="field">
        <span>{settingNames[name]}</span>
        <Input
          type="number"
          required
          min={min}
          max={max}
          step="any"
          value={values[name]!}
          onValue={(v) => setValue(name, v)}
        />
        {hint && <small>{hint}</small>}
      </label>
    ))}
    <label class="field">
      <span>Seed</span>
      <Input value={seed} maxLength={20} placeholder="random" onValue={setSeed} />
    </label>
  </div>
)
