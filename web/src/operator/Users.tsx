// All users, and the buttons that disable and enable one.
import { useEffect, useState } from 'preact/hooks'
import { api, type OperatorUser } from '../api'
import { ErrorMessage, Foldable } from '../components'
import { moment, when } from '../format'
import { usePagedList } from '../list'
import { me } from '../project'
import { ListView, Table } from '../table'
import type { Act } from './act'

const columns = ['Name', 'Kind', 'Created', 'Seen', 'State', { title: 'Actions', hidden: true }]

/** The users, the newest first. acts counts what the operator has done, after which they are read again. */
export function Users({ acts, act }: { acts: number; act: Act }) {
  const list = usePagedList<OperatorUser>(
    (page) => api.users(page),
    (u) => u.userId,
  )
  const [error, setError] = useState('')
  useEffect(() => {
    if (acts > 0) void list.load()
  }, [acts])
  return (
    <Foldable title="Users">
      <ErrorMessage text={error} />
      <ListView list={list} what="users" empty={<p class="dim">There are no users.</p>} onError={setError}>
        {(rows) => (
          <Table class="cards dense" columns={columns}>
            {rows.map((u) => (
              <Row key={u.userId} user={u} act={act} />
            ))}
          </Table>
        )}
      </ListView>
    </Foldable>
  )
}

function Row({ user: u, act }: { user: OperatorUser; act: Act }) {
  const disable = () => {
    if (confirm(`Disable ${u.name}? Keys and sessions are refused from now on. What runs goes on.`))
      void act(() => api.disableUser(u.userId))
  }
  const isSelf = u.userId === me.value?.userId
  return (
    <tr data-user={u.name} class={u.disabledAt ? 'dim' : ''}>
      <td data-label="Name">
        <span class="name">{u.name}</span> {isSelf && <span class="chip plain">you</span>}
      </td>
      <td data-label="Kind">{u.isService ? 'program' : u.isOperator ? 'operator' : 'person'}</td>
      <td data-label="Created" class="num" title={moment(u.createdAt)}>
        {when(u.createdAt)}
      </td>
      <td data-label="Seen" class="num" title={moment(u.seenAt ?? '')}>
        {u.seenAt ? when(u.seenAt) : 'never'}
      </td>
      <td data-label="State" title={moment(u.disabledAt ?? '')}>
        {u.disabledAt ? 'disabled' : 'enabled'}
      </td>
      <td class="right">
        {u.disabledAt ? (
          <button
            type="button"
            class="quiet small"
            aria-label={`Enable ${u.name}`}
            onClick={() => void act(() => api.enableUser(u.userId))}
          >
            Enable
          </button>
        ) : (
          !isSelf && (
            <button type="button" class="danger small" aria-label={`Disable ${u.name}`} onClick={disable}>
              Disable
            </button>
          )
        )}
      </td>
    </tr>
  )
}
