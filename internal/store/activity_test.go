package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/ops"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
)

func TestGlance(t *testing.T) {
	t.Parallel()
	eachAddress(t, func(t *testing.T, s *store.Store, address string) {
		ctx := t.Context()
		u := storetest.User(t, s, "ada")
		created := create(t, s, u, "first")
		ended := claim(t, s, "w", 1)[0]
		if err := finish(s, ended, pleat.StateCompleted); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			create(t, s, u, "fold")
		}
		running := claim(t, s, "w", 1)[0]
		failed := claim(t, s, "w", 1)[0]
		if err := finish(s, failed, pleat.StateFailed); err != nil {
			t.Fatal(err)
		}
		e := webhooks.Endpoint{ID: "01800000-0000-7000-8000-00000000000a", Owner: u.Project}
		const deliveries = ops.ActivityCounted + 7
		if err := storetest.FillDeliveries(ctx, address, e, created.Job, created.Run, 0, deliveries); err != nil {
			t.Fatal(err)
		}
		before := s.DB.RoundTrips()
		got, err := s.Ops.Activity(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n := s.DB.RoundTrips() - before; n > 4 {
			t.Errorf("a glance takes %d statements", n)
		}
		for i := range got.Queues {
			if got.Queues[i].Oldest.IsZero() {
				t.Errorf("%+v has no age", got.Queues[i])
			}
			got.Queues[i].Oldest = time.Time{}
		}
		slices.SortFunc(got.Queues, func(a, b tasks.QueueCount) int {
			return strings.Compare(a.Queue+string(a.State), b.Queue+string(b.State))
		})
		if len(got.Running) == 1 {
			if got.Running[0].Began.IsZero() {
				t.Error("an attempt has no beginning")
			}
			got.Running[0].Began = time.Time{}
		}
		got.At = time.Time{}
		want := ops.Activity{
			Queues: []tasks.QueueCount{
				{Queue: "deliver", State: pleat.TaskQueued, N: ops.ActivityCounted},
				{Queue: storetest.FoldQueue, State: pleat.TaskQueued, N: 1},
				{Queue: storetest.FoldQueue, State: pleat.TaskRunning, N: 1},
			},
			Running: []ops.RunningTask{{
				Task:    running.Task.ID,
				Kind:    pleat.TaskFold,
				Queue:   storetest.FoldQueue,
				Run:     running.Task.Run,
				Source:  pleat.Source{Job: running.Fold.Job},
				Project: u.Project,
				Owner:   "ada",
				Worker:  "w",
				Model:   "null",
				Attempt: 1,
			}},
			Rates: ops.Rates{Created: 4, Completed: 1, Failed: 1},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}
