// What goes on from a result: questions, simulations, deliveries.
import { useState } from 'preact/hooks'
import { api, type JobView } from '../api'
import { StatusChip } from '../components'
import { navigate } from '../router'

const target: Record<string, string> = {
  custom_http: 'Post to your endpoint',
  qna: 'Start of a question',
  md: 'Start of a simulation',
}

export function Linked({ view }: { view: JobView }) {
  const flows = view.workflows.filter((w) => !/qna|evolla/.test(w.type))
  const kind = (type: string) => (/qna|evolla/.test(type) ? 'Question' : /md|openmm/.test(type) ? 'Simulation' : type)
  if (flows.length === 0 && view.deliveries.length === 0) return null
  return (
    <>
      {flows.length > 0 && (
        <ul class="linked" aria-label="Simulations of this structure">
          {flows.map((w) => (
            <li>
              <a href={`/ui/workflows/${w.id}`}>{w.name}</a> <span class="dim">{kind(w.type)}</span>{' '}
              <StatusChip status={w.status} />
            </li>
          ))}
        </ul>
      )}
      {view.deliveries.length > 0 && (
        <>
          <h3>Deliveries</h3>
          <ul class="linked" aria-label="Deliveries of this job">
            {view.deliveries.map((d) => (
              <li>
                <a href={`/ui/webhooks?delivery=${d.id}`}>{target[d.type] ?? d.type}</a>{' '}
                <StatusChip status={d.status} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

interface Field {
  name: string
  label: string
  value: string
  min: number
  max: number
  step: string
  says: string
}

const fields: Field[] = [
  {
    name: 'sim_length_ns',
    label: 'Length in ns',
    value: '0.2',
    min: 0.001,
    max: 2000,
    step: 'any',
    says: 'A look takes 0.2 ns; averages want far more.',
  },
  {
    name: 'step_size_ns',
    label: 'A frame each … ns',
    value: '0.002',
    min: 0.00001,
    max: 100,
    step: 'any',
    says: 'Frames are what is drawn and measured.',
  },
  { name: 'temp', label: 'Temperature in K', value: '293.15', min: 250, max: 400, step: 'any', says: '' },
  { name: 'ionic', label: 'Salt in mol/L', value: '0.15', min: 0, max: 5, step: 'any', says: '' },
  { name: 'pH', label: 'pH', value: '7.5', min: 0, max: 14, step: 'any', says: '' },
]

/** Simulate starts a simulation of a sequence's structure and goes to its page. */
export function Simulate({ view, sequence, open }: { view: JobView; sequence: string; open?: boolean }) {
  const protein = sequence || view.sequences.find((s) => s.type === 'protein')?.id
  const [values, setValues] = useState<Record<string, string>>(Object.fromEntries(fields.map((f) => [f.name, f.value])))
  const [seed, setSeed] = useState('')
  const [busy, setBusy] = useState(false)
  const [trouble, setTrouble] = useState('')
  if (!protein) return null
  const start = async (e: Event) => {
    e.preventDefault()
    setBusy(true)
    try {
      const input: Record<string, unknown> = {
        sourceType: 'fold_job',
        sourceJobId: view.job.id,
        sourceJobRunId: view.run.id,
        sourceSequenceId: protein,
        preset: 'single_af_go',
      }
      for (const f of fields) input[f.name] = Number(values[f.name])
      if (seed.trim()) input.seed = seed.trim()
      const made = await api.createWorkflow('md', `Dynamics of ${view.job.name}`.slice(0, 255), input)
      navigate(`/ui/workflows/${made.workflow_id}`)
    } catch (e) {
      setTrouble((e as Error).message)
    }
    setBusy(false)
  }
  const frames = Math.round(Number(values.sim_length_ns) / Number(values.step_size_ns))
  return (
    <details class="simulate" open={open}>
      <summary>Start a simulation</summary>
      <p class="dim">
        Coarse-grained, one bead per residue, in salt water: how tails and loosely held parts move about what the
        prediction is sure of. It tells nothing of side chains or ligands.
      </p>
      <form onSubmit={(e) => void start(e)}>
        <div class="fields">
          {fields.map((f) => (
            <label class="field">
              <span>{f.label}</span>
              <input
                type="number"
                required
                min={f.min}
                max={f.max}
                step={f.step}
                value={values[f.name]}
                onInput={(e) => setValues({ ...values, [f.name]: e.currentTarget.value })}
              />
              {f.says && <small>{f.says}</small>}
            </label>
          ))}
          <label class="field">
            <span>Seed</span>
            <input
              type="text"
              value={seed}
              maxLength={20}
              placeholder="chosen"
              onInput={(e) => setSeed(e.currentTarget.value)}
            />
          </label>
        </div>
        {trouble && (
          <p class="refused" role="alert">
            {trouble}
          </p>
        )}
        <div class="row">
          <button type="submit" class="small" disabled={busy}>
            {busy ? 'Starting…' : 'Simulate'}
          </button>
          {frames > 0 && Number.isFinite(frames) && <span class="dim">{frames} frames</span>}
        </div>
      </form>
    </details>
  )
}
