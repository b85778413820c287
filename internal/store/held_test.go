package store_test

import (
	"errors"
	"fmt"
	"testing"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// A worker that deregisters returns all its tasks at once, and spends no try; the attempts say how they have ended.
func TestReleaseAll(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := t.Context()
		u := storetest.User(t, s, "ada")
		for i := range 4 {
			create(t, s, u, fmt.Sprint(i))
		}
		got := claimFor(t, s, tasks.ClaimFilter{}, "w", "w", "other", "w")
		if _, err := s.Runs.Cancel(ctx, u, got[1].Fold.Job); err != nil {
			t.Fatal(err)
		}
		if err := finish(s, got[3], pleat.StateCompleted); err != nil {
			t.Fatal(err)
		}
		known := []tasks.Lease{tasks.LeaseOf(&got[0].Task)}
		if n, err := s.Runs.ReleaseAll(ctx, "w", known); n != 1 || err != nil {
			t.Fatalf("%d, %v: the worker knows one of its tasks", n, err)
		}
		if n, err := s.Runs.ReleaseAll(ctx, "w", nil); n != 1 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		for i, want := range []string{tasks.OutcomeReleased, tasks.OutcomeStopped, "", tasks.OutcomeDone} {
			if o, err := s.Runs.AttemptOutcome(ctx, tasks.LeaseOf(&got[i].Task)); o != want || err != nil {
				t.Errorf("attempt %d ended %q, %v", i, o, err)
			}
		}
		foreign := tasks.LeaseOf(&got[3].Task)
		foreign.Worker = "other"
		if o, err := s.Runs.AttemptOutcome(ctx, foreign); o != "" || !errors.Is(err, pleat.ErrLost) {
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
	t.Parallel()
	storetest.EachWith(
		t,
		store.Options{Runs: runs.Options{HeldTasks: 10}},
		func(t *testing.T, s *store.Store, _ *storetest.Clock) {
			const taskList = 31
			u := storetest.User(t, s, "ada")
			for range taskList {
				create(t, s, u, "fold")
			}
			got := claim(t, s, "w", taskList)
			if len(got) != taskList {
				t.Fatalf("%d tasks", len(got))
			}
			var kept []tasks.Lease
			for i := range got {
				kept = append(kept, tasks.LeaseOf(&got[i].Task))
			}
			if n, err := s.Runs.ReleaseAll(t.Context(), "w", kept); n != 0 || err != nil {
				t.Errorf("%d of those that stay, %v", n, err)
			}
			if n, err := s.Runs.ReleaseAll(t.Context(), "w", nil); n != taskList || err != nil {
				t.Errorf("%d, %v", n, err)
			}
		},
	)
}
