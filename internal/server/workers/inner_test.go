package workers

import (
	"container/list"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/workers"
	"pleat/internal/workerapi"
)

// WaitingClaims returns how many claims wait, for the tests of the package's users.
func (g *Gateway) WaitingClaims() int {
	g.claims.mu.Lock()
	defer g.claims.mu.Unlock()
	return len(g.claims.waiters)
}

// eachDispatcher runs fn with a gateway that does not run yet, on each database at hand.
func eachDispatcher(t *testing.T, fn func(t *testing.T, g *Gateway, owner people.Reach)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		log := slog.New(slog.DiscardHandler)
		b, err := blob.Open(t.Context(), "dir:"+t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		ring, err := seal.Parse(strings.Repeat("01", 32))
		if err != nil {
			t.Fatal(err)
		}
		g := New(Config{Store: s, Blobs: blob.NewMonitor(b, log), Ring: ring, Log: log})
		fn(t, g, storetest.User(t, s, "ada"))
		g.EndWaits()
		g.claims.changed.Wait()
	})
}

// newWaiter is a worker that waits.
func newWaiter(worker string, idle bool) *waiter {
	return &waiter{
		worker: pleat.WorkerID(worker),
		idle:   idle,
		places: map[*profile]*list.Element{},
		got:    make(chan []runs.ClaimedTask, 1),
	}
}

// asks are the filters of asks for n tasks of each of some queues.
func asks(n int, queues ...string) (out []tasks.ClaimFilter) {
	for _, q := range queues {
		out = append(out, tasks.ClaimFilter{Queues: []string{q}, N: n})
	}
	return out
}

// createIn queues n folds.
func createIn(t *testing.T, s *store.Store, owner people.Reach, queue string, n int) {
	t.Helper()
	for range n {
		job := storetest.NewFold(owner, "j")
		job.Run.Queue, job.Run.Tries = queue, 1
		storetest.CreateJob(t, s, job)
	}
}

// running runs the dispatcher until the function that it returns is called.
func running(g *Gateway) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { g.Run(ctx) })
	return func() { cancel(); run.Wait() }
}

// A worker whose claim was answered may claim again before it took the answer: no task is lost, and nobody waits.
func TestClaimBehindAnAnswer(t *testing.T) {
	t.Parallel()
	eachDispatcher(t, func(t *testing.T, g *Gateway, owner people.Reach) {
		createIn(t, g.store, owner, storetest.FoldQueue, 1)
		first, second := newWaiter("w", false), newWaiter("w", false)
		g.claims.join(first, asks(1, storetest.FoldQueue))
		if err := g.claims.pass(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		g.claims.join(second, asks(1, storetest.FoldQueue))
		if got := g.claims.leave(first); len(got) != 1 {
			t.Errorf("the first claim got %d tasks", len(got))
		}
		if got := g.claims.leave(second); len(got) != 0 {
			t.Errorf("the second claim got %d tasks", len(got))
		}
	})
}

// Workers of several profiles that wait together get tasks that no other gets, of queues that they have asked for.
func TestWaitersGetDistinctTasks(t *testing.T) {
	t.Parallel()
	eachDispatcher(t, func(t *testing.T, g *Gateway, owner people.Reach) {
		createIn(t, g.store, owner, "fold/a", 8)
		createIn(t, g.store, owner, "fold/b", 8)
		queues := [][]tasks.ClaimFilter{
			asks(1, "fold/a"),
			asks(1, "fold/b"),
			{{Queues: []string{"fold/b", "fold/a"}, N: 1}},
		}
		var all []*waiter
		for i := range 12 {
			w := newWaiter(string(rune('A'+i)), i%2 == 0)
			g.claims.join(w, queues[i%3])
			all = append(all, w)
		}
		defer running(g)()
		seen := map[pleat.TaskID]bool{}
		for i, w := range all {
			got := <-w.got
			if len(got) != 1 || seen[got[0].Task.ID] || got[0].Task.Worker != w.worker {
				t.Fatalf("worker %d got %d tasks", i, len(got))
			}
			if q := got[0].Task.Queue; i%3 == 0 && q != "fold/a" || i%3 == 1 && q != "fold/b" {
				t.Errorf("worker %d got a task of %s", i, q)
			}
			seen[got[0].Task.ID] = true
		}
	})
}

// A worker that was idle before gets a task after those that were not, whoever came first.
func TestIdleWorkersAreLast(t *testing.T) {
	t.Parallel()
	for _, idleFirst := range []bool{true, false} {
		eachDispatcher(t, func(t *testing.T, g *Gateway, owner people.Reach) {
			createIn(t, g.store, owner, "fold/a", 1)
			idle, busy := newWaiter("idle", true), newWaiter("busy", false)
			order := []*waiter{idle, busy}
			if !idleFirst {
				order = []*waiter{busy, idle}
			}
			for _, w := range order {
				g.claims.join(w, asks(1, "fold/a"))
			}
			defer running(g)()
			if got := <-busy.got; len(got) != 1 {
				t.Errorf("the busy worker got %d tasks", len(got))
			}
			if got := g.claims.leave(idle); len(got) != 0 {
				t.Errorf("the idle worker got %d tasks", len(got))
			}
		})
	}
}

// A worker with two asks gets tasks of one of them, and no more than it has asked for.
func TestTwoAsksOfOneWorker(t *testing.T) {
	t.Parallel()
	eachDispatcher(t, func(t *testing.T, g *Gateway, owner people.Reach) {
		createIn(t, g.store, owner, "fold/a", 3)
		createIn(t, g.store, owner, "fold/b", 3)
		w := newWaiter("w", false)
		g.claims.join(w, asks(2, "fold/a", "fold/b"))
		defer running(g)()
		got := <-w.got
		if len(got) != 2 || got[0].Task.Queue != got[1].Task.Queue {
			t.Errorf("got %d tasks: %v", len(got), got)
		}
		if got := g.claims.leave(w); len(got) != 0 {
			t.Errorf("got %d more tasks", len(got))
		}
	})
}

// When nobody waits any more, nothing is left of what was waited for.
func TestNothingIsLeftOfWaiters(t *testing.T) {
	t.Parallel()
	eachDispatcher(t, func(t *testing.T, g *Gateway, _ people.Reach) {
		var all []*waiter
		for range 5 {
			w := newWaiter("w", true)
			g.claims.join(w, asks(1, "fold/a", "fold/b"))
			all = append(all, w)
		}
		if !g.store.DB.Subscribed(tasks.QueueTopic("fold/a")) {
			t.Error("nobody listens for tasks")
		}
		for _, w := range all {
			g.claims.leave(w)
		}
		g.claims.changed.Wait()
		if n, m := len(g.claims.profiles), len(g.claims.queues); n+m > 0 {
			t.Errorf("%d profiles and %d queues are left", n, m)
		}
		if g.store.DB.Subscribed(tasks.QueueTopic("fold/a")) {
			t.Error("a subscription is left")
		}
	})
}

// A worker that leaves while tasks are claimed for it returns them.
func TestLeavingDuringClaim(t *testing.T) {
	t.Parallel()
	eachDispatcher(t, func(t *testing.T, g *Gateway, owner people.Reach) {
		defer running(g)()
		for range 30 {
			w := newWaiter("leaving", false)
			g.claims.join(w, asks(1, "fold/a"))
			var leaving sync.WaitGroup
			leaving.Go(func() { g.giveBack(g.claims.leave(w)) })
			createIn(t, g.store, owner, "fold/a", 1)
			leaving.Wait()
			next := newWaiter("next", false)
			g.claims.join(next, asks(1, "fold/a"))
			k := (<-next.got)[0].Task
			if k.Tries != 0 || k.Worker != "next" {
				t.Fatalf("%d tries are spent of a task that %s has", k.Tries, k.Worker)
			}
			if err := g.store.Runs.FinishRun(t.Context(), tasks.LeaseOf(&k), storetest.Completed()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// News that comes while tasks are claimed for the only worker of a profile is not lost, even if another worker comes
// and goes meanwhile.
func TestNewsDuringClaim(t *testing.T) {
	t.Parallel()
	eachDispatcher(t, func(t *testing.T, g *Gateway, owner people.Reach) {
		d, w := &g.claims, newWaiter("w", false)
		d.join(w, asks(1, "fold/a"))
		var p *profile
		for _, p = range d.profiles {
		}
		batch, _ := d.takeWaiting(p)
		<-d.wake
		other := newWaiter("other", false)
		d.join(other, asks(1, "fold/a"))
		d.leave(other)
		<-d.wake
		createIn(t, g.store, owner, "fold/a", 1) // the claim under way does not see it
		d.mu.Lock()
		for _, b := range batch {
			b.taken = false
			d.putBack(b)
		}
		d.mu.Unlock()
		defer running(g)()
		if got := <-w.got; len(got) != 1 {
			t.Errorf("got %d tasks", len(got))
		}
	})
}

// A claim whose request has ended is not answered as one of a worker whose token is revoked: a proxy could pass that
// on, and the worker would end.
func TestEndedClaimIsNotRefused(t *testing.T) {
	t.Parallel()
	eachDispatcher(t, func(t *testing.T, g *Gateway, _ people.Reach) {
		token := seal.NewFleetToken()
		if err := g.store.Workers.CreateFleetToken(t.Context(), workers.FleetToken{
			Kind: workers.TokenWorker, Class: "a", Hash: seal.HashKey(token),
		}); err != nil {
			t.Fatal(err)
		}
		session := g.sessionToken(caller{Worker: "w", Class: "a", Token: seal.HashKey(token)}, sessionLife)
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, "POST", workerapi.Path+"claim", strings.NewReader(`{"wait_s":50}`))
		r.Header.Set("Authorization", "Bearer "+session)
		r.Body = endingBody{r.Body, cancel}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code == http.StatusUnauthorized {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// endingBody is a body whose request ends when it was read.
type endingBody struct {
	io.ReadCloser
	end func()
}

func (b endingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}
