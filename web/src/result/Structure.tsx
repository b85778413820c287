// One structure with its plots. They share the hovered residue and the selection.

import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { JobView, Results } from '../api'
import { Thread } from '../ask/Thread'
import { maxSuperposed, structuresAddress } from '../compare/address'
import { Failure, Loading } from '../components'
import { Chains } from '../plots/Chains'
import { Coverage } from '../plots/Coverage'
import { continuousPlddt, plddt, predictedRmsd } from '../plots/measure'
import { Pae } from '../plots/Pae'
import { Profile } from '../plots/Profile'
import { mayChange } from '../project'
import { colour, type Marked, reset, type Stretch, selection } from '../store'
import { TabList } from '../tabs'
import { Stage } from '../viewer/Stage'
import { ContactTable } from './ContactTable'
import { coloursOf } from './colours'
import { FileImage } from './FileImage'
import { load, type Prediction } from './load'
import { Scores } from './Scores'
import { contacts } from './structure'
import { verdict } from './verdict'

/** sequence: the id of the sequence that was folded alone; empty: all chains. */
interface Props {
  view: JobView
  results: Results
  sequence: string
  children: ComponentChildren
}

/** The structure with verdict, viewer, plots and scores. */
export function Structure({ view, results, sequence, children }: Props) {
  const { prediction: p, error, retry } = usePrediction(view, results, sequence)
  if (error) return <Failure title="The structure could not be loaded" error={error} retry={retry} />
  if (!p) return <Loading what="Loading the structure" />
  const { table } = p.model
  const hasPanels = panelsOf(p).length > 0
  const scores = <Scores p={p} model={view.run.modelName} templates={view.constraints?.templates ?? []} />
  return (
    <>
      <Verdict p={p} />
      <div class="sides">
        <Stage
          source={p.source}
          table={table}
          colours={coloursOf(p)}
          name={fileName(view.job.name)}
          footer={<Samples job={view.job.id} results={results} />}
        />
        {hasPanels ? <Panels p={p} contacts={{ job: view.job.id, run: view.run.id, file: p.file }} /> : scores}
      </div>
      {(p.scores?.meanPLLDT ?? null) !== null && (
        <section class="card plot-card" aria-labelledby="plddt-title">
          <h2 id="plddt-title">Confidence by residue</h2>
          <Profile
            table={table}
            secondary={p.secondaryStructure}
            measure={colour.value === 'continuous' ? continuousPlddt : plddt}
          />
        </section>
      )}
      {(p.scores?.predictedRmsd ?? null) !== null && (
        <section class="card plot-card" aria-labelledby="rmsd-title">
          <h2 id="rmsd-title">Predicted RMSD by residue</h2>
          <Profile table={table} secondary={p.secondaryStructure} measure={predictedRmsd} />
        </section>
      )}
      {p.problems.map((problem) => (
        <p key={problem} class="caution">
          {problem}
        </p>
      ))}
      <div class={hasPanels ? 'columns' : ''}>
        {hasPanels && scores}
        <section class="card" aria-labelledby="next-title">
          <h2 id="next-title">Questions, simulations and designs</h2>
          {view.job.isOwner ? (
            <Thread
              source={{ job: view.job.id, project: view.job.projectId, run: view.run.id, sequence }}
              table={table}
              limit={3}
              readOnly={!mayChange(view.job)}
            />
          ) : (
            <p class="dim">Only the owner of this result can ask questions, and start simulations and designs.</p>
          )}
          {children}
        </section>
      </div>
    </>
  )
}

/** A link to the comparison of the structure with the further samples of the run; nothing if there are none. */
function Samples({ job, results }: { job: string; results: Results }) {
  const names = results.artifacts.map((a) => a.name).filter((name) => /(^|-)sample-\d+\.cif$/.test(name))
  if (names.length === 0) return null
  const of = [`job:${job}`, ...names.map((name) => `job:${job}/${name}`)]
  return (
    <p class="selection">
      <a href={structuresAddress(of.slice(0, maxSuperposed))}>Compare with the other samples</a>
    </p>
  )
}

/** A name for downloads, from the name of the job. */
const fileName = (name: string) => name.replace(/[^\w.-]+/g, '-') || 'structure'

/** Loads the prediction, again when the files of the run change. */
function usePrediction(view: JobView, results: Results, sequence: string) {
  const [prediction, setPrediction] = useState<Prediction>()
  const [error, setError] = useState<Error>()
  const [tries, setTries] = useState(0)
  const files = results.artifacts.map((a) => a.sha256).join() // the URLs differ at each reading, the digests do not
  useEffect(() => {
    const abort = new AbortController()
    reset()
    setError(undefined)
    const show = (p: Prediction) => {
      const colours = coloursOf(p)
      if (!colours.includes(colour.peek())) colour.value = colours[0]!
      setPrediction(p)
    }
    load(view, results, sequence, abort.signal, show).then(
      (p) => abort.signal.aborted || show(p),
      (e: Error) => abort.signal.aborted || setError(e),
    )
    return () => abort.abort()
  }, [view.run.id, sequence, files, tries])
  return { prediction, error, retry: () => setTries(tries + 1) }
}

/** The verdict on the structure, and the notice of the engine. */
function Verdict({ p }: { p: Prediction }) {
  const v = verdict(p.scores, p.model.table)
  return (
    <section class={`verdict ${v.tone}`} aria-label="Verdict" data-verdict={v.tone}>
      <h2>{v.title}</h2>
      <p>{v.lines.join(' ')}</p>
      {p.notice && <p class="dim">{p.notice}</p>}
      {p.notes.map((note) => (
        <p key={note} class="dim">
          {note}
        </p>
      ))}
    </section>
  )
}

/** The tabs next to the structure for which there is data. */
const panelsOf = (p: Prediction) => [
  ...(p.matrix !== null ? [{ name: 'pae', title: 'PAE' }] : []),
  ...(p.model.table.chains.length > 1 ? [{ name: 'chains', title: 'Chains' }] : []),
  ...(p.alignment !== null || p.coverage ? [{ name: 'coverage', title: 'Alignment' }] : []),
]

/** The number of residues of ranges. */
const residueCount = (list: Stretch[]) => list.reduce((n, s) => n + s.to - s.from + 1, 0)

/** The plots with a tab for each. contacts: of which structure. */
function Panels({ p, contacts }: { p: Prediction; contacts: { job: string; run: string; file: string } }) {
  const { table } = p.model
  const panels = panelsOf(p)
  const [chosen, setName] = useState('')
  const name = (panels.find((panel) => panel.name === chosen) ?? panels[0])?.name ?? ''
  const interfaces = useInterfaces(p)
  return (
    <section class="card panels" aria-label="Plots">
      <TabList label="Plots" idPrefix="panel" panel="panel" tabs={panels} selected={name} select={setName} />
      {panels.map((panel) => {
        const isShown = panel.name === name
        return (
          <div
            key={panel.name}
            id={isShown ? 'panel' : undefined}
            class={isShown ? 'panel' : 'panel print-only'}
            role={isShown ? 'tabpanel' : undefined}
            aria-labelledby={isShown ? `panel-${panel.name}` : undefined}
          >
            <h3 class="print-heading">{panel.title}</h3>
            {panel.name === 'pae' &&
              (p.matrix ? <Pae matrix={p.matrix} table={table} /> : <Loading what={loadingPae} />)}
            {panel.name === 'chains' && (
              <>
                <Chains table={table} pairs={p.scores?.pairs ?? []} matrix={p.matrix ?? null} {...interfaces} />
                {isShown && <ContactTable {...contacts} pair={interfaces.shown?.pair ?? null} />}
              </>
            )}
            {panel.name === 'coverage' && <AlignmentPanel p={p} isShown={isShown} />}
          </div>
        )
      })}
    </section>
  )
}

const loadingPae = 'Loading the predicted aligned errors'

// A larger alignment is not drawn before its tab is opened.
const maxPrintedAlignment = 4 << 20 // bytes

/** The coverage of the alignment, drawn here or by the service. */
function AlignmentPanel({ p, isShown }: { p: Prediction; isShown: boolean }) {
  if (p.alignment && (isShown || p.alignment.length <= maxPrintedAlignment)) return <Coverage text={p.alignment} />
  if (p.alignment === undefined) return <Loading what="Loading the alignment" />
  return p.coverage && <FileImage file={p.coverage} alt="Alignment coverage by residue" />
}

/** The interface of two chains that is selected in the structure, and functions to count and select others. */
function useInterfaces(p: Prediction) {
  const [shown, setShown] = useState<{ pair: [string, string]; contactCount: number } | null>(null)
  useEffect(() => {
    if (!selection.value.some((m) => m.as === 'scored')) setShown(null) // something else has been selected
  }, [selection.value])
  const countContacts = (a: string, b: string) => residueCount(contacts(p.model, a, b).flat())
  const show = (a: string, b: string) => {
    const [left, right] = contacts(p.model, a, b)
    const marked = (list: Stretch[], as: Marked['as']) => list.map((s): Marked => ({ ...s, as }))
    selection.value = [...marked(left, 'scored'), ...marked(right, 'aligned')]
    setShown({ pair: [a, b], contactCount: residueCount([...left, ...right]) })
  }
  return { countContacts, show, shown }
}
