// The people of a project with their roles.
import type { Member } from '../api'
import { api } from '../api'
import { Select } from '../controls'
import { moment, when } from '../format'
import { me, type Role, roleTexts } from '../project'
import { refreshProjects } from '../session'
import { Table } from '../table'

/** Runs an action and reads the project again; false: the action failed, and the page says why. */
export type Run = (action: () => Promise<unknown>) => Promise<boolean>

interface Props {
  id: string
  members: Member[]
  /** Whether the user may change them. */
  isManaged: boolean
  run: Run
}

/** The members; for managers with the means to change and to end their roles. */
export function Members({ id, members, isManaged, run }: Props) {
  const columns = ['Name', 'Role', 'Since', ...(isManaged ? [{ title: 'Actions', hidden: true }] : [])]
  return (
    <section class="card" aria-labelledby="members-title">
      <h2 id="members-title">
        People <span class="dim num">{members.length}</span>
      </h2>
      <Table class="cards" columns={columns}>
        {members.map((m) => (
          <Row key={m.userId} id={id} member={m} isManaged={isManaged} run={run} />
        ))}
      </Table>
    </section>
  )
}

/** A member. A user leaves by the button of the page, not by their own row. */
function Row({ id, member: m, isManaged, run }: Omit<Props, 'members'> & { member: Member }) {
  const isSelf = m.userId === me.value?.userId
  const change = (role: string) =>
    void run(async () => {
      await api.setMember(id, m.userId, role as Role)
      if (isSelf) await refreshProjects()
    })
  const remove = () => {
    if (confirm(`Remove ${m.name}? What ${m.name} has made stays in the project.`))
      void run(() => api.removeMember(id, m.userId))
  }
  return (
    <tr data-member={m.name}>
      <td data-label="Name">
        <span class="name">{m.name}</span> {isSelf && <span class="chip plain">you</span>}
      </td>
      <td data-label="Role">
        {isManaged ? <RoleMenu label={`Role of ${m.name}`} value={m.role} onValue={change} /> : m.role}
      </td>
      <td data-label="Since" class="num dim" title={moment(m.addedAt)}>
        {when(m.addedAt)}
      </td>
      {isManaged && (
        <td class="right">
          {!isSelf && (
            <button type="button" class="danger small" aria-label={`Remove ${m.name}`} onClick={remove}>
              Remove
            </button>
          )}
        </td>
      )}
    </tr>
  )
}

interface RoleMenuProps {
  /** The name of the menu. */
  label: string
  value: Role
  /** The roles to choose from; all by default. */
  roles?: Role[]
  onValue(role: Role): void
}

/** A menu of roles. */
export const RoleMenu = ({ label, value, roles = Object.keys(roleTexts) as Role[], onValue }: RoleMenuProps) => (
  <Select aria-label={label} value={value} onValue={(role) => onValue(role as Role)}>
    {roles.map((role) => (
      <option key={role} value={role} title={roleTexts[role]}>
        {role}
      </option>
    ))}
  </Select>
)
