// The scores in words. Each sentence names the score it is based on. Scores that the engine does not give are not
// guessed. docs/analyst.md states the rule; package facts has it for the analyst, and verdict.test.json tests both.
import type { ScoredChains } from '../api'
import type { Table, Unit } from '../plots/residues'

/** How good a result is; "unknown" without scores. */
export type Tone = 'good' | 'fair' | 'poor' | 'unknown'

/** A title such as "Low confidence", and the sentences that explain it. */
export interface Verdict {
  tone: Tone
  title: string
  lines: string[]
}

// AlphaFold's classes of pLDDT, from the best.
const classes: { above: number; tone: Tone; title: string; advice: string }[] = [
  {
    above: 90,
    tone: 'good',
    title: 'Very confident fold',
    advice: 'the main chain and most side chains are usually reliable',
  },
  {
    above: 70,
    tone: 'good',
    title: 'Confident fold',
    advice: 'the main chain is usually reliable, the side chains less so',
  },
  { above: 50, tone: 'fair', title: 'Low confidence', advice: 'treat the fold as a suggestion' },
  {
    above: Number.NEGATIVE_INFINITY,
    tone: 'poor',
    title: 'Very low confidence',
    advice: 'such regions are often disordered, and the shape shown means little',
  },
]

/** Rates one structure in words. table: its residues; null while the files are loaded. */
export function verdict(s: ScoredChains | null, table: Table | null): Verdict {
  if (s && s.meanPLLDT === null && s.predictedRmsd !== null) return rmsdVerdict(s, s.predictedRmsd, table)
  if (!s || s.meanPLLDT === null) {
    const missing = 'This engine gives no pLDDT, so the reliability of its parts is not known.'
    return { tone: 'unknown', title: 'No confidence given', lines: [missing, ...interfaceLines(s)] }
  }
  const mean = s.meanPLLDT
  const { tone, title, advice } = classes.find((c) => mean > c.above)!
  const residues = known(table, (r) => r.plddt)
  const lines = [
    `Mean pLDDT ${mean.toFixed(1)} of 100: ${advice}.`,
    ...residueLines(residues),
    ...interfaceLines(s),
    ...ptmLines(s, residues.length),
  ]
  if (tone === 'good' && hasPoorInterface(s)) return { tone: 'fair', title: `${title}, uncertain interface`, lines }
  return { tone, title, lines }
}

/** Rates a structure by its predicted RMSD, whose errors package facts of the service has measured. */
function rmsdVerdict(s: ScoredChains, mean: number, table: Table | null): Verdict {
  const values = known(table, (r) => r.rmsd)
  const high = values.filter((v) => v > 1.5).length
  const lines = [
    `Mean predicted RMSD ${mean.toFixed(2)} Å, of which low values are good; this model gives it in place of pLDDT.`,
    ...(values.length === 0
      ? []
      : high === 0
        ? [`All ${values.length} residues are at 1.5 Å or below.`]
        : [`${high} of ${values.length} residues ${high === 1 ? 'is' : 'are'} above 1.5 Å.`]),
    'It is optimistic: true errors, measured on antibodies, are 1.5 to 2 times as large, so above 1.5 Å expect 3 Å or more.',
    ...(s.chains.length > 1
      ? ['Each chain is judged on its own: it says nothing of how the chains lie to each other.']
      : []),
    ...(knownIptms(s).length > 0 ? interfaceLines(s) : []),
  ]
  if (mean > 1.5) return { tone: 'poor', title: 'High predicted error', lines }
  if (mean > 1) return { tone: 'fair', title: 'Moderate predicted error', lines }
  if (high > 0) return { tone: 'fair', title: 'Low predicted error, uncertain parts', lines }
  return { tone: 'good', title: 'Low predicted error', lines }
}

/** The known values of all residues that are not ligands. */
function known(table: Table | null, of: (r: Unit) => number | null | undefined): number[] {
  const polymers = table?.flat.filter((f) => f.chain.kind !== 'ligand') ?? []
  return polymers.map((f) => of(f.residue) ?? null).filter((v) => v !== null)
}

/** How many residues are confident: above a pLDDT of 70. */
function residueLines(values: number[]): string[] {
  if (values.length === 0) return []
  const low = values.filter((v) => v <= 70).length
  if (low === 0) return [`All ${values.length} residues are above 70.`]
  if (low === values.length) return ['No residue is above 70.']
  return [`${low} of ${values.length} residues ${low === 1 ? 'is' : 'are'} at 70 or below.`]
}

/** The meaning of a single chain's pTM. */
function ptmLines(s: ScoredChains, residueCount: number): string[] {
  if (s.ptm_score === null || s.chains.length !== 1) return []
  const ptm = `pTM ${s.ptm_score.toFixed(2)}`
  if (s.ptm_score >= 0.5) return [`${ptm}: the overall shape is probably right.`]
  const isShort = residueCount > 0 && residueCount < 50
  return [`${ptm}: the overall shape is uncertain${isShort ? ', though pTM is always low for so short a chain' : ''}.`]
}

/** The meaning of an ipTM, by the usual thresholds of 0.6 and 0.8. */
const reliability = (iptm: number) => (iptm > 0.8 ? 'reliable' : iptm >= 0.6 ? 'uncertain' : 'not reliable')

/** The ipTM of each pair of chains that has one, or of the whole complex. */
function knownIptms(s: ScoredChains): number[] {
  const pairs = s.pairs.map((p) => p.iptm).filter((v) => v !== null)
  return pairs.length > 0 || s.iptm_score === null ? pairs : [s.iptm_score]
}

/** Reports whether some interface has an ipTM below 0.6. */
const hasPoorInterface = (s: ScoredChains) => knownIptms(s).some((v) => v < 0.6)

// More interfaces than this are counted instead of listed.
const maxPairLines = 6

/** One sentence for each interface of a complex. */
function interfaceLines(s: ScoredChains | null): string[] {
  if (!s) return []
  const pairs = s.pairs.filter((p) => p.iptm !== null)
  if (pairs.length > maxPairLines) {
    const reliable = pairs.filter((p) => p.iptm! > 0.8).length
    return [`${reliable} of ${pairs.length} interfaces are reliable (ipTM above 0.8).`]
  }
  if (pairs.length > 0)
    return pairs.map((p) => `Interface ${p.chainA}–${p.chainB} ${reliability(p.iptm!)}: ipTM ${p.iptm!.toFixed(2)}.`)
  if (s.iptm_score !== null)
    return [`Arrangement of the chains ${reliability(s.iptm_score)}: ipTM ${s.iptm_score.toFixed(2)}.`]
  return s.chains.length > 1 ? ['This engine does not rate the arrangement of the chains.'] : []
}
