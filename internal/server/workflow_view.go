package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/flow"
	"pleat/internal/seal"
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
func (s *Server) readableWorkflow(ctx context.Context, c *call) (visibleWorkflow, error) {
	id, err := c.uuid("id", pleat.ErrWorkflowNotFound)
	if err != nil {
		return visibleWorkflow{}, s.preferUnauthorized(ctx, c, err)
	}
	v, err := s.store.Runs.WorkflowView(ctx, pleat.WorkflowID(id))
	if err != nil {
		if pleat.CodeOf(err) == pleat.CodeNotFound {
			err = s.preferUnauthorized(ctx, c, err)
		}
		return visibleWorkflow{}, err
	}
	w := &v.Workflow
	to, err := s.audienceOf(ctx, c, owned{pleat.Source{Workflow: w.ID}, w.Owner, w.Public, pleat.ErrWorkflowNotFound})
	if err != nil {
		return visibleWorkflow{}, err
	}
	return visibleWorkflow{WorkflowView: v, to: to}, nil
}

// showPublicFold lets others than the owner see which fold a workflow is about, if that is public.
func (s *Server) showPublicFold(ctx context.Context, v *visibleWorkflow) error {
	if v.to == wire.ForOwner || v.Workflow.Source.Job == "" {
		return nil
	}
	switch head, err := s.store.Runs.Head(ctx, v.Workflow.Source.Job, people.Credential{}); {
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
func (s *Server) viewWorkflow(ctx context.Context, c *call) (api.Workflow, error) {
	v, err := s.readableWorkflow(ctx, c)
	if err != nil {
		return api.Workflow{}, err
	}
	if err := s.showPublicFold(ctx, &v); err != nil {
		return api.Workflow{}, err
	}
	out, err := s.workflowOut(ctx, &v)
	if err == nil && v.Run != nil {
		out.Waiting, _, err = s.waiting(ctx, v.Run, v.to)
	}
	if err == nil {
		err = s.addDesign(ctx, &v, &out)
	}
	return out, err
}

// workflowOut returns a workflow with its task for one audience. The task of a draft is absent; every other workflow
// has one.
func (s *Server) workflowOut(ctx context.Context, v *visibleWorkflow) (api.Workflow, error) {
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
	task, err := s.taskOut(v)
	out.Tasks = append(out.Tasks, task)
	return out, err
}

// taskOut returns the task of a workflow with its result, in which files are links. Only the owner sees the library
// items that it made, and what is private of the structure that it is about.
func (s *Server) taskOut(v *visibleWorkflow) (api.WorkflowTask, error) {
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
	files := s.artifactsByName(v.Artifacts, seal.WorkflowScope(&v.Workflow))
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
func (s *Server) flowStatus(ctx context.Context, c *call) (api.WorkflowStatusView, error) {
	out := api.WorkflowStatusView{Tasks: []api.TaskStatusView{}}
	v, err := s.readableWorkflow(ctx, c)
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
func (s *Server) taskResults(ctx context.Context, c *call) (api.TasksResults, error) {
	out := api.TasksResults{TasksResults: []api.WorkflowTask{}}
	v, err := s.readableWorkflow(ctx, c)
	if err != nil || v.Run == nil {
		return out, err
	}
	if err := s.showPublicFold(ctx, &v); err != nil {
		return out, err
	}
	t, err := s.taskOut(&v)
	out.TasksResults = append(out.TasksResults, t)
	return out, err
}

// flowLogs is GET /v1/workflows/logs/{id}, for the owner alone: the events of the task as plain text, one a line, each
// after its time. Of the progress within a stage only the first event is shown.
func (s *Server) flowLogs(ctx context.Context, c *call) error {
	v, err := s.ownWorkflow(ctx, c, c.r.PathValue("id"))
	if err != nil {
		return err
	}
	var b strings.Builder
	for last, stage := int64(0), ""; v.Run != nil; {
		batch, err := s.store.Runs.Progress(ctx, v.Run.ID, last, streamBatch)
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
		if len(batch) < streamBatch {
			break
		}
	}
	h := c.w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	c.w.WriteHeader(http.StatusOK)
	_, err = c.w.Write([]byte(b.String()))
	return quiet(c, err)
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
// jobEvents sends it. 204: the client has all events; 409: the workflow is a draft, which has none yet.
func (s *Server) flowEvents(ctx context.Context, c *call) error {
	v, err := s.readableWorkflow(ctx, c)
	if err != nil {
		return err
	}
	if v.Run == nil {
		if v.Workflow.State.Terminal() {
			c.w.WriteHeader(http.StatusNoContent)
			return nil
		}
		return pleat.Errorf(pleat.CodeConflict, "the workflow is a DRAFT; it has events once it is executed")
	}
	return s.follow(ctx, c, streamedRun{
		run:   v.Run.ID,
		state: v.Run.State,
		to:    v.to,
		ids:   api.Event{Workflow: string(v.Workflow.ID), Task: string(v.Run.ID)},
		recheck: func(ctx context.Context) (streamedRun, error) {
			now, err := s.readableWorkflow(ctx, c)
			return streamedRun{run: now.Workflow.Run, to: now.to}, err
		},
		files: func(ctx context.Context) (map[string]*api.Artifact, error) {
			now, err := s.readableWorkflow(ctx, c)
			return s.artifactsByName(now.Artifacts, seal.WorkflowScope(&now.Workflow)), err
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
func (s *Server) listWorkflows(ctx context.Context, c *call) (api.List[api.WorkflowRow], error) {
	p, err := pageQuery(c.r, 50)
	if err != nil {
		return api.List[api.WorkflowRow]{}, err
	}
	f := runs.WorkflowFilter{Limit: p.limit + 1, Before: p.before}
	if f.State, err = statusQuery(c.r, workflowStates); err != nil {
		return api.List[api.WorkflowRow]{}, err
	}
	if t := c.r.URL.Query().Get("workflow_type"); t != "" {
		_, kind, ok := pleat.WorkflowAlias(t)
		if !ok {
			return api.List[api.WorkflowRow]{}, pleat.InvalidField("workflow_type",
				" is %q; it may be qna_v1, md, design_v1, alignment_v1 or compare_v1",
				pleat.Clip(t))
		}
		f.Kind = kind
	}
	if f.Creator, err = creatorQuery(c); err != nil {
		return api.List[api.WorkflowRow]{}, err
	}
	if f.Source, err = sourceQuery(c.r); err != nil {
		return api.List[api.WorkflowRow]{}, err
	}
	rows, err := s.store.Runs.Workflows(ctx, c.in, f)
	if err != nil {
		return api.List[api.WorkflowRow]{}, err
	}
	id := func(row *runs.WorkflowRow) string { return string(row.Workflow.ID) }
	return listOf(p, rows, id, wire.WorkflowRow), nil
}

// sourceQuery reads the ids of a fold from a query, in snake_case or camelCase, since the interface has both spellings.
// Ids that are absent are empty and match everything.
func sourceQuery(r *http.Request) (pleat.FoldRef, error) {
	var ids [3]string
	for i, names := range [][2]string{{"source_job_id", "sourceJobId"}, {"source_job_run_id", "sourceJobRunId"},
		{"source_sequence_id", "sourceSequenceId"}} {
		for _, name := range names {
			v, err := uuidQuery(r, name)
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
func (s *Server) linkedQuestions(ctx context.Context, c *call) ([]runs.WorkflowRow, error) {
	limit, err := intQuery(c.r, "limit", 1, 200, 50)
	if err != nil {
		return nil, err
	}
	ref, err := sourceQuery(c.r)
	if err != nil {
		return nil, err
	}
	if ref == (pleat.FoldRef{}) {
		return nil, pleat.Invalidf(
			"one of source_job_id, source_job_run_id and source_sequence_id is required; it must be a UUID").
			At("source_job_id")
	}
	if ref.Job != "" && !c.r.URL.Query().Has(projectParam) {
		head, err := s.store.Runs.Head(ctx, ref.Job, c.cred.Credential)
		if err != nil && pleat.CodeOf(err) != pleat.CodeNotFound {
			return nil, err
		}
		if head.Role >= pleat.Viewer {
			c.in.Project = head.Owner
		}
	}
	return s.store.Runs.Workflows(ctx, c.in, runs.WorkflowFilter{Limit: limit, Kind: pleat.TaskQnA, Source: ref})
}

// linkedHistory is GET /v1/workflows/qna/linked-history, for any user: the caller's questions about a fold with their
// answers, newest first. It has no pages. 400: the query names no fold.
func (s *Server) linkedHistory(ctx context.Context, c *call) (api.List[api.LinkedWorkflow], error) {
	out := api.List[api.LinkedWorkflow]{Data: []api.LinkedWorkflow{}}
	list, err := s.linkedQuestions(ctx, c)
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
func (s *Server) linkedPreviews(ctx context.Context, c *call) (api.List[api.LinkedPreview], error) {
	out := api.List[api.LinkedPreview]{Data: []api.LinkedPreview{}}
	list, err := s.linkedQuestions(ctx, c)
	for i := range list {
		out.Data = append(out.Data, wire.LinkedPreview(&list[i].Workflow))
	}
	return out, err
}

// linkedTo lists the workflows that work on a job, newest first, at most 200: all for its owner, the public ones for
// others. Workflows of other users about a public job are not among them.
func (s *Server) linkedTo(ctx context.Context, j *pleat.Job, to wire.Audience) ([]api.LinkedItem, error) {
	out := []api.LinkedItem{}
	list, err := s.store.Runs.Workflows(ctx, people.InProject(j.Owner),
		runs.WorkflowFilter{Limit: 200, Source: pleat.FoldRef{Job: j.ID}})
	for i := range list {
		if w := &list[i].Workflow; to == wire.ForOwner || w.Public {
			out = append(out, api.LinkedItem{ID: string(w.ID), Type: w.Type, Status: string(w.State), Name: w.Name})
		}
	}
	if err != nil {
		return out, err
	}
	made, ok, err := s.store.Runs.FoldedDesign(ctx, j.ID)
	if err != nil || !ok {
		return out, err
	}
	v, err := s.store.Runs.WorkflowView(ctx, made.Workflow)
	if pleat.CodeOf(err) == pleat.CodeNotFound {
		return out, nil // it was deleted
	}
	if w := &v.Workflow; err == nil && (to == wire.ForOwner && w.Owner == j.Owner || w.Public) {
		out = append(out, api.LinkedItem{
			ID: string(w.ID), Type: w.Type, Status: string(w.State), Name: w.Name, DesignID: made.Design,
		})
	}
	return out, err
}
