package flows

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/flow"
	"pleat/internal/seal"
	"pleat/internal/server/progress"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// visibleWorkflow is a workflow that the caller may read, and as whom.
type visibleWorkflow struct {
	runs.WorkflowView
	to wire.Audience
	// fold is the fold that the workflow is about, if others may read that too; see showPublicFold.
	fold pleat.FoldRef
}

// readableWorkflow reads the workflow in the path and checks that the caller may read it. A workflow that the caller
// may not read is not found; a caller without a credential gets pleat.ErrUnauthorized instead.
func (h *Handlers) readableWorkflow(ctx context.Context, c *route.Call) (visibleWorkflow, error) {
	id, err := c.UUID("id", pleat.ErrWorkflowNotFound)
	if err != nil {
		return visibleWorkflow{}, c.PreferUnauthorized(ctx, err)
	}
	v, err := h.Runs.WorkflowView(ctx, pleat.WorkflowID(id))
	if err != nil {
		if pleat.CodeOf(err) == pleat.CodeNotFound {
			err = c.PreferUnauthorized(ctx, err)
		}
		return visibleWorkflow{}, err
	}
	w := &v.Workflow
	to, err := c.Audience(ctx, route.Readable{
		Source:   pleat.Source{Workflow: w.ID},
		Owner:    w.Owner,
		Public:   w.Public,
		NotFound: pleat.ErrWorkflowNotFound,
	})
	if err != nil {
		return visibleWorkflow{}, err
	}
	return visibleWorkflow{WorkflowView: v, to: to}, nil
}

// showPublicFold lets others than the owner see which fold a workflow is about, if that is public.
func (h *Handlers) showPublicFold(ctx context.Context, v *visibleWorkflow) error {
	if v.to == wire.ForOwner || v.Workflow.Source.Job == "" {
		return nil
	}
	switch head, err := h.Runs.Head(ctx, v.Workflow.Source.Job, people.Credential{}); {
	case pleat.CodeOf(err) == pleat.CodeNotFound:
	case err != nil:
		return err
	case head.Public:
		v.fold = v.Workflow.Source
	}
	return nil
}

// viewWorkflow is GET /v1/workflows/{id} and GET /v1/workflows/public/{id}, for readers of the workflow: a workflow
// with its input and its task. The second path is the one that the interface gives out for public workflows; both make
// the same checks.
func (h *Handlers) viewWorkflow(ctx context.Context, c *route.Call) (api.Workflow, error) {
	v, err := h.readableWorkflow(ctx, c)
	if err != nil {
		return api.Workflow{}, err
	}
	if err := h.showPublicFold(ctx, &v); err != nil {
		return api.Workflow{}, err
	}
	out, err := h.workflowOut(ctx, &v)
	if err == nil && v.Run != nil {
		out.Waiting, _, err = h.Progress.Waiting(ctx, v.Run, v.to)
	}
	if err == nil {
		err = h.addDesign(ctx, &v, &out)
	}
	return out, err
}

// workflowOut returns a workflow with its task for one audience. The task of a draft is absent; every other workflow
// has one.
func (h *Handlers) workflowOut(ctx context.Context, v *visibleWorkflow) (api.Workflow, error) {
	w := &v.Workflow
	out := api.Workflow{
		ID:        string(w.ID),
		Status:    string(w.State),
		Type:      w.Type,
		Name:      w.Name,
		Tasks:     []api.WorkflowTask{},
		IsPublic:  w.Public,
		IsOwner:   v.to == wire.ForOwner,
		Owned:     wire.Owned(w.Owner, w.CreatedBy(), w.CreatorName, v.to),
		CreatedAt: api.At(w.Created),
		UpdatedAt: api.At(w.Updated),
	}
	var err error
	if out.Input, err = wire.WorkflowInput(w, v.to, v.fold); err != nil || v.Run == nil {
		return out, err
	}
	out.ExpiresAt = wire.OptionalTime(v.Expires)
	out.Stage, out.Done, out.Total = wire.Stage(v.Run.State, v.Run.Stage), v.Run.Done, v.Run.Total
	task, err := h.taskOut(v)
	out.Tasks = append(out.Tasks, task)
	return out, err
}

// taskOut returns the task of a workflow with its result, in which files are links. Only the owner sees the library
// items that it made, and what is private of the structure that it is about.
func (h *Handlers) taskOut(v *visibleWorkflow) (api.WorkflowTask, error) {
	t := api.WorkflowTask{
		ID:     string(v.Run.ID),
		Type:   v.Workflow.TaskType(),
		Status: string(v.Run.State),
		Parsed: []json.RawMessage{},
		Items:  []api.OutputItem{},
		Error:  wire.FailureMessage(v.Run.Failure, v.to),
	}
	if v.Run.State != pleat.StateCompleted || v.Run.Result == nil || len(v.Run.Result.Row) == 0 {
		return t, nil
	}
	row := v.Run.Result.Row
	var err error
	if v.to == wire.ForOwner {
		for _, i := range v.Items {
			t.Items = append(t.Items, api.OutputItem{ItemID: string(i.ID), Name: i.File})
		}
	} else if v.fold.Job == "" {
		if row, err = flow.PublicRow(row); err != nil {
			return t, err
		}
	}
	files := h.Files.ByName(v.Artifacts, seal.WorkflowScope(&v.Workflow))
	link := func(name string) string {
		if a := files[name]; a != nil {
			return a.URL
		}
		return ""
	}
	if t.Result, err = flow.WithURLs(row, link); err != nil || v.Workflow.Kind != pleat.TaskDesign {
		return t, err
	}
	item := func(name string) any {
		for i := range t.Items {
			if t.Items[i].Name == name {
				return t.Items[i]
			}
		}
		return nil
	}
	t.Parsed, t.Result, err = flow.ParsedDesigns(t.Result, item, link)
	return t, err
}

// flowStatus is GET /v1/workflows/status/{id}, for readers of the workflow: the states of a workflow and of its task. A
// draft has no task.
func (h *Handlers) flowStatus(ctx context.Context, c *route.Call) (api.WorkflowStatusView, error) {
	out := api.WorkflowStatusView{Tasks: []api.TaskStatusView{}}
	v, err := h.readableWorkflow(ctx, c)
	if err != nil {
		return out, err
	}
	out.Status = string(v.Workflow.State)
	if v.Run != nil {
		out.Tasks = append(out.Tasks, api.TaskStatusView{
			ID: string(v.Run.ID), Type: v.Workflow.TaskType(), Status: string(v.Run.State),
		})
	}
	return out, nil
}

// taskResults is GET /v1/workflows/task-results/{id}, for readers of the workflow: its task with the result, in a list;
// the list of a draft is empty.
func (h *Handlers) taskResults(ctx context.Context, c *route.Call) (api.TasksResults, error) {
	out := api.TasksResults{TasksResults: []api.WorkflowTask{}}
	v, err := h.readableWorkflow(ctx, c)
	if err != nil || v.Run == nil {
		return out, err
	}
	if err := h.showPublicFold(ctx, &v); err != nil {
		return out, err
	}
	t, err := h.taskOut(&v)
	out.TasksResults = append(out.TasksResults, t)
	return out, err
}

// flowLogs is GET /v1/workflows/logs/{id}, for the owner alone: the events of the task as plain text, one a line, each
// after its time. For the progress within a stage only the first event is shown.
func (h *Handlers) flowLogs(ctx context.Context, c *route.Call) error {
	v, err := h.ownWorkflow(ctx, c, c.R.PathValue("id"))
	if err != nil {
		return err
	}
	var b strings.Builder
	for last, stage := int64(0), ""; v.Run != nil; {
		batch, err := h.Runs.Progress(ctx, v.Run.ID, last, progress.EventPage)
		if err != nil {
			return err
		}
		for i := range batch {
			p := &batch[i]
			last = p.Seq
			if p.Kind == pleat.ProgressStage && p.Stage == stage {
				continue // only the progress within a stage
			}
			stage = p.Stage
			b.WriteString(p.At.UTC().Format("2006-01-02T15:04:05.000Z ") + logLine(p) + "\n")
		}
		if len(batch) < progress.EventPage {
			break
		}
	}
	header := c.W.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	c.W.WriteHeader(http.StatusOK)
	_, err = c.W.Write([]byte(b.String()))
	return c.Quiet(err)
}

// logLine returns an event of a run as a line of its log.
func logLine(p *pleat.Progress) string {
	switch p.Kind {
	case pleat.ProgressState:
		return strings.TrimSpace("state " + string(p.State) + " " + p.Line)
	case pleat.ProgressStage:
		return "stage " + p.Stage
	case pleat.ProgressArtifact:
		return "file " + p.Line
	}
	return p.Line
}

// flowEvents is GET /v1/workflows/{id}/events, for readers of the workflow: the progress of its task up to the end, as
// progress.Progress.Follow sends it. 204: the client has all events; 409: the workflow is a draft, which has none yet.
func (h *Handlers) flowEvents(ctx context.Context, c *route.Call) error {
	v, err := h.readableWorkflow(ctx, c)
	if err != nil {
		return err
	}
	if v.Run == nil {
		if v.Workflow.State.Terminal() {
			c.W.WriteHeader(http.StatusNoContent)
			return nil
		}
		return pleat.Errorf(pleat.CodeConflict, "the workflow is a DRAFT; it has events once it is executed")
	}
	return h.Progress.Follow(ctx, c, progress.Run{
		ID:       v.Run.ID,
		State:    v.Run.State,
		To:       v.to,
		Template: api.Event{Workflow: string(v.Workflow.ID), Task: string(v.Run.ID)},
		Recheck: func(ctx context.Context) (progress.Run, error) {
			now, err := h.readableWorkflow(ctx, c)
			return progress.Run{ID: now.Workflow.Run, To: now.to}, err
		},
		Files: func(ctx context.Context) (map[string]*api.Artifact, error) {
			now, err := h.readableWorkflow(ctx, c)
			return h.Files.ByName(now.Artifacts, seal.WorkflowScope(&now.Workflow)), err
		},
	})
}

// workflowStates are the states that a list of workflows may be filtered by.
var workflowStates = []pleat.State{
	pleat.StateDraft, pleat.StateQueued, pleat.StateRunning, pleat.StateCompleted, pleat.StateFailed,
	pleat.StateStopped,
}

// listWorkflows is GET /v1/workflows, for any user: the caller's own workflows, newest first, in pages. They can be
// narrowed by status, type and the fold that they are about.
func (h *Handlers) listWorkflows(ctx context.Context, c *route.Call) (api.List[api.WorkflowRow], error) {
	p, err := c.PageQuery(50)
	if err != nil {
		return api.List[api.WorkflowRow]{}, err
	}
	f := runs.WorkflowFilter{Limit: p.Limit + 1, Before: p.Before}
	if f.State, err = route.StatusQuery(c, workflowStates); err != nil {
		return api.List[api.WorkflowRow]{}, err
	}
	if t := c.R.URL.Query().Get("workflow_type"); t != "" {
		_, kind, ok := pleat.WorkflowAlias(t)
		if !ok {
			return api.List[api.WorkflowRow]{}, pleat.InvalidField("workflow_type",
				" is %q; it may be qna_v1, md, design_v1, alignment_v1 or compare_v1",
				pleat.Clip(t))
		}
		f.Kind = kind
	}
	if f.Creator, err = c.CreatorQuery(); err != nil {
		return api.List[api.WorkflowRow]{}, err
	}
	if f.Source, err = sourceQuery(c); err != nil {
		return api.List[api.WorkflowRow]{}, err
	}
	rows, err := h.Runs.Workflows(ctx, c.In, f)
	if err != nil {
		return api.List[api.WorkflowRow]{}, err
	}
	id := func(row *runs.WorkflowRow) string { return string(row.Workflow.ID) }
	return route.List(p, rows, id, wire.WorkflowRow), nil
}

// sourceQuery reads the ids of a fold from a query, in snake_case or camelCase, since the interface has both spellings.
// Ids that are absent are empty and match everything.
func sourceQuery(c *route.Call) (pleat.FoldRef, error) {
	var ids [3]string
	for i, names := range [][2]string{{"source_job_id", "sourceJobId"}, {"source_job_run_id", "sourceJobRunId"},
		{"source_sequence_id", "sourceSequenceId"}} {
		for _, name := range names {
			v, err := c.UUIDQuery(name)
			if err != nil {
				return pleat.FoldRef{}, err
			}
			if v != "" {
				ids[i] = strings.ToLower(v)
			}
		}
	}
	return pleat.FoldRef{Job: pleat.JobID(ids[0]), Run: pleat.RunID(ids[1]), Sequence: pleat.SequenceID(ids[2])}, nil
}

// linkedQuestions reads the questions about the fold that the query names, newest first: those of the project that it
// names or, if it names none, of the one that owns the fold, or else of the caller's. At least one id is
// required, since without it the list would be that of all questions.
func (h *Handlers) linkedQuestions(ctx context.Context, c *route.Call) ([]runs.WorkflowRow, error) {
	limit, err := c.IntQuery("limit", 1, 200, 50)
	if err != nil {
		return nil, err
	}
	ref, err := sourceQuery(c)
	if err != nil {
		return nil, err
	}
	if ref == (pleat.FoldRef{}) {
		return nil, pleat.Invalidf(
			"one of source_job_id, source_job_run_id and source_sequence_id is required; it must be a UUID").
			At("source_job_id")
	}
	if ref.Job != "" && !c.R.URL.Query().Has(route.ProjectParam) {
		head, err := h.Runs.Head(ctx, ref.Job, c.Cred.Credential)
		if err != nil && pleat.CodeOf(err) != pleat.CodeNotFound {
			return nil, err
		}
		if head.Role >= pleat.Viewer {
			c.In.Project = head.Owner
		}
	}
	return h.Runs.Workflows(ctx, c.In, runs.WorkflowFilter{Limit: limit, Kind: pleat.TaskQnA, Source: ref})
}

// linkedHistory is GET /v1/workflows/qna/linked-history, for any user: the caller's questions about a fold with their
// answers, newest first. It has no pages. 400: the query names no fold.
func (h *Handlers) linkedHistory(ctx context.Context, c *route.Call) (api.List[api.LinkedWorkflow], error) {
	out := api.List[api.LinkedWorkflow]{Data: []api.LinkedWorkflow{}}
	list, err := h.linkedQuestions(ctx, c)
	for i := range list {
		w := &list[i].Workflow
		row := api.LinkedWorkflow{
			LinkedPreview: wire.LinkedPreview(w),
			LastQuestion:  wire.OptionalString(wire.Question(w)),
		}
		if result := list[i].Result; result != nil {
			var answer struct {
				Answer *string `json:"answer"`
			}
			if err := json.Unmarshal(result.Row, &answer); err != nil {
				return out, err
			}
			row.LastAnswer = answer.Answer
		}
		out.Data = append(out.Data, row)
	}
	return out, err
}

// linkedPreviews is GET /v1/workflows/qna/linked-previews, for any user: linkedHistory with the first words of each
// question and without answers, for lists.
func (h *Handlers) linkedPreviews(ctx context.Context, c *route.Call) (api.List[api.LinkedPreview], error) {
	out := api.List[api.LinkedPreview]{Data: []api.LinkedPreview{}}
	list, err := h.linkedQuestions(ctx, c)
	for i := range list {
		out.Data = append(out.Data, wire.LinkedPreview(&list[i].Workflow))
	}
	return out, err
}
