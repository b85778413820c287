// The calls of the API that the page makes, one method each, by the TypeScript client of the service. The types of its
// bodies are exported again here.

import type {
  ChangeEndpoint,
  ChangeProject,
  CreateBatch,
  CreateEndpoint,
  CreateInvitation,
  CreateJob,
  CreateKey,
  CreateLink,
  CreateProject,
  CreateServiceUser,
  DeliveryStatus,
  EntityType,
  ExtractFrame,
  FoldDesigns,
  JobStatus,
  PutWebhookConfig,
  RerunBatch,
  SetNotifications,
  Event as WireEvent,
  LibraryItem as WireItem,
  Workflow as WireWorkflow,
  WorkflowStatus,
} from 'pleat-client'
import { dataOf } from 'pleat-client'
import { download, listeners, service } from './http'
import { inProject, type Role } from './project'

export type * from 'pleat-client'
export { alphabets, isTerminal } from 'pleat-client'
export * from './http'

/** A workflow, whose input is always an object. */
export interface Workflow extends WireWorkflow {
  input_payload: Record<string, unknown>
}

/** An item of the library, whose metadata are always an object. */
export interface LibraryItem extends WireItem {
  metadata: { files?: { file_name: string; size_bytes: number }[] }
}

/** The parameters of a model; which ones there are depends on the model. */
export type Params = { modelName: string } & Record<string, unknown>

/** The kind of a molecule. */
export type Kind = EntityType

/** One event of a run, as sent by GET /v1/jobs/{id}/events. */
export type RunEvent = WireEvent

/** Days of UTC, both included, and what sums are grouped by. */
interface Days {
  from: string
  to: string
  by: string
}

/** One page of a list. */
export interface List<T> {
  data: T[]
  next_cursor: string | null
}

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
// The path of a named endpoint.
const endpointPath = '/v1/webhooks/endpoints/{id}'
const encode = encodeURIComponent

/** Waits for a request that counts against a quota, and reports that it has been answered. */
async function counted<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } finally {
    listeners.quotaUsed() // also after a refusal: the count shown may be the stale one
  }
}

/** One page of a list. */
interface Page {
  limit?: number
  cursor?: string
}

/** The calls. Each returns the data of the answer and throws ServiceError. */
export const api = {
  createJob: (body: CreateJob, key?: string, from = '') =>
    counted(
      dataOf(
        service.POST('/v1/jobs', {
          body: { ...body, ...inProject() },
          params: { query: given({ from }), ...repeatable(key) },
        }),
      ),
    ),
  validate: (job: CreateJob, signal?: AbortSignal) =>
    dataOf(service.POST('/v1/jobs/validate', { body: { ...job, ...inProject() }, ...until(signal) })),
  importFile: (content: string, name = '') =>
    dataOf(service.POST('/v1/jobs/import', { body: { content, ...(name && { name }) } })),
  jobs: (filter: Page & { status?: string; q?: string; createdBy?: string }, signal?: AbortSignal) =>
    dataOf(
      service.GET('/v1/jobs', {
        params: { query: given({ ...filter, ...inProject(), status: filter.status as JobStatus }) },
        ...until(signal),
      }),
    ),
  // The job as of one of its runs; of its latest if run is empty.
  job: (id: string, run = '') => dataOf(service.GET('/v1/jobs/{id}', { params: ofRun(id, run) })),
  results: (id: string, run = '') => dataOf(service.GET('/v1/jobs/{id}/results', { params: ofRun(id, run) })),
  cancelJob: (id: string) => dataOf(service.POST('/v1/jobs/{id}/cancel', { params: { path: { id } } })),
  deleteJob: (id: string) => dataOf(service.DELETE('/v1/jobs/{id}', { params: { path: { id } } })),
  rerun: (id: string, params?: Params) =>
    counted(dataOf(service.POST('/v1/jobs/{id}/runs', { params: { path: { id } }, body: params ? { params } : {} }))),
  setPublic: (id: string, isPublic: boolean) =>
    dataOf(service.PATCH('/v1/jobs/{id}/public', { params: { path: { id } }, body: { isPublic } })),
  archive: (id: string, run = '') => `/v1/jobs/${encode(id)}/archive.zip${run && `?jobRunId=${encode(run)}`}`,
  // The contacts between the chains of a structure of a run, and the address of the same as CSV.
  contacts: (id: string, of: ContactFilter, signal?: AbortSignal) =>
    dataOf(
      service.GET('/v1/jobs/{id}/contacts', { params: { path: { id }, query: given({ ...of }) }, ...until(signal) }),
    ),
  contactsFile: (id: string, of: ContactFilter) => `/v1/jobs/${encode(id)}/contacts.csv?${query({ ...of })}`,
  // The address of a script that shows a structure of a run in another program.
  viewFile: (id: string, ending: 'cxc' | 'pml' | 'mvsj', of: { jobRunId?: string; sample: string }) =>
    `/v1/jobs/${encode(id)}/view.${ending}?${query({ ...of })}`,
  batches: (filter: Page & { createdBy?: string }) =>
    dataOf(service.GET('/v1/batches', { params: { query: given({ ...filter, ...inProject() }) } })),
  batch: (id: string) => dataOf(service.GET('/v1/batches/{id}', { params: { path: { id } } })),
  // A page of the table. selection: the filter and the order, as a query without the question mark.
  batchRows: (id: string, selection: string, page: Page, signal?: AbortSignal) =>
    dataOf(
      service.GET('/v1/batches/{id}/rows', {
        params: { path: { id }, query: given({ ...page }) },
        querySerializer: () => [selection, query({ ...page })].filter(Boolean).join('&'),
        ...until(signal),
      }),
    ),
  validateBatch: (body: string, signal?: AbortSignal) =>
    dataOf(service.POST('/v1/batches/validate', { ...encoded(body), ...until(signal) })),
  createBatch: (body: string, key: string) =>
    counted(dataOf(service.POST('/v1/batches', { ...encoded(body), params: repeatable(key) }))),
  cancelBatch: (id: string) => dataOf(service.POST('/v1/batches/{id}/cancel', { params: { path: { id } } })),
  retryBatch: (id: string) =>
    counted(dataOf(service.POST('/v1/batches/{id}/retry-failed', { params: { path: { id } } }))),
  rerunBatch: (id: string, body: RerunBatch, key: string) =>
    counted(dataOf(service.POST('/v1/batches/{id}/rerun', { body, params: { path: { id }, ...repeatable(key) } }))),
  setBatchPublic: (id: string, isPublic: boolean) =>
    dataOf(service.PATCH('/v1/batches/{id}/public', { params: { path: { id } }, body: { isPublic } })),
  deleteBatch: (id: string) => dataOf(service.DELETE('/v1/batches/{id}', { params: { path: { id } } })),
  createItem: (name: string, fileType: string) =>
    dataOf(
      service.POST('/v1/library/create', { body: { name, type: 'file', fileType, origin: 'page', ...inProject() } }),
    ),
  uploadFile: (id: string, name: string, file: Blob) => {
    const form = new FormData()
    form.append('files', file, name)
    return dataOf(
      service.POST('/v1/library/{id}/upload-files', {
        params: { path: { id } },
        body: { files: [] }, // the form holds them
        bodySerializer: () => form,
      }),
    )
  },
  library: (page: Page) =>
    dataOf(service.GET('/v1/library', { params: { query: given({ ...page, ...inProject() }) } })),
  item: (id: string) => dataOf(service.GET('/v1/library/{id}', { params: { path: { id } } })) as Promise<LibraryItem>,
  fileUrl: (id: string, name: string) =>
    dataOf(service.GET('/v1/library/file/{id}/{name}', { params: { path: { id, name } } })),
  deleteItem: (id: string) => dataOf(service.DELETE('/v1/library/{id}', { params: { path: { id } } })),
  models: () => dataOf(service.GET('/v1/models')),
  workflow: (id: string) => flow(service.GET('/v1/workflows/{id}', { params: { path: { id } } })),
  publicWorkflow: (id: string) => flow(service.GET('/v1/workflows/public/{id}', { params: { path: { id } } })),
  // Creates a workflow in a project, such as that of the job it is about; in the chosen one if none is named.
  createWorkflow: (name: string, title: string, input: unknown, { draft = false, of }: WorkflowOptions = {}) =>
    counted(
      flow(
        service.POST('/v1/workflows', {
          body: {
            workflow_name: name,
            name: title,
            workflow_input: input,
            ...inProject(of),
            ...(draft && { create_mode: 'draft' as const }),
          },
        }),
      ),
    ),
  alignment: (id: string, signal?: AbortSignal) =>
    dataOf(service.GET('/v1/alignments/{id}', { params: { path: { id } }, ...until(signal) })),
  // The address of an entry of the Protein Data Bank that a comparison names as pdb:ID.
  entryUrl: (of: string) => `/v1/compare/pdb/${encode(of.replace(/^pdb:/, ''))}`,
  // Compares up to four structures; reference is a position from 1, 0 for none.
  compare: (of: string[], reference: number, signal?: AbortSignal) =>
    dataOf(
      service.GET('/v1/compare', {
        params: { query: { of: of.join(','), ...(reference > 0 && { reference }) } },
        ...until(signal),
      }),
    ),
  createComparison: (of: string[], reference: number) =>
    counted(flow(service.POST('/v1/compare', { body: { of, ...(reference > 0 && { reference }), ...inProject() } }))),
  workflows: (
    filter: Page & { status?: WorkflowStatus; workflow_type?: string; source_job_id?: string; createdBy?: string },
  ) => dataOf(service.GET('/v1/workflows', { params: { query: given({ ...filter, ...inProject() }) } })),
  questions: (filter: {
    source_job_id: string
    source_job_run_id?: string
    source_sequence_id?: string
    limit?: number
  }) => dataOf(service.GET('/v1/workflows/qna/linked-history', { params: { query: given(filter) } })),
  draftQuestion: (id: string, question: string) =>
    flow(service.PATCH('/v1/workflows/qna/{id}/draft-question', { params: { path: { id } }, body: { question } })),
  extractFrame: (id: string, body: ExtractFrame) =>
    dataOf(service.POST('/v1/workflows/md/{id}/extract-frame', { params: { path: { id } }, body })),
  foldDesigns: (id: string, body: FoldDesigns, key: string) =>
    counted(
      dataOf(service.POST('/v1/workflows/design/{id}/fold', { body, params: { path: { id }, ...repeatable(key) } })),
    ),
  setWorkflowPublic: (id: string, isPublic: boolean) =>
    dataOf(service.PATCH('/v1/workflows/{id}/public', { params: { path: { id } }, body: { isPublic } })),
  workflowLog: async (id: string) => (await download(`/v1/workflows/logs/${encode(id)}`)).text(),
  executeWorkflow: (workflowId: string) =>
    counted(flow(service.POST('/v1/workflows/execute', { body: { workflowId } }))),
  deleteWorkflow: (id: string) => dataOf(service.DELETE('/v1/workflows/{id}', { params: { path: { id } } })),
  cancelWorkflow: (id: string) => dataOf(service.POST('/v1/workflows/{id}/cancel', { params: { path: { id } } })),
  session: () => dataOf(service.GET('/v1/session')),
  openSession: (key: string) => dataOf(service.POST('/v1/session', { body: { key } })),
  closeSession: () => dataOf(service.DELETE('/v1/session')),
  /** How people sign in by an issuer of OpenID Connect, and why the last sign-in of this browser has failed. */
  login: () => dataOf(service.GET('/v1/login')),
  logout: () => dataOf(service.POST('/v1/logout')),
  usage: () => dataOf(service.GET('/v1/usage', chosen())),
  // The resources spent on some days: by the user in a project, in the whole project with its budget, and in all
  // projects.
  ownUsage: (id: string, days: Days) =>
    dataOf(service.GET('/v1/usage', { params: { query: { ...days, ...inProject(id) } } })),
  projectUsage: (id: string, days: Partial<Days>) =>
    dataOf(service.GET('/v1/projects/{id}/usage', { params: { path: { id }, query: days } })),
  allUsage: (days: Days) => dataOf(service.GET('/v1/operator/usage', { params: { query: days } })),
  // The address of the same as CSV; of all projects if none is named.
  usageFile: (id: string | null, isOwn: boolean, days: Days) => {
    const path = id === null ? 'operator/usage' : isOwn ? 'usage' : `projects/${encode(id)}/usage`
    return `/v1/${path}?${query({ ...days, format: 'csv', ...(isOwn && inProject(id)) })}`
  },
  keys: () => dataOf(service.GET('/v1/keys')),
  // The session of a key may not make or revoke keys: both take the API key itself. That of a sign-in may: key is empty.
  createKey: (key: string, body: CreateKey) => dataOf(service.POST('/v1/keys', { body, ...by(key) })),
  revokeKey: (key: string, id: string) =>
    dataOf(service.DELETE('/v1/keys/{id}', { params: { path: { id } }, ...by(key) })),
  audit: () => dataOf(service.GET('/v1/audit')),
  notifications: () => dataOf(service.GET('/v1/me/notifications')),
  setNotifications: (body: SetNotifications) => dataOf(service.PUT('/v1/me/notifications', { body })),
  askNotifications: () => dataOf(service.POST('/v1/me/notifications/link')),
  confirmNotifications: (token: string) => dataOf(service.POST('/v1/me/notifications/confirm', { body: { token } })),
  webhook: () => dataOf(service.GET(webhookPath, chosen())),
  putWebhook: (body: PutWebhookConfig) => dataOf(service.PUT(webhookPath, { body, ...chosen() })),
  changeWebhook: (what: 'pause' | 'resume' | 'rotate-secret') =>
    dataOf(service.POST(`${webhookPath}/${what}`, chosen())),
  deleteWebhook: () => dataOf(service.DELETE(webhookPath, chosen())),
  testWebhook: () => dataOf(service.POST('/v1/webhooks/test', chosen())),
  endpoints: () => dataOf(service.GET('/v1/webhooks/endpoints', chosen())),
  createEndpoint: (body: CreateEndpoint) => dataOf(service.POST('/v1/webhooks/endpoints', { body, ...chosen() })),
  changeEndpoint: (id: string, body: ChangeEndpoint) =>
    dataOf(service.PATCH(endpointPath, { body, params: { path: { id } } })),
  switchEndpoint: (id: string, what: 'pause' | 'resume' | 'rotate-secret') =>
    dataOf(service.POST(`${endpointPath}/${what}`, { params: { path: { id } } })),
  deleteEndpoint: (id: string) => dataOf(service.DELETE(endpointPath, { params: { path: { id } } })),
  testEndpoint: (id: string) => dataOf(service.POST(`${endpointPath}/test`, { params: { path: { id } } })),
  deliveries: (filter: Page & { status?: string; source_id?: string; endpoint_id?: string }) =>
    dataOf(
      service.GET('/v1/webhooks/deliveries', {
        params: { query: given({ ...filter, ...inProject(), status: filter.status as DeliveryStatus }) },
      }),
    ),
  delivery: (id: string) => dataOf(service.GET('/v1/webhooks/deliveries/{id}', { params: { path: { id } } })),
  redeliver: (id: string) =>
    dataOf(service.POST('/v1/webhooks/deliveries/{id}/redeliver', { params: { path: { id } } })),
  sendWaiting: () =>
    dataOf(service.POST('/v1/webhooks/deliveries/redeliver', { body: { status: 'PENDING' }, ...chosen() })),
  me: () => dataOf(service.GET('/v1/me')),
  // All projects that are not users' own, for operators; else those in which the user has a role.
  projects: (all: boolean) => dataOf(service.GET('/v1/projects', { params: { query: all ? { all: 'true' } : {} } })),
  project: (id: string) => dataOf(service.GET('/v1/projects/{id}', { params: { path: { id } } })),
  createProject: (body: CreateProject) => dataOf(service.POST('/v1/projects', { body })),
  changeProject: (id: string, body: ChangeProject) =>
    dataOf(service.PATCH('/v1/projects/{id}', { body, params: { path: { id } } })),
  deleteProject: (id: string) => dataOf(service.DELETE('/v1/projects/{id}', { params: { path: { id } } })),
  members: (id: string) => dataOf(service.GET('/v1/projects/{id}/members', { params: { path: { id } } })),
  setMember: (id: string, user: string, role: Role) =>
    dataOf(service.PUT('/v1/projects/{id}/members/{user}', { body: { role }, params: { path: { id, user } } })),
  removeMember: (id: string, user: string) =>
    dataOf(service.DELETE('/v1/projects/{id}/members/{user}', { params: { path: { id, user } } })),
  groups: (id: string) => dataOf(service.GET('/v1/projects/{id}/groups', { params: { path: { id } } })),
  setGroup: (id: string, name: string, role: Role) =>
    dataOf(service.PUT('/v1/projects/{id}/groups/{name}', { body: { role }, params: { path: { id, name } } })),
  removeGroup: (id: string, name: string) =>
    dataOf(service.DELETE('/v1/projects/{id}/groups/{name}', { params: { path: { id, name } } })),
  projectAudit: (id: string) => dataOf(service.GET('/v1/projects/{id}/audit', { params: { path: { id } } })),
  invitations: (id: string) => dataOf(service.GET('/v1/projects/{id}/invitations', { params: { path: { id } } })),
  invite: (id: string, body: CreateInvitation) =>
    dataOf(service.POST('/v1/projects/{id}/invitations', { body, params: { path: { id } } })),
  revokeInvitation: (id: string, invitationId: string) =>
    dataOf(service.DELETE('/v1/projects/{id}/invitations/{invitationId}', { params: { path: { id, invitationId } } })),
  readInvitation: (token: string) => dataOf(service.POST('/v1/invitations/read', { body: { token } })),
  // Without a session, name is that of the user to create.
  acceptInvitation: (token: string, name = '') =>
    dataOf(service.POST('/v1/invitations/accept', { body: { token, ...(name && { name }) } })),
  // A session may not make keys: both take the API key itself.
  createServiceUser: (key: string, id: string, body: CreateServiceUser) =>
    dataOf(service.POST('/v1/projects/{id}/service-users', { body, params: { path: { id } }, ...by(key) })),
  createServiceKey: (key: string, id: string, user: string, body: CreateKey) =>
    dataOf(
      service.POST('/v1/projects/{id}/service-users/{user}/keys', {
        body,
        params: { path: { id, user } },
        ...by(key),
      }),
    ),
  serviceKeys: (id: string, user: string) =>
    dataOf(service.GET('/v1/projects/{id}/service-users/{user}/keys', { params: { path: { id, user } } })),
  revokeServiceKey: (id: string, user: string, keyId: string) =>
    dataOf(
      service.DELETE('/v1/projects/{id}/service-users/{user}/keys/{keyId}', {
        params: { path: { id, user, keyId } },
      }),
    ),
  links: (kind: Shared, id: string) => dataOf(service.GET(`/v1/${kind}/{id}/links`, { params: { path: { id } } })),
  createLink: (kind: Shared, id: string, body: CreateLink) =>
    dataOf(service.POST(`/v1/${kind}/{id}/links`, { body, params: { path: { id } } })),
  deleteLink: (kind: Shared, id: string, linkId: string) =>
    dataOf(service.DELETE(`/v1/${kind}/{id}/links/{linkId}`, { params: { path: { id, linkId } } })),
  moveJob: (id: string, projectId: string) =>
    dataOf(service.POST('/v1/jobs/{id}/move', { body: { projectId }, params: { path: { id } } })),
  moveWorkflow: (id: string, projectId: string) =>
    dataOf(service.POST('/v1/workflows/{id}/move', { body: { projectId }, params: { path: { id } } })),
  overview: () => dataOf(service.GET('/v1/operator/overview')),
  workers: () => dataOf(service.GET('/v1/operator/workers')),
  drainWorker: (worker: string) =>
    dataOf(service.POST('/v1/operator/workers/{worker}/drain', { params: { path: { worker } } })),
  pauseModel: (model: string, reason: string) =>
    dataOf(service.POST('/v1/operator/models/{model}/pause', { body: { reason }, params: { path: { model } } })),
  resumeModel: (model: string) =>
    dataOf(service.POST('/v1/operator/models/{model}/resume', { params: { path: { model } } })),
  users: (page: { limit: number; cursor?: string }) =>
    dataOf(service.GET('/v1/operator/users', { params: { query: page } })),
  disableUser: (user: string) =>
    dataOf(service.POST('/v1/operator/users/{user}/disable', { params: { path: { user } } })),
  enableUser: (user: string) =>
    dataOf(service.POST('/v1/operator/users/{user}/enable', { params: { path: { user } } })),
  allAudit: (page: { limit: number; cursor?: string }) =>
    dataOf(service.GET('/v1/operator/audit', { params: { query: page } })),
}

/** The objects that a link can share, as paths name it. */
export type Shared = 'jobs' | 'batches' | 'workflows'

/** How a workflow is created: whether it stays a draft, and in which project. */
interface WorkflowOptions {
  draft?: boolean
  of?: string | null
}

/** The query that names the chosen project. */
const chosen = () => ({ params: { query: inProject() } })

/** The path of a batch. */
export const batchPath = (id: string) => `/v1/batches/${encode(id)}`

/** The parameters that name a job, and one of its runs unless run is empty. */
const ofRun = (id: string, run: string) => ({ path: { id }, query: given({ jobRunId: run }) })

/** The header by which a repeated request gets the first answer. */
const repeatable = (key?: string) => (key ? { header: { 'Idempotency-Key': key } } : {})

/** The signal that ends a request. */
const until = (signal?: AbortSignal) => (signal ? { signal } : {})

/** The credential of a request that a session may not make. */
const by = (key: string) => (key ? { headers: { Authorization: `Bearer ${key}` } } : {})

/** The body of a batch, which may be large: it was encoded once. */
const encoded = (body: string) => ({ body: {} as CreateBatch, bodySerializer: () => body })

/** The workflow of an answer, whose input is always an object. */
const flow = (answer: Promise<{ data?: WireWorkflow }>) => dataOf(answer) as Promise<Workflow>

/** The parameters of a query that are not empty. */
function given<T extends object>(filter: T): T {
  return Object.fromEntries(Object.entries(filter).filter(([, v]) => v !== undefined && v !== '')) as T
}

/** Formats the parameters of a query; empty ones are left out. */
function query(filter: Record<string, string | number | undefined>): string {
  return new URLSearchParams(Object.entries(given(filter)).map(([name, v]) => [name, String(v)])).toString()
}
