// Several models and seeds in one submission.
import { Checkbox, Input } from '../controls'
import { plural } from '../format'
import { maxJobs } from './series'
import { draft, models, series, update, validation } from './state'

/** The seeds and the other models of the draft. */
export function Series() {
  const { model, otherModels, seeds } = draft.value
  const list = Array.isArray(models.value) ? models.value : []
  const others = list.filter((m) => m.name !== model)
  const choose = (name: string, on: boolean) =>
    update({ otherModels: on ? [...otherModels, name] : otherModels.filter((other) => other !== name) })
  return (
    <details class="more" open={otherModels.length > 0 || seeds !== ''}>
      <summary>Several seeds and models</summary>
      <label class="field">
        <span>Seeds</span>
        <Input placeholder="1, 2, 3 or 1-5" maxLength={400} value={seeds} onValue={(v) => update({ seeds: v })} />
        <small>One job for each. Empty: a single job.</small>
      </label>
      {others.length > 0 && (
        <fieldset class="field">
          <legend>Also fold with</legend>
          {others.map(({ name, title }) => (
            <Checkbox key={name} checked={otherModels.includes(name)} onValue={(on) => choose(name, on)}>
              {name} · {title}
            </Checkbox>
          ))}
        </fieldset>
      )}
    </details>
  )
}

/** Why the jobs of the draft cannot be submitted together; empty: they can. */
export function seriesProblem(): string {
  const count = series.value.length
  const v = validation.value
  if (count <= 1 || v === null || v instanceof Error) return ''
  if (count > maxJobs) return `These are ${count} jobs; one submission creates at most ${maxJobs}.`
  if (count > v.quotaRemaining)
    return `These are ${count} jobs, but ${plural(v.quotaRemaining, 'job')} ${v.quotaRemaining === 1 ? 'is' : 'are'} left today.`
  return ''
}

/** How many jobs the draft makes, and what they take of the quota; nothing for a single job. */
export function SeriesSize() {
  const count = series.value.length
  const v = validation.value
  if (count <= 1 || v === null || v instanceof Error) return null
  const problem = seriesProblem()
  if (problem)
    return (
      <p class="error" role="alert">
        {problem}
      </p>
    )
  return (
    <p class="hint" role="status" data-jobs={count}>
      These are {count} jobs. They take {count} of the {plural(v.quotaRemaining, 'job')} left today.
    </p>
  )
}
