package store_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/workers"
)

// demandToken is the i-th token that reads the demand.
func demandToken(i int) workers.FleetToken {
	return workers.FleetToken{Kind: workers.TokenDemand, Hash: fmt.Sprint("hash", i)}
}

// workerToken makes a token of a class.
func workerToken(t *testing.T, s *store.Store, class, hash string) {
	t.Helper()
	token := workers.FleetToken{Kind: workers.TokenWorker, Class: class, Hash: hash}
	if err := s.Workers.CreateFleetToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
}

// Tokens of the fleet are bounded, have a kind, and end together.
func TestFleetTokens(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := t.Context()
		has := func(kind workers.FleetTokenKind, hash string) bool {
			t.Helper()
			ok, err := s.Workers.HasFleetToken(ctx, kind, hash)
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		created := 0
		for ; created < 1000; created++ {
			if err := s.Workers.CreateFleetToken(ctx, demandToken(created)); err != nil {
				if pleat.CodeOf(err) != pleat.CodeConflict {
					t.Fatal(err)
				}
				break
			}
		}
		if created != 100 || !has(workers.TokenDemand, "hash0") || !has(workers.TokenDemand, "hash99") {
			t.Errorf("%d tokens", created)
		}
		if has(workers.TokenDemand, "other") || has("class", "hash0") {
			t.Error("a token is valid that was not made")
		}
		workerToken(t, s, "gpu", "of the class") // the bound is that of a kind and class
		got, err := s.Workers.FleetTokens(ctx, workers.TokenWorker)
		if err != nil || len(got) != 1 || got["of the class"] != "gpu" {
			t.Errorf("%v, %v", got, err)
		}
		if n, err := s.Workers.RevokeFleetTokens(ctx, workers.TokenDemand, ""); n != created || err != nil {
			t.Errorf("%d revoked, %v", n, err)
		}
		if has(workers.TokenDemand, "hash0") {
			t.Error("a revoked token is valid")
		}
		if !has(workers.TokenWorker, "of the class") {
			t.Error("a token of another kind was revoked")
		}
	})
}

// A worker with a token does not take the identity of a worker of another class, or of one with the database's address.
func TestRegisterWithAToken(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := t.Context()
		one := func(id pleat.WorkerID, class, token string) pleat.Worker {
			return pleat.Worker{ID: id, Class: class, Token: token}
		}
		create(t, s, people.Own(storetest.User(t, s, "ada").User), "fold")
		for _, w := range []pleat.Worker{one("db", "gpu", ""), one("cpu", "cpu", "c"), one("gpu", "gpu", "g")} {
			if err := s.Workers.RegisterWorker(ctx, w); err != nil {
				t.Fatal(err)
			}
		}
		claim(t, s, "db", 1)
		before := storetest.Tables(t, s)
		for _, w := range []pleat.Worker{one("db", "gpu", "g"), one("cpu", "gpu", "g")} {
			if err := s.Workers.RegisterWorker(ctx, w); pleat.CodeOf(err) != pleat.CodeConflict {
				t.Errorf("%s was registered with another's token: %v", w.ID, err)
			}
		}
		if d := cmp.Diff(before, storetest.Tables(t, s)); d != "" {
			t.Error(d)
		}
		for _, w := range []pleat.Worker{
			one("gpu", "gpu", "renewed"), one("new", "gpu", "renewed"), one("cpu", "gpu", ""),
		} {
			if err := s.Workers.RegisterWorker(ctx, w); err != nil {
				t.Errorf("%+v: %v", w, err)
			}
		}
		workers, err := s.Workers.Workers(ctx)
		tokens := map[pleat.WorkerID]string{}
		for i := range workers {
			tokens[workers[i].ID] = workers[i].Token
		}
		want := map[pleat.WorkerID]string{"db": "", "cpu": "", "gpu": "renewed", "new": "renewed"}
		if d := cmp.Diff(want, tokens); d != "" || err != nil {
			t.Error(d, err)
		}
	})
}

// workerStates are the states of all workers.
func workerStates(t *testing.T, s *store.Store) map[pleat.WorkerID]pleat.WorkerState {
	t.Helper()
	workers, err := s.Workers.Workers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[pleat.WorkerID]pleat.WorkerState{}
	for i := range workers {
		out[workers[i].ID] = workers[i].State(s.DB.Now())
	}
	return out
}

// The end of a class's tokens ends its workers that registered with them: their tasks wait again, or have stopped if
// they were cancelled, and no try is spent. Nobody else's are touched.
func TestRevokedTokensStopWorkers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := t.Context()
		u := storetest.User(t, s, "ada")
		workerToken(t, s, "gpu", "g1")
		workerToken(t, s, "gpu", "g2")
		workerToken(t, s, "cpu", "c1")
		for _, w := range []pleat.Worker{
			{ID: "a", Class: "gpu", Token: "g1"},
			{ID: "b", Class: "gpu", Token: "g2"},
			{ID: "cpu", Class: "cpu", Token: "c1"},
			{ID: "db", Class: "gpu"},
		} {
			if err := s.Workers.RegisterWorker(ctx, w); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 {
			create(t, s, u, fmt.Sprint(i))
		}
		got := claimFor(t, s, tasks.ClaimFilter{}, "a", "b", "cpu", "db", "b")
		if _, err := s.Runs.Cancel(ctx, u, got[4].Fold.Job); err != nil {
			t.Fatal(err)
		}
		if s.DB.Postgres() { // the listener wakes everybody when it begins
			storetest.Eventually(t, "the store listens", s.DB.Notified)
		}
		news, quiet := make(chan struct{}, 1), make(chan struct{}, 1)
		s.DB.SubscribeTo(tasks.WorkerTopic("b"), news)
		s.DB.SubscribeTo(tasks.WorkerTopic("db"), quiet)
		if n, err := s.Workers.RevokeFleetTokens(ctx, workers.TokenWorker, "gpu"); n != 2 || err != nil {
			t.Fatalf("%d revoked, %v", n, err)
		}
		if len(news) != 1 || len(quiet) != 0 {
			t.Errorf("%d tokens, %d for a worker that goes on", len(news), len(quiet))
		}
		if d := cmp.Diff(map[pleat.WorkerID]pleat.WorkerState{
			"a":   pleat.WorkerStopped,
			"b":   pleat.WorkerStopped,
			"cpu": pleat.WorkerLive,
			"db":  pleat.WorkerLive,
		}, workerStates(t, s)); d != "" {
			t.Error(d)
		}
		for i, want := range []string{tasks.OutcomeReleased, tasks.OutcomeReleased, "", "", tasks.OutcomeStopped} {
			if o, err := s.Runs.AttemptOutcome(ctx, tasks.LeaseOf(&got[i].Task)); o != want || err != nil {
				t.Errorf("attempt %d ended %q, %v", i, o, err)
			}
		}
		again := claim(t, s, "cpu", 9)
		if len(again) != 2 || again[0].Task.Tries != 0 || again[0].Fold.Name != "0" || again[1].Fold.Name != "1" {
			t.Errorf("%+v", again)
		}
		if v, err := s.Runs.View(ctx, got[4].Fold.Job); err != nil || v.Job.State != pleat.StateStopped {
			t.Errorf("the cancelled job is %s, %v", v.Job.State, err)
		}
		if left, err := s.Workers.FleetTokens(ctx, workers.TokenWorker); err != nil || len(left) != 1 ||
			left["c1"] != "cpu" {
			t.Errorf("%v, %v", left, err)
		}
	})
}
