// The page of a project: who has which role in it, and for its managers invitations, service users, the settings and
// the log of changes.
import { useEffect, useState } from 'preact/hooks'
import { type AuditEntry, api, type Invitation, type Member, type ProjectRole } from '../api'
import { ErrorMessage, Failure, Foldable, Loading } from '../components'
import { moment, plural, when } from '../format'
import { choose, may, me, projectName, roleTexts, suffices, withProject } from '../project'
import { navigate } from '../router'
import { refreshProjects } from '../session'
import { Table } from '../table'
import { Invitations } from './Invitations'
import { Members } from './Members'
import { ServiceUsers } from './ServiceUsers'
import { Settings } from './Settings'
import './people.css'

/** What is shown of a project. The lists of managers are empty for others. */
interface Loaded {
  project: ProjectRole
  members: Member[]
  invitations: Invitation[]
  audit: AuditEntry[]
}

/** Whether the user manages a project: as its manager, or as an operator of the service. */
const manages = (p: ProjectRole) => suffices(p.role, 'manager') || !!me.peek()?.isOperator

/** Reads a project and, for those who manage it, the rest. */
async function read(id: string): Promise<Loaded> {
  const [project, members] = await Promise.all([api.project(id), api.members(id)])
  const isManaged = manages(project) && !project.isOwn
  const [invitations, audit] = isManaged
    ? await Promise.all([api.invitations(id), api.projectAudit(id)])
    : [{ data: [] }, { data: [] }]
  return { project, members: members.data, invitations: invitations.data, audit: audit.data }
}

/** The page of the project with this id. */
export function People({ id }: { id: string }) {
  const [loaded, setLoaded] = useState<Loaded | Error>()
  const [error, setError] = useState('')
  const load = () => read(id).then(setLoaded, (e: Error) => setLoaded(e))
  const user = me.value?.userId ?? '' // an operator sees more
  useEffect(() => {
    if (user) void load()
  }, [id, user])
  /** Runs an action, then reads the project again. It reports whether the action succeeded. */
  const run = async (action: () => Promise<unknown>) => {
    try {
      await action()
      setError('')
    } catch (e) {
      setError((e as Error).message)
      return false
    }
    await load()
    return true
  }
  if (loaded === undefined) return <Loading what="Loading the project" />
  if (loaded instanceof Error)
    return <Failure title="The project could not be loaded" error={loaded} retry={() => void load()} />
  const { project, members } = loaded
  const isManaged = manages(project) && !project.isOwn
  const leave = async () => {
    if (!confirm(`Leave “${project.name}”? You cannot read what it owns any more.`)) return
    try {
      await api.removeMember(id, me.peek()!.userId)
      await refreshProjects()
      navigate('/ui/projects')
    } catch (e) {
      setError((e as Error).message)
    }
  }
  const open = () => {
    choose(id)
    navigate(withProject('/ui/jobs', id))
  }
  const own = members.find((m) => m.userId === me.value?.userId)
  return (
    <div class="people" data-project={id}>
      <div class="head">
        <div>
          <h1>{projectName(project)}</h1>
          <p class="dim">
            {project.role ? `You may ${roleTexts[project.role]}.` : 'You see it as an operator of the service.'}{' '}
            <a href="/ui/projects">All projects</a>
          </p>
        </div>
        <div class="row">
          {project.role && (
            <button type="button" class="quiet small" onClick={open}>
              Open its jobs
            </button>
          )}
          {own && !project.isOwn && !own.isService && (
            <button type="button" class="quiet small" onClick={() => void leave()}>
              Leave
            </button>
          )}
        </div>
      </div>
      <ErrorMessage text={error} />
      {project.isOwn && (
        <p class="hint">This project is yours alone, and others cannot join it. An operator creates shared ones.</p>
      )}
      <Members id={id} members={members.filter((m) => !m.isService)} isManaged={isManaged} run={run} />
      {isManaged ? (
        <>
          <Invitations id={id} invitations={loaded.invitations} run={run} />
          <ServiceUsers id={id} users={members.filter((m) => m.isService)} run={run} />
          <Settings project={project} run={run} />
          <Changes entries={loaded.audit} />
        </>
      ) : (
        <>
          {members.some((m) => m.isService) && (
            <p class="dim">{plural(members.filter((m) => m.isService).length, 'service user')} for programs.</p>
          )}
          {!project.isOwn && !may('manager', id) && (
            <p class="dim small-text">Managers of the project invite others and change roles.</p>
          )}
        </>
      )}
    </div>
  )
}

/** The latest changes, newest first. */
const Changes = ({ entries }: { entries: AuditEntry[] }) => (
  <Foldable title="Latest changes">
    <div class="scroll">
      <Table class="cards" columns={['When', 'Who', 'What', 'Of', 'Details', 'With key', 'From']}>
        {entries.map((e) => (
          <tr key={e.id}>
            <td class="num" data-label="When" title={moment(e.at)}>
              {when(e.at)}
            </td>
            <td data-label="Who">{e.userName || 'an operator'}</td>
            <td data-label="What">{e.action.replace(/[._]/g, ' ')}</td>
            <td class="mono" data-label="Of">
              {e.subject}
            </td>
            <td data-label="Details">{e.detail}</td>
            <td class="mono" data-label="With key">
              {e.keyPrefix ? `${e.keyPrefix}…` : ''}
            </td>
            <td class="mono" data-label="From">
              {e.address}
            </td>
          </tr>
        ))}
      </Table>
    </div>
  </Foldable>
)
