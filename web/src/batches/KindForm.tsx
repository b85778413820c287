// The fields of each kind of batch.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Checkbox, FileButton, Input, Select } from '../controls'
import { bytes, plural } from '../format'
import type { Draft, SourceName, Sources, Text } from './draft'

interface Props {
  draft: Draft
  sources: Sources
  /** Whether the model predicts affinities. */
  hasAffinity: boolean
  update(fields: Partial<Draft>): void
  setText(name: SourceName, text: Text): void
  addFile(name: SourceName, file: File): void
}

/** The form of the draft's kind. */
export function KindForm(props: Props) {
  const { draft, update } = props
  switch (draft.kind) {
    case 'list':
      return (
        <Card title="Rows">
          <SourceField {...props} name="jobs" label="Sequences" placeholder={rowsExample} />
          <Molecule {...props} />
        </Card>
      )
    case 'matrix':
      return <Matrix {...props} />
    case 'ligands':
      return (
        <>
          <Complex {...props} />
          <Card title="Ligands">
            <SourceField {...props} name="ligands" label="SMILES or CCD codes" placeholder={ligandsExample} />
            {props.hasAffinity && (
              <Checkbox checked={draft.affinity} onValue={(affinity) => update({ affinity })}>
                Predict how strongly each binds
              </Checkbox>
            )}
          </Card>
        </>
      )
    case 'variants':
      return (
        <>
          <Complex {...props} />
          <Variants {...props} />
        </>
      )
    case 'seeds':
      return (
        <>
          <Complex {...props} />
          <Card title="Seeds">
            <label class="field">
              <span>Seeds</span>
              <Input
                placeholder="1-20, or 100 seeds"
                maxLength={20_000}
                value={draft.seeds}
                onValue={(seeds) => update({ seeds })}
              />
              <small>A list such as 1, 2, 5-8; or how many, such as 100 seeds, from 0 on.</small>
            </label>
          </Card>
        </>
      )
  }
}

const rowsExample = 'id,sequence\nfirst,GYDPETGTWG\ncomplex,GIVEQCCTSICSLYQLENYCN:FVNQHLCGSHLVEALYLVCGERGFFYTPKA'
const ligandsExample = 'id,smiles\naspirin,CC(=O)Oc1ccccc1C(=O)O'

const Card = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section class="card" aria-label={title}>
    <h2>{title}</h2>
    {children}
  </section>
)

/** The kind of sequences that do not say it. */
const Molecule = ({ draft, update }: Pick<Props, 'draft' | 'update'>) => (
  <label class="field short">
    <span>Sequences are</span>
    <Select value={draft.molecule} onValue={(m) => update({ molecule: m as Draft['molecule'] })}>
      <option value="protein">protein</option>
      <option value="rna">RNA</option>
      <option value="dna">DNA</option>
    </Select>
  </label>
)

/** Binders and targets, and which pairs of binders there are without targets. */
function Matrix(props: Props) {
  const { draft, sources, update } = props
  const alone = sources.targets.entries.length === 0
  return (
    <>
      <Card title="Binders">
        <SourceField {...props} name="binders" label="Sequences of the binders" placeholder={rowsExample} />
      </Card>
      <Card title="Targets">
        <SourceField
          {...props}
          name="targets"
          label="Sequences of the targets"
          placeholder="Empty: the binders are folded with one another"
        />
        {alone && (
          <>
            <Checkbox
              checked={draft.upperTriangle}
              onValue={(upperTriangle) => update({ upperTriangle })}
              hint="Otherwise in both orders."
            >
              Each pair once
            </Checkbox>
            <Checkbox checked={draft.self} onValue={(self) => update({ self })}>
              Each binder with itself, too
            </Checkbox>
          </>
        )}
        <Molecule {...props} />
      </Card>
    </>
  )
}

/** The sequences that all rows have. */
const Complex = ({ draft, update }: Pick<Props, 'draft' | 'update'>) => (
  <Card title="Complex">
    <label class="field">
      <span>Sequences that all rows have</span>
      <textarea
        class="mono"
        rows={5}
        spellcheck={false}
        placeholder="FASTA, a bare sequence, or chains joined by colons"
        value={draft.complex}
        onInput={(e) => update({ complex: e.currentTarget.value })}
      />
    </label>
  </Card>
)

/** Mutations one by one, and all mutations of a range. */
const Variants = ({ draft, update }: Pick<Props, 'draft' | 'update'>) => (
  <Card title="Mutations">
    <label class="field">
      <span>Mutations</span>
      <textarea
        class="mono"
        rows={3}
        spellcheck={false}
        placeholder="WT A23V A23V:K45R"
        value={draft.mutations}
        onInput={(e) => update({ mutations: e.currentTarget.value })}
      />
      <small>Residues are counted from 1. A colon joins mutations of one row; WT is the chain as it is.</small>
    </label>
    <fieldset class="field">
      <legend>Every mutation of a range</legend>
      <div class="row scan">
        <label class="inline">
          <span>From residue</span>
          <Input inputMode="numeric" value={draft.scanFrom} onValue={(scanFrom) => update({ scanFrom })} />
        </label>
        <label class="inline">
          <span>to</span>
          <Input inputMode="numeric" value={draft.scanTo} onValue={(scanTo) => update({ scanTo })} />
        </label>
        <label class="inline">
          <span>into</span>
          <Input
            placeholder="all 20 amino acids"
            maxLength={26}
            value={draft.scanResidues}
            onValue={(scanResidues) => update({ scanResidues })}
          />
        </label>
      </div>
    </fieldset>
    <label class="field short">
      <span>Chain</span>
      <Input placeholder="the only one" maxLength={4} value={draft.chain} onValue={(chain) => update({ chain })} />
    </label>
  </Card>
)

interface SourceProps extends Props {
  name: SourceName
  label: string
  placeholder: string
}

const maxTyped = 50_000 // characters; a longer text is not put into a field, which would be slow
const unitOf: Record<SourceName, string> = { jobs: 'row', binders: 'binder', targets: 'target', ligands: 'ligand' }

/** A text that is typed, pasted, opened from a file, or dropped. */
function SourceField({ draft, sources, setText, addFile, name, label, placeholder }: SourceProps) {
  const [over, setOver] = useState(false)
  const { text, file } = draft[name]
  const { entries, error } = sources[name]
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping a file is a second way, next to the button
    <div
      class={over ? 'source over' : 'source'}
      data-source={name}
      onDragOver={(e) => {
        e.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(e) => {
        e.preventDefault()
        setOver(false)
        const dropped = e.dataTransfer?.files[0]
        if (dropped) addFile(name, dropped)
      }}
    >
      {text.length <= maxTyped ? (
        <label class="field">
          <span>{label}</span>
          <textarea
            class="mono"
            rows={8}
            wrap="off"
            spellcheck={false}
            placeholder={placeholder}
            aria-invalid={error !== ''}
            value={text}
            onInput={(e) => setText(name, { text: e.currentTarget.value, file })}
          />
        </label>
      ) : (
        <p>
          <strong>{file || 'The text'}</strong> has {bytes(text.length)}.
        </p>
      )}
      <div class="row between">
        <div class="row">
          <FileButton
            class="quiet small"
            accept=".csv,.tsv,.txt,.fasta,.fa,.faa,.fna,.json,.smi,.gz"
            inputLabel={`File of ${label}`}
            onFiles={([opened]) => opened && addFile(name, opened)}
          >
            Open a file…
          </FileButton>
          {text !== '' && (
            <button type="button" class="quiet small" onClick={() => setText(name, { text: '', file: '' })}>
              Clear
            </button>
          )}
          {entries.length > 0 && (
            <span class="num small-text" data-entries={entries.length}>
              {plural(entries.length, unitOf[name])}
            </span>
          )}
        </div>
        <span class="dim small-text">
          {name === 'ligands' ? 'CSV, TSV or a SMILES in each line' : 'CSV, TSV or FASTA; a batch in JSON'}; or drop a
          file
        </span>
      </div>
      {error && text !== '' && (
        <p class="wrong" role="alert">
          It cannot be read: {error}.
        </p>
      )}
    </div>
  )
}
