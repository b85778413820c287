import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { describeTimes, share, span, stageTitles, timesOf } from './timings'

const run = (timings: Record<string, number>, seconds: number | null = null) => ({
  timings,
  createdAt: '2026-03-04T12:00:00.000000Z',
  finishedAt: seconds === null ? null : new Date(Date.parse('2026-03-04T12:00:00Z') + seconds * 1000).toISOString(),
})

test('stages have one order, and parts belong to a stage', () => {
  const { stages, total } = timesOf(
    run({ write: 1, trunk: 2.5, infer: 12, check: 0.25, diffusion: 8, queue: 3, load: 20, msa: 4 }, 40),
  )
  expect(stages.map((s) => [s.name, s.seconds])).toEqual([
    ['queue', 3],
    ['msa', 4],
    ['load', 20],
    ['infer', 12],
    ['write', 1],
  ])
  expect(stages[3]!.parts.map((p) => p.title)).toEqual(['Trunk', 'Diffusion'])
  expect(stages[4]!.parts.map((p) => p.title)).toEqual(['Checking the files'])
  expect(total).toBe(40)
})

test('the answer of a cached result is no computation', () => {
  const cached = timesOf(run({ queue: 0.01, answer: 0.02, write: 0.05 }))
  expect(cached.stages.map((s) => [s.name, s.parts.length])).toEqual([
    ['queue', 0],
    ['write', 1],
  ])
  const question = timesOf(run({ infer: 2, answer: 1.5, digest: 0.5 }))
  expect(question.stages.map((s) => [s.name, s.parts.length])).toEqual([['infer', 2]])
})

test('what the stages do not explain is shown as such', () => {
  expect(timesOf(run({ queue: 1, infer: 5 }, 10)).stages.at(-1)).toMatchObject({ name: 'other', seconds: 4 })
  expect(timesOf(run({ queue: 1, infer: 98.5 }, 100)).stages).toHaveLength(2) // less than a fiftieth
  expect(timesOf(run({ queue: 1, infer: 5 })).total).toBe(null) // it has not ended
  expect(timesOf(run({}, 10)).stages).toEqual([]) // it ended while no worker had it: nothing was measured
})

test('parts without their stage are summed', () => {
  expect(timesOf(run({ trunk: 1, some_step: 2 })).stages).toEqual([
    expect.objectContaining({
      name: 'infer',
      seconds: 3,
      parts: [expect.objectContaining({ title: 'Trunk' }), expect.objectContaining({ title: 'Some step' })],
    }),
  ])
})

test('short and long times are told apart', () => {
  expect([0, 0.0123, 0.25, 42.4, 7260].map(span)).toEqual(['under 1 ms', '12 ms', '0.3 s', '42 s', '2 h 01 min'])
  expect([share(0.001, 10), share(0, 10), share(3.3, 10), share(1, 0)]).toEqual(['under 1%', '0%', '33%', '–'])
  expect(describeTimes(timesOf(run({ queue: 0.01, infer: 5 })))).toBe('In the queue: 10 ms; Computing: 5.0 s')
})

test('the stages are those of the service', () => {
  const source = readFileSync(new URL('../../../job.go', import.meta.url), 'utf8')
  const names = [...source.matchAll(/^\tStage\w+ += "(\w+)"/gm)].map((m) => m[1])
  expect(Object.keys(stageTitles)).toEqual(names)
})
