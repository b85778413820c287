// The card of one entity: its kind, its letters with bad ones marked where they stand, copies, modifications.
import { useRef, useState } from 'preact/hooks'
import type { Kind } from '../api'
import { plural } from '../say'
import { aligns, alphabet, badLetters, chainNames, grouped, type Item, letters, misaligned } from './draft'
import { align, draft, edit, model, saidOf } from './state'

const kinds: [Kind, string][] = [
  ['protein', 'Protein'],
  ['rna', 'RNA'],
  ['dna', 'DNA'],
  ['ligand', 'Ligand'],
]

export function Chain({ item, index }: { item: Item; index: number }) {
  const set = (change: (i: Item) => void) => edit((d) => change(d.items[index]!))
  const m = model.value
  const names = chainNames(draft.value.items)[index]!
  const bad = badLetters(item, !!m?.features.includes('unknown'))
  const said = bad.length > 0 ? [] : saidOf((p) => p.part === 'item' && p.index === index)
  const id = `item-${item.key}`
  const title = names.length === 1 ? `Chain ${names[0]}` : `Chains ${names[0]} to ${names.at(-1)}`
  return (
    <article class="card chain" aria-label={title} data-kind={item.kind}>
      <div class="row chain-head">
        <span class="chains" title={title}>
          {names.length > 4 ? `${names[0]}–${names.at(-1)}` : names.join(' ')}
        </span>
        <label>
          <span class="hush">Kind of {title}</span>
          <select
            value={item.kind}
            onChange={(e) =>
              set((i) => {
                i.kind = e.currentTarget.value as Kind
                i.ccd = i.kind === 'ligand' && /^[A-Z0-9]{1,5}$/i.test(i.text.trim())
              })
            }
          >
            {kinds.map(([k, name]) => (
              <option value={k} disabled={!!m && !m.entities.includes(k) && k !== item.kind}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label class="grow">
          <span class="hush">Label of {title}</span>
          <input
            type="text"
            placeholder="Label (optional)"
            maxLength={255}
            value={item.label}
            onInput={(e) =>
              set((i) => {
                i.label = e.currentTarget.value
              })
            }
          />
        </label>
        {item.kind !== 'ligand' && (
          <span class="dim num small-text">{plural(letters(item.text).length, 'residue')}</span>
        )}
        <label class="copies">
          <span>Copies</span>
          <input
            type="number"
            min={1}
            max={512}
            value={item.count}
            onInput={(e) =>
              set((i) => {
                i.count = Number(e.currentTarget.value) || 1
              })
            }
          />
        </label>
        <button
          type="button"
          class="quiet small"
          onClick={() =>
            edit((d) => {
              d.items.splice(index, 1)
            })
          }
          aria-label={`Remove ${title}`}
        >
          Remove
        </button>
      </div>
      {item.kind === 'ligand' ? (
        <Molecule item={item} set={set} id={id} wrong={said.length > 0} />
      ) : (
        <Letters item={item} set={set} id={id} title={title} bad={bad} wrong={said.length > 0} />
      )}
      <div id={`${id}-said`}>
        {bad.length > 0 && (
          <p class="wrong">
            {bad
              .slice(0, 3)
              .map((b) => `“${b.letter}” at position ${b.position}`)
              .join(', ')}
            {bad.length > 3 && ` and ${bad.length - 3} more`}:{' '}
            {item.kind === 'ligand'
              ? ''
              : `${kinds.find(([k]) => k === item.kind)![1]} letters are ${alphabet(item.kind, !!m?.features.includes('unknown'))}`}
          </p>
        )}
        {said.map((s) => (
          <p class="wrong">{s}</p>
        ))}
      </div>
      {item.kind === 'protein' && (item.alignment || m?.features.includes('msa')) && (
        <Alignment item={item} title={title} />
      )}
      {item.kind !== 'ligand' && <More item={item} set={set} />}
    </article>
  )
}

/** An alignment of the user's own in place of a search. */
function Alignment({ item, title }: { item: Item; title: string }) {
  const [wrong, setWrong] = useState(''),
    [busy, setBusy] = useState(false)
  const file = useRef<HTMLInputElement>(null)
  const take = async (f: File | undefined) => {
    if (!f) return
    setBusy(true)
    setWrong(
      await align(f, item.key).then(
        () => '',
        (e: Error) => e.message,
      ),
    )
    setBusy(false)
  }
  const remove = () => {
    setWrong('')
    edit((d) => {
      d.from = ''
      d.items.find((i) => i.key === item.key)!.alignment = null
    })
  }
  const a = item.alignment,
    other = misaligned(item),
    m = model.value
  return (
    <div class="alignment" data-alignment={a ? a.rows : ''}>
      <div class="row">
        {a && (
          <span class="small-text">
            <span class="dim">Alignment</span> {a.name}
            <span class="dim num">, {plural(a.rows, 'sequence')}</span>
          </span>
        )}
        <button
          type="button"
          class="bare"
          disabled={busy}
          aria-label={`${a ? 'Another' : 'Own'} alignment of ${title}`}
          onClick={() => file.current!.click()}
        >
          {busy ? 'Reading…' : a ? 'Another…' : 'Own alignment…'}
        </button>
        {a && (
          <button type="button" class="bare" aria-label={`Remove the alignment of ${title}`} onClick={remove}>
            Remove
          </button>
        )}
        {!a && <span class="dim small-text">an A3M file, used in place of a search</span>}
        <input
          ref={file}
          type="file"
          hidden
          accept=".a3m"
          aria-label={`Alignment file of ${title}`}
          onChange={(e) => {
            void take(e.currentTarget.files?.[0])
            e.currentTarget.value = ''
          }}
        />
      </div>
      {wrong && (
        <p class="wrong" role="alert">
          {wrong}
        </p>
      )}
      {a && other && (
        <p class="wrong">
          {a.name} {other}.
        </p>
      )}
      {a && !other && m && !aligns(draft.value, m) && (
        <p class="dim small-text">
          {m.features.includes('msa')
            ? 'Not used, since msaAlgorithm is none.'
            : `Not used: ${m.name} takes no alignments.`}
        </p>
      )}
    </div>
  )
}

type Set = (change: (i: Item) => void) => void

function Letters({
  item,
  set,
  id,
  title,
  bad,
  wrong,
}: {
  item: Item
  set: Set
  id: string
  title: string
  bad: { at: number; letter: string }[]
  wrong: boolean
}) {
  const under = useRef<HTMLDivElement>(null)
  // The same text lies beneath the field, where letters can be marked.
  const pieces = []
  let from = 0
  for (const b of bad) {
    pieces.push(item.text.slice(from, b.at), <mark>{b.letter}</mark>)
    from = b.at + b.letter.length
  }
  return (
    <div class="letters">
      <div class="under mono" ref={under} aria-hidden="true">
        {pieces}
        {item.text.slice(from)}
        {'\n'}
      </div>
      <textarea
        class="mono"
        aria-label={`Sequence of ${title}`}
        aria-describedby={`${id}-said`}
        aria-invalid={bad.length > 0 || wrong}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="characters"
        value={item.text}
        onInput={(e) =>
          set((i) => {
            i.text = e.currentTarget.value
          })
        }
        onBlur={() =>
          set((i) => {
            i.text = grouped(i.text)
          })
        }
        onScroll={(e) => {
          if (under.current) under.current.scrollTop = e.currentTarget.scrollTop
        }}
      />
    </div>
  )
}

function Molecule({ item, set, id, wrong }: { item: Item; set: Set; id: string; wrong: boolean }) {
  const m = model.value
  return (
    <div class="molecule">
      <fieldset class="row">
        <legend class="hush">How the ligand is given</legend>
        <label class="check">
          <input
            type="radio"
            name={id}
            checked={item.ccd}
            onChange={() =>
              set((i) => {
                i.ccd = true
              })
            }
          />
          CCD code
        </label>
        <label class="check">
          <input
            type="radio"
            name={id}
            checked={!item.ccd}
            onChange={() =>
              set((i) => {
                i.ccd = false
              })
            }
          />
          SMILES
        </label>
      </fieldset>
      <input
        type="text"
        class="mono"
        aria-label={item.ccd ? 'CCD code' : 'SMILES'}
        aria-describedby={`${id}-said`}
        aria-invalid={wrong}
        placeholder={item.ccd ? 'ATP' : 'CC(=O)Oc1ccccc1C(=O)O'}
        maxLength={2000}
        spellcheck={false}
        value={item.text}
        onInput={(e) =>
          set((i) => {
            i.text = e.currentTarget.value
          })
        }
      />
      {(item.affinity || m?.features.includes('affinity')) && (
        <label class="check">
          <input
            type="checkbox"
            checked={item.affinity}
            onChange={(e) =>
              set((i) => {
                i.affinity = e.currentTarget.checked
              })
            }
          />
          <span>Predict its affinity</span>
        </label>
      )}
    </div>
  )
}

function More({ item, set }: { item: Item; set: Set }) {
  const m = model.value
  const mods = item.mods.length > 0 || m?.features.includes('modifications'),
    cyclic = item.cyclic || m?.features.includes('cyclic')
  return (
    <details class="more" open={item.mods.length > 0 || item.cyclic || item.chain !== ''}>
      <summary>Options</summary>
      <div class="row options">
        <label class="field short">
          <span>Chain name</span>
          <input
            type="text"
            maxLength={4}
            placeholder="by order"
            value={item.chain}
            onInput={(e) =>
              set((i) => {
                i.chain = e.currentTarget.value.trim()
              })
            }
          />
        </label>
        {cyclic && (
          <label class="check">
            <input
              type="checkbox"
              checked={item.cyclic}
              onChange={(e) =>
                set((i) => {
                  i.cyclic = e.currentTarget.checked
                })
              }
            />
            <span>Cyclic</span>
          </label>
        )}
      </div>
      {mods ? (
        <fieldset>
          <legend>Modified residues</legend>
          {item.mods.map((mod, k) => (
            <div class="row mod">
              <label>
                <span class="hush">Residue of modification {k + 1}</span>
                <input
                  type="text"
                  inputMode="numeric"
                  placeholder="Residue"
                  value={mod.residue}
                  onInput={(e) =>
                    set((i) => {
                      i.mods[k]!.residue = e.currentTarget.value
                    })
                  }
                />
              </label>
              <label>
                <span class="hush">CCD code of modification {k + 1}</span>
                <input
                  type="text"
                  class="mono"
                  placeholder="CCD, such as SEP"
                  maxLength={5}
                  value={mod.ccd}
                  onInput={(e) =>
                    set((i) => {
                      i.mods[k]!.ccd = e.currentTarget.value
                    })
                  }
                />
              </label>
              <span class="dim mono">{letters(item.text)[Number(mod.residue) - 1] ?? ''}</span>
              <button
                type="button"
                class="bare"
                onClick={() =>
                  set((i) => {
                    i.mods.splice(k, 1)
                  })
                }
                aria-label={`Remove modification ${k + 1}`}
              >
                Remove
              </button>
            </div>
          ))}
          <button
            type="button"
            class="bare"
            onClick={() =>
              set((i) => {
                i.mods.push({ residue: '', ccd: '' })
              })
            }
          >
            Add a modified residue
          </button>
        </fieldset>
      ) : (
        m && (
          <p class="dim small-text">
            {m.name} takes no modified residues{m.features.includes('cyclic') ? '' : ' and no cyclic chains'}.
          </p>
        )
      )}
    </details>
  )
}
