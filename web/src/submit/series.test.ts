import { expect, test } from 'vitest'
import type { Model } from '../api'
import { emptyDraft, newItem } from './draft'
import { parseSeeds, seriesOf } from './series'

const model = (name: string, ...params: string[]) =>
  ({ name, features: [], params: params.map((p) => ({ name: p, type: 'string' })) }) as unknown as Model

test('seeds are a list of numbers and ranges', () => {
  expect(parseSeeds('1, 2;2 5-8')).toEqual(['1', '2', '5', '6', '7', '8'])
  expect(parseSeeds(' ')).toEqual([])
  expect(parseSeeds('3-1 0-99999 x')).toEqual(['3-1', '0-99999', 'x']) // the service refuses them
})

test('there is a job for each model and seed', () => {
  const models = [model('mini', 'seed', 'steps'), model('fast'), model('other', 'seed')]
  const draft = {
    ...emptyDraft(),
    name: 'GB1',
    model: 'mini',
    items: [newItem('protein', 'ACDE')],
    params: { seed: '9', steps: '4' },
  }
  const jobs = (fields: object) =>
    seriesOf({ ...draft, ...fields }, models).map(({ body, first }) => [body.name, body.params, first])
  expect(jobs({})).toEqual([['GB1', { modelName: 'mini', seed: '9', steps: '4' }, true]])
  expect(jobs({ seeds: '1, 2', otherModels: ['fast', 'gone', 'mini', 'other'] })).toEqual([
    ['GB1 (mini, seed 1)', { modelName: 'mini', seed: '1', steps: '4' }, true],
    ['GB1 (mini, seed 2)', { modelName: 'mini', seed: '2', steps: '4' }, false],
    ['GB1 (fast)', { modelName: 'fast' }, true],
    ['GB1 (other, seed 1)', { modelName: 'other', seed: '1' }, true],
    ['GB1 (other, seed 2)', { modelName: 'other', seed: '2' }, false],
  ])
  const [long] = jobs({ name: 'x'.repeat(255), seeds: '1 2' })
  expect(long![0]).toHaveLength(255)
})
