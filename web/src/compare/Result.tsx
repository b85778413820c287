// A comparison: the structures superposed, the scores of every two, distances by residue and changed contacts.
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { ComparedPair, ComparedStructure, Comparison, ContactChange } from '../api'
import { Select } from '../controls'
import { LinePlot } from '../plots/LinePlot'
import { Table } from '../table'
import type { ResidueOf } from '../viewer/superposed'
import { structureColour } from './colour'
import { Overlay } from './Overlay'

interface Props {
  comparison: Comparison
  /** The name of the workflow; empty: it is not one. */
  name?: string
  /** Makes another structure the reference, by its position from 1; 0: none. Absent: it cannot be changed. */
  setReference?(position: number): void
}

/** The comparison with its view, tables and plots. They share the hovered residues. */
export function Result({ comparison: c, name = '', setReference }: Props) {
  const [hovered, setHovered] = useState<ResidueOf[]>([])
  const others = c.details.map((d) => (d.a === c.superposedOn ? d.b : d.a))
  const [chosen, setChosen] = useState(others[0] ?? 0)
  const detail = c.details.find((d) => d.b === chosen) ?? c.details[0]
  useEffect(() => setHovered([]), [c])
  return (
    <div data-comparison={c.structures.length}>
      {name && <h2>{name}</h2>}
      <div class="sides">
        <Overlay comparison={c} hovered={hovered} onHover={setHovered} />
        <Structures comparison={c} {...(setReference && { setReference })} />
      </div>
      <Pairs comparison={c} />
      {detail && (
        <>
          {others.length > 1 && (
            <label class="inline compare-choice">
              <span>By residue, with structure {c.superposedOn}</span>
              <Select value={String(detail.b)} onValue={(v) => setChosen(Number(v))}>
                {others.map((i) => (
                  <option key={i} value={String(i)}>
                    {i}. {c.structures[i - 1]!.name}
                  </option>
                ))}
              </Select>
            </label>
          )}
          <Distances comparison={c} detail={detail} hovered={hovered} onHover={setHovered} />
          <Contacts detail={detail} onHover={setHovered} reason={reasonOf(c, detail, 'contacts')} />
        </>
      )}
    </div>
  )
}

type Detail = Comparison['details'][number]

/** Why a value of the pair of a detail is null. */
const reasonOf = (c: Comparison, d: Detail, value: string) =>
  c.pairs.find((p) => (p.a === d.a && p.b === d.b) || (p.a === d.b && p.b === d.a))?.reasons[value] ?? ''

/** The structures with their colours, and the choice of the reference. */
function Structures({ comparison: c, setReference }: Pick<Props, 'comparison' | 'setReference'>) {
  return (
    <section class="card" aria-labelledby="structures-title">
      <h2 id="structures-title">Structures</h2>
      <ol class="compared">
        {c.structures.map((s, i) => (
          <li key={`${i} ${s.of}`} data-structure={i + 1}>
            <i style={{ background: structureColour(i + 1) }} />
            <span class="grow">
              {i + 1}. <Name structure={s} />
              <span class="dim small-text">
                {' '}
                {s.residues} residues{s.modelName ? `, ${s.modelName}` : ''}
                {s.transform === null && ', cannot be superposed'}
              </span>
            </span>
            {c.reference === i + 1 && <strong>Reference</strong>}
            {setReference && (
              <button
                type="button"
                class="bare"
                aria-label={`${c.reference === i + 1 ? 'No reference instead of' : 'Use as reference:'} structure ${i + 1}`}
                onClick={() => setReference(c.reference === i + 1 ? 0 : i + 1)}
              >
                {c.reference === i + 1 ? 'Clear' : 'Use as reference'}
              </button>
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}

/** The name of a structure, which links to its job. */
const Name = ({ structure: s }: { structure: ComparedStructure }) =>
  s.jobId ? <a href={`/ui/jobs/${s.jobId}`}>{s.name}</a> : <span>{s.name}</span>

const right = (title: string) => ({ title, class: 'right' })

/** The scores of every two structures. */
function Pairs({ comparison: c }: { comparison: Comparison }) {
  const hasReference = c.reference !== null
  const columns = [
    'A',
    'B',
    ...['Aligned', 'Identity', 'RMSD', 'TM (A)', 'TM (B)', 'lDDT CA', 'lDDT', 'ΔpLDDT'].map(right),
  ]
  if (hasReference) columns.push(right('DockQ'))
  return (
    <section class="card" aria-labelledby="pairs-title">
      <h2 id="pairs-title">Scores</h2>
      <p class="dim small-text">
        RMSD in Å of CA after superposition. TM-score normalised by A and by B. lDDT of B with A as the reference. A is
        the reference, if there is one. A dash: the value cannot be computed; point at it for the reason.
      </p>
      <div class="scroll">
        <Table class="cards compared-pairs" columns={columns}>
          {c.pairs.map((p) => (
            <PairRow key={`${p.a}-${p.b}`} pair={p} hasReference={hasReference} />
          ))}
        </Table>
      </div>
      <Interfaces pairs={c.pairs} />
    </section>
  )
}

/** One row of the scores. */
function PairRow({ pair: p, hasReference }: { pair: ComparedPair; hasReference: boolean }) {
  const cell = (label: string, key: string, value: number | null, decimals: number) => (
    <td data-label={label} class="right num" title={value === null ? p.reasons[key] : undefined}>
      {value === null ? '–' : value.toFixed(decimals)}
    </td>
  )
  return (
    <tr data-pair={`${p.a}-${p.b}`}>
      <td data-label="A">
        <Swatch position={p.a} />
      </td>
      <td data-label="B">
        <Swatch position={p.b} />
      </td>
      <td data-label="Aligned" class="right num">
        {p.alignedResidues}
      </td>
      {cell('Identity', 'sequenceIdentity', p.sequenceIdentity, 2)}
      {cell('RMSD', 'rmsd', p.rmsd, 2)}
      {cell('TM (A)', 'tmScoreA', p.tmScoreA, 3)}
      {cell('TM (B)', 'tmScoreB', p.tmScoreB, 3)}
      {cell('lDDT CA', 'lddtCA', p.lddtCA, 3)}
      {cell('lDDT', 'lddtAllAtom', p.lddtAllAtom, 3)}
      {cell('ΔpLDDT', 'plddtChange', p.plddtChange, 1)}
      {hasReference && cell('DockQ', 'dockq', p.dockq, 3)}
    </tr>
  )
}

/** The number of a structure with its colour. */
const Swatch = ({ position }: { position: number }) => (
  <span class="score num">
    <i class="swatch" style={{ background: structureColour(position) }} />
    {position}
  </span>
)

/** The interfaces of the reference with DockQ and its parts; nothing if there are none. */
function Interfaces({ pairs }: { pairs: ComparedPair[] }) {
  const rows = pairs.flatMap((p) => p.interfaces.map((i) => ({ p, i })))
  if (rows.length === 0) return null
  const value = (v: number | null, decimals: number) => v?.toFixed(decimals) ?? '–'
  return (
    <>
      <h3>Interfaces of the reference</h3>
      <div class="scroll">
        <Table
          class="cards"
          columns={['B', 'Chains', 'Of B', ...['DockQ', 'fnat', 'fnonnat', 'iRMSD', 'LRMSD'].map(right)]}
        >
          {rows.map(({ p, i }) => (
            <tr key={`${p.b} ${i.chains.join()}`} data-interface={i.chains.join('-')}>
              <td data-label="B">
                <Swatch position={p.b} />
              </td>
              <td data-label="Chains">{i.chains.join('–')}</td>
              <td data-label="Of B">{i.model.join('–') || i.reason}</td>
              <td data-label="DockQ" class="right num">
                {value(i.dockq, 3)}
              </td>
              <td data-label="fnat" class="right num">
                {value(i.fnat, 2)}
              </td>
              <td data-label="fnonnat" class="right num">
                {value(i.fnonnat, 2)}
              </td>
              <td data-label="iRMSD" class="right num">
                {value(i.iRMSD, 2)}
              </td>
              <td data-label="LRMSD" class="right num">
                {value(i.LRMSD, 2)}
              </td>
            </tr>
          ))}
        </Table>
      </div>
    </>
  )
}

interface DistancesProps {
  comparison: Comparison
  detail: Detail
  hovered: ResidueOf[]
  onHover(residues: ResidueOf[]): void
}

/** The distance of each residue after superposition, linked to the 3D view. */
function Distances({ comparison: c, detail: d, hovered, onHover }: DistancesProps) {
  const rows = useMemo(
    () =>
      d.segments.flatMap((s) =>
        s.residuesA.map((a, k) => ({
          a: { structure: d.a - 1, chain: s.chainA, residue: a },
          b: { structure: d.b - 1, chain: s.chainB, residue: s.residuesB[k]! },
          distance: s.distance[k]!,
        })),
      ),
    [d],
  )
  const x = useMemo(() => rows.map((_, i) => i + 1), [rows])
  const y = useMemo(() => rows.map((r) => r.distance), [rows])
  const isAt = (h: ResidueOf, r: ResidueOf) =>
    h.structure === r.structure && h.chain === r.chain && h.residue === r.residue
  const marked = rows.findIndex((r) => hovered.some((h) => isAt(h, r.a) || isAt(h, r.b)))
  const name = (i: number) => {
    const r = rows[i - 1]
    return r ? `${r.a.chain} ${r.a.residue}` : ''
  }
  return (
    <section class="card plot-card" aria-labelledby="distance-title">
      <h2 id="distance-title">Distance by residue</h2>
      {rows.length === 0 ? (
        <p class="dim">{reasonOf(c, d, 'rmsd') || 'There are no aligned residues.'}</p>
      ) : (
        <LinePlot
          title={`Structure ${d.b} from structure ${d.a}`}
          x={x}
          y={y}
          xLabel="aligned residue"
          unit="Å"
          describeX={(i) => name(Number(i))}
          marked={marked}
          colour={d.b - 1}
          onPoint={(i) => onHover(i === null || !rows[i] ? [] : [rows[i].a, rows[i].b])}
        />
      )}
    </section>
  )
}

// The rows of contacts that are listed at first.
const maxListed = 20

/** The contacts that are gained and lost. */
function Contacts({
  detail: d,
  onHover,
  reason,
}: {
  detail: Detail
  onHover(residues: ResidueOf[]): void
  reason: string
}) {
  const [isWhole, setWhole] = useState(false)
  const contacts = d.contacts
  if (!contacts) return reason ? <p class="caution">Contacts were not compared. {reason}</p> : null
  const point = (change: ContactChange) =>
    onHover([
      ...change.a.map((r) => ({ structure: d.a - 1, chain: r.chain, residue: r.residue })),
      ...change.b.map((r) => ({ structure: d.b - 1, chain: r.chain, residue: r.residue })),
    ])
  const name = (change: ContactChange) => change.a.map((r) => `${r.name} ${r.residue} ${r.chain}`).join(' – ')
  return (
    <section class="card" aria-labelledby="contacts-title">
      <h2 id="contacts-title">Contacts</h2>
      <p data-contacts={`${contacts.kept} ${contacts.gained} ${contacts.lost}`}>
        Structure {d.b} keeps {contacts.kept} contacts of structure {d.a}, gains {contacts.gained} and loses{' '}
        {contacts.lost}. <span class="dim">Heavy atoms within 4.5 Å; 4 residues or more apart in a chain.</span>
      </p>
      {contacts.changes.length > 0 && (
        <div class="scroll">
          <Table class="cards" columns={['Change', 'Residues', right(`In ${d.a} (Å)`), right(`In ${d.b} (Å)`)]}>
            {(isWhole ? contacts.changes : contacts.changes.slice(0, maxListed)).map((change) => (
              <tr
                key={change.change + name(change)}
                data-change={change.change}
                onMouseEnter={() => point(change)}
                onMouseLeave={() => onHover([])}
              >
                <td data-label="Change">{change.change}</td>
                <td data-label="Residues">{name(change)}</td>
                <td data-label={`In ${d.a} (Å)`} class="right num">
                  {change.distanceA.toFixed(1)}
                </td>
                <td data-label={`In ${d.b} (Å)`} class="right num">
                  {change.distanceB.toFixed(1)}
                </td>
              </tr>
            ))}
          </Table>
        </div>
      )}
      {!isWhole && contacts.changes.length > maxListed && (
        <button type="button" class="quiet small" onClick={() => setWhole(true)}>
          Show all {contacts.changes.length} changes
        </button>
      )}
    </section>
  )
}
