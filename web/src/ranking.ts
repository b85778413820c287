// How runs are ranked by their scores.
import type { Run } from './api'

/** A run as a row. Scores that there are not, or not yet, are null. */
export interface ScoredRun
  extends Pick<Run, 'status' | 'modelName' | 'seed' | 'meanPLLDT' | 'predictedRmsd' | 'ptm_score' | 'iptm_score'> {
  id: string
  name: string
  href: string
  createdAt: string
  /** The text below the name, such as why the run failed. */
  note?: string
  /** Whether the page shows this run. */
  current?: boolean
}

/** A score by which runs are ranked, the highest first; null: the run has none. */
interface Ranking {
  name: string
  of: (r: ScoredRun) => number | null
}

/**
 * The score by which runs are ranked, as by pleat fold: the ranking confidence of AlphaFold-Multimer where every
 * structure has both pTM and ipTM, else the mean pLDDT or, where no structure has one, the mean predicted RMSD.
 */
export function rankingOf(rows: ScoredRun[]): Ranking {
  const structures = rows.filter((r) => r.status === 'COMPLETED')
  if (structures.length === 0 || structures.some((r) => r.ptm_score === null || r.iptm_score === null))
    return rows.every((r) => r.meanPLLDT === null) && rows.some((r) => r.predictedRmsd !== null)
      ? { name: 'mean predicted RMSD', of: (r) => r.predictedRmsd && -r.predictedRmsd }
      : { name: 'mean pLDDT', of: (r) => r.meanPLLDT }
  return {
    name: '0.8 ipTM + 0.2 pTM',
    of: (r) => (r.ptm_score === null || r.iptm_score === null ? null : 0.8 * r.iptm_score + 0.2 * r.ptm_score),
  }
}

/** The rows by score, the best first; those without come last, in the order given. */
export function ranked(rows: ScoredRun[]): ScoredRun[] {
  const { of } = rankingOf(rows)
  const value = (r: ScoredRun) => of(r) ?? Number.MIN_SAFE_INTEGER
  return rows.toSorted((a, b) => value(b) - value(a))
}
