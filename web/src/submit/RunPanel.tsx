// The settings of the run, the service's validation, and the button that submits the job.
import { useRef, useState } from 'preact/hooks'
import { api, ServiceError } from '../api'
import { compareAddress } from '../compare/address'
import { Copy } from '../components'
import { Checkbox, Input } from '../controls'
import { moment, newSeed, randomHex } from '../format'
import { inProject, projectId } from '../project'
import { navigate } from '../router'
import { curlCommands, withAlignments } from './body'
import { alignmentsToUpload, areNamed, emptyDraft, jobName } from './draft'
import { FollowUps } from './FollowUps'
import { ModelSettings } from './ModelSettings'
import { Problems } from './Problems'
import { Series, SeriesSize, seriesProblem } from './Series'
import type { SeriesJob } from './series'
import {
  alignmentProblems,
  body,
  deleteUploaded,
  draft,
  imported,
  model,
  models,
  problemsOf,
  removeAlignments,
  series,
  update,
  uploadAlignments,
  validate,
  validation,
} from './state'
import { ValidationResult } from './ValidationResult'

/** A job that has been created, by its request: a repeated submission does not create it again. */
interface Created {
  request: string
  key: string
  job: string
}

/** Checks the jobs of the models that are chosen besides; the page shows the validation of the first model. */
async function checkOthers(jobs: SeriesJob[]) {
  for (const { model, body } of jobs.filter((job) => job.first && job.model.name !== draft.peek().model)) {
    const [problem] = (await api.validate(body)).errors
    if (problem) throw new Error(`${model.name}: ${problem.message}`)
  }
}

/**
 * Submits the jobs of the draft and goes to the job, or to the comparison of several. If a request is repeated, its
 * idempotency key makes it one job.
 */
function useSubmit() {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const requests = useRef<Created[]>([])
  const submit = async () => {
    const submitted = draft.peek()
    const jobs = series.peek()
    if (jobs.length === 0) return
    setBusy(true)
    setError('')
    let libraryItem = ''
    const created: string[] = []
    try {
      await checkOthers(jobs)
      const uploaded = await uploadAlignments(submitted)
      libraryItem = uploaded.item
      const named = areNamed(uploaded.files)
      for (const job of jobs) {
        const body = named ? withAlignments(job.body, libraryItem, uploaded.files) : job.body
        const request = JSON.stringify([body, libraryItem])
        let known = requests.current.find((r) => r.request === request)
        if (!known) requests.current.push((known = { request, key: randomHex(16), job: '' }))
        known.job ||= (await api.createJob(body, known.key, named ? '' : libraryItem)).jobId
        created.push(known.job)
      }
      draft.value = { ...emptyDraft(), model: submitted.model }
      imported.value = null
      navigate(created.length > 1 ? compareAddress(created) : `/ui/jobs/${created[0]}`)
    } catch (e) {
      const done =
        jobs.length > 1 && created.length > 0 ? `${created.length} of ${jobs.length} jobs were created. ` : ''
      setError(done + (e as Error).message)
      // Without an answer the job may exist, so its alignments must stay.
      if (e instanceof ServiceError && e.status !== 0 && created.length === 0) void deleteUploaded(libraryItem)
      if (e instanceof ServiceError && e.status !== 0) void validate()
    }
    setBusy(false)
  }
  return { submit, busy, error }
}

/** Name, model, follow-ups, visibility, validation and the button. */
export function RunPanel() {
  const { submit, busy, error } = useSubmit()
  const { items, name, isPublic } = draft.value
  const v = validation.value
  // While a newer validation runs, the last answer counts; the service decides anyway.
  const valid = v !== null && !(v instanceof Error) && v.valid && alignmentProblems.value === 0 && !seriesProblem()
  const busyText = items.some((i) => i.alignment) ? 'Uploading the alignments…' : 'Submitting…'
  return (
    <form
      class="card run"
      aria-label="Settings"
      onSubmit={(e) => {
        e.preventDefault()
        if (valid) void submit()
      }}
    >
      <label class="field">
        <span>Name</span>
        <Input
          maxLength={255}
          placeholder={jobName({ ...draft.value, name: '' })}
          value={name}
          onValue={(v) => update({ name: v })}
        />
      </label>
      <Problems messages={problemsOf((p) => p.part === 'name')} />
      <ModelSettings
        models={models.value}
        settings={draft.value}
        update={update}
        problemsOf={(name) => problemsOf((p) => p.part === 'parameter' && p.name === name)}
      />
      <Series />
      <LibraryItem />
      <hr />
      <FollowUps />
      <hr />
      <Checkbox
        checked={isPublic}
        onValue={(v) => update({ isPublic: v })}
        hint="Anyone with the link can read the results, without a key."
      >
        Public
      </Checkbox>
      <div class="run-foot">
        <ValidationResult />
        <SeriesSize />
        {series.value.length === 1 && <StoredResult />}
        {error && (
          <p class="error" role="alert">
            {error}
          </p>
        )}
        <button type="submit" class="wide" disabled={busy || !valid}>
          {busy ? busyText : series.value.length > 1 ? `Fold ${series.value.length} jobs` : 'Fold'}
        </button>
      </div>
      {items.length > 0 && <CurlCommands />}
    </form>
  )
}

/**
 * The stored run that would answer the draft, and the way to a new result. With the user's alignments the result is
 * another, and the validation is not told of them.
 */
function StoredResult() {
  const v = validation.value
  const { items, libraryItem } = draft.value
  if (v === null || v instanceof Error || !v.cached || libraryItem || items.some((i) => i.alignment)) return null
  const { jobId, jobRunId, createdAt } = v.cached
  return (
    <p class="hint" role="status" data-stored="">
      This was already computed on {moment(createdAt)}: <a href={`/ui/jobs/${jobId}?run=${jobRunId}`}>open it</a> (costs
      nothing), or{' '}
      <button
        type="button"
        class="bare"
        onClick={() => update({ params: { ...draft.peek().params, seed: newSeed() } })}
      >
        run with a new seed
      </button>
    </p>
  )
}

/** The library item that comes from the older job. */
function LibraryItem() {
  const { libraryItem, items } = draft.value
  if (!libraryItem) return null
  return (
    <p class="hint">
      Uses the library item of the previous job{items.some((i) => i.alignment) && ', with its alignments'}.{' '}
      <button type="button" class="bare" onClick={() => removeAlignments()}>
        Do not use it
      </button>
    </p>
  )
}

/** The request of the draft as curl commands. */
function CurlCommands() {
  const { libraryItem } = draft.value
  const files = libraryItem ? [] : alignmentsToUpload(draft.value, model.value)
  const commands = curlCommands(location.origin, { ...body.value, ...inProject(projectId.value) }, libraryItem, files)
  return (
    <details class="more curl">
      <summary>Show as curl</summary>
      <pre tabIndex={0} aria-label="The request as a command">
        {commands}
      </pre>
      <Copy text={commands} />
    </details>
  )
}
