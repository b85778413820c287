// The scores of a job whose records were folded separately, one row a record.
import type { JobView } from '../api'
import { Confidence } from '../scores'
import { Table } from '../table'
import { structuresOf } from './load'

interface Props {
  view: JobView
  /** The sequence whose structure is shown. */
  selected: string
  select(sequence: string): void
}

const numeric = (title: string) => ({ title, class: 'right' })
const columns = ['Record', numeric('Residues'), numeric('pLDDT'), numeric('pTM'), numeric('Largest PAE (Å)')]

/** The table; a record's name shows its structure. */
export function RecordScores({ view, selected, select }: Props) {
  return (
    <section class="card" aria-labelledby="records-title">
      <h2 id="records-title">Records</h2>
      <div class="scroll records">
        <Table class="cards" columns={columns}>
          {structuresOf(view).map(({ sequence, label }) => {
            const s = view.predictions.find((p) => p.sequenceId === sequence)
            const length = view.sequences.find((r) => r.id === sequence)?.sequence.length
            return (
              <tr key={sequence} data-record={label} class={sequence === selected ? 'current' : ''}>
                <td data-label="Record">
                  <button
                    type="button"
                    class="bare record"
                    aria-pressed={sequence === selected}
                    aria-label={`Show the structure of ${label}`}
                    onClick={() => select(sequence)}
                  >
                    {label}
                  </button>
                </td>
                <td data-label="Residues" class="right num">
                  {length}
                </td>
                <td data-label="pLDDT" class="right">
                  <Confidence plddt={s?.meanPLLDT ?? null} rmsd={s?.predictedRmsd ?? null} />
                </td>
                <td data-label="pTM" class="right num">
                  {s?.ptm_score?.toFixed(2) ?? '–'}
                </td>
                <td data-label="Largest PAE (Å)" class="right num">
                  {s?.max_pae_score?.toFixed(1) ?? '–'}
                </td>
              </tr>
            )
          })}
        </Table>
      </div>
    </section>
  )
}
