package store_test

import (
	"context"
	"testing"

	"pleat"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
)

// A verb waits for PostgreSQL as often as it has steps that depend on one another, not once for each statement: between
// a server and its database may be a network.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	address, ok := storetest.Migrated()["postgres"]
	if !ok {
		t.Skip("no PostgreSQL; see scripts/with-postgres")
	}
	ctx := context.Background()
	s := storetest.OpenAt(t, address(t), &storetest.Clock{})
	u := storetest.User(t, s, "ada")
	newKey(t, s, u, "k")
	addEndpoint(t, s, u, "named")
	register(t, s, "w")
	var keyed runs.NewJob
	var taskList []runs.ClaimedTask
	claim := tasks.ClaimFilter{Queues: []string{storetest.FoldQueue, "other"}, N: 8}
	for _, c := range []struct {
		name string
		most int64
		do   func() error
	}{
		{"create a job", 2, func() error {
			n := storetest.NewFold(u, "one")
			n.By = key("k")
			to := &pleat.CustomTarget{Address: storetest.Receiver("https://receiver.example.org")}
			n.Subs = []pleat.Subscription{{Destination: pleat.DestCustom, Custom: to}}
			_, err := s.Runs.CreateJob(ctx, n)
			return err
		}},
		{"create a job with an idempotency key", 2, func() error {
			keyed = storetest.NewFold(u, "two")
			keyed.Key, keyed.Digest = "key", "digest"
			_, err := s.Runs.CreateJob(ctx, keyed)
			return err
		}},
		{"repeat the creation of a job", 2, func() error {
			c, err := s.Runs.CreateJob(ctx, keyed)
			if !c.Replayed {
				t.Error("a job was created twice")
			}
			return err
		}},
		{"claim a group", 1, func() (err error) {
			taskList, err = s.Runs.Claim(ctx, "w", claim)
			if len(taskList) != 2 {
				t.Errorf("%d tasks", len(taskList))
			}
			return err
		}},
		{"renew all leases of a worker", 1, func() error {
			var beats []pleat.Heartbeat
			for i := range taskList {
				beats = append(beats, pleat.Heartbeat{
					Task:     taskList[i].Task.ID,
					Attempt:  taskList[i].Task.Attempt,
					Progress: []pleat.Progress{{Kind: pleat.ProgressStage, Stage: "infer", Done: 1, Total: 2}},
				})
			}
			replies, err := s.Runs.Heartbeat(ctx, "w", beats)
			for _, r := range replies {
				if r.Lost {
					t.Error("a lease is lost")
				}
			}
			return err
		}},
		{"finish", 2, func() error {
			f := storetest.Completed()
			f.Progress = []pleat.Progress{{Kind: pleat.ProgressLog, Line: "done"}}
			return s.Runs.FinishRun(ctx, tasks.LeaseOf(&taskList[0].Task), f)
		}},
		{"configure the webhook", 7, func() error {
			enabled := true
			_, err := s.Webhooks.PutEndpoint(ctx, people.Actor{Reach: u}, webhooks.EndpointSettings{
				Address:          new(storetest.Receiver("https://receiver.example.org")),
				Token:            new("sealed"),
				EnabledByDefault: &enabled,
			})
			return err
		}},
	} {
		before := s.DB.RoundTrips()
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if n := s.DB.RoundTrips() - before; n > c.most || n < 1 {
			t.Errorf("%s took %d round trips, at most %d are allowed", c.name, n, c.most)
		}
	}
}
