package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pleat"
	"pleat/api"
)

// The kinds of work. A handle is a kind and an id.
const (
	aJob      = "job"
	aWorkflow = "workflow"
	aBatch    = "batch"
)

// handle names a job, a workflow or a batch.
type handle struct {
	Kind string `json:"kind,omitempty" doc:"Kind of work that id names: a fold is a job; an answer, a simulation or a design a workflow. Absent: job." enum:"WorkKind"`
	ID   string `json:"id" doc:"The id that the tool gave which started it." format:"uuid"`
}

// check completes a handle, and refuses one that names nothing.
func (h *handle) check() error {
	switch h.Kind {
	case "":
		h.Kind = aJob
	case aJob, aWorkflow, aBatch:
	default:
		return noSuchKind(h.Kind)
	}
	if !pleat.IsUUID(h.ID) {
		return pleat.InvalidField("id", " is %q; it must be a UUID that another tool gave", pleat.Clip(h.ID))
	}
	return nil
}

// noSuchKind refuses a kind of work.
func noSuchKind(kind string) error {
	return pleat.InvalidField("kind", " is %q; it must be job, workflow or batch", pleat.Clip(kind))
}

// work is what a result says of a job, a workflow or a batch.
type work struct {
	Kind          string         `json:"kind" enum:"WorkKind"`
	ID            string         `json:"id"`
	Name          string         `json:"name" doc:"Data that a user wrote."`
	Type          string         `json:"type" doc:"For a job or batch its model; for a workflow what it does."`
	Status        string         `json:"status" doc:"COMPLETED, FAILED and STOPPED are final."`
	Ended         bool           `json:"ended" doc:"Whether the status is final. Otherwise call get_job later, with waitSeconds."`
	Created       api.Time       `json:"created"`
	Stage         string         `json:"stage,omitempty" doc:"The current stage."`
	Done          int            `json:"done,omitempty"`
	Total         int            `json:"total,omitempty"`
	Waiting       *string        `json:"waiting,omitempty" doc:"Why it has not started."`
	Failure       *string        `json:"failure,omitempty" doc:"Why it ended without a result."`
	Cached        bool           `json:"cached,omitempty" doc:"Whether the result is that of an earlier equal run."`
	Cost          *cost          `json:"cost,omitempty"`
	Scores        *scores        `json:"scores,omitempty" doc:"For a completed job: its first structure. get_scores has all."`
	MeanPLDDT     *float64       `json:"meanPLDDT,omitempty" doc:"For a completed job in a list."`
	PredictedRMSD *float64       `json:"predictedRmsd,omitempty" doc:"The same in angstrom, lower being better, of a model that gives it in place of pLDDT."`
	Answer        *string        `json:"answer,omitempty" doc:"For a completed question. Data that a model wrote."`
	Result        any            `json:"result,omitempty" doc:"For another completed workflow: what is small of its result."`
	Counts        map[string]int `json:"counts,omitempty" doc:"For a batch: rows by status."`
	Files         []string       `json:"files,omitempty" doc:"Names for get_file."`
	Key           string         `json:"idempotencyKey,omitempty" doc:"A second call with it and the same arguments answers the same work for 24 hours."`
	Notes         []string       `json:"notes,omitempty"`

	updated api.Time
}

// handle returns the kind and the id of work.
func (w *work) handle() handle { return handle{w.Kind, w.ID} }

// cost is what work takes of the caller's quota and of the service.
type cost struct {
	Tokens    int64    `json:"tokens" doc:"Residues and ligand atoms, copies counted."`
	Quota     int      `json:"quotaRemaining" doc:"Jobs, or rows of batches, that the caller could create today before this."`
	Seconds   *float64 `json:"expectedSeconds" doc:"Expected core-seconds, without waiting and without alignments; null: not known."`
	Rows      int      `json:"rows,omitempty" doc:"For a batch."`
	Different int      `json:"differentRows,omitempty" doc:"For a batch: those that are computed."`
}

// expected returns an estimate; null where the service has none.
func expected(seconds float64) *float64 {
	if seconds <= 0 {
		return nil
	}
	return &seconds
}

// read describes what a handle names.
func (s session) read(ctx context.Context, h handle) (work, []sdk.Content, error) {
	switch h.Kind {
	case aWorkflow:
		w, err := s.Workflow(ctx, h.ID)
		if err != nil {
			return work{}, nil, err
		}
		return workOfWorkflow(&w), linksOf(h, workflowFiles(&w)), nil
	case aBatch:
		b, err := s.Batch(ctx, h.ID)
		if err != nil {
			return work{}, nil, err
		}
		return workOfBatch(&b), linksOf(h, batchFiles()), nil
	}
	return s.readJob(ctx, h)
}

// readJob is read for a job.
func (s session) readJob(ctx context.Context, h handle) (work, []sdk.Content, error) {
	v, err := s.Job(ctx, h.ID)
	if err != nil {
		return work{}, nil, err
	}
	w := workOfJob(&v)
	if v.Run.Status != api.Completed {
		return w, nil, nil
	}
	r, err := s.Results(ctx, h.ID)
	if err != nil {
		return work{}, nil, err
	}
	files := jobFiles(r.Artifacts)
	w.Files = namesOf(files)
	return w, linksOf(h, files), nil
}

// workOfJob describes a job by its latest run.
func workOfJob(v *api.JobView) work {
	w := work{
		Kind:    aJob,
		ID:      v.Job.ID,
		Name:    name(v.Job.Name),
		Type:    name(v.Run.ModelName),
		Status:  v.Run.Status,
		Ended:   api.Terminal(v.Run.Status),
		Created: v.Job.Date,
		updated: v.Job.UpdatedAt,
		Stage:   name(v.Progress.Stage),
		Done:    v.Progress.Done,
		Total:   v.Progress.Total,
		Cached:  v.Run.Cached,
		Notes:   names(v.Run.Notes, 10),
	}
	if v.Waiting != nil {
		w.Waiting = text(&v.Waiting.Reason)
	}
	if v.Run.Failure != nil {
		w.Failure = text(&v.Run.Failure.Message)
	}
	if len(v.Predictions) > 0 {
		first := scoresOf(&v.Predictions[0], 0)
		w.Scores = &first
	}
	return w
}

// workOfWorkflow describes a workflow by its task.
func workOfWorkflow(v *api.Workflow) work {
	w := work{
		Kind:    aWorkflow,
		ID:      v.ID,
		Name:    name(v.Name),
		Type:    name(v.Type),
		Status:  v.Status,
		Ended:   api.Terminal(v.Status),
		Created: v.CreatedAt,
		updated: v.UpdatedAt,
		Stage:   name(v.Stage),
		Done:    v.Done,
		Total:   v.Total,
		Files:   namesOf(workflowFiles(v)),
	}
	if v.Waiting != nil {
		w.Waiting = text(&v.Waiting.Reason)
	}
	if len(v.Tasks) == 0 {
		return w
	}
	task := &v.Tasks[0]
	w.Failure = text(task.Error)
	var answered api.QnAResult
	switch {
	case len(task.Result) == 0 || string(task.Result) == "null":
	case task.Type == "inference_qna" && json.Unmarshal(task.Result, &answered) == nil:
		answer := visible(answered.Answer, maxLong)
		w.Answer = &answer
	default:
		w.Result = small(task.Result)
	}
	return w
}

// workOfBatch describes a batch.
func workOfBatch(b *api.Batch) work {
	return work{
		Kind:    aBatch,
		ID:      b.BatchID,
		Name:    name(b.Name),
		Type:    name(b.ModelName),
		Status:  b.Status,
		Ended:   b.FinishedAt != nil,
		Created: b.CreatedAt,
		Total:   b.Rows,
		Counts:  b.Counts,
		Files:   namesOf(batchFiles()),
	}
}

// wait returns when the work that a handle names has ended, after a time, or when the service stops. An error is a
// refusal of the service. Whether the work has ended, read tells.
func (s session) wait(ctx context.Context, h handle, most time.Duration) error {
	if most <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if s.stop != nil {
		go func() {
			select {
			case <-s.stop:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	ignore := func(api.Event) error { return nil }
	var err error
	switch h.Kind {
	case aWorkflow:
		err = s.FollowWorkflow(ctx, h.ID, 0, ignore)
	case aBatch:
		err = s.FollowBatch(ctx, h.ID, func(api.Batch) error { return nil })
	default:
		err = s.Follow(ctx, h.ID, 0, ignore)
	}
	var refused *api.Error
	if errors.As(err, &refused) && refused.Status != http.StatusTooManyRequests {
		return err
	}
	return nil
}

// started waits for work that a tool has just started and describes it. From here on it must not be lost: where the
// service refuses to show it, such as to a key that may only submit, the result is what is known of it.
func (s session) started(ctx context.Context, known work, seconds *int) (work, []sdk.Content, error) {
	if s, ok := ctx.Value(slotKey{}).(*slot); ok { // the client asks for it as a task
		s.started = &known
		return known, nil, nil
	}
	h := known.handle()
	most, err := waiting(seconds, maxWait)
	if err != nil {
		return work{}, nil, err
	}
	if err = s.wait(ctx, h, most); err == nil {
		var w work
		var links []sdk.Content
		if w, links, err = s.read(ctx, h); err == nil {
			w.Cost, w.Key, w.Notes = known.Cost, known.Key, append(known.Notes, w.Notes...)
			return w, links, nil
		}
	}
	known.Notes = append(known.Notes, "It was started, but cannot be read: "+faultOf(err).Message)
	return known, nil, nil
}

// waiting returns how long to wait; absent: a default.
func waiting(seconds *int, absent time.Duration) (time.Duration, error) {
	if seconds == nil {
		return absent, nil
	}
	if d := time.Duration(*seconds) * time.Second; *seconds >= 0 && d <= maxWait {
		return d, nil
	}
	return 0, pleat.InvalidField("waitSeconds", " is %d; it must be 0 to %d", *seconds, int(maxWait.Seconds()))
}
