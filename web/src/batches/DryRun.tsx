// The settings of a new batch, what the service says about it before it is created, and the button that creates it.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { api, type BatchValidation, type CreateBatch, type Model } from '../api'
import { Copy, ErrorMessage } from '../components'
import { Checkbox, Input } from '../controls'
import { about, asSentence, plural, randomHex } from '../format'
import { inProject } from '../project'
import { navigate } from '../router'
import { shellQuote } from '../submit/body'
import { ModelSettings } from '../submit/ModelSettings'
import { loadWebhook, webhook } from '../submit/state'
import { Table } from '../table'
import { isNotified, WebhookSwitch } from '../webhooks/Switch'
import { batchName, type Draft, faultOf, missing, type Sources, sizeOf, toBatch } from './draft'

interface Props {
  draft: Draft
  sources: Sources
  models: Model[] | Error | null
  update(fields: Partial<Draft>): void
}

/** The answer of the service about a request. */
interface Checked {
  body: CreateBatch
  json: string
  result: BatchValidation | Error
}

const checkDelay = 600 // ms after the last change
const maxChecked = 1 << 20 // characters; a larger batch is checked only when it is asked for

/** The settings, the dry run and the button. */
export function DryRun({ draft, sources, models, update }: Props) {
  const model = Array.isArray(models) ? models.find((m) => m.name === draft.model) : undefined
  const lacks = missing(draft, sources)
  const body = useMemo(
    () => (lacks ? null : { ...inProject(), ...toBatch(draft, sources, model) }),
    [draft, sources, model, lacks],
  )
  const large = sizeOf(draft) > maxChecked
  const { checked, checking, check } = useCheck(body, !large && !!model)
  const { create, busy, error } = useCreate()
  const current = checked?.body === body ? checked : undefined
  const v = current && !(current.result instanceof Error) ? current.result : undefined
  const problemsOf = (name: string) =>
    (v?.errors ?? []).filter((e) => e.field === `params.${name}`).map((e) => e.message)
  return (
    <form
      class="card run"
      aria-label="Settings"
      onSubmit={(e) => {
        e.preventDefault()
        if (v?.valid) void create(current!.json)
      }}
    >
      <label class="field">
        <span>Name</span>
        <Input
          maxLength={255}
          placeholder={batchName({ ...draft, name: '' })}
          value={draft.name}
          onValue={(name) => update({ name })}
        />
      </label>
      {!draft.file?.body.params && (
        <ModelSettings models={models} settings={draft} update={update} problemsOf={problemsOf} />
      )}
      <hr />
      {!draft.file?.body.webhooks && (
        <>
          <Notification draft={draft} update={update} />
          <hr />
        </>
      )}
      <Checkbox
        checked={draft.isPublic}
        onValue={(isPublic) => update({ isPublic })}
        hint="Anyone with the link can read the table and the results, without a key."
      >
        Public
      </Checkbox>
      <div class="run-foot">
        <div role="status" data-valid={v ? (v.valid ? 'yes' : 'no') : undefined}>
          {lacks && <p class="hint">{lacks}</p>}
          {!lacks && !current && (
            <p class="hint">{checking ? 'Checking…' : large ? 'Not checked yet.' : 'Checking…'}</p>
          )}
          {current?.result instanceof Error && (
            <p class="error">The batch could not be checked: {current.result.message}</p>
          )}
          {v && (v.valid || isTooMany(v)) && <Summary v={v} />}
          {v && v.notes.length > 0 && (
            <div class="scroll fault-list" tabIndex={0} role="region" aria-label="Notes">
              {v.notes.map((note) => (
                <p key={note} class="hint">
                  {note}
                </p>
              ))}
            </div>
          )}
          {v && v.errors.length > 0 && <Faults v={v} body={current!.body} sources={sources} />}
        </div>
        <ErrorMessage text={error} />
        {large && !current && (
          <button type="button" class="quiet wide" disabled={!body || checking} onClick={check}>
            Check
          </button>
        )}
        <button type="submit" class="wide" disabled={busy || !v?.valid}>
          {busy ? 'Creating…' : v?.valid ? `Create a batch of ${plural(v.rows, 'row')}` : 'Create batch'}
        </button>
      </div>
      {current && <Curl json={current.json} body={current.body} />}
    </form>
  )
}

/** The switch for the webhook, and that for the events of the rows. */
function Notification({ draft: { notify, notifyRows }, update }: Pick<Props, 'draft' | 'update'>) {
  useEffect(() => void loadWebhook(), [])
  const config = webhook.value
  return (
    <fieldset class="follow">
      <legend>When it is done</legend>
      <WebhookSwitch config={config} notify={notify} setNotify={(notify) => update({ notify })} />
      {isNotified(config, notify) && (
        <Checkbox
          checked={notifyRows}
          onValue={(notifyRows) => update({ notifyRows })}
          hint="A message for each row when it ends, besides the one for the whole batch."
        >
          For each row, too
        </Checkbox>
      )}
    </fieldset>
  )
}

/** Asks the service about a request, shortly after each change if automatic. Only the answer to the newest counts. */
function useCheck(body: CreateBatch | null, automatic: boolean) {
  const [checked, setChecked] = useState<Checked>()
  const [checking, setChecking] = useState(false)
  const running = useRef<AbortController | undefined>(undefined)
  const check = async () => {
    if (!body) return
    running.current?.abort()
    const mine = new AbortController()
    running.current = mine
    setChecking(true)
    const json = JSON.stringify(body)
    const result = await api.validateBatch(json, mine.signal).catch((e: Error) => e)
    if (mine.signal.aborted) return
    setChecked({ body, json, result })
    setChecking(false)
  }
  useEffect(() => {
    running.current?.abort()
    setChecking(false)
    if (!automatic || !body) return
    const timer = setTimeout(() => void check(), checkDelay)
    return () => clearTimeout(timer)
  }, [body, automatic])
  useEffect(() => () => running.current?.abort(), [])
  return { checked, checking, check: () => void check() }
}

/** Creates a batch and opens it. If the same request is repeated, its idempotency key makes it one batch. */
function useCreate() {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const last = useRef({ json: '', key: '' })
  const create = async (json: string) => {
    setBusy(true)
    setError('')
    if (last.current.json !== json) last.current = { json, key: randomHex(16) }
    try {
      navigate(`/ui/batches/${(await api.createBatch(json, last.current.key)).batchId}`)
    } catch (e) {
      setError((e as Error).message)
    }
    setBusy(false)
  }
  return { create, busy, error }
}

/** Whether only the quota is in the way. */
const isTooMany = (v: BatchValidation) => v.errors.length === 1 && v.rows > v.quotaRemaining

/** The cost of the batch. */
function Summary({ v }: { v: BatchValidation }) {
  const facts: [string, string][] = [
    ['Rows', v.rows.toLocaleString('en')],
    ['Equal rows', v.jobs < v.rows ? `${(v.rows - v.jobs).toLocaleString('en')}, not computed again` : 'none'],
    ['Size', `${plural(v.tokens, 'token')}; the largest row has ${v.largestTokens.toLocaleString('en')}`],
    ['Time', v.expectedSeconds > 0 ? `${about(v.expectedSeconds)} of one core or device` : 'not known'],
    ...(v.alignments > 0
      ? [
          ['Alignments', `of ${plural(v.alignments, 'protein')}, ${v.alignmentsAtHand} of them at hand`] as [
            string,
            string,
          ],
        ]
      : []),
    ['Quota', `${v.rows.toLocaleString('en')} of the ${plural(v.quotaRemaining, 'row')} left today`],
  ]
  return (
    <dl class="facts dry-run">
      {facts.map(([name, text]) => (
        <div key={name} class="fact">
          <dt>{name}</dt>
          <dd class="num">{text}</dd>
        </div>
      ))}
    </dl>
  )
}

const maxFaults = 100 // the most that the service names

/** The faults, by row. */
function Faults({ v, body, sources }: { v: BatchValidation; body: CreateBatch; sources: Sources }) {
  const faults = v.errors.map((e) => faultOf(e, body, sources))
  const general = faults.filter((f) => f.place === '')
  const placed = faults.filter((f) => f.place !== '')
  return (
    <div class="faults">
      {general.map((f) => (
        <p key={f.message} class="error">
          {asSentence(f.message)}
        </p>
      ))}
      {placed.length > 0 && (
        <>
          <p class="error">
            {placed.length >= maxFaults
              ? `At least ${plural(placed.length, 'problem')}`
              : plural(placed.length, 'problem')}{' '}
            to fix.
          </p>
          <div class="scroll fault-list" tabIndex={0} role="region" aria-label="Problems by row">
            <Table columns={['Where', 'Problem']}>
              {placed.map((f, i) => (
                <tr key={i} data-fault={f.place}>
                  <td>
                    {f.place}
                    {f.id && <div class="mono">{f.id}</div>}
                    {f.line > 0 && <div class="dim small-text">line {f.line}</div>}
                  </td>
                  <td>{asSentence(f.message)}</td>
                </tr>
              ))}
            </Table>
          </div>
        </>
      )}
    </div>
  )
}

const maxCommand = 64 << 10 // characters; a larger request is a file beside the command

/** The request as a curl command. */
function Curl({ json, body }: { json: string; body: CreateBatch }) {
  const small = json.length <= maxCommand
  const data = small ? shellQuote(JSON.stringify(body, null, 2)) : '@batch.json'
  const command =
    `curl -sS ${location.origin}/v1/batches \\\n  -H "Authorization: Bearer $PLEAT_KEY" ` +
    `-H 'Content-Type: application/json' \\\n  -d ${data}`
  const save = () => {
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob([json], { type: 'application/json' }))
    link.download = 'batch.json'
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 1000)
  }
  return (
    <details class="more curl">
      <summary>Show as curl</summary>
      <pre tabIndex={0} aria-label="The request as a command">
        {command}
      </pre>
      <div class="row">
        <Copy text={command} />
        {!small && (
          <button type="button" class="quiet small" onClick={save}>
            Save batch.json
          </button>
        )}
      </div>
    </details>
  )
}
