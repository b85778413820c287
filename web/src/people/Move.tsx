// The way of a job or workflow to another project.
import { useState } from 'preact/hooks'
import { api } from '../api'
import { ErrorMessage } from '../components'
import { Select } from '../controls'
import { Dialog } from '../dialog'
import { projectName, projects, suffices } from '../project'

interface Props {
  kind: 'jobs' | 'workflows'
  id: string
  /** The word for it in texts. */
  what: string
  /** The project that owns it. */
  from: string | null
  moved(): unknown
  close(): void
}

/** The dialog: a menu of the projects in which the user may create. */
export function Move({ kind, id, what, from, moved, close }: Props) {
  const others = projects.value.filter((p) => p.projectId !== from && suffices(p.role, 'member'))
  const [to, setTo] = useState(others[0]?.projectId ?? '')
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  const move = async (e: Event) => {
    e.preventDefault()
    setBusy(true)
    try {
      await (kind === 'jobs' ? api.moveJob(id, to) : api.moveWorkflow(id, to))
      await moved()
      close()
    } catch (e) {
      setError((e as Error).message)
      setBusy(false)
    }
  }
  return (
    <Dialog title={`Move this ${what}`} close={close}>
      <p class="dim">
        {kind === 'jobs' ? 'Its questions, simulations and designs come along. ' : ''}Who has a role in the other
        project can read it there. Its links and webhook settings end.
      </p>
      <form onSubmit={(e) => void move(e)}>
        <label class="field">
          <span>To project</span>
          <Select value={to} onValue={setTo}>
            {others.map((p) => (
              <option key={p.projectId} value={p.projectId}>
                {projectName(p)}
              </option>
            ))}
          </Select>
        </label>
        <ErrorMessage text={error} />
        <button type="submit" disabled={busy || !to}>
          Move
        </button>
      </form>
    </Dialog>
  )
}
