package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// Every test of this package runs on both databases.

// newJob is a fold of storetest whose owner chose the seed.
func newJob(owner people.Reach, name string) runs.NewJob {
	n := storetest.NewFold(owner, name)
	n.Run.Params.Values = map[string]any{"seed": n.Run.Seed}
	return n
}

func create(t *testing.T, s *store.Store, owner people.Reach, name string) runs.Created {
	t.Helper()
	return storetest.CreateJob(t, s, newJob(owner, name))
}

func claim(t *testing.T, s *store.Store, w pleat.WorkerID, n int) []runs.ClaimedTask {
	t.Helper()
	c, err := s.Runs.Claim(context.Background(), w, tasks.ClaimFilter{Queues: []string{storetest.FoldQueue}, N: n})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// finish ends a claimed run in a state.
func finish(s *store.Store, c runs.ClaimedTask, state pleat.State) error {
	return s.Runs.FinishRun(context.Background(), tasks.LeaseOf(&c.Task), outcome(state))
}

// outcome is how a run of the model «null» ends in a state.
func outcome(state pleat.State) runs.RunFinished {
	if state == pleat.StateCompleted {
		return storetest.Completed()
	}
	return runs.RunFinished{
		State:   state,
		Engine:  "null 1",
		MSA:     pleat.StatePending,
		Failure: pleat.Failed(pleat.FailInvalidInput, "no"),
	}
}

func TestLife(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		c := create(t, s, u, "one")
		if c.State != pleat.StateInitialized || len(c.Sequences) != 1 || c.Usage.Used != 1 {
			t.Fatalf("created %+v", c)
		}
		got := claim(t, s, "w1", 5)
		if len(got) != 1 || got[0].Fold.Run != c.Run || got[0].Task.Attempt != 1 || got[0].Fold.Seed != "7" {
			t.Fatalf("claimed %+v", got)
		}
		v, err := s.Runs.View(ctx, c.Job)
		if err != nil || v.Job.State != pleat.StateRunning || v.Run.StartedAt.IsZero() {
			t.Fatalf("running view %+v %v", v, err)
		}
		if err := finish(s, got[0], pleat.StateCompleted); err != nil {
			t.Fatal(err)
		}
		v, err = s.Runs.View(ctx, c.Job)
		if err != nil {
			t.Fatal(err)
		}
		if v.Job.State != pleat.StateCompleted || v.Run.Result == nil ||
			*v.Run.Result.Predictions[0].MeanPLDDT != 71.5 || len(v.Artifacts) != 1 {
			t.Fatalf("completed view %+v", v)
		}
		if diff := cmp.Diff(map[string]any{"seed": "7"}, v.Run.Params.Values); diff != "" {
			t.Error(diff)
		}
		if err := finish(s, got[0], pleat.StateCompleted); !errors.Is(err, pleat.ErrLost) {
			t.Errorf("finishing twice: %v", err)
		}
		news, err := s.Runs.Progress(ctx, c.Run, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var states []pleat.State
		for i, p := range news {
			if p.Seq != int64(i+1) {
				t.Errorf("progress %d has sequence number %d", i, p.Seq)
			}
			if p.Kind == pleat.ProgressState {
				states = append(states, p.State)
			}
		}
		if diff := cmp.Diff([]pleat.State{pleat.StateRunning, pleat.StateCompleted}, states); diff != "" {
			t.Error(diff)
		}
		if n := storetest.Count(t, s, "event"); n != 1 {
			t.Errorf("%d events", n)
		}
		rows, err := s.Runs.ListJobs(ctx, u, runs.Filter{Limit: 10, Query: "ON"})
		if err != nil || len(rows) != 1 || rows[0].MeanPLDDT == nil {
			t.Errorf("list %+v %v", rows, err)
		}
	})
}

func TestStaleWorkerIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		c := create(t, s, u, "one")
		first := claim(t, s, "w1", 1)[0]
		clock.Advance(pleat.LeaseDuration + time.Second)
		r, err := s.Runs.Reap(ctx, s.DB.Now())
		if err != nil || r.Requeued != 1 {
			t.Fatalf("reaped %+v %v", r, err)
		}
		pulses, err := s.Runs.Heartbeat(ctx, "w1", []pleat.Heartbeat{{
			Task:     first.Task.ID,
			Attempt:  1,
			Run:      c.Run,
			Progress: []pleat.Progress{{Kind: pleat.ProgressLog, Line: "late"}},
		}})
		if err != nil || !pulses[0].Lost {
			t.Fatalf("pulse of a lost task %+v %v", pulses, err)
		}
		second := claim(t, s, "w2", 1)[0]
		if second.Task.Attempt != 2 {
			t.Fatalf("attempt %d", second.Task.Attempt)
		}
		stale := tasks.LeaseOf(&first.Task)
		for what, err := range map[string]error{
			"finish":     finish(s, first, pleat.StateCompleted),
			"alignment":  s.Runs.SetMSA(ctx, stale, pleat.StateCompleted),
			"artifact":   s.Runs.AddArtifact(ctx, stale, pleat.Artifact{Name: "x"}),
			"checkpoint": s.Runs.SaveCheckpoint(ctx, stale, pleat.Checkpoint{Key: "k", Step: 1}),
			"release":    s.Runs.Release(ctx, stale, 0, nil),
		} {
			if !errors.Is(err, pleat.ErrLost) {
				t.Errorf("%s by a stale worker: %v", what, err)
			}
		}
		if err := finish(s, second, pleat.StateCompleted); err != nil {
			t.Fatal(err)
		}
		if n := storetest.Count(t, s, "event"); n != 1 {
			t.Errorf("%d events", n)
		}
	})
}

func TestTriesRunOut(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		c := create(t, s, people.Own(storetest.User(t, s, "ada").User), "one")
		for i := range tasks.DefaultTries {
			if got := claim(t, s, "w", 1); len(got) != 1 {
				t.Fatalf("try %d: nothing to claim", i)
			}
			clock.Advance(pleat.LeaseDuration + time.Second)
			if _, err := s.Runs.Reap(ctx, s.DB.Now()); err != nil {
				t.Fatal(err)
			}
		}
		v, err := s.Runs.View(ctx, c.Job)
		if err != nil || v.Run.State != pleat.StateFailed || v.Run.Failure.Kind != pleat.FailCrashed {
			t.Fatalf("%+v %v", v.Run, err)
		}
	})
}

func TestRetryWaits(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		c := create(t, s, people.Own(storetest.User(t, s, "ada").User), "one")
		c1, f := claim(t, s, "w", 1)[0], outcome(pleat.StateFailed)
		f.Failure = pleat.Failed(pleat.FailDeviceLost, "gone")
		if err := s.Runs.FinishRun(ctx, tasks.LeaseOf(&c1.Task), f); err != nil {
			t.Fatal(err)
		}
		if got := claim(t, s, "w", 1); len(got) != 0 {
			t.Fatal("claimed before its delay was over")
		}
		clock.Advance(2 * time.Second)
		if r, err := s.Runs.Reap(ctx, s.DB.Now()); err != nil || r.Woken != 1 {
			t.Fatalf("%+v %v", r, err)
		}
		got := claim(t, s, "w", 1)
		if len(got) != 1 || got[0].Task.Attempt != 2 {
			t.Fatalf("%+v", got)
		}
		if err := finish(s, got[0], pleat.StateCompleted); err != nil {
			t.Fatal(err)
		}
		if v, _ := s.Runs.View(ctx, c.Job); v.Job.State != pleat.StateCompleted {
			t.Fatal(v.Job.State)
		}
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u, other := storetest.User(t, s, "ada"), storetest.User(t, s, "eve")
		waiting := create(t, s, u, "waits")
		if _, err := s.Runs.Cancel(ctx, other, waiting.Job); !errors.Is(err, pleat.ErrJobNotFound) {
			t.Errorf("a stranger cancels: %v", err)
		}
		if st, err := s.Runs.Cancel(ctx, u, waiting.Job); err != nil || st != pleat.StateStopped {
			t.Fatalf("%s %v", st, err)
		}
		if _, err := s.Runs.Cancel(ctx, u, waiting.Job); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("cancelling twice: %v", err)
		}
		if got := claim(t, s, "w", 1); len(got) != 0 {
			t.Fatal("a stopped task was claimed")
		}
		running := create(t, s, u, "runs")
		got := claim(t, s, "w", 1)
		woken, end := s.DB.Subscribe(tasks.WorkerTopic("w"))
		defer end()
		if st, err := s.Runs.Cancel(ctx, u, running.Job); err != nil || st != pleat.StateRunning {
			t.Fatalf("%s %v", st, err)
		}
		select {
		case <-woken:
		case <-time.After(time.Minute):
			t.Error("the worker was not woken")
		}
		ids, err := s.Runs.CancelledTasks(ctx, "w")
		if err != nil || len(ids) != 1 {
			t.Fatalf("%v %v", ids, err)
		}
		// The worker finished before it noticed: the run is stopped all the same.
		if err := finish(s, got[0], pleat.StateCompleted); err != nil {
			t.Fatal(err)
		}
		v, err := s.Runs.View(ctx, running.Job)
		if err != nil || v.Job.State != pleat.StateStopped || len(v.Artifacts) != 0 ||
			!reflect.DeepEqual(v.Run.Result, v.Run.Result.TimingsOnly()) {
			t.Fatalf("%+v %v", v, err)
		}
	})
}

// The files of an attempt under way are no garbage, though no row refers to them yet; its old checkpoints are.
func TestFilesOfARunningAttempt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		c := create(t, s, people.Own(storetest.User(t, s, "ada").User), "one")
		key := func(attempt int, name string) string { return fmt.Sprintf("runs/%s/%d/%s", c.Run, attempt, name) }
		check := func(what string, want ...string) {
			t.Helper()
			all := []string{key(1, "a.cif"), key(1, "checkpoint-7.tar"), key(2, "a.cif"), "runs/x/1/a.cif", "runs/x"}
			got, err := s.Runs.UnreferencedBlobs(ctx, all)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s: %s%v", what, diff, err)
			}
		}
		check("queued", key(1, "a.cif"), key(1, "checkpoint-7.tar"), key(2, "a.cif"), "runs/x/1/a.cif", "runs/x")
		first := claim(t, s, "w", 1)[0]
		check("first attempt", key(1, "checkpoint-7.tar"), key(2, "a.cif"), "runs/x/1/a.cif", "runs/x")
		if err := s.Runs.Release(ctx, tasks.LeaseOf(&first.Task), 0, nil); err != nil {
			t.Fatal(err)
		}
		claim(t, s, "w", 1)
		check("second attempt", key(1, "a.cif"), key(1, "checkpoint-7.tar"), "runs/x/1/a.cif", "runs/x")
	})
}

// A task that its worker releases keeps what it has reported, and ends if its owner has cancelled it.
func TestRelease(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		job := create(t, s, u, "one")
		for i, want := range []pleat.State{pleat.StateRunning, pleat.StateStopped} {
			c := storetest.Claim(t, s, "w", storetest.FoldQueue)
			if want == pleat.StateStopped {
				if _, err := s.Runs.Cancel(ctx, u, job.Job); err != nil {
					t.Fatal(err)
				}
			}
			line := pleat.Progress{Kind: pleat.ProgressLog, Line: fmt.Sprint("last of attempt ", i)}
			if err := s.Runs.Release(ctx, tasks.LeaseOf(&c.Task), 0, []pleat.Progress{line}); err != nil {
				t.Fatal(err)
			}
			storetest.AwaitLine(t, s, job.Run, line.Line)
			if v, err := s.Runs.View(ctx, job.Job); err != nil || v.Job.State != want || v.Run.State != want {
				t.Errorf("after release %d the job is %s, the run %s, %v", i, v.Job.State, v.Run.State, err)
			}
		}
		if got := claim(t, s, "w", 1); len(got) != 0 {
			t.Errorf("a stopped task was claimed: %+v", got)
		}
	})
}

func TestQuotaIsExact(t *testing.T) {
	t.Parallel()
	storetest.EachLimited(t, people.Limits{Jobs: 30}, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop() // a day must not end in between
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		n := newJob(u, "many")
		var wg sync.WaitGroup
		var mu sync.Mutex
		created, refused := 0, 0
		for range 16 {
			wg.Go(func() {
				for range 5 {
					_, err := s.Runs.CreateJob(ctx, n)
					mu.Lock()
					switch {
					case err == nil:
						created++
					case err.Error() == "Daily quota exceeded. Limit: 30 calls per day. Current: 30 calls.":
						refused++
					default:
						t.Error(err)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if created != 30 || refused != 50 {
			t.Errorf("made %d, refused %d", created, refused)
		}
		if n := storetest.Count(t, s, "job"); n != 30 {
			t.Errorf("%d rows", n)
		}
		used, err := s.People.Usage(ctx, u)
		usage := used.Jobs
		if err != nil || usage.Used != 30 || usage.Reset.Before(s.DB.Now()) || usage.Reset.Hour() != 0 {
			t.Errorf("%+v %v", usage, err)
		}
		clock.Advance(24 * time.Hour)
		if _, err := s.Runs.CreateJob(ctx, n); err != nil {
			t.Errorf("the next day: %v", err)
		}
		if err := s.People.SetQuota(ctx, "ada", 1); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Runs.CreateJob(ctx, n); err == nil ||
			err.Error() != "Daily quota exceeded. Limit: 1 calls per day. Current: 1 calls." {
			t.Errorf("own quota: %v", err)
		}
	})
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		n := newJob(u, "once")
		n.Key, n.Digest = "k", "d"
		var wg sync.WaitGroup
		ids := make([]pleat.JobID, 20)
		for i := range ids {
			wg.Go(func() {
				c, err := s.Runs.CreateJob(ctx, n)
				if err != nil {
					t.Error(err)
				}
				ids[i] = c.Job
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] || id == "" {
				t.Fatalf("answers differ: %v", ids)
			}
		}
		if n := storetest.Count(t, s, "job"); n != 1 {
			t.Errorf("%d jobs", n)
		}
		n.Digest = "other"
		if _, err := s.Runs.CreateJob(ctx, n); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("another body: %v", err)
		}
		clock.Advance(25 * time.Hour)
		if c, err := s.Runs.CreateJob(ctx, n); err != nil || c.Job == ids[0] || c.Replayed {
			t.Errorf("a day later: %+v %v", c, err)
		}
	})
}

func TestTurnsAreFair(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		a, b := storetest.User(t, s, "thousand"), storetest.User(t, s, "one")
		for i := range 40 {
			create(t, s, a, fmt.Sprint(i))
		}
		for range 10 {
			claim(t, s, "w", 1)
		}
		first, second := create(t, s, people.Own(b.User), "first"), create(t, s, people.Own(b.User), "second")
		var place []int
		for i := range 8 {
			got := claim(t, s, "w", 1)[0]
			if got.Fold.Run == first.Run || got.Fold.Run == second.Run {
				place = append(place, i)
			}
		}
		if diff := cmp.Diff([]int{1, 3}, place); diff != "" {
			t.Errorf("b's jobs were claimed at the places %v; each should wait for one of a's", place)
		}
	})
}

func TestOneClaimEach(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		u := storetest.User(t, s, "ada")
		for i := range 60 {
			create(t, s, u, fmt.Sprint(i))
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[pleat.TaskID]int{}
		for w := range 8 {
			wg.Go(func() {
				for {
					got := claim(t, s, pleat.WorkerID(fmt.Sprint(w)), 3)
					if len(got) == 0 {
						return
					}
					mu.Lock()
					for _, c := range got {
						seen[c.Task.ID]++
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(seen) != 60 {
			t.Errorf("%d tasks claimed of 60", len(seen))
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s was claimed %d times", id, n)
			}
		}
	})
}

func TestRestartFreesLeases(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		create(t, s, people.Own(storetest.User(t, s, "ada").User), "one")
		w := pleat.Worker{
			ID: "node-1", Queues: []string{storetest.FoldQueue}, Models: []pleat.Model{
				{Name: "null", Kind: pleat.TaskFold},
			},
		}
		if err := s.Workers.RegisterWorker(ctx, w); err != nil {
			t.Fatal(err)
		}
		claim(t, s, "node-1", 1)
		if err := s.Workers.RegisterWorker(ctx, w); err != nil {
			t.Fatal(err)
		}
		if got := claim(t, s, "node-1", 1); len(got) != 1 || got[0].Task.Attempt != 2 {
			t.Fatalf("%+v", got)
		}
		models, err := s.Workers.Models(ctx)
		if err != nil || len(models) != 1 || models[0].Name != "null" {
			t.Errorf("%+v %v", models, err)
		}
	})
}

// A job goes where it fits: of a model's workers the largest room counts, and one that does not know its own may have
// more.
func TestModelsHaveTheLargestRoom(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		for i, c := range []struct{ room, want int64 }{{24e9, 24e9}, {80e9, 80e9}, {48e9, 80e9}, {0, 0}} {
			w := pleat.Worker{
				ID: pleat.WorkerID(fmt.Sprint("node-", i)), Models: []pleat.Model{
					{Name: "boltz-2", Kind: pleat.TaskFold, Room: c.room},
				},
			}
			if err := s.Workers.RegisterWorker(ctx, w); err != nil {
				t.Fatal(err)
			}
			models, err := s.Workers.Models(ctx)
			if err != nil || len(models) != 1 || models[0].Room != c.want {
				t.Errorf("%+v, %v; want room for %d", models, err, c.want)
			}
		}
	})
}

func TestVisibility(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		c := create(t, s, u, "one")
		by := people.Actor{Reach: u}
		k, err := s.People.CreateKey(ctx, by, people.NewKey{Prefix: "pleat_abc", Hash: "hash", Label: "laptop"})
		if err != nil {
			t.Fatal(err)
		}
		h, err := s.Runs.Head(ctx, c.Job, key("hash"))
		if err != nil || h.Caller != u.User || h.Owner != u.Project || h.Public {
			t.Fatalf("%+v %v", h, err)
		}
		if h, _ := s.Runs.Head(ctx, c.Job, key("wrong")); h.Caller != "" {
			t.Error("a wrong key has a caller")
		}
		before := h
		for _, public := range []bool{true, true, false} {
			if err := s.Runs.SetPublic(ctx, u, c.Job, public); err != nil {
				t.Fatal(err)
			}
		}
		h, _ = s.Runs.Head(ctx, c.Job, key("hash"))
		if h.Version != before.Version+2 || h.Epoch != before.Epoch+1 {
			t.Errorf("version %d → %d, epoch %d → %d", before.Version, h.Version, before.Epoch, h.Epoch)
		}
		if err := s.People.RevokeKey(ctx, people.Actor{Reach: u}, k.ID); err != nil {
			t.Fatal(err)
		}
		if h, _ = s.Runs.Head(ctx, c.Job, key("hash")); h.Caller != "" {
			t.Error("a revoked key has a caller")
		}
		if _, err := s.People.Identify(ctx, key("hash")); !errors.Is(err, pleat.ErrUnauthorized) {
			t.Errorf("revoked key: %v", err)
		}
		if err := s.Ops.DeleteJob(ctx, u, c.Job); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Runs.Head(ctx, c.Job, people.Credential{}); !errors.Is(err, pleat.ErrJobNotFound) {
			t.Errorf("deleted job: %v", err)
		}
	})
}

func TestSessionDiesWithItsKey(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		k, err := s.People.CreateKey(ctx, people.Actor{Reach: u}, people.NewKey{Prefix: "p", Hash: "h"})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"s1", "s2"} {
			by := people.Actor{Reach: u, Key: k.ID}
			if _, err := s.People.CreateSession(ctx, by, id, s.DB.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		if p, err := s.People.Identify(ctx, session("s1")); err != nil || p.User != u.User {
			t.Fatalf("%+v %v", p, err)
		}
		if err := s.People.RevokeKey(ctx, people.Actor{Reach: u}, k.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := s.People.Identify(ctx, session("s2")); !errors.Is(err, pleat.ErrUnauthorized) {
			t.Errorf("%v", err)
		}
	})
}

func TestRerun(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		c := create(t, s, u, "one")
		if _, err := s.Runs.Rerun(ctx, u, c.Job, newJob(u, "").Run); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("rerun of a waiting job: %v", err)
		}
		if err := finish(s, claim(t, s, "w", 1)[0], pleat.StateCompleted); err != nil {
			t.Fatal(err)
		}
		again, err := s.Runs.Rerun(ctx, u, c.Job, newJob(u, "").Run)
		if err != nil || again.Run == c.Run || again.Usage.Used != 2 {
			t.Fatalf("%+v %v", again, err)
		}
		v, err := s.Runs.View(ctx, c.Job)
		if err != nil || v.Run.ID != again.Run || v.Run.Number != 2 || v.Job.State != pleat.StateInitialized ||
			len(v.Artifacts) != 0 {
			t.Fatalf("%+v %v", v, err)
		}
		if runs, err := s.Runs.Runs(ctx, c.Job); err != nil || len(runs) != 2 {
			t.Errorf("%d runs %v", len(runs), err)
		}
	})
}

func TestPages(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		var want []pleat.JobID
		for i := range 7 {
			want = append([]pleat.JobID{create(t, s, u, fmt.Sprintf("job 100%%_%d", i)).Job}, want...)
		}
		create(t, s, people.Own(storetest.User(t, s, "eve").User), "hers")
		var got []pleat.JobID
		before := ""
		for {
			page, err := s.Runs.ListJobs(ctx, u, runs.Filter{Limit: 3, Before: before})
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for _, r := range page {
				got = append(got, r.ID)
			}
			before = string(got[len(got)-1])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if rows, _ := s.Runs.ListJobs(ctx, u, runs.Filter{Limit: 9, Query: "0%_3"}); len(rows) != 1 {
			t.Errorf("%d rows match a literal pattern", len(rows))
		}
		if rows, _ := s.Runs.ListJobs(ctx, u, runs.Filter{Limit: 9, State: pleat.StateCompleted}); len(rows) != 0 {
			t.Errorf("%d completed", len(rows))
		}
	})
}

func TestSQLiteSurvivesReopening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep", "pleat.db")
	ctx := context.Background()
	for i := range 3 {
		s, err := store.Open(ctx, "sqlite:"+path, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, to, err := s.DB.Migrate(ctx); err != nil || to != db.Latest() {
			t.Fatalf("%d %v", to, err)
		}
		u := storetest.User(t, s, "ada")
		create(t, s, u, fmt.Sprint(i))
		if rows, err := s.Runs.ListJobs(ctx, u, runs.Filter{Limit: 9}); err != nil || len(rows) != i+1 {
			t.Fatalf("%d jobs at opening %d: %v", len(rows), i, err)
		}
		if err := s.DB.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
}

// A caller whose context ends gets the result of its verb if that was running; otherwise nothing is stored.
func TestCallerTimesOut(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		u := storetest.User(t, s, "ada")
		var created atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for k := range 25 {
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(k)*200*time.Microsecond)
					if _, err := s.Runs.CreateJob(ctx, newJob(u, fmt.Sprint(i, k))); err == nil {
						created.Add(1)
					}
					cancel()
				}
			})
		}
		wg.Wait()
		// On PostgreSQL an answer may be lost on its way; SQLite's writer is in the process.
		n := int64(storetest.Count(t, s, "job"))
		if sqlite := s.DB.Dialect() == "sqlite"; n < created.Load() || sqlite && n != created.Load() {
			t.Errorf("%d jobs are stored, %d calls succeeded", n, created.Load())
		}
		if used := int64(storetest.Count(t, s, "run")); used != n {
			t.Errorf("%d runs of %d jobs", used, n)
		}
	})
}
