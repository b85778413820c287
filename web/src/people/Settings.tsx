// The name of a project, how long it keeps results, whether it is commercial, and its end.
import { useState } from 'preact/hooks'
import { api, type ChangeProject, type ProjectRole } from '../api'
import { Foldable } from '../components'
import { Checkbox, Input } from '../controls'
import { navigate } from '../router'
import { refreshProjects } from '../session'
import { limit, text } from './Limits'
import type { Run } from './Members'

interface Props {
  project: ProjectRole
  run: Run
}

/** The form. */
export function Settings({ project: p, run }: Props) {
  const [name, setName] = useState(p.name)
  const [days, setDays] = useState(text(p.keepResultsDays))
  const [commercial, setCommercial] = useState(p.commercial)
  const save = (e: Event) => {
    e.preventDefault()
    const change: ChangeProject = {
      ...(name.trim() !== p.name && { name: name.trim() }),
      ...(days !== text(p.keepResultsDays) && { keepResultsDays: limit(days) }),
      ...(commercial !== p.commercial && { commercial }),
    }
    void run(async () => {
      await api.changeProject(p.projectId, change)
      await refreshProjects()
    })
  }
  const remove = () => {
    if (!confirm(`Delete the project “${p.name}”? It must not own anything any more.`)) return
    void run(async () => {
      await api.deleteProject(p.projectId)
      await refreshProjects()
      navigate('/ui/projects')
    })
  }
  return (
    <Foldable title="Settings">
      <form onSubmit={save}>
        <div class="new-key-fields">
          <label class="field">
            <span>Name</span>
            <Input required maxLength={255} value={name} onValue={setName} />
          </label>
          <label class="field">
            <span>Keep results for days</span>
            <Input type="number" min={0} max={36500} placeholder="as the service does" value={days} onValue={setDays} />
            <small>0: until somebody deletes them. Empty: as the service does.</small>
          </label>
        </div>
        <Checkbox
          checked={commercial}
          onValue={setCommercial}
          hint="New runs may use only models whose weights allow commercial use."
        >
          Commercial project
        </Checkbox>
        <div class="row">
          <button type="submit" class="quiet">
            Save
          </button>
          <button type="button" class="danger" onClick={remove}>
            Delete project
          </button>
        </div>
      </form>
    </Foldable>
  )
}
