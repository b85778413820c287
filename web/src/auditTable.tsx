// The entries of a log of changes.
import type { AuditEntry } from './api'
import { moment, when } from './format'
import { Table } from './table'

interface Props {
  entries: AuditEntry[]
  /** Whether it names who made each change: in a log of several people. */
  named?: boolean
  /** Whether it is one of the dense tables of the operators. */
  dense?: boolean
}

/** The entries, newest first. An operator's command has neither a key nor an address. */
export const AuditTable = ({ entries, named = false, dense = false }: Props) => (
  <div class="scroll">
    <Table
      class={dense ? 'cards dense' : 'cards'}
      columns={['When', ...(named ? ['Who'] : []), 'What', 'Of', 'Details', 'With key', 'From']}
    >
      {entries.map((e) => (
        <tr key={e.id}>
          <td class="num" data-label="When" title={moment(e.at)}>
            {when(e.at)}
          </td>
          {named && <td data-label="Who">{e.userName || 'an operator'}</td>}
          <td data-label="What">{e.action.replace(/[._]/g, ' ')}</td>
          <td class="mono" data-label="Of">
            {e.subject}
          </td>
          <td data-label="Details">{e.detail}</td>
          <td class="mono" data-label="With key">
            {e.keyPrefix ? `${e.keyPrefix}…` : e.address ? 'none' : 'an operator'}
          </td>
          <td class="mono" data-label="From">
            {e.address}
          </td>
        </tr>
      ))}
    </Table>
  </div>
)
