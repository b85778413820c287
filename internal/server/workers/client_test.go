package workers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/workers"
	"pleat/internal/workerapi/workerapitest"
)

// revoke ends the tokens of a class.
func (f *fixture) revoke(class string) {
	f.t.Helper()
	if n, err := f.s.Workers.RevokeFleetTokens(f.t.Context(), workers.TokenWorker, class); err != nil || n == 0 {
		f.t.Fatalf("%d tokens revoked: %v", n, err)
	}
}

// A worker whose token is revoked drains, whichever of its calls is the first that is refused, and says why.
func TestRevokedWorkerDrains(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	c := f.worker(f.url)
	news := make(chan struct{}, 1)
	c.SubscribeTo(tasks.QueueTopic(storetest.FoldQueue), news)
	defer c.Unsubscribe(tasks.QueueTopic(storetest.FoldQueue), news)
	f.revoke("gpu")
	storetest.Eventually(t, "a heartbeat is refused", func() bool {
		l, err := c.Heartbeat(t.Context(), "", []pleat.Heartbeat{{Task: "x"}})
		return err == nil && l[0].Lost && c.Refused() != nil
	})
	if orders, err := c.WatchWorker(t.Context(), ""); err != nil || !orders.Drain {
		t.Errorf("the first watch after the refusal: %+v %v, want that the worker drains", orders, err)
	}
	want := "the server has ended the worker's session: its class token was revoked"
	if err := c.Refused(); err == nil || err.Error() != want {
		t.Errorf("refused: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if orders, err := c.WatchWorker(ctx, ""); !errors.Is(err, context.Canceled) || orders.Drain {
		t.Errorf("the second watch: %+v %v, want that it waits until its caller ends it", orders, err)
	}
}

// A task that came for a group without room goes back, even if the call that returns it is lost.
func TestReturnLost(t *testing.T) {
	t.Parallel()
	for _, fault := range []workerapitest.Fault{workerapitest.DropRequest, workerapitest.DropAnswer} {
		f := onSQLite(t)
		p := workerapitest.NewProxy(t, f.url)
		p.On("release", 1, fault)
		c := f.worker(p.URL)
		job := f.create(func(n *runs.NewJob) { n.Run.Memory = 100 })
		news := make(chan struct{}, 1)
		c.SubscribeTo(tasks.QueueTopic(storetest.FoldQueue), news)
		filter := tasks.ClaimFilter{Queues: []string{storetest.FoldQueue}, N: 1}
		if got, err := c.Claim(t.Context(), "", filter); err != nil || len(got) != 0 {
			t.Fatalf("%d tasks: %v", len(got), err)
		}
		<-news
		small := filter
		small.Memory = 1
		if got, err := c.Claim(t.Context(), "", small); err != nil || len(got) != 0 {
			t.Fatalf("%d tasks that do not fit: %v", len(got), err)
		}
		storetest.Eventually(t, "the return of the task", func() bool { return p.Calls("release") == 1 })
		if got := f.take(c, storetest.FoldQueue); got.Task.Run != job.Run || got.Task.Attempt < 2 {
			t.Errorf("fault %d: attempt %d at %s, want a later one at %s", fault, got.Task.Attempt, got.Task.Run,
				job.Run)
		}
		c.Unsubscribe(tasks.QueueTopic(storetest.FoldQueue), news)
	}
}

// A client forgets a task whose lease is lost, so that it does not count among those that it holds.
func TestLostTaskIsForgotten(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	p := workerapitest.NewProxy(t, f.url)
	c := f.worker(p.URL)
	f.create()
	k := f.take(c, storetest.FoldQueue).Task
	f.reap(lease + time.Second)
	if l, err := c.Heartbeat(t.Context(), "", []pleat.Heartbeat{{Task: k.ID, Attempt: 1}}); err != nil || !l[0].Lost {
		t.Fatalf("%+v %v", l, err)
	}
	if err := c.FinishRun(t.Context(), tasks.LeaseOf(&k), completed()); !errors.Is(err, pleat.ErrLost) {
		t.Errorf("%v, want that the lease is lost", err)
	}
	if n := p.Calls("finish"); n != 0 {
		t.Errorf("the server was asked %d times about a task that the client does not hold", n)
	}
}
