// Conversion between a draft and the body of POST /v1/jobs, and the same request as a curl command.
import type {
  Bond,
  Constraints,
  Contact,
  CreateJob,
  Kind,
  LigandSequence,
  Model,
  Params,
  Pocket,
  Polymer,
  SequenceItem,
  Template as TemplateBody,
} from '../api'
import { hasProfiles } from '../dynamics/methods'
import {
  type AlignmentFile,
  areNamed,
  type Constraint,
  type ConstraintKind,
  type Draft,
  defaultSimulation,
  emptyDraft,
  type Item,
  jobName,
  newConstraint,
  newItem,
  newTemplate,
  type Template,
} from './draft'
import { stripSpace } from './sequences'

// Text that is not a number is sent as it is, so that the service names the field in its error.
const toInteger = (text: string) => (/^\s*-?\d+\s*$/.test(text) ? Number(text) : text) as number
/** The number that a text is; else the text itself, which the service refuses with a message. */
const toNumber = (text: string) => (text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text) as number

// The field of a sequence item, by kind.
const itemFields = {
  protein: 'proteinChain',
  rna: 'rnaSequence',
  dna: 'dnaSequence',
  ligand: 'ligandSequence',
} as const

// Codes of amino acids, which the service takes for residues and not for letters.
const codes = 'ala|arg|asn|asp|cys|gln|glu|gly|his|ile|leu|lys|met|phe|pro|ser|thr|trp|tyr|val'
const threeLetters = new RegExp(`^\\s*(?:(?:${codes})[\\s-]*){2,}$`, 'i')

/**
 * The sequence of a card for the service, which alone tells codes of three letters from letters, and notes an end sign *
 * that it drops.
 */
function sentSequence({ kind, text, written }: Item): string {
  if (kind === 'ligand') return text.trim()
  return kind === 'protein' && written && threeLetters.test(written) ? written : stripSpace(text).toUpperCase()
}

/** The sequence item of a card. */
export function itemBody(item: Item): SequenceItem {
  const common = {
    sequence: sentSequence(item),
    ...(item.chain && { chain_id: item.chain }),
    ...(item.label && { label: item.label }),
    ...(item.count !== 1 && { count: item.count }),
  }
  const source = item.source ? { sourceSequenceId: item.source } : {}
  if (item.kind === 'ligand') {
    const ligand: LigandSequence = {
      ...common,
      ...(item.ccd && { is_ccd: true }),
      ...(item.affinity && { property_type: 'affinity' }),
    }
    return { ligandSequence: ligand, ...source }
  }
  const polymer: Polymer = {
    ...common,
    ...(item.cyclic && { cyclic: true }),
    ...(item.kind === 'protein' && item.msa && { msa: item.msa }),
  }
  const modifications = item.modifications.filter((m) => m.residue.trim() || m.ccd.trim())
  if (modifications.length > 0)
    polymer.modifications = modifications.map((m) => ({
      res_idx: toInteger(m.residue),
      ccd: m.ccd.trim().toUpperCase(),
    }))
  return { [itemFields[item.kind]]: polymer, ...source }
}

/** Splits a reference such as "A:12:SG". */
const splitReference = (text: string) => text.split(':').map((part) => part.trim())

/** Parses a residue such as "A:12". */
function parseResidue(text: string) {
  const [chain = '', residue = ''] = splitReference(text)
  return { chain_id: chain, res_idx: toInteger(residue) }
}

/** Parses an atom such as "A:12:SG". */
const parseAtom = (text: string) => ({ ...parseResidue(text), atom_name: splitReference(text)[2] ?? '' })

/** A contact in the form of the API. */
function contactBody(c: Constraint): Contact {
  const a = parseResidue(c.first)
  const b = parseResidue(c.second)
  return {
    chainA: a.chain_id,
    res_idxA: a.res_idx,
    chainB: b.chain_id,
    res_idxB: b.res_idx,
    ...(c.distance.trim() && { distance: toNumber(c.distance) }),
  }
}

const pocketBody = (c: Constraint): Pocket => ({
  binder: { chain_id: c.first.trim() },
  contacts: c.second
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(parseResidue),
})

const bondBody = (c: Constraint): Bond => ({ atom1: parseAtom(c.first), atom2: parseAtom(c.second) })

// The field with the id of a template, by its source.
const templateFields = { library: 'libraryItemId', job: 'jobId', pdb: 'pdbId' } as const

/** A template in the form of the API. Without an id it has none of the fields, and the service asks for one. */
const templateBody = (t: Template): TemplateBody => ({
  ...(t.id.trim() && { [templateFields[t.source]]: t.id.trim() }),
  ...(t.source !== 'pdb' && t.file.trim() && { fileName: t.file.trim() }),
  ...(t.templateChain.trim() && { templateChain: t.templateChain.trim() }),
  ...(t.chain.trim() && { chain: t.chain.trim() }),
  ...(t.force && { force: true, ...(t.maxDistance.trim() && { maxDistance: toNumber(t.maxDistance) }) }),
})

/** The follow-ups of the job, which the API calls webhooks. */
function followUpsBody(draft: Draft): Record<string, unknown> {
  const webhooks: Record<string, unknown> = {}
  const question = draft.question.trim()
  if (draft.ask) webhooks.qna = { enabled: true, ...(question && { initial_question: question }) }
  if (draft.simulate) {
    const s = draft.simulation
    webhooks.md = {
      enabled: true,
      preset: s.preset,
      ...(hasProfiles(s.preset) && { residue_profile: s.residueProfile }),
      temp: toNumber(s.temperature),
      ionic: toNumber(s.ionic),
      pH: toNumber(s.pH),
      step_size_ns: toNumber(s.frameInterval),
      sim_length_ns: toNumber(s.length),
    }
  }
  if (draft.notify !== null) webhooks.custom_http = { enabled: draft.notify }
  return webhooks
}

/** The constraints of the job; undefined: it has none. */
function constraintsBody(draft: Draft): Constraints | undefined {
  const ofKind = (kind: ConstraintKind) => draft.constraints.filter((c) => c.kind === kind)
  const pocket = ofKind('pocket').map(pocketBody)
  const bond = ofKind('bond').map(bondBody)
  const contact = ofKind('contact').map(contactBody)
  const templates = draft.templates.map(templateBody)
  const webhooks = followUpsBody(draft)
  const constraints: Constraints = {
    ...(pocket.length > 0 && { pocket }),
    ...(bond.length > 0 && { bond }),
    ...(contact.length > 0 && { contact }),
    ...(templates.length > 0 && { templates }),
    ...(draft.components.length > 0 && { components: draft.components }),
    ...(Object.keys(webhooks).length > 0 && { webhooks }),
  }
  return Object.keys(constraints).length > 0 ? constraints : undefined
}

/** The parameters for the chosen model. Empty fields, and parameters that the model does not have, are left out. */
export function paramsBody(draft: Pick<Draft, 'model' | 'params'>, model?: Model): Params {
  const params: Params = { modelName: draft.model }
  for (const [name, value] of Object.entries(draft.params)) {
    const spec = model?.params.find((p) => p.name === name)
    if ((model && !spec) || value === '') continue
    if (typeof value === 'boolean') params[name] = value
    else if (spec?.type === 'integer') params[name] = toInteger(value)
    else if (spec?.type === 'number') params[name] = toNumber(value)
    else params[name] = value
  }
  return params
}

/** Converts a draft to the body of POST /v1/jobs. */
export function toBody(draft: Draft, model?: Model): CreateJob {
  const constraints = constraintsBody(draft)
  return {
    name: jobName(draft),
    ...(draft.isPublic && { isPublic: true }),
    sequences: draft.items.map(itemBody),
    params: paramsBody(draft, model),
    ...(constraints && { constraints }),
    ...(draft.chatId && { chatId: draft.chatId }),
  }
}

/** The card of a sequence item. source is the item's sourceSequenceId. */
function itemFromBody(kind: Kind, value: Polymer | LigandSequence, source: string): Item {
  const modifications = ('modifications' in value && value.modifications) || []
  return {
    ...newItem(kind, value.sequence),
    label: value.label ?? '',
    count: value.count ?? 1,
    chain: value.chain_id ?? '',
    affinity: value.property_type === 'affinity',
    ccd: 'is_ccd' in value && !!value.is_ccd,
    cyclic: 'cyclic' in value && !!value.cyclic,
    modifications: modifications.map((m) => ({ residue: String(m.res_idx), ccd: m.ccd })),
    source,
    msa: ('msa' in value && value.msa) || null,
  }
}

/** Converts the body of a job, such as one imported from a file or an older one, to a draft. */
export function fromBody(body: CreateJob): Draft {
  const draft = emptyDraft()
  draft.name = body.name ?? ''
  draft.isPublic = body.isPublic ?? false
  draft.chatId = body.chatId ?? ''
  for (const sequence of body.sequences ?? []) {
    for (const kind of Object.keys(itemFields) as Kind[]) {
      const value = sequence[itemFields[kind]]
      if (value) draft.items.push(itemFromBody(kind, value, sequence.sourceSequenceId ?? ''))
    }
  }
  const { modelName = '', ...params } = body.params ?? {}
  draft.model = modelName
  for (const [name, value] of Object.entries(params))
    if (value !== null && value !== undefined) draft.params[name] = typeof value === 'boolean' ? value : String(value)
  draft.constraints = constraintsFrom(body.constraints)
  draft.templates = templatesFrom(body.constraints)
  draft.components = body.constraints?.components ?? []
  readFollowUps(draft, body.constraints)
  return draft
}

/** The constraints of a body as texts. */
function constraintsFrom(c?: Constraints | null): Constraint[] {
  const contacts = (c?.contact ?? []).map((contact) => ({
    ...newConstraint('contact'),
    first: `${contact.chainA}:${contact.res_idxA}`,
    second: `${contact.chainB}:${contact.res_idxB}`,
    distance: String(contact.distance ?? ''),
  }))
  const pockets = (c?.pocket ?? []).map((pocket) => ({
    ...newConstraint('pocket'),
    first: pocket.binder.chain_id,
    second: pocket.contacts.map((r) => `${r.chain_id}:${r.res_idx}`).join(' '),
  }))
  const bonds = (c?.bond ?? []).map(({ atom1, atom2 }) => ({
    ...newConstraint('bond'),
    first: `${atom1.chain_id}:${atom1.res_idx}:${atom1.atom_name}`,
    second: `${atom2.chain_id}:${atom2.res_idx}:${atom2.atom_name}`,
  }))
  return [...contacts, ...pockets, ...bonds]
}

/** The templates of a body. One of a job of someone else has no id: only its owner may see that. */
const templatesFrom = (c?: Constraints | null): Template[] =>
  (c?.templates ?? []).map((t) => ({
    ...(t.jobId
      ? newTemplate('job', t.jobId)
      : t.pdbId
        ? newTemplate('pdb', t.pdbId)
        : newTemplate('library', t.libraryItemId ?? '')),
    file: t.fileName ?? '',
    templateChain: t.templateChain ?? '',
    chain: t.chain ?? '',
    force: t.force ?? false,
    maxDistance: String(t.maxDistance || ''),
  }))

/** Reads the follow-ups of a body into a draft. */
function readFollowUps(draft: Draft, constraints?: Constraints | null) {
  const webhooks = (constraints?.webhooks ?? {}) as Record<string, Record<string, unknown> | null>
  const ask = webhooks.qna ?? webhooks.evolla
  if (ask?.enabled) {
    draft.ask = true
    draft.question = String(ask.initial_question ?? '')
  }
  const md = webhooks.md ?? webhooks.openmm
  if (md?.enabled) {
    draft.simulate = true
    draft.simulation = {
      preset: String(md.preset ?? defaultSimulation.preset),
      residueProfile: String(md.residue_profile ?? defaultSimulation.residueProfile),
      length: String(md.sim_length_ns ?? defaultSimulation.length),
      frameInterval: String(md.step_size_ns ?? defaultSimulation.frameInterval),
      temperature: String(md.temp ?? defaultSimulation.temperature),
      ionic: String(md.ionic ?? defaultSimulation.ionic),
      pH: String(md.pH ?? defaultSimulation.pH),
    }
  }
  if (typeof webhooks.custom_http?.enabled === 'boolean') draft.notify = webhooks.custom_http.enabled
}

/** The body of a job whose proteins name their alignments, which are files of a library item. */
export const withAlignments = (body: CreateJob, libraryItemId: string, files: AlignmentFile[]): CreateJob => ({
  ...body,
  sequences: body.sequences.map((s, i) => {
    const fileName = files.find((f) => f.items.includes(i))?.fileName
    return fileName && s.proteinChain
      ? { ...s, proteinChain: { ...s.proteinChain, msa: { libraryItemId, fileName } } }
      : s
  }),
})

/** Quotes a text for the shell. */
export const shellQuote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

/** Formats the requests that submit a body as curl commands. files: alignments to upload to the library first. */
export function curlCommands(origin: string, body: CreateJob, libraryItem = '', files: AlignmentFile[] = []): string {
  const key = '-H "Authorization: Bearer $PLEAT_KEY"'
  const json = "-H 'Content-Type: application/json'"
  const post = (path: string, rest: string) => `curl -sS ${origin}${path} \\\n  ${key} ${rest}`
  const sent = areNamed(files) ? withAlignments(body, '$ITEM', files) : body
  const data = shellQuote(JSON.stringify(sent, null, 2)).replaceAll(
    `"libraryItemId": "$ITEM"`,
    `"libraryItemId": "'$ITEM'"`,
  )
  const createJob = (path: string) => post(path, `${json} \\\n  -d ${data}`)
  if (files.length === 0) return createJob(`/v1/jobs${libraryItem && `?from=${libraryItem}`}`)
  const item = {
    name: 'alignments',
    type: 'file',
    fileType: 'a3m',
    ...(body.projectId && { projectId: body.projectId }),
  }
  const createItem = post('/v1/library/create', `${json} \\\n  -d ${shellQuote(JSON.stringify(item))}`)
  return [
    `ITEM=$(${createItem} | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')`,
    ...files.map((file) =>
      post(
        '/v1/library/$ITEM/upload-files',
        `-F ${shellQuote(`files=@${file.name}${file.fileName === file.name ? '' : `;filename=${file.fileName}`}`)}`,
      ),
    ),
    createJob(areNamed(files) ? '/v1/jobs' : '/v1/jobs?from=$ITEM'),
  ].join('\n')
}
