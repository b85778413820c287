// The audit log of all users, and its export.
import { useEffect, useState } from 'preact/hooks'
import { type AuditEntry, api } from '../api'
import { AuditTable } from '../auditTable'
import { ErrorMessage, Foldable } from '../components'
import { Input } from '../controls'
import { usePagedList } from '../list'
import { ListView } from '../table'
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
        {(rows) => <AuditTable entries={rows} named dense />}
      </ListView>
    </Foldable>
  )
}

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
      {from && to && to < from ? (
        <p class="caution">“To” is before “From”.</p>
      ) : (
        (['csv', 'jsonl'] as const).map((format) => (
          <a
            key={format}
            class="button quiet small"
            href={exportAddress(format, from, to)}
            download={`audit.${format}`}
          >
            Export {format.toUpperCase()}
          </a>
        ))
      )}
    </div>
  )
}
