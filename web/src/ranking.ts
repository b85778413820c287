// How runs are ranked by their scores.
import type { Run } from './api'

/** A run as a row. Scores that there are not, or not yet, are null. */
export interface ScoredRun
  extends Pick<Run, 'status' | 'modelName' | 'seed' | 'meanPLLDT' | 'ptm_score' | 'iptm_score'> {
  id: string
  name: string
  href: string
  createdAt: string
  /** The text below the name, such as why the run failed. */
  note?: string
  /** Whether the page shows this run. */
  current?: boolean
}

/** A score by which runs are ranked; null: the run has none. */
interface Ranking {
  name: string
  of: (r: ScoredRun) => number | null
}

/**
 * The score by which runs are ranked, as by pleat fold: the ranking confidence of AlphaFold-Multimer where every
 * structure has both pTM and ipTM, else the mean pLDDT.
 */
export function rankingOf(rows: ScoredRun[]): Ranking {
  const structures = rows.filter((r) => r.status === 'COMPLETED')
  if (structures.length === 0 || structures.some((r) => r.ptm_score === null || r.iptm_score === null))
    return { name: 'mean pLDDT', of: (r) => r.meanPLLDT }
  return {
    name: '0.8 ipTM + 0.2 pTM',
    of: (r) => (r.ptm_score === null || r.iptm_score === null ? null : 0.8 * r.iptm_score + 0.2 * r.ptm_score),
  }
}

/** The rows by score, the best first; those without come last, in the order given. */
export function ranked(rows: ScoredRun[]): ScoredRun[] {
  const { of } = rankingOf(rows)
  return rows.toSorted((a, b) => (of(b) ?? -1) - (of(a) ?? -1))
}
