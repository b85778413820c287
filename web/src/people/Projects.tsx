// The projects of the user; an operator sees all, and creates them.
import { useEffect, useState } from 'preact/hooks'
import { api, type ProjectRole } from '../api'
import { ErrorMessage, Failure, Loading } from '../components'
import { Checkbox, Input } from '../controls'
import { moment, when } from '../format'
import { choose, me, projectId, projectName, withProject } from '../project'
import { navigate } from '../router'
import { refreshProjects } from '../session'
import { Table } from '../table'

/** The page. */
export function Projects() {
  const isOperator = me.value?.isOperator ?? false
  const [all, setAll] = useState(false)
  const [list, setList] = useState<ProjectRole[] | Error>()
  const load = () =>
    api.projects(all).then(
      ({ data }) => setList(data),
      (e: Error) => setList(e),
    )
  useEffect(() => void load(), [all])
  return (
    <>
      <div class="head">
        <div>
          <h1>Projects</h1>
          <p class="dim">A project owns jobs, batches and a library. Its members share them, and its quota.</p>
        </div>
        {isOperator && (
          <div class="row">
            <Checkbox checked={all} onValue={setAll}>
              All projects of the service
            </Checkbox>
            <a class="button quiet small" href="/ui/usage?whose=all">
              Usage of all
            </a>
          </div>
        )}
      </div>
      {list === undefined && <Loading what="Loading the projects" />}
      {list instanceof Error && (
        <Failure title="The projects could not be loaded" error={list} retry={() => void load()} />
      )}
      {Array.isArray(list) && (
        <div class="card flush">
          <Table class="cards" columns={columns}>
            {list.map((p) => (
              <Row key={p.projectId} project={p} />
            ))}
          </Table>
        </div>
      )}
      {isOperator ? (
        <CreateProject />
      ) : (
        <p class="dim small-text">An operator of the service creates projects; their managers invite.</p>
      )}
    </>
  )
}

const columns = ['Name', 'Your role', 'Created', { title: 'Actions', hidden: true }]

/** A project, with the way to its people and to its jobs. */
function Row({ project: p }: { project: ProjectRole }) {
  const work = () => {
    choose(p.projectId)
    navigate(withProject('/ui/jobs', p.projectId))
  }
  return (
    <tr data-project={p.projectId}>
      <td data-label="Name">
        {p.isOwn ? (
          <span class="name">{projectName(p)}</span>
        ) : (
          <a class="name" href={`/ui/projects/${p.projectId}`}>
            {p.name}
          </a>
        )}{' '}
        {p.projectId === projectId.value && <span class="chip plain">chosen</span>}
      </td>
      <td data-label="Your role">{p.role ?? <span class="dim">none</span>}</td>
      <td data-label="Created" class="num dim" title={moment(p.createdAt)}>
        {when(p.createdAt)}
      </td>
      <td class="right">
        {p.role && (
          <button type="button" class="quiet small" aria-label={`Open the jobs of ${projectName(p)}`} onClick={work}>
            Open
          </button>
        )}
      </td>
    </tr>
  )
}

/** The form for a project, which its creator manages unless another user is named. */
function CreateProject() {
  const [name, setName] = useState('')
  const [manager, setManager] = useState('')
  const [error, setError] = useState('')
  const create = async (e: Event) => {
    e.preventDefault()
    try {
      const made = await api.createProject({ name: name.trim(), ...(manager.trim() && { manager: manager.trim() }) })
      await refreshProjects()
      navigate(`/ui/projects/${made.projectId}`)
    } catch (e) {
      setError((e as Error).message)
    }
  }
  return (
    <form class="card" aria-labelledby="create-title" onSubmit={(e) => void create(e)}>
      <h2 id="create-title">Create a project</h2>
      <div class="new-key-fields">
        <label class="field">
          <span>Name</span>
          <Input required maxLength={255} placeholder="e.g. Lab A" value={name} onValue={setName} />
        </label>
        <label class="field">
          <span>Manager</span>
          <Input maxLength={255} placeholder={me.value?.name ?? ''} value={manager} onValue={setManager} />
          <small>The name of a user. Without one, it is you.</small>
        </label>
      </div>
      <ErrorMessage text={error} />
      <button type="submit">Create project</button>
    </form>
  )
}
