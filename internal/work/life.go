package work

import (
	"context"
	"sync"
	"time"

	"pleat"
	"pleat/internal/queue"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

// Life bounds how long a worker lives. At each bound it drains: it claims nothing more, and ends when its tasks have
// ended. The zero value has no bounds.
type Life struct {
	// IdleExit is how long the worker waits for a task; 0: for ever.
	IdleExit time.Duration
	// Ends is when the worker must have ended; zero: it need not end. It claims only tasks that are expected to end
	// before, and returns to the queue, with a checkpoint, what still runs then.
	Ends time.Time
	// MaxTasks is how many tasks it claims; 0: any number. An MSA search before a fold counts as a task.
	MaxTasks int
	// OneUser: it claims only tasks of the user whose task it has claimed first.
	OneUser bool
}

const (
	// lifeCheck is the time between two looks at the bounds of a worker's life.
	lifeCheck = time.Second
	// freshCheck is the least time between two looks for tasks that need a new worker.
	freshCheck = 5 * time.Second
)

// life is what a Pool knows of its own life. Pool.mu guards the last three.
type life struct {
	Life
	began    time.Time
	draining chan struct{} // closed when the worker drains
	drain    sync.Once

	claimed   int             // tasks
	owner     pleat.ProjectID // whose tasks alone are claimed; empty: those of any
	idleSince time.Time       // counts while nothing runs
}

// newLife begins a life.
func newLife(bounds Life, now time.Time) life {
	return life{Life: bounds, began: now, idleSince: now, draining: make(chan struct{})}
}

// Drain makes the worker claim nothing more and end, without an error, when its tasks have ended. The reason is for the
// log. Further calls change nothing.
func (p *Pool) Drain(reason string) {
	p.life.drain.Do(func() {
		close(p.life.draining)
		p.cfg.Log.Info("the worker drains: it claims nothing more and ends when its tasks have ended", "reason", reason)
	})
}

// isDraining reports whether the worker drains.
func (p *Pool) isDraining() bool {
	select {
	case <-p.life.draining:
		return true
	default:
		return false
	}
}

// narrow limits what a claim may take to what the worker's life allows. N is 0 if that is nothing.
func (p *Pool) narrow(f tasks.ClaimFilter) tasks.ClaimFilter {
	l := &p.life
	f.Class = p.cfg.Class
	if p.isDraining() {
		f.N = 0
	}
	if !l.Ends.IsZero() {
		if f.Left = l.Ends.Sub(p.cfg.Clock()); f.Left <= 0 {
			f.N = 0
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.MaxTasks > 0 {
		f.N = min(f.N, l.MaxTasks-l.claimed)
	}
	if f.Owner = l.owner; l.OneUser && l.owner == "" {
		f.N = min(f.N, 1) // the first task decides whose the next ones are
	}
	return f
}

// countClaimed records that tasks were claimed.
func (p *Pool) countClaimed(tasks []runs.ClaimedTask) {
	l := &p.life
	p.mu.Lock()
	l.claimed += len(tasks)
	last := l.MaxTasks > 0 && l.claimed >= l.MaxTasks
	if l.OneUser && len(tasks) > 0 {
		l.owner = tasks[0].Task.Owner
	}
	p.mu.Unlock()
	if last {
		p.Drain("it has claimed as many tasks as it may")
	}
}

// watchLife drains the worker when it has been idle for too long, when its time is over, and when tasks wait that only
// a new worker would claim.
func (p *Pool) watchLife(ctx context.Context) {
	if p.life.IdleExit == 0 && p.life.Ends.IsZero() && !p.life.OneUser {
		return
	}
	looked := p.cfg.Clock()
	for queue.Sleep(ctx, lifeCheck) && !p.isDraining() {
		now := p.cfg.Clock()
		if !p.life.Ends.IsZero() && !now.Before(p.life.Ends) {
			p.Drain("its time is over")
			return
		}
		idle, is := p.idleFor(now)
		if !is {
			continue
		}
		if p.life.IdleExit > 0 && idle >= p.life.IdleExit {
			p.Drain("it has waited " + idle.Truncate(time.Second).String() + " for a task")
			return
		}
		if now.Sub(looked) >= max(freshCheck, p.terms.Heartbeat) {
			looked = now
			p.drainIfBlocked(ctx)
		}
	}
}

// idleFor returns how long nothing has run; false if something does.
func (p *Pool) idleFor(now time.Time) (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.running) > 0 {
		return 0, false
	}
	return now.Sub(p.life.idleSince), true
}

// drainIfBlocked drains an idle worker if a task waits that it cannot claim for want of time, or because it serves
// another user: a new worker can.
func (p *Pool) drainIfBlocked(ctx context.Context) {
	current := p.narrow(tasks.ClaimFilter{Queues: p.queues(), N: 1, Memory: p.cfg.Memory})
	if current.Left == 0 && current.Owner == "" {
		return
	}
	fresh := current
	fresh.Owner, fresh.Left = "", 0
	if !p.life.Ends.IsZero() {
		fresh.Left = p.life.Ends.Sub(p.life.began)
	}
	needed, err := p.service.NeedsFreshWorker(ctx, current, fresh)
	switch {
	case err != nil && ctx.Err() == nil:
		p.cfg.Log.Warn("cannot see whether tasks wait for a new worker", "error", err)
	case needed:
		p.Drain("a task waits that needs more time than it has left, or a worker for another user")
	}
}

// finishTasks waits until the worker's tasks have ended, its time is over, or ctx has ended. The worker drains.
func (p *Pool) finishTasks(ctx, run context.Context, tasks *sync.WaitGroup) {
	if err := p.service.DrainWorker(run, p.cfg.ID); err != nil {
		p.cfg.Log.Warn("worker cannot report that it drains", "error", err)
	}
	ended := make(chan struct{})
	go func() {
		tasks.Wait()
		close(ended)
	}()
	for {
		select {
		case <-ended:
			return
		case <-ctx.Done():
			return
		case <-time.After(lifeCheck):
		}
		if !p.life.Ends.IsZero() && !p.cfg.Clock().Before(p.life.Ends) {
			p.cfg.Log.Info("the worker's time is over; its tasks return to their queues")
			return
		}
	}
}
