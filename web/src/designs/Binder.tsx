// The object of the design: the binder and the residues that it binds, or the residues that get other amino acids.
import type { ComponentChildren } from 'preact'
import { Checkbox, Segments, Select } from '../controls'
import { type BinderKind, hasCysteines, isMolecule, onlyChain, protocols, usualLengths, usualProtocol } from './draft'
import { ResiduesField, TextField } from './fields'
import { chainsOf, type FormProps } from './form'

const kindNames: Record<BinderKind, string> = { protein: 'Protein', peptide: 'Peptide', nanobody: 'Nanobody' }

/** The binder, and where it binds. */
export function BinderCard(props: FormProps) {
  const { draft, update, problems } = props
  const isNanobody = draft.kind === 'nanobody'
  const hasSequence = draft.sequence.trim() !== ''
  return (
    <>
      {!isMolecule(draft.way) && <SiteCard {...props} />}
      <section class="card" aria-label="Binder">
        <h2>Binder</h2>
        <div class="field">
          <Segments
            label="Kind of binder"
            options={kindNames}
            value={draft.kind}
            onValue={(kind) => update({ kind: kind as BinderKind, protocol: '' })}
          />
        </div>
        {!isNanobody && !hasSequence && (
          <TextField
            label="Length"
            value={draft.length}
            onValue={(length) => update({ length })}
            problem={problems['binder.length']}
            placeholder={usualLengths[draft.kind]}
            hint="Residues: a number, or a range such as 80..120."
            class="short-field"
          />
        )}
        <TextField
          label={isNanobody ? 'Sequence with designed loops' : 'Sequence with designed parts'}
          value={draft.sequence}
          onValue={(sequence) => update({ sequence })}
          problem={problems['binder.sequence']}
          placeholder={isNanobody ? 'QVQLVESGG…8..12…WGQGTQVTVSS' : 'none: all residues are designed'}
          hint="Letters stay, numbers are designed: 3..5C6C3 has 3 to 5 designed residues, C, 6 more, C, 3 more."
        />
        <Further {...props} />
        <Protocol {...props} />
      </section>
    </>
  )
}

/** The residues to bind and not to bind. */
const SiteCard = (props: FormProps) => (
  <Card title="Binding site">
    <ResiduesField
      {...props}
      field="epitope"
      label="Residues to bind"
      hint="Empty: anywhere."
      chain={onlyChain(props.draft, chainsOf(props.target))}
    />
    <ResiduesField
      {...props}
      field="avoid"
      label="Residues to avoid"
      hint=""
      chain={onlyChain(props.draft, chainsOf(props.target))}
    />
  </Card>
)

/** Cycles, disulfides and another protocol, which few designs need. */
function Further({ draft, update, problems }: FormProps) {
  const isWrong = ['binder.cyclic', 'binder.disulfides', 'protocol', 'protocolName'].some((f) => problems[f])
  return (
    <details class="more" open={isWrong}>
      <summary>More about the binder</summary>
      {draft.kind !== 'nanobody' && (
        <div class="field">
          <Checkbox
            checked={draft.isCyclic}
            onValue={(isCyclic) => update({ isCyclic })}
            hint={problems['binder.cyclic'] ?? 'Its ends are joined.'}
          >
            Cyclic
          </Checkbox>
        </div>
      )}
      {hasCysteines(draft.sequence) ? (
        <TextField
          label="Disulfides"
          value={draft.disulfides}
          onValue={(disulfides) => update({ disulfides })}
          problem={problems['binder.disulfides']}
          placeholder="none"
          hint="Pairs of the cysteines of the sequence, counted from 1: 1-2, 3-4."
          class="short-field"
        />
      ) : (
        <p class="dim small-text">A sequence with two cysteines can have disulfides.</p>
      )}
      <label class="field short-field">
        <span>Protocol</span>
        <Select value={draft.protocol} onValue={(protocol) => update({ protocol })}>
          <option value="">by the kind: {usualProtocol(draft)}</option>
          {Object.keys(protocols).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </Select>
      </label>
    </details>
  )
}

/** The effect of the protocol, and its faults. */
function Protocol({ draft, problems }: FormProps) {
  const name = draft.protocol || usualProtocol(draft)
  const problem = problems.protocol ?? problems.protocolName ?? problems['binder.kind']
  return (
    <>
      <p class="dim small-text" data-protocol={name}>
        <code>{name}</code>: {protocols[name]}
      </p>
      {problem && (
        <p class="wrong" role="alert">
          {problem}
        </p>
      )}
    </>
  )
}

/** The residues that get other amino acids. */
export const RedesignCard = (props: FormProps) => (
  <Card title="Residues">
    <ResiduesField
      {...props}
      field="redesign"
      label="Residues to redesign"
      hint="Chains and residues, such as A: 12-18, 82A; B. A chain without residues is redesigned as a whole."
      chain={onlyChain(props.draft, chainsOf(props.target))}
    />
    <TextField
      label="Temperature"
      value={props.draft.temperature}
      onValue={(temperature) => props.update({ temperature })}
      problem={props.problems.temperature}
      placeholder="0.1"
      inputMode="decimal"
      hint="Above 0 and up to 2. Higher draws sequences that differ more."
      class="short-field"
    />
    <p class="dim small-text" data-protocol="sequence_only">
      <code>sequence_only</code>: Keeps the backbone and chooses the amino acids of these residues. Nothing is refolded;
      fold the designs to see whether they keep the structure.
    </p>
  </Card>
)

const Card = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section class="card" aria-label={title}>
    <h2>{title}</h2>
    {children}
  </section>
)
