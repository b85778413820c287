// The alignment of a run that has not ended: it exists long before the structure.
import { useEffect, useState } from 'preact/hooks'
import { download, type Results } from '../api'
import { Coverage } from '../plots/Coverage'
import { FileImage } from './FileImage'
import { findFile, maxAlignmentBytes } from './load'

/** Draws the coverage of the alignment, or shows the service's plot while the file loads or if it is too large. */
export function EarlyAlignment({ results }: { results: Results }) {
  const file = findFile(results.artifacts, 'msa', '')
  const image = findFile(results.artifacts, 'msa_coverage_plot', '')
  const [text, setText] = useState('')
  useEffect(() => {
    if (!file || file.bytes > maxAlignmentBytes) return
    const abort = new AbortController()
    void download(file.url, abort.signal)
      .then(async (r) => setText(await r.text()))
      .catch(() => undefined) // the completed result shows the alignment again
    return () => abort.abort()
  }, [file?.sha256])
  if (!text && !image) return null
  return (
    <section class="card" aria-labelledby="early-title">
      <h2 id="early-title">Alignment</h2>
      {text ? <Coverage text={text} /> : image && <FileImage file={image} alt="Alignment coverage by residue" />}
    </section>
  )
}
