import { expect, test } from 'vitest'
import { ranked, rankingOf, type ScoredRun } from './ranking'

const run = (
  name: string,
  meanPLLDT: number | null,
  ptm: number | null,
  iptm: number | null,
  predictedRmsd: number | null = null,
): ScoredRun => ({
  id: name,
  name,
  href: '',
  createdAt: '',
  status: meanPLLDT === null && predictedRmsd === null ? 'FAILED' : 'COMPLETED',
  modelName: 'mini',
  seed: '1',
  meanPLLDT,
  predictedRmsd,
  ptm_score: ptm,
  iptm_score: iptm,
})
const names = (rows: ScoredRun[]) => ranked(rows).map((r) => r.name)

// The cases of TestRank in internal/cli/client/rank_test.go.
test('runs are ranked as by pleat fold', () => {
  const failed = run('failed', null, null, null)
  const single = [run('a', 70, null, null), failed, run('b', 90, null, null)]
  expect(rankingOf(single).name).toBe('mean pLDDT')
  expect(names(single)).toEqual(['b', 'a', 'failed'])
  const complexes = [run('a', 90, 0.5, 0.5), failed, run('b', 70, 0.5, 0.6)]
  expect(rankingOf(complexes).name).toBe('0.8 ipTM + 0.2 pTM')
  expect(names(complexes)).toEqual(['b', 'a', 'failed'])
  const mixed = [run('a', 90, 0.5, null), run('b', 70, 0.5, 0.6)]
  expect(rankingOf(mixed).name).toBe('mean pLDDT')
  expect(names(mixed)).toEqual(['a', 'b'])
  expect(rankingOf([failed]).name).toBe('mean pLDDT')
  const rmsds = [run('a', null, null, null, 2), failed, run('b', null, null, null, 0.5), run('c', null, null, null, 0)]
  expect(rankingOf(rmsds).name).toBe('mean predicted RMSD')
  expect(names(rmsds)).toEqual(['c', 'b', 'a', 'failed'])
  const incomparable = [run('a', null, null, null, 0.5), run('b', 10, null, null)]
  expect(rankingOf(incomparable).name).toBe('mean pLDDT')
  expect(names(incomparable)).toEqual(['b', 'a'])
})
