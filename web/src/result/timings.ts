// The stages of a run, from its timings: which stage each key belongs to, in order, and what they leave unexplained.
import { duration } from '../format'

/** A part of a run's time, in seconds. */
export interface Span {
  name: string
  title: string
  seconds: number
}

/** A stage with its parts, which the engine or the service has named. */
export interface Stage extends Span {
  parts: Span[]
}

/** The times of a run. Stages do not overlap; total is the time from its creation to its end, null if that is unknown. */
export interface Times {
  stages: Stage[]
  total: number | null
}

/** The titles of stages, in the order in which they take place. */
export const stageTitles: Record<string, string> = {
  queue: 'In the queue',
  earlier: 'Earlier attempts',
  msa: 'Alignment',
  fetch: 'Reading the input files',
  wait: 'Waiting for an accelerator',
  load: 'Loading the model',
  infer: 'Computing',
  write: 'Writing the results',
}

// The names of parts.
const partTitles: Record<string, string> = {
  trunk: 'Trunk',
  diffusion: 'Diffusion',
  check: 'Checking the files',
  answer: 'Answering',
  digest: 'Computing facts',
  simulate: 'Simulating',
  analyse: 'Measuring',
}

const titleOf = (part: string) =>
  partTitles[part] ?? part.charAt(0).toUpperCase() + part.slice(1).replaceAll(/[_-]/g, ' ')

// A shorter rest of the total is not shown: clocks of several machines differ by it.
const minOther = 0.1 // seconds
const minOtherShare = 0.02

/** The run as far as its times are concerned. */
interface TimedRun {
  timings: Record<string, number>
  createdAt: string
  finishedAt: string | null
}

/** The stages of a run that has ended. */
export function timesOf({ timings, createdAt, finishedAt }: TimedRun): Times {
  const parts = Object.entries(timings).filter(([name]) => !(name in stageTitles))
  const stages = Object.entries(stageTitles).flatMap(([name, title]): Stage[] => {
    const own = parts
      .filter(([part]) => stageOf(part, timings) === name)
      .map(([part, seconds]) => ({ name: part, title: titleOf(part), seconds }))
    // Runs of earlier versions may have parts of a stage without the stage.
    const seconds = timings[name] ?? (own.length > 0 ? sum(own) : null)
    return seconds === null ? [] : [{ name, title, seconds, parts: own }]
  })
  const total = finishedAt ? (Date.parse(finishedAt) - Date.parse(createdAt)) / 1000 : Number.NaN
  if (!(total >= 0)) return { stages, total: null }
  const rest = total - sum(stages)
  const isLong = rest >= minOther && rest >= minOtherShare * total
  const other = { name: 'other', title: 'Not measured', seconds: rest, parts: [] }
  return { stages: stages.length > 0 && isLong ? [...stages, other] : stages, total }
}

/** The stage that a part belongs to. The answer of a cached result is written; that of a question is computed. */
function stageOf(part: string, timings: Record<string, number>): string {
  return part === 'check' || (part === 'answer' && timings.infer === undefined) ? 'write' : 'infer'
}

const sum = (spans: Span[]) => spans.reduce((seconds, span) => seconds + span.seconds, 0)

/** Formats seconds such as 0.0123 as 12 ms, and longer times as everywhere. */
export function span(seconds: number): string {
  if (seconds < 0.0005) return 'under 1 ms'
  return seconds < 0.1 ? `${Math.round(seconds * 1000)} ms` : duration(seconds)
}

/** Formats a share of a whole in percent. */
export function share(part: number, whole: number): string {
  if (!(whole > 0)) return '–'
  const percent = (part / whole) * 100
  return percent > 0 && percent < 1 ? 'under 1%' : `${Math.round(percent)}%`
}

/** All stages in a sentence, for readers that do not see the bar. */
export const describeTimes = ({ stages }: Times) =>
  stages.map(({ title, seconds }) => `${title}: ${span(seconds)}`).join('; ')
