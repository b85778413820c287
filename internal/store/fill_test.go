package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/webhooks"
)

// eachAddress runs fn on a fresh store of every database, with its address.
func eachAddress(t *testing.T, fn func(t *testing.T, s *store.Store, address string)) {
	for name, fresh := range storetest.Migrated() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := fresh(t)
			fn(t, storetest.OpenAt(t, address, nil), address)
		})
	}
}

// Rows of Fill read like those of the verbs.
func TestFill(t *testing.T) {
	t.Parallel()
	eachAddress(t, func(t *testing.T, s *store.Store, address string) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		if err := storetest.Fill(ctx, address, u.Project, 21); err != nil {
			t.Fatal(err)
		}
		if err := storetest.FillEvents(ctx, address, u.Project, 21); err != nil {
			t.Fatal(err)
		}
		for table, each := range map[string]int{
			"job": 1, "run": 1, "attempt": 2, "artifact": 1, "event": 1, "run_event": 2, "delivery": 1,
		} {
			if n := storetest.Count(t, s, table); n != 21*each {
				t.Errorf("%s has %d rows", table, n)
			}
		}
		sent, err := s.Webhooks.Deliveries(ctx, u, webhooks.DeliveryFilter{Limit: 50})
		if err != nil || len(sent) != 11 || sent[0].Status != pleat.DeliverySucceeded || sent[0].Attempts != 1 {
			t.Errorf("%v: %+v", err, sent)
		}
		progress, err := s.Runs.Progress(ctx, pleat.RunID(storetest.FilledJob(20)), 0, 10)
		if err != nil || len(progress) != 2 || progress[1].Seq != 2 || progress[1].State != pleat.StateCompleted {
			t.Errorf("%v: %+v", err, progress)
		}
		created := create(t, s, u, "newest")
		rows, err := s.Runs.ListJobs(ctx, u, runs.Filter{Limit: 50})
		if err != nil || len(rows) != 12 || rows[0].ID != created.Job || rows[1].ID != storetest.FilledJob(20) {
			t.Fatalf("%d rows, %v: %+v", len(rows), err, rows)
		}
		v, err := s.Runs.View(ctx, storetest.FilledJob(20))
		if err != nil {
			t.Fatal(err)
		}
		type filled struct {
			Owner                pleat.ProjectID
			Model                string
			State                pleat.State
			Sequences, Artifacts int
		}
		is := filled{v.Job.Owner, v.Run.Params.Model, v.Run.State, len(v.Job.Sequences), len(v.Artifacts)}
		want := filled{Owner: u.Project, Model: "null", State: pleat.StateCompleted, Sequences: 1, Artifacts: 1}
		if diff := cmp.Diff(want, is); diff != "" {
			t.Error(diff)
		}
		if !pleat.IsUUID(string(v.Job.ID)) || v.Run.Result.Predictions[0].MeanPLDDT == nil {
			t.Errorf("%+v", v)
		}
	})
}

// A caller that has gone gets nothing read, though single rows are read without watching it.
func TestReadOfAGoneCaller(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		created := create(t, s, people.Own(storetest.User(t, s, "ada").User), "one")
		ctx, gone := context.WithCancel(context.Background())
		if _, err := s.Runs.Head(ctx, created.Job, people.Credential{}); err != nil {
			t.Fatal(err)
		}
		gone()
		if _, err := s.Runs.Head(ctx, created.Job, people.Credential{}); !errors.Is(err, context.Canceled) {
			t.Errorf("read for a caller that has gone: %v", err)
		}
	})
}

// EndedView returns what View returns, whatever becomes of the job, and never an ended run without its files.
func TestEndedView(t *testing.T) {
	t.Parallel()
	eachAddress(t, func(t *testing.T, s *store.Store, address string) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		same := func(job pleat.JobID, state pleat.State, files int) {
			t.Helper()
			whole, err := s.Runs.View(ctx, job)
			got, two := s.Runs.EndedView(ctx, job)
			if err != nil || two != nil || got.Run.State != state || len(got.Artifacts) != files {
				t.Fatalf("%+v, %v, %v; it should be %s with %d files", got, err, two, state, files)
			}
			if diff := cmp.Diff(whole, got); diff != "" {
				t.Error(diff)
			}
		}
		created := create(t, s, u, "one")
		same(created.Job, pleat.StateInitialized, 0)
		claimed := claim(t, s, "w1", 1)
		same(created.Job, pleat.StateRunning, 0)
		if err := finish(s, claimed[0], pleat.StateCompleted); err != nil {
			t.Fatal(err)
		}
		same(created.Job, pleat.StateCompleted, 1)
		stopped := create(t, s, u, "two")
		if _, err := s.Runs.Cancel(ctx, u, stopped.Job); err != nil {
			t.Fatal(err)
		}
		same(stopped.Job, pleat.StateStopped, 0)
		if err := storetest.Fill(ctx, address, u.Project, 41); err != nil {
			t.Fatal(err)
		}
		for i := 0; i <= 40; i += 2 { // every second job is the user's
			job, deleted := storetest.FilledJob(i), make(chan error, 1)
			go func() { deleted <- s.Ops.DeleteJob(ctx, u, job) }()
			for over := false; !over; {
				select {
				case err := <-deleted:
					if over = true; err != nil {
						t.Fatal(err)
					}
				default:
				}
				v, err := s.Runs.EndedView(ctx, job)
				if missing := errors.Is(err, pleat.ErrJobNotFound); !missing &&
					(over || err != nil || len(v.Artifacts) != 1) {
					t.Fatalf("deleted %t: %+v, %v", over, v, err)
				}
			}
		}
	})
}
