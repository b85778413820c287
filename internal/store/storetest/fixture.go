package storetest

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

// FoldQueue is the queue of the jobs that NewFold describes.
const FoldQueue = "fold/null"

// patience is how long a test waits for what takes long on a loaded machine only.
const patience = 2 * time.Minute

// User returns the reach of the user of a name in the user's own project, and creates the user first if there is none.
func User(t testing.TB, s *store.Store, name string) people.Reach {
	t.Helper()
	u, err := s.People.EnsureUser(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	return people.Own(u.ID)
}

// Protein is a protein with one copy for each chain.
func Protein(text string, chains ...string) pleat.Sequence {
	return pleat.Sequence{Kind: pleat.Protein, Text: text, Chains: chains, Count: len(chains)}
}

// NewFold describes a fold of a short protein by the model «null», with a seed that the service chose: no other run's
// result is reused for it. The test changes what it is about.
func NewFold(by people.Reach, name string) runs.NewJob {
	return runs.NewJob{
		Job: pleat.Job{
			Owner: by.Project, Creator: by.User, Name: name, Sequences: []pleat.Sequence{Protein("GSGS", "A")},
		},
		Run: runs.RunSpec{Model: "null", Seed: "7", Queue: FoldQueue, Params: pleat.Params{Model: "null"}},
	}
}

// CreateJob creates a job and queues its run; a worker of the test may claim it at once.
func CreateJob(t testing.TB, s *store.Store, n runs.NewJob) runs.Created {
	t.Helper()
	c, err := s.Runs.CreateJob(context.Background(), n)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Claim claims the next task of a queue, as a worker does. There must be one.
func Claim(t testing.TB, s *store.Store, w pleat.WorkerID, queue string) runs.ClaimedTask {
	t.Helper()
	got, err := s.Runs.Claim(context.Background(), w, tasks.ClaimFilter{Queues: []string{queue}, N: 1})
	if err != nil || len(got) != 1 {
		t.Fatalf("claimed %d tasks of %s: %v", len(got), queue, err)
	}
	return got[0]
}

// Completed is how a run of the model «null» ends: with one prediction, whose structure nobody has stored.
func Completed() runs.RunFinished {
	plddt := 71.5
	return runs.RunFinished{
		State:  pleat.StateCompleted,
		Engine: "null 1",
		Served: "null",
		MSA:    pleat.StatePending,
		Result: &pleat.Result{
			Predictions: []pleat.Prediction{{Chains: []string{"A"}, MeanPLDDT: &plddt}},
			Timings:     map[string]float64{"infer": 1},
		},
		Artifacts: []pleat.Artifact{{
			Name:        "model.cif",
			Kind:        pleat.ArtifactCIF,
			ContentType: "chemical/x-mmcif",
			Bytes:       3,
			SHA256:      "00",
			Key:         "runs/x/1/model.cif",
		}},
	}
}

// CompleteFold creates a job and completes its run, as a worker does, with the outcome that Completed describes. No
// other task may wait in the job's queue.
func CompleteFold(t testing.TB, s *store.Store, n runs.NewJob) runs.Created {
	t.Helper()
	c := CreateJob(t, s, n)
	task := Claim(t, s, "completing", n.Run.Queue).Task
	if err := s.Runs.FinishRun(context.Background(), tasks.LeaseOf(&task), Completed()); err != nil {
		t.Fatal(err)
	}
	return c
}

// Eventually waits until a condition holds, and fails the test if it takes two minutes. It asks every 5 ms, so the
// condition must be cheap and must not change anything.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// AwaitJob waits until a job has a state. A job that ends in another state fails the test.
func AwaitJob(t testing.TB, s *store.Store, job pleat.JobID, want pleat.State) (v runs.View) {
	t.Helper()
	Eventually(t, "job "+string(want), func() bool {
		var err error
		if v, err = s.Runs.View(context.Background(), job); err != nil {
			t.Fatal(err)
		}
		if v.Job.State != want && v.Job.State.Terminal() {
			t.Fatalf("the job is %s (%s), not %s", v.Job.State, v.Run.Failure, want)
		}
		return v.Job.State == want
	})
	return v
}

// AwaitWorkflow waits until a workflow has a state. A workflow that ends in another state fails the test.
func AwaitWorkflow(t testing.TB, s *store.Store, id pleat.WorkflowID, want pleat.State) (v runs.WorkflowView) {
	t.Helper()
	Eventually(t, "workflow "+string(want), func() bool {
		var err error
		if v, err = s.Runs.WorkflowView(context.Background(), id); err != nil {
			t.Fatal(err)
		}
		if v.Workflow.State != want && v.Workflow.State.Terminal() {
			t.Fatalf("the workflow is %s (%s), not %s", v.Workflow.State, v.Run.Failure, want)
		}
		return v.Workflow.State == want
	})
	return v
}

// AwaitLine waits until a run's log has a line that begins with a text.
func AwaitLine(t testing.TB, s *store.Store, run pleat.RunID, begin string) {
	t.Helper()
	Eventually(t, "the log line «"+begin+"»", func() bool {
		all, err := s.Runs.Progress(context.Background(), run, 0, runs.MaxLogLines)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(all, func(p pleat.Progress) bool { return strings.HasPrefix(p.Line, begin) })
	})
}

// Receiver returns the address of a receiver for tests that open none: its sealed form is readable, and longer than the
// origin.
func Receiver(text string) pleat.Address {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return pleat.Address{Origin: u.Scheme + "://" + u.Host, Sealed: "s1.address of " + text}
}
