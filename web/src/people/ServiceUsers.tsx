// The service users of a project: users of programs, which reach the project alone.
import { useEffect, useState } from 'preact/hooks'
import { api, type Key, type Member, type NewKey, type ServiceRole } from '../api'
import { ErrorMessage } from '../components'
import { Input } from '../controls'
import { KeyTable } from '../keys/KeyTable'
import { Once } from '../once'
import type { Role } from '../project'
import { RoleMenu, type Run } from './Members'

interface Props {
  id: string
  users: Member[]
  run: Run
}

const roles: Role[] = ['viewer', 'member']

/** The users with their keys, and the form for another. Making a key needs the API key of the manager. */
export function ServiceUsers({ id, users, run }: Props) {
  const [created, setCreated] = useState<{ name: string; key: NewKey }>()
  const [own, setOwn] = useState('')
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('member')
  const create = async (e: Event) => {
    e.preventDefault()
    const made = await run(async () => {
      const body = { name: name.trim(), role: role as ServiceRole }
      const { key } = await api.createServiceUser(own.trim(), id, body)
      setCreated({ name: body.name, key })
    })
    if (made) setName('')
  }
  return (
    <section class="card" aria-labelledby="service-title">
      <h2 id="service-title">Service users</h2>
      <p class="dim">For programs, such as a pipeline. Their keys reach this project alone.</p>
      {created && (
        <Once secret={created.key.key} done={() => setCreated(undefined)}>
          <strong>The key</strong> of {created.name}.
        </Once>
      )}
      {users.map((u) => (
        <ServiceUser key={u.userId} id={id} user={u} own={own.trim()} run={run} onKey={setCreated} />
      ))}
      <form class={users.length > 0 ? 'new-key' : ''} onSubmit={(e) => void create(e)}>
        <div class="new-key-fields">
          <label class="field">
            <span>Name of a new one</span>
            <Input required maxLength={255} placeholder="e.g. lab-a-pipeline" value={name} onValue={setName} />
          </label>
          <div class="field">
            <span>Its role</span>
            <RoleMenu label="Its role" value={role} roles={roles} onValue={setRole} />
          </div>
          <label class="field">
            <span>Your API key</span>
            <Input
              type="password"
              autocomplete="current-password"
              required
              maxLength={256}
              value={own}
              onValue={setOwn}
            />
            <small>Creating keys needs it. It is not stored.</small>
          </label>
        </div>
        <button type="submit">Create service user</button>
      </form>
    </section>
  )
}

interface ServiceUserProps {
  id: string
  user: Member
  /** The API key of the manager; empty: not given yet. */
  own: string
  run: Run
  onKey(created: { name: string; key: NewKey }): void
}

/** A service user with its keys, which are read when it is opened. */
function ServiceUser({ id, user: u, own, run, onKey }: ServiceUserProps) {
  const [keys, setKeys] = useState<Key[]>()
  const [open, setOpen] = useState(false)
  const [error, setError] = useState('')
  const load = () =>
    api.serviceKeys(id, u.userId).then(
      ({ data }) => setKeys(data),
      (e: Error) => setError(e.message),
    )
  useEffect(() => {
    if (open) void load()
  }, [open])
  const attempt = async (action: () => Promise<unknown>) => {
    try {
      await action()
      setError('')
      await load()
    } catch (e) {
      setError((e as Error).message)
    }
  }
  const add = () =>
    void attempt(async () => {
      if (!own) throw new Error('Enter your API key below first: creating a key needs it.')
      onKey({ name: u.name, key: await api.createServiceKey(own, id, u.userId, {}) })
    })
  const revoke = (key: Key) => {
    if (confirm(`Revoke “${key.label || key.prefix}” of ${u.name}? Programs that use it will be refused.`))
      void attempt(() => api.revokeServiceKey(id, u.userId, key.id))
  }
  const remove = () => {
    if (confirm(`Remove ${u.name}? Its keys end at once, and it cannot come back.`))
      void run(() => api.removeMember(id, u.userId))
  }
  return (
    <details class="service-user" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>
        {u.name} <span class="dim">{u.role}</span>
      </summary>
      <ErrorMessage text={error} />
      {keys && <KeyTable keys={keys} revoke={revoke} />}
      <div class="row">
        <button type="button" class="quiet small" onClick={add}>
          Another key
        </button>
        <button type="button" class="danger small" aria-label={`Remove ${u.name}`} onClick={remove}>
          Remove
        </button>
      </div>
    </details>
  )
}
