// The models of this service, as their manifests describe them.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { api, type Model, type ParamSpec } from '../api'
import { Copy, Empty, Failure, Loading } from '../components'
import { about, bytes, maxSize, valueRange, weightUses } from '../format'

// The sections of the page, one for each kind of task.
const kinds = [
  { kind: 'fold', title: 'Folding', hint: 'structure from sequence' },
  { kind: 'qna', title: 'Questions', hint: 'answers about a structure' },
  { kind: 'md', title: 'Dynamics', hint: 'how a structure moves' },
  { kind: 'design', title: 'Design', hint: 'binders of a target, and sequences for a backbone' },
  { kind: 'compare', title: 'Comparison', hint: 'how structures differ' },
]
// The names of the terms of a manifest.
const entityNames: Record<string, string> = { protein: 'Protein', rna: 'RNA', dna: 'DNA', ligand: 'Ligands' }
const featureNames: Record<string, string> = {
  complex: 'Complexes',
  affinity: 'Ligand affinity',
  msa: 'Alignments (MSA)',
  templates: 'Templates',
  template_force: 'Chains held near templates',
  constraints: 'Constraints',
  modifications: 'Modified residues',
  components: 'Molecules of one’s own',
  cyclic: 'Cyclic chains',
  unknown: 'Unknown residues (X, N)',
  sequence_only: 'Sequences for a given backbone',
}
const deviceNames: Record<string, string> = { cpu: 'CPU', cuda: 'GPU' }

/** The models that run here, with a card for each. */
export function Models() {
  const [models, setModels] = useState<Model[] | Error>()
  const load = () =>
    api.models().then(
      (list) => setModels(list.data),
      (e: Error) => setModels(e),
    )
  useEffect(() => void load(), [])
  return (
    <>
      <div class="head">
        <div>
          <h1>Models</h1>
          <p class="dim">
            The models of this service: their limits, how to read their confidence, licences, citations.
          </p>
        </div>
      </div>
      {models === undefined && <Loading what="Loading the models" />}
      {models instanceof Error && (
        <Failure title="The models could not be loaded" error={models} retry={() => void load()} />
      )}
      {Array.isArray(models) && <ModelList models={models} />}
    </>
  )
}

/** The models by kind. */
function ModelList({ models }: { models: Model[] }) {
  if (models.length === 0)
    return (
      <Empty title="No engine is running">
        <p>
          The operator starts one with <code>pleat worker</code>.
        </p>
      </Empty>
    )
  return (
    <>
      {kinds.map(({ kind, title, hint }) => {
        const ofKind = models.filter((m) => m.kind === kind)
        if (ofKind.length === 0) return null
        return (
          <section key={kind} class="models" data-ready>
            <h2>
              {title} <span class="dim">{hint}</span>
            </h2>
            {ofKind.map((m) => (
              <ModelCard key={m.name} model={m} />
            ))}
          </section>
        )
      })}
    </>
  )
}

/** The statements of the manifest about a model. */
function ModelCard({ model: m }: { model: Model }) {
  const bibtex = () => m.citations.map((c) => c.bibtex).join('\n\n')
  return (
    <article class="card model" aria-label={m.name}>
      <div class="row between">
        <h3 class="model-name">
          {m.title} <code class="dim">{m.name}</code>
        </h3>
        <div class="row">
          {m.entities.map((e) => (
            <span key={e} class="chip plain">
              {entityNames[e] ?? e}
            </span>
          ))}
          <span class="chip plain">{deviceNames[m.device] ?? m.device}</span>
        </div>
      </div>
      {m.paused && <p class="notice-text">{pausedText(m)}</p>}
      {m.notice && <p class="notice-text">{m.notice}</p>}
      <dl class="facts">
        <Fact name="Method">{m.method}</Fact>
        <Fact name="Input size">{describeSize(m)}</Fact>
        <Fact name="Limits">{m.limits.join(' · ')}</Fact>
        <Fact name="Features">{m.features.map((f) => featureNames[f] ?? f).join(' · ')}</Fact>
        <Fact name="Confidence">{m.confidence}</Fact>
        <Fact name="Expected cost">{describeCost(m)}</Fact>
        <Fact name="Parameters">{m.params.length > 0 && <Parameters params={m.params} />}</Fact>
        <Fact name="Version">
          {m.engine} {m.version}
          {m.weightSet && m.weightSet !== 'none' && `, weights ${m.weightSet}`}
        </Fact>
        <Fact name="Licence">{m.licence || 'not stated'}</Fact>
        <Fact name="Use of weights">{weightUses[m.weightUse]}</Fact>
      </dl>
      {m.citations.length > 0 && (
        <details class="more">
          <summary>Citations ({m.citations.length})</summary>
          <pre class="bib" tabIndex={0} aria-label={`Citations of ${m.name}`}>
            {bibtex()}
          </pre>
          <Copy text={bibtex} label="Copy BibTeX" />
        </details>
      )}
    </article>
  )
}

/** The effect of a model's pause, and its reason. */
const pausedText = (m: Model) =>
  `The operators have paused this model: its jobs are accepted and wait.${m.pausedReason ? ` ${m.pausedReason}` : ''}`

/** One entry of a list of facts; nothing if it has no content. */
function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  if (!children) return null
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

/** The limits of the input in words. */
function describeSize(m: Model): string {
  const asComplex = m.features.includes('complex')
  const parts: string[] = []
  if (m.minTokens > 1) parts.push(`chains of at least ${m.minTokens} residues`)
  if (m.maxTokens > 0) {
    const scope = m.kind === 'fold' ? (asComplex ? ' per structure' : ' per chain') : ''
    parts.push(`at most ${maxSize(m)}${scope}`)
  }
  if (m.kind === 'fold' && !asComplex) parts.push('chains folded separately')
  return parts.join(', ') || 'any size'
}

/** The expected time and memory for up to three input sizes. */
function describeCost(m: Model): string {
  const cost = (c: Model['speed'], n: number) => c.base + c.linear * n + c.square * n * n
  if (cost(m.speed, 1) === 0) return ''
  const limit = m.maxTokens || 1000
  const sizes = [50, 100, 200, 400, 800, 1600, 3200].filter((n) => n <= limit && n >= m.minTokens).slice(-3)
  const describe = (n: number) => {
    const time = about(cost(m.speed, n)) + (m.device === 'cpu' ? ' on one core' : '')
    const memory = cost(m.memory, n)
    return `${n} residues: ${time}${memory > 0 ? `, ${bytes(memory)}` : ''}`
  }
  return sizes.map(describe).join(' · ')
}

const Parameters = ({ params }: { params: ParamSpec[] }) => (
  <dl class="params">
    {params.map((p) => (
      <div key={p.name}>
        <dt>
          <code>{p.name}</code>
        </dt>
        <dd class="dim">
          {[p.doc, valueRange(p), p.default !== null && p.default !== undefined && `Default: ${String(p.default)}.`]
            .filter(Boolean)
            .join(' ')}
        </dd>
      </div>
    ))}
  </dl>
)
