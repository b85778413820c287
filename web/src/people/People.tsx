// The page of a project: who has which role in it, and for its managers invitations, service users, the settings and
// the log of changes.
import { useEffect, useState } from 'preact/hooks'
import { type AuditEntry, api, type GroupRole, type Invitation, type Member, type ProjectRole } from '../api'
import { AuditTable } from '../auditTable'
import { ErrorMessage, Failure, Foldable, Loading } from '../components'
import { plural } from '../format'
import { choose, may, me, projectName, roleTexts, suffices, withProject } from '../project'
import { navigate } from '../router'
import { refreshProjects } from '../session'
import { Groups } from './Groups'
import { Invitations } from './Invitations'
import { Limits } from './Limits'
import { Members } from './Members'
import { ServiceUsers } from './ServiceUsers'
import { Settings } from './Settings'
import './people.css'

/** The shown data of a project. The lists of managers are empty for others. */
interface Loaded {
  project: ProjectRole
  members: Member[]
  /** The issuer by which people sign in; empty: there is none. */
  issuer: string
  groups: GroupRole[]
  invitations: Invitation[]
  audit: AuditEntry[]
}

/** Whether the user manages a project: as its manager, or as an operator of the service. */
const manages = (p: ProjectRole) => suffices(p.role, 'manager') || !!me.peek()?.isOperator

/** Reads a project and, for those who manage it, the rest. */
async function read(id: string): Promise<Loaded> {
  const [project, members, login] = await Promise.all([api.project(id), api.members(id), api.login()])
  const issuer = login.issuer?.title ?? ''
  const groups = issuer && !project.isOwn ? (await api.groups(id)).data : []
  const isManaged = manages(project) && !project.isOwn
  const [invitations, audit] = isManaged
    ? await Promise.all([api.invitations(id), api.projectAudit(id)])
    : [{ data: [] }, { data: [] }]
  return { project, issuer, groups, members: members.data, invitations: invitations.data, audit: audit.data }
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
      {loaded.issuer && !project.isOwn && (isManaged || loaded.groups.length > 0) && (
        <Groups id={id} groups={loaded.groups} issuer={loaded.issuer} isManaged={isManaged} run={run} />
      )}
      {isManaged ? (
        <>
          <Invitations id={id} invitations={loaded.invitations} run={run} />
          <ServiceUsers id={id} users={members.filter((m) => m.isService)} run={run} />
          <Limits project={project} run={run} />
          <Settings project={project} run={run} />
          <Foldable title="Latest changes">
            <AuditTable entries={loaded.audit} named />
          </Foldable>
        </>
      ) : (
        <>
          {members.some((m) => m.isService) && (
            <p class="dim">{plural(members.filter((m) => m.isService).length, 'service user')} for programs.</p>
          )}
          {!project.isOwn && !may('manager', id) && (
            <p class="dim small-text">Managers of the project invite others and change roles.</p>
          )}
          <Limits project={project} run={run} />
        </>
      )}
    </div>
  )
}
