// The form of a new batch: its rows on the left, its settings and a dry run on the right.
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { BatchKind } from '../api'
import { Segments } from '../controls'
import { bytes } from '../format'
import { plainFile } from '../plainFile'
import { DryRun } from './DryRun'
import { type Draft, emptyDraft, parseLigands, parseRows, type SourceName, type Sources, type Text } from './draft'
import { isJSON, readBatch } from './input'
import { KindForm } from './KindForm'
import { kindNames } from './kinds'
import { useFoldingModels } from './Rerun'
import './batches.css'

const maxFileBytes = 64 << 20 // the service accepts no larger request

/** The page. */
export function NewBatch() {
  const [draft, setDraft] = useState(emptyDraft)
  const [error, setError] = useState('')
  const update = (fields: Partial<Draft>) => setDraft((old) => ({ ...old, ...fields }))
  const models = useFoldingModels()
  useEffect(() => {
    if (Array.isArray(models) && models[0]) setDraft((old) => ({ ...old, model: old.model || models[0]!.name }))
  }, [models])
  const sources = useSources(draft)
  const setText = (name: SourceName, text: Text) => {
    setError('')
    if (!isJSON(text.text)) return update({ [name]: text })
    try {
      const body = readBatch(text.text)
      update({ file: { name: text.file || 'pasted.json', body }, kind: body.kind, name: body.name ?? draft.name })
    } catch (e) {
      if (text.file === '') update({ [name]: text }) // it may be being typed
      setError(`${text.file || 'The text'} could not be read: ${(e as Error).message}`)
    }
  }
  const addFile = async (name: SourceName, chosen: File) => {
    if (chosen.size > maxFileBytes)
      return setError(`${chosen.name} has ${bytes(chosen.size)}; a batch may have ${bytes(maxFileBytes)}`)
    const file = await plainFile(chosen, maxFileBytes).catch((e: Error) => e)
    if (file instanceof Error) return setError(file.message)
    setText(name, { text: (await file.text()).replace(/^\ufeff/, ''), file: file.name })
  }
  return (
    <div class="submit new-batch">
      <div class="head">
        <div>
          <h1>New batch</h1>
          <p class="dim">Many folds of one model. Equal rows are computed once.</p>
        </div>
        <a class="button quiet small" href="/ui/batches">
          Your batches
        </a>
      </div>
      <div class="two">
        <div class="stack" data-ready={Array.isArray(models)}>
          {error && (
            <p class="error" role="alert">
              {error}
            </p>
          )}
          {draft.file ? (
            <FromFile draft={draft} close={() => update({ file: null })} />
          ) : (
            <>
              <Segments
                label="Kind"
                options={kindNames}
                value={draft.kind}
                onValue={(kind) => update({ kind: kind as BatchKind })}
              />
              <KindForm
                draft={draft}
                sources={sources}
                hasAffinity={hasAffinity(models, draft.model)}
                update={update}
                setText={setText}
                addFile={(name, file) => void addFile(name, file)}
              />
            </>
          )}
        </div>
        <DryRun draft={draft} sources={sources} models={models} update={update} />
      </div>
    </div>
  )
}

/** Whether a model predicts affinities. */
const hasAffinity = (models: ReturnType<typeof useFoldingModels>, name: string) =>
  Array.isArray(models) && !!models.find((m) => m.name === name)?.features.includes('affinity')

/** The parsed texts of the draft, each parsed again only when it changes. */
function useSources({ jobs, binders, targets, ligands, molecule, affinity }: Draft): Sources {
  const rows = (text: Text) => useMemo(() => parseRows(text.text, molecule), [text.text, molecule])
  const parsed = {
    jobs: rows(jobs),
    binders: rows(binders),
    targets: rows(targets),
    ligands: useMemo(() => parseLigands(ligands.text, affinity), [ligands.text, affinity]),
  }
  return useMemo(() => parsed, Object.values(parsed))
}

/** A batch in JSON, which is sent as it is except for its name. */
function FromFile({ draft, close }: { draft: Draft; close(): void }) {
  const { name, body } = draft.file!
  const counts = (['jobs', 'binders', 'targets', 'ligands', 'mutations', 'seeds'] as const).flatMap((list) => {
    const count = body[list]?.length
    return count ? [`${count.toLocaleString('en')} ${list}`] : []
  })
  return (
    <section class="card" aria-label="From a file">
      <div class="row between">
        <h2>From {name}</h2>
        <button type="button" class="bare" onClick={close}>
          Close
        </button>
      </div>
      <p>
        A batch of the kind {body.kind}
        {counts.length > 0 && ` with ${counts.join(' and ')}`}. It is sent as it is
        {body.params ? ', with its model and parameters.' : ', with the model that is chosen here.'}
      </p>
    </section>
  )
}
