// The target of a design: where it comes from, its chains, and the structure in which residues are picked.
import { ErrorMessage, Loading } from '../components'
import { Checkbox, Select } from '../controls'
import { fetchesPDB } from '../session'
import { Stage } from '../viewer/Stage'
import { chainNames, type Draft, hasNumbering, isMolecule, isPickable, isStructure, type Way, wayNames } from './draft'
import { TextField } from './fields'
import { chainsOf, type FormProps } from './form'

// How the value of each way is written.
const examples: Record<Way, string> = {
  sourceJobId: 'id of a fold of yours',
  libraryItemId: 'id of a library item',
  pdbId: '1ubq',
  sequence: 'MQIFVKTLTGK…',
  ccd: 'ATP',
  smiles: 'CC(=O)Oc1ccccc1C(=O)O',
}

const hints: Partial<Record<Way, string>> = {
  sourceJobId: 'Or begin with “Design a binder” on the page of a result.',
  pdbId: 'The service fetches it.',
  sequence: 'Without a structure; the engine folds it together with the binder.',
}

/** The card. A target that the address names is shown as a link until another is chosen. */
export function TargetCard(props: FormProps) {
  const { draft, update, problems, target } = props
  const { way } = draft
  const ways = (Object.keys(wayNames) as Way[]).filter(
    (w) => (draft.mode === 'binder' || isStructure(w)) && (w !== 'pdbId' || fetchesPDB.value || way === w),
  )
  const isDrawn = !!target && !(target instanceof Error)
  return (
    <section class="card" aria-label="Target">
      <h2>{draft.mode === 'binder' ? 'Target' : 'Structure'}</h2>
      <div class="row target-way">
        <label class="field">
          <span>From</span>
          <Select value={way} onValue={(w) => update(emptied(w as Way))}>
            {ways.map((w) => (
              <option key={w} value={w}>
                {wayNames[w]}
              </option>
            ))}
          </Select>
        </label>
        <TextField
          key={way}
          label={wayNames[way]}
          value={draft.target[way] ?? ''}
          onValue={(value) => update({ target: { ...draft.target, [way]: value }, run: '', file: '' })}
          problem={problems.target}
          hint={draft.target[way] ? '' : hints[way]}
          placeholder={examples[way]}
          class="grow"
        />
      </div>
      {isDrawn && (
        <p class="small-text">
          <a href={target.address}>{target.name}</a> <span class="dim num">{describeChains(target)}</span>
        </p>
      )}
      {target === undefined && <Loading what="Loading the structure" />}
      {target instanceof Error && <ErrorMessage text={`The structure could not be loaded: ${target.message}`} />}
      {isDrawn && (
        <Stage
          source={target.source}
          table={target.table}
          name="target"
          colours={['chain', 'plddt', 'secondary', 'type']}
        />
      )}
      {isStructure(way) && <Chains {...props} />}
      {hasNumbering(way) && <Numbering draft={draft} update={update} />}
      {isMolecule(way) && <p class="dim small-text">A small molecule is bound as a whole.</p>}
    </section>
  )
}

/** Chains and residues belong to a target, and not to another one. */
const emptied = (way: Way): Partial<Draft> => ({ way, chains: '', epitope: '', avoid: '', redesign: '' })

/** How long the chains of a structure are. */
const describeChains = (target: FormProps['target']) =>
  target && !(target instanceof Error)
    ? target.table.chains.map((c) => `${c.id}: ${c.residues.length}`).join(', ') + ' residues'
    : ''

/** Which chains of the target take part: boxes if they are known, else a text. */
function Chains({ draft, update, problems, target }: FormProps) {
  const known = chainsOf(target)
  const named = chainNames(draft)
  const set = (list: string[]) => update({ chains: list.length === known.length ? '' : list.join(', ') })
  if (known.length === 1 && !problems.targetChains) return null
  if (known.length === 0 || known.length > 12 || problems.targetChains || !isPickable(draft))
    return (
      <TextField
        label="Chains"
        value={draft.chains}
        onValue={(chains) => update({ chains })}
        problem={problems.targetChains}
        placeholder="all"
        hint="Names with commas, such as A, B; empty: all."
        class="short-field"
      />
    )
  const isIn = (chain: string) => named.length === 0 || named.includes(chain)
  return (
    <fieldset class="field">
      <legend>Chains</legend>
      <div class="row chain-boxes">
        {known.map((chain) => (
          <Checkbox
            key={chain}
            checked={isIn(chain)}
            onValue={(checked) => {
              const list = known.filter((c) => (c === chain ? checked : isIn(c)))
              if (list.length > 0) set(list) // at least one takes part
            }}
          >
            {chain}
          </Checkbox>
        ))}
      </div>
    </fieldset>
  )
}

/** The meaning of residue numbers. Residues are picked by the numbers of the file. */
const Numbering = ({ draft, update }: Pick<FormProps, 'draft' | 'update'>) => (
  <label class="field short-field">
    <span>Names of chains and residues</span>
    <Select value={draft.numbering} onValue={(v) => update({ numbering: v as Draft['numbering'] })}>
      <option value="author">of the authors, as shown</option>
      <option value="label">positions in the chain, from 1</option>
    </Select>
  </label>
)
