// How well each pair of chains is placed. A click on a cell shows the interface.
import { useMemo, useState } from 'preact/hooks'
import type { PairScore } from '../api'
import { Select } from '../controls'
import { usePen } from './canvas'
import { css, errorColour, type RGB, smooth } from './colour'
import type { Matrix } from './matrix'
import { contactDistance, type Table } from './residues'

/** A quantity of each pair of chains; null: not known. */
interface Measure {
  name: string
  title: string
  explanation: string
  digits: number
  of(a: string, b: string): number | null
  rgb(value: number): RGB
}

/** show selects the interface of two chains; shown are the chains whose interface is selected. */
interface Props {
  table: Table
  pairs: PairScore[]
  matrix: Matrix | null
  /** Counts the residues in contact between two chains. */
  countContacts(a: string, b: string): number
  /** Shows the interface of two chains in the structure. */
  show(a: string, b: string): void
  shown: { pair: [string, string]; contactCount: number } | null
}

/** A table of all pairs of chains in one of several measures, and the interface that was clicked. */
export function Chains({ table, pairs, matrix, countContacts, show, shown }: Props) {
  const measures = useMemo(
    () => [...scoreMeasures(pairs), ...paeMeasure(table, matrix), contactMeasure(countContacts)],
    [table, pairs, matrix],
  )
  const [name, setName] = useState(measures[0]!.name)
  const measure = measures.find((m) => m.name === name) ?? measures[0]!
  return (
    <div class="interfaces" data-plot="chains">
      <label class="inline">
        <span>Colour by</span>
        <Select value={measure.name} onValue={setName}>
          {measures.map((m) => (
            <option key={m.name} value={m.name}>
              {m.title}
            </option>
          ))}
        </Select>
      </label>
      <p class="dim">{measure.explanation}</p>
      <div class="scroll">
        <PairTable ids={table.chains.map((c) => c.id)} measure={measure} show={show} shown={shown?.pair ?? []} />
      </div>
      {shown && (
        <p class="value" role="status">
          {describeInterface(shown.pair, shown.contactCount)}
        </p>
      )}
    </div>
  )
}

/** The interface of two chains in one sentence. */
function describeInterface([a, b]: [string, string], contactCount: number): string {
  if (contactCount === 0)
    return `Chains ${a} and ${b} are not in contact: no atoms within ${contactDistance} Å of each other.`
  return `Chains ${a} and ${b}: ${contactCount} residues have atoms within ${contactDistance} Å of the other chain. They are selected.`
}

interface PairTableProps {
  ids: string[]
  measure: Measure
  show(a: string, b: string): void
  shown: string[]
}

/** The measure of each pair of chains as a matrix. shown: the two chains whose interface is selected. */
function PairTable({ ids, measure, show, shown }: PairTableProps) {
  const isShown = (a: string, b: string) => a !== b && shown.includes(a) && shown.includes(b)
  return (
    <table>
      <thead>
        <tr>
          <td />
          {ids.map((b) => (
            <th key={b} scope="col">
              {b}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {ids.map((a) => (
          <tr key={a}>
            <th scope="row">{a}</th>
            {ids.map((b) => (
              <td key={b}>
                {a === b ? (
                  <Cell value={measure.of(a, b)} measure={measure} />
                ) : (
                  <button
                    type="button"
                    class="cell"
                    aria-pressed={isShown(a, b)}
                    title={`Show the interface of ${a} and ${b}`}
                    onClick={() => show(a, b)}
                  >
                    <Cell value={measure.of(a, b)} measure={measure} />
                    <span class="visually-hidden">
                      {' '}
                      between chains {a} and {b}: show the interface
                    </span>
                  </button>
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** A value in its colour; a dash for a missing value. */
function Cell({ value, measure }: { value: number | null; measure: Measure }) {
  const canvas = usePen(
    ({ g, width, height }) => {
      if (value === null) return
      g.fillStyle = css(measure.rgb(value))
      g.fillRect(0, 0, width, height)
    },
    [value, measure],
  )
  return (
    <>
      <canvas ref={canvas} aria-hidden="true" />
      <span class="num">{value === null ? '–' : value.toFixed(measure.digits)}</span>
    </>
  )
}

// The scores that the service computes for pairs of chains.
const scores: { name: 'iptm' | 'ipsae' | 'pdockq2' | 'lis'; title: string; explanation: string }[] = [
  {
    name: 'iptm',
    title: 'ipTM of the pair',
    explanation:
      '0 to 1: how confident the model is in the relative position of the two chains. ' +
      'Above 0.8 it is usually right, below 0.6 usually not.',
  },
  {
    name: 'ipsae',
    title: 'ipSAE',
    explanation:
      '0 to 1, from well-aligned residue pairs only, so that flexible tails do not count. ' +
      'Values above 0.6 suggest a real interface.',
  },
  {
    name: 'pdockq2',
    title: 'pDockQ2',
    explanation: '0 to 1: the expected quality of the interface. Values above 0.23 are acceptable.',
  },
  {
    name: 'lis',
    title: 'LIS',
    explanation:
      '0 to 1: the local interaction score, the mean of (12 Å − PAE)/12 Å over residue pairs with a PAE of at most ' +
      '12 Å. It also finds small and flexible interfaces.',
  },
]

/** The scores that the engine gives for at least one pair. */
function scoreMeasures(pairs: PairScore[]): Measure[] {
  const find = (a: string, b: string) => pairs.find((p) => p.chainA === a && p.chainB === b)
  return scores
    .filter(({ name }) => pairs.some((p) => p[name] !== null))
    .map((score) => ({
      ...score,
      digits: 2,
      rgb: smooth,
      of: (a, b) => (find(a, b) ?? find(b, a))?.[score.name] ?? null,
    }))
}

/** The mean PAE of each pair of chains, if there is a matrix. */
function paeMeasure(table: Table, matrix: Matrix | null): Measure[] {
  if (!matrix || matrix.n !== table.rows) return []
  const ranges = new Map<string, [number, number]>()
  let row = 0
  for (const chain of table.chains) {
    const rows = chain.residues.reduce((n, r) => n + r.tokens, 0)
    ranges.set(chain.id, [row, row + rows - 1])
    row += rows
  }
  const ids = table.chains.map((c) => c.id)
  const means = new Map(
    ids.flatMap((a) => ids.map((b) => [`${a}|${b}`, matrix.mean(ranges.get(a)!, ranges.get(b)!)] as const)),
  )
  return [
    {
      name: 'pae',
      title: 'Mean predicted aligned error',
      explanation:
        'In Å, from the PAE matrix; rows are aligned chains, columns scored chains. Below about 5 Å the two chains ' +
        'are placed as one unit, above 15 Å their relative position is uncertain.',
      digits: 1,
      rgb: (v) => errorColour(v / Math.max(1, matrix.max)),
      of: (a, b) => means.get(`${a}|${b}`) ?? null,
    },
  ]
}

/** The number of residues in contact, which can be measured on any model and is not a score. */
function contactMeasure(countContacts: Props['countContacts']): Measure {
  const known = new Map<string, number>()
  return {
    name: 'contact',
    title: 'Residues in contact',
    explanation:
      `How many residues of the two chains have atoms within ${contactDistance} Å of the other. ` +
      'It is measured on the model and is no evidence that the contact is real.',
    digits: 0,
    rgb: (v) => smooth(Math.min(1, v / 40)),
    of(a, b) {
      if (a === b) return null
      const pair = [a, b].sort().join('|')
      if (!known.has(pair)) known.set(pair, countContacts(a, b))
      return known.get(pair)!
    },
  }
}
