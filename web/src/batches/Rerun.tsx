// The same rows with another model or other parameters.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type Batch, type Model } from '../api'
import { ErrorMessage } from '../components'
import { Input } from '../controls'
import { plural, randomHex } from '../format'
import { navigate } from '../router'
import { paramsBody } from '../submit/body'
import { ModelSettings, type Settings } from '../submit/ModelSettings'

/** The form that creates a batch of the same rows, and opens it. */
export function Rerun({ batch: b, close }: { batch: Batch; close(): void }) {
  const models = useFoldingModels()
  const [name, setName] = useState(b.name)
  const [settings, setSettings] = useState<Settings>({ model: b.modelName, params: {} })
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  const last = useRef({ text: '', key: '' })
  const submit = async (e: Event) => {
    e.preventDefault()
    setBusy(true)
    setError('')
    try {
      const model = Array.isArray(models) ? models.find((m) => m.name === settings.model) : undefined
      const request = { name, params: paramsBody(settings, model) }
      const text = JSON.stringify(request)
      if (last.current.text !== text) last.current = { text, key: randomHex(16) } // repeated, it is one batch
      const created = await api.rerunBatch(b.batchId, request, last.current.key)
      close()
      navigate(`/ui/batches/${created.batchId}`)
    } catch (e) {
      setError((e as Error).message)
    }
    setBusy(false)
  }
  return (
    <form class="card rerun" aria-label="Run with other settings" onSubmit={(e) => void submit(e)}>
      <h2>Run {b.rows === 1 ? 'the same row' : `the same ${plural(b.rows, 'row')}`} with other settings</h2>
      <p class="dim small-text">
        A new batch is created, and this one stays. The rows keep their seeds unless you set another here.
      </p>
      <label class="field">
        <span>Name</span>
        <Input required maxLength={255} value={name} onValue={setName} />
      </label>
      <ModelSettings
        models={models}
        settings={settings}
        update={(fields) => setSettings({ ...settings, ...fields })}
        problemsOf={() => []}
      />
      <ErrorMessage text={error} />
      <div class="row">
        <button type="submit" disabled={busy}>
          {busy ? 'Creating…' : 'Create batch'}
        </button>
        <button type="button" class="quiet" onClick={close}>
          Cancel
        </button>
      </div>
    </form>
  )
}

/** The folding models; null until they are loaded. */
export function useFoldingModels(): Model[] | Error | null {
  const [models, setModels] = useState<Model[] | Error | null>(null)
  useEffect(() => {
    api.models().then(
      (list) => setModels(list.data.filter((m) => m.kind === 'fold')),
      (e: Error) => setModels(e),
    )
  }, [])
  return models
}
