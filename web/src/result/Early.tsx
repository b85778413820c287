// The alignment, which is there long before the structure.
import { useEffect, useState } from 'preact/hooks'
import { download, type Results } from '../api'
import { Coverage } from '../plots/Coverage'
import { mostAlignment, of } from './load'
import { Picture } from './Picture'

export function Early({ results }: { results: Results }) {
  const file = of(results.artifacts, 'msa', '')
  const image = of(results.artifacts, 'msa_coverage_plot', '')
  const [text, setText] = useState('')
  useEffect(() => {
    if (!file || file.bytes > mostAlignment) return
    const stop = new AbortController()
    void download(file.url, stop.signal)
      .then(async (r) => setText(await r.text()))
      .catch(() => undefined) // the result shows it again
    return () => stop.abort()
  }, [file?.sha256])
  if (!text && !image) return null
  return (
    <section class="card" aria-labelledby="early-title">
      <h2 id="early-title">Alignment</h2>
      {text ? (
        <Coverage text={text} />
      ) : (
        image && <Picture file={image} alt="How many sequences of the alignment cover each residue" />
      )}
    </section>
  )
}
