// The options of a polymer: chain name, cyclic, modified residues.
import { Checkbox, Input } from '../controls'
import type { Item, Modification } from './draft'
import { stripSpace } from './sequences'
import { model, updateItem } from './state'

/** The options that the model supports or the item uses. */
export function ItemOptions({ item }: { item: Item }) {
  const features = model.value?.features ?? []
  const showCyclic = item.cyclic || features.includes('cyclic')
  const showModifications = item.modifications.length > 0 || features.includes('modifications')
  return (
    <details class="more" open={item.modifications.length > 0 || item.cyclic || item.chain !== ''}>
      <summary>Options</summary>
      <div class="row options">
        <label class="field short">
          <span>Chain name</span>
          <Input
            maxLength={4}
            placeholder="automatic"
            value={item.chain}
            onValue={(v) => updateItem(item.key, { chain: v.trim() })}
          />
        </label>
        {showCyclic && (
          <Checkbox checked={item.cyclic} onValue={(cyclic) => updateItem(item.key, { cyclic })}>
            Cyclic
          </Checkbox>
        )}
      </div>
      {showModifications ? <Modifications item={item} /> : <Unsupported cyclic={features.includes('cyclic')} />}
    </details>
  )
}

/** Names the options that the model lacks. */
function Unsupported({ cyclic }: { cyclic: boolean }) {
  const m = model.value
  if (!m) return null
  return (
    <p class="dim small-text">
      {m.name} does not support modified residues{cyclic ? '' : ' or cyclic chains'}.
    </p>
  )
}

/** The modified residues of a polymer, each a position and a CCD code. */
function Modifications({ item }: { item: Item }) {
  const change = (apply: (list: Modification[]) => Modification[]) =>
    updateItem(item.key, ({ modifications }) => ({ modifications: apply(modifications) }))
  const set = (index: number, fields: Partial<Modification>) =>
    change((list) => list.map((m, i) => (i === index ? { ...m, ...fields } : m)))
  const sequence = stripSpace(item.text)
  return (
    <fieldset>
      <legend>Modified residues</legend>
      {item.modifications.map((modification, i) => (
        <div class="row mod" key={i}>
          <Input
            aria-label={`Residue of modification ${i + 1}`}
            inputMode="numeric"
            placeholder="Residue"
            value={modification.residue}
            onValue={(residue) => set(i, { residue })}
          />
          <Input
            class="mono"
            aria-label={`CCD code of modification ${i + 1}`}
            placeholder="CCD code"
            value={modification.ccd}
            onValue={(ccd) => set(i, { ccd })}
          />
          <span class="dim mono">{sequence[Number(modification.residue) - 1] ?? ''}</span>
          <button
            type="button"
            class="bare"
            aria-label={`Remove modification ${i + 1}`}
            onClick={() => change((list) => list.filter((_, k) => k !== i))}
          >
            Remove
          </button>
        </div>
      ))}
      <button type="button" class="bare" onClick={() => change((list) => [...list, { residue: '', ccd: '' }])}>
        Add a modified residue
      </button>
    </fieldset>
  )
}
