// A contact between two chains, as the table of contacts shows it.
import type { Contacts } from '../api'
import type { Marked } from '../store'

/** Two residues or ligands of different chains that touch. */
export type Contact = Contacts['data'][number]

/** The selection that a contact stands for: its two residues, as a cell of the PAE matrix marks them. */
export const marksOf = ({ a, b }: Contact): Marked[] => [
  { chain: a.chain, from: a.residue, to: a.residue, as: 'scored' },
  { chain: b.chain, from: b.residue, to: b.residue, as: 'aligned' },
]

/** Whether a selection is that of a contact. */
export const isMarked = (contact: Contact, selected: Marked[]) =>
  JSON.stringify(marksOf(contact)) ===
  JSON.stringify(selected.map(({ chain, from, to, as }) => ({ chain, from, to, as })))

/** The predicted aligned errors of a contact in Å, aligned on either side; a dash if the engine gives none. */
export const errorsOf = ({ paeAB, paeBA }: Contact) =>
  paeAB === null || paeBA === null ? '–' : `${paeAB.toFixed(1)} / ${paeBA.toFixed(1)}`

/** How many contacts are listed of how many, in a sentence. */
export function countOf({ data, total }: Pick<Contacts, 'data' | 'total'>): string {
  if (total === 0) return 'No contacts.'
  const all = total === 1 ? '1 contact.' : `${total} contacts.`
  return data.length < total ? `The first ${data.length} of ${all}` : all
}
