// The form for a new question. The selection in the structure is named in the question.
import { useState } from 'preact/hooks'
import { api, ServiceError } from '../api'
import { ErrorMessage } from '../components'
import { Checkbox } from '../controls'
import type { Table } from '../plots/residues'
import { type Stretch, selection } from '../store'
import type { Source } from '../workflow'
import { describeStretches, withSelection } from './residues'

/** source: the structure to ask about; table: its residues, null while they load. */
interface Props {
  source: Source
  table: Table | null
  onAsked(id: string): void
}

/** The form: a text, suggestions, and whether the selection in the structure becomes part of the question. */
export function Composer({ source, table, onAsked }: Props) {
  const [text, setText] = useState('')
  const [attach, setAttach] = useState(true)
  const { create, busy, error } = useCreateQuestion(source, (id) => {
    setText('')
    onAsked(id)
  })
  const selected = table ? distinctStretches(selection.value) : []
  const question = table && attach ? withSelection(text.trim(), selected, table) : text.trim()
  return (
    <form
      class="composer"
      onSubmit={(e) => {
        e.preventDefault()
        void create(question, 'run')
      }}
    >
      <label class="field">
        <span>Ask about this structure</span>
        <textarea
          rows={2}
          value={text}
          maxLength={8000}
          placeholder="What does Trp6 touch?"
          onInput={(e) => setText(e.currentTarget.value)}
          onKeyDown={(e) => {
            if (e.key !== 'Enter' || e.shiftKey || e.isComposing) return
            e.preventDefault()
            void create(question, 'run')
          }}
        />
      </label>
      {selected.length > 0 && table && (
        <Checkbox
          checked={attach}
          onValue={setAttach}
          hint={attach && text.trim() !== '' && `The question will be: “${question}”`}
        >
          About the selection: {describeStretches(selected, table)}
        </Checkbox>
      )}
      <ul class="suggestions" aria-label="Suggested questions">
        {suggestions(table, selected).map((suggestion) => (
          <li key={suggestion}>
            <button type="button" class="quiet small" disabled={busy} onClick={() => void create(suggestion, 'run')}>
              {suggestion}
            </button>
          </li>
        ))}
      </ul>
      <ErrorMessage text={error} />
      <div class="row">
        <button type="submit" class="small" disabled={busy || !text.trim()}>
          Ask
        </button>
        <button
          type="button"
          class="quiet small"
          disabled={busy || !text.trim()}
          onClick={() => void create(question, 'draft')}
        >
          Save as draft
        </button>
      </div>
    </form>
  )
}

/** Creates a question as a workflow, which runs at once or stays a draft. */
function useCreateQuestion(source: Source, onCreated: (id: string) => void) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const create = async (question: string, mode: 'run' | 'draft') => {
    if (!question) return
    setBusy(true)
    try {
      const input = {
        targetSource: 'fold_job',
        source_job_id: source.job,
        source_job_run_id: source.run,
        ...(source.sequence && { source_sequence_id: source.sequence }),
        question,
      }
      const created = await api.createWorkflow('qna_v1', question.slice(0, 120), input, {
        draft: mode === 'draft',
        of: source.project,
      })
      setError('')
      onCreated(created.workflow_id)
    } catch (e) {
      setError(e instanceof ServiceError && e.status === 401 ? 'Sign in to ask.' : (e as Error).message)
    }
    setBusy(false)
  }
  return { create, busy, error }
}

const maxStretches = 8 // in one question

/** The first selected ranges without repetitions. */
function distinctStretches(list: Stretch[]): Stretch[] {
  const byName = new Map(list.map(({ chain, from, to }) => [`${chain}:${from}-${to}`, { chain, from, to }]))
  return [...byName.values()].slice(0, maxStretches)
}

/** Questions to offer: about the selection if there is one, else about the whole structure. */
function suggestions(table: Table | null, selected: Stretch[]): string[] {
  if (!table) return []
  const first = selected[0]
  if (first) {
    const subject = describeStretches([first], table)
    return [
      `How sure is the model of ${subject}?`,
      `What ${first.from < first.to ? 'do' : 'does'} ${subject} touch?`,
      `What is the secondary structure of ${subject}?`,
    ]
  }
  const questions = [
    'Describe this structure',
    'Which residues are least certain?',
    'Where are the helices and strands?',
  ]
  const [a, b] = table.chains.filter((c) => c.kind !== 'ligand')
  if (a && b) questions.push(`Which residues form the interface between chain ${a.id} and chain ${b.id}?`)
  const ligand = table.chains.find((c) => c.kind === 'ligand')
  if (ligand) questions.push(`What surrounds ${ligand.residues[0]?.name ?? 'the ligand'}?`)
  return questions
}
