// The notes of an imported file, and its other jobs.
import { useState } from 'preact/hooks'
import { api, type CreateJob } from '../api'
import { plural } from '../format'
import { navigate } from '../router'
import { fromBody, toBody } from './body'
import { draft, imported, model, openDraft } from './state'

/** Shows what an imported file could not express, and submits its other jobs. */
export function ImportedFile() {
  const file = imported.value
  if (!file || (file.notes.length === 0 && file.jobs.length === 1)) return null
  return (
    <section class="card" aria-label="From a file">
      <div class="row between">
        <h2>From {file.file}</h2>
        <button type="button" class="bare" onClick={() => (imported.value = null)}>
          Close
        </button>
      </div>
      {file.notes.map((note) => (
        <p key={note} class="caution">
          {note}
        </p>
      ))}
      {file.jobs.length > 1 && <Jobs jobs={file.jobs} />}
    </section>
  )
}

/** The jobs of the file: each can be opened, or all submitted. */
function Jobs({ jobs }: { jobs: CreateJob[] }) {
  const [progress, setProgress] = useState('')
  const [error, setError] = useState('')
  const submitAll = async () => {
    setError('')
    for (const [i, job] of jobs.entries()) {
      setProgress(`Submitting ${i + 1} of ${jobs.length}…`)
      try {
        const opened = fromBody(job)
        if (!opened.model) opened.model = draft.peek().model
        await api.createJob(toBody(opened, model.peek()))
      } catch (e) {
        setProgress('')
        return setError(`${i} of ${jobs.length} jobs were submitted. “${job.name}”: ${(e as Error).message}`)
      }
    }
    imported.value = null
    navigate('/ui/jobs')
  }
  return (
    <>
      <p>The file has {plural(jobs.length, 'job')}. Choose one to edit, or submit all.</p>
      <div class="row">
        {jobs.map((job, i) => (
          <button
            key={i}
            type="button"
            class="quiet small"
            aria-pressed={draft.value.name === job.name}
            onClick={() => openDraft(fromBody(job))}
          >
            {job.name}
          </button>
        ))}
      </div>
      <div class="row">
        <button type="button" disabled={progress !== ''} onClick={() => void submitAll()}>
          {progress || `Fold all ${jobs.length}`}
        </button>
        <span class="dim small-text">as in the file, without changes made here</span>
      </div>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
    </>
  )
}
