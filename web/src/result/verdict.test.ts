import { expect, test } from 'vitest'
import type { ScoredChains } from '../api'
import { verdict } from './verdict'

test('the verdict names its scores and does not guess missing ones', () => {
  const s: ScoredChains = {
    chains: ['A', 'B'],
    meanPLLDT: 91.2,
    ptm_score: 0.9,
    iptm_score: 0.5,
    max_pae_score: 20,
    confidence: '',
    pairs: [{ chainA: 'A', chainB: 'B', iptm: 0.5, ipsae: null, pdockq2: null }],
  }
  const v = verdict(s, null)
  expect(v.title).toBe('Very confident fold, uncertain interface')
  expect(v.lines).toContain('Interface A–B not reliable: ipTM 0.50.')
  expect(verdict({ ...s, pairs: [], iptm_score: null }, null).lines).toContain(
    'This engine does not rate the arrangement of the chains.',
  )
  const none = verdict({ ...s, meanPLLDT: null, pairs: [], iptm_score: null, chains: ['A'] }, null)
  expect([none.tone, none.title, none.lines.length]).toEqual(['unknown', 'No confidence given', 1])
})
