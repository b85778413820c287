// One structure with all that is drawn beside it: they share what is hovered over and what is selected.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { JobView, Results } from '../api'
import { Thread } from '../ask/Thread'
import { Failure, Loading } from '../components'
import { Chains } from '../plots/Chains'
import { Coverage } from '../plots/Coverage'
import { Pae } from '../plots/Pae'
import { Plddt } from '../plots/Plddt'
import { colour, type Marked, reset, type Stretch, selection } from '../store'
import { Stage } from '../viewer/Stage'
import { coloursOf } from './colours'
import { load, type Prediction } from './load'
import { Picture } from './Picture'
import { Scores } from './Scores'
import { contacts } from './structure'
import { verdict } from './verdict'

interface Props {
  view: JobView
  results: Results
  sequence: string
  children: ComponentChildren
}

export function Structure({ view, results, sequence, children }: Props) {
  const [p, setP] = useState<Prediction>()
  const [error, setError] = useState<Error>()
  const [tries, setTries] = useState(0)
  const files = results.artifacts.map((a) => a.sha256).join() // links are other ones with every reading; files are the same
  useEffect(() => {
    const stop = new AbortController()
    void import('../viewer/viewer').catch(() => undefined) // comes with the files; the stage says it where it does not come
    reset()
    setError(undefined)
    load(view, results, sequence, stop.signal).then(
      (v) => {
        if (stop.signal.aborted) return
        const offered = coloursOf(v)
        if (!offered.includes(colour.peek())) colour.value = offered[0]!
        setP(v)
      },
      (e: Error) => stop.signal.aborted || setError(e),
    )
    return () => stop.abort()
  }, [view.run.id, sequence, files, tries])
  if (error) return <Failure title="The structure cannot be shown" error={error} retry={() => setTries(tries + 1)} />
  if (!p) return <Loading what="Loading the structure" />
  const { table } = p.model
  const scored = p.scores?.meanPLLDT != null
  const source = { job: view.job.id, run: view.run.id, sequence }
  return (
    <>
      <Says p={p} />
      <div class="sides">
        <Stage
          source={p.source}
          table={table}
          colours={coloursOf(p)}
          name={view.job.name.replace(/[^\w.-]+/g, '-') || 'structure'}
        />
        {panelsOf(p).length > 0 ? <Panels p={p} /> : <Scores p={p} model={view.run.modelName} />}
      </div>
      {scored && (
        <section class="card" aria-labelledby="plddt-title">
          <h2 id="plddt-title">Confidence along the {table.chains.length > 1 ? 'chains' : 'chain'}</h2>
          <Plddt table={table} second={p.second} continuous={colour.value === 'continuous'} />
        </section>
      )}
      {p.trouble.map((t) => (
        <p class="caution">{t}</p>
      ))}
      <div class={panelsOf(p).length > 0 ? 'columns' : ''}>
        {panelsOf(p).length > 0 && <Scores p={p} model={view.run.modelName} />}
        <section class="card" aria-labelledby="next-title">
          <h2 id="next-title">Questions and simulations</h2>
          {view.job.isOwner ? (
            <Thread source={source} table={table} most={3} />
          ) : (
            <p class="dim">The owner of this result can ask about it and simulate it.</p>
          )}
          {children}
        </section>
      </div>
    </>
  )
}

function Says({ p }: { p: Prediction }) {
  const v = verdict(p.scores, p.model.table)
  return (
    <section class={`verdict ${v.tone}`} aria-label="Verdict" data-verdict={v.tone}>
      <h2>{v.head}</h2>
      <p>{v.lines.join(' ')}</p>
      {p.notice && <p class="dim">{p.notice}</p>}
      {p.notes.map((n) => (
        <p class="dim">{n}</p>
      ))}
    </section>
  )
}

/** The plots that there is something for. */
const panelsOf = (p: Prediction) => [
  ...(p.matrix ? [{ name: 'pae', title: 'Aligned error' }] : []),
  ...(p.model.table.chains.length > 1 ? [{ name: 'chains', title: 'Chains' }] : []),
  ...(p.alignment || p.coverage ? [{ name: 'coverage', title: 'Alignment' }] : []),
]

function Panels({ p }: { p: Prediction }) {
  const { table } = p.model
  const [shown, setShown] = useState<{ pair: [string, string]; touching: number } | null>(null)
  const panels = panelsOf(p)
  const [name, setName] = useState(panels[0]?.name ?? '')
  useEffect(() => {
    // the matrix shows no pair once something else is selected
    if (!selection.value.some((m) => m.as === 'scored')) setShown(null)
  }, [selection.value])
  const size = (list: Stretch[]) => list.reduce((n, s) => n + s.to - s.from + 1, 0)
  const touch = (a: string, b: string) => size(contacts(p.model, a, b).flat())
  const show = (a: string, b: string) => {
    const [left, right] = contacts(p.model, a, b)
    const mark =
      (as: Marked['as']) =>
      (s: Stretch): Marked => ({ ...s, as })
    selection.value = [...left.map(mark('scored')), ...right.map(mark('aligned'))]
    setShown({ pair: [a, b], touching: size([...left, ...right]) })
  }
  return (
    <section class="card panels" aria-label="Plots">
      <div class="tabs" role="tablist" aria-label="Plots">
        {panels.map((t, i) => (
          <button
            type="button"
            role="tab"
            id={`panel-${t.name}`}
            aria-controls="panel"
            aria-selected={t.name === name}
            tabIndex={t.name === name ? 0 : -1}
            onClick={() => setName(t.name)}
            onKeyDown={(e) => {
              const by = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0
              if (!by) return
              const next = (i + by + panels.length) % panels.length
              setName(panels[next]!.name)
              ;(e.currentTarget.parentElement!.children[next] as HTMLElement).focus()
            }}
          >
            {t.title}
          </button>
        ))}
      </div>
      <div id="panel" role="tabpanel" aria-labelledby={`panel-${name}`}>
        {name === 'pae' && p.matrix && <Pae matrix={p.matrix} table={table} />}
        {name === 'chains' && (
          <Chains
            table={table}
            pairs={p.scores?.pairs ?? []}
            matrix={p.matrix}
            touch={touch}
            show={show}
            shown={shown?.pair ?? null}
            touching={shown?.touching ?? null}
          />
        )}
        {name === 'coverage' &&
          (p.alignment ? (
            <Coverage text={p.alignment} />
          ) : (
            p.coverage && <Picture file={p.coverage} alt="How many sequences of the alignment cover each residue" />
          ))}
      </div>
    </section>
  )
}
