// The design that is chosen: its structure, its sequence, its remarks, and its folds with other models.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { download, sameOrigin } from '../api'
import { Copy, ErrorMessage, Loading } from '../components'
import { readCif } from '../result/structure'
import { colour, reset } from '../store'
import { Stage } from '../viewer/Stage'
import { Passed } from './DesignTable'
import type { Design } from './rows'

interface Props {
  design: Design
  /** The names of the designed chains. */
  designed: string[]
}

/** The chosen design. */
export function DesignPanel({ design, designed }: Props) {
  const sequence = design.designed_chain_sequence
  return (
    <section class="card row-panel" aria-label="Chosen design" data-chosen={design.id}>
      <div class="row between">
        <h2 aria-live="polite">
          <span class="dim num">{design.final_rank}</span> {design.id}
        </h2>
        {design.pass_filters !== null && (
          <span>
            <Passed design={design} />
          </span>
        )}
      </div>
      {design.cif_url ? (
        <DesignStructure url={design.cif_url} id={design.id} designed={designed} />
      ) : (
        <p class="dim">There is no file of its structure any more.</p>
      )}
      {sequence && (
        <>
          <div class="row between">
            <h3>Sequence</h3>
            <Copy text={sequence} label="Copy sequence" />
          </div>
          <pre class="sequence" tabIndex={0} aria-label={`Sequence of ${design.id}`}>
            {sequence.replace(/(.{10})/g, '$1 ').trim()}
          </pre>
        </>
      )}
      {design.notes.map((note) => (
        <p key={note} class="dim small-text">
          {note}
        </p>
      ))}
      {design.cif_url && (
        <p>
          <a href={sameOrigin(design.cif_url)} download="">
            Download the structure
          </a>
        </p>
      )}
    </section>
  )
}

/** The structure in the viewer, the designed chains in a colour of their own. */
function DesignStructure({ url, id, designed }: { url: string; id: string; designed: string[] }) {
  const [found, setFound] = useState<{ of: string; text: string } | Error>()
  useEffect(() => {
    const abort = new AbortController()
    colour.value = 'design'
    download(url, abort.signal)
      .then((r) => r.text())
      .then(
        (text) => {
          reset()
          setFound({ of: id, text })
        },
        (e: Error) => abort.signal.aborted || setFound(e),
      )
    return () => abort.abort()
  }, [id]) // the signed URL differs at each reading, the structure does not
  useEffect(
    () => () => {
      reset()
      colour.value = 'plddt'
    },
    [],
  )
  if (found instanceof Error) return <ErrorMessage text={`The structure could not be loaded: ${found.message}`} />
  if (!found) return <Loading what="Loading the structure" />
  return (
    <div class={found.of === id ? '' : 'outdated'} aria-busy={found.of !== id} data-structure={found.of}>
      <Drawing found={found} designed={designed} />
    </div>
  )
}

/** The viewer with the structure that is loaded. */
function Drawing({ found, designed }: { found: { of: string; text: string }; designed: string[] }) {
  const drawn = useMemo(() => drawingOf(found), [found])
  return (
    <Stage {...drawn} designed={designed} colours={['design', 'plddt', 'continuous', 'chain', 'secondary', 'type']} />
  )
}

/** The source of the viewer. The source must stay the same object while it is shown. */
const drawingOf = ({ of, text }: { of: string; text: string }) => ({
  name: of.replace(/[^\w.-]+/g, '-'),
  source: { format: 'mmcif' as const, text },
  table: readCif(text, new Map(), {}).table,
})
