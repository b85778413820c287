// The projects of the user, and the one in which the page lists and creates. The choice is kept in the browser, and the
// addresses of lists name it. A user with a role in only one project sees none of this.
import { computed, signal } from '@preact/signals'
import type { Creator, Me, ProjectRole, ProjectRoleName } from 'pleat-client'

/** A role in a project. */
export type Role = ProjectRoleName

/** The roles with what they allow; each allows what those before it do. */
export const roleTexts: Record<Role, string> = {
  viewer: 'read what the project owns',
  member: 'read, create, change, share and delete what the project owns',
  manager: 'read and change all that the project owns, and decide who has which role',
}
const roles = Object.keys(roleTexts)

/** The user who is signed in, and what the user may do; null: nobody, or not known yet. */
export const me = signal<Me | null>(null)

/** The projects in which the user has a role, the own one first. */
export const projects = computed(() => me.value?.projects ?? [])

const storageKey = 'pleat.project'

/** The value that the browser keeps; empty if it keeps nothing, as in a private window of some browsers. */
function stored(): string {
  try {
    return localStorage.getItem(storageKey) ?? ''
  } catch {
    return ''
  }
}

// The project that was chosen last; it counts if the user has a role in it. Empty: that of a request that names none.
const wanted = signal(stored())

/** Whether the user has chosen a project, so that nothing can be read before it is known whether it counts. */
export const hasChosen = () => wanted.peek() !== ''

/** The project in which the page works: the wanted one or, without a role in it, that of a request that names none. */
export const projectOf = (user: Pick<Me, 'projects' | 'projectId'> | null, wanted: string): ProjectRole | undefined =>
  user?.projects.find((p) => p.projectId === wanted) ?? user?.projects.find((p) => p.projectId === user.projectId)

/** Whether several people may work in the chosen project, so that it matters who made what. */
export const isShared = () => project.value?.isOwn === false

/** The name of who made something; empty for a reader who may not know. */
export const creatorName = (by: Creator | null) =>
  !by ? '' : by.id === me.value?.userId ? 'you' : (by.name ?? 'a deleted user')

/** The project in which the page works; undefined: nobody is signed in. */
export const project = computed(() => projectOf(me.value, wanted.value))
/** Its id; empty: nobody is signed in. */
export const projectId = computed(() => project.value?.projectId ?? '')

/** Its id in requests and keys of what depends on it; empty for the project of a request that names none. */
export const namedId = computed(() => (projectId.value === me.value?.projectId ? '' : projectId.value))

/** The field that names a project in requests, the chosen one by default; none for that of a request without it. */
export const inProject = (id: string | null = projectId.peek()): { projectId?: string } =>
  id && id !== me.peek()?.projectId ? { projectId: id } : {}

/** Whether a role suffices where another one is needed. */
export const suffices = (role: string | null, needed: Role) => roles.indexOf(role ?? '') >= roles.indexOf(needed)

/** Whether the user may do what needs a role in a project, the chosen one by default. The service decides in the end. */
export function may(needed: Role, id: string | null = projectId.value): boolean {
  const found = projects.value.find((p) => p.projectId === id)
  return !found || suffices(found.role, needed)
}

/** Something that a project owns, as the service describes it to the reader. */
interface Owned {
  isOwner?: boolean
  is_owner?: boolean
  projectId: string | null
}

/** Whether the user may change something: a viewer of its project may not, nor somebody who only reads it. */
export const mayChange = (thing: Owned) => !!(thing.isOwner ?? thing.is_owner) && may('member', thing.projectId)

/** The name of a project for its members. */
export const projectName = (p: Pick<ProjectRole, 'name' | 'isOwn'>) => (p.isOwn ? 'Your own' : p.name)

/** The project of this id if the user has a role in it and in another one; undefined: it need not be named. */
export const namedProject = (id: string | null) =>
  projects.value.length > 1 ? projects.value.find((p) => p.projectId === id) : undefined

/** The sentence below the title of a list: whose things it has, and what they are. */
export const listText = (own: string, ofProject: string) =>
  project.value && !project.value.isOwn ? `${ofProject} of “${project.value.name}”` : own

/** An address that opens its page in a project; the address alone for the project of a request that names none. */
export function withProject(address: string, id: string | null = projectId.value): string {
  if (!id || id === me.value?.projectId || !projects.value.some((p) => p.projectId === id)) return address
  return `${address}${address.includes('?') ? '&' : '?'}project=${id}`
}

/** Works in another project from now on, and keeps the choice in the browser. */
export function choose(id: string) {
  wanted.value = id === me.peek()?.projectId ? '' : id
  try {
    if (wanted.peek()) localStorage.setItem(storageKey, id)
    else localStorage.removeItem(storageKey)
  } catch {
    // The choice lasts as long as the tab.
  }
}
