// The page of an alignment: its progress, then the coverage and the files of each protein.
import { useEffect, useState } from 'preact/hooks'
import { type AlignedProtein, type Alignment, api, download, sameOrigin } from '../api'
import { Copy, ErrorMessage } from '../components'
import { plural } from '../format'
import { Coverage } from '../plots/Coverage'
import { WorkflowFrame } from '../workflowFrame'
import '../result/result.css'

/** The page of the alignment with this workflow id. */
export function AlignmentPage({ id }: { id: string }) {
  return (
    <WorkflowFrame id={id} what="alignment">
      {(workflow) => <Proteins key={workflow.status} id={id} />}
    </WorkflowFrame>
  )
}

/** The proteins, with their alignments once these are there. */
function Proteins({ id }: { id: string }) {
  const [alignment, setAlignment] = useState<Alignment>()
  const [error, setError] = useState('')
  useEffect(() => {
    const abort = new AbortController()
    api.alignment(id, abort.signal).then(setAlignment, (e: Error) => {
      if (!abort.signal.aborted) setError(e.message)
    })
    return () => abort.abort()
  }, [id])
  if (!alignment) return <ErrorMessage text={error} />
  return (
    <>
      {alignment.status === 'COMPLETED' && (
        <section class="card" aria-labelledby="use-title">
          <h2 id="use-title">Use this alignment</h2>
          <p>
            Any job with one of these proteins can use it, whatever its model: set the parameter{' '}
            <code>alignmentId</code> to <code>{id}</code> <Copy text={id} />
          </p>
        </section>
      )}
      {alignment.proteins.map((protein) => (
        <Protein key={protein.chain} protein={protein} />
      ))}
    </>
  )
}

/** A protein with its alignment. */
function Protein({ protein: p }: { protein: AlignedProtein }) {
  const title = `protein-${p.chain}`
  return (
    <section class="card" aria-labelledby={title}>
      <h2 id={title}>Protein {p.chain}</h2>
      <p class="dim">
        {plural(p.sequence.length, 'residue')}
        {p.depth !== null && ` · ${plural(p.depth, 'sequence')} in the alignment`}
        {p.pairedDepth !== null && ` · ${plural(p.pairedDepth, 'row')} paired with the other proteins`}
      </p>
      {p.msa_url ? <Drawn url={p.msa_url} /> : <p class="sequence">{p.sequence}</p>}
      <p class="row">
        {p.msa_url && <a href={sameOrigin(p.msa_url)}>Alignment (A3M)</a>}
        {p.paired_msa_url && <a href={sameOrigin(p.paired_msa_url)}>Paired rows (A3M)</a>}
      </p>
    </section>
  )
}

/** The coverage of an alignment. */
function Drawn({ url }: { url: string }) {
  const [text, setText] = useState('')
  const [error, setError] = useState('')
  useEffect(() => {
    const abort = new AbortController()
    download(url, abort.signal)
      .then(async (r) => setText(await r.text()))
      .catch((e: Error) => abort.signal.aborted || setError(e.message))
    return () => abort.abort()
  }, [url])
  return text ? <Coverage text={text} /> : <ErrorMessage text={error} />
}
