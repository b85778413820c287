// The groups of the issuer that have a role in a project.
import { useState } from 'preact/hooks'
import { api, type GroupRole } from '../api'
import { Input } from '../controls'
import { moment, when } from '../format'
import type { Role } from '../project'
import { refreshProjects } from '../session'
import { Table } from '../table'
import { RoleMenu, type Run } from './Members'

const maxName = 200 // bytes, as the service counts them; most names have a byte for each character

interface Props {
  id: string
  groups: GroupRole[]
  /** The name of the issuer. */
  issuer: string
  /** Whether the user may change them. */
  isManaged: boolean
  run: Run
}

/** The groups with their roles; for managers with the means to add, change and remove them. */
export function Groups({ id, groups, issuer, isManaged, run }: Props) {
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('member')
  // The user who changes a group may be in it.
  const change = (action: () => Promise<unknown>) => run(async () => action().then(refreshProjects))
  const add = async (e: Event) => {
    e.preventDefault()
    if (await change(() => api.setGroup(id, name.trim(), role))) setName('')
  }
  const remove = (group: string) => {
    if (confirm(`Remove the group ${group}? Its people keep the roles that they have otherwise.`))
      void change(() => api.removeGroup(id, group))
  }
  return (
    <section class="card" aria-labelledby="groups-title">
      <h2 id="groups-title">
        Groups <span class="dim num">{groups.length}</span>
      </h2>
      <p class="dim">
        Everybody in a group has its role, or a larger one that the person has otherwise. Who is in a group is decided
        by {issuer}: who joins it has the role from the next sign-in on, who leaves it is without it within five
        minutes.
      </p>
      {groups.length > 0 && (
        <Table
          class="cards"
          columns={['Group', 'Role', 'Since', ...(isManaged ? [{ title: 'Actions', hidden: true }] : [])]}
        >
          {groups.map((g) => (
            <tr key={g.name} data-group={g.name}>
              <td class="name" data-label="Group">
                {g.name}
              </td>
              <td data-label="Role">
                {isManaged ? (
                  <RoleMenu
                    label={`Role of the group ${g.name}`}
                    value={g.role}
                    onValue={(r) => void change(() => api.setGroup(id, g.name, r))}
                  />
                ) : (
                  g.role
                )}
              </td>
              <td class="num dim" data-label="Since" title={moment(g.addedAt)}>
                {when(g.addedAt)}
              </td>
              {isManaged && (
                <td class="right">
                  <button
                    type="button"
                    class="danger small"
                    aria-label={`Remove the group ${g.name}`}
                    onClick={() => remove(g.name)}
                  >
                    Remove
                  </button>
                </td>
              )}
            </tr>
          ))}
        </Table>
      )}
      {isManaged && (
        <form class={groups.length > 0 ? 'new-key' : ''} onSubmit={(e) => void add(e)}>
          <div class="new-key-fields">
            <label class="field">
              <span>Name of a group</span>
              <Input required maxLength={maxName} placeholder="e.g. lab-a" value={name} onValue={setName} />
              <small>As {issuer} names it.</small>
            </label>
            <div class="field">
              <span>Its role</span>
              <RoleMenu label="Role of the new group" value={role} onValue={setRole} />
            </div>
          </div>
          <button type="submit">Add group</button>
        </form>
      )}
    </section>
  )
}
