// The wire: the shapes that /v1 takes and gives, as the service's package api has them, and one function to call it.

export type State = 'PENDING' | 'INITIALIZED' | 'RUNNING' | 'COMPLETED' | 'FAILED' | 'STOPPED'
export type FlowState = 'DRAFT' | 'QUEUED' | 'INITIALIZED' | 'RUNNING' | 'COMPLETED' | 'FAILED' | 'STOPPED'
export const terminal = (s: string) => s === 'COMPLETED' || s === 'FAILED' || s === 'STOPPED'

export interface List<T> {
  data: T[]
  next_cursor: string | null
}

export type Kind = 'protein' | 'rna' | 'dna' | 'ligand'

// Jobs: POST /v1/jobs

export interface Modification {
  res_idx: number
  ccd: string
}
export interface Polymer {
  sequence: string
  chain_id?: string
  label?: string
  count?: number
  property_type?: string
  cyclic?: boolean
  modifications?: Modification[]
}
export interface Ligand {
  sequence: string
  is_ccd?: boolean
  chain_id?: string
  label?: string
  count?: number
  property_type?: string
}
export interface SequenceItem {
  proteinChain?: Polymer
  rnaSequence?: Polymer
  dnaSequence?: Polymer
  ligandSequence?: Ligand
  sourceSequenceId?: string
}
export type Params = { modelName: string } & Record<string, unknown>
export interface ResidueRef {
  chain_id: string
  res_idx: number
}
export interface AtomRef extends ResidueRef {
  atom_name: string
}
export interface Pocket {
  binder: { chain_id: string }
  contacts: ResidueRef[]
}
export interface Bond {
  atom1: AtomRef
  atom2: AtomRef
}
export interface Contact {
  chainA: string
  res_idxA: number
  chainB: string
  res_idxB: number
  distance?: number
}
export interface Constraints {
  pocket?: Pocket[] | null
  bond?: Bond[] | null
  contact?: Contact[] | null
  webhooks?: Record<string, unknown> | null
}
export interface CreateJob {
  name: string
  isPublic?: boolean
  sequences: SequenceItem[]
  params: Params
  constraints?: Constraints
  chatId?: string
}
export interface CreatedJob {
  jobId: string
  jobRunId: string
  jobName: string
  jobStatus: State
  sequencesIds: string[]
}

export interface Blocking {
  message: string
  field: string
}
export interface ValidatedItem {
  type: Kind
  chains: string[]
  residues: number
  tokens: number
}
export interface Validation {
  valid: boolean
  errors: Blocking[]
  modelName: string
  params: Record<string, unknown>
  isComplex: boolean
  chains: ValidatedItem[]
  tokens: number
  maxTokens: number
  expectedMemoryBytes: number
  expectedSeconds: number
  quotaRemaining: number
  confidence: string
  notice: string
}
export interface Imported {
  format: string
  jobs: CreateJob[]
  notes: string[]
}

// Jobs: lists, one job, results

export interface JobRow {
  id: string
  jobRunId: string
  name: string
  status: State
  isPublic: boolean
  modelName: string
  stage: string
  done: number
  total: number
  meanPLLDT: number | null
  error: string | null
  date: string
  updatedAt: string
  startedAt: string | null
  finishedAt: string | null
}
export interface Job {
  id: string
  status: State
  name: string
  date: string
  updatedAt: string
  isComplex: boolean
  isPublic: boolean
  jobRunId: string
}
export interface JobDetail extends Job {
  chatId: string | null
  libraryItemId: string | null
  isOwner: boolean
}
export interface Run {
  id: string
  number: number
  status: State
  msaStatus: State
  modelName: string
  weightSet: string
  method: string
  engine: string
  seed: string
  createdAt: string
  startedAt: string | null
  finishedAt: string | null
  executionSeconds: number
  timings: Record<string, number>
  notes: string[]
  failure?: { kind: string; message: string }
}
export interface Progress {
  stage: string
  done: number
  total: number
  queuePosition: number | null
}
export interface ViewSequence {
  id: string
  type: Kind
  name: string | null
  sequence: string
  chains: string[]
  count: number
  item: SequenceItem
}
export interface Affinity {
  affinity_pred_value: number
  affinity_probability_binary: number
}
export interface PairScore {
  chainA: string
  chainB: string
  iptm: number | null
  ipsae: number | null
  pdockq2: number | null
}
export interface ScoredChains {
  sequenceId?: string
  chains: string[]
  meanPLLDT: number | null
  ptm_score: number | null
  iptm_score: number | null
  max_pae_score: number | null
  confidence: string
  pairs: PairScore[]
  affinity_result_raw_json?: Affinity
}
export interface LinkedItem {
  id: string
  type: string
  status: string
  name: string
}
export interface JobView {
  job: JobDetail
  run: Run
  runs: Run[]
  progress: Progress
  sequences: ViewSequence[]
  constraints: Constraints | null
  predictions: ScoredChains[]
  workflows: LinkedItem[]
  deliveries: LinkedItem[]
  params: Record<string, unknown>
  links: { results: string; events: string; archive: string }
}
export interface Artifact {
  name: string
  kind: string
  url: string
  contentType: string
  bytes: number
  sha256: string
  sequenceId?: string
}
export interface Prediction {
  predictionStatus: State
  jobRunStatus: State
  msaStatus: State
  prediction: boolean
  error: string | null
  meanPLLDT: number | null
  executionTimeInMinutes: number
  pdb_url: string | null
  cif_url: string | null
  msa_coverage_plot_url: string | null
  pae_plot_url: string | null
  plddt_plot_url: string | null
  metrics_json_url: string | null
  config_json_url: string | null
  citations_bibtex_url: string | null
  plots_url: string | null
  ptm_score: number | null
  iptm_score: number | null
  max_pae_score: number | null
  seed: string
  affinity_result_raw_json?: Affinity
}
export interface ResultSequence {
  id: string
  name: string | null
  sequence: string
  type: Kind
  jobRunId: string
  predictionPayload?: Prediction
}
export interface Results {
  job: Job
  jobRunId: string
  parameters: {
    count: number
    createdAt: string
    modelName: string
    weightSet: string
    method: string
    relaxPrediction: boolean
  }
  constraints: Constraints | null
  sequencesIds: string[]
  sequences: ResultSequence[]
  predictionPayload: Prediction
  artifacts: Artifact[]
}

/** One thing that happened in a run: the events state, stage, log and artifact of GET /v1/jobs/{id}/events. */
export interface RunEvent {
  seq: number
  at: string
  kind: 'state' | 'stage' | 'log' | 'artifact'
  jobId?: string
  jobRunId?: string
  workflowId?: string
  taskId?: string
  state?: State
  stage?: string
  done?: number
  total?: number
  line?: string
  error?: string
  artifact?: Artifact
}
/** News of one job or workflow: the events job and workflow of GET /v1/events. */
export interface Change {
  cursor: number
  jobId?: string
  jobRunId?: string
  jobName?: string
  workflowId?: string
  taskId?: string
  name?: string
  status: string
  stage: string
  done: number
  total: number
  version: number
}

// Workflows

export interface WorkflowTask {
  task_id: string
  task_type: string
  status: FlowState
  result_raw_json: unknown
  output_library_items: string[]
  error: string | null
}
export interface Workflow {
  workflow_id: string
  status: FlowState
  workflow_type: string
  name: string
  input_payload: Record<string, unknown>
  tasks: WorkflowTask[]
  is_public: boolean
  is_owner: boolean
  created_at: string
  updated_at: string
  stage: string
  done: number
  total: number
}

export interface WorkflowRow {
  workflow_id: string
  status: FlowState
  workflow_type: string
  name: string
  is_public: boolean
  source_job_id: string | null
  source_job_run_id: string | null
  source_sequence_id: string | null
  stage: string
  done: number
  total: number
  error: string | null
  created_at: string
  updated_at: string
}
export interface LinkedQuestion {
  workflowId: string
  workflowStatus: FlowState
  workflowType: string
  name: string
  questionPreview: string
  sourceJobId: string | null
  sourceJobRunId: string | null
  sourceSequenceId: string | null
  createdAt: string
  updatedAt: string
  lastQuestion: string | null
  lastAnswer: string | null
}
export interface ExtractedFrame {
  workflowId: string
  taskId: string
  pdbUrl: string
  path: string
  libraryItemId: string
  frameIndex: number
  requestedTimeNs: number
  actualTimeNs: number
  atomCount: number
}

// Models, quota, keys, session

export interface ParamSpec {
  name: string
  type: 'integer' | 'number' | 'boolean' | 'string'
  default: unknown
  min: number | null
  max: number | null
  values: string[]
  doc: string
}
export interface Cost {
  base: number
  linear: number
  square: number
}
export interface Model {
  name: string
  kind: 'fold' | 'qna' | 'md'
  title: string
  engine: string
  version: string
  weightSet: string
  method: string
  licence: string
  device: string
  entities: string[]
  features: string[]
  params: ParamSpec[]
  minTokens: number
  maxTokens: number
  memory: Cost
  speed: Cost
  confidence: string
  notice: string
  citations: { key: string; bibtex: string }[]
}
export interface Usage {
  limit: number
  used: number
  remaining: number
  reset_at: string
}
export interface Key {
  id: string
  prefix: string
  label: string
  createdAt: string
  lastUsedAt: string | null
  revokedAt: string | null
  current: boolean
}
export interface NewKey extends Key {
  key: string
}
export interface Session {
  user: string
  expiresAt: string
}

// Webhooks

export interface WebhookConfig {
  user_id: string
  is_active: boolean
  is_configured: boolean
  is_paused: boolean
  enabled_by_default: boolean
  target_url: string | null
  format: 'plain' | 'cloudevents'
  token_header: string
  has_token: boolean
  secret_token_masked: string | null
  signature_scheme: 'v1' | 'v1a'
  verification_key: string | null
  secret_rotated_at: string | null
  old_secret_until: string | null
  updated_at: string | null
  disabled_reason: string | null
  rests_until: string | null
  signing_secret?: string
}
export interface Delivery {
  id: string
  event_id: string
  subscription_id: string | null
  destination: string
  status: 'PENDING' | 'RUNNING' | 'SUCCEEDED' | 'FAILED'
  triggered_target_id: string | null
  source_kind: string
  source_id: string
  event_name: string
  event_status: State | ''
  attempts: number
  next_attempt_at: string | null
  response_status: number | null
  reason: string | null
  created_at: string
}
export interface DeliveryAttempt {
  number: number
  started_at: string
  ended_at: string | null
  outcome: 'running' | 'done' | 'failed' | 'released' | 'lost'
  response_status: number | null
  error: string | null
  message: string | null
  answer: string | null
  headers: Record<string, string> | null
  timings: {
    dns_ms: number
    connect_ms: number
    tls_ms: number
    send_ms: number
    wait_ms: number
    body_ms: number
    total_ms: number
    connection_reused: boolean
  }
}
export interface DeliveryDetail extends Delivery {
  attempt_log: DeliveryAttempt[]
}

/** What the service answers where it does not do as asked. Status 0: it was not reached. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly retryAfter = 0,
  ) {
    super(message)
  }
}

/** What is to happen when the service does not know the caller; session.ts says. */
export const refused = { tell: () => {} }

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Calls the service with the session's cookie. Throws a Refusal. */
export async function call<T = unknown>(
  method: Method,
  path: string,
  body?: unknown,
  more: { signal?: AbortSignal; headers?: Record<string, string> } = {},
): Promise<T> {
  const init: RequestInit = { method, headers: { ...more.headers }, signal: more.signal ?? null }
  if (body instanceof FormData) init.body = body
  else if (body !== undefined) {
    init.body = JSON.stringify(body)
    init.headers = { ...more.headers, 'Content-Type': 'application/json' }
  }
  return (await answer(path, init)).json() as Promise<T>
}

/** Reads a file of a run by the address that the service gave for it. */
export async function download(url: string, signal?: AbortSignal): Promise<Response> {
  return answer(here(url), { signal: signal ?? null })
}

/**
 * The same address on the host that the page came from. The service writes addresses on its public name, and the page may
 * have been opened under another, such as localhost, from where the policy forbids to call the public one.
 */
export function here(url: string): string {
  const u = new URL(url, location.origin)
  return u.pathname + u.search
}

async function answer(path: string, init: RequestInit): Promise<Response> {
  let r: Response
  try {
    r = await fetch(path, init)
  } catch (e) {
    if (e instanceof DOMException && e.name === 'AbortError') throw e
    throw new Refusal(0, 'The service cannot be reached. It may be starting, or the network is down.')
  }
  if (r.ok) return r
  let message = `The service answered ${r.status} ${r.statusText}`
  try {
    const b: unknown = await r.json()
    if (typeof b === 'object' && b && 'message' in b && typeof b.message === 'string') message = b.message
  } catch {
    // not from the service itself, such as a proxy's page; the status says what there is to say
  }
  if (r.status === 401) refused.tell()
  throw new Refusal(r.status, message, Number(r.headers.get('Retry-After')) || 0)
}

/** A time of the interface, UTC with or without its Z, as a Date. */
export const at = (t: string) => new Date(/[Z+]/.test(t) ? t : t + 'Z')

const part = encodeURIComponent

export const api = {
  createJob: (job: CreateJob, key?: string, from = '') =>
    call<CreatedJob>(
      'POST',
      '/v1/jobs' + (from && '?from=' + part(from)),
      job,
      key ? { headers: { 'Idempotency-Key': key } } : {},
    ),
  validate: (job: unknown, signal?: AbortSignal) =>
    call<Validation>('POST', '/v1/jobs/validate', job, signal ? { signal } : {}),
  importFile: (content: string, name = '') =>
    call<Imported>('POST', '/v1/jobs/import', { content, ...(name && { name }) }),
  jobs: (filter: { limit?: number; cursor?: string; status?: string; q?: string }, signal?: AbortSignal) =>
    call<List<JobRow>>('GET', '/v1/jobs?' + search(filter), undefined, signal ? { signal } : {}),
  job: (id: string) => call<JobView>('GET', `/v1/jobs/${part(id)}`),
  results: (id: string) => call<Results>('GET', `/v1/jobs/${part(id)}/results`),
  cancelJob: (id: string) => call<{ jobId: string; jobStatus: State }>('POST', `/v1/jobs/${part(id)}/cancel`),
  deleteJob: (id: string) => call('DELETE', `/v1/jobs/${part(id)}`),
  rerun: (id: string, params?: Params) =>
    call<CreatedJob>('POST', `/v1/jobs/${part(id)}/runs`, params ? { params } : {}),
  setPublic: (id: string, isPublic: boolean) => call('PATCH', `/v1/jobs/${part(id)}/public`, { isPublic }),
  archive: (id: string) => `/v1/jobs/${part(id)}/archive.zip`,
  createItem: (name: string, fileType: string) =>
    call<{ id: string }>('POST', '/v1/library/create', { name, type: 'file', fileType, origin: 'page' }),
  uploadFile: (item: string, name: string, file: Blob) => {
    const form = new FormData()
    form.append('files', file, name)
    return call('POST', `/v1/library/${part(item)}/upload-files`, form)
  },
  item: (id: string) =>
    call<{ metadata: { files?: { file_name: string; size_bytes: number }[] } }>('GET', `/v1/library/${part(id)}`),
  fileUrl: (item: string, name: string) => call<string>('GET', `/v1/library/file/${part(item)}/${part(name)}`),
  deleteItem: (id: string) => call('DELETE', `/v1/library/${part(id)}`),
  models: () => call<List<Model>>('GET', '/v1/models'),
  workflow: (id: string) => call<Workflow>('GET', `/v1/workflows/${part(id)}`),
  publicWorkflow: (id: string) => call<Workflow>('GET', `/v1/workflows/public/${part(id)}`),
  createWorkflow: (name: string, title: string, input: unknown, draft = false) =>
    call<Workflow>('POST', '/v1/workflows', {
      workflow_name: name,
      name: title,
      workflow_input: input,
      ...(draft && { create_mode: 'draft' }),
    }),
  workflows: (filter: {
    limit?: number
    cursor?: string
    status?: string
    workflow_type?: string
    source_job_id?: string
  }) => call<List<WorkflowRow>>('GET', '/v1/workflows?' + search(filter)),
  questions: (filter: {
    source_job_id: string
    source_job_run_id?: string
    source_sequence_id?: string
    limit?: number
  }) => call<List<LinkedQuestion>>('GET', '/v1/workflows/qna/linked-history?' + search(filter)),
  draftQuestion: (id: string, question: string) =>
    call<Workflow>('PATCH', `/v1/workflows/qna/${part(id)}/draft-question`, { question }),
  extractFrame: (id: string, what: { timeNs: number; selection?: string; outputFilename?: string }) =>
    call<ExtractedFrame>('POST', `/v1/workflows/md/${part(id)}/extract-frame`, what),
  setFlowPublic: (id: string, isPublic: boolean) => call('PATCH', `/v1/workflows/${part(id)}/public`, { isPublic }),
  flowLogs: async (id: string) => (await answer(`/v1/workflows/logs/${part(id)}`, {})).text(),
  executeWorkflow: (id: string) => call<Workflow>('POST', '/v1/workflows/execute', { workflowId: id }),
  cancelWorkflow: (id: string) => call('POST', `/v1/workflows/${part(id)}/cancel`),
  keys: () => call<List<Key>>('GET', '/v1/keys'),
  createKey: (label: string) => call<NewKey>('POST', '/v1/keys', label ? { label } : {}),
  revokeKey: (id: string) => call('DELETE', `/v1/keys/${part(id)}`),
  webhook: () => call<WebhookConfig>('GET', hook),
  putWebhook: (c: { target_url: string; token_value?: string; enabled_by_default?: boolean; format?: string }) =>
    call<WebhookConfig>('PUT', hook, c),
  changeWebhook: (what: 'pause' | 'resume' | 'rotate-secret') => call<WebhookConfig>('POST', `${hook}/${what}`),
  deleteWebhook: () => call<WebhookConfig>('DELETE', hook),
  testWebhook: () => call<Delivery>('POST', '/v1/webhooks/test'),
  deliveries: (filter: { limit?: number; cursor?: string; status?: string; source_id?: string }) =>
    call<List<Delivery>>('GET', '/v1/webhooks/deliveries?' + search(filter)),
  delivery: (id: string) => call<DeliveryDetail>('GET', `/v1/webhooks/deliveries/${part(id)}`),
  redeliver: (id: string) => call<Delivery>('POST', `/v1/webhooks/deliveries/${part(id)}/redeliver`),
}

const hook = '/v1/webhooks/custom-http-config'

function search(filter: Record<string, string | number | undefined>): string {
  const q = new URLSearchParams()
  for (const [name, v] of Object.entries(filter)) if (v !== undefined && v !== '') q.set(name, String(v))
  return q.toString()
}
