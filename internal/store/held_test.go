package store_test

import (
	"errors"
	"fmt"
	"testing"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
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
		got := claimFor(t, s, store.ClaimFilter{}, "w", "w", "other", "w")
		if _, err := s.Cancel(ctx, u, got[1].Fold.Job); err != nil {
			t.Fatal(err)
		}
		if err := finish(s, got[3], pleat.StateCompleted); err != nil {
			t.Fatal(err)
		}
		known := []store.Lease{store.LeaseOf(&got[0].Task)}
		if n, err := s.ReleaseAll(ctx, "w", known); n != 1 || err != nil {
			t.Fatalf("%d, %v: the worker knows one of its tasks", n, err)
		}
		if n, err := s.ReleaseAll(ctx, "w", nil); n != 1 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		for i, want := range []string{store.OutcomeReleased, store.OutcomeStopped, "", store.OutcomeDone} {
			if o, err := s.AttemptOutcome(ctx, store.LeaseOf(&got[i].Task)); o != want || err != nil {
				t.Errorf("attempt %d ended %q, %v", i, o, err)
			}
		}
		foreign := store.LeaseOf(&got[3].Task)
		foreign.Worker = "other"
		if o, err := s.AttemptOutcome(ctx, foreign); o != "" || !errors.Is(err, pleat.ErrLost) {
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
	storetest.EachBounded(t, store.Bounds{HeldTasks: 10}, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		const tasks = 31
		u := storetest.User(t, s, "ada")
		for range tasks {
			create(t, s, u, "fold")
		}
		got := claim(t, s, "w", tasks)
		if len(got) != tasks {
			t.Fatalf("%d tasks", len(got))
		}
		var kept []store.Lease
		for i := range got {
			kept = append(kept, store.LeaseOf(&got[i].Task))
		}
		if n, err := s.ReleaseAll(t.Context(), "w", kept); n != 0 || err != nil {
			t.Errorf("%d of those that stay, %v", n, err)
		}
		if n, err := s.ReleaseAll(t.Context(), "w", nil); n != tasks || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
}
