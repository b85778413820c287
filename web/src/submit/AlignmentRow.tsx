// The alignment of one protein: the user's own A3M file in place of an MSA search.
import { useState } from 'preact/hooks'
import { FileButton } from '../controls'
import { plural } from '../format'
import { maxAlignmentBytes } from './alignment'
import { alignmentProblem, type Item, usesAlignments } from './draft'
import { attachAlignment, draft, model, removeAlignments } from './state'

/** title names the chain for screen readers. */
export function AlignmentRow({ item, title }: { item: Item; title: string }) {
  const [error, setError] = useState('')
  const [reading, setReading] = useState(false)
  const read = async ([file]: File[]) => {
    if (!file) return
    setReading(true)
    try {
      const { plainFile } = await import('../plainFile')
      await attachAlignment(await plainFile(file, maxAlignmentBytes), item.key)
      setError('')
    } catch (e) {
      setError((e as Error).message)
    }
    setReading(false)
  }
  const remove = () => {
    setError('')
    removeAlignments(item.key)
  }
  const { alignment } = item
  return (
    <div class="alignment" data-alignment={alignment ? alignment.rows : ''}>
      <div class="row">
        {alignment && (
          <span class="small-text">
            <span class="dim">Alignment</span> {alignment.name}
            <span class="dim num">, {plural(alignment.rows, 'sequence')}</span>
          </span>
        )}
        <FileButton
          accept=".a3m,.gz"
          class="bare"
          disabled={reading}
          aria-label={alignment ? `Replace the alignment of ${title}` : `Upload an alignment for ${title}`}
          inputLabel={`Alignment file of ${title}`}
          onFiles={(files) => void read(files)}
        >
          {reading ? 'Reading…' : alignment ? 'Replace…' : 'Upload an alignment…'}
        </FileButton>
        {(alignment ?? item.msa) && (
          <button type="button" class="bare" aria-label={`Remove the alignment of ${title}`} onClick={remove}>
            Remove
          </button>
        )}
        {!alignment && item.msa && <span class="dim small-text">Uses an alignment of the library</span>}
        {!alignment && !item.msa && <span class="dim small-text">A3M file, used instead of an MSA search</span>}
      </div>
      {error && (
        <p class="wrong" role="alert">
          {error}
        </p>
      )}
      {alignment && <Fit item={item} name={alignment.name} />}
    </div>
  )
}

/** Whether the alignment belongs to the sequence, and whether the model uses it. */
function Fit({ item, name }: { item: Item; name: string }) {
  const problem = alignmentProblem(item)
  const m = model.value
  if (problem)
    return (
      <p class="wrong">
        {name} {problem}.
      </p>
    )
  if (!m || usesAlignments(draft.value, m)) return null
  const reason = m.features.includes('msa') ? 'msaAlgorithm is “none”' : `${m.name} does not use alignments`
  return <p class="dim small-text">Not used: {reason}.</p>
}
