// The Submit page: sequences on the left, settings on the right.
import { useEffect, useState } from 'preact/hooks'
import { api } from '../api'
import { bytes } from '../format'
import { navigate, query } from '../router'
import { AddSequences } from './AddSequences'
import { maxAlignmentBytes } from './alignment'
import { fromBody } from './body'
import { Constraints } from './Constraints'
import { emptyDraft, itemFrom } from './draft'
import { ImportedFile } from './ImportedFile'
import { ItemCard } from './ItemCard'
import { RunPanel } from './RunPanel'
import { isJobFile, parseText } from './sequences'
import {
  attachAlignment,
  body,
  draft,
  imported,
  loadModels,
  loadWebhook,
  model,
  models,
  openDraft,
  openJob,
  update,
  validate,
} from './state'
import { Templates } from './Templates'

const maxFileBytes = 1 << 20 // of a file with sequences or jobs; the service accepts no larger ones

/** The components of the job that was opened, which the form keeps as they are. */
const Components = () => (
  <section class="card">
    <h2>Components</h2>
    <p class="dim">
      Molecules of the job's own, by code:{' '}
      {draft.value.components.map((c) => `${c.code} (${c.smiles ?? 'of a file'})`).join(', ')}
    </p>
    <button type="button" class="quiet" onClick={() => update({ components: [] })}>
      Remove
    </button>
  </section>
)

/** Reports whether a file is an alignment by its name. */
const isAlignment = (file: File) => /\.a3m$/i.test(file.name)

/** The page. Files may be dropped anywhere on it. */
export function Submit() {
  const [error, setError] = useState('')
  const [dragging, setDragging] = useState(false)
  useEffect(() => {
    void loadModels()
    void loadWebhook()
  }, [])
  useReopenedJob(setError)
  useValidation()

  const addText = async (text: string, fileName = '') => {
    try {
      if (fileName || isJobFile(text)) await importText(text, fileName)
      else update({ items: [...draft.peek().items, ...parseText(text).map(itemFrom)] })
      setError('')
    } catch (e) {
      setError(`${fileName || 'The text'} could not be read: ${(e as Error).message}`)
    }
  }
  const addFiles = async (chosen: File[]) => {
    setError('')
    let other: File | undefined
    try {
      const { plainFile } = await import('../plainFile')
      const files = await Promise.all(chosen.map((file) => plainFile(file, maxAlignmentBytes)))
      other = files.find((file) => !isAlignment(file))
      for (const file of files.filter(isAlignment)) await attachAlignment(file)
    } catch (e) {
      setError((e as Error).message)
    }
    if (!other) return
    if (other.size > maxFileBytes)
      return setError(`${other.name} has ${bytes(other.size)}; a file may have ${bytes(maxFileBytes)}`)
    await addText(await other.text(), other.name)
  }
  const { items } = draft.value
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping a file is a second way, next to the button
    <div
      class={`submit${dragging ? ' over' : ''}`}
      onDragOver={(e) => {
        e.preventDefault()
        setDragging(true)
      }}
      onDragLeave={(e) => {
        if (e.target === e.currentTarget) setDragging(false)
      }}
      onDrop={(e) => {
        e.preventDefault()
        setDragging(false)
        void addFiles([...(e.dataTransfer?.files ?? [])])
      }}
    >
      <Head empty={items.length === 0} onReset={() => setError('')} />
      <div class="two">
        <div class="stack" data-ready={Array.isArray(models.value)}>
          {error && (
            <p class="error" role="alert">
              {error}
            </p>
          )}
          <ImportedFile />
          {items.map((item, i) => (
            <ItemCard key={item.key} item={item} index={i} />
          ))}
          <AddSequences addText={addText} addFiles={addFiles} first={items.length === 0} />
          {items.length > 0 && <Constraints />}
          {items.length > 0 && <Templates />}
          {draft.value.components.length > 0 && <Components />}
        </div>
        <RunPanel />
      </div>
    </div>
  )
}

/** The title, and the button that empties the draft. */
function Head({ empty, onReset }: { empty: boolean; onReset(): void }) {
  const reset = () => {
    openDraft(emptyDraft())
    imported.value = null
    onReset()
  }
  return (
    <div class="head">
      <div>
        <h1>Fold</h1>
        <p class="dim">Paste sequences, choose a model, watch it fold.</p>
      </div>
      {!empty && (
        <button type="button" class="quiet small" onClick={reset}>
          Start over
        </button>
      )}
    </div>
  )
}

/** Opens the job that the address names in ?again=, as of the run in ?run=. */
function useReopenedJob(setError: (message: string) => void) {
  const id = query.value.get('again')
  const run = query.value.get('run') ?? ''
  useEffect(() => {
    if (!id) return
    navigate('/ui/', { replace: true })
    openJob(id, run).catch((e: Error) => setError(`The job could not be opened: ${e.message}`))
  }, [id])
}

/** Validates the draft shortly after each change. */
function useValidation() {
  const text = JSON.stringify(body.value)
  const modelLoaded = model.value !== undefined
  useEffect(() => {
    const timer = setTimeout(() => void validate(), 350)
    return () => clearTimeout(timer)
  }, [text, modelLoaded])
}

/** Lets the service read a job file of another program, and opens its first job. */
async function importText(text: string, fileName: string) {
  const result = await api.importFile(text, fileName.replace(/\.[^.]*$/, '').slice(0, 255))
  if (!result.jobs[0]) throw new Error('it has no job')
  openDraft(fromBody(result.jobs[0]))
  imported.value = { ...result, file: fileName || 'the pasted text' }
}
