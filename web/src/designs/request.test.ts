import { describe, expect, it } from 'vitest'
import type { Model } from '../api'
import { designInput, designModels, emptyRequest, readResidues } from './request'

describe('readResidues', () => {
  it('reads ranges and numbers of several chains', () => {
    expect(readResidues('A: 3-5, 9; B:1\n C : 2–3')).toEqual([
      { chain_id: 'A', res_idx: [3, 4, 5, 9] },
      { chain_id: 'B', res_idx: [1] },
      { chain_id: 'C', res_idx: [2, 3] },
    ])
    expect(readResidues(' \n')).toEqual([])
    expect(readResidues('A; B: 2', true)).toEqual([{ chain_id: 'A' }, { chain_id: 'B', res_idx: [2] }])
  })
  it.each(['A', '3-9', 'A:', 'A: x', 'A: 9-3', 'A: 1: 2', 'A: 1-99999'])('refuses %s', (text) => {
    expect(() => readResidues(text)).toThrow('must be a chain and positions of residues')
  })
})

describe('designInput', () => {
  const target = { libraryItemId: 'x' }
  it('asks for binders', () => {
    const request = { ...emptyRequest, epitope: 'A: 3', length: '10..14', kind: 'peptide', cyclic: true, seed: ' 7 ' }
    expect(designInput(request, target)).toEqual({
      target,
      numDesigns: 50,
      budget: 5,
      seed: '7',
      epitope: [{ chain_id: 'A', res_idx: [3] }],
      binder: { kind: 'peptide', cyclic: true, length: '10..14' },
    })
    const given = designInput({ ...emptyRequest, length: '9', sequence: '3C3' }, target)
    expect(given.binder).toEqual({ kind: 'protein', sequence: '3C3' })
  })
  it('asks for sequences', () => {
    const request = {
      ...emptyRequest,
      task: 'sequence' as const,
      redesign: 'A',
      temperature: '0.2',
      model: 'ligandmpnn',
    }
    expect(designInput({ ...request, epitope: 'A: 3' }, target)).toEqual({
      target,
      numDesigns: 50,
      budget: 5,
      modelName: 'ligandmpnn',
      protocol: 'sequence_only',
      redesign: [{ chain_id: 'A' }],
      temperature: 0.2,
    })
  })
})

it('tells the models for binders from those for sequences', () => {
  const models = [
    { name: 'boltz-2', kind: 'fold', features: [] },
    { name: 'boltzgen', kind: 'design', features: [] },
    { name: 'proteinmpnn', kind: 'design', features: ['sequence_only'] },
  ] as unknown as Model[]
  expect(designModels(models, 'binder').map((m) => m.name)).toEqual(['boltzgen'])
  expect(designModels(models, 'sequence').map((m) => m.name)).toEqual(['proteinmpnn'])
})
