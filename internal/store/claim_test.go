package store_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// claimFor claims tasks of the queue of folds for workers.
func claimFor(t *testing.T, s *store.Store, f tasks.ClaimFilter, workers ...pleat.WorkerID) []runs.ClaimedTask {
	t.Helper()
	f.Queues = append([]string{storetest.FoldQueue}, f.Queues...)
	got, err := s.Runs.ClaimFor(context.Background(), workers, f)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// placed shows which worker holds which job.
func placed(list []runs.ClaimedTask) []string {
	var out []string
	for i := range list {
		c := &list[i]
		name := ""
		if c.Fold != nil {
			name = c.Fold.Name
		} else if c.Workflow != nil {
			name = string(c.Workflow.Kind)
		}
		out = append(out, fmt.Sprintf("%s %s", c.Task.Worker, name))
	}
	return out
}

// The i-th task in the fair order goes to the i-th worker, from one queue after the other, and each worker holds what
// it got.
func TestClaimForManyWorkers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		ctx := context.Background()
		ada, bob := storetest.User(t, s, "ada"), storetest.User(t, s, "bob")
		for i := range 3 {
			create(t, s, ada, fmt.Sprint("ada", i))
		}
		create(t, s, bob, "bob0")
		simulate(t, s, bob, 1)
		got := claimFor(t, s, tasks.ClaimFilter{Queues: []string{simulationQueue}, Lease: time.Minute},
			"c", "a", "b", "c", "d", "e")
		want := []string{"c ada0", "a bob0", "b ada1", "c ada2", "d md"}
		if d := cmp.Diff(want, placed(got)); d != "" {
			t.Fatal(d)
		}
		for i := range got {
			k := &got[i].Task
			if k.Attempt != 1 || k.State != pleat.TaskRunning || !k.LeaseUntil.Equal(s.DB.Now().Add(time.Minute)) ||
				!got[i].Claimed.Equal(s.DB.Now()) || !got[i].Queued.Equal(s.DB.Now()) {
				t.Errorf("%+v", got[i])
			}
			if err := s.Runs.Release(ctx, tasks.LeaseOf(k), 0, nil); err != nil {
				t.Error(err)
			}
		}
		v, err := s.Runs.View(ctx, got[0].Fold.Job)
		if err != nil || v.Job.State != pleat.StateRunning || v.Job.Version != 2 || v.Run.StartedAt.IsZero() {
			t.Errorf("%+v, %v", v, err)
		}
		events, err := s.Runs.Progress(ctx, v.Run.ID, 0, 10)
		if err != nil || len(events) != 1 || events[0].Seq != 1 || events[0].State != pleat.StateRunning ||
			!events[0].At.Equal(s.DB.Now()) {
			t.Errorf("%+v, %v", events, err)
		}
		again := claimFor(t, s, tasks.ClaimFilter{N: 1}, "x", "y") // N does not count
		if d := cmp.Diff([]string{"x ada0", "y bob0"}, placed(again)); d != "" || again[0].Task.Attempt != 2 {
			t.Error(d)
		}
		if v, err := s.Runs.View(ctx, got[0].Fold.Job); err != nil || v.Job.Version != 2 {
			t.Errorf("a second claim has changed the job: %+v, %v", v, err)
		}
		if got := claimFor(t, s, tasks.ClaimFilter{}); got != nil {
			t.Errorf("without workers, %+v was claimed", got)
		}
	})
}

// The filter holds for all workers of a claim.
func TestClaimForManyWorkersFilters(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ada, bob := storetest.User(t, s, "ada"), storetest.User(t, s, "bob")
		for i, memory := range []int64{100, 2000, 300} {
			n := newJob(ada, fmt.Sprint("ada", i))
			n.Run.Memory, n.Run.Expected = memory, time.Duration(memory)*time.Second
			storetest.CreateJob(t, s, n)
		}
		create(t, s, bob, "bob0")
		short := tasks.ClaimFilter{Left: 200 * time.Second, Class: pleat.DefaultClass, Owner: ada.Project}
		got := claimFor(t, s, short, "a", "b")
		if d := cmp.Diff([]string{"a ada0"}, placed(got)); d != "" {
			t.Error(d)
		}
		got = claimFor(t, s, tasks.ClaimFilter{Memory: 1000}, "a", "b", "c")
		if d := cmp.Diff([]string{"a bob0", "b ada2"}, placed(got)); d != "" {
			t.Error(d)
		}
	})
}

// Claims that run at once get different tasks, and each gets its share of a queue longer than one statement's list.
func TestConcurrentClaimsForManyWorkers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		const taskList, claimers = 150, 4
		u := storetest.User(t, s, "ada")
		for range taskList {
			create(t, s, u, "fold")
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		attempts := map[pleat.TaskID]int{}
		for n := range claimers {
			wg.Go(func() {
				var workers []pleat.WorkerID
				for i := range 7 {
					workers = append(workers, pleat.WorkerID(fmt.Sprint("w", n, "-", i)))
				}
				for range 4 {
					folds := tasks.ClaimFilter{Queues: []string{storetest.FoldQueue}}
					got, err := s.Runs.ClaimFor(t.Context(), workers, folds)
					if err != nil || len(got) != len(workers) {
						t.Errorf("%d tasks, %v", len(got), err)
					}
					mu.Lock()
					for i := range got {
						attempts[got[i].Task.ID] += got[i].Task.Attempt
						if got[i].Task.Worker != workers[i] {
							t.Errorf("task %d went to %s", i, got[i].Task.Worker)
						}
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(attempts) != claimers*4*7 {
			t.Errorf("%d tasks were claimed", len(attempts))
		}
		for id, n := range attempts {
			if n != 1 {
				t.Errorf("task %s was claimed %d times", id, n)
			}
		}
	})
}

// A claim for more workers than one statement takes keeps the order.
func TestClaimForMoreWorkersThanAStatementHas(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		u := storetest.User(t, s, "ada")
		var workers []pleat.WorkerID
		var want []string
		for i := range 131 {
			w := pleat.WorkerID(fmt.Sprintf("w%03d", 999-i))
			workers = append(workers, w)
			create(t, s, u, fmt.Sprint(i))
			want = append(want, fmt.Sprintf("%s %d", w, i))
		}
		got := claimFor(t, s, tasks.ClaimFilter{}, slices.Concat(workers, workers)...)
		if d := cmp.Diff(want, placed(got)); d != "" {
			t.Error(d)
		}
	})
}

// A lease that was chosen to be long is not cut short by the verbs of its worker, but by a heartbeat.
func TestLongLeases(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		ctx := context.Background()
		create(t, s, people.Own(storetest.User(t, s, "ada").User), "one")
		c := claimFor(t, s, tasks.ClaimFilter{Lease: time.Hour}, "w")[0]
		if err := s.Runs.SaveCheckpoint(ctx, tasks.LeaseOf(&c.Task), pleat.Checkpoint{Key: "k"}); err != nil {
			t.Fatal(err)
		}
		reaped := func() int {
			t.Helper()
			r, err := s.Runs.Reap(ctx, s.DB.Now())
			if err != nil {
				t.Fatal(err)
			}
			return r.Requeued
		}
		clock.Advance(59 * time.Minute)
		if reaped() != 0 {
			t.Fatal("saving a checkpoint has cut the lease short")
		}
		beats := []runs.WorkerHeartbeat{beatsOf("w", []runs.ClaimedTask{c})}
		if _, err := s.Runs.Heartbeats(ctx, 2*time.Second, beats); err != nil {
			t.Fatal(err)
		}
		clock.Advance(3 * time.Second)
		if reaped() != 1 {
			t.Error("the lease lasts longer than the heartbeat said")
		}
	})
}

// A run whose service asked for a pause is tried again after it, and after an hour at most.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		c := create(t, s, storetest.User(t, s, "ada"), "limited")
		k := claim(t, s, "w", 1)
		for _, pause := range []time.Duration{30 * time.Minute, pleat.MaxRetryAfter, 24 * time.Hour} {
			f := pleat.Failure{Kind: pleat.FailLoad, Message: "busy", Retry: true, RetryAfter: pause}
			end := runs.RunFinished{State: pleat.StateFailed, Failure: &f}
			if err := s.Runs.FinishRun(ctx, tasks.LeaseOf(&k[0].Task), end); err != nil {
				t.Fatal(err)
			}
			clock.Advance(min(pause, pleat.MaxRetryAfter) - time.Second)
			for want := range 2 {
				if _, err := s.Runs.Reap(ctx, s.DB.Now()); err != nil {
					t.Fatal(err)
				}
				if k = claim(t, s, "w", 1); len(k) != want {
					t.Fatalf("a pause of %s: %d tasks to claim; want %d", pause, len(k), want)
				}
				clock.Advance(2 * time.Second)
			}
		}
		storetest.AwaitLine(t, s, c.Run, "trying again in 30m0s: busy")
	})
}
