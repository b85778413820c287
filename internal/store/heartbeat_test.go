package store_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// beatsOf are the heartbeats of the tasks of one worker.
func beatsOf(w pleat.WorkerID, list []runs.ClaimedTask) runs.WorkerHeartbeat {
	out := runs.WorkerHeartbeat{Worker: w}
	for i := range list {
		if k := &list[i].Task; k.Worker == w {
			out.Beats = append(out.Beats, pleat.Heartbeat{Task: k.ID, Attempt: k.Attempt, Run: k.Run})
		}
	}
	return out
}

// logLines are the lines of a run's log.
func logLines(t *testing.T, s *store.Store, run pleat.RunID) (out []string) {
	t.Helper()
	all, err := s.Runs.Progress(t.Context(), run, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Kind == pleat.ProgressLog {
			out = append(out, p.Line)
		}
	}
	return out
}

// One call renews the leases of many workers, and tells each what became of its tasks and of itself.
func TestHeartbeatsOfManyWorkers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := t.Context()
		u := storetest.User(t, s, "ada")
		for i := range 4 {
			create(t, s, u, fmt.Sprint(i))
		}
		for _, id := range []pleat.WorkerID{"a", "b", "idle"} {
			register(t, s, id)
		}
		if err := s.Workers.DrainWorker(ctx, "b"); err != nil {
			t.Fatal(err)
		}
		got := claimFor(t, s, tasks.ClaimFilter{Lease: time.Minute}, "b", "a", "b", "gone")
		if _, err := s.Runs.Cancel(ctx, u, got[0].Fold.Job); err != nil {
			t.Fatal(err)
		}
		clock.Advance(40 * time.Second)
		list := []runs.WorkerHeartbeat{beatsOf("b", got), {Worker: "idle"}, beatsOf("a", got), beatsOf("gone", got)}
		foreign := list[2].Beats[0] // a's task, as if gone held it
		foreign.Progress = []pleat.Progress{{Kind: pleat.ProgressLog, Line: "not mine"}}
		list[3].Beats = append(list[3].Beats, foreign)
		list[2].Beats[0].Progress = []pleat.Progress{{Kind: pleat.ProgressLog, Line: "mine"}}
		list[2].Beats[0].Run = got[3].Task.Run // another worker's
		replies, err := s.Runs.Heartbeats(ctx, time.Minute, list)
		if err != nil {
			t.Fatal(err)
		}
		want := []runs.WorkerReply{
			{
				Replies: []pleat.HeartbeatReply{
					{Task: got[0].Task.ID, Run: got[0].Task.Run, Cancel: true},
					{Task: got[2].Task.ID, Run: got[2].Task.Run},
				},
				Drain:      true,
				Registered: true,
			},
			{Registered: true},
			{Replies: []pleat.HeartbeatReply{{Task: got[1].Task.ID, Run: got[1].Task.Run}}, Registered: true},
			{Replies: []pleat.HeartbeatReply{
				{Task: got[3].Task.ID, Run: got[3].Task.Run},
				{Task: got[1].Task.ID, Lost: true},
			}},
		}
		if d := cmp.Diff(want, replies); d != "" {
			t.Error(d)
		}
		own, other := logLines(t, s, got[1].Task.Run), logLines(t, s, got[3].Task.Run)
		if !slices.Equal(own, []string{"mine"}) || other != nil {
			t.Errorf("the log of the task is %q, that of the other %q", own, other)
		}
		workers, err := s.Workers.Workers(ctx)
		if err != nil || len(workers) != 3 || s.DB.Now().Sub(workers[2].SeenAt) > 20*time.Second {
			t.Errorf("%+v, %v", workers, err)
		}
		clock.Advance(40 * time.Second)
		if r, err := s.Runs.Reap(ctx, s.DB.Now()); err != nil || r != (runs.Reaped{}) {
			t.Errorf("leases have expired that were renewed: %+v, %v", r, err)
		}
	})
}

// Batches with the same tasks and workers, in different orders, do not wait for each other for ever.
func TestConcurrentHeartbeats(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		const workers, perWorker, rounds = 20, 8, 5
		u := storetest.User(t, s, "ada")
		var ids []pleat.WorkerID
		for i := range workers {
			ids = append(ids, pleat.WorkerID(fmt.Sprint("w", i)))
			register(t, s, ids[i])
		}
		for range workers * perWorker {
			create(t, s, u, "fold")
		}
		got := claimFor(t, s, tasks.ClaimFilter{}, slices.Repeat(ids, perWorker)...)
		var list []runs.WorkerHeartbeat
		for _, id := range ids {
			h := beatsOf(id, got)
			h.Beats[0].Progress = []pleat.Progress{{Kind: pleat.ProgressLog, Line: "line"}}
			list = append(list, h)
		}
		reversed := slices.Clone(list)
		slices.Reverse(reversed)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				batch := [][]runs.WorkerHeartbeat{list, reversed}[i%2]
				for range rounds {
					replies, err := s.Runs.Heartbeats(t.Context(), pleat.LeaseDuration, batch)
					if err != nil {
						t.Error(err)
						return
					}
					for _, r := range replies {
						if !r.Registered || len(r.Replies) != perWorker || r.Replies[0].Lost {
							t.Errorf("%+v", r)
						}
					}
				}
			})
		}
		wg.Wait()
		events, err := s.Runs.Progress(t.Context(), got[0].Task.Run, 0, 100)
		if err != nil || len(events) != 1+4*rounds {
			t.Errorf("%d events, %v", len(events), err)
		}
	})
}

// A server that starts after all servers were away lets the workers that call servers renew their leases. Workers with
// the database could have done so, and lose theirs.
func TestExtendLeases(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := t.Context()
		u := storetest.User(t, s, "ada")
		for i := range 3 {
			create(t, s, u, fmt.Sprint(i))
		}
		register(t, s, "own")
		for _, id := range []pleat.WorkerID{"calls", "gone"} {
			if err := s.Workers.RegisterWorker(ctx, pleat.Worker{ID: id, Host: "test", Token: "token"}); err != nil {
				t.Fatal(err)
			}
		}
		got := claimFor(t, s, tasks.ClaimFilter{Lease: time.Minute}, "own", "calls", "gone")
		if len(got) != 3 {
			t.Fatalf("%d claims", len(got))
		}
		clock.Advance(time.Hour)
		if err := s.Runs.ExtendLeases(ctx, 30*time.Second); err != nil {
			t.Fatal(err)
		}
		reap := func(want int) {
			t.Helper()
			if r, err := s.Runs.Reap(ctx, s.DB.Now()); err != nil || r.Requeued != want {
				t.Errorf("%+v %v, want %d leases expired", r, err, want)
			}
		}
		reap(1)
		clock.Advance(20 * time.Second)
		beats := []runs.WorkerHeartbeat{beatsOf("calls", got)}
		if replies, err := s.Runs.Heartbeats(ctx, time.Minute, beats); err != nil || replies[0].Replies[0].Lost {
			t.Errorf("%+v %v", replies, err)
		}
		clock.Advance(20 * time.Second)
		reap(1)

		// While servers answer, one that starts changes nothing.
		got = claimFor(t, s, tasks.ClaimFilter{Lease: time.Second, N: 1}, "gone")
		if _, err := s.Runs.Heartbeats(ctx, time.Minute, []runs.WorkerHeartbeat{{Worker: "calls"}}); err != nil {
			t.Fatal(err)
		}
		if err := s.Runs.ExtendLeases(ctx, 30*time.Second); err != nil {
			t.Fatal(err)
		}
		clock.Advance(2 * time.Second)
		reap(len(got))
	})
}
