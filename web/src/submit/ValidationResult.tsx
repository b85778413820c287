// The validation of the draft by the service: ready, with the expected cost, or what is wrong.
import type { Validation } from '../api'
import { about, asSentence, bytes, plural, sizeUnit } from '../format'
import { alignmentProblems, draft, model, otherProblems, validation } from './state'

/** Whether the draft can be submitted. */
export function ValidationResult() {
  const v = validation.value
  if (draft.value.items.length === 0)
    return (
      <p class="hint" role="status">
        Add a sequence to begin.
      </p>
    )
  if (v instanceof Error)
    return (
      <p class="error" role="status">
        The job could not be checked: {v.message}
      </p>
    )
  if (!v)
    return (
      <p class="hint" role="status">
        Checking…
      </p>
    )
  return v.valid && alignmentProblems.value === 0 ? <Ready validation={v} /> : <Invalid validation={v} />
}

/** The problems without a field of their own, and how many are shown next to fields. */
function Invalid({ validation: v }: { validation: Validation }) {
  const other = otherProblems()
  const besideFields = v.errors.length - other.length + alignmentProblems.value
  return (
    <div class="error" role="status" data-valid="no">
      {other.map((message) => (
        <div key={message}>{message}</div>
      ))}
      {besideFields > 0 && (
        <div>
          {plural(besideFields, 'problem')} to fix.{' '}
          <button type="button" class="bare" onClick={showFirstProblem}>
            Show
          </button>
        </div>
      )}
    </div>
  )
}

/** Scrolls to the first problem, opens the sections that hide it, and focuses its field. */
function showFirstProblem() {
  const problem = document.querySelector('.submit .wrong:not(:empty)')
  for (let e = problem?.parentElement; e; e = e.parentElement) if (e instanceof HTMLDetailsElement) e.open = true
  problem?.scrollIntoView({ block: 'center' })
  const field = problem?.closest('.field, .rule, .alignment, .mod, .chain, .follow')
  field
    ?.querySelector<HTMLElement>('[aria-invalid=true], input:not([hidden]), textarea, button')
    ?.focus({ preventScroll: true })
}

/** The size of the job in words. */
function describeSize(v: Validation): string {
  const asComplex = model.value?.features.includes('complex') || v.chains.length === 1
  const onlyResidues = draft.value.items.every((i) => i.kind !== 'ligand' && i.modifications.length === 0)
  const unit = onlyResidues ? 'residue' : model.value ? sizeUnit(model.value) : 'token'
  const size = plural(v.tokens, unit)
  const limit = asComplex && v.maxTokens > 0 ? ` of at most ${v.maxTokens}` : ''
  const separate = !asComplex && v.chains.length > 1 ? ` in ${v.chains.length} chains, folded separately` : ''
  return `${size}${limit}${separate}${v.isComplex ? ' in one complex' : ''}.`
}

/** The expected time and memory in words; empty if they are not known. */
function describeCost(v: Validation): string {
  const cost: string[] = []
  if (v.expectedSeconds > 0) cost.push(about(v.expectedSeconds) + (model.value?.device === 'cpu' ? ' on one core' : ''))
  if (v.expectedMemoryBytes > 0) cost.push(`${bytes(v.expectedMemoryBytes)} of memory`)
  const text = cost.join(', ')
  return text && `Expected: ${text}. `
}

/** A valid draft with its size and cost. */
function Ready({ validation: v }: { validation: Validation }) {
  return (
    <div class="success" role="status" data-valid="yes">
      <strong>Ready.</strong> {describeSize(v)}
      <div>
        {describeCost(v)}
        {plural(v.quotaRemaining, 'job')} left today.
      </div>
      {v.paused && (
        <div>
          The operators have paused this model; the job will wait.{v.pausedReason && ` ${asSentence(v.pausedReason)}`}
        </div>
      )}
    </div>
  )
}
