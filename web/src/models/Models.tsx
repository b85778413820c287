// What runs here, as each model's manifest has it.
import { useEffect, useState } from 'preact/hooks'
import { api, type Model } from '../api'
import { about, boundsOf, bytes } from '../say'
import { Copy, Empty, Failure, Loading } from '../states'

const kinds: Record<Model['kind'], { title: string; what: string }> = {
  fold: { title: 'Folding', what: 'from sequence to structure' },
  qna: { title: 'Answering', what: 'questions about a structure' },
  md: { title: 'Dynamics', what: 'how a structure moves' },
}
const entity: Record<string, string> = { protein: 'Protein', rna: 'RNA', dna: 'DNA', ligand: 'Ligands' }
const feature: Record<string, string> = {
  complex: 'Several chains in one structure',
  affinity: 'Affinity of ligands',
  msa: 'Alignments (MSA)',
  templates: 'Templates',
  constraints: 'Constraints',
  modifications: 'Modified residues',
  cyclic: 'Cyclic chains',
  unknown: 'Unknown residues (X, N)',
}

export function Models() {
  const [list, setList] = useState<Model[] | Error>()
  const read = () =>
    api.models().then(
      (l) => setList(l.data),
      (e: Error) => setList(e),
    )
  useEffect(() => void read(), [])
  return (
    <>
      <div class="head">
        <div>
          <h1>Models</h1>
          <p class="dim">What this service can run, what each takes, and what its answers are worth.</p>
        </div>
      </div>
      {list === undefined ? (
        <Loading what="Loading the models" />
      ) : list instanceof Error ? (
        <Failure title="The models cannot be listed" error={list} again={() => void read()} />
      ) : list.length === 0 ? (
        <Empty title="No engine is running here">
          <p>
            The operator starts one with <code>pleat worker</code>.
          </p>
        </Empty>
      ) : (
        (Object.keys(kinds) as Model['kind'][]).map((k) => {
          const of = list.filter((m) => m.kind === k)
          return (
            of.length > 0 && (
              <section class="models" data-ready>
                <h2>
                  {kinds[k].title} <span class="dim">{kinds[k].what}</span>
                </h2>
                {of.map((m) => (
                  <Card key={m.name} model={m} />
                ))}
              </section>
            )
          )
        })
      )}
    </>
  )
}

const cost = (c: Model['speed'], n: number) => c.base + c.linear * n + c.square * n * n

/** Sizes that a model's cost is told for: three that it folds. */
function sizes(m: Model): number[] {
  const most = m.maxTokens || 1000
  return [50, 100, 200, 400, 800, 1600, 3200].filter((n) => n <= most && n >= m.minTokens).slice(-3)
}

function Card({ model: m }: { model: Model }) {
  const told = m.speed.base || m.speed.linear || m.speed.square ? sizes(m) : []
  return (
    <article class="card model" aria-label={m.name}>
      <div class="row between">
        <h3 class="model-name">
          {m.title} <code class="dim">{m.name}</code>
        </h3>
        <div class="row">
          {m.entities.map((e) => (
            <span class="chip plain">{entity[e] ?? e}</span>
          ))}
          <span class="chip plain">{m.device === 'cpu' ? 'CPU' : m.device === 'cuda' ? 'GPU' : m.device}</span>
        </div>
      </div>
      {m.notice && <p class="notice-text">{m.notice}</p>}
      <dl class="facts">
        {m.method && (
          <>
            <dt>Method</dt>
            <dd>{m.method}</dd>
          </>
        )}
        <dt>Takes</dt>
        <dd>
          {[
            m.minTokens > 1 && `chains from ${m.minTokens} residues`,
            m.maxTokens > 0 &&
              `up to ${m.maxTokens.toLocaleString('en')} tokens${m.kind === 'fold' ? (m.features.includes('complex') ? ' in one structure' : ' per chain') : ''}`,
            m.kind === 'fold' && !m.features.includes('complex') && 'each chain folded on its own',
          ]
            .filter(Boolean)
            .join(', ') || 'any size'}
        </dd>
        {m.features.length > 0 && (
          <>
            <dt>Can</dt>
            <dd>{m.features.map((f) => feature[f] ?? f).join(' · ')}</dd>
          </>
        )}
        {m.confidence && (
          <>
            <dt>Confidence</dt>
            <dd>{m.confidence}</dd>
          </>
        )}
        {told.length > 0 && (
          <>
            <dt>Costs</dt>
            <dd class="num">
              {told
                .map((n) =>
                  [
                    `${n} residues: ${about(cost(m.speed, n))}${m.device === 'cpu' ? ' of one core' : ''}`,
                    cost(m.memory, n) > 0 && bytes(cost(m.memory, n)),
                  ]
                    .filter(Boolean)
                    .join(', '),
                )
                .join(' · ')}
            </dd>
          </>
        )}
        {m.params.length > 0 && (
          <>
            <dt>Parameters</dt>
            <dd>
              <dl class="params">
                {m.params.map((p) => (
                  <>
                    <dt>
                      <code>{p.name}</code>
                    </dt>
                    <dd class="dim">
                      {[
                        p.doc,
                        boundsOf(p),
                        p.default !== null && p.default !== undefined && `Default: ${String(p.default)}.`,
                      ]
                        .filter(Boolean)
                        .join(' ')}
                    </dd>
                  </>
                ))}
              </dl>
            </dd>
          </>
        )}
        <dt>Version</dt>
        <dd>
          {m.engine} {m.version}
          {m.weightSet && m.weightSet !== 'none' && `, weights ${m.weightSet}`}
        </dd>
        <dt>Licence</dt>
        <dd>{m.licence || 'not stated'}</dd>
      </dl>
      {m.citations.length > 0 && (
        <details class="more">
          <summary>To cite ({m.citations.length})</summary>
          <pre class="bib" tabIndex={0} aria-label={`Citations of ${m.name}`}>
            {m.citations.map((c) => c.bibtex).join('\n\n')}
          </pre>
          <Copy text={() => m.citations.map((c) => c.bibtex).join('\n\n')} label="Copy BibTeX" />
        </details>
      )}
    </article>
  )
}
