package app

import (
	"math"
	"strings"
	"testing"

	"pleat"
	"pleat/api"
	"pleat/internal/config"
	"pleat/internal/engine/builtin"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// A request waits for PostgreSQL as often as it must: a creation reads what decides about it and commits, and a read of
// the results of a job that has ended asks who calls and which version of the job exists. The process asks for news at
// times too, so that the fewest round trips of several calls count.
//
//nolint:paralleltest // Serve takes secrets out of the environment
func TestRoundTripsOfRequests(t *testing.T) {
	address, ok := storetest.Migrated()["postgres"]
	if !ok {
		t.Skip("no PostgreSQL; see scripts/with-postgres")
	}
	ctx := t.Context()
	c := config.Default()
	c.Data, c.Addr, c.Work, c.Deliver = t.TempDir(), "127.0.0.1:0", false, false
	c.Database, c.SecretKey = address(t), strings.Repeat("0123456789abcdef", 4)
	s := startService(t, c)
	w := pleat.Worker{
		ID:     "w",
		Host:   "w",
		Queues: []string{pleat.Queue(pleat.TaskFold, "null")},
		Models: builtin.Null{}.Models(),
	}
	if err := s.Store.Workers.RegisterWorker(ctx, w); err != nil {
		t.Fatal(err)
	}
	ada := s.user("ada")
	const calls = 10 // the first ones read the key, the workers and the classes
	fewest := func(what string, most int64, do func() error) {
		t.Helper()
		n := int64(math.MaxInt64)
		for range calls {
			before := s.Store.DB.RoundTrips()
			if err := do(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			n = min(n, s.Store.DB.RoundTrips()-before)
		}
		if n < 1 || n > most {
			t.Errorf("%s took %d round trips, at most %d are allowed", what, n, most)
		}
	}
	var job string
	fewest("a creation", 2, func() error {
		created, err := ada.CreateJob(ctx, api.CreateJob{
			Name:      "one",
			Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: "MKVLA"}}},
			Params:    &api.Params{ModelName: "null"},
		}, api.CreateOptions{})
		job = created.JobID
		return err
	})
	taskList, err := s.Store.Runs.Claim(ctx, w.ID, tasks.ClaimFilter{Queues: w.Queues, N: calls})
	if err != nil || len(taskList) != calls {
		t.Fatalf("%d tasks, %v", len(taskList), err)
	}
	for i := range taskList {
		if err := s.Store.Runs.FinishRun(ctx, tasks.LeaseOf(&taskList[i].Task), storetest.Completed()); err != nil {
			t.Fatal(err)
		}
	}
	fewest("a read of results", 1, func() error {
		_, err := ada.Results(ctx, job)
		return err
	})
}
