// The matrix of chains: how well each pair is placed. A click shows the interface.
import { useMemo, useState } from 'preact/hooks'
import type { PairScore } from '../api'
import { usePen } from './canvas'
import { css, error as errorColour, type RGB, smooth } from './colour'
import type { Matrix } from './matrix'
import type { Table } from './residues'

interface Measure {
  name: string
  title: string
  says: string
  unit: string
  digits: number
  of(a: string, b: string): number | null
  rgb(v: number): RGB
}

interface Props {
  table: Table
  pairs: PairScore[]
  matrix: Matrix | null
  touch(a: string, b: string): number
  show(a: string, b: string): void
  shown: [string, string] | null
  touching: number | null
}

export function Chains({ table, pairs, matrix, touch, show, shown, touching }: Props) {
  const measures = useMemo(() => [...measuresOf(table, pairs, matrix), contact(touch)], [table, pairs, matrix])
  const [name, setName] = useState(measures[0]?.name)
  const m = measures.find((v) => v.name === name) ?? measures[0]!
  const ids = table.chains.map((c) => c.id)
  return (
    <div class="interfaces" data-plot="chains">
      <label class="inline">
        <span>Coloured by</span>
        <select value={m.name} onChange={(e) => setName(e.currentTarget.value)}>
          {measures.map((v) => (
            <option value={v.name}>{v.title}</option>
          ))}
        </select>
      </label>
      <p class="dim">{m.says}</p>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <td />
              {ids.map((b) => (
                <th scope="col">{b}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {ids.map((a) => (
              <tr>
                <th scope="row">{a}</th>
                {ids.map((b) => {
                  const v = m.of(a, b)
                  const on = !!shown && shown.includes(a) && shown.includes(b) && a !== b
                  return (
                    <td>
                      {a === b ? (
                        <Cell value={v} measure={m} />
                      ) : (
                        <button
                          type="button"
                          class="cell"
                          aria-pressed={on}
                          title={`Show the interface of ${a} and ${b}`}
                          onClick={() => show(a, b)}
                        >
                          <Cell value={v} measure={m} />
                          <span class="hush">
                            {' '}
                            between chains {a} and {b}: show the interface
                          </span>
                        </button>
                      )}
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown && touching !== null && (
        <p class="value" role="status">
          {touching > 0
            ? `Chains ${shown[0]} and ${shown[1]}: ${touching} residues have atoms within 5 Å of the other chain; they are marked everywhere.`
            : `Chains ${shown[0]} and ${shown[1]} do not touch: no atoms within 5 Å of one another.`}
        </p>
      )}
    </div>
  )
}

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

/** What can be measured on any model, and is no score. */
function contact(touch: Props['touch']): Measure {
  const known = new Map<string, number>()
  return {
    name: 'contact',
    title: 'Residues in contact',
    unit: '',
    digits: 0,
    rgb: (v) => smooth(Math.min(1, v / 40)),
    says: 'How many residues of the two chains have atoms within 5 Å of the other. Measured on the model: it does not say whether the contact is real.',
    of(a, b) {
      if (a === b) return null
      const pair = [a, b].sort().join('|')
      if (!known.has(pair)) known.set(pair, touch(a, b))
      return known.get(pair)!
    },
  }
}

function measuresOf(table: Table, pairs: PairScore[], matrix: Matrix | null): Measure[] {
  const out: Measure[] = []
  const score = (key: 'iptm' | 'ipsae' | 'pdockq2', title: string, says: string) => {
    if (!pairs.some((p) => p[key] !== null)) return
    out.push({
      name: key,
      title,
      says,
      unit: '',
      digits: 2,
      rgb: smooth,
      of: (a, b) =>
        (pairs.find((p) => p.chainA === a && p.chainB === b) ?? pairs.find((p) => p.chainA === b && p.chainB === a))?.[
          key
        ] ?? null,
    })
  }
  score(
    'iptm',
    'ipTM of the pair',
    'From 0 to 1: how sure the model is of where the two chains lie to each other. Above 0.8 is usually right, below 0.6 usually not.',
  )
  score(
    'ipsae',
    'ipSAE',
    'From 0 to 1, of well-aligned residue pairs alone, so that loose tails do not count. Above 0.6 speaks for a real interface.',
  )
  score('pdockq2', 'pDockQ2', 'From 0 to 1: the expected quality of the interface. Above 0.23 is acceptable.')
  if (matrix && matrix.n === table.rows) {
    const span = new Map<string, [number, number]>()
    let row = 0
    for (const c of table.chains) {
      const rows = c.residues.reduce((n, r) => n + r.tokens, 0)
      span.set(c.id, [row, row + rows - 1])
      row += rows
    }
    const means = new Map(
      table.chains.flatMap((a) =>
        table.chains.map((b) => [a.id + '|' + b.id, matrix.mean(span.get(a.id)!, span.get(b.id)!)] as const),
      ),
    )
    out.push({
      name: 'pae',
      title: 'Mean predicted aligned error',
      unit: 'Å',
      digits: 1,
      rgb: (v) => errorColour(v / Math.max(1, matrix.max)),
      says: 'In Å, from this run’s own matrix: rows are aligned chains, columns scored chains. Below about 5 Å the two are placed as one unit, above 15 Å their places say little of each other.',
      of: (a, b) => means.get(a + '|' + b) ?? null,
    })
  }
  return out
}
