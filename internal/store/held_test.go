package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
)

// A worker that says goodbye returns all its tasks at once, and spends no try; the attempts say how they have ended.
func TestReleaseAll(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := t.Context()
		u := storetest.User(t, s, "ada")
		for i := range 4 {
			create(t, s, u, fmt.Sprint(i))
		}
		got := claimFor(t, s, store.ClaimFilter{}, "w", "w", "other", "w")
		if _, err := s.Cancel(ctx, u, got[1].Fold.Job); err != nil {
			t.Fatal(err)
		}
		if err := finish(s, got[3], pleat.StateCompleted); err != nil {
			t.Fatal(err)
		}
		held := func(w pleat.WorkerID) []store.Lease {
			t.Helper()
			list, err := s.HeldTasks(ctx, w)
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		want := []store.Lease{store.LeaseOf(&got[0].Task), store.LeaseOf(&got[1].Task)}
		if d := cmp.Diff(want, held("w")); d != "" {
			t.Error(d)
		}
		if n, err := s.ReleaseAll(ctx, "w"); n != 2 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		if len(held("w")) != 0 || len(held("other")) != 1 {
			t.Errorf("%v, %v", held("w"), held("other"))
		}
		for i, want := range []string{store.OutcomeReleased, store.OutcomeStopped, "", store.OutcomeDone} {
			if o, err := s.AttemptOutcome(ctx, store.LeaseOf(&got[i].Task)); o != want || err != nil {
				t.Errorf("attempt %d ended %q, %v", i, o, err)
			}
		}
		foreign := store.LeaseOf(&got[3].Task)
		foreign.Worker = "other"
		if o, err := s.AttemptOutcome(ctx, foreign); o != "" || err != nil {
			t.Errorf("another worker's attempt ended %q, %v", o, err)
		}
		again := claim(t, s, "x", 9)
		if len(again) != 1 || again[0].Task.ID != got[0].Task.ID || again[0].Task.Tries != 0 {
			t.Errorf("%+v", again)
		}
	})
}

// More tasks are released than one statement selects.
func TestReleaseManyTasks(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		const tasks = 1001
		u := storetest.User(t, s, "ada")
		for range tasks {
			create(t, s, u, "fold")
		}
		if got := claim(t, s, "w", tasks); len(got) != tasks {
			t.Fatalf("%d tasks", len(got))
		}
		if n, err := s.ReleaseAll(t.Context(), "w"); n != tasks || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
}

// A worker that has not received the answer to a claim reads the same tasks again, if it still holds them. Their leases
// are renewed, and no attempt begins.
func TestReclaim(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		ctx := t.Context()
		u := storetest.User(t, s, "ada")
		_, search := toSearch(t, s, u)
		publish(t, s, search, "msa.a3m", "runs/x/1/msa.a3m")
		clock.Advance(3 * time.Second)
		if err := endSearch(s, search); err != nil {
			t.Fatal(err)
		}
		simulate(t, s, u, 1)
		yielding := storetest.Claim(t, s, "w", simulationQueue)
		simulate(t, s, storetest.User(t, s, "bob"), 1)
		saved := pleat.Checkpoint{Key: "k", Step: 3}
		if err := s.SaveCheckpoint(ctx, store.LeaseOf(&yielding.Task), saved); err != nil {
			t.Fatal(err)
		}
		clock.Advance(5 * time.Second)
		yield(t, s, yielding, simulations, simulationQueue)
		fresh := newJob(u, "fresh")
		fresh.Run.Fresh, fresh.Run.Request, fresh.Run.Expected = true, "req", time.Second
		storetest.CreateJob(t, s, fresh)
		create(t, s, u, "lost")
		queues := store.ClaimFilter{Queues: []string{simulationQueue}, Lease: time.Minute}
		got := claimFor(t, s, queues, "w", "w", "w", "w", "w")
		if len(got) != 5 || len(got[0].Alignments) != 1 || got[0].SearchDuration != 3*time.Second || !got[1].Fresh ||
			got[4].Worked != 5*time.Second || got[4].Task.Checkpoint.Step != 3 {
			t.Fatalf("%+v", got)
		}
		var leases []store.Lease
		for i := range got {
			leases = append(leases, store.LeaseOf(&got[i].Task))
		}
		again, err := s.Reclaim(ctx, "w", time.Minute, leases)
		if d := cmp.Diff(got, again); d != "" || err != nil {
			t.Fatal(d, err)
		}
		if err := s.Release(ctx, leases[2], 0, nil); err != nil {
			t.Fatal(err)
		}
		storetest.Claim(t, s, "w", storetest.FoldQueue) // a later attempt of the same worker
		clock.Advance(50 * time.Second)
		attempts := storetest.Count(t, s, "attempt")
		leases[3].Worker = "other"
		again, err = s.Reclaim(ctx, "w", time.Minute, append(leases, leases[0]))
		want := []store.ClaimedTask{got[0], got[1], got[4]}
		for i := range want {
			want[i].Task.LeaseUntil = s.Now().Add(time.Minute)
		}
		if d := cmp.Diff(want, again); d != "" || err != nil {
			t.Error(d, err)
		}
		if storetest.Count(t, s, "attempt") != attempts {
			t.Error("an attempt has begun")
		}
	})
}
