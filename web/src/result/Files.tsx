// The files of a run, its settings, and its citations.
import { useEffect, useState } from 'preact/hooks'
import { type Artifact, api, download, type JobView, type Results, sameOrigin } from '../api'
import { Copy, Foldable } from '../components'
import { moment } from '../format'
import { Table } from '../table'
import { molstarAddress, viewers } from './viewers'

// The descriptions of files, by the kind of the artifact.
const kindNames: Record<string, string> = {
  cif: 'Structure (mmCIF)',
  pdb: 'Structure (PDB)',
  pae_json: 'Predicted aligned error (PAE)',
  plddt_plot: 'pLDDT plot',
  predicted_rmsd_plot: 'Predicted RMSD plot',
  pae_plot: 'PAE plot',
  msa_coverage_plot: 'Alignment coverage plot',
  msa: 'Alignment (A3M)',
  metrics_json: 'Scores',
  config_json: 'Run configuration',
  citations_bibtex: 'Citations (BibTeX)',
  plots: 'Plots',
  archive: 'Archive of all files',
}

// More structures have no links to scripts: the archive has them all.
const maxViewed = 4

/** Formats a file size in binary units. */
export function fileSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  if (bytes < 1 << 20) return `${(bytes / 1024).toFixed(bytes < 10240 ? 1 : 0)} KiB`
  return `${(bytes / (1 << 20)).toFixed(1)} MiB`
}

/** The files of a workflow's run. */
export const FileTable = ({ artifacts }: { artifacts: { path: string; sizeBytes: number; url: string }[] }) => (
  <div class="scroll">
    <Table class="files" columns={['File', { title: 'Size', class: 'right' }]}>
      {artifacts.map((a) => (
        <tr key={a.path}>
          <td>
            <a href={sameOrigin(a.url)} download="">
              {a.path}
            </a>
          </td>
          <td class="right num">{fileSize(a.sizeBytes)}</td>
        </tr>
      ))}
    </Table>
  </div>
)

/** The kind of a file, and its sequence if the run folded several. */
function describeFile(a: Artifact, view: JobView): string {
  const sample = /(?:^|-)sample-(\d+)\.cif$/.exec(a.name)?.[1]
  const kind = sample ? `Sample ranked ${Number(sample) + 1}` : (kindNames[a.kind] ?? a.kind.replaceAll('_', ' '))
  if (!a.sequenceId || view.sequences.length < 2) return kind
  const index = view.sequences.findIndex((s) => s.id === a.sequenceId)
  return index < 0 ? kind : `${kind}, ${view.sequences[index]!.name ?? `sequence ${index + 1}`}`
}

/** Links to scripts that show a structure in other programs. file: the structure. */
function Viewers({ view, file }: { view: JobView; file: string }) {
  const isLatest = view.runs[0]?.id === view.run.id
  return (
    <p class="row viewers">
      <span class="dim">Show {file} in</span>
      {viewers.map(({ ending, name }) => (
        <a
          key={ending}
          href={api.viewFile(view.job.id, ending, { jobRunId: view.run.id, sample: file })}
          download=""
          title={`A script for ${name}. Of a private job its link to the structure expires within a day.`}
        >
          {name} (.{ending})
        </a>
      ))}
      {view.job.isPublic && isLatest && (
        <a href={molstarAddress(view.job.id, file, location.origin)} target="_blank" rel="noopener noreferrer">
          molstar.org
        </a>
      )}
    </p>
  )
}

/** The files of a run, with a link to all of them. */
export function Files({ view, results }: { view: JobView; results: Results }) {
  const structures = results.artifacts.filter((a) => a.kind === 'cif').slice(0, maxViewed)
  return (
    <Foldable title="Files" count={results.artifacts.length} class="files-card">
      <p class="row end">
        <a class="button small" href={api.archive(view.job.id, view.run.id)} download="">
          Download all
        </a>
      </p>
      {structures.map((a) => (
        <Viewers key={a.name} view={view} file={a.name} />
      ))}
      <div class="scroll">
        <Table
          class="files"
          columns={['File', 'Description', { title: 'Size', class: 'right' }, { title: 'SHA-256', class: 'wide-only' }]}
        >
          {results.artifacts.map((a) => (
            <tr key={a.name}>
              <td>
                <a href={sameOrigin(a.url)} download="">
                  {a.name}
                </a>
              </td>
              <td>{describeFile(a, view)}</td>
              <td class="right num">{fileSize(a.bytes)}</td>
              <td class="wide-only">
                <code title={a.sha256}>{a.sha256.slice(0, 10)}…</code>
              </td>
            </tr>
          ))}
        </Table>
      </div>
    </Foldable>
  )
}

/** The citations of a run, to read and to copy. */
export function Citation({ results }: { results: Results }) {
  const file = results.artifacts.find((a) => a.kind === 'citations_bibtex')
  const [text, setText] = useState('')
  const [error, setError] = useState('')
  useEffect(() => {
    setText('')
    if (file)
      void download(file.url)
        .then(async (r) => setText(await r.text()))
        .catch((e: Error) => setError(e.message))
  }, [file?.sha256])
  if (!file) return null
  return (
    <Foldable title="Cite">
      {text && (
        <p class="row end">
          <Copy text={text} label="Copy BibTeX" />
        </p>
      )}
      {error ? (
        <p class="error">{error}</p>
      ) : (
        <pre class="bibtex" tabIndex={0} aria-label="Citations of this run as BibTeX">
          {text}
        </pre>
      )}
    </Foldable>
  )
}

type Pair = [name: string, value: string]

/** The settings of a run. */
function runPairs(view: JobView): Pair[] {
  const { run } = view
  const parameters = Object.entries(view.params).filter(([name]) => name !== 'modelName' && name !== 'seed')
  return [
    ['Model', run.modelName],
    ['Engine', run.engine || 'not known yet'],
    ['Weights', run.weightSet || 'none'],
    ['Method', run.method],
    ['Seed', run.seed],
    ...parameters.map(([name, value]): Pair => [name, JSON.stringify(value)]),
    ['Run', `${run.number} of ${view.runs.length}`],
    ['Created', moment(run.createdAt)],
  ]
}

/** Settings and sequences of a run. */
export function RunSettings({ view, results }: { view: JobView; results: Results }) {
  const config = results.artifacts.find((a) => a.kind === 'config_json')
  return (
    <Foldable title="Settings">
      <dl class="pairs">
        {runPairs(view).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {view.sequences.map((s, i) => (
        <details key={s.id}>
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
          With the same seed, sequence and engine version, engines that are deterministic return identical bytes.{' '}
          <a href={sameOrigin(config.url)} download="">
            {config.name}
          </a>{' '}
          has the request to run it again.
        </p>
      )}
    </Foldable>
  )
}
