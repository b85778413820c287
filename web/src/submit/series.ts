// Several jobs of one submission: the draft with each chosen model and each seed. No page, no network.
import type { CreateJob, Model } from '../api'
import { toBody } from './body'
import { type Draft, jobName } from './draft'

/** The most jobs of one submission. */
export { maxCompared as maxJobs } from '../compare/address'

// A range such as 1-5 with more seeds than this is not expanded.
const maxRange = 1000

/**
 * Reads seeds such as "1, 2, 5-8". Each seed comes once, in the order given. Any other text stays as it is typed, for
 * the service to refuse.
 */
export function parseSeeds(text: string): string[] {
  const seeds = text
    .split(/[\s,;]+/)
    .filter(Boolean)
    .flatMap((word) => {
      const range = /^(\d{1,15})[-–](\d{1,15})$/.exec(word)
      if (!range) return [word]
      const [from, to] = [Number(range[1]), Number(range[2])]
      if (to < from || to - from >= maxRange) return [word]
      return Array.from({ length: to - from + 1 }, (_, i) => String(from + i))
    })
  return [...new Set(seeds)]
}

/** The models of the draft that run here: the one of the form and those chosen besides. */
export const chosenModels = (draft: Draft, models: Model[]) =>
  [draft.model, ...draft.otherModels.filter((name) => name !== draft.model)].flatMap(
    (name) => models.find((m) => m.name === name) ?? [],
  )

/** A job of the submission. first: whether it is the first one of its model. */
export interface SeriesJob {
  model: Model
  body: CreateJob
  first: boolean
}

/**
 * The jobs of a draft, one for each model and seed. A model without the parameter seed has one job. If there are
 * several, each is named after its model and seed.
 */
export function seriesOf(draft: Draft, models: Model[]): SeriesJob[] {
  const seeds = parseSeeds(draft.seeds)
  const variants = chosenModels(draft, models).flatMap((model) => {
    const takesSeed = model.params.some((p) => p.name === 'seed')
    return (takesSeed && seeds.length > 0 ? seeds : ['']).map((seed, i) => ({ model, seed, first: i === 0 }))
  })
  return variants.map(({ model, seed, first }) => {
    const params = seed ? { ...draft.params, seed } : draft.params
    const body = toBody({ ...draft, model: model.name, params }, model)
    if (variants.length > 1) {
      const suffix = ` (${model.name}${seed && `, seed ${seed}`})`
      body.name = jobName(draft).slice(0, 255 - suffix.length) + suffix
    }
    return { model, body, first }
  })
}
