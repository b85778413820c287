// All questions about one structure with their answers, and the form for the next question.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, isTerminal, type LinkedWorkflow, type WorkflowStatus } from '../api'
import { ErrorMessage } from '../components'
import { onChange } from '../events'
import { moment } from '../format'
import type { Table } from '../plots/residues'
import type { Source } from '../workflow'
import { Answer, TextWithResidues } from './Answer'
import { Composer } from './Composer'

interface Props {
  source: Source
  table: Table | null
  /** How many questions are shown; a link leads to the others. */
  limit?: number
  /** The question that the address names. */
  current?: string
  /** Whether the reader may not ask, as a viewer of the project. */
  readOnly?: boolean
}

/** The thread of a structure. It loads again while a question runs. */
export function Thread({ source, table, limit = 200, current, readOnly = false }: Props) {
  const { questions, error, load, track } = useQuestions(source)
  const active = hasActive(questions)
  useEffect(() => {
    if (current && questions) document.getElementById(`q-${current}`)?.scrollIntoView({ block: 'nearest' })
  }, [!questions, current])
  const list = useRef<HTMLOListElement>(null)
  useEffect(() => {
    if (!current && list.current) list.current.scrollTop = list.current.scrollHeight // the newest is last
  }, [questions?.length, active])
  const shown = questions?.slice(-limit) ?? []
  return (
    <div class="thread">
      {questions && questions.length > shown.length && (
        <p>
          <a href={`/ui/workflows/${questions.at(-1)!.workflowId}`}>All {questions.length} questions</a>
        </p>
      )}
      {questions?.length === 0 && <p class="dim">No questions about this structure yet.</p>}
      <ol aria-label="Questions and answers" tabIndex={0} ref={list}>
        {shown.map((q) => (
          <Entry
            key={q.workflowId}
            question={q}
            table={table}
            current={q.workflowId === current}
            readOnly={readOnly}
            reload={() => void load()}
          />
        ))}
      </ol>
      <ErrorMessage text={error} />
      {!readOnly && (
        <Composer
          source={source}
          table={table}
          onAsked={(id) => {
            track(id)
            void load()
          }}
        />
      )}
    </div>
  )
}

/** Reports whether a question is waiting or running. */
const hasActive = (questions: LinkedWorkflow[] | undefined) =>
  !!questions?.some((q) => !isTerminal(q.workflowStatus) && q.workflowStatus !== 'DRAFT')

/** Loads the questions about a structure, oldest first, again whenever one of them changes. */
function useQuestions(source: Source) {
  const [questions, setQuestions] = useState<LinkedWorkflow[]>()
  const [error, setError] = useState('')
  const ids = useRef(new Set<string>())
  const load = async () => {
    try {
      const list = await api.questions({ source_job_id: source.job, source_job_run_id: source.run, limit: 200 })
      const { sequence } = source
      const own = list.data.filter((q) => !sequence || !q.sourceSequenceId || q.sourceSequenceId === sequence)
      ids.current = new Set(own.map((q) => q.workflowId))
      setQuestions(own.reverse())
      setError('')
    } catch (e) {
      setError((e as Error).message)
    }
  }
  useEffect(() => {
    void load()
    return onChange((change) => {
      if (!change || (change.workflowId && ids.current.has(change.workflowId))) void load()
    })
  }, [source.job, source.run, source.sequence])
  const active = hasActive(questions)
  useEffect(() => {
    if (!active) return
    // An event may have been sent before the question was known here.
    const timer = setInterval(() => void load(), 2000)
    return () => clearInterval(timer)
  }, [active])
  return { questions, error, load, track: (id: string) => ids.current.add(id) }
}

interface EntryProps {
  question: LinkedWorkflow
  table: Table | null
  current: boolean
  readOnly: boolean
  reload(): void
}

/** One question with its answer, its error, or the form of its draft. */
function Entry({ question: q, table, current, readOnly, reload }: EntryProps) {
  const [failure, setFailure] = useState<string | null>(null)
  useEffect(() => {
    if (q.workflowStatus !== 'FAILED') return
    // The list does not have the reason.
    api.workflow(q.workflowId).then(
      (w) => setFailure(w.tasks[0]?.error ?? null),
      () => undefined,
    )
  }, [q.workflowId, q.workflowStatus])
  return (
    <li
      id={`q-${q.workflowId}`}
      class={current ? 'entry current' : 'entry'}
      aria-current={current ? 'true' : undefined}
      data-question={q.workflowId}
    >
      {q.workflowStatus === 'DRAFT' && !readOnly ? (
        <DraftForm question={q} reload={reload} />
      ) : (
        <>
          <p class="question">
            <TextWithResidues text={q.lastQuestion ?? ''} table={table} />
          </p>
          <Answer status={q.workflowStatus as WorkflowStatus} text={q.lastAnswer} table={table} error={failure} />
        </>
      )}
      <p class="dim small">
        <time dateTime={q.createdAt}>{moment(q.createdAt)}</time> ·{' '}
        <a href={`/ui/workflows/${q.workflowId}`}>open question</a>
      </p>
    </li>
  )
}

/** A draft, which can be edited until it is asked. */
function DraftForm({ question: q, reload }: { question: LinkedWorkflow; reload(): void }) {
  const saved = q.lastQuestion ?? ''
  const [text, setText] = useState(saved)
  const [error, setError] = useState('')
  const perform = async (action: () => Promise<unknown>) => {
    try {
      if (text !== saved) await api.draftQuestion(q.workflowId, text)
      await action()
      setError('')
      reload()
    } catch (e) {
      setError((e as Error).message)
    }
  }
  return (
    <form
      class="draft"
      onSubmit={(e) => {
        e.preventDefault()
        void perform(() => api.executeWorkflow(q.workflowId))
      }}
    >
      <label class="field">
        <span>Draft</span>
        <textarea rows={2} value={text} maxLength={8192} onInput={(e) => setText(e.currentTarget.value)} />
      </label>
      <ErrorMessage text={error} />
      <div class="row">
        <button type="submit" class="small" disabled={!text.trim()}>
          Ask now
        </button>
        <button
          type="button"
          class="quiet small"
          disabled={text === saved || !text.trim()}
          onClick={() => void perform(async () => undefined)}
        >
          Save draft
        </button>
      </div>
    </form>
  )
}
