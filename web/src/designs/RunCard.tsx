// The run of a design: its name, its size, and the buttons that make it.
import type { Model } from '../api'
import { ErrorMessage } from '../components'
import { Checkbox, Select } from '../controls'
import { type Mode, runsMode } from './draft'
import { TextField } from './fields'
import type { FormProps } from './form'

interface Props extends FormProps {
  /** The models for designs; undefined until they are loaded. */
  models: Model[] | Error | undefined
  busy: boolean
  /** A message about no field. */
  error: string
  create(asDraft: boolean): Promise<void>
}

/** The card. Without an engine for the design it makes drafts alone. */
export function RunCard({ models, busy, error, create, ...props }: Props) {
  const { draft, update, problems } = props
  const usable = Array.isArray(models) ? models.filter((m) => runsMode(m, draft.mode)) : []
  const hasEngine = !Array.isArray(models) || usable.length > 0 // if the list is not known, the service decides
  return (
    <form
      class="card run"
      aria-label="Run"
      onSubmit={(e) => {
        e.preventDefault()
        if (!busy) void create(!hasEngine)
      }}
    >
      <TextField
        label="Name"
        value={draft.name}
        onValue={(name) => update({ name })}
        problem={problems.name}
        maxLength={255}
      />
      {!hasEngine && <NoEngine mode={draft.mode} />}
      <ModelChoice {...props} usable={usable} />
      <Size {...props} />
      <Checkbox
        checked={draft.isPublic}
        onValue={(isPublic) => update({ isPublic })}
        hint="Anyone with the link can read the results, without a key."
      >
        Public
      </Checkbox>
      <div class="run-foot">
        <ErrorMessage text={error} />
        <button type="submit" class="wide" disabled={busy || models === undefined}>
          {busy ? 'Submitting…' : hasEngine ? 'Design' : 'Save as a draft'}
        </button>
        {hasEngine && (
          <button type="button" class="quiet wide" disabled={busy} onClick={() => void create(true)}>
            Save as a draft
          </button>
        )}
      </div>
    </form>
  )
}

/** The engine to install, and what can be done until then. */
const NoEngine = ({ mode }: { mode: Mode }) => (
  <p class="caution" role="status" data-no-engine={mode}>
    No engine that {mode === 'binder' ? 'designs binders' : 'redesigns sequences'} runs here; install one with{' '}
    <code>pleat engines install {mode === 'binder' ? 'boltzgen' : 'proteinmpnn'}</code>, or save a draft and run it
    later.
  </p>
)

/** The model, if there are several, and what it says of itself. */
function ModelChoice({ draft, update, problems, usable }: FormProps & { usable: Model[] }) {
  const model = usable.find((m) => m.name === draft.model) ?? (usable.length === 1 ? usable[0] : undefined)
  return (
    <>
      {usable.length > 1 && (
        <label class="field">
          <span>Model</span>
          <Select value={draft.model} onValue={(model) => update({ model })}>
            <option value="">chosen by the service</option>
            {usable.map((m) => (
              <option key={m.name} value={m.name}>
                {m.title}
              </option>
            ))}
          </Select>
        </label>
      )}
      {problems.modelName && <p class="wrong">{problems.modelName}</p>}
      {model && (
        <p class="dim small-text">
          {usable.length === 1 && `${model.title}. `}
          {model.notice}
        </p>
      )}
    </>
  )
}

/** How many designs are made and returned, and the seed. */
function Size({ draft, update, problems }: FormProps) {
  return (
    <div class="design-size">
      <TextField
        label="Designs to make"
        value={draft.numDesigns}
        onValue={(numDesigns) => update({ numDesigns })}
        problem={problems.numDesigns}
        inputMode="numeric"
        placeholder="50"
      />
      <TextField
        label="Of them returned"
        value={draft.budget}
        onValue={(budget) => update({ budget })}
        problem={problems.budget}
        inputMode="numeric"
        placeholder="5"
      />
      <TextField
        label="Seed"
        value={draft.seed}
        onValue={(seed) => update({ seed })}
        problem={problems.seed}
        inputMode="numeric"
        placeholder="random"
        maxLength={20}
      />
    </div>
  )
}
