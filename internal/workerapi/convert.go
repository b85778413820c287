package workerapi

import (
	"time"

	"pleat"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

// TaskOf returns a claimed task for the wire, without its token and links. The owner's webhooks stay with the service.
func TaskOf(c *runs.ClaimedTask) Task {
	k := &c.Task
	out := Task{
		ID:         k.ID,
		Attempt:    k.Attempt,
		Kind:       k.Kind,
		Queue:      k.Queue,
		Owner:      k.Owner,
		Run:        k.Run,
		Request:    k.Request,
		Trace:      c.Trace,
		Memory:     k.Memory,
		Expected:   SecondsOf(k.Expected),
		Seed:       c.Seed,
		Fresh:      c.Fresh,
		Waited:     SecondsOf(c.Claimed.Sub(c.Queued)),
		Ready:      SecondsOf(max(c.Claimed.Sub(k.RunAt), 0)),
		Searched:   SecondsOf(c.SearchDuration),
		Worked:     SecondsOf(c.Worked),
		Earlier:    SecondsOf(c.Earlier),
		Alignments: filesOf(c.Alignments),
		Design:     c.Design,
	}
	if k.Checkpoint.Key != "" {
		out.Checkpoint = &Checkpoint{k.Checkpoint.Key, k.Checkpoint.Step}
	}
	if f := c.Fold; f != nil {
		out.Fold = &Fold{
			Job:         f.Job,
			LibraryItem: f.LibraryItem,
			Name:        f.Name,
			Sequences:   f.Sequences,
			Params:      f.Params,
			Constraints: f.Constraints,
			Complex:     f.Complex,
		}
		out.Fold.Constraints.Webhooks = nil
	}
	if w := c.Workflow; w != nil {
		out.Workflow = &Workflow{w.ID, w.Kind, w.Alias, w.Type, w.Name, w.Input}
	}
	return out
}

// claimed returns the task that a worker claimed at a time by its own clock.
func (t *Task) claimed(worker pleat.WorkerID, now time.Time) runs.ClaimedTask {
	out := runs.ClaimedTask{
		Task: pleat.Task{
			ID:       t.ID,
			Kind:     t.Kind,
			Queue:    t.Queue,
			Owner:    t.Owner,
			Tenant:   string(t.Owner),
			Run:      t.Run,
			State:    pleat.TaskRunning,
			Attempt:  t.Attempt,
			Memory:   t.Memory,
			Expected: t.Expected.Duration(),
			Worker:   worker,
			Request:  t.Request,
			RunAt:    now.Add(-t.Ready.Duration()),
		},
		Seed:           t.Seed,
		Fresh:          t.Fresh,
		Claimed:        now,
		Queued:         now.Add(-t.Waited.Duration()),
		Trace:          t.Trace,
		Alignments:     artifacts(t.Alignments),
		SearchDuration: t.Searched.Duration(),
		Worked:         t.Worked.Duration(),
		Earlier:        t.Earlier.Duration(),
		Design:         t.Design,
	}
	if c := t.Checkpoint; c != nil {
		out.Task.Checkpoint = pleat.Checkpoint{Key: c.Key, Step: c.Step}
	}
	if f := t.Fold; f != nil {
		out.Fold = &pleat.FoldInput{
			Job:         f.Job,
			Run:         t.Run,
			Owner:       t.Owner,
			LibraryItem: f.LibraryItem,
			Name:        f.Name,
			Sequences:   f.Sequences,
			Params:      f.Params,
			Seed:        t.Seed,
			Constraints: f.Constraints,
			Complex:     f.Complex,
		}
	}
	if w := t.Workflow; w != nil {
		out.Workflow = &pleat.Workflow{
			ID:    w.ID,
			Owner: t.Owner,
			Kind:  w.Kind,
			Alias: w.Alias,
			Type:  w.Type,
			Name:  w.Name,
			Run:   t.Run,
			Input: w.Input,
		}
	}
	return out
}

// filesOf returns artifacts for the wire; nil if there is no list of them.
func filesOf(list []pleat.Artifact) []File {
	if list == nil {
		return nil
	}
	out := make([]File, 0, len(list))
	for i := range list {
		a := &list[i]
		out = append(out, File{a.Key, a.Name, a.Kind, a.ContentType, a.Sequence, a.Bytes, a.SHA256})
	}
	return out
}

// Artifact returns the artifact that a file is, with its key.
func (f *File) Artifact(key string) pleat.Artifact {
	return pleat.Artifact{
		Sequence:    f.Sequence,
		Name:        f.Name,
		Kind:        f.Kind,
		ContentType: f.ContentType,
		Bytes:       f.Bytes,
		SHA256:      f.SHA256,
		Key:         key,
	}
}

func artifacts(list []File) []pleat.Artifact {
	if list == nil {
		return nil
	}
	out := make([]pleat.Artifact, 0, len(list))
	for i := range list {
		out = append(out, list[i].Artifact(list[i].Key))
	}
	return out
}

// Filter returns the filter of an ask.
func (a *Ask) Filter() tasks.ClaimFilter {
	return tasks.ClaimFilter{
		Queues: a.Queues,
		N:      a.N,
		Memory: a.Memory,
		Left:   a.Left.Duration(),
		Owner:  a.Owner,
		Waited: a.Waited.Duration(),
	}
}

// askOf returns the ask of a filter.
func askOf(f tasks.ClaimFilter) Ask {
	return Ask{
		Queues: f.Queues,
		N:      min(f.N, MaxTasks),
		Memory: f.Memory,
		Left:   SecondsOf(f.Left),
		Owner:  f.Owner,
		Waited: SecondsOf(f.Waited),
	}
}

// Finished returns the outcome that a Finish describes, without its progress, with the artifacts that the caller has
// checked.
func (f *Finish) Finished(artifacts []pleat.Artifact) runs.RunFinished {
	if f.Failure != nil {
		f.Failure.RetryAfter = f.RetryAfter.Duration()
	}
	return runs.RunFinished{
		State:       f.State,
		Result:      f.Result,
		Failure:     f.Failure,
		Artifacts:   artifacts,
		Engine:      f.Engine,
		Served:      f.Served,
		Took:        f.Took.Duration(),
		MSA:         f.MSA,
		RequestHash: f.RequestHash,
		InputHash:   f.InputHash,
		BinderRMSD:  f.BinderRMSD,
		Source:      f.Source,
	}
}

// finishOf returns an outcome for the wire, without its progress. Artifacts whose keys are not of the attempt are those
// of the source.
func finishOf(f *runs.RunFinished, inAttempt func(key string) bool) Finish {
	out := Finish{
		State:       f.State,
		Result:      f.Result,
		Failure:     f.Failure,
		Source:      f.Source,
		Engine:      f.Engine,
		Served:      f.Served,
		Took:        SecondsOf(f.Took),
		MSA:         f.MSA,
		RequestHash: f.RequestHash,
		InputHash:   f.InputHash,
		BinderRMSD:  f.BinderRMSD,
	}
	if f.Failure != nil {
		out.RetryAfter = SecondsOf(f.Failure.RetryAfter)
	}
	for i := range f.Artifacts {
		if a := &f.Artifacts[i]; inAttempt(a.Key) {
			out.Artifacts = append(out.Artifacts, filesOf(f.Artifacts[i:i+1])...)
		} else {
			out.Shared = append(out.Shared, a.Name)
		}
	}
	return out
}

// CachedResultOf returns a cached result for the wire, without its links.
func CachedResultOf(r *runs.CachedResult) CachedResult {
	return CachedResult{
		Job:       r.Job,
		Run:       r.Run,
		Sequences: r.Sequences,
		Result:    r.Result,
		Engine:    r.Engine,
		MSA:       r.MSA,
		Finished:  r.Finished,
		Artifacts: filesOf(r.Artifacts),
	}
}

// result returns the cached result; nil if there is none.
func (r *CachedResult) result() *runs.CachedResult {
	if r.Run == "" {
		return nil
	}
	return &runs.CachedResult{
		Job:       r.Job,
		Run:       r.Run,
		Sequences: r.Sequences,
		Result:    r.Result,
		Engine:    r.Engine,
		MSA:       r.MSA,
		Finished:  r.Finished,
		Artifacts: artifacts(r.Artifacts),
	}
}

// report returns progress that is sent now.
func (c *Client) report(list []pleat.Progress) Report {
	if len(list) == 0 {
		return Report{}
	}
	return Report{c.clock().UTC(), list}
}

// maxAge bounds how old progress may say that it is.
const maxAge = 24 * time.Hour

// At returns the progress with its times by the receiver's clock.
func (r *Report) At(now time.Time) []pleat.Progress {
	for i := range r.Progress {
		p := &r.Progress[i]
		p.At = now.Add(-min(max(r.Now.Sub(p.At), 0), maxAge))
	}
	return r.Progress
}
