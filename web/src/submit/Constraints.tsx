// Contacts, pockets and bonds that the fold has to respect.
import { Input } from '../controls'
import { type Constraint, type ConstraintKind, newConstraint } from './draft'
import { Problems } from './Problems'
import { draft, model, problemsOf, update } from './state'

/** The texts of a kind of constraint; n is its number in the list. */
interface KindText {
  name: string
  hint: string
  firstLabel(n: number): string
  secondLabel(n: number): string
  firstExample: string
  secondExample: string
}

const kinds: Record<ConstraintKind, KindText> = {
  contact: {
    name: 'Contact',
    hint: 'Two residues near each other',
    firstLabel: (n) => `First of Contact ${n}`,
    secondLabel: (n) => `Second of Contact ${n}`,
    firstExample: 'A:12',
    secondExample: 'B:40',
  },
  pocket: {
    name: 'Pocket',
    hint: 'A binder chain near residues',
    firstLabel: () => 'Binder chain',
    secondLabel: () => 'Residues of the pocket',
    firstExample: 'B',
    secondExample: 'A:12 A:40',
  },
  bond: {
    name: 'Bond',
    hint: 'A covalent bond between two atoms',
    firstLabel: (n) => `First of Bond ${n}`,
    secondLabel: (n) => `Second of Bond ${n}`,
    firstExample: 'A:12:SG',
    secondExample: 'B:1:C1',
  },
}

/** Applies a change to the constraints of the draft. */
const change = (apply: (list: Constraint[]) => Constraint[]) => update({ constraints: apply(draft.peek().constraints) })

/** The constraints of the draft, if it has some or the model supports them. */
export function Constraints() {
  const { constraints } = draft.value
  const supported = model.value?.features.includes('constraints')
  if (constraints.length === 0 && !supported) return null
  return (
    <details class="card more" open={constraints.length > 0}>
      <summary>Constraints</summary>
      {constraints.map((c, i) => (
        <Row key={c.key} constraint={c} index={constraints.slice(0, i).filter((o) => o.kind === c.kind).length} />
      ))}
      <div class="row">
        {(Object.keys(kinds) as ConstraintKind[]).map((kind) => (
          <button
            key={kind}
            type="button"
            class="quiet small"
            onClick={() => change((list) => [...list, newConstraint(kind)])}
          >
            Add a {kind}
          </button>
        ))}
        <span class="dim small-text">Residues as chain:number, atoms as chain:number:name</span>
      </div>
    </details>
  )
}

/** One constraint. index counts the constraints of its kind, as in the service's field paths. */
function Row({ constraint: c, index }: { constraint: Constraint; index: number }) {
  const text = kinds[c.kind]
  const n = index + 1
  const set = (fields: Partial<Constraint>) =>
    change((list) => list.map((other) => (other.key === c.key ? { ...other, ...fields } : other)))
  return (
    <div class="rule">
      <div class="row">
        <span class="rule-kind" title={text.hint}>
          {text.name}
        </span>
        <Input
          class="mono"
          aria-label={text.firstLabel(n)}
          placeholder={text.firstExample}
          value={c.first}
          onValue={(first) => set({ first })}
        />
        <Input
          class="mono grow"
          aria-label={text.secondLabel(n)}
          placeholder={text.secondExample}
          value={c.second}
          onValue={(second) => set({ second })}
        />
        {c.kind === 'contact' && (
          <Input
            class="narrow"
            inputMode="decimal"
            aria-label={`Distance of contact ${n} in Å`}
            placeholder="Å"
            value={c.distance}
            onValue={(distance) => set({ distance })}
          />
        )}
        <button
          type="button"
          class="bare"
          aria-label={`Remove ${text.name} ${n}`}
          onClick={() => change((list) => list.filter((other) => other.key !== c.key))}
        >
          Remove
        </button>
      </div>
      <Problems messages={problemsOf((p) => p.part === 'constraint' && p.kind === c.kind && p.index === index)} />
    </div>
  )
}
