// Structures that the model gets as examples of protein chains.
import { useEffect, useState } from 'preact/hooks'
import { api, type JobRow, type LibraryRow } from '../api'
import { Checkbox, Input, Select } from '../controls'
import { when } from '../format'
import { fetchesPDB } from '../session'
import { newTemplate, type Template, type TemplateSource } from './draft'
import { Problems } from './Problems'
import { chainNames } from './sequences'
import { draft, model, problemsOf, update } from './state'

const maxTemplates = 20 // of a job
const listed = 200 // items and jobs that the menus have, the newest first

const sourceNames: Record<TemplateSource, string> = {
  library: 'Library',
  job: 'Earlier job',
  pdb: 'Protein Data Bank',
}

/** Applies a change to the templates of the draft. */
const change = (apply: (list: Template[]) => Template[]) => update({ templates: apply(draft.peek().templates) })

/** The templates of the draft, if it has some or the model takes them. */
export function Templates() {
  const { templates } = draft.value
  const supported = model.value?.features.includes('templates')
  if (templates.length === 0 && !supported) return null
  return (
    <details class="card more" open={templates.length > 0}>
      <summary>Templates</summary>
      <p class="dim small-text">
        A structure as an example of a protein chain. It must have at least 3 residues in common with the chain.
      </p>
      {templates.map((t, i) => (
        <Row key={t.key} template={t} index={i} />
      ))}
      <Problems messages={problemsOf((p) => p.part === 'template' && p.index < 0)} />
      {templates.length < maxTemplates && (
        <button type="button" class="quiet small" onClick={() => change((list) => [...list, newTemplate()])}>
          Add a template
        </button>
      )}
    </details>
  )
}

/** One template. index is its place in the list. */
function Row({ template: t, index }: { template: Template; index: number }) {
  const name = `template ${index + 1}`
  const set = (fields: Partial<Template>) =>
    change((list) => list.map((other) => (other.key === t.key ? { ...other, ...fields } : other)))
  const sources = (Object.keys(sourceNames) as TemplateSource[]).filter(
    (s) => s !== 'pdb' || fetchesPDB.value || t.source === 'pdb',
  )
  return (
    <div class="rule template" role="group" aria-label={`Template ${index + 1}`}>
      <div class="row">
        <Select
          aria-label={`Source of ${name}`}
          value={t.source}
          onValue={(source) => set({ source: source as TemplateSource, id: '', file: '' })}
        >
          {sources.map((s) => (
            <option key={s} value={s}>
              {sourceNames[s]}
            </option>
          ))}
        </Select>
        {t.source === 'library' && <LibraryFile template={t} name={name} set={set} />}
        {t.source === 'job' && <JobStructure template={t} name={name} set={set} />}
        {t.source === 'pdb' && (
          <Input
            class="mono"
            aria-label={`Entry of ${name}`}
            placeholder="1UBQ"
            maxLength={12}
            value={t.id}
            onValue={(id) => set({ id })}
          />
        )}
        <span class="grow" />
        <button
          type="button"
          class="bare"
          aria-label={`Remove ${name}`}
          onClick={() => change((list) => list.filter((other) => other.key !== t.key))}
        >
          Remove
        </button>
      </div>
      <div class="row">
        <label class="inline">
          <span>Its chain</span>
          <Input
            placeholder="the only one"
            aria-label={`Chain in the file of ${name}`}
            maxLength={64}
            value={t.templateChain}
            onValue={(templateChain) => set({ templateChain })}
          />
        </label>
        <TargetChain template={t} name={name} set={set} />
        <Force template={t} name={name} set={set} />
      </div>
      <Problems messages={problemsOf((p) => p.part === 'template' && p.index === index)} />
    </div>
  )
}

interface FieldProps {
  template: Template
  /** The template in the labels of fields. */
  name: string
  set(fields: Partial<Template>): void
}

/** The protein chain that the template is for. */
function TargetChain({ template: t, name, set }: FieldProps) {
  const names = chainNames(draft.value.items)
  const proteins = names.filter((_, i) => draft.value.items[i]!.kind === 'protein')
  const chains = proteins.flat()
  return (
    <label class="inline">
      <span>for chain</span>
      <Select aria-label={`Chain that ${name} is for`} value={t.chain} onValue={(chain) => set({ chain })}>
        <option value="">
          {proteins.length > 1 ? 'Choose…' : chains.length > 1 ? 'all copies' : (chains[0] ?? '')}
        </option>
        {(chains.length > 1 || t.chain !== '') &&
          [...new Set([...chains, t.chain])].filter(Boolean).map((chain) => <option key={chain}>{chain}</option>)}
      </Select>
    </label>
  )
}

/** Whether the chain is held near the template; only for models that can. */
function Force({ template: t, name, set }: FieldProps) {
  if (!t.force && !model.value?.features.includes('template_force')) return null
  return (
    <>
      <Checkbox checked={t.force} onValue={(force) => set({ force })}>
        Keep it near<span class="visually-hidden"> {name}</span>
      </Checkbox>
      {t.force && (
        <label class="inline">
          <span>within</span>
          <Input
            class="narrow"
            inputMode="decimal"
            aria-label={`Largest distance from ${name} in Å`}
            value={t.maxDistance}
            onValue={(maxDistance) => set({ maxDistance })}
          />
          <span class="dim">Å</span>
        </label>
      )}
    </>
  )
}

/** Loads a list once; an Error if it cannot be read, null until it is. */
function useLoaded<T>(load: () => Promise<T[]>, key = ''): T[] | Error | null {
  const [list, setList] = useState<T[] | Error | null>(null)
  useEffect(() => {
    let superseded = false
    setList(null)
    load().then(
      (loaded) => superseded || setList(loaded),
      (e: Error) => superseded || setList(e),
    )
    return () => {
      superseded = true
    }
  }, [key])
  return list
}

interface ChoiceProps {
  label: string
  /** The ids with their texts; null: not loaded yet. */
  options: { id: string; text: string }[] | Error | null
  /** The text for a list without options. */
  none: string
  value: string
  onValue(id: string): void
}

/** A menu of ids. One that is not in the list, since it is older or of someone else, is shown as it is and can be typed. */
function Choice({ label, options, none, value, onValue }: ChoiceProps) {
  const [typing, setTyping] = useState(false)
  if (options === null) return <span class="dim small-text">Loading…</span>
  const list = options instanceof Error ? [] : options
  if (typing || options instanceof Error || (value !== '' && !list.some((o) => o.id === value)))
    return (
      <>
        <Input class="mono id" aria-label={label} placeholder="id" maxLength={36} value={value} onValue={onValue} />
        {list.length > 0 && (
          <button
            type="button"
            class="bare"
            onClick={() => {
              setTyping(false)
              onValue('')
            }}
          >
            Choose from the list
          </button>
        )}
      </>
    )
  return (
    <Select aria-label={label} value={value} onValue={(id) => (id === 'other' ? setTyping(true) : onValue(id))}>
      <option value="">{list.length > 0 ? 'Choose…' : none}</option>
      {list.map(({ id, text }) => (
        <option key={id} value={id}>
          {text}
        </option>
      ))}
      <option value="other">Another, by its id…</option>
    </Select>
  )
}

const structureFile = /\.(pdb|ent|cif|mmcif)$/i

/** A structure of the user's library. */
function LibraryFile({ template: t, name, set }: FieldProps) {
  const items = useLoaded<LibraryRow>(async () => (await api.library({ limit: listed })).data)
  const files = useLoaded(async () => {
    if (!/^[0-9a-f-]{36}$/i.test(t.id)) return [] // while it is being typed
    const found = (await api.item(t.id)).metadata.files ?? []
    return found.map((f) => f.file_name).filter((file) => structureFile.test(file))
  }, t.id)
  const names = Array.isArray(files) ? files : []
  return (
    <>
      <Choice
        label={`Library item of ${name}`}
        options={Array.isArray(items) ? items.map(({ id, name }) => ({ id, text: name })) : items}
        none="The library is empty"
        value={t.id}
        onValue={(id) => set({ id, file: '' })}
      />
      {(names.length > 1 || t.file !== '') && (
        <Select aria-label={`File of ${name}`} value={t.file} onValue={(file) => set({ file })}>
          <option value="">the first structure</option>
          {[...new Set([...names, t.file])].filter(Boolean).map((file) => (
            <option key={file}>{file}</option>
          ))}
        </Select>
      )}
      {t.id !== '' && files !== null && names.length === 0 && !(files instanceof Error) && (
        <span class="dim small-text">
          It has no structure in PDB or mmCIF format. <a href="/ui/library">Library</a>
        </span>
      )}
    </>
  )
}

/** A structure of an earlier job. */
function JobStructure({ template: t, name, set }: FieldProps) {
  const jobs = useLoaded<JobRow>(async () => (await api.jobs({ limit: listed, status: 'COMPLETED' })).data)
  return (
    <>
      <Choice
        label={`Job of ${name}`}
        options={
          Array.isArray(jobs) ? jobs.map((job) => ({ id: job.id, text: `${job.name}, ${when(job.date)}` })) : jobs
        }
        none="No job has completed"
        value={t.id}
        onValue={(id) => set({ id })}
      />
      <Input
        class="short"
        aria-label={`Sample or file of ${name}`}
        placeholder="first structure"
        maxLength={512}
        value={t.file}
        onValue={(file) => set({ file })}
      />
    </>
  )
}
