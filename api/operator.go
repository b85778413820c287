package api

import (
	"context"
	"net/url"
)

// Overview is the response of GET /v1/operator/overview: what an operator sees of the service at a moment. It says
// nothing of the contents of jobs.
type Overview struct {
	Version       string       `json:"version" doc:"Version of the server that answers."`
	StartedAt     Time         `json:"startedAt" doc:"When that server began."`
	Database      string       `json:"database" enum:"DatabaseKind"`
	SchemaVersion int64        `json:"schemaVersion" doc:"Schema version of the database."`
	At            Time         `json:"at" doc:"When it was counted, at most a second ago."`
	Users         int          `json:"users" doc:"At most 10,000 are counted."`
	Projects      int          `json:"projects" doc:"Those of several users; at most 10,000 are counted."`
	Waiting       int          `json:"waiting" doc:"Tasks of models that wait."`
	Models        []ModelQueue `json:"models" doc:"Every model with its queue, by name."`
	SlowRuns      []SlowRun    `json:"slowRuns" doc:"The runs that take longest compared with what was expected, at most 20 of the 200 that were queued first."`
	Disks         []DiskSpace  `json:"disks" doc:"Disks of the folders into which this server writes."`
}

// ModelQueue is how many tasks of a model wait and run.
type ModelQueue struct {
	Model        string      `json:"modelName" example:"boltz-2"`
	Waiting      int         `json:"waiting" doc:"At most 10,000 of each of its queues are counted."`
	Running      int         `json:"running"`
	WaitingSince *Time       `json:"waitingSince" doc:"When the first of those that wait was created; null: none waits."`
	Workers      int         `json:"workers" doc:"Live workers that run the model."`
	Paused       *ModelPause `json:"paused" doc:"null: it is not paused."`
}

// ModelPause says why operators have paused a model.
type ModelPause struct {
	Reason string `json:"reason" doc:"Empty: none was given."`
	By     string `json:"by" doc:"The operator who gave the reason."`
	Since  Time   `json:"since"`
}

// SlowRun is a run that a worker has.
type SlowRun struct {
	RunID       string   `json:"runId" format:"uuid"`
	JobID       *string  `json:"jobId" doc:"null: it is of a workflow." format:"uuid"`
	WorkflowID  *string  `json:"workflowId" doc:"null: it is of a job." format:"uuid"`
	ProjectID   string   `json:"projectId" format:"uuid"`
	ProjectName string   `json:"projectName"`
	Model       string   `json:"modelName"`
	WorkerID    string   `json:"workerId"`
	StartedAt   Time     `json:"startedAt" doc:"When the worker began."`
	Expected    *float64 `json:"expectedSeconds" doc:"How long it was expected to take, as measured on workers of the class; null: not known."`
}

// DiskSpace is the space of the file system of a folder.
type DiskSpace struct {
	Folder string `json:"folder"`
	Free   int64  `json:"freeBytes"`
	Total  int64  `json:"totalBytes"`
}

// OperatorWorker is a worker that is alive or may come back.
type OperatorWorker struct {
	ID         string         `json:"workerId"`
	Host       string         `json:"host"`
	Class      string         `json:"class"`
	State      string         `json:"state" doc:"silent: not seen for 30 seconds; stopped: it has said that it ends." enum:"WorkerState"`
	Models     []string       `json:"models"`
	Devices    []WorkerDevice `json:"devices" doc:"Its accelerators."`
	Memory     int64          `json:"memoryBytes" doc:"That it may use at once; 0: unlimited."`
	Tasks      int            `json:"tasks" doc:"That it holds now."`
	ClusterJob *string        `json:"clusterJob" doc:"The job of a cluster that it is; null: none." example:"slurm/4711/0"`
	StartedAt  Time           `json:"startedAt"`
	SeenAt     Time           `json:"seenAt"`
	EndsAt     *Time          `json:"endsAt" doc:"When it must end at the latest; null: not known."`
}

// WorkerDevice is an accelerator of a worker.
type WorkerDevice struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Memory int64  `json:"memoryBytes"`
}

// DrainedWorker is the response of POST /v1/operator/workers/{id}/drain.
type DrainedWorker struct {
	ID       string `json:"workerId"`
	Draining bool   `json:"draining"`
}

// PauseModel is the body of POST /v1/operator/models/{name}/pause ([Client.PauseModel]).
type PauseModel struct {
	Reason string `json:"reason,omitempty" doc:"Which users read with the jobs that wait." maxLength:"200" example:"its weights are being replaced"`
}

// PausedModel is the response of POST /v1/operator/models/{name}/pause and …/resume.
type PausedModel struct {
	Model  string      `json:"modelName"`
	Paused *ModelPause `json:"paused" doc:"null: it is not paused any more."`
}

// OperatorUser is a user as an operator sees it.
type OperatorUser struct {
	ID         string  `json:"userId" format:"uuid"`
	Name       string  `json:"name"`
	IsService  bool    `json:"isService" doc:"Whether the user is that of a program, which a project owns."`
	ProjectID  *string `json:"projectId" doc:"The project that owns a service user; else null." format:"uuid"`
	IsOperator bool    `json:"isOperator"`
	DisabledAt *Time   `json:"disabledAt" doc:"null: the user is not disabled."`
	CreatedAt  Time    `json:"createdAt"`
	SeenAt     *Time   `json:"seenAt" doc:"When a key of the user was used last, or a sign-in by the issuer; null: not known."`
}

// DisabledUser is the response of POST /v1/operator/users/{id}/disable and …/enable.
type DisabledUser struct {
	ID         string `json:"userId" format:"uuid"`
	Name       string `json:"name"`
	DisabledAt *Time  `json:"disabledAt" doc:"null: the user is not disabled."`
}

// Overview returns what an operator sees of the service.
func (c *Client) Overview(ctx context.Context) (Overview, error) {
	return do[Overview](ctx, c, get("/v1/operator/overview", nil))
}

// Workers lists the workers, to an operator.
func (c *Client) Workers(ctx context.Context) (List[OperatorWorker], error) {
	return do[List[OperatorWorker]](ctx, c, get("/v1/operator/workers", nil))
}

// DrainWorker asks a worker to finish what it runs, to claim nothing more and to end.
func (c *Client) DrainWorker(ctx context.Context, id string) (DrainedWorker, error) {
	return do[DrainedWorker](ctx, c, post("/v1/operator/workers/"+url.PathEscape(id)+"/drain", nil))
}

// PauseModel pauses a model.
func (c *Client) PauseModel(ctx context.Context, name, reason string) (PausedModel, error) {
	return do[PausedModel](ctx, c, post("/v1/operator/models/"+url.PathEscape(name)+"/pause", PauseModel{reason}))
}

// ResumeModel ends the pause of a model.
func (c *Client) ResumeModel(ctx context.Context, name string) (PausedModel, error) {
	return do[PausedModel](ctx, c, post("/v1/operator/models/"+url.PathEscape(name)+"/resume", nil))
}

// AllUsers reads a page of the list of all users, newest first, to an operator. Cursor is the NextCursor of the page
// before; empty: the first page.
func (c *Client) AllUsers(ctx context.Context, cursor string) (List[OperatorUser], error) {
	return do[List[OperatorUser]](ctx, c, get("/v1/operator/users", largestPage(cursor)))
}

// DisableUser refuses all keys and sessions of a user. 409: the caller is that user.
func (c *Client) DisableUser(ctx context.Context, id string) (DisabledUser, error) {
	return do[DisabledUser](ctx, c, post("/v1/operator/users/"+url.PathEscape(id)+"/disable", nil))
}

// EnableUser accepts the keys of a disabled user again. 409: the user was deleted.
func (c *Client) EnableUser(ctx context.Context, id string) (DisabledUser, error) {
	return do[DisabledUser](ctx, c, post("/v1/operator/users/"+url.PathEscape(id)+"/enable", nil))
}

// AllAudit reads a page of the audit log of all users, newest first, to an operator. Cursor is the NextCursor of the
// page before; empty: the first page.
func (c *Client) AllAudit(ctx context.Context, cursor string) (List[AuditEntry], error) {
	return do[List[AuditEntry]](ctx, c, get("/v1/operator/audit", largestPage(cursor)))
}

// largestPage asks for a page of as many entries as a server sends at most.
func largestPage(cursor string) url.Values { return url.Values{"limit": {"200"}, "cursor": {cursor}} }
