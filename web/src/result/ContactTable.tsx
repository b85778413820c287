// The contacts between the chains of a structure. A row selects its two residues in the structure and the plots.
import { useEffect, useState } from 'preact/hooks'
import { api, type Contacts } from '../api'
import { Loading } from '../components'
import { selection } from '../store'
import { Table } from '../table'
import { type Contact, countOf, errorsOf, isMarked, marksOf } from './contacts'

interface Props {
  job: string
  run: string
  /** The file of the structure. */
  file: string
  /** The two chains whose contacts are listed; null: all chains. */
  pair: [string, string] | null
}

// More are in the CSV file alone.
const maxListed = 100

const columns = [
  'Residue',
  'Residue of the other chain',
  { title: 'Distance (Å)', class: 'right' },
  { title: 'PAE, either way (Å)', class: 'right' },
]

/** The table, with a link to all contacts as CSV. */
export function ContactTable({ job, run, file, pair }: Props) {
  const [contacts, setContacts] = useState<Contacts>()
  const [error, setError] = useState('')
  const chains = pair?.join('-') ?? ''
  useEffect(() => {
    const abort = new AbortController()
    setError('')
    setContacts(undefined)
    api.contacts(job, { jobRunId: run, sample: file, chains, limit: maxListed }, abort.signal).then(
      (c) => abort.signal.aborted || setContacts(c),
      (e: Error) => abort.signal.aborted || setError(e.message),
    )
    return () => abort.abort()
  }, [job, run, file, chains])
  if (error) return <p class="error">{error}</p>
  if (!contacts) return <Loading what="Loading the contacts" />
  const title = pair ? `Contacts of chains ${pair[0]} and ${pair[1]}` : 'Contacts between chains'
  return (
    <section class="contacts" aria-label={title}>
      <h3>{title}</h3>
      <p class="dim">
        {contacts.reason ?? countOf(contacts)}{' '}
        {contacts.total > 0 && (
          <a href={api.contactsFile(job, { jobRunId: run, sample: file, chains })} download="">
            Download as CSV
          </a>
        )}
      </p>
      {contacts.data.length > 0 && (
        <div class="scroll records">
          <Table columns={columns}>
            {contacts.data.map((c, i) => (
              <Row key={i} contact={c} />
            ))}
          </Table>
        </div>
      )}
    </section>
  )
}

const nameOf = ({ name, residue, chain }: Contact['a']) => `${name} ${residue} (chain ${chain})`

function Row({ contact: c }: { contact: Contact }) {
  const selected = isMarked(c, selection.value)
  return (
    <tr class={selected ? 'current' : ''}>
      <td>
        <button
          type="button"
          class="bare record"
          aria-pressed={selected}
          aria-label={`Select ${nameOf(c.a)} and ${nameOf(c.b)}`}
          onClick={() => (selection.value = marksOf(c))}
        >
          {nameOf(c.a)}
        </button>
      </td>
      <td>{nameOf(c.b)}</td>
      <td class="right num">{c.distance.toFixed(2)}</td>
      <td class="right num">{errorsOf(c)}</td>
    </tr>
  )
}
