// The audit log of all users, and its export.
import { useEffect, useState } from 'preact/hooks'
import { type AuditEntry, api } from '../api'
import { ErrorMessage, Foldable } from '../components'
import { Input } from '../controls'
import { moment, when } from '../format'
import { usePagedList } from '../list'
import { ListView, Table } from '../table'
import { exportAddress } from './text'

/** The log, the newest entry first. acts counts what the operator has done, after which it is read again. */
export function Audit({ acts }: { acts: number }) {
  const list = usePagedList<AuditEntry>(
    (page) => api.allAudit(page),
    (e) => e.id,
  )
  const [error, setError] = useState('')
  useEffect(() => {
    if (acts > 0) void list.load()
  }, [acts])
  return (
    <Foldable title="Audit log">
      <Export />
      <ErrorMessage text={error} />
      <ListView list={list} what="entries" empty={<p class="dim">There are no entries.</p>} onError={setError}>
        {(rows) => (
          <Table class="cards dense" columns={['When', 'Who', 'What', 'Of', 'Details', 'With key', 'From']}>
            {rows.map((e) => (
              <Row key={e.id} entry={e} />
            ))}
          </Table>
        )}
      </ListView>
    </Foldable>
  )
}

const Row = ({ entry: e }: { entry: AuditEntry }) => (
  <tr>
    <td data-label="When" class="num" title={moment(e.at)}>
      {when(e.at)}
    </td>
    <td data-label="Who">{e.userName || 'an operator'}</td>
    <td data-label="What">{e.action.replace(/[._]/g, ' ')}</td>
    <td data-label="Of" class="mono">
      {e.subject}
    </td>
    <td data-label="Details">{e.detail}</td>
    <td data-label="With key" class="mono">
      {e.keyPrefix}
    </td>
    <td data-label="From" class="mono">
      {e.address || 'database'}
    </td>
  </tr>
)

/** The days to export, and the links. */
function Export() {
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  return (
    <div class="row ends export">
      <label class="field">
        <span>From</span>
        <Input type="date" value={from} onValue={setFrom} />
      </label>
      <label class="field">
        <span>To</span>
        <Input type="date" value={to} onValue={setTo} />
      </label>
      {(['csv', 'jsonl'] as const).map((format) => (
        <a key={format} class="button quiet small" href={exportAddress(format, from, to)} download>
          Export {format.toUpperCase()}
        </a>
      ))}
    </div>
  )
}
