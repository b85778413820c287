package server_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

// A run that waits says why, to others without what its owner has in the queue.
func TestWaiting(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.register(testModel, analystModel) // before the server reads what there is
	ctx, c := context.Background(), h.client(h.key)
	public := strings.Replace(trp, `"name"`, `"isPublic":true,"name"`, 1)
	first, second := h.create(trp), h.create(public)
	waiting := func(key string, j api.CreatedJob) *api.Waiting {
		t.Helper()
		v, err := h.client(key).Job(ctx, j.JobID)
		if err != nil {
			t.Fatal(err)
		}
		return v.Waiting
	}
	reason := func(key string, j api.CreatedJob) string {
		t.Helper()
		w := waiting(key, j)
		if w == nil || *w.Class != pleat.DefaultClass || w.ExpectedStart != nil || w.Since.IsZero() {
			t.Fatalf("waiting is %+v", w)
		}
		return w.Reason
	}
	_, stranger := h.newUser("bob")
	for what, got := range map[string][2]string{
		"the first":            {reason(h.key, first), "it is the next in its queue: it starts when a worker that runs mini has a free slot"},
		"the second":           {reason(h.key, second), "1 task is before it in its queue, 1 of them yours"},
		"the second, by a bob": {reason(stranger, second), "1 task is before it in its queue"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %q, want %q", what, got[0], got[1])
		}
	}
	work := h.claim()
	if w := waiting(h.key, first); w != nil {
		t.Errorf("a claimed run waits: %+v", w)
	}
	if got := reason(h.key, second); !strings.HasPrefix(got, "it is the next in its queue") {
		t.Errorf("after the claim: %q", got)
	}
	failure := pleat.Failed(pleat.FailCrashed, "the process died")
	failure.Retry = true
	if err := h.store.Runs.FinishRun(ctx, tasks.LeaseOf(&work.Task), runs.RunFinished{
		State: pleat.StateFailed, Failure: failure,
	}); err != nil {
		t.Fatal(err)
	}
	w := waiting(h.key, first)
	if w == nil || w.Reason != "its last attempt failed; it is tried again after a pause" || w.ExpectedStart == nil {
		t.Errorf("after a failure: %+v", w)
	}
	h.finish(h.claim())
	if w := waiting(h.key, second); w != nil {
		t.Errorf("a run that has ended waits: %+v", w)
	}
	h.clock.Advance(pleat.WorkerSilence + time.Second)
	third := h.create(trp)
	if got := reason(h.key, third); !strings.HasPrefix(got, "no worker that runs mini is alive; the last one was") {
		t.Errorf("without a live worker: %q", got)
	}
	h.register(testModel, analystModel)
	ask := h.as(h.key, "POST", "/v1/workflows", `{"workflow_name":"qna_v1","name":"x","workflow_input":{`+
		`"targetSource":"fold_job","source_job_id":"`+second.JobID+`","question":"How long is it?"}}`)
	var created api.Workflow
	if err := json.Unmarshal([]byte(ask.body), &created); err != nil || ask.status != 200 {
		t.Fatal(ask.status, ask.body)
	}
	seen, err := c.Workflow(ctx, created.ID)
	if err != nil || seen.Waiting == nil || !strings.Contains(seen.Waiting.Reason, "a worker that runs analyst") {
		t.Errorf("%+v %v", seen.Waiting, err)
	}
}

// A run that waits for a worker of the fleet says what keeps the cluster from starting one.
func TestWaitingForTheFleet(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := context.Background()
	class := pleat.Class{
		Name:       "gpu",
		Models:     []pleat.Model{testModel},
		Alignments: pleat.AlignmentsAlso,
		MaxWorkers: 8,
		TargetWait: pleat.DefaultTargetWait,
		Driver:     "slurm",
	}
	if err := h.store.Workers.SetClasses(ctx, []pleat.Class{class}); err != nil {
		t.Fatal(err)
	}
	start := h.store.DB.Now().Add(time.Hour).Truncate(time.Second)
	report := pleat.FleetReport{
		At:            h.store.DB.Now(),
		Pending:       1,
		Reason:        "Slurm says Resources: the suitable nodes are busy",
		Since:         h.store.DB.Now().Add(-14 * time.Minute),
		ExpectedStart: start,
	}
	if err := h.store.Workers.ReportFleet(ctx, class.Name, report); err != nil {
		t.Fatal(err)
	}
	j := h.create(strings.Replace(trp, `"name"`, `"isPublic":true,"name"`, 1))
	v, err := h.client(h.key).Job(ctx, j.JobID)
	if err != nil || v.Waiting == nil {
		t.Fatalf("%+v %v", v.Waiting, err)
	}
	const want = "it waits for a worker of the class gpu (0 of 1 run); the fleet has reported for 14 min: " +
		"Slurm says Resources: the suitable nodes are busy"
	w := v.Waiting
	if w.Reason != want || *w.Class != "gpu" || w.ExpectedStart == nil || !w.ExpectedStart.Equal(start) {
		t.Errorf("waiting is %+v, want %q", w, want)
	}
	_, stranger := h.newUser("bob")
	v, err = h.client(stranger).Job(ctx, j.JobID)
	if err != nil || v.Waiting == nil || strings.Contains(v.Waiting.Reason, "Slurm") || v.Waiting.ExpectedStart != nil {
		t.Errorf("others than the owner see %+v, %v", v.Waiting, err)
	}
	h.clock.Advance(10 * time.Minute)
	v, err = h.client(h.key).Job(ctx, j.JobID)
	const silent = "(0 of 1 run); the fleet last reported 10 min ago: Slurm says Resources: the suitable nodes are busy"
	if err != nil || !strings.HasSuffix(v.Waiting.Reason, silent) {
		t.Errorf("%+v %v", v.Waiting, err)
	}
}
