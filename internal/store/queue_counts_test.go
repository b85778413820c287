package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
)

// Tasks are counted by queue and state, with the age of the oldest; the queues of all endpoints count as one.
func TestQueueCounts(t *testing.T) {
	t.Parallel()
	eachAddress(t, func(t *testing.T, s *store.Store, address string) {
		ctx := t.Context()
		u := storetest.User(t, s, "ada")
		created := create(t, s, u, "first")
		for range 2 {
			create(t, s, u, "fold")
		}
		simulate(t, s, u, 2)
		running := claim(t, s, "w", 1)[0]
		waiting := storetest.Claim(t, s, "w", simulationQueue)
		if err := s.Runs.Release(ctx, tasks.LeaseOf(&waiting.Task), time.Hour, nil); err != nil {
			t.Fatal(err)
		}
		for i, id := range []pleat.EndpointID{
			"01800000-0000-7000-8000-00000000000a", "f1800000-0000-7000-8000-00000000000f",
		} {
			e := webhooks.Endpoint{ID: id, Owner: u.Project}
			if err := storetest.FillDeliveries(ctx, address, e, created.Job, created.Run, 10*i, 3); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Tasks.QueueCounts(ctx)
		if err != nil {
			t.Fatal(err)
		}
		type queue struct {
			name  string
			state pleat.TaskState
		}
		counts := map[queue]int{}
		for _, c := range got {
			counts[queue{c.Queue, c.State}] += c.N
			if c.State == pleat.TaskRunning && !c.Oldest.Equal(running.Task.Created) || c.Oldest.IsZero() {
				t.Errorf("the oldest task of %s is of %v", c.Queue, c.Oldest)
			}
		}
		want := map[queue]int{
			{storetest.FoldQueue, pleat.TaskQueued}:  2,
			{storetest.FoldQueue, pleat.TaskRunning}: 1,
			{simulationQueue, pleat.TaskQueued}:      1,
			{simulationQueue, pleat.TaskWaiting}:     1,
			{"deliver", pleat.TaskQueued}:            6,
		}
		if d := cmp.Diff(want, counts, cmp.AllowUnexported(queue{})); d != "" || len(got) != len(want) {
			t.Error(d)
		}
	})
}
