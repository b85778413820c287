// The form that designs binders of a structure, or other sequences for its backbone.
import { useEffect, useState } from 'preact/hooks'
import { api, type Model } from '../api'
import { ErrorMessage, Loading } from '../components'
import { Checkbox, Input, Segments, Select } from '../controls'
import { navigate } from '../router'
import { type DesignRequest, designInput, designModels, emptyRequest, engineFor } from './request'
import './designs.css'

interface Props {
  /** The target, as workflow_input has it: a fold, or a file of the library. */
  target: Record<string, string>
  /** The names of the structure's chains, for the hints; empty: not known. */
  chains: string[]
}

/** Starts a design of a structure and goes to its page. */
export function StartDesign(props: Props) {
  const [opened, setOpened] = useState(false)
  return (
    <details class="simulate start-design" onToggle={(e) => e.currentTarget.open && setOpened(true)}>
      <summary>Start a design</summary>
      {opened && <Form {...props} />}
    </details>
  )
}

/** The models for designs that run here; undefined until they are loaded. */
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

function Form({ target, chains }: Props) {
  const models = useModels()
  const [request, setRequest] = useState<DesignRequest>(emptyRequest)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  if (models === undefined) return <Loading what="Loading the engines" />
  if (models instanceof Error) return <ErrorMessage text={`The engines could not be loaded: ${models.message}`} />
  const set = (change: Partial<DesignRequest>) => setRequest((old) => ({ ...old, ...change }))
  const able = designModels(models, request.task)
  const model = able.find((m) => m.name === request.model) ?? able[0]
  const start = async (e: Event) => {
    e.preventDefault()
    setBusy(true)
    try {
      const input = designInput({ ...request, model: able.length > 1 ? (model?.name ?? '') : '' }, target)
      const created = await api.createWorkflow('design_v1', '', input, !model)
      navigate(`/ui/workflows/${created.workflow_id}`)
    } catch (e) {
      setError((e as Error).message)
    }
    setBusy(false)
  }
  const chain = chains[0] ?? 'A'
  return (
    <form onSubmit={(e) => void start(e)}>
      <Segments
        label="What is designed"
        options={{ binder: 'A binder', sequence: 'The sequence' }}
        value={request.task}
        onValue={(task) => set({ task: task as DesignRequest['task'], model: '' })}
      />
      {model ? (
        <p class="dim">{model.notice}</p>
      ) : (
        <p class="caution">
          No engine for this is running here. An operator installs one with{' '}
          <code>pleat engines install {engineFor[request.task]}</code>. Until then a draft can be saved.
        </p>
      )}
      <div class="fields">
        {able.length > 1 && (
          <label class="field">
            <span>Model</span>
            <Select value={model!.name} onValue={(v) => set({ model: v })}>
              {able.map((m) => (
                <option key={m.name} value={m.name}>
                  {m.title}
                </option>
              ))}
            </Select>
          </label>
        )}
        {request.task === 'binder' ? (
          <BinderFields request={request} set={set} chain={chain} />
        ) : (
          <SequenceFields request={request} set={set} chains={chains} />
        )}
        <Counts request={request} set={set} />
      </div>
      <ErrorMessage text={error} />
      <button type="submit" class="small" disabled={busy}>
        {busy ? 'Starting…' : model ? 'Design' : 'Save a draft'}
      </button>
    </form>
  )
}

interface FieldsProps {
  request: DesignRequest
  set(change: Partial<DesignRequest>): void
}

const kinds: Record<string, { title: string; length: string }> = {
  protein: { title: 'Protein', length: '80..120' },
  peptide: { title: 'Peptide', length: '10..20' },
  nanobody: { title: 'Nanobody', length: '' },
}

/** What binds, and where. */
const BinderFields = ({ request, set, chain }: FieldsProps & { chain: string }) => (
  <>
    <label class="field">
      <span>Residues to bind</span>
      <Input value={request.epitope} placeholder={`${chain}: 3-9, 12`} onValue={(epitope) => set({ epitope })} />
      <small>Positions in the chain’s sequence; several chains with a semicolon. Empty: anywhere.</small>
    </label>
    <label class="field">
      <span>Residues to avoid</span>
      <Input value={request.avoid} placeholder={`${chain}: 20-25`} onValue={(avoid) => set({ avoid })} />
    </label>
    <label class="field">
      <span>Kind of binder</span>
      <Select value={request.kind} onValue={(kind) => set({ kind })}>
        {Object.entries(kinds).map(([kind, { title }]) => (
          <option key={kind} value={kind}>
            {title}
          </option>
        ))}
      </Select>
    </label>
    {request.kind !== 'nanobody' && (
      <label class="field">
        <span>Length</span>
        <Input value={request.length} placeholder={kinds[request.kind]!.length} onValue={(length) => set({ length })} />
        <small>Residues, or a range of them.</small>
      </label>
    )}
    <label class="field">
      <span>Sequence with designed parts</span>
      <Input
        value={request.sequence}
        placeholder="3..5C6C3"
        required={request.kind === 'nanobody'}
        spellcheck={false}
        onValue={(sequence) => set({ sequence })}
      />
      <small>Letters stay, numbers are designed. It takes the place of the length.</small>
    </label>
    <Checkbox checked={request.cyclic} onValue={(cyclic) => set({ cyclic })}>
      Cyclic: the ends are bonded
    </Checkbox>
  </>
)

/** Which residues get other amino acids. */
const SequenceFields = ({ request, set, chains }: FieldsProps & { chains: string[] }) => (
  <>
    <label class="field">
      <span>Residues to redesign</span>
      <Input
        value={request.redesign}
        required
        placeholder={`${chains[0] ?? 'A'}: 3-9, 12`}
        onValue={(redesign) => set({ redesign })}
      />
      <small>A chain alone means all of it.{chains.length > 1 && ` The chains are ${chains.join(', ')}.`}</small>
    </label>
    <label class="field">
      <span>Temperature</span>
      <Input
        type="number"
        min={0.001}
        max={2}
        step="any"
        placeholder="0.1"
        value={request.temperature}
        onValue={(temperature) => set({ temperature })}
      />
      <small>The higher, the more the sequences differ.</small>
    </label>
  </>
)

/** How many are made and kept. */
const Counts = ({ request, set }: FieldsProps) => (
  <>
    <label class="field">
      <span>Designs to make</span>
      <Input
        type="number"
        required
        min={1}
        max={10000}
        value={request.designs}
        onValue={(designs) => set({ designs })}
      />
    </label>
    <label class="field">
      <span>Designs to keep</span>
      <Input type="number" required min={1} max={500} value={request.keep} onValue={(keep) => set({ keep })} />
    </label>
    <label class="field">
      <span>Seed</span>
      <Input value={request.seed} maxLength={20} placeholder="random" onValue={(seed) => set({ seed })} />
    </label>
  </>
)
