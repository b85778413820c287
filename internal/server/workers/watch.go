package workers

import (
	"context"
	"slices"
	"sync"
	"time"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/queue"
	"pleat/internal/store/tasks"
	"pleat/internal/workerapi"
)

// subscriptions are those to the orders of workers. They last between a worker's calls, so that no order is missed.
type subscriptions struct {
	mu       sync.Mutex
	byWorker map[pleat.WorkerID]*subscription
}

// subscription is that of one worker.
type subscription struct {
	news chan struct{}   // of the worker's topic
	idle clock.Stopwatch // since the worker called last
}

// subscriptionLife is how long the subscription of a worker is kept that does not call.
const subscriptionLife = 2 * time.Minute

// subscription returns that of a worker, which it makes on the first call: its news then has a token, since orders may
// have come before.
func (g *Gateway) subscription(id pleat.WorkerID) *subscription {
	g.subscriptions.mu.Lock()
	defer g.subscriptions.mu.Unlock()
	s := g.subscriptions.byWorker[id]
	if s == nil {
		s = &subscription{news: make(chan struct{}, 1)}
		g.subscriptions.byWorker[id] = s
		g.store.DB.SubscribeTo(tasks.WorkerTopic(id), s.news)
		queue.Wake(s.news)
	}
	s.idle = clock.Start()
	return s
}

// endSubscriptions ends those of workers that do not call any more, until ctx ends.
func (g *Gateway) endSubscriptions(ctx context.Context) {
	for queue.Sleep(ctx, subscriptionLife/2) {
		g.subscriptions.mu.Lock()
		for id, s := range g.subscriptions.byWorker {
			if s.idle.Elapsed() > subscriptionLife {
				g.store.DB.Unsubscribe(tasks.WorkerTopic(id), s.news)
				delete(g.subscriptions.byWorker, id)
			}
		}
		g.subscriptions.mu.Unlock()
	}
}

// watch is POST watch: it marks the worker as alive, and waits for orders that the worker does not know.
func (g *Gateway) watch(ctx context.Context, c *caller, in *workerapi.Watch) (workerapi.Orders, error) {
	out := workerapi.Orders{Cancel: in.Cancelled}
	if c.Renewed && time.Unix(c.Expires, 0).Sub(g.store.DB.Now()) < sessionLife/2 {
		out.Session = g.sessionToken(*c, sessionLife)
	}
	news := g.subscription(c.Worker).news
	wait := min(max(in.Wait.Duration(), 0), workerapi.MaxWait)
	for watch := clock.Start(); ; {
		reply, err := g.renewLeases(ctx, c.Worker, nil)
		if err != nil {
			return out, err
		}
		if !reply.Registered {
			return out, errUnknownWorker
		}
		if out.Drain = reply.Drain; out.Drain && !in.Draining {
			return out, nil
		}
		_, got := until(ctx, g, workerapi.SecondsOf(wait-watch.Elapsed()), news)
		if g.stopping() {
			return out, errStopping
		}
		if !got {
			return out, nil
		}
		if _, err := g.authenticate(ctx, c, 0); err != nil {
			return out, err
		}
		if out.Cancel, err = g.store.Runs.CancelledTasks(ctx, c.Worker); err != nil {
			queue.Wake(news)
			return out, err
		}
		unseen := func(id pleat.TaskID) bool { return !slices.Contains(in.Cancelled, id) }
		if slices.ContainsFunc(out.Cancel, unseen) {
			queue.Wake(news) // if this answer is lost, the next watch looks again
			return out, nil
		}
	}
}
