// The switch between the projects of the user, in the header.
import { effect } from '@preact/signals'
import { Select } from './controls'
import { choose, me, project, projectName, projects, withProject } from './project'
import { navigate, path, query } from './router'

// The pages that list what a project owns. Their addresses name it.
const lists = /^\/ui\/(jobs|batches|workflows|library|webhooks|keys|usage)\/?$/

/** Works in another project from now on. The address of a list becomes that of the same list of the project. */
function switchTo(id: string) {
  choose(id)
  const isList = lists.test(path.peek())
  if (!isList && !query.peek().has('project')) return
  const rest = new URLSearchParams(isList ? '' : query.peek()) // the filter of a list is for the other project
  rest.delete('project')
  navigate(withProject(path.peek() + (rest.size > 0 ? `?${rest}` : ''), id), { replace: true })
}

// An address that names a project of the user chooses it.
effect(() => {
  const id = query.value.get('project')
  if (id && projects.value.some((p) => p.projectId === id)) choose(id)
})

/** The menu of projects, and the way to the people of the chosen one. A user without a shared project sees nothing; if
 * the key reaches only one project, its name is shown. */
export function Switcher() {
  const current = project.value
  if (projects.value.length === 1 && current && !current.isOwn)
    return <a href={`/ui/projects/${current.projectId}`}>{current.name}</a>
  if (projects.value.length < 2 || !current) return me.value?.isOperator ? <a href="/ui/projects">Projects</a> : null
  return (
    <div class="switcher">
      <Select aria-label="Project" value={current.projectId} onValue={switchTo}>
        {projects.value.map((p) => (
          <option key={p.projectId} value={p.projectId}>
            {projectName(p)}
          </option>
        ))}
      </Select>
      <a href={current.isOwn ? '/ui/projects' : `/ui/projects/${current.projectId}`}>
        {current.isOwn ? 'Projects' : 'People'}
      </a>
    </div>
  )
}

/** Why a page cannot be used in the chosen project, whose role does not allow what it is for. */
export function RoleTooSmall({ title }: { title: string }) {
  const others = projects.value.filter((p) => p.role !== 'viewer')
  return (
    <section class="state">
      <h1>{title}</h1>
      <p>Your role in “{project.value?.name}” is viewer: you read what it owns. Its members create.</p>
      <p class="row centred">
        {others.map((p) => (
          <button key={p.projectId} type="button" class="quiet" onClick={() => switchTo(p.projectId)}>
            Work in {p.isOwn ? 'your own project' : `“${p.name}”`}
          </button>
        ))}
      </p>
    </section>
  )
}

/** Above what a project owns: why the page offers no changes. */
export const ViewerNote = () => (
  <p class="hint">You are a viewer of “{project.value?.name}”: you read what it owns, and cannot change it.</p>
)
