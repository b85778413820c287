// What came of a run to take away, what it ran with, and what to cite.
import { useEffect, useState } from 'preact/hooks'
import { type Artifact, api, download, type JobView, type Results, sameOrigin } from '../api'
import { Copy } from '../components'
import { duration, moment, stageName } from '../format'

const kinds: Record<string, string> = {
  cif: 'Structure as mmCIF',
  pdb: 'Structure as PDB',
  pae_json: 'Predicted aligned error',
  plddt_plot: 'Plot of pLDDT',
  pae_plot: 'Plot of the aligned error',
  msa_coverage_plot: 'Plot of the alignment’s coverage',
  msa: 'Alignment',
  metrics_json: 'All scores',
  config_json: 'Request, seed and versions',
  citations_bibtex: 'What to cite',
  plots: 'All plots',
  archive: 'Everything in one file',
}

export const size = (bytes: number) =>
  bytes < 1024
    ? `${bytes} B`
    : bytes < 1 << 20
      ? `${(bytes / 1024).toFixed(bytes < 10240 ? 1 : 0)} KiB`
      : `${(bytes / (1 << 20)).toFixed(1)} MiB`

export function Files({ view, results }: { view: JobView; results: Results }) {
  const label = (a: Artifact) => {
    const of = a.sequenceId && view.sequences.length > 1 ? view.sequences.findIndex((s) => s.id === a.sequenceId) : -1
    const sample = /(?:^|-)sample-(\d+)\.cif$/.exec(a.name)?.[1]
    return (
      (sample ? `Another sample, ranked ${Number(sample) + 1}` : (kinds[a.kind] ?? a.kind.replaceAll('_', ' '))) +
      (of >= 0 ? `, ${view.sequences[of]!.name ?? `sequence ${of + 1}`}` : '')
    )
  }
  return (
    <section class="card" aria-labelledby="files-title">
      <div class="row between">
        <h2 id="files-title">Files</h2>
        <a class="button small" href={api.archive(view.job.id)} download="">
          Download all
        </a>
      </div>
      <div class="scroll">
        <table class="table files">
          <thead>
            <tr>
              <th>File</th>
              <th>What it is</th>
              <th class="right">Size</th>
              <th>SHA-256</th>
            </tr>
          </thead>
          <tbody>
            {results.artifacts.map((a) => (
              <tr>
                <td>
                  <a href={sameOrigin(a.url)} download={a.name}>
                    {a.name}
                  </a>
                </td>
                <td>{label(a)}</td>
                <td class="right num">{size(a.bytes)}</td>
                <td>
                  <code title={a.sha256}>{a.sha256.slice(0, 10)}…</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

export function Citation({ results }: { results: Results }) {
  const file = results.artifacts.find((a) => a.kind === 'citations_bibtex')
  const [text, setText] = useState('')
  const [trouble, setTrouble] = useState('')
  useEffect(() => {
    setText('')
    if (file)
      void download(file.url)
        .then(async (r) => setText(await r.text()))
        .catch((e: Error) => setTrouble(e.message))
  }, [file?.sha256])
  if (!file) return null
  return (
    <section class="card" aria-labelledby="cite-title">
      <div class="row between">
        <h2 id="cite-title">Cite</h2>
        {text && <Copy text={text} label="Copy BibTeX" />}
      </div>
      {trouble ? (
        <p class="refused">{trouble}</p>
      ) : (
        <pre class="bibtex" tabIndex={0} aria-label="BibTeX of what this run used">
          {text}
        </pre>
      )}
    </section>
  )
}

export function Reproduce({ view, results }: { view: JobView; results: Results }) {
  const { run } = view
  const params = Object.entries(view.params).filter(([k]) => k !== 'modelName' && k !== 'seed')
  const rows: [string, string][] = [
    ['Model', run.modelName],
    ['Engine', run.engine || 'not known yet'],
    ['Weights', run.weightSet || 'none'],
    ['Method', run.method],
    ['Seed', run.seed],
    ...params.map(([k, v]): [string, string] => [k, JSON.stringify(v)]),
    ['Run', `${run.number} of ${view.runs.length}`],
    ['Created', moment(run.createdAt)],
    ...((run.timings.queue ?? 0) >= 0.05 ? [['Waited', duration(run.timings.queue!)] as [string, string]] : []),
    ...(run.executionSeconds > 0 ? [['Took', duration(run.executionSeconds)] as [string, string]] : []),
    ...Object.entries(run.timings)
      .filter(([k, v]) => k !== 'queue' && v >= 0.05)
      .sort(([, a], [, b]) => b - a)
      .map(([k, v]): [string, string] => ['– ' + stageName(k).toLowerCase(), duration(v)]),
  ]
  const config = results.artifacts.find((a) => a.kind === 'config_json')
  return (
    <section class="card" aria-labelledby="again-title">
      <h2 id="again-title">What it ran with</h2>
      <dl class="pairs">
        {rows.map(([k, v]) => (
          <div>
            <dt>{k}</dt>
            <dd>{v}</dd>
          </div>
        ))}
      </dl>
      {view.sequences.map((s, i) => (
        <details>
          <summary>
            {s.name ?? `Sequence ${i + 1}`}{' '}
            <span class="dim">
              {s.type}, chain{s.chains.length > 1 ? 's' : ''} {s.chains.join(', ')}
              {s.type !== 'ligand' && `, ${s.sequence.length} residues`}
            </span>
          </summary>
          <pre class="sequence" tabIndex={0} aria-label="Sequence">
            {s.type === 'ligand' ? s.sequence : s.sequence.replace(/(.{10})/g, '$1 ').trim()}
          </pre>
        </details>
      ))}
      {config && (
        <p class="dim">
          The same seed, sequence and engine version give the same bytes where the engine promises so.{' '}
          <a href={sameOrigin(config.url)} download={config.name}>
            {config.name}
          </a>{' '}
          holds the request that runs it again.
        </p>
      )}
    </section>
  )
}
