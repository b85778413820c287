package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// States that workflows and their tasks have in addition to RUNNING, COMPLETED, FAILED and STOPPED.
const (
	Draft  = "DRAFT"
	Queued = "QUEUED"
)

// CreateWorkflow is the body of POST /v1/workflows ([Client.CreateWorkflow]).
type CreateWorkflow struct {
	WorkflowName string          `json:"workflow_name" doc:"qna_v1: a question about a structure; md: a simulation of its dynamics. Aliases: evolla_v1, calvados_openmm_v1." example:"qna_v1"`
	Name         string          `json:"name,omitempty" doc:"Name of the workflow; absent: the question, or what is simulated." maxLength:"255" example:"What binds here?"`
	Input        json.RawMessage `json:"workflow_input" doc:"Input of the workflow, in snake_case or camelCase; the guide lists its fields. Unknown fields are refused."`
	CreateMode   string          `json:"create_mode,omitempty" doc:"draft: create the workflow without running it; POST /v1/workflows/execute runs it." enum:"CreateMode"`
	ProjectID    string          `json:"projectId,omitempty" doc:"The project that owns it; absent: that of the key, else your own." format:"uuid"`
}

// Workflow is the response of POST /v1/workflows and GET /v1/workflows/{id}.
type Workflow struct {
	ID       string          `json:"workflow_id" format:"uuid"`
	Status   string          `json:"status" enum:"WorkflowStatus"`
	Type     string          `json:"workflow_type" example:"qna_v1"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input_payload" doc:"The workflow_input of the request without its secrets; isPublic shows the current visibility."`
	Tasks    []WorkflowTask  `json:"tasks" doc:"Empty for a draft."`
	IsPublic bool            `json:"is_public"`
	IsOwner  bool            `json:"is_owner" doc:"Whether the caller has a role in the project that owns it."`
	Owned
	CreatedAt Time           `json:"created_at"`
	UpdatedAt Time           `json:"updated_at"`
	ExpiresAt *Time          `json:"expires_at" doc:"When the service may delete the workflow, at the earliest; null: never, or the task has not ended."`
	Stage     string         `json:"stage" doc:"The current stage of the task; empty if it is not known."`
	Done      int            `json:"done"`
	Total     int            `json:"total" doc:"0: not known."`
	Waiting   *Waiting       `json:"waiting" doc:"Why the task waits; null if it does not wait."`
	Workspace *string        `json:"library_item_workspace_id" format:"uuid" doc:"For a design, the folder of its files in your library; null for other workflows and readers."`
	Graph     *WorkflowGraph `json:"graph" doc:"For a design, its nodes and edges; null for other workflows and readers."`
	Notes     []string       `json:"notes,omitempty" doc:"In the response of POST /v1/workflows, the parts of sequences that were dropped, with their paths in the body; absent if there are none."`
	Folds     []DesignFold   `json:"folds,omitempty" doc:"For a design, its folds by other models; absent if there are none."`
}

// WorkflowGraph is the graph of a design.
type WorkflowGraph struct {
	Nodes []json.RawMessage `json:"nodes" doc:"Each with id, type, workflowTaskTypeId, position, data and inputPayload."`
	Edges []json.RawMessage `json:"edges" doc:"Each with id, source and target: one for every requirement."`
}

// GraphView is the response of GET /v1/workflows/{id}/graph.
type GraphView struct {
	ID    string            `json:"workflow_id" format:"uuid"`
	Nodes []json.RawMessage `json:"nodes" doc:"As in the field graph of a workflow."`
	Edges []json.RawMessage `json:"edges"`
}

// AddGraph is the body of POST /v1/workflows/graph/add ([Client.AddGraph]).
type AddGraph struct {
	WorkflowName string `json:"workflow_name" doc:"design_v1 or boltzgen_v1." example:"design_v1"`
	Name         string `json:"name,omitempty" doc:"Default: Design."`
	CreateMode   string `json:"create_mode,omitempty" doc:"All the same: the workflow is a draft." enum:"GraphMode"`
	ProjectID    string `json:"projectId,omitempty" doc:"The project that owns it; absent: that of the key, else your own." format:"uuid"`
}

// FoldDesigns is the body of POST /v1/workflows/design/{id}/fold ([Client.FoldDesigns]). One of Top and Designs is
// required.
type FoldDesigns struct {
	Top     *int            `json:"top,omitempty" doc:"Fold so many designs of the final set, the best first: 1 to 20."`
	Designs []string        `json:"designs,omitempty" doc:"Ids of the designs to fold, 1 to 20."`
	Params  json.RawMessage `json:"params" doc:"As in POST /v1/jobs; modelName is required."`
	Name    string          `json:"name,omitempty" doc:"Start of the names of the jobs; default: the name of the workflow."`
}

// FoldedDesign is a job that folds a design.
type FoldedDesign struct {
	DesignID  string `json:"designId"`
	FinalRank int    `json:"finalRank"`
	JobID     string `json:"jobId" format:"uuid"`
	JobRunID  string `json:"jobRunId" format:"uuid"`
	JobName   string `json:"jobName"`
}

// FoldedDesigns is the response of POST /v1/workflows/design/{id}/fold.
type FoldedDesigns struct {
	Data  []FoldedDesign `json:"data"`
	Notes []string       `json:"notes" doc:"Notes on the folds, such as that the model is kin of the one that ranked the designs."`
}

// DesignFold is a fold of a design, in the workflow that made the design.
type DesignFold struct {
	DesignID      string   `json:"designId"`
	JobID         string   `json:"jobId" format:"uuid"`
	JobRunID      string   `json:"jobRunId" format:"uuid"`
	ModelName     string   `json:"modelName"`
	Status        string   `json:"status" enum:"JobStatus"`
	MeanPLDDT     *float64 `json:"mean_plddt" doc:"0 to 100; null until the fold is COMPLETED."`
	PredictedRMSD *float64 `json:"predicted_rmsd" doc:"In Å, lower is better: what some models give in place of pLDDT."`
	PTM           *float64 `json:"ptm_score" doc:"0 to 1."`
	IPTM          *float64 `json:"iptm_score" doc:"0 to 1."`
	BinderRMSD    *float64 `json:"binder_rmsd" doc:"Å over the backbone of the binder, with the targets superposed; null until the fold is COMPLETED."`
}

// WorkflowTask is a workflow's task with its result.
type WorkflowTask struct {
	ID     string            `json:"task_id" format:"uuid"`
	Type   string            `json:"task_type" example:"inference_qna"`
	Status string            `json:"status" enum:"TaskStatus"`
	Parsed []json.RawMessage `json:"parsed_results" doc:"For a design that is COMPLETED, the rows of its final set by final_rank; else empty."`
	Items  []OutputItem      `json:"output_library_items" doc:"Library items that the task created; empty until it is COMPLETED."`
	Result json.RawMessage   `json:"result_raw_json" doc:"The result; null until the task is COMPLETED. The guide lists the fields of each type."`
	Error  *string           `json:"error" doc:"Why there is no result; null if there is no failure."`
}

// OutputItem is a file in the library that a task created.
type OutputItem struct {
	ItemID string `json:"libraryItemId" format:"uuid"`
	Name   string `json:"fileName"`
}

// QnAResult is result_raw_json of task type inference_qna.
type QnAResult struct {
	Question     string `json:"question"`
	Answer       string `json:"answer"`
	TargetSource string `json:"targetSource"`
	TargetRef    any    `json:"targetRef"`
	FileName     string `json:"fileName"`
	Image        string `json:"image"`
}

// MDResult is result_raw_json of task type inference_md.
type MDResult struct {
	Artifacts []MDArtifact    `json:"artifacts"`
	Metrics   json.RawMessage `json:"metrics"`
}

// MDArtifact is one file of a simulation.
type MDArtifact struct {
	Path      string `json:"path"`
	SizeBytes int64  `json:"sizeBytes"`
	URL       string `json:"url"`
}

// WorkflowStatusView is the response of GET /v1/workflows/status/{id}.
type WorkflowStatusView struct {
	Status string           `json:"status" enum:"WorkflowStatus"`
	Tasks  []TaskStatusView `json:"tasks"`
}

// TaskStatusView is where a workflow's task stands.
type TaskStatusView struct {
	ID     string `json:"task_id" format:"uuid"`
	Type   string `json:"task_type"`
	Status string `json:"status" enum:"TaskStatus"`
}

// TasksResults is the response of GET /v1/workflows/task-results/{id}.
type TasksResults struct {
	TasksResults []WorkflowTask `json:"tasksResults"`
}

// WorkflowRow is a workflow in GET /v1/workflows.
type WorkflowRow struct {
	ID string `json:"workflow_id" format:"uuid"`
	Owned
	Status           string  `json:"status" enum:"WorkflowStatus"`
	Type             string  `json:"workflow_type"`
	Name             string  `json:"name"`
	IsPublic         bool    `json:"is_public"`
	SourceJobID      *string `json:"source_job_id"`
	SourceJobRunID   *string `json:"source_job_run_id"`
	SourceSequenceID *string `json:"source_sequence_id"`
	Stage            string  `json:"stage"`
	Done             int     `json:"done"`
	Total            int     `json:"total"`
	Error            *string `json:"error"`
	CreatedAt        Time    `json:"created_at"`
	UpdatedAt        Time    `json:"updated_at"`
}

// WorkflowsFilter narrows GET /v1/workflows. The zero value lists the newest 50.
type WorkflowsFilter struct {
	Limit     int    // 1 to 200; 0: 50
	Cursor    string // NextCursor of the page before
	Status    string
	Type      string // a workflow's name
	SourceJob string
	CreatedBy string // me, or the id of a user
}

// ExecuteWorkflow is the body of POST /v1/workflows/execute ([Client.ExecuteWorkflow]).
type ExecuteWorkflow struct {
	WorkflowID string `json:"workflowId" doc:"Id of a draft." format:"uuid"`
}

// WorkflowVisibility is the response of PATCH /v1/workflows/{id}/public.
type WorkflowVisibility struct {
	WorkflowID string `json:"workflowId" format:"uuid"`
	IsPublic   bool   `json:"isPublic"`
}

// CancelledWorkflow is the response of POST /v1/workflows/{id}/cancel. The status is RUNNING until the engine has
// stopped.
type CancelledWorkflow struct {
	WorkflowID string `json:"workflowId" format:"uuid"`
	Status     string `json:"status" enum:"WorkflowStatus"`
}

// DeletedWorkflow is the response of DELETE /v1/workflows/{id}.
type DeletedWorkflow struct {
	WorkflowID string `json:"workflowId" format:"uuid"`
	Deleted    bool   `json:"deleted"`
}

// DraftQuestion is the body of PATCH /v1/workflows/qna/{id}/draft-question.
type DraftQuestion struct {
	Question *string `json:"question" doc:"The new question."`
}

// LinkedWorkflow is a question about a fold: GET /v1/workflows/qna/linked-history lists them, newest first.
type LinkedWorkflow struct {
	LinkedPreview
	LastQuestion *string `json:"lastQuestion"`
	LastAnswer   *string `json:"lastAnswer" doc:"Null until there is an answer."`
}

// LinkedPreview is [LinkedWorkflow] without its long texts: GET /v1/workflows/qna/linked-previews lists them.
type LinkedPreview struct {
	WorkflowID       string  `json:"workflowId" format:"uuid"`
	WorkflowStatus   string  `json:"workflowStatus" enum:"WorkflowStatus"`
	WorkflowType     string  `json:"workflowType"`
	Name             string  `json:"name"`
	QuestionPreview  string  `json:"questionPreview" doc:"Start of the question, at most 120 characters."`
	SourceJobID      *string `json:"sourceJobId"`
	SourceJobRunID   *string `json:"sourceJobRunId"`
	SourceSequenceID *string `json:"sourceSequenceId"`
	CreatedAt        Time    `json:"createdAt"`
	UpdatedAt        Time    `json:"updatedAt"`
}

// OutputSchemaRequest is the body of POST /v1/workflows/node/output-schema.
type OutputSchemaRequest struct {
	TaskType string          `json:"workflowTaskTypeId" doc:"A task type, such as inference_md or pipeline_run_design_v1." example:"inference_md"`
	Input    json.RawMessage `json:"inputPayload,omitempty" doc:"Input of the task; for a design its budget or numDesigns is the number of designs."`
}

// OutputSchema is what a task will give.
type OutputSchema struct {
	Available []OutputField `json:"availableOutput"`
}

// OutputField is one thing that a task gives.
type OutputField struct {
	Name string `json:"name" example:"metrics.radius_of_gyration.mean"`
	Type string `json:"type" example:"key/float"`
}

// ExtractFrame is the body of POST /v1/workflows/md/{id}/extract-frame ([Client.ExtractFrame]).
type ExtractFrame struct {
	TimeNs         *float64 `json:"timeNs" doc:"Time in the simulation, in ns; the nearest frame is extracted."`
	Selection      string   `json:"selection,omitempty" doc:"Atoms in the language of MDAnalysis: all, protein, name, resname, resid a:b, chainID, and, or, not, parentheses; absent: all." example:"chainID A and resid 5:12"`
	OutputFilename string   `json:"outputFilename,omitempty" doc:"Name of the PDB file: letters, digits, dot, underscore and hyphen, then .pdb; absent: frame.pdb."`
	DtInPs         *float64 `json:"dtInPs,omitempty" doc:"Time between frames, in ps; 0 or absent: the one that the trajectory states."`
}

// ExtractedFrame is the answer to [Client.ExtractFrame]. The file is kept in the caller's library.
type ExtractedFrame struct {
	WorkflowID      string  `json:"workflowId" format:"uuid"`
	TaskID          string  `json:"taskId" format:"uuid"`
	PDBURL          string  `json:"pdbUrl" format:"uri"`
	Path            string  `json:"path" doc:"File name."`
	LibraryItemID   string  `json:"libraryItemId" format:"uuid"`
	FrameIndex      int     `json:"frameIndex" doc:"Counted from 0."`
	RequestedTimeNs float64 `json:"requestedTimeNs"`
	ActualTimeNs    float64 `json:"actualTimeNs"`
	AtomCount       int     `json:"atomCount"`
}

func workflowPath(id, rest string) string { return "/v1/workflows/" + url.PathEscape(id) + rest }

// CreateWorkflow creates a question or a simulation and queues it, or creates a draft of one. 404: the caller may not
// read its source; 409: the fold that it is about has not finished.
func (c *Client) CreateWorkflow(ctx context.Context, w CreateWorkflow) (Workflow, error) {
	return c.CreateWorkflowOnce(ctx, w, "")
}

// CreateWorkflowOnce is [Client.CreateWorkflow] with an Idempotency-Key, with which the call can be repeated safely
// after an error; empty: none.
func (c *Client) CreateWorkflowOnce(ctx context.Context, w CreateWorkflow, key string) (Workflow, error) {
	w.ProjectID = c.in(w.ProjectID)
	r := post("/v1/workflows", w)
	if key != "" {
		r.header = http.Header{"Idempotency-Key": {key}}
	}
	return do[Workflow](ctx, c, r)
}

// Workflow reads a workflow with its task.
func (c *Client) Workflow(ctx context.Context, id string) (Workflow, error) {
	return do[Workflow](ctx, c, get(workflowPath(id, ""), nil))
}

// PublicWorkflow reads a public workflow by the path that is meant for sharing.
func (c *Client) PublicWorkflow(ctx context.Context, id string) (Workflow, error) {
	return do[Workflow](ctx, c, get(workflowPath("public", "/"+url.PathEscape(id)), nil))
}

// WorkflowStatus reads the states of a workflow and of its task.
func (c *Client) WorkflowStatus(ctx context.Context, id string) (WorkflowStatusView, error) {
	return do[WorkflowStatusView](ctx, c, get(workflowPath("status", "/"+url.PathEscape(id)), nil))
}

// TaskResults reads a workflow's task with its result; the list of a draft is empty.
func (c *Client) TaskResults(ctx context.Context, id string) (TasksResults, error) {
	return do[TasksResults](ctx, c, get(workflowPath("task-results", "/"+url.PathEscape(id)), nil))
}

// Workflows lists the caller's workflows, newest first.
func (c *Client) Workflows(ctx context.Context, f WorkflowsFilter) (List[WorkflowRow], error) {
	q := url.Values{}
	for name, v := range map[string]string{"cursor": f.Cursor, "status": f.Status, "workflow_type": f.Type,
		"source_job_id": f.SourceJob, "createdBy": f.CreatedBy} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if f.Limit != 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return do[List[WorkflowRow]](ctx, c, c.list("/v1/workflows", q))
}

// ExecuteWorkflow queues a draft. Its errors are those of [Client.CreateWorkflow], and 409 if the workflow is not a
// draft.
func (c *Client) ExecuteWorkflow(ctx context.Context, id string) (Workflow, error) {
	return do[Workflow](ctx, c, post("/v1/workflows/execute", ExecuteWorkflow{WorkflowID: id}))
}

// CancelWorkflow stops a workflow. A running one keeps its state until its engine has stopped. 409: it has ended.
func (c *Client) CancelWorkflow(ctx context.Context, id string) (CancelledWorkflow, error) {
	return do[CancelledWorkflow](ctx, c, post(workflowPath(id, "/cancel"), nil))
}

// DeleteWorkflow deletes a workflow with its files and the library items that its task made, and stops it if it runs.
func (c *Client) DeleteWorkflow(ctx context.Context, id string) (DeletedWorkflow, error) {
	return do[DeletedWorkflow](ctx, c, request{method: http.MethodDelete, path: workflowPath(id, "")})
}

// SetWorkflowPublic makes a workflow public or private. When it becomes private, the links to its files stop working.
func (c *Client) SetWorkflowPublic(ctx context.Context, id string, public bool) (WorkflowVisibility, error) {
	return do[WorkflowVisibility](ctx, c, request{method: http.MethodPatch, path: workflowPath(id, "/public"),
		body: SetPublic{IsPublic: &public}})
}

// WorkflowLogs reads the log of a workflow's task: one line of text per line.
func (c *Client) WorkflowLogs(ctx context.Context, id string) (string, error) {
	return c.text(ctx, workflowPath("logs", "/"+url.PathEscape(id)))
}

// SetDraftQuestion changes the question of a draft.
func (c *Client) SetDraftQuestion(ctx context.Context, id, question string) (Workflow, error) {
	return do[Workflow](ctx, c, request{method: http.MethodPatch, path: workflowPath("qna",
		"/"+url.PathEscape(id)+"/draft-question"), body: DraftQuestion{Question: &question}})
}

// LinkedHistory lists questions about a fold, newest first. Each id that is not empty narrows the list; limit 0 is 50.
func (c *Client) LinkedHistory(ctx context.Context, job, run, sequence string, limit int) (List[LinkedWorkflow],
	error) {
	return do[List[LinkedWorkflow]](ctx, c, get(workflowPath("qna", "/linked-history"), linked(job, run, sequence,
		limit)))
}

// LinkedPreviews is [Client.LinkedHistory] without the long texts.
func (c *Client) LinkedPreviews(ctx context.Context, job, run, sequence string, limit int) (List[LinkedPreview],
	error) {
	return do[List[LinkedPreview]](ctx, c, get(workflowPath("qna", "/linked-previews"), linked(job, run, sequence,
		limit)))
}

func linked(job, run, sequence string, limit int) url.Values {
	q := url.Values{}
	for name, v := range map[string]string{"source_job_id": job, "source_job_run_id": run,
		"source_sequence_id": sequence} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if limit != 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return q
}

// OutputSchema lists the outputs that a task of a type will have for an input.
func (c *Client) OutputSchema(ctx context.Context, taskType string, input json.RawMessage) (OutputSchema, error) {
	return do[OutputSchema](ctx, c, post(workflowPath("node", "/output-schema"), OutputSchemaRequest{TaskType: taskType,
		Input: input}))
}

// ExtractFrame extracts one frame of a simulation as a structure in the caller's library. 409: the simulation is not
// COMPLETED.
func (c *Client) ExtractFrame(ctx context.Context, id string, f ExtractFrame) (ExtractedFrame, error) {
	return do[ExtractedFrame](ctx, c, post(workflowPath("md", "/"+url.PathEscape(id)+"/extract-frame"), f))
}

// AddGraph creates a draft of a design with an empty graph.
func (c *Client) AddGraph(ctx context.Context, g AddGraph) (Workflow, error) {
	g.ProjectID = c.in(g.ProjectID)
	return do[Workflow](ctx, c, post(workflowPath("graph", "/add"), g))
}

// WorkflowGraph reads the nodes and edges of a design.
func (c *Client) WorkflowGraph(ctx context.Context, id string) (GraphView, error) {
	return do[GraphView](ctx, c, get(workflowPath(id, "/graph"), nil))
}

// FoldDesigns folds designs with another model; each becomes a job. 409: the design is not COMPLETED.
func (c *Client) FoldDesigns(ctx context.Context, id string, f FoldDesigns) (FoldedDesigns, error) {
	return do[FoldedDesigns](ctx, c, post(workflowPath("design", "/"+url.PathEscape(id)+"/fold"), f))
}

// FollowWorkflow is [Client.Follow] for a workflow's task.
func (c *Client) FollowWorkflow(ctx context.Context, id string, after int64, fn func(Event) error) error {
	return c.follow(ctx, workflowPath(id, "/events"), id, after, fn)
}
