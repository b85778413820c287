// The measurements over a simulation, its energy landscapes, and its files.
import { useEffect, useState } from 'preact/hooks'
import { download } from '../api'
import { Copy, Foldable } from '../components'
import { FileImage } from '../result/FileImage'
import { FileTable } from '../result/Files'
import { Table } from '../table'
import { numbers, quantities, type SimulationResult } from './simulation'

/** The measurements, landscapes and files of a completed simulation. */
export const Measurements = ({ result }: { result: SimulationResult }) => (
  <div class="columns">
    <div>
      <Quantities metrics={result.metrics} />
      <Landscapes result={result} />
    </div>
    <div>
      <Files result={result} />
    </div>
  </div>
)

/** Three decimals; a dash for a missing value. */
const formatValue = (v: number | null | undefined) => (v === null || v === undefined ? '–' : v.toFixed(3))

// The columns of numbers.
const statistics = ['Mean', '± error', 'SD', 'Min', 'Max']

/** The table of averaged quantities, and the single numbers below it. */
function Quantities({ metrics }: { metrics: SimulationResult['metrics'] }) {
  return (
    <section class="card" aria-labelledby="measured-title">
      <h2 id="measured-title">Measurements</h2>
      <div class="scroll">
        <Table
          class="num cards"
          columns={['Quantity', ...statistics.map((title) => ({ title, class: 'right' })), 'Unit']}
        >
          {quantities(metrics).map(([name, q]) => (
            <tr key={name}>
              <td data-label="Quantity">{name}</td>
              {[q.mean, q.error, q.sd, q.min, q.max].map((value, i) => (
                <td key={statistics[i]} class="right" data-label={statistics[i]}>
                  {formatValue(value)}
                </td>
              ))}
              <td data-label="Unit">{q.unit}</td>
            </tr>
          ))}
        </Table>
      </div>
      <p class="dim">
        The error is the standard error of the mean, from block averages. If the run is shorter than the correlation
        time of the chain, it is a lower bound.
      </p>
      <dl class="pairs">
        {numbers(metrics).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

// The figures of the free energy, by their file.
const landscapes = [
  { path: 'free_energy.svg', alt: 'Free energy over RMSD and radius of gyration' },
  { path: 'free_energy_pca.svg', alt: 'Free energy over the first two principal components' },
]

/** The energy landscapes that the engine has drawn. */
function Landscapes({ result }: { result: SimulationResult }) {
  const files = landscapes.flatMap(({ path, alt }) => {
    const file = result.artifacts.find((a) => a.path === path)
    return file ? [{ file, alt }] : []
  })
  if (files.length === 0) return null
  return (
    <section class="card" aria-labelledby="landscape-title">
      <h2 id="landscape-title">Energy landscape</h2>
      <p class="dim">
        How often each state was visited, as −RT ln p. It is a free energy only if every state was visited many times.
      </p>
      {files.map(({ file, alt }) => (
        <FileImage key={file.path} file={file} alt={alt} />
      ))}
    </section>
  )
}

/** The files of the simulation, and its citations to copy. */
function Files({ result }: { result: SimulationResult }) {
  const citations = result.artifacts.find((a) => a.path === 'citations.bib')
  const [bibtex, setBibtex] = useState('')
  useEffect(() => {
    if (!citations) return
    void download(citations.url).then(
      async (r) => setBibtex(await r.text()),
      () => undefined,
    )
  }, [!citations])
  return (
    <Foldable title="Files" count={result.artifacts.length} class="files-card">
      {bibtex && (
        <p class="row end">
          <Copy text={bibtex} label="Copy BibTeX" />
        </p>
      )}
      <FileTable artifacts={result.artifacts} />
    </Foldable>
  )
}
