// Tables of runs with their scores: the runs of a job, and jobs that are compared.
import { useState } from 'preact/hooks'
import { StatusChip } from './components'
import { Segments } from './controls'
import { confidence, moment, when } from './format'
import { ranked, rankingOf, type ScoredRun } from './ranking'
import { Table } from './table'

/** A mean pLDDT next to AlphaFold's colour for it; a dash if there is none. */
export function Plddt({ value }: { value: number | null }) {
  if (value === null) return <span class="dim">–</span>
  const c = confidence(value)
  return (
    <span class="score num" title={`Mean pLDDT: ${c.name}`}>
      <i class={`swatch ${c.class}`} />
      {value.toFixed(1)}
    </span>
  )
}

/** The mean pLDDT or, of a model that gives that in its place, the mean predicted RMSD by its name and in Å. */
export function Confidence({ plddt, rmsd }: { plddt: number | null; rmsd: number | null }) {
  if (plddt !== null || rmsd === null) return <Plddt value={plddt} />
  return (
    <span class="score num" title="Mean predicted RMSD, which this model gives in place of pLDDT: low is good">
      RMSD {rmsd.toFixed(2)} Å
    </span>
  )
}

const numeric = (title: string) => ({ title, class: 'right' })
const columns = ['Name', 'Status', 'Model', 'Seed', numeric('pLDDT'), numeric('pTM'), numeric('ipTM'), 'Created']

/** The rows, by score or as given, which is by time. */
export function ScoredRuns({ rows, byScore = true }: { rows: ScoredRun[]; byScore?: boolean }) {
  const [order, setOrder] = useState(byScore ? 'score' : 'time')
  const models = new Set(rows.map((r) => r.modelName))
  return (
    <>
      <div class="row between">
        <Segments
          label="Order"
          options={{ score: `By ${rankingOf(rows).name}`, time: 'By time' }}
          value={order}
          onValue={setOrder}
        />
        {models.size > 1 && <span class="dim small-text">The scores of different models are not on one scale.</span>}
      </div>
      <div class="scroll">
        <Table class="cards runs" columns={columns}>
          {(order === 'score' ? ranked(rows) : rows).map((r) => (
            <Row key={r.id} run={r} />
          ))}
        </Table>
      </div>
    </>
  )
}

const Row = ({ run: r }: { run: ScoredRun }) => (
  <tr data-run={r.id} data-state={r.status} class={r.current ? 'current' : ''}>
    <td data-label="Name">
      <a href={r.href} aria-current={r.current ? 'true' : undefined}>
        {r.name}
      </a>
      {r.note && <div class="dim small-text">{r.note}</div>}
    </td>
    <td data-label="Status">
      <StatusChip status={r.status} />
    </td>
    <td data-label="Model">{r.modelName}</td>
    <td data-label="Seed" class="num">
      {r.seed}
    </td>
    <td data-label="pLDDT" class="right">
      <Confidence plddt={r.meanPLLDT} rmsd={r.predictedRmsd} />
    </td>
    <td data-label="pTM" class="right num">
      {r.ptm_score?.toFixed(2) ?? '–'}
    </td>
    <td data-label="ipTM" class="right num">
      {r.iptm_score?.toFixed(2) ?? '–'}
    </td>
    <td data-label="Created" class="num dim" title={moment(r.createdAt)}>
      {when(r.createdAt)}
    </td>
  </tr>
)
