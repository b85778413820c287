// An answer, whose residues are buttons that show them in the structure.
import { useMemo } from 'preact/hooks'
import type { WorkflowStatus } from '../api'
import { StatusChip } from '../components'
import type { Table } from '../plots/residues'
import { hover, type Stretch, select, selection } from '../store'
import { splitResidues } from './residues'

/** status, text and error are those of the question; table is the structure, null while it loads. */
interface AnswerProps {
  status: WorkflowStatus
  text: string | null
  table: Table | null
  error: string | null
}

/** An answer with the engine that gave it, or the reason why there is none. */
export function Answer({ status, text, table, error }: AnswerProps) {
  if (status === 'FAILED' || status === 'STOPPED') {
    const reason = status === 'STOPPED' ? 'The question was stopped.' : 'The question could not be answered.'
    return (
      <p class="error">
        {error || reason} <StatusChip status={status} />
      </p>
    )
  }
  if (!text)
    return (
      <p class="dim" aria-busy="true">
        {status === 'RUNNING' ? 'Answering…' : 'In the queue…'}
      </p>
    )
  // The service signs an answer with a last line such as "— analyst 1.0".
  const signature = /\n— (.+)$/.exec(text)
  const paragraphs = (signature ? text.slice(0, signature.index) : text).split('\n').filter((p) => p.trim())
  return (
    <div class="reply" data-answer="">
      {paragraphs.map((p, i) => (
        <p key={`${i} ${p}`}>
          <TextWithResidues text={p} table={table} />
        </p>
      ))}
      <p class="dim small engine">{signature ? `Answered by ${signature[1]}` : ''}</p>
    </div>
  )
}

/** A text in which residues of the structure are buttons. */
export function TextWithResidues({ text, table }: { text: string; table: Table | null }) {
  const parts = useMemo(() => (table ? splitResidues(text, table) : [text]), [text, table])
  return (
    <>
      {parts.map((part, i) =>
        typeof part === 'string' ? (
          part
        ) : (
          <ResidueChip key={`${i} ${part.text}`} text={part.text} stretch={part.stretch} />
        ),
      )}
    </>
  )
}

/** A button that selects residues in the structure, and marks them while the pointer is on it. */
function ResidueChip({ text, stretch }: { text: string; stretch: Stretch }) {
  const { chain, from, to } = stretch
  const selected = selection.value.some((m) => m.as === 'picked' && m.chain === chain && m.from === from && m.to === to)
  const showHover = () => {
    hover.value =
      to > from
        ? [
            { chain, residue: from },
            { chain, residue: to },
          ]
        : [{ chain, residue: from }]
  }
  return (
    <button
      type="button"
      class="residue"
      aria-pressed={selected}
      title="Show in the structure"
      data-residue={`${chain}:${from}-${to}`}
      onMouseEnter={showHover}
      onMouseLeave={() => (hover.value = [])}
      onClick={() => select(selected ? [] : [stretch])}
    >
      {text}
    </button>
  )
}
