// The model and its parameters.
import type { Model, ParamSpec } from '../api'
import { Checkbox, Input, Select } from '../controls'
import { maxSize, valueRange, weightUses } from '../format'
import type { Draft } from './draft'
import { Problems } from './Problems'

/** A model and its parameters as they are typed; an empty one has its default. */
export type Settings = Pick<Draft, 'model' | 'params'>

interface Props {
  /** The folding models; null: not loaded yet. */
  models: Model[] | Error | null
  settings: Settings
  update(fields: Partial<Settings>): void
  /** The service's messages about a parameter; modelName is that of the model. */
  problemsOf(parameter: string): string[]
}

/** The menu of models, what the chosen one is, and its parameters. */
export function ModelSettings({ models: list, settings, update, problemsOf }: Props) {
  if (list === null) return <p class="dim">Loading the models…</p>
  if (list instanceof Error) return <p class="error">The models could not be loaded: {list.message}</p>
  if (list.length === 0)
    return (
      <p class="caution">
        No folding engine is running. The operator starts one with <code>pleat worker</code>.
      </p>
    )
  const m = list.find((m) => m.name === settings.model)
  // A parameter with a single value is shown only if it is set.
  const parameters =
    m?.params.filter((p) => p.values.length !== 1 || p.default !== p.values[0] || !!settings.params[p.name]) ?? []
  return (
    <>
      <label class="field">
        <span>Model</span>
        <Select value={settings.model} onValue={(name) => update({ model: name })}>
          {list.map(({ name, title }) => (
            <option key={name} value={name}>
              {name} · {title}
            </option>
          ))}
        </Select>
      </label>
      <Problems messages={problemsOf('modelName')} />
      {m && <ModelFacts model={m} settings={settings} />}
      {parameters.length > 0 && (
        <details class="more" open={Object.values(settings.params).some((v) => v !== '')}>
          <summary>Parameters</summary>
          {parameters.map((spec) => (
            <Parameter
              key={spec.name}
              spec={spec}
              value={settings.params[spec.name]}
              setValue={(v) => update({ params: { ...settings.params, [spec.name]: v } })}
              problems={problemsOf(spec.name)}
            />
          ))}
        </details>
      )}
    </>
  )
}

// The names of molecules within a sentence.
const entityNames: Record<string, string> = { protein: 'protein', rna: 'RNA', dna: 'DNA', ligand: 'ligands' }

/** The molecules that a model folds, in one sentence. */
function describeLimits(m: Model): string {
  const entities = m.entities.map((e) => entityNames[e] ?? e).join(', ')
  const most = maxSize(m)
  const size = m.maxTokens > 0 ? (m.minTokens > 1 ? `, ${m.minTokens} to ${most}` : `, up to ${most}`) : ''
  const chains = m.features.includes('complex') ? 'chains together as a complex' : 'each chain separately'
  return `Folds ${entities}${size}, ${chains}.`
}

/** Limits, licence, MSA search and notice of a model. */
function ModelFacts({ model: m, settings }: { model: Model; settings: Settings }) {
  const msaAlgorithm = settings.params.msaAlgorithm || m.params.find((p) => p.name === 'msaAlgorithm')?.default
  return (
    <>
      <p class="dim small-text">
        {describeLimits(m)}
        {m.limits.length > 0 && ` Limits: ${m.limits.join('; ')}.`}
      </p>
      {m.weightUse !== 'commercial' ? (
        <p class="caution" data-licence="bound">
          Check the licence of {m.name}, {weightUses[m.weightUse]}: {(m.licence || 'not stated').replace(/\.?$/, '.')}
        </p>
      ) : (
        <p class="dim small-text" data-licence="">
          Licence: {m.licence || 'not stated'}
        </p>
      )}
      {!!msaAlgorithm && msaAlgorithm !== 'none' && (
        <p class="dim small-text">
          For proteins without an uploaded alignment, an MSA search runs on the server that the operator has configured.
          With msaAlgorithm “none” the sequences stay on this service.
        </p>
      )}
      {m.notice && (
        <details class="more">
          <summary>About {m.name}</summary>
          <p class="small-text">{m.notice}</p>
        </details>
      )}
    </>
  )
}

interface ParameterProps {
  spec: ParamSpec
  value: string | boolean | undefined
  setValue(value: string | boolean): void
  problems: string[]
}

/** A parameter with its documentation and problems. */
function Parameter({ spec, value, setValue, problems }: ParameterProps) {
  if (spec.type === 'boolean')
    return (
      <div class="field">
        <Checkbox
          class="mono"
          checked={typeof value === 'boolean' ? value : spec.default === true}
          onValue={setValue}
          hint={spec.doc}
        >
          {spec.name}
        </Checkbox>
        <Problems messages={problems} />
      </div>
    )
  return (
    <label class="field">
      <span class="mono">{spec.name}</span>
      <ParameterInput spec={spec} text={String(value ?? '')} setText={setValue} invalid={problems.length > 0} />
      <small>
        {spec.doc} {spec.values.length === 0 && valueRange(spec)}
      </small>
      <Problems messages={problems} />
    </label>
  )
}

/** text: the value as typed; empty: the default. */
interface ParameterInputProps {
  spec: ParamSpec
  text: string
  setText(text: string): void
  invalid: boolean
}

/** A menu if the parameter's values are listed, else a text input. The empty text stands for the default. */
function ParameterInput({ spec, text, setText, invalid }: ParameterInputProps) {
  const defaultText = String(spec.default ?? '') || 'chosen by the service'
  if (spec.values.length === 0)
    return (
      <Input
        inputMode={spec.type === 'string' ? 'text' : 'decimal'}
        placeholder={defaultText}
        aria-invalid={invalid}
        value={text}
        onValue={setText}
      />
    )
  return (
    <Select value={text} onValue={setText}>
      <option value="">{defaultText}</option>
      {spec.values
        .filter((v) => v !== defaultText || v === text)
        .map((v) => (
          <option key={v} value={v}>
            {v}
          </option>
        ))}
    </Select>
  )
}
