package workers

import (
	"container/list"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pleat"
	"pleat/internal/queue"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
	"pleat/internal/workerapi"
)

// dispatcher claims tasks for the workers that wait for some. Workers that may have the same tasks form a profile, for
// which one transaction claims. A profile is looked at when a worker joins it, and when a queue of it has news.
type dispatcher struct {
	g *Gateway

	mu       sync.Mutex
	profiles map[string]*profile
	waiters  map[pleat.WorkerID]*waiter // the last of each worker
	queues   map[string]*awaited
	wake     chan struct{}
	changed  sync.WaitGroup // goroutines that listen for news of a queue
}

// profile is a set of workers that wait for the same tasks.
type profile struct {
	name    string
	filter  tasks.ClaimFilter
	waiting list.List // of *ask; those behind get tasks first
	due     bool      // tasks may be there
}

// ask is the room of a waiting worker in one profile.
type ask struct {
	*waiter
	n int
}

// waiter is a worker whose claim waits.
type waiter struct {
	worker pleat.WorkerID
	idle   bool                       // it had nothing to do before
	places map[*profile]*list.Element // where its asks wait; empty while tasks are claimed for it
	taken  bool                       // tasks are being claimed for it, and got will have a value
	gone   bool                       // it does not wait any more: it was answered, or its worker has left
	got    chan []runs.ClaimedTask    // gets one value, for which it has a buffer
}

// awaited is a queue that profiles wait for.
type awaited struct {
	profiles map[*profile]bool
	end      chan struct{}
}

const (
	// maxBatch bounds the tasks that one transaction claims.
	maxBatch = 64
	// leftStep is to what a worker's time that is left is rounded down, so that workers share a profile; where more
	// than an hour is left, it is ten times as much.
	leftStep = time.Minute
)

func (d *dispatcher) init(g *Gateway) {
	d.g = g
	d.profiles, d.queues = map[string]*profile{}, map[string]*awaited{}
	d.waiters = map[pleat.WorkerID]*waiter{}
	d.wake = make(chan struct{}, 1)
}

// claim is POST claim: it waits until tasks of one of the asks can be had.
func (g *Gateway) claim(ctx context.Context, c *caller, in *workerapi.Claim) (workerapi.Claimed, error) {
	out := workerapi.Claimed{Tasks: []workerapi.Task{}}
	if err := checkCount("asks", len(in.Asks), workerapi.MaxAsks); err != nil {
		return out, err
	}
	var filters []tasks.ClaimFilter
	queues := 0
	for i := range in.Asks {
		f, err := g.filter(ctx, c, indexed("asks", i), &in.Asks[i])
		if err != nil {
			return out, err
		}
		filters = append(filters, f)
		if queues += len(f.Queues); queues > workerapi.MaxQueues {
			return out, pleat.InvalidField("asks", " have more than %d queues together", workerapi.MaxQueues)
		}
	}
	if in.Repeat {
		if err := g.releaseUnknown(ctx, c, in.Held); err != nil {
			return out, err
		}
	}
	w := &waiter{
		worker: c.Worker,
		idle:   in.Idle,
		places: map[*profile]*list.Element{},
		got:    make(chan []runs.ClaimedTask, 1),
	}
	g.claims.join(w, filters)
	got, ok := until(ctx, g, in.Wait, w.got)
	if !ok {
		got = g.claims.leave(w)
	}
	if len(got) == 0 && g.stopping() {
		return out, errStopping
	}
	if ctx.Err() != nil { // the worker is gone
		g.giveBack(got)
		return out, ctx.Err()
	}
	if len(got) > 0 {
		if _, err := g.authenticate(ctx, c, 0); err != nil { // its token was revoked while it waited
			g.giveBack(got)
			return out, err
		}
	}
	for i := range got {
		t, err := g.taskOf(ctx, c, &got[i])
		if err != nil {
			g.giveBack(got)
			return out, err
		}
		out.Tasks = append(out.Tasks, t)
	}
	return out, nil
}

// releaseUnknown returns tasks to their queues that a worker holds without knowing it, since the answer to its claim
// was lost. The worker may claim them again, as a new attempt: the old one may still be on its way to nobody.
func (g *Gateway) releaseUnknown(ctx context.Context, c *caller, held []workerapi.Lease) error {
	if err := checkCount("held", len(held), workerapi.MaxHeld); err != nil {
		return err
	}
	var leases []tasks.Lease
	for _, l := range held {
		leases = append(leases, tasks.Lease{Task: l.Task, Attempt: l.Attempt, Worker: c.Worker})
	}
	return g.writes(ctx, func() error {
		n, err := g.store.Runs.ReleaseAll(ctx, c.Worker, leases)
		if n > 0 {
			g.cfg.Log.Info("tasks whose claim was lost are queued again", "worker", c.Worker, "tasks", n)
		}
		return err
	})
}

// taskOf returns a claimed task as its worker gets it.
func (g *Gateway) taskOf(ctx context.Context, c *caller, t *runs.ClaimedTask) (workerapi.Task, error) {
	out := workerapi.TaskOf(t)
	out.Token = g.taskToken(*c, t)
	var err error
	out.Links, err = g.links(ctx, c, append(artifactKeys(t.Alignments), t.Task.Checkpoint.Key))
	return out, err
}

// giveBack returns tasks to their queues whose worker is gone.
func (g *Gateway) giveBack(taskList []runs.ClaimedTask) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for i := range taskList {
		k := &taskList[i].Task
		err := g.writes(ctx, func() error { return g.store.Runs.Release(ctx, tasks.LeaseOf(k), 0, nil) })
		if err != nil {
			g.cfg.Log.Warn("a task that no worker got could not be returned; its lease will expire", "task", k.ID,
				"run", k.Run, "error", err)
		}
	}
}

// profileOf returns what a filter has in common with those of other workers, with its name. The order of the queues
// does not count: the dispatcher goes round them.
func profileOf(f tasks.ClaimFilter) (string, tasks.ClaimFilter) {
	f.N = 0
	f.Queues = slices.Sorted(slices.Values(f.Queues))
	if f.Left > 0 {
		step := leftStep
		if f.Left > time.Hour {
			step *= 10
		}
		f.Left = max(f.Left.Truncate(step), time.Second)
	}
	name := fmt.Sprintf("%s %s %d %d %d", f.Class, f.Owner, f.Memory, f.Left, f.Waited)
	return name + "\n" + strings.Join(f.Queues, "\n"), f
}

// join makes a worker wait, and ends its wait for an earlier claim, whose answer it does not wait for any more. One
// that was idle before is the last to get a task, so that few workers are kept warm and the others end.
func (d *dispatcher) join(w *waiter, filters []tasks.ClaimFilter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if before := d.waiters[w.worker]; before != nil && !before.gone && !before.taken {
		before.gone = true
		d.remove(before)
		before.got <- nil
	}
	d.waiters[w.worker] = w
	for _, f := range filters {
		if f.N == 0 || len(f.Queues) == 0 {
			continue
		}
		p := d.profile(f)
		if w.places[p] != nil {
			continue // the same ask twice
		}
		p.add(&ask{w, f.N})
		p.due = true
	}
	queue.Wake(d.wake)
}

// profile returns the profile of a filter. The caller holds mu, and lets a worker wait there.
func (d *dispatcher) profile(f tasks.ClaimFilter) *profile {
	name, shared := profileOf(f)
	p := d.profiles[name]
	if p == nil {
		p = &profile{name: name, filter: shared, due: true} // there was no news of its queues before
		d.profiles[name] = p
		d.await(p)
	}
	return p
}

// add makes a worker wait in a profile.
func (p *profile) add(a *ask) {
	if a.idle {
		a.places[p] = p.waiting.PushFront(a)
	} else {
		a.places[p] = p.waiting.PushBack(a)
	}
}

// leave ends the wait of a worker. If tasks are being claimed for it at this moment, it returns those.
func (d *dispatcher) leave(w *waiter) []runs.ClaimedTask {
	d.mu.Lock()
	w.gone = true
	d.remove(w)
	if d.waiters[w.worker] == w {
		delete(d.waiters, w.worker)
	}
	taken := w.taken
	d.mu.Unlock()
	if taken {
		return <-w.got
	}
	select {
	case got := <-w.got:
		return got
	default:
		return nil
	}
}

// remove takes a worker out of its profiles, and forgets those that nobody waits in. The caller holds mu.
func (d *dispatcher) remove(w *waiter) {
	for p, e := range w.places {
		p.waiting.Remove(e)
		d.forgetEmpty(p)
	}
	clear(w.places)
}

// forgetEmpty ends a profile in which nobody waits. The caller holds mu.
func (d *dispatcher) forgetEmpty(p *profile) {
	if p.waiting.Len() > 0 || d.profiles[p.name] != p {
		return
	}
	delete(d.profiles, p.name)
	for _, q := range p.filter.Queues {
		if a := d.queues[q]; a != nil {
			if delete(a.profiles, p); len(a.profiles) == 0 {
				close(a.end)
				delete(d.queues, q)
			}
		}
	}
}

// await listens for news of the queues of a profile. The caller holds mu.
func (d *dispatcher) await(p *profile) {
	for _, q := range p.filter.Queues {
		a := d.queues[q]
		if a == nil {
			a = &awaited{profiles: map[*profile]bool{}, end: make(chan struct{})}
			d.queues[q] = a
			news := make(chan struct{}, 1)
			topic := tasks.QueueTopic(q)
			d.g.store.DB.SubscribeTo(topic, news)
			d.changed.Go(func() {
				defer d.g.store.DB.Unsubscribe(topic, news)
				d.listen(a, news)
			})
		}
		a.profiles[p] = true
	}
}

// listen makes the profiles of a queue due when it has news.
func (d *dispatcher) listen(a *awaited, news <-chan struct{}) {
	for {
		select {
		case <-a.end:
			return
		case <-d.g.stop:
			return
		case <-news:
		}
		d.mu.Lock()
		for p := range a.profiles {
			p.due = true
		}
		d.mu.Unlock()
		queue.Wake(d.wake)
	}
}

// run claims for the workers that wait, until ctx ends.
func (d *dispatcher) run(ctx context.Context) {
	wait := time.Duration(0)
	for round := 0; ; round++ {
		select {
		case <-ctx.Done():
			d.g.EndWaits() // so that listen ends
			d.changed.Wait()
			return
		case <-d.wake:
		}
		err := d.pass(ctx, round)
		if err == nil || ctx.Err() != nil {
			wait = 0
			continue
		}
		wait = queue.Backoff(wait)
		d.g.cfg.Log.Warn("cannot claim tasks for workers; trying again", "error", err)
		queue.Sleep(ctx, wait)
		queue.Wake(d.wake)
	}
}

// pass claims once for each profile that is due, and wakes run if one may have more.
func (d *dispatcher) pass(ctx context.Context, round int) error {
	d.mu.Lock()
	var due []*profile
	for _, p := range d.profiles {
		if p.due {
			due = append(due, p)
		}
	}
	d.mu.Unlock()
	for _, p := range due {
		if err := d.claimFor(ctx, p, round); err != nil {
			return err
		}
	}
	return nil
}

// claimFor claims tasks for the workers of a profile, at most maxBatch.
func (d *dispatcher) claimFor(ctx context.Context, p *profile, round int) error {
	batch, workers := d.takeWaiting(p)
	if len(batch) == 0 {
		return nil
	}
	f := p.filter
	f.Lease = d.g.cfg.Terms.Lease
	first := round % len(f.Queues) // else tasks of the first queue could keep the others waiting for ever
	f.Queues = slices.Concat(f.Queues[first:], f.Queues[:first])
	got, err := d.g.store.Runs.ClaimFor(ctx, workers, f)
	claimed := map[pleat.WorkerID][]runs.ClaimedTask{}
	for _, t := range got {
		claimed[t.Task.Worker] = append(claimed[t.Task.Worker], t)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range batch {
		tasks := claimed[a.worker]
		a.taken = false
		if len(tasks) > 0 || a.gone {
			a.gone = true // else join would send to got, whose buffer is full, and block while it holds mu
			a.got <- tasks
		} else {
			d.putBack(a)
		}
	}
	for _, a := range batch { // when all are back, so that what came meanwhile is still known to be due
		for other := range a.asks {
			d.forgetEmpty(other)
		}
	}
	if err != nil || len(got) == len(workers) {
		p.due = true
		queue.Wake(d.wake)
	}
	return err
}

// workerAsks is an ask for which tasks are claimed now, and the others of the same worker.
type workerAsks struct {
	*waiter
	asks map[*profile]*ask
}

// takeWaiting takes workers out of a profile, those that shall get tasks first. It returns a worker as often as it has
// room for a task, but lists no worker twice otherwise: a task could not be told from that of its other call.
func (d *dispatcher) takeWaiting(p *profile) (out []workerAsks, workers []pleat.WorkerID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p.due = false
	for e := p.waiting.Back(); e != nil && len(workers) < maxBatch; {
		a := e.Value.(*ask)
		e = e.Prev()
		if slices.Contains(workers, a.worker) {
			continue
		}
		b := workerAsks{a.waiter, map[*profile]*ask{}}
		for other, place := range a.places {
			b.asks[other] = place.Value.(*ask)
			other.waiting.Remove(place)
		}
		clear(a.places)
		a.taken = true
		out = append(out, b)
		for range min(a.n, maxBatch-len(workers)) {
			workers = append(workers, a.worker)
		}
	}
	return out, workers
}

// putBack makes a worker wait again that got nothing. The caller holds mu.
func (d *dispatcher) putBack(b workerAsks) {
	for before, a := range b.asks {
		d.profile(before.filter).add(a)
	}
	queue.Wake(d.wake) // a profile may be new
}
