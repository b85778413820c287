// The card of one item: its kind, its sequence with invalid letters marked in place, copies, options.
import { useRef } from 'preact/hooks'
import type { Kind } from '../api'
import { Checkbox, Input, Select } from '../controls'
import { plural } from '../format'
import { AlignmentRow } from './AlignmentRow'
import { type Item, ofKind } from './draft'
import { ItemOptions } from './ItemOptions'
import { Problems } from './Problems'
import {
  chainNames,
  cutEnd,
  describeInvalid,
  type InvalidLetter,
  inTens,
  invalidLetters,
  stripSpace,
} from './sequences'
import { draft, model, problemsOf, update, updateItem } from './state'

const kindNames: Record<Kind, string> = { protein: 'Protein', rna: 'RNA', dna: 'DNA', ligand: 'Ligand' }

/** The card of the item at this index of the draft. */
export function ItemCard({ item, index }: { item: Item; index: number }) {
  const acceptsUnknown = !!model.value?.features.includes('unknown')
  const names = chainNames(draft.value.items)[index]!
  const title = names.length === 1 ? `Chain ${names[0]}` : `Chains ${names[0]} to ${names.at(-1)}`
  const invalid = invalidLetters(item.text, item.kind, acceptsUnknown)
  // The service reports the same letters; the page shows them as they are typed.
  const problems = invalid.length > 0 ? [] : problemsOf((p) => p.part === 'item' && p.index === index)
  const problemsId = `item-${item.key}-problems`
  const field = { item, describedBy: problemsId, hasProblems: invalid.length + problems.length > 0 }
  return (
    <article class="card chain" aria-label={title} data-kind={item.kind}>
      <CardHead item={item} title={title} names={names} />
      {item.kind === 'ligand' ? (
        <LigandField {...field} />
      ) : (
        <SequenceField {...field} title={title} invalid={invalid} />
      )}
      <div id={problemsId}>
        {invalid.length > 0 && item.kind !== 'ligand' && (
          <p class="wrong">{describeInvalid(invalid, item.kind, acceptsUnknown)}</p>
        )}
        {item.kind !== 'ligand' && cutEnd(item.text) !== item.text && <p class="hint">The end sign * is dropped.</p>}
        <Problems messages={problems} />
      </div>
      {item.kind === 'protein' && (item.alignment || model.value?.features.includes('msa')) && (
        <AlignmentRow item={item} title={title} />
      )}
      {item.kind !== 'ligand' && <ItemOptions item={item} />}
    </article>
  )
}

/** Chain names, kind, label, size and copies. */
function CardHead({ item, title, names }: { item: Item; title: string; names: string[] }) {
  const m = model.value
  const setKind = (kind: string) => updateItem(item.key, ofKind(item, kind as Kind))
  const remove = () => update({ items: draft.peek().items.filter((i) => i.key !== item.key) })
  return (
    <div class="row chain-head">
      <span class="chains" title={title}>
        {names.length > 4 ? `${names[0]}–${names.at(-1)}` : names.join(' ')}
      </span>
      <Select aria-label={`Kind of ${title}`} value={item.kind} onValue={setKind}>
        {Object.entries(kindNames).map(([kind, name]) => (
          <option key={kind} value={kind} disabled={!!m && !m.entities.includes(kind) && kind !== item.kind}>
            {name}
          </option>
        ))}
      </Select>
      <label class="grow">
        <span class="visually-hidden">Label of {title}</span>
        <Input
          placeholder="Label (optional)"
          maxLength={255}
          value={item.label}
          onValue={(label) => updateItem(item.key, { label })}
        />
      </label>
      {item.kind !== 'ligand' && (
        <span class="dim num small-text">{plural(stripSpace(cutEnd(item.text)).length, 'residue')}</span>
      )}
      <label class="copies">
        <span>Copies</span>
        <Input
          type="number"
          min={1}
          max={512}
          value={item.count}
          onValue={(v) => updateItem(item.key, { count: Number(v) || 1 })}
        />
      </label>
      <button type="button" class="quiet small" aria-label={`Remove ${title}`} onClick={remove}>
        Remove
      </button>
    </div>
  )
}

/** describedBy: the id of the element with the problems of the field. */
interface FieldProps {
  item: Item
  describedBy: string
  hasProblems: boolean
}

/** The sequence. The same text lies below the transparent text area, so that invalid letters can be marked. */
function SequenceField({
  item,
  title,
  invalid,
  describedBy,
  hasProblems,
}: FieldProps & { title: string; invalid: InvalidLetter[] }) {
  const below = useRef<HTMLDivElement>(null)
  const marked = []
  let start = 0
  for (const { index, letter } of invalid) {
    marked.push(item.text.slice(start, index), <mark key={index}>{letter}</mark>)
    start = index + letter.length
  }
  return (
    <div class="letters">
      <div class="under mono" ref={below} aria-hidden="true">
        {marked}
        {item.text.slice(start)}
        {'\n'}
      </div>
      <textarea
        class="mono"
        aria-label={`Sequence of ${title}`}
        aria-describedby={describedBy}
        aria-invalid={hasProblems}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="characters"
        value={item.text}
        onInput={(e) => updateItem(item.key, { text: e.currentTarget.value, written: e.currentTarget.value })}
        onBlur={() => updateItem(item.key, ({ text }) => ({ text: inTens(text) }))}
        onScroll={(e) => {
          if (below.current) below.current.scrollTop = e.currentTarget.scrollTop
        }}
      />
    </div>
  )
}

/** The field of a ligand, and whether its text is a SMILES or a CCD code. */
function LigandField({ item, describedBy, hasProblems }: FieldProps) {
  const radioName = `item-${item.key}-ccd`
  const format = (ccd: boolean, label: string) => (
    <label class="check">
      <input type="radio" name={radioName} checked={item.ccd === ccd} onChange={() => updateItem(item.key, { ccd })} />
      {label}
    </label>
  )
  return (
    <div class="molecule">
      <fieldset class="row">
        <legend class="visually-hidden">Format of the ligand</legend>
        {format(true, 'CCD code')}
        {format(false, 'SMILES')}
      </fieldset>
      <Input
        class="mono"
        aria-label={item.ccd ? 'CCD code' : 'SMILES'}
        aria-describedby={describedBy}
        aria-invalid={hasProblems}
        placeholder={item.ccd ? 'ATP' : 'CC(=O)Oc1ccccc1C(=O)O'}
        spellcheck={false}
        value={item.text}
        onValue={(text) => updateItem(item.key, { text, written: text })}
      />
      {(item.affinity || model.value?.features.includes('affinity')) && (
        <Checkbox checked={item.affinity} onValue={(affinity) => updateItem(item.key, { affinity })}>
          Predict binding affinity
        </Checkbox>
      )}
    </div>
  )
}
