// The form of a new design: the target and what is designed on the left, the run on the right.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type Model } from '../api'
import { Segments } from '../controls'
import { navigate, query } from '../router'
import { fetchesPDB } from '../session'
import { BinderCard, RedesignCard } from './Binder'
import { type Draft, draftOf, fieldOf, type Mode, type Problems, toInput } from './draft'
import { chainsOf } from './form'
import { RunCard } from './RunCard'
import { TargetCard } from './TargetCard'
import { useTarget } from './target'
import '../result/result.css'
import './designs.css'
import './form.css'

/** The page. Another address is another draft. */
export const NewDesign = () => <Form key={query.value.toString()} />

const modeNames: Record<Mode, string> = { binder: 'Design a binder', redesign: 'Redesign the sequence' }

function Form() {
  const [draft, setDraft] = useState(() => draftOf(query.peek(), fetchesPDB.peek() ? 'pdbId' : undefined))
  const models = useModels()
  const target = useTarget(draft)
  const { create, busy, problems, error, forget } = useCreate(draft, chainsOf(target))
  const update = (fields: Partial<Draft>) => {
    forget()
    setDraft((old) => ({ ...old, ...fields }))
  }
  const props = { draft, target, problems, update }
  return (
    <div class="submit new-design">
      <div class="head">
        <div>
          <h1>New design</h1>
          <p class="dim">
            {draft.mode === 'binder'
              ? 'A chain that binds a target: made, refolded, filtered and ranked by an engine.'
              : 'Other amino acids for a structure whose backbone is kept.'}
          </p>
        </div>
        <a class="button quiet small" href="/ui/workflows">
          Your designs
        </a>
      </div>
      <div class="two">
        <div class="stack" data-ready={models !== undefined && target !== undefined}>
          <Segments
            label="What is designed"
            options={modeNames}
            value={draft.mode}
            onValue={(mode) => update({ mode: mode as Mode, model: '', ...structureWay(mode as Mode, draft) })}
          />
          <TargetCard {...props} />
          {draft.mode === 'binder' ? <BinderCard {...props} /> : <RedesignCard {...props} />}
        </div>
        <RunCard {...props} models={models} busy={busy} error={error} create={create} />
      </div>
    </div>
  )
}

/** A sequence is redesigned on a structure. */
const structureWay = (mode: Mode, { way }: Draft): Partial<Draft> =>
  mode === 'redesign' && (way === 'sequence' || way === 'ccd' || way === 'smiles') ? { way: 'sourceJobId' } : {}

/** The models for designs; undefined until they are loaded. */
function useModels(): Model[] | Error | undefined {
  const [models, setModels] = useState<Model[] | Error>()
  useEffect(() => {
    api.models().then(
      ({ data }) => setModels(data.filter((m) => m.kind === 'design')),
      (e: Error) => setModels(e),
    )
  }, [])
  return models
}

/** Creates the design or a draft of it and goes to its page. A refusal stands at its field. */
function useCreate(draft: Draft, chains: string[]) {
  const [busy, setBusy] = useState(false)
  const [problems, setProblems] = useState<Problems>({})
  const refused = useRef(false)
  useEffect(() => {
    if (!refused.current) return
    refused.current = false
    document.querySelector<HTMLElement>('.new-design [aria-invalid="true"]')?.focus()
  }, [problems])
  const refuse = (found: Problems) => {
    refused.current = true
    setProblems(found)
  }
  const create = async (asDraft: boolean) => {
    const { input, problems: found } = toInput(draft, chains)
    if (Object.keys(found).length > 0) return refuse(found)
    setBusy(true)
    setProblems({})
    try {
      const created = await api.createWorkflow('design_v1', draft.name.trim(), input, { draft: asDraft })
      navigate(`/ui/workflows/${created.workflow_id}`)
    } catch (e) {
      const { message } = e as Error
      refuse({ [fieldOf(message)]: message })
    }
    setBusy(false)
  }
  // A changed field may be right now.
  const forget = () => setProblems((old) => (Object.keys(old).length > 0 ? {} : old))
  return { create, busy, problems, error: problems[''] ?? '', forget }
}
