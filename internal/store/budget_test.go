package store_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/batches"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
)

// budget sets a project's budget in seconds; a negative one is none.
func budget(t *testing.T, s *store.Store, project pleat.ProjectID, gpu, cpu int64) {
	t.Helper()
	gpu, cpu = gpu*1_000_000, cpu*1_000_000
	by := people.Actor{Reach: people.InProject(project), Database: true}
	change := people.ProjectChange{Budget: &people.BudgetChange{GPU: &gpu, CPU: &cpu}}
	if err := s.People.ChangeProject(context.Background(), by, change); err != nil {
		t.Fatal(err)
	}
}

// expecting describes a fold that is expected to take some seconds.
func expecting(by people.Reach, seconds int) runs.NewJob {
	n := storetest.NewFold(by, "expected")
	n.Run.Expected = time.Duration(seconds) * time.Second
	return n
}

// refused fails the test unless an error refuses work for the budget and says the words.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	if pleat.CodeOf(err) != pleat.CodeLimited || !errors.Is(err, people.ErrBudget) {
		t.Errorf("got %v, want a refusal for the budget", err)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

// A budget refuses what would pass it, counting what was spent, what waits and runs, and what is added. Callers that
// create at the same time cannot pass it together.
func TestBudgetRefusesBeforeItIsPassed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		ctx := context.Background()
		ada, bob := lab(t, s)
		registerUses(t, s, "w")
		budget(t, s, ada.Project, 1000, -1)

		var wg sync.WaitGroup
		var mu sync.Mutex
		created := 0
		for i := range 8 { // 300 s each
			wg.Go(func() {
				_, err := s.Runs.CreateJob(ctx, expecting([]people.Reach{ada, bob}[i%2], 300))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					created++
				} else {
					refused(t, err, "of the 0.28 GPU-hours of its budget", "0.25 GPU-hours are expected",
						"this would take 300 GPU-seconds", "an operator of this service can raise the budget")
				}
			})
		}
		wg.Wait()
		if created != 3 {
			t.Fatalf("%d jobs were created", created)
		}
		_, err := s.Runs.CreateJob(ctx, expecting(ada, 100)) // exactly what is left
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Runs.CreateJob(ctx, expecting(ada, 0)) // nobody knows what it takes
		refused(t, err)
		simulation := newFlow(ada, false)
		simulation.Workflow.Kind, simulation.Run.Model, simulation.Run.Queue = pleat.TaskMD, "calvados", simulationQueue
		if _, err := s.Runs.CreateWorkflow(ctx, simulation); err != nil {
			t.Error("a simulation, which needs no GPU:", err)
		}
		if u := storetest.User(t, s, "ada"); u.Project != ada.Project {
			storetest.CreateJob(t, s, expecting(u, 5000)) // of another project
		}

		// A run that takes longer than expected is counted as it runs, and one that takes less gives back what is left.
		k := storetest.Claim(t, s, "w", storetest.FoldQueue)
		clock.Advance(10 * time.Second)
		if err := s.Runs.FinishRun(ctx, tasks.LeaseOf(&k.Task), storetest.Completed()); err != nil {
			t.Fatal(err)
		}
		use, err := s.People.BudgetUse(ctx, ada, false)
		if err != nil || use.Spent.GPU != 10e6 || use.GPU != 1000e6 {
			t.Errorf("%+v %v", use, err)
		}
	})
}

// Reruns, batches, workflows and follow-ups are refused too, and none of them costs quota then. The next month is new.
func TestBudgetOfEverythingThatRuns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		ctx := context.Background()
		ada, _ := lab(t, s)
		registerUses(t, s, "w")
		n := expecting(ada, 10)
		n.Subs = []pleat.Subscription{{Destination: pleat.DestMD, Settings: []byte("{}")}}
		c := storetest.CreateJob(t, s, n)
		k := storetest.Claim(t, s, "w", storetest.FoldQueue)
		clock.Advance(20 * time.Second)
		if err := s.Runs.FinishRun(ctx, tasks.LeaseOf(&k.Task), storetest.Completed()); err != nil {
			t.Fatal(err)
		}
		budget(t, s, ada.Project, 25, 85)

		_, err := s.Runs.Rerun(ctx, ada, c.Job, expecting(ada, 10).Run)
		refused(t, err, "20 GPU-seconds of the 25 GPU-seconds", "this would take")
		simulation := newFlow(ada, false)
		simulation.Workflow.Kind, simulation.Run.Model, simulation.Run.Queue = pleat.TaskMD, "calvados", simulationQueue
		simulation.Run.Expected = time.Minute
		_, err = s.Runs.CreateWorkflow(ctx, simulation)
		refused(t, err, "80 CPU-seconds of the 85 CPU-seconds", "this would take 120 CPU-seconds")
		rows := func(count, seconds int) batches.NewBatch {
			return batches.NewBatch{
				Batch: pleat.Batch{
					Owner: ada.Project, Creator: ada.User, Kind: pleat.BatchList, Model: "null", Rows: count,
				},
				Rows: iter.Seq2[batches.NewRow, error](func(yield func(batches.NewRow, error) bool) {
					for i := range count {
						run := expecting(ada, seconds).Run
						row := batches.NewRow{Digest: [32]byte{byte(i)}, Input: batches.RowInput{
							Sequences: []pleat.Sequence{storetest.Protein("GSGS", "A")}, Run: run,
						}}
						if !yield(row, nil) {
							return
						}
					}
				}),
			}
		}
		_, err = s.Batches.CreateBatch(ctx, rows(2, 3))
		refused(t, err)
		follow, err := s.Runs.ClaimFollowUps(ctx, "w", 1)
		if err != nil || len(follow) != 1 {
			t.Fatalf("%d follow-ups, %v", len(follow), err)
		}
		if _, err := s.Runs.StartFollowUp(ctx, follow[0], &simulation, ""); err != nil {
			t.Fatal(err)
		}
		d, err := s.Webhooks.Deliveries(ctx, ada, webhooks.DeliveryFilter{Limit: 10})
		if err != nil || len(d) != 1 || d[0].Status != pleat.DeliveryFailed ||
			!strings.Contains(d[0].Reason, "raise the budget") {
			t.Errorf("%+v, %v", d, err)
		}
		u, err := s.People.Usage(ctx, ada)
		if err != nil || u.Jobs.Used != 1 || u.Workflows.Used != 0 || u.BatchRows.Used != 0 {
			t.Errorf("%+v %v", u, err)
		}

		// The rows of a batch count before their jobs are made, by what the run has taken: twice what was expected.
		budget(t, s, ada.Project, 32, -1)
		if _, err = s.Batches.CreateBatch(ctx, rows(2, 3)); err != nil {
			t.Fatal(err)
		}
		use, err := s.People.BudgetUse(ctx, ada, false)
		if err != nil || use.Expected.GPU != 12e6 {
			t.Errorf("%+v %v", use, err)
		}

		clock.Advance(s.People.EndOfMonth().Sub(s.DB.Now()))
		if use, err = s.People.BudgetUse(ctx, ada, false); err != nil || use.Spent.GPU != 0 {
			t.Errorf("%+v %v", use, err)
		}
	})
}

// Only an operator sets a budget, and who has no role in the project does not see it.
func TestWhoMaySetBudgets(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		ada, _ := lab(t, s)
		one := int64(1)
		change := people.ProjectChange{Budget: &people.BudgetChange{GPU: &one}}
		err := s.People.ChangeProject(ctx, newKey(t, s, ada, "k"), change)
		if pleat.CodeOf(err) != pleat.CodeForbidden {
			t.Errorf("a manager sets a budget: %v", err)
		}
		stranger := storetest.User(t, s, "eve")
		stranger.Project = ada.Project
		if _, err := s.People.BudgetUse(ctx, stranger, false); !errors.Is(err, pleat.ErrNoProject) {
			t.Errorf("a stranger reads a budget: %v", err)
		}
	})
}
