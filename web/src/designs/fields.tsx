// Fields of the form of a design, each with its message.
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Input } from '../controls'
import { type Stretch, select, selection } from '../store'
import { Problems } from '../submit/Problems'
import { isPickable } from './draft'
import type { FormProps } from './form'
import { formatResidues, parseResidues, residuesOf, stretchesOf } from './residues'

interface TextProps {
  label: string
  value: string
  onValue(value: string): void
  /** The message about it; undefined: there is none. */
  problem: string | undefined
  hint?: ComponentChildren
  placeholder?: string
  class?: string
  inputMode?: 'numeric' | 'decimal'
  maxLength?: number
}

/** A text with its label, its hint and what is wrong with it. */
export function TextField({ label, problem, hint, class: extra = '', ...input }: TextProps) {
  const id = useId()
  return (
    <div class={`field ${extra}`}>
      <label for={id}>{label}</label>
      <Input
        id={id}
        spellcheck={false}
        aria-describedby={`${id}-more`}
        {...(problem && { 'aria-invalid': true })}
        {...input}
      />
      <div id={`${id}-more`}>
        {hint && <small>{hint}</small>}
        <Problems messages={problem ? [problem] : []} />
      </div>
    </div>
  )
}

interface ResiduesProps extends FormProps {
  field: 'epitope' | 'avoid' | 'redesign'
  label: string
  hint: string
  /** The chain of residues that name none; empty: each must name one. */
  chain: string
}

/** A list of residues, typed or taken from the selection in the structure. */
export function ResiduesField({ field, label, hint, chain, draft, update, problems, target }: ResiduesProps) {
  const whole = field === 'redesign'
  const text = draft[field]
  const isDrawn = target && !(target instanceof Error)
  const parse = () => {
    try {
      return parseResidues(text, { chain, whole })
    } catch {
      return []
    }
  }
  const isThere = ({ chain, from, to }: Stretch) =>
    isDrawn && [from, to].every((residue) => target.table.index({ chain, residue }) >= 0)
  const add = () => {
    if (!isDrawn) return
    const picked = formatResidues(residuesOf(selection.peek(), (r) => target.table.codes(r)))
    update({ [field]: text.trim() ? `${text.trim()}; ${picked}` : picked })
    select([])
  }
  return (
    <div class="residues-field">
      <TextField
        label={label}
        value={text}
        onValue={(value) => update({ [field]: value })}
        problem={problems[field] ?? problemOf(text, chain, whole)}
        hint={hint}
        placeholder="A: 12-18, 25"
        class="grow"
      />
      {isDrawn && (
        <div class="row">
          <button
            type="button"
            class="quiet small"
            aria-label={`${label}: add the selection`}
            disabled={selection.value.length === 0 || !isPickable(draft)}
            onClick={add}
          >
            Add the selection
          </button>
          <button
            type="button"
            class="quiet small"
            aria-label={`${label}: show in the structure`}
            disabled={parse().length === 0 || !isPickable(draft)}
            onClick={() => select(stretchesOf(parse()).filter(isThere))}
          >
            Show
          </button>
        </div>
      )}
    </div>
  )
}

/** The fault of a list of residues. */
function problemOf(text: string, chain: string, whole: boolean): string | undefined {
  try {
    parseResidues(text, { chain, whole })
    return undefined
  } catch (e) {
    return (e as Error).message
  }
}
