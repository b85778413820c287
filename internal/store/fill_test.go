package store_test

import (
	"context"
	"errors"
	"testing"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
)

// What Fill makes reads like what the verbs make.
func TestFill(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := user(t, s, "ada")
		if err := s.Fill(ctx, u, 21); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"job", "run", "task", "attempt", "artifact"} {
			if n := storetest.Count(t, s, table); n != 21 {
				t.Errorf("%s has %d rows", table, n)
			}
		}
		made := create(t, s, u, "newest")
		rows, err := s.ListJobs(ctx, u, store.Filter{Limit: 50})
		if err != nil || len(rows) != 12 || rows[0].ID != made.Job || rows[1].ID != store.FilledJob(20) {
			t.Fatalf("%d rows, %v: %+v", len(rows), err, rows)
		}
		v, err := s.View(ctx, store.FilledJob(20))
		if err != nil {
			t.Fatal(err)
		}
		if v.Job.Owner != u || !pleat.IsUUID(string(v.Job.ID)) || v.Run.State != pleat.StateCompleted || v.Run.Result.Predictions[0].MeanPLDDT == nil ||
			v.Run.Params.Model != "null" || len(v.Job.Sequences) != 1 || len(v.Artifacts) != 1 {
			t.Errorf("%+v", v)
		}
	})
}

// A caller that has gone gets nothing read, though single rows are read without watching it.
func TestReadOfAGoneCaller(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		made := create(t, s, user(t, s, "ada"), "one")
		ctx, gone := context.WithCancel(context.Background())
		if _, err := s.Head(ctx, made.Job, ""); err != nil {
			t.Fatal(err)
		}
		gone()
		if _, err := s.Head(ctx, made.Job, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("read for a caller that has gone: %v", err)
		}
	})
}
