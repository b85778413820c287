// Invitations to a project: links by which one person each gets a role.
import { useState } from 'preact/hooks'
import { api, type Invitation, type NewInvitation } from '../api'
import { Input } from '../controls'
import { moment, when } from '../format'
import { Once } from '../once'
import { type Role, roleTexts } from '../project'
import { byIssuer } from '../session'
import { Table } from '../table'
import { type End, EndField } from './End'
import { endOf } from './ends'
import { RoleMenu, type Run } from './Members'

/** Within the bounds of a session of an API key: no manager, and a week, which is also the service's own choice. */
const keySession = { roles: ['viewer', 'member'] as Role[], mostDays: 7 }
const signIn = { roles: undefined, mostDays: 90 }
const usual = '7'

interface Props {
  id: string
  invitations: Invitation[]
  run: Run
}

/** The open invitations, and the form for another. */
export function Invitations({ id, invitations, run }: Props) {
  const { roles, mostDays } = byIssuer.value ? signIn : keySession
  const [created, setCreated] = useState<NewInvitation>()
  const [role, setRole] = useState<Role>('member')
  const [label, setLabel] = useState('')
  const [end, setEnd] = useState<End>({ choice: usual, date: '' })
  const invite = async (e: Event) => {
    e.preventDefault()
    const made = await run(async () => {
      const expiresAt = end.choice === usual ? undefined : endOf(end.choice, end.date)
      const body = { role, ...(label.trim() && { label: label.trim() }), ...(expiresAt && { expiresAt }) }
      setCreated(await api.invite(id, body))
    })
    if (made) setLabel('')
  }
  const revoke = (i: Invitation) =>
    void run(async () => {
      await api.revokeInvitation(id, i.invitationId)
      if (created?.invitationId === i.invitationId) setCreated(undefined)
    })
  return (
    <section class="card" aria-labelledby="invitations-title">
      <h2 id="invitations-title">Invitations</h2>
      {created && (
        <Once secret={created.url} done={() => setCreated(undefined)}>
          <strong>The invitation{created.label && ` of ${created.label}`}</strong> as {created.role}. Send this link.
          The key of a new user has {created.keyScopes.join(', ')}.
        </Once>
      )}
      {invitations.length > 0 && (
        <Table class="cards" columns={['For', 'Role', 'Created', 'Ends', { title: 'Actions', hidden: true }]}>
          {invitations.map((i) => (
            <tr key={i.invitationId}>
              <td data-label="For">{i.label || <span class="dim">anybody with the link</span>}</td>
              <td data-label="Role">{i.role}</td>
              <td data-label="Created" class="num dim" title={moment(i.createdAt)}>
                {when(i.createdAt)}
              </td>
              <td data-label="Ends" class="num">
                {moment(i.expiresAt)}
              </td>
              <td class="right">
                <button
                  type="button"
                  class="danger small"
                  aria-label={`Revoke the invitation ${i.label ? `of ${i.label}` : `as ${i.role}`}`}
                  onClick={() => revoke(i)}
                >
                  Revoke
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
      <form class={invitations.length > 0 ? 'new-key' : ''} onSubmit={(e) => void invite(e)}>
        <div class="new-key-fields">
          <label class="field">
            <span>For whom</span>
            <Input maxLength={255} placeholder="e.g. Grace" value={label} onValue={setLabel} />
          </label>
          <div class="field">
            <span>Role</span>
            <RoleMenu label="Role" value={role} roles={roles} onValue={setRole} />
            <small>
              May {roleTexts[role]}.{roles && ' Make a member a manager once they have joined.'}
            </small>
          </div>
          <EndField end={end} setEnd={setEnd} most={mostDays} />
        </div>
        <button type="submit">Invite</button>
      </form>
    </section>
  )
}
