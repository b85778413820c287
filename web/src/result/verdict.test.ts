import { expect, test } from 'vitest'
import type { ScoredChains } from '../api'
import { Table } from '../plots/residues'
import { verdict } from './verdict'
import cases from './verdict.test.json'

// The Go tests of internal/facts hold the analyst's verdict to the same cases.
test.each(cases)('verdict: $name', ({ scores, plddt, rmsd = [], verdict: want }) => {
  const pairs = scores.pairs.map((p) => ({ ...p, ipsae: null, pdockq2: null, lis: null }))
  const s: ScoredChains = { ...scores, pairs, max_pae_score: null, confidence: '' }
  const unit = { name: 'ALA', plddt: null, tokens: 1 }
  const residues = [
    ...plddt.map((v, i) => ({ ...unit, number: i + 1, plddt: v })),
    ...rmsd.map((v, i) => ({ ...unit, number: i + 1, rmsd: v })),
  ]
  const table = residues.length > 0 ? new Table([{ id: 'A', kind: 'protein', residues }]) : null
  expect(verdict(s, table)).toEqual(want)
})
