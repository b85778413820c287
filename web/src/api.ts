// The calls of the API that the page makes, one method each. The types of their bodies are generated from the service's
// OpenAPI document (wire.ts) and exported again here.
import { download, listeners, request, sendJSON } from './http'
import type {
  Alignment,
  AuditEntry,
  Batch,
  BatchRows,
  BatchValidation,
  Comparison,
  Contacts,
  CreatedBatch,
  CreatedJob,
  CreateJob,
  CreateKey,
  Delivery,
  DeliveryDetail,
  EntityType,
  ExtractedFrame,
  FoldDesigns,
  FoldedDesigns,
  ImportedJobs,
  JobRow,
  JobView,
  Key,
  LibraryRow,
  LinkedWorkflow,
  Model,
  NewKey,
  Redelivered,
  RerunBatch,
  Results,
  Validation,
  WebhookConfig,
  Event as WireEvent,
  Workflow as WireWorkflow,
  WorkflowRow,
} from './wire'

export * from './http'
export type * from './wire'

/** A workflow, whose input is always an object. */
export interface Workflow extends WireWorkflow {
  input_payload: Record<string, unknown>
}

/** The parameters of a model; which ones there are depends on the model. */
export type Params = { modelName: string } & Record<string, unknown>

/** The kind of a molecule. */
export type Kind = EntityType

/** One event of a run, as sent by GET /v1/jobs/{id}/events. */
export type RunEvent = WireEvent

/** One page of a list. */
export interface List<T> {
  data: T[]
  next_cursor: string | null
}

/** Reports whether a job or workflow with this status has ended. */
export const isTerminal = (status: string) => status === 'COMPLETED' || status === 'FAILED' || status === 'STOPPED'

/** Parses a time of the API, which is UTC with or without a "Z". */
export const parseTime = (time: string) => new Date(/[Z+]/.test(time) ? time : `${time}Z`)

/** Which contacts: of a run, a structure by its file, two chains such as A-B, and at most how many. */
export interface ContactFilter {
  jobRunId: string
  sample: string
  chains: string
  limit?: number
}

// The path of the webhook configuration.
const webhookPath = '/v1/webhooks/custom-http-config'
const encode = encodeURIComponent

/** Waits for a request that counts against a quota, and reports that it has been answered. */
async function counted<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } finally {
    listeners.quotaUsed() // also after a refusal: the count shown may be the stale one
  }
}

/** The calls. Each returns the parsed body of the answer and throws ServiceError. */
export const api = {
  createJob: (job: CreateJob, key?: string, from = '') =>
    counted(
      request<CreatedJob>(
        'POST',
        '/v1/jobs' + (from && '?from=' + encode(from)),
        job,
        key ? { headers: { 'Idempotency-Key': key } } : {},
      ),
    ),
  validate: (job: unknown, signal?: AbortSignal) =>
    request<Validation>('POST', '/v1/jobs/validate', job, signal ? { signal } : {}),
  importFile: (content: string, name = '') =>
    request<ImportedJobs>('POST', '/v1/jobs/import', { content, ...(name && { name }) }),
  jobs: (filter: { limit?: number; cursor?: string; status?: string; q?: string }, signal?: AbortSignal) =>
    request<List<JobRow>>('GET', '/v1/jobs?' + query(filter), undefined, signal ? { signal } : {}),
  // The job as of one of its runs; of its latest if run is empty.
  job: (id: string, run = '') => request<JobView>('GET', `/v1/jobs/${encode(id)}${ofRun(run)}`),
  results: (id: string, run = '') => request<Results>('GET', `/v1/jobs/${encode(id)}/results${ofRun(run)}`),
  cancelJob: (id: string) => request('POST', `/v1/jobs/${encode(id)}/cancel`),
  deleteJob: (id: string) => request('DELETE', `/v1/jobs/${encode(id)}`),
  rerun: (id: string, params?: Params) =>
    counted(request<CreatedJob>('POST', `/v1/jobs/${encode(id)}/runs`, params ? { params } : {})),
  setPublic: (id: string, isPublic: boolean) => request('PATCH', `/v1/jobs/${encode(id)}/public`, { isPublic }),
  archive: (id: string, run = '') => `/v1/jobs/${encode(id)}/archive.zip${ofRun(run)}`,
  // The contacts between the chains of a structure of a run, and the address of the same as CSV.
  contacts: (id: string, of: ContactFilter, signal?: AbortSignal) =>
    request<Contacts>(
      'GET',
      `/v1/jobs/${encode(id)}/contacts?${query({ ...of })}`,
      undefined,
      signal ? { signal } : {},
    ),
  contactsFile: (id: string, of: ContactFilter) => `/v1/jobs/${encode(id)}/contacts.csv?${query({ ...of })}`,
  // The address of a script that shows a structure of a run in another program.
  viewFile: (id: string, ending: 'cxc' | 'pml' | 'mvsj', of: { jobRunId?: string; sample: string }) =>
    `/v1/jobs/${encode(id)}/view.${ending}?${query({ ...of })}`,
  batches: (page: { limit?: number; cursor?: string }) => request<List<Batch>>('GET', '/v1/batches?' + query(page)),
  batch: (id: string) => request<Batch>('GET', batchPath(id)),
  // A page of the table. selection: the filter and the order, as a query without the question mark.
  batchRows: (id: string, selection: string, page: { limit?: number; cursor?: string }, signal?: AbortSignal) =>
    request<BatchRows>(
      'GET',
      `${batchPath(id)}/rows?${[selection, query(page)].filter(Boolean).join('&')}`,
      undefined,
      signal ? { signal } : {},
    ),
  // The bodies of batches may be large: they are encoded once.
  validateBatch: (body: string, signal?: AbortSignal) =>
    sendJSON<BatchValidation>('/v1/batches/validate', body, signal ? { signal } : {}),
  createBatch: (body: string, key: string) =>
    counted(sendJSON<CreatedBatch>('/v1/batches', body, { headers: { 'Idempotency-Key': key } })),
  cancelBatch: (id: string) => request<Batch>('POST', batchPath(id) + '/cancel'),
  retryBatch: (id: string) => counted(request('POST', batchPath(id) + '/retry-failed')),
  rerunBatch: (id: string, what: RerunBatch, key: string) =>
    counted(request<CreatedBatch>('POST', batchPath(id) + '/rerun', what, { headers: { 'Idempotency-Key': key } })),
  setBatchPublic: (id: string, isPublic: boolean) => request('PATCH', batchPath(id) + '/public', { isPublic }),
  deleteBatch: (id: string) => request('DELETE', batchPath(id)),
  createItem: (name: string, fileType: string) =>
    request<{ id: string }>('POST', '/v1/library/create', { name, type: 'file', fileType, origin: 'page' }),
  uploadFile: (item: string, name: string, file: Blob) => {
    const form = new FormData()
    form.append('files', file, name)
    return request('POST', `/v1/library/${encode(item)}/upload-files`, form)
  },
  library: (page: { limit?: number; cursor?: string }) =>
    request<List<LibraryRow>>('GET', '/v1/library?' + query(page)),
  item: (id: string) =>
    request<{ metadata: { files?: { file_name: string; size_bytes: number }[] } }>('GET', `/v1/library/${encode(id)}`),
  fileUrl: (item: string, name: string) => request<string>('GET', `/v1/library/file/${encode(item)}/${encode(name)}`),
  deleteItem: (id: string) => request('DELETE', `/v1/library/${encode(id)}`),
  models: () => request<List<Model>>('GET', '/v1/models'),
  workflow: (id: string) => request<Workflow>('GET', `/v1/workflows/${encode(id)}`),
  publicWorkflow: (id: string) => request<Workflow>('GET', `/v1/workflows/public/${encode(id)}`),
  createWorkflow: (name: string, title: string, input: unknown, draft = false) =>
    counted(
      request<Workflow>('POST', '/v1/workflows', {
        workflow_name: name,
        name: title,
        workflow_input: input,
        ...(draft && { create_mode: 'draft' }),
      }),
    ),
  alignment: (id: string, signal?: AbortSignal) =>
    request<Alignment>('GET', `/v1/alignments/${encode(id)}`, undefined, signal ? { signal } : {}),
  // The address of an entry of the Protein Data Bank that a comparison names as pdb:ID.
  entryUrl: (of: string) => `/v1/compare/pdb/${encode(of.replace(/^pdb:/, ''))}`,
  // Compares up to four structures; reference is a position from 1, 0 for none.
  compare: (of: string[], reference: number, signal?: AbortSignal) =>
    request<Comparison>(
      'GET',
      '/v1/compare?' + query({ of: of.join(','), reference: reference || undefined }),
      undefined,
      signal ? { signal } : {},
    ),
  createComparison: (of: string[], reference: number) =>
    counted(request<Workflow>('POST', '/v1/compare', { of, ...(reference > 0 && { reference }) })),
  workflows: (filter: {
    limit?: number
    cursor?: string
    status?: string
    workflow_type?: string
    source_job_id?: string
  }) => request<List<WorkflowRow>>('GET', '/v1/workflows?' + query(filter)),
  questions: (filter: {
    source_job_id: string
    source_job_run_id?: string
    source_sequence_id?: string
    limit?: number
  }) => request<List<LinkedWorkflow>>('GET', '/v1/workflows/qna/linked-history?' + query(filter)),
  draftQuestion: (id: string, question: string) =>
    request<Workflow>('PATCH', `/v1/workflows/qna/${encode(id)}/draft-question`, { question }),
  extractFrame: (id: string, what: { timeNs: number; selection?: string; outputFilename?: string }) =>
    request<ExtractedFrame>('POST', `/v1/workflows/md/${encode(id)}/extract-frame`, what),
  foldDesigns: (id: string, what: FoldDesigns, key: string) =>
    counted(
      request<FoldedDesigns>('POST', `/v1/workflows/design/${encode(id)}/fold`, what, {
        headers: { 'Idempotency-Key': key },
      }),
    ),
  setWorkflowPublic: (id: string, isPublic: boolean) =>
    request('PATCH', `/v1/workflows/${encode(id)}/public`, { isPublic }),
  workflowLog: async (id: string) => (await download(`/v1/workflows/logs/${encode(id)}`)).text(),
  executeWorkflow: (id: string) => counted(request<Workflow>('POST', '/v1/workflows/execute', { workflowId: id })),
  deleteWorkflow: (id: string) => request('DELETE', `/v1/workflows/${encode(id)}`),
  cancelWorkflow: (id: string) => request('POST', `/v1/workflows/${encode(id)}/cancel`),
  keys: () => request<List<Key>>('GET', '/v1/keys'),
  // A session may not make or revoke keys: both take the API key itself.
  createKey: (key: string, what: CreateKey) =>
    request<NewKey>('POST', '/v1/keys', what, { headers: { Authorization: `Bearer ${key}` } }),
  revokeKey: (key: string, id: string) =>
    request('DELETE', `/v1/keys/${encode(id)}`, undefined, { headers: { Authorization: `Bearer ${key}` } }),
  audit: () => request<List<AuditEntry>>('GET', '/v1/audit'),
  webhook: () => request<WebhookConfig>('GET', webhookPath),
  putWebhook: (c: { target_url: string; token_value?: string; enabled_by_default?: boolean; format?: string }) =>
    request<WebhookConfig>('PUT', webhookPath, c),
  changeWebhook: (what: 'pause' | 'resume' | 'rotate-secret') =>
    request<WebhookConfig>('POST', `${webhookPath}/${what}`),
  deleteWebhook: () => request<WebhookConfig>('DELETE', webhookPath),
  testWebhook: () => request<Delivery>('POST', '/v1/webhooks/test'),
  deliveries: (filter: { limit?: number; cursor?: string; status?: string; source_id?: string }) =>
    request<List<Delivery>>('GET', '/v1/webhooks/deliveries?' + query(filter)),
  delivery: (id: string) => request<DeliveryDetail>('GET', `/v1/webhooks/deliveries/${encode(id)}`),
  redeliver: (id: string) => request<Delivery>('POST', `/v1/webhooks/deliveries/${encode(id)}/redeliver`),
  sendWaiting: () => request<Redelivered>('POST', '/v1/webhooks/deliveries/redeliver', { status: 'PENDING' }),
}

/** The path of a batch. */
export const batchPath = (id: string) => `/v1/batches/${encode(id)}`

/** The query that names a run; empty for the latest. */
const ofRun = (run: string) => run && `?jobRunId=${encode(run)}`

/** Formats the parameters of a query; empty ones are left out. */
function query(filter: Record<string, string | number | undefined>): string {
  const q = new URLSearchParams()
  for (const [name, v] of Object.entries(filter)) if (v !== undefined && v !== '') q.set(name, String(v))
  return q.toString()
}
