package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pleat"
	"pleat/api"
)

// getJobIn are the arguments of get_job.
type getJobIn struct {
	handle
	Wait *int `json:"waitSeconds,omitempty" doc:"How long to wait for the end; absent: not at all." minimum:"0" maximum:"20"`
}

// getJobOut is the result of get_job. Its schema, unlike that of work elsewhere, has every field.
type getJobOut work

var getJob = does(tool{
	name:  "get_job",
	title: "Look at a job",
	about: "Says how a job, a workflow or a batch stands, and what it gave: scores, the answer, names of files. " +
		"With waitSeconds it waits for the end.",

	repeatable: true,
	world:      true,
}, func(ctx context.Context, s session, in *getJobIn) (out getJobOut, links []sdk.Content, err error) {
	if err := in.check(); err != nil {
		return out, nil, err
	}
	most, err := waiting(in.Wait, 0)
	if err != nil {
		return out, nil, err
	}
	if err := s.wait(ctx, in.handle, most); err != nil {
		return out, nil, err
	}
	w, links, err := s.read(ctx, in.handle)
	return getJobOut(w), links, err
})

// listJobsIn are the arguments of list_jobs.
type listJobsIn struct {
	Kind   string `json:"kind,omitempty" doc:"Kind of work to list; absent: job." enum:"WorkKind"`
	Status string `json:"status,omitempty" doc:"Only those with this status, such as RUNNING or COMPLETED; not of batches."`
	Query  string `json:"query,omitempty" doc:"For jobs: only those whose name has this text." maxLength:"255"`
	Limit  *int   `json:"limit,omitempty" doc:"How many; absent: 20." minimum:"1" maximum:"50"`
	Cursor string `json:"cursor,omitempty" doc:"nextCursor of the page before."`
}

// listJobsOut is the result of list_jobs.
type listJobsOut struct {
	Data []work  `json:"data" doc:"The newest first."`
	Next *string `json:"nextCursor" doc:"For the next page; null: this is the last."`
}

var listJobs = does(tool{
	name:  "list_jobs",
	title: "List jobs",
	about: "Lists the caller's jobs, workflows or batches, the newest first.",

	repeatable: true,
}, func(ctx context.Context, s session, in *listJobsIn) (out listJobsOut, _ []sdk.Content, err error) {
	limit, err := within("limit", in.Limit, 20, 50)
	if err != nil {
		return out, nil, err
	}
	switch in.Kind {
	case "", aJob:
		list, err := s.Jobs(ctx, api.JobsFilter{Limit: limit, Cursor: in.Cursor, Status: in.Status, Query: in.Query})
		return listOf(list, workOfJobRow), nil, err
	case aWorkflow:
		list, err := s.Workflows(ctx, api.WorkflowsFilter{Limit: limit, Cursor: in.Cursor, Status: in.Status})
		return listOf(list, workOfWorkflowRow), nil, err
	case aBatch:
		list, err := s.Batches(ctx, api.BatchesFilter{Cursor: in.Cursor, Limit: limit})
		return listOf(list, workOfBatch), nil, err
	}
	return out, nil, noSuchKind(in.Kind)
})

// listOf converts a page of a list.
func listOf[T any](list api.List[T], convert func(*T) work) listJobsOut {
	out := listJobsOut{Data: []work{}, Next: list.NextCursor}
	for i := range list.Data {
		out.Data = append(out.Data, convert(&list.Data[i]))
	}
	return out
}

// within returns a number of arguments; absent: a default.
func within(field string, value *int, absent, most int) (int, error) {
	switch {
	case value == nil:
		return absent, nil
	case *value < 1 || *value > most:
		return 0, pleat.InvalidField(field, " is %d; it must be 1 to %d", *value, most)
	}
	return *value, nil
}

// workOfJobRow describes a job of a list.
func workOfJobRow(r *api.JobRow) work {
	return work{
		Kind:          aJob,
		ID:            r.ID,
		Name:          name(r.Name),
		Type:          name(r.ModelName),
		Status:        r.Status,
		Ended:         api.Terminal(r.Status),
		Created:       r.Date,
		Stage:         name(r.Stage),
		Done:          r.Done,
		Total:         r.Total,
		Failure:       text(r.Error),
		MeanPLDDT:     r.MeanPLLDT,
		PredictedRMSD: r.PredictedRMSD,
	}
}

// workOfWorkflowRow describes a workflow of a list.
func workOfWorkflowRow(r *api.WorkflowRow) work {
	return work{
		Kind:    aWorkflow,
		ID:      r.ID,
		Name:    name(r.Name),
		Type:    name(r.Type),
		Status:  r.Status,
		Ended:   api.Terminal(r.Status),
		Created: r.CreatedAt,
		Stage:   name(r.Stage),
		Done:    r.Done,
		Total:   r.Total,
		Failure: text(r.Error),
	}
}

// stopped is the result of cancel.
type stopped struct {
	handle
	Status string `json:"status" doc:"Running work has this status until its engine has stopped."`
}

var cancelTool = does(tool{
	name:  "cancel",
	title: "Cancel",
	about: "Stops a job, a workflow or a batch that has not ended. Its results are lost: ask the person " +
		"first.",
	effect: ends,

	repeatable: true,
}, func(ctx context.Context, s session, in *handle) (stopped, []sdk.Content, error) {
	if err := in.check(); err != nil {
		return stopped{}, nil, err
	}
	status, err := s.cancel(ctx, *in)
	return stopped{*in, status}, nil, err
})

// cancel stops what a handle names, and returns its status.
func (s session) cancel(ctx context.Context, h handle) (string, error) {
	switch h.Kind {
	case aWorkflow:
		w, err := s.CancelWorkflow(ctx, h.ID)
		return w.Status, err
	case aBatch:
		b, err := s.CancelBatch(ctx, h.ID)
		return b.Status, err
	}
	j, err := s.Cancel(ctx, h.ID)
	return j.JobStatus, err
}
