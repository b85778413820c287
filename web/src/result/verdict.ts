// What the scores say, in words. Every sentence names the score it rests on; a score that the engine does not give is not
// spoken for.
import type { ScoredChains } from '../api'
import type { Table } from '../plots/residues'

export type Tone = 'good' | 'fair' | 'poor' | 'unknown'

export interface Verdict {
  tone: Tone
  head: string
  lines: string[]
}

/** verdict judges one structure. The table may be missing while the files are read. */
export function verdict(s: ScoredChains | null, table: Table | null): Verdict {
  const lines: string[] = []
  if (!s || s.meanPLLDT === null) {
    return {
      tone: 'unknown',
      head: 'No confidence given',
      lines: ['This engine gives no pLDDT, so nothing here says which parts can be relied on.', ...pairLines(s)],
    }
  }
  const mean = s.meanPLLDT
  const [tone, head]: [Tone, string] =
    mean > 90
      ? ['good', 'Very confident fold']
      : mean > 70
        ? ['good', 'Confident fold']
        : mean > 50
          ? ['fair', 'Low confidence']
          : ['poor', 'Very low confidence']
  const advice =
    mean > 90
      ? 'main chain and most side chains can usually be relied on'
      : mean > 70
        ? 'the main chain can usually be relied on, side chains less'
        : mean > 50
          ? 'take the fold as a suggestion, not as a structure'
          : 'such parts are often disordered, and the shape shown means little'
  lines.push(`Mean pLDDT ${mean.toFixed(1)} of 100: ${advice}.`)
  const known =
    table?.flat
      .filter((f) => f.chain.kind !== 'ligand')
      .map((f) => f.residue.plddt)
      .filter((v) => v !== null) ?? []
  if (known.length > 0) {
    const low = known.filter((v) => v <= 70).length
    if (low === 0) lines.push(`All ${known.length} residues are above 70.`)
    else if (low < known.length) lines.push(`${low} of ${known.length} residues are at 70 or below.`)
    else lines.push(`No residue is above 70.`)
  }
  lines.push(...pairLines(s))
  if (s.ptm_score !== null && s.chains.length === 1) {
    const n = known.length
    if (s.ptm_score >= 0.5) lines.push(`pTM ${s.ptm_score.toFixed(2)}: the overall shape is probably right.`)
    else
      lines.push(
        `pTM ${s.ptm_score.toFixed(2)}: the overall shape is not certain${n > 0 && n < 50 ? ', though pTM is always low for so short a chain' : ''}.`,
      )
  }
  const apart = tone === 'good' && worst(s) === 'poor'
  return { tone: apart ? 'fair' : tone, head: apart ? `${head}, uncertain interface` : head, lines }
}

const level = (iptm: number) => (iptm > 0.8 ? 'confident' : iptm >= 0.6 ? 'uncertain' : 'not to be relied on')

function worst(s: ScoredChains): Tone {
  const all = [...s.pairs.map((p) => p.iptm), s.pairs.length === 0 ? s.iptm_score : null].filter((v) => v !== null)
  return all.some((v) => v < 0.6) ? 'poor' : 'good'
}

function pairLines(s: ScoredChains | null): string[] {
  if (!s) return []
  const pairs = s.pairs.filter((p) => p.iptm !== null)
  if (pairs.length > 0 && pairs.length <= 6)
    return pairs.map((p) => `${p.chainA}–${p.chainB} interface ${level(p.iptm!)}: ipTM ${p.iptm!.toFixed(2)}.`)
  if (pairs.length > 6) {
    const sure = pairs.filter((p) => p.iptm! > 0.8).length
    return [`${sure} of ${pairs.length} pairs of chains are placed with confidence (ipTM above 0.8).`]
  }
  if (s.iptm_score !== null)
    return [`Arrangement of the chains ${level(s.iptm_score)}: ipTM ${s.iptm_score.toFixed(2)}.`]
  if (s.chains.length > 1) return ['How the chains lie to each other is not rated by this engine.']
  return []
}
