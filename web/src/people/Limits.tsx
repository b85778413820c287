// The limits of a project: jobs a day, and a budget for each month. Operators change it.
import { useState } from 'preact/hooks'
import { api, type ChangeProject, type ProjectRole } from '../api'
import { Foldable } from '../components'
import { Input } from '../controls'
import { me, withProject } from '../project'
import { refreshProjects } from '../session'
import type { Run } from './Members'

interface Props {
  project: ProjectRole
  run: Run
}

/** A limit in a field; empty for none. */
export const text = (n: number | null) => (n === null ? '' : String(n))

/** A limit of a field as the service takes it: -1 for none or its default, which an empty field stands for. */
export const limit = (text: string) => (text.trim() === '' ? -1 : Number(text))

const number = new Intl.NumberFormat('en', { maximumFractionDigits: 3 })

/** The limits; for operators as a form. */
export function Limits({ project: p, run }: Props) {
  const isMember = me.value?.projects.some((m) => m.projectId === p.projectId)
  const usage = isMember ? withProject('/ui/usage', p.projectId) : `/ui/usage?of=${p.projectId}`
  return (
    <Foldable title="Limits">
      {me.value?.isOperator ? <LimitForm project={p} run={run} /> : <LimitList project={p} />}
      <p class="row">
        <a class="button quiet small" href={usage}>
          Usage of the project
        </a>
      </p>
    </Foldable>
  )
}

/** The limits as sentences, with who can change them. */
function LimitList({ project: p }: { project: ProjectRole }) {
  const budget = (n: number | null, unit: string) =>
    n === null ? `${unit}-seconds without a limit` : `${number.format(n)} ${unit}-seconds`
  return (
    <>
      <p>
        Jobs per day: {p.quota === null ? 'the default of the service' : number.format(p.quota)}. Budget of a month:{' '}
        {budget(p.budget.gpuSeconds, 'GPU')}, {budget(p.budget.cpuSeconds, 'CPU')}.
      </p>
      <p class="dim small-text">An operator of the service can change them.</p>
    </>
  )
}

/** The form. Fields that were not changed are not sent. */
function LimitForm({ project: p, run }: Props) {
  const [quota, setQuota] = useState(text(p.quota))
  const [gpu, setGPU] = useState(text(p.budget.gpuSeconds))
  const [cpu, setCPU] = useState(text(p.budget.cpuSeconds))
  const save = (e: Event) => {
    e.preventDefault()
    const budget = {
      ...(gpu !== text(p.budget.gpuSeconds) && { gpuSeconds: limit(gpu) }),
      ...(cpu !== text(p.budget.cpuSeconds) && { cpuSeconds: limit(cpu) }),
    }
    const change: ChangeProject = {
      ...(quota !== text(p.quota) && { quota: limit(quota) }),
      ...(Object.keys(budget).length > 0 && { budget }),
    }
    void run(async () => {
      await api.changeProject(p.projectId, change)
      await refreshProjects()
    })
  }
  return (
    <form onSubmit={save}>
      <div class="new-key-fields">
        <label class="field">
          <span>Jobs per day</span>
          <Input type="number" min={0} placeholder="default of the service" value={quota} onValue={setQuota} />
          <small>Empty: the default of the service.</small>
        </label>
        <label class="field">
          <span>GPU-seconds a month</span>
          <Input type="number" min={0} step="any" placeholder="without a limit" value={gpu} onValue={setGPU} />
          <small>Empty: without a limit.</small>
        </label>
        <label class="field">
          <span>CPU-seconds a month</span>
          <Input type="number" min={0} step="any" placeholder="without a limit" value={cpu} onValue={setCPU} />
          <small>Empty: without a limit.</small>
        </label>
      </div>
      <button type="submit" class="quiet">
        Save limits
      </button>
    </form>
  )
}
