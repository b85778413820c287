// A table of API keys, of a person or of a service user.
import type { Key } from '../api'
import { moment, when } from '../format'
import { Table } from '../table'

interface Props {
  keys: Key[]
  revoke(key: Key): void
  /** Whether it also says what each may do and when it was made. */
  full?: boolean
}

/** The keys, each with the button that revokes it. */
export const KeyTable = ({ keys, revoke, full = false }: Props) => (
  <div class="scroll">
    <Table
      class="cards"
      columns={[
        'Key',
        'Label',
        ...(full ? ['May', 'Created'] : []),
        'Last used',
        'Expires',
        { title: 'Actions', hidden: true },
      ]}
    >
      {keys.map((key) => (
        <tr key={key.id} class={key.revokedAt ? 'dim' : ''}>
          <td class="mono" data-label="Key">
            {key.prefix}…
          </td>
          <td data-label="Label">
            {key.label || <span class="dim">none</span>} {key.current && <span class="chip plain">this session</span>}
          </td>
          {full && <td data-label="May">{key.scopes.join(', ')}</td>}
          {full && <Time label="Created" at={key.createdAt} />}
          <Time label="Last used" at={key.lastUsedAt} />
          <Time label="Expires" at={key.expiresAt} />
          <td class="right">
            {key.revokedAt ? (
              <span title={moment(key.revokedAt)}>revoked {when(key.revokedAt)}</span>
            ) : (
              <button
                type="button"
                class="danger small"
                aria-label={`Revoke ${key.label || key.prefix}`}
                onClick={() => revoke(key)}
              >
                Revoke
              </button>
            )}
          </td>
        </tr>
      ))}
    </Table>
  </div>
)

const Time = ({ label, at }: { label: string; at: string | null }) => (
  <td class="num" data-label={label} title={at ? moment(at) : ''}>
    {at ? when(at) : 'never'}
  </td>
)
