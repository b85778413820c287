// Where sequences come in: pasted, typed, from a file, or from an example.
import { useState } from 'preact/hooks'
import { FileButton } from '../controls'
import { newItem } from './draft'
import { draft, model, update } from './state'

// Small proteins that every model folds.
const examples = [
  { name: 'Trp-cage', hint: 'miniprotein, 20 residues, PDB 2JOF', fasta: '>Trp-cage\nDAYAQWLKDGGPSSGRPPPS' },
  { name: 'Chignolin', hint: 'designed hairpin, 10 residues, PDB 5AWL', fasta: '>Chignolin CLN025\nYYDPETGTWY' },
  {
    name: 'Villin headpiece',
    hint: 'three helices, 36 residues, PDB 1VII',
    fasta: '>Villin headpiece HP36\nMLSDEDFKAVFGMTRSAFANLPLWKQQNLKKEKGLF',
  },
  {
    name: 'Insulin',
    hint: 'two chains, 21 and 30 residues, PDB 4INS',
    fasta: '>Insulin A chain\nGIVEQCCTSICSLYQLENYCN\n>Insulin B chain\nFVNQHLCGSHLVEALYLVCGERGFFYTPKA',
  },
]

/** Both functions add to the draft. */
interface Props {
  addText(text: string): Promise<void>
  addFiles(files: File[]): Promise<void>
  /** Whether the draft is empty. */
  first: boolean
}

/** The text field, the button for files, and, in an empty draft, the examples. */
export function AddSequences({ addText, addFiles, first }: Props) {
  const [text, setText] = useState('')
  const add = (added: string) => {
    setText('')
    void addText(added)
  }
  const paste = (e: ClipboardEvent) => {
    const pasted = e.clipboardData?.getData('text') ?? ''
    if (text.trim() !== '' || pasted.trim() === '') return
    e.preventDefault()
    add(pasted)
  }
  return (
    <section class="card add" aria-label="Add sequences">
      <label class="field">
        <span>{first ? 'Sequences' : 'Add more'}</span>
        <textarea
          class="mono"
          rows={first ? 7 : 2}
          spellcheck={false}
          placeholder={first ? 'Paste FASTA, a bare sequence, or a SMILES' : 'FASTA, a sequence, or a SMILES'}
          value={text}
          onInput={(e) => setText(e.currentTarget.value)}
          onPaste={paste}
          onKeyDown={(e) => {
            if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) add(text)
          }}
        />
      </label>
      <div class="row between">
        <div class="row">
          <button type="button" disabled={!text.trim()} onClick={() => add(text)}>
            Add
          </button>
          {model.value?.entities.includes('ligand') && (
            <button
              type="button"
              class="quiet"
              onClick={() => update({ items: [...draft.peek().items, newItem('ligand')] })}
            >
              Add a ligand
            </button>
          )}
          <FileButton
            multiple
            accept=".fasta,.fa,.faa,.fna,.json,.yaml,.yml,.csv,.tsv,.txt,.a3m,.gz"
            class="quiet"
            onFiles={(files) => void addFiles(files)}
          >
            Open a file…
          </FileButton>
        </div>
        <span class="dim small-text">
          or drop a file: FASTA, A3M, or one of AlphaFold Server, AlphaFold 3, Boltz, Protenix, OpenFold3, ColabFold
        </span>
      </div>
      {first && <Examples add={add} />}
    </section>
  )
}

/** The examples as buttons. */
function Examples({ add }: { add(fasta: string): void }) {
  return (
    <div class="examples">
      <h3>Or start with an example</h3>
      <div class="example-list">
        {examples.map(({ name, hint, fasta }) => (
          <button
            key={name}
            type="button"
            class="quiet example"
            onClick={() => {
              add(fasta)
              update({ name })
            }}
          >
            <strong>{name}</strong>
            <span class="dim">{hint}</span>
          </button>
        ))}
      </div>
    </div>
  )
}
