// The questions of one structure with their answers, and the form for the next. Residues in an answer are chips: they show
// themselves in the structure. What is selected there goes with the question.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { api, isTerminal, type LinkedWorkflow, ServiceError, type WorkflowState } from '../api'
import { StatusChip } from '../components'
import { onChange } from '../events'
import { moment } from '../format'
import type { Table } from '../plots/residues'
import { hover, type Stretch, select, selection } from '../store'
import { attached, pieces, words } from './residues'

export interface Source {
  job: string
  run: string
  sequence: string
}

interface Props {
  source: Source
  table: Table | null
  most?: number // how many are shown; the rest is behind a link
  current?: string // the one that the address names
}

export function Thread({ source, table, most = 200, current }: Props) {
  const [rows, setRows] = useState<LinkedWorkflow[]>()
  const [trouble, setTrouble] = useState('')
  const known = useRef(new Set<string>())
  const read = async () => {
    try {
      const list = await api.questions({ source_job_id: source.job, source_job_run_id: source.run, limit: 200 })
      const mine = list.data.filter(
        (r) => !source.sequence || !r.sourceSequenceId || r.sourceSequenceId === source.sequence,
      )
      known.current = new Set(mine.map((r) => r.workflowId))
      setRows(mine.reverse())
      setTrouble('')
    } catch (e) {
      setTrouble((e as Error).message)
    }
  }
  useEffect(() => {
    void read()
    return onChange((change) => {
      if (!change || (change.workflowId && known.current.has(change.workflowId))) void read()
    })
  }, [source.job, source.run, source.sequence])
  const running = rows?.some((r) => !isTerminal(r.workflowStatus) && r.workflowStatus !== 'DRAFT')
  useEffect(() => {
    // news may have passed before the question was known here
    if (!running) return
    const timer = setInterval(() => void read(), 2000)
    return () => clearInterval(timer)
  }, [running])
  useEffect(() => {
    if (current && rows) document.getElementById('q-' + current)?.scrollIntoView({ block: 'nearest' })
  }, [!rows, current])

  const list = useRef<HTMLOListElement>(null)
  const count = rows?.length
  useEffect(() => {
    // the newest stands at the end
    if (!current && list.current) list.current.scrollTop = list.current.scrollHeight
  }, [count, running])
  const shown = rows?.slice(-most) ?? []
  return (
    <div class="thread">
      {rows && rows.length > shown.length && (
        <p>
          <a href={`/ui/workflows/${rows[rows.length - 1]!.workflowId}`}>All {rows.length} questions</a>
        </p>
      )}
      {rows?.length === 0 && <p class="dim">Nothing has been asked about this structure yet.</p>}
      <ol aria-label="Questions and answers" tabIndex={0} ref={list}>
        {shown.map((r) => (
          <Entry row={r} table={table} current={r.workflowId === current} again={() => void read()} />
        ))}
      </ol>
      {trouble && (
        <p class="refused" role="alert">
          {trouble}
        </p>
      )}
      <Composer
        source={source}
        table={table}
        asked={(id) => {
          known.current.add(id)
          void read()
        }}
      />
    </div>
  )
}

function Entry({
  row,
  table,
  current,
  again,
}: {
  row: LinkedWorkflow
  table: Table | null
  current: boolean
  again(): void
}) {
  const draft = row.workflowStatus === 'DRAFT'
  const [why, setWhy] = useState<string | null>(null)
  useEffect(() => {
    // the list does not say why a question failed
    if (row.workflowStatus === 'FAILED')
      void api.workflow(row.workflowId).then(
        (w) => setWhy(w.tasks[0]?.error ?? null),
        () => undefined,
      )
  }, [row.workflowId, row.workflowStatus])
  return (
    <li
      id={'q-' + row.workflowId}
      class={current ? 'entry current' : 'entry'}
      aria-current={current ? 'true' : undefined}
      data-question={row.workflowId}
    >
      {draft ? (
        <Draft row={row} again={again} />
      ) : (
        <>
          <p class="question">
            <Said text={row.lastQuestion ?? ''} table={table} />
          </p>
          <Answer state={row.workflowStatus as WorkflowState} text={row.lastAnswer} table={table} error={why} />
        </>
      )}
      <p class="dim small">
        <time dateTime={row.createdAt}>{moment(row.createdAt)}</time> ·{' '}
        <a href={`/ui/workflows/${row.workflowId}`}>link</a>
      </p>
    </li>
  )
}

/** Answer is a reply with its residues as chips, and who gave it. */
export function Answer({
  state,
  text,
  table,
  error,
}: {
  state: WorkflowState
  text: string | null
  table: Table | null
  error?: string | null
}) {
  if (state === 'FAILED' || state === 'STOPPED')
    return (
      <p class="refused">
        {error ||
          (state === 'STOPPED'
            ? 'The question was stopped before it was answered.'
            : 'The question could not be answered.')}{' '}
        <StatusChip status={state} />
      </p>
    )
  if (!text)
    return (
      <p class="dim" aria-busy="true">
        {state === 'RUNNING' ? 'Being answered…' : 'Waiting to be answered…'}
      </p>
    )
  const signature = /\n— (.+)$/.exec(text)
  const body = signature ? text.slice(0, signature.index) : text
  return (
    <div class="reply" data-answer="">
      {body
        .split('\n')
        .filter((p) => p.trim())
        .map((p) => (
          <p>
            <Said text={p} table={table} />
          </p>
        ))}
      <p class="dim small engine">{signature ? 'Answered by ' + signature[1] : ''}</p>
    </div>
  )
}

/** Said is a text whose residues can be pointed at and clicked. */
export function Said({ text, table }: { text: string; table: Table | null }) {
  const parts = useMemo(() => (table ? pieces(text, table) : [text]), [text, table])
  return <>{parts.map((p) => (typeof p === 'string' ? p : <Chip text={p.text} stretches={p.stretches} />))}</>
}

function Chip({ text, stretches }: { text: string; stretches: Stretch[] }) {
  const s = stretches[0]!
  const on = selection.value.some((m) => m.as === 'picked' && m.chain === s.chain && m.from === s.from && m.to === s.to)
  const show = () => {
    hover.value = [{ chain: s.chain, residue: s.from }, ...(s.to > s.from ? [{ chain: s.chain, residue: s.to }] : [])]
  }
  return (
    <button
      type="button"
      class="residue"
      aria-pressed={on}
      title="Show it in the structure"
      data-residue={`${s.chain}:${s.from}-${s.to}`}
      onMouseEnter={show}
      onMouseLeave={() => (hover.value = [])}
      onClick={() => select(on ? [] : stretches)}
    >
      {text}
    </button>
  )
}

function Draft({ row, again }: { row: LinkedWorkflow; again(): void }) {
  const [text, setText] = useState(row.lastQuestion ?? '')
  const [trouble, setTrouble] = useState('')
  const act = async (run: boolean) => {
    try {
      if (text !== (row.lastQuestion ?? '')) await api.draftQuestion(row.workflowId, text)
      if (run) await api.executeWorkflow(row.workflowId)
      setTrouble('')
      again()
    } catch (e) {
      setTrouble((e as Error).message)
    }
  }
  return (
    <form
      class="draft"
      onSubmit={(e) => {
        e.preventDefault()
        void act(true)
      }}
    >
      <label class="field">
        <span>Draft</span>
        <textarea rows={2} value={text} maxLength={8192} onInput={(e) => setText(e.currentTarget.value)} />
      </label>
      {trouble && (
        <p class="refused" role="alert">
          {trouble}
        </p>
      )}
      <div class="row">
        <button type="submit" class="small" disabled={!text.trim()}>
          Ask it
        </button>
        <button
          type="button"
          class="quiet small"
          disabled={text === (row.lastQuestion ?? '') || !text.trim()}
          onClick={() => void act(false)}
        >
          Keep the change
        </button>
      </div>
    </form>
  )
}

function Composer({ source, table, asked }: { source: Source; table: Table | null; asked(id: string): void }) {
  const [text, setText] = useState('')
  const [attach, setAttach] = useState(true)
  const [busy, setBusy] = useState(false)
  const [trouble, setTrouble] = useState('')
  const marked = selection.value
  const selected = table ? stretchesOf(marked) : []
  const question = table && attach ? attached(text.trim(), selected, table) : text.trim()
  const send = async (what: string, draft: boolean) => {
    if (!what) return
    setBusy(true)
    try {
      const made = await api.createWorkflow(
        'qna_v1',
        what.slice(0, 120),
        {
          targetSource: 'fold_job',
          source_job_id: source.job,
          source_job_run_id: source.run,
          ...(source.sequence && { source_sequence_id: source.sequence }),
          question: what,
        },
        draft,
      )
      setText('')
      setTrouble('')
      asked(made.workflow_id)
    } catch (e) {
      setTrouble(e instanceof ServiceError && e.status === 401 ? 'Sign in to ask.' : (e as Error).message)
    }
    setBusy(false)
  }
  return (
    <form
      class="composer"
      onSubmit={(e) => {
        e.preventDefault()
        void send(question, false)
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
            if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) {
              e.preventDefault()
              void send(question, false)
            }
          }}
        />
      </label>
      {selected.length > 0 && table && (
        <label class="check">
          <input type="checkbox" checked={attach} onChange={(e) => setAttach(e.currentTarget.checked)} />
          <span>
            About what is selected: {words(selected, table)}
            {attach && text.trim() && <small>Asked will be: “{question}”</small>}
          </span>
        </label>
      )}
      <ul class="suggestions" aria-label="Questions to begin with">
        {suggestions(table, selected).map((s) => (
          <li>
            <button type="button" class="quiet small" disabled={busy} onClick={() => void send(s, false)}>
              {s}
            </button>
          </li>
        ))}
      </ul>
      {trouble && (
        <p class="refused" role="alert">
          {trouble}
        </p>
      )}
      <div class="row">
        <button type="submit" class="small" disabled={busy || !text.trim()}>
          Ask
        </button>
        <button
          type="button"
          class="quiet small"
          disabled={busy || !text.trim()}
          onClick={() => void send(question, true)}
        >
          Keep as draft
        </button>
      </div>
    </form>
  )
}

function stretchesOf(marked: Stretch[]): Stretch[] {
  const seen = new Set<string>()
  return marked
    .map(({ chain, from, to }) => ({ chain, from, to }))
    .filter((s) => !seen.has(`${s.chain}${s.from}-${s.to}`) && seen.add(`${s.chain}${s.from}-${s.to}`))
    .slice(0, 8)
}

function suggestions(table: Table | null, selected: Stretch[]): string[] {
  if (!table) return []
  if (selected.length > 0) {
    const about = words(selected.slice(0, 1), table)
    return [
      `How sure is the model of ${about}?`,
      `What does ${about} touch?`,
      `What is the secondary structure of ${about}?`,
    ].map((q) => (selected[0]!.from < selected[0]!.to ? q.replace('What does', 'What do') : q))
  }
  const out = ['Describe this structure', 'Which residues are least certain?', 'Where are the helices and strands?']
  const polymers = table.chains.filter((c) => c.kind !== 'ligand')
  const ligand = table.chains.find((c) => c.kind === 'ligand')
  if (polymers.length > 1)
    out.push(`Which residues form the interface between chain ${polymers[0]!.id} and chain ${polymers[1]!.id}?`)
  if (ligand) out.push(`What surrounds ${ligand.residues[0]?.name ?? 'the ligand'}?`)
  return out
}
