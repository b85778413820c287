// Where a fold begins: sequences on the left, what to do with them on the right.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, ServiceError } from '../api'
import { navigate, query } from '../router'
import { about, bytes, plural } from '../say'
import { refreshSession } from '../session'
import { Copy } from '../states'
import { Chain } from './Chain'
import { alignmentsOf, blank, curl, foreign, fromBody, grouped, nameOf, newItem, parseText, toBody } from './draft'
import { Constraints, FollowUps, ModelChoice } from './Settings'
import {
  align,
  body,
  bring,
  check,
  draft,
  edit,
  imported,
  loadModels,
  loadWebhook,
  misfits,
  model,
  models,
  open,
  openJob,
  saidElse,
  saidOf,
  takeBack,
  verdict,
} from './state'

const examples: [string, string, string][] = [
  ['Trp-cage', 'miniprotein, 20 residues, PDB 2JOF', '>Trp-cage\nDAYAQWLKDGGPSSGRPPPS'],
  ['Chignolin', 'designed hairpin, 10 residues, PDB 5AWL', '>Chignolin CLN025\nYYDPETGTWY'],
  [
    'Villin headpiece',
    'three helices, 36 residues, PDB 1VII',
    '>Villin headpiece HP36\nMLSDEDFKAVFGMTRSAFANLPLWKQQNLKKEKGLF',
  ],
  [
    'Insulin',
    'two chains, 21 and 30 residues, PDB 4INS',
    '>Insulin A chain\nGIVEQCCTSICSLYQLENYCN\n>Insulin B chain\nFVNQHLCGSHLVEALYLVCGERGFFYTPKA',
  ],
]

const maxFile = 1 << 20 // bytes that the service reads of a file

export function Submit() {
  const [wrong, setWrong] = useState(''),
    [over, setOver] = useState(false)
  useEffect(() => {
    void loadModels()
    void loadWebhook()
  }, [])
  const again = query.value.get('again')
  useEffect(() => {
    if (!again) return
    navigate('/ui/', { replace: true })
    openJob(again).catch((e: Error) => setWrong(`The job to run again could not be opened: ${e.message}`))
  }, [again])
  // The service looks at the draft a moment after each change.
  const current = body.value,
    ready = model.value !== undefined
  useEffect(() => {
    const timer = setTimeout(() => void check(), 350)
    return () => clearTimeout(timer)
  }, [JSON.stringify(current), ready])

  const take = async (text: string, file = '') => {
    setWrong('')
    try {
      if (file || foreign(text)) {
        const got = await api.importFile(text, file.replace(/\.[^.]*$/, '').slice(0, 255))
        if (got.jobs.length === 0) throw new Error('There is no job in it')
        open(fromBody(got.jobs[0]!))
        imported.value = { ...got, file: file || 'the pasted text' }
      } else {
        const items = parseText(text)
        if (items.length === 0) return
        for (const i of items) if (i.kind !== 'ligand') i.text = grouped(i.text)
        edit((d) => {
          d.items.push(...items)
        })
      }
    } catch (e) {
      setWrong(`${file || 'The text'} could not be read: ${(e as Error).message}`)
    }
  }
  const drop = async (files?: FileList | null) => {
    const all = [...(files ?? [])],
      file = all.find((f) => !/\.a3m$/i.test(f.name))
    setWrong('')
    try {
      for (const f of all) if (f !== file && /\.a3m$/i.test(f.name)) await align(f)
    } catch (e) {
      setWrong((e as Error).message)
    }
    if (!file) return
    if (file.size > maxFile) return setWrong(`${file.name} has ${bytes(file.size)}; at most ${bytes(maxFile)} are read`)
    await take(await file.text(), file.name)
  }
  const d = draft.value
  return (
    <div
      class={`submit${over ? ' over' : ''}`}
      onDragOver={(e) => {
        e.preventDefault()
        setOver(true)
      }}
      onDragLeave={(e) => {
        if (e.target === e.currentTarget) setOver(false)
      }}
      onDrop={(e) => {
        e.preventDefault()
        setOver(false)
        void drop(e.dataTransfer?.files)
      }}
    >
      <div class="head">
        <div>
          <h1>Fold</h1>
          <p class="dim">Paste sequences, choose a model, watch it fold.</p>
        </div>
        {d.items.length > 0 && (
          <button
            type="button"
            class="quiet small"
            onClick={() => {
              open(blank())
              imported.value = null
              setWrong('')
            }}
          >
            Start over
          </button>
        )}
      </div>
      <div class="two">
        <div class="stack" data-ready={Array.isArray(models.value)}>
          {wrong && (
            <p class="refused" role="alert">
              {wrong}
            </p>
          )}
          <FromFile />
          {d.items.map((item, i) => (
            <Chain key={item.key} item={item} index={i} />
          ))}
          <Add take={take} drop={drop} first={d.items.length === 0} />
          {(d.rules.length > 0 || (d.items.length > 0 && model.value?.features.includes('constraints'))) && (
            <Constraints />
          )}
        </div>
        <Run />
      </div>
    </div>
  )
}

/** Where text comes in: pasted, typed, or from a file. */
function Add({
  take,
  drop,
  first,
}: {
  take: (text: string) => Promise<void>
  drop: (f: FileList | null) => Promise<void>
  first: boolean
}) {
  const [text, setText] = useState('')
  const file = useRef<HTMLInputElement>(null)
  const add = (t: string) => {
    setText('')
    void take(t)
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
          onPaste={(e) => {
            const pasted = e.clipboardData?.getData('text') ?? ''
            if (text.trim() === '' && pasted.trim() !== '') {
              e.preventDefault()
              add(pasted)
            }
          }}
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
              onClick={() =>
                edit((d) => {
                  d.items.push(newItem('ligand'))
                })
              }
            >
              Add a ligand
            </button>
          )}
          <button type="button" class="quiet" onClick={() => file.current!.click()}>
            Open a file…
          </button>
          <input
            ref={file}
            type="file"
            hidden
            multiple
            accept=".fasta,.fa,.faa,.fna,.json,.yaml,.yml,.txt,.a3m"
            onChange={(e) => {
              void drop(e.currentTarget.files)
              e.currentTarget.value = ''
            }}
          />
        </div>
        <span class="dim small-text">or drop one here: FASTA, AlphaFold Server, AlphaFold 3, Boltz, A3M</span>
      </div>
      {first && (
        <div class="examples">
          <h3>Or begin with an example</h3>
          <div class="example-list">
            {examples.map(([name, what, fasta]) => (
              <button
                type="button"
                class="quiet example"
                onClick={() => {
                  add(fasta)
                  edit((d) => {
                    d.name = name
                  })
                }}
              >
                <strong>{name}</strong>
                <span class="dim">{what}</span>
              </button>
            ))}
          </div>
        </div>
      )}
    </section>
  )
}

/** What came of a file: its notes, and its other jobs. */
function FromFile() {
  const got = imported.value
  const [made, setMade] = useState(''),
    [wrong, setWrong] = useState('')
  if (!got || (got.notes.length === 0 && got.jobs.length === 1)) return null
  const all = async () => {
    setWrong('')
    for (const [i, job] of got.jobs.entries()) {
      setMade(`Creating ${i + 1} of ${got.jobs.length}…`)
      try {
        const d = fromBody(job)
        if (!d.model) d.model = draft.peek().model
        await api.createJob(toBody(d, model.peek()))
      } catch (e) {
        setMade('')
        return setWrong(`${i} of ${got.jobs.length} were created. “${job.name}”: ${(e as Error).message}`)
      }
    }
    void refreshSession()
    imported.value = null
    navigate('/ui/jobs')
  }
  return (
    <section class="card" aria-label="From a file">
      <div class="row between">
        <h2>From {got.file}</h2>
        <button type="button" class="bare" onClick={() => (imported.value = null)}>
          Close
        </button>
      </div>
      {got.notes.map((n) => (
        <p class="caution">{n}</p>
      ))}
      {got.jobs.length > 1 && (
        <>
          <p>It holds {plural(got.jobs.length, 'job')}; the one below is open.</p>
          <div class="row">
            {got.jobs.map((j) => (
              <button
                type="button"
                class="quiet small"
                aria-pressed={draft.value.name === j.name}
                onClick={() => open(fromBody(j))}
              >
                {j.name}
              </button>
            ))}
          </div>
          <div class="row">
            <button type="button" disabled={made !== ''} onClick={() => void all()}>
              {made || `Fold all ${got.jobs.length}`}
            </button>
            <span class="dim small-text">as they stand in the file</span>
          </div>
          {wrong && (
            <p class="refused" role="alert">
              {wrong}
            </p>
          )}
        </>
      )}
    </section>
  )
}

/** A text that no other request carries, so that one that is repeated makes one job. */
const onceKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('')

function Run() {
  const d = draft.value,
    b = body.value
  const [busy, setBusy] = useState(false),
    [wrong, setWrong] = useState('')
  const once = useRef({ body: '', key: '' })
  const submit = async () => {
    setBusy(true)
    setWrong('')
    let item = ''
    try {
      item = await bring(d)
      const text = JSON.stringify([b, item])
      if (once.current.body !== text) once.current = { body: text, key: onceKey() }
      const made = await api.createJob(b, once.current.key, item)
      draft.value = { ...blank(), model: d.model }
      imported.value = null
      void refreshSession()
      navigate(`/ui/jobs/${made.jobId}`)
    } catch (e) {
      setWrong((e as Error).message)
      if (e instanceof ServiceError && e.status !== 0) {
        void takeBack(item)
        void check()
      }
    }
    setBusy(false)
  }
  const v = verdict.value
  const command = curl(location.origin, b, d.from, d.from ? [] : alignmentsOf(d, model.value).map((a) => a.name))
  const valid = v !== null && !(v instanceof Error) && v.valid && misfits.value === 0 // while it looks again, the last word stands; the service has the last one
  return (
    <form
      class="card run"
      aria-label="Settings"
      onSubmit={(e) => {
        e.preventDefault()
        if (valid) void submit()
      }}
    >
      <label class="field">
        <span>Name</span>
        <input
          type="text"
          maxLength={255}
          placeholder={nameOf({ ...d, name: '' })}
          value={d.name}
          onInput={(e) =>
            edit((x) => {
              x.name = e.currentTarget.value
            })
          }
        />
      </label>
      {saidOf((p) => p.part === 'name').map((s) => (
        <p class="wrong">{s}</p>
      ))}
      <ModelChoice />
      {d.from && (
        <p class="hint">
          With the library item of the job before it{d.items.some((i) => i.alignment) && ', which has its alignments'}.{' '}
          <button
            type="button"
            class="bare"
            onClick={() =>
              edit((x) => {
                x.from = ''
                for (const i of x.items) i.alignment = null
              })
            }
          >
            Without it
          </button>
        </p>
      )}
      <hr />
      <FollowUps />
      <hr />
      <label class="check">
        <input
          type="checkbox"
          checked={d.isPublic}
          onChange={(e) =>
            edit((x) => {
              x.isPublic = e.currentTarget.checked
            })
          }
        />
        <span>
          Public<small>Whoever has the link may read the results, without a key.</small>
        </span>
      </label>
      <div class="run-foot">
        <Verdict />
        {wrong && (
          <p class="refused" role="alert">
            {wrong}
          </p>
        )}
        <button type="submit" class="wide" disabled={busy || !valid}>
          {busy ? (d.items.some((i) => i.alignment) ? 'Sending the alignments…' : 'Submitting…') : 'Fold'}
        </button>
      </div>
      {d.items.length > 0 && (
        <details class="more curl">
          <summary>Show as curl</summary>
          <pre tabIndex={0} aria-label="The same as a command">
            {command}
          </pre>
          <Copy text={command} />
        </details>
      )}
    </form>
  )
}

/** Brings the first thing that is wrong into sight, opening what hides it, and goes to its field. */
function showWrong() {
  const wrong = document.querySelector('.submit .wrong:not(:empty)')
  for (let up = wrong?.parentElement; up; up = up.parentElement) if (up instanceof HTMLDetailsElement) up.open = true
  wrong?.scrollIntoView({ block: 'center' })
  const near = wrong?.closest('.field, .rule, .alignment, .mod, .chain, .follow')
  near
    ?.querySelector<HTMLElement>('[aria-invalid=true], input:not([hidden]), textarea, button')
    ?.focus({ preventScroll: true })
}

/** What the service says: ready with what it will take, or what is wrong. */
function Verdict() {
  const d = draft.value,
    v = verdict.value
  if (d.items.length === 0)
    return (
      <p class="hint" role="status">
        Add a sequence to begin.
      </p>
    )
  if (v instanceof Error)
    return (
      <p class="refused" role="status">
        It could not be checked: {v.message}
      </p>
    )
  if (!v)
    return (
      <p class="hint" role="status">
        Checking…
      </p>
    )
  if (!v.valid || misfits.value > 0) {
    const rest = saidElse(),
      beside = v.errors.length - rest.length + misfits.value
    return (
      <div class="refused" role="status" data-valid="no">
        {rest.map((s) => (
          <div>{s}</div>
        ))}
        {beside > 0 && (
          <div>
            {plural(beside, 'thing')} to mend, said beside {beside === 1 ? 'its field' : 'their fields'}.{' '}
            <button type="button" class="bare" onClick={showWrong}>
              Show
            </button>
          </div>
        )}
      </div>
    )
  }
  const together = model.value?.features.includes('complex') || v.chains.length === 1
  const cost = [
    v.expectedSeconds > 0 && about(v.expectedSeconds) + (model.value?.device === 'cpu' ? ' of one core' : ''),
    v.expectedMemoryBytes > 0 && `${bytes(v.expectedMemoryBytes)} of memory`,
  ]
    .filter(Boolean)
    .join(', ')
  return (
    <div class="praise" role="status" data-valid="yes">
      <strong>Ready.</strong> {plural(v.tokens, 'token')}
      {together
        ? v.maxTokens > 0 && ` of at most ${v.maxTokens}`
        : v.chains.length > 1 && `, ${v.chains.length} chains each on its own`}
      {v.isComplex && ', one complex'}.
      <div>
        {cost && `${cost[0]!.toUpperCase()}${cost.slice(1)}. `}
        {plural(v.quotaRemaining, 'job')} left today.
      </div>
    </div>
  )
}
