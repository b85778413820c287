// The settings of the run, the service's validation, and the button that submits the job.
import { useRef, useState } from 'preact/hooks'
import { api, ServiceError } from '../api'
import { Copy } from '../components'
import { Checkbox, Input } from '../controls'
import { navigate } from '../router'
import { refreshSession } from '../session'
import { curlCommands } from './body'
import { alignmentsToUpload, emptyDraft, jobName } from './draft'
import { FollowUps } from './FollowUps'
import { ModelSettings } from './ModelSettings'
import { Problems } from './Problems'
import {
  alignmentProblems,
  body,
  deleteUploaded,
  draft,
  imported,
  model,
  problemsOf,
  removeAlignments,
  update,
  uploadAlignments,
  validate,
  validation,
} from './state'
import { ValidationResult } from './ValidationResult'

/** A random idempotency key. */
const randomKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('')

/** Submits the draft and goes to its job. If the request is repeated, the idempotency key makes it one job. */
function useSubmit() {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const last = useRef({ request: '', key: '' })
  const submit = async () => {
    const submitted = draft.peek()
    const job = body.peek()
    setBusy(true)
    setError('')
    let libraryItem = ''
    try {
      libraryItem = await uploadAlignments(submitted)
      const request = JSON.stringify([job, libraryItem])
      if (last.current.request !== request) last.current = { request, key: randomKey() }
      const created = await api.createJob(job, last.current.key, libraryItem)
      draft.value = { ...emptyDraft(), model: submitted.model }
      imported.value = null
      void refreshSession()
      navigate(`/ui/jobs/${created.jobId}`)
    } catch (e) {
      setError((e as Error).message)
      // Without an answer the job may exist, so its alignments must stay.
      if (e instanceof ServiceError && e.status !== 0) {
        void deleteUploaded(libraryItem)
        void validate()
      }
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
  const valid = v !== null && !(v instanceof Error) && v.valid && alignmentProblems.value === 0
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
      <ModelSettings />
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
        {error && (
          <p class="error" role="alert">
            {error}
          </p>
        )}
        <button type="submit" class="wide" disabled={busy || !valid}>
          {busy ? busyText : 'Fold'}
        </button>
      </div>
      {items.length > 0 && <CurlCommands />}
    </form>
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
  const files = libraryItem ? [] : alignmentsToUpload(draft.value, model.value).map((a) => a.name)
  const commands = curlCommands(location.origin, body.value, libraryItem, files)
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
