package work

import (
	"context"
	"errors"
	"sync"
	"time"

	"pleat"
	"pleat/internal/store"
)

// held is a task this worker has claimed and not ended yet.
type runningTask struct {
	store.ClaimedTask
	task   pleat.Task
	ctx    context.Context // of the attempt; lives as long as held does
	cancel context.CancelCauseFunc
	end    context.CancelFunc
	group  *slotGroup
	reuse  reuse

	writing bool // all is computed, its place is another's; of the pool's mu

	mu      sync.Mutex
	pending []pleat.Progress // not told yet
	renewed time.Time
}

// The causes for which an attempt is broken off, besides a shutdown.
var (
	errStopped = errors.New("stopped by its owner")
	errLost    = errors.New("another worker has the task")
)

// waited is how long the task has been in the queue until this attempt: by the database's clock, as all that it is reckoned from.
func (h *runningTask) waited() time.Duration {
	return max(h.task.LeaseUntil.Add(-pleat.LeaseDuration).Sub(h.Queued)-h.SearchDuration, 0)
}

// untold takes the progress that was not told yet.
func (h *runningTask) drainProgress() []pleat.Progress {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.pending
	h.pending = nil
	return out
}

func (p *Pool) startAttempt(run context.Context, c store.ClaimedTask, g *slotGroup) *runningTask {
	whole, cancel := context.WithCancelCause(run)
	ctx, end := context.WithTimeout(whole, p.cfg.Timeout)
	h := &runningTask{ClaimedTask: c, task: c.Task, ctx: ctx, cancel: cancel, end: end, group: g, renewed: p.cfg.Clock()}
	if g.Pool != nil {
		g.Pool.Reserve(h.task.ID)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[c.Task.ID] = h
	return h
}

func (p *Pool) endAttempt(h *runningTask) {
	h.end()
	h.cancel(nil)
	if h.group.Pool != nil {
		h.group.Pool.Unreserve(h.task.ID)
	}
	p.mu.Lock()
	if p.running[h.task.ID] == h { // else this worker has a later attempt at it by now
		delete(p.running, h.task.ID)
	}
	p.mu.Unlock()
	h.group.notifyFreed()
}

// computed gives a task's place to the next one. The task stays held, its lease renewed, until its files are stored and it has ended.
func (p *Pool) releaseSlot(h *runningTask) {
	p.mu.Lock()
	h.writing = true
	p.mu.Unlock()
	h.group.notifyFreed()
}

// interrupt breaks off everything that runs.
func (p *Pool) interrupt(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.running {
		h.cancel(cause)
	}
}

// touch makes the next heartbeat renew everything at once.
func (p *Pool) renewNow() {
	p.mu.Lock()
	for _, h := range p.running {
		h.mu.Lock()
		h.renewed = time.Time{}
		h.mu.Unlock()
	}
	p.mu.Unlock()
	select {
	case p.beat <- struct{}{}:
	default:
	}
}

// keepLeases tells progress twice a second where there is any, renews leases every Heartbeat, and breaks off what was
// cancelled or lost: at once where a wake-up comes, else within a poll.
func (p *Pool) keepLeases(ctx context.Context) {
	woken, end := p.store.Subscribe(store.WorkerTopic(p.cfg.ID))
	defer end()
	tell, poll, alive := time.NewTicker(progressInterval), time.NewTicker(pollInterval), time.NewTicker(pleat.HeartbeatInterval)
	defer tell.Stop()
	defer poll.Stop()
	defer alive.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tell.C:
			p.sendHeartbeats(ctx)
		case <-p.beat:
			p.sendHeartbeats(ctx)
		case <-woken:
			p.lookForCancels(ctx)
		case <-poll.C:
			p.lookForCancels(ctx)
		case <-alive.C:
			if err := p.store.TouchWorker(ctx, p.cfg.ID); err != nil && ctx.Err() == nil {
				p.cfg.Log.Warn("worker cannot say that it lives", "error", err)
			}
		}
	}
}

func (p *Pool) lookForCancels(ctx context.Context) {
	if p.idle() {
		return
	}
	ids, err := p.store.CancelledTasks(ctx, p.cfg.ID)
	if err != nil {
		if ctx.Err() == nil {
			p.cfg.Log.Warn("worker cannot look for cancels", "error", err)
		}
		return
	}
	for _, id := range ids {
		p.stop(id, errStopped)
	}
}

func (p *Pool) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.running) == 0
}

func (p *Pool) stop(id pleat.TaskID, cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.running[id]; h != nil {
		h.cancel(cause)
	}
}

// pulse sends what is due: progress that was not told, and leases older than a heartbeat.
func (p *Pool) sendHeartbeats(ctx context.Context) {
	now := p.cfg.Clock()
	var beats []pleat.Heartbeat
	var list []*runningTask
	p.mu.Lock()
	for _, h := range p.running {
		h.mu.Lock()
		if len(h.pending) > 0 || now.Sub(h.renewed) >= pleat.HeartbeatInterval {
			b := pleat.Heartbeat{Task: h.task.ID, Attempt: h.task.Attempt, Run: h.Run, Progress: h.pending}
			h.pending = nil
			beats, list = append(beats, b), append(list, h)
		}
		h.mu.Unlock()
	}
	p.mu.Unlock()
	if len(beats) == 0 {
		return
	}
	pulses, err := p.store.Heartbeat(ctx, p.cfg.ID, beats)
	if err != nil {
		p.restoreProgress(beats, list)
		if ctx.Err() == nil {
			p.cfg.Log.Warn("worker cannot renew its leases", "error", err)
		}
		return
	}
	for i, h := range list {
		h.mu.Lock()
		h.renewed = now
		h.mu.Unlock()
		switch {
		case pulses[i].Lost:
			h.cancel(errLost)
		case pulses[i].Cancel:
			h.cancel(errStopped)
		}
	}
}

// untold puts progress back that could not be stored.
func (p *Pool) restoreProgress(beats []pleat.Heartbeat, list []*runningTask) {
	for i, h := range list {
		h.mu.Lock()
		h.pending = append(beats[i].Progress, h.pending...)
		if most := len(h.pending) - maxPending; most > 0 {
			h.pending = h.pending[most:]
		}
		h.mu.Unlock()
	}
}
