package store_test

import (
	"context"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
)

// The table task holds the queues alone: whichever way a task ends, its row goes with the transaction that ends it, and
// its attempts stay with their run or delivery.
func TestEndedTasksAreDeleted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		endpoint := defaultEndpoint(t, s, u, true)
		create := func(name string) pleat.JobID {
			n := newJob(u, name)
			n.Subs = []pleat.Subscription{toEndpoint(endpoint)}
			return storetest.CreateJob(t, s, n).Job
		}
		attempts := 0
		expire := func() {
			clock.Advance(pleat.LeaseDuration + time.Second)
			if _, err := s.Runs.Reap(ctx, s.DB.Now()); err != nil {
				t.Fatal(err)
			}
		}
		end := func(state pleat.State) {
			t.Helper()
			create(string(state))
			if err := finish(s, claim(t, s, "w", 1)[0], state); err != nil {
				t.Fatal(err)
			}
			attempts++
		}
		for _, c := range []struct {
			name string
			end  func()
		}{
			{"completed", func() { end(pleat.StateCompleted) }},
			{"failed", func() { end(pleat.StateFailed) }},
			{"stopped while it waits", func() {
				if _, err := s.Runs.Cancel(ctx, u, create("waits")); err != nil {
					t.Fatal(err)
				}
			}},
			{"stopped, and its worker gone", func() {
				job := create("runs")
				claim(t, s, "w", 1)
				attempts++
				if _, err := s.Runs.Cancel(ctx, u, job); err != nil {
					t.Fatal(err)
				}
				expire()
			}},
			{"lost at every try", func() {
				create("kills")
				for range tasks.DefaultTries {
					claim(t, s, "w", 1)
					attempts++
					expire()
				}
			}},
		} {
			c.end()
			for _, d := range claimDeliveries(t, s, "d", 10) {
				finishDelivery(
					t,
					s,
					"d",
					webhooks.DeliveryOutcome{Claimed: d, OK: d.Delivery.EventName == "on_complete"},
				)
				attempts++
			}
			if n := storetest.Count(t, s, "task"); n != 0 {
				t.Errorf("%s: %d tasks are left", c.name, n)
			}
		}
		if n := storetest.Count(t, s, "attempt"); n != attempts {
			t.Errorf("%d attempts are kept of %d", n, attempts)
		}
		sent := deliveries(t, s, u, webhooks.DeliveryFilter{})
		if len(sent) != 5 {
			t.Errorf("%d deliveries", len(sent))
		}
		for _, d := range sent {
			_, tries, err := s.Webhooks.Delivery(ctx, u, d.ID)
			if err != nil || len(tries) != 1 {
				t.Errorf("delivery %s: %+v %v", d.ID, tries, err)
			}
		}
	})
}
