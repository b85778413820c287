package workers

import (
	"context"
	"slices"
	"sync"
	"time"

	"pleat"
	"pleat/internal/queue"
	"pleat/internal/store"
	"pleat/internal/workerapi"
)

// members are the workers whose orders this server listens for, between their calls too, so that no order is missed.
type members struct {
	mu   sync.Mutex
	list map[pleat.WorkerID]*member
}

// member is one of them.
type member struct {
	news chan struct{} // of the worker's topic
	seen time.Time
}

// memberLife is how long a member is kept that does not call.
const memberLife = 2 * time.Minute

// member returns the member of a worker, which it makes on the first call: its news then has a token, since orders may
// have come before.
func (g *Gateway) member(id pleat.WorkerID) *member {
	g.members.mu.Lock()
	defer g.members.mu.Unlock()
	m := g.members.list[id]
	if m == nil {
		m = &member{news: make(chan struct{}, 1)}
		g.members.list[id] = m
		g.store.SubscribeTo(store.WorkerTopic(id), m.news)
		queue.Wake(m.news)
	}
	m.seen = time.Now()
	return m
}

// forgetMembers forgets workers that do not call any more, until ctx ends.
func (g *Gateway) forgetMembers(ctx context.Context) {
	for queue.Sleep(ctx, memberLife/2) {
		g.members.mu.Lock()
		for id, m := range g.members.list {
			if time.Since(m.seen) > memberLife {
				g.store.Unsubscribe(store.WorkerTopic(id), m.news)
				delete(g.members.list, id)
			}
		}
		g.members.mu.Unlock()
	}
}

// watch is POST watch: it marks the worker as alive, and waits for orders that the worker does not know.
func (g *Gateway) watch(ctx context.Context, c *caller, in *workerapi.Watch) (workerapi.Orders, error) {
	out := workerapi.Orders{Cancel: in.Cancelled}
	if c.Renewed && time.Unix(c.Expires, 0).Sub(g.store.Now()) < sessionLife/2 {
		out.Session = g.sessionToken(*c, sessionLife)
	}
	m := g.member(c.Worker)
	wait := min(max(in.Wait.Duration(), 0), workerapi.MaxWait)
	for end := time.Now().Add(wait); ; {
		reply, err := g.beat(ctx, c.Worker, nil)
		if err != nil {
			return out, err
		}
		if !reply.Known {
			return out, errUnknownWorker
		}
		if out.Drain = reply.Drain; out.Drain && !in.Draining {
			return out, nil
		}
		_, news := until(ctx, g, workerapi.SecondsOf(time.Until(end)), m.news)
		if g.stopping() {
			return out, errStopping
		}
		if !news {
			return out, nil
		}
		if _, err := g.known(ctx, c, 0); err != nil {
			return out, err
		}
		if out.Cancel, err = g.store.CancelledTasks(ctx, c.Worker); err != nil {
			queue.Wake(m.news)
			return out, err
		}
		known := func(id pleat.TaskID) bool { return slices.Contains(in.Cancelled, id) }
		if slices.ContainsFunc(out.Cancel, func(id pleat.TaskID) bool { return !known(id) }) {
			queue.Wake(m.news) // if this answer is lost, the next watch looks again
			return out, nil
		}
	}
}
