// The head of a batch: name, status, the rows by status, and what its owner can do with it.
import { useEffect, useState } from 'preact/hooks'
import { api, type Batch } from '../api'
import { ErrorMessage, StatusChip } from '../components'
import { moment, plural } from '../format'
import { Access, Belongs } from '../people/Access'
import { mayChange } from '../project'
import { navigate } from '../router'
import { Counts, CountsBar } from './Counts'
import { kindNames } from './kinds'
import { Rerun } from './Rerun'

interface Props {
  batch: Batch
  /** Reads the batch again after an action. */
  reload(): Promise<void>
}

/** The head of the page of a batch. */
export function BatchHead({ batch: b, reload }: Props) {
  const [error, setError] = useState('')
  const [repeating, setRepeating] = useState(false)
  const perform = async (action: () => Promise<unknown>, then: () => unknown = reload) => {
    try {
      await action()
      setError('')
      await then()
    } catch (e) {
      setError((e as Error).message)
    }
  }
  useEffect(() => {
    document.title = `${b.name} · Pleat`
  }, [b.name])
  return (
    <>
      <header class="head">
        <div class="grow">
          <h1>{b.name}</h1>
          <p class="dim">
            <StatusChip status={b.status} /> {kindNames[b.kind]} · {b.modelName} · {describeRows(b)} ·{' '}
            <time dateTime={b.createdAt}>{moment(b.createdAt)}</time>
            <Belongs of={b} isPublic={b.isPublic} />
            {b.expiresAt && ` · kept until ${moment(b.expiresAt)}`}
            {b.sourceBatchId && (
              <>
                {' '}
                · <a href={`/ui/batches/${b.sourceBatchId}`}>rows of another batch</a>
              </>
            )}
          </p>
        </div>
        {mayChange(b) && (
          <OwnerActions
            batch={b}
            reload={reload}
            perform={(action, then) => void perform(action, then)}
            repeat={() => setRepeating(!repeating)}
            repeating={repeating}
          />
        )}
      </header>
      <div class="batch-progress" role="group" aria-label="Rows by status">
        <CountsBar name={b.name} counts={b.counts} rows={b.rows} />
        <Counts counts={b.counts} />
      </div>
      <ErrorMessage text={error} />
      {repeating && <Rerun batch={b} close={() => setRepeating(false)} />}
    </>
  )
}

/** The rows, and how many of them are computed. */
function describeRows({ rows, jobs }: Batch): string {
  const text = plural(rows, 'row')
  return jobs < rows ? `${text}, of which ${jobs.toLocaleString('en')} differ` : text
}

interface ActionsProps extends Props {
  /** Runs an action and what follows it, which is to read the batch again if nothing is said. */
  perform(action: () => Promise<unknown>, then?: () => unknown): void
  repeat(): void
  repeating: boolean
}

/** The switch for the public link, and the buttons to stop, retry, repeat and delete. */
function OwnerActions({ batch: b, reload, perform, repeat, repeating }: ActionsProps) {
  const ended = b.finishedAt !== null
  const failed = (b.counts.FAILED ?? 0) + (b.counts.STOPPED ?? 0)
  const stop = () => {
    const left = (b.counts.INITIALIZED ?? 0) + (b.counts.RUNNING ?? 0)
    if (confirm(`Stop ${plural(left, 'row')} that ${left === 1 ? 'has' : 'have'} not ended?`))
      perform(() => api.cancelBatch(b.batchId))
  }
  const remove = () => {
    if (!confirm(`Delete “${b.name}” with ${plural(b.rows, 'row')} and all their files? This cannot be undone.`)) return
    perform(
      () => api.deleteBatch(b.batchId),
      () => navigate('/ui/batches'),
    )
  }
  return (
    <div class="head-actions">
      <Access
        of={b}
        kind="batches"
        id={b.batchId}
        isPublic={b.isPublic}
        setPublic={(v) => api.setBatchPublic(b.batchId, v).then(reload)}
        what="batch"
        reload={reload}
      />
      <div class="row">
        {!ended && (
          <button type="button" class="quiet small" onClick={stop}>
            Stop
          </button>
        )}
        {ended && failed > 0 && (
          <button type="button" class="quiet small" onClick={() => perform(() => api.retryBatch(b.batchId))}>
            Retry {plural(failed, 'row')}
          </button>
        )}
        <button type="button" class="quiet small" aria-expanded={repeating} onClick={repeat}>
          Run with other settings
        </button>
        <button type="button" class="danger small" onClick={remove}>
          Delete
        </button>
      </div>
    </div>
  )
}
