package work

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/queue"
	"pleat/internal/store/tasks"
)

// A task is claimed ahead while an accelerator still runs another, so that its input is there when the accelerator
// becomes free. Each accelerator has at most one such task. No other worker is to go without a task because of it:
//
//   - It has waited for aheadAge. A worker with nothing to do would have claimed it.
//   - The present task is expected to end within aheadWindow, by what the last task of its queue took.
//   - If that is wrong, the task returns to its queue after Config.Ahead, and none is claimed behind the same task
//     again.
//
// Tasks that run on the CPU are not claimed ahead: their preparation would take the cores from the task that runs.
const (
	aheadAge    = time.Second
	aheadWindow = 10 * time.Second
	aheadTime   = 20 * time.Second // Config.Ahead, unless it is set
)

// errReturned is the cause with which a task is cancelled that was claimed ahead and has waited for too long.
var errReturned = errors.New("returned to its queue: no accelerator became free")

// claimAhead claims tasks for accelerators whose tasks will end soon, and wakes the group when the next one will.
func (p *Pool) claimAhead(ctx, run context.Context, g *slotGroup, queues []string) ([]*runningTask, error) {
	n, next := p.claimAheadCapacity(g)
	if g.soon != nil {
		g.soon.Stop()
	}
	if next > 0 {
		g.soon = time.AfterFunc(next, func() { queue.Wake(g.freed) })
	}
	filter := p.narrow(tasks.ClaimFilter{Queues: queues, N: n, Memory: p.smallestDevice(), Waited: aheadAge})
	if filter.Left > 0 { // it begins later
		if filter.Left -= aheadWindow; filter.Left <= 0 {
			return nil, nil
		}
	}
	if filter.N <= 0 || ctx.Err() != nil {
		return nil, nil
	}
	claimedAt := p.cfg.Clock()
	got, err := p.claimTasks(ctx, filter)
	var out []*runningTask
	for _, c := range got {
		out = append(out, p.startAttempt(run, c, g, make(chan struct{}), claimedAt))
	}
	p.assignFreeDevices(g) // the accelerator may have become free meanwhile
	return out, err
}

// claimAheadCapacity returns how many tasks a group may claim ahead, and after which time it should look again; 0: it
// need not. While an accelerator is free there is no room: what waits cannot be had.
func (p *Pool) claimAheadCapacity(g *slotGroup) (n int, next time.Duration) {
	if p.files.Failing() {
		return 0, 0
	}
	if free, _ := g.Pool.Free(); free > 0 {
		return 0, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, writing := p.counts(g); writing >= maxWritingPerSlot*g.Pool.Accelerators() {
		return 0, 0
	}
	for t := range p.running {
		switch {
		case t.group != g || t.writing:
		case t.waitsForTurn():
			n--
		default:
			left, known := p.timeLeft(t)
			if known && left <= aheadWindow {
				n++
			} else if known && (next == 0 || left-aheadWindow < next) {
				next = left - aheadWindow
			}
		}
	}
	return max(n, 0), next
}

// timeLeft returns how long a task is expected to compute on; false if that is not known, or was wrong, or if the task
// is a simulation, which may yield to another task at any time. The caller holds mu.
func (p *Pool) timeLeft(t *runningTask) (time.Duration, bool) {
	pace, known := p.paces[t.Task.Queue]
	if !known || t.outlived || t.computing.IsZero() || t.Task.Kind == pleat.TaskMD {
		return 0, false
	}
	return pleat.Seconds(pace*t.size()) - p.cfg.Clock().Sub(t.computing), true
}

// size is what the time of a task is measured in: its expected time, or 1 if that is unknown.
func (t *runningTask) size() float64 {
	if t.Task.Expected > 0 {
		return t.Task.Expected.Seconds()
	}
	return 1
}

// smallestDevice returns the memory of the smallest accelerator, since any of them may become free first; 0: unknown.
func (p *Pool) smallestDevice() int64 {
	if len(p.cfg.Devices) == 0 {
		return 0
	}
	return slices.MinFunc(p.cfg.Devices, func(a, b pleat.Device) int { return cmp.Compare(a.Memory, b.Memory) }).Memory
}

// waitsForTurn reports whether a task was claimed ahead and has no accelerator yet. The caller holds mu.
func (t *runningTask) waitsForTurn() bool { return t.turn != nil && !t.turned }

// turns gives the tasks that a group has claimed ahead the accelerators that become free, and then wakes the group,
// until ctx ends. It goes on while the worker drains.
func (p *Pool) turns(ctx context.Context, g *slotGroup) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.Pool.Freed():
		}
		p.assignFreeDevices(g)
		queue.Wake(g.freed)
	}
}

// assignFreeDevices reserves free accelerators for tasks that were claimed ahead. It reserves none while too many
// results are written.
func (p *Pool) assignFreeDevices(g *slotGroup) {
	if g.Pool == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	free, _ := g.Pool.Free()
	if _, writing := p.counts(g); writing >= maxWritingPerSlot*g.Pool.Accelerators() {
		return
	}
	for t := range p.running {
		if free > 0 && t.group == g && t.waitsForTurn() {
			g.Pool.Reserve(t.Task.ID)
			t.turned = true
			close(t.turn)
			free--
		}
	}
}

// awaitTurn waits until a task that was claimed ahead may use an accelerator; any other may at once. The computation
// begins then. The failure says that the context ended, or that the task returns to its queue.
func (p *Pool) awaitTurn(t *runningTask, s *sink) *pleat.Failure {
	if t.turn != nil {
		select {
		case <-t.turn:
		default:
			if f := p.await(t, s); f != nil {
				return f
			}
		}
	}
	p.mu.Lock()
	t.computing = p.cfg.Clock()
	p.mu.Unlock()
	if t.group.Pool != nil {
		queue.Wake(t.group.freed) // the next may be claimed ahead
	}
	return nil
}

// await is awaitTurn for a task whose input is there before an accelerator is free.
func (p *Pool) await(t *runningTask, s *sink) *pleat.Failure {
	s.Progress(stageWaiting, 0, 0)
	began := p.cfg.Clock()
	defer func() { t.timings[pleat.StageWait] += p.cfg.Clock().Sub(began).Seconds() }()
	late := time.NewTimer(p.cfg.Ahead)
	defer late.Stop()
	select {
	case <-t.turn:
		return nil
	case <-t.ctx.Done():
	case <-late.C:
		if !p.giveBack(t) {
			return nil
		}
	}
	return engine.Interrupted(t.ctx)
}

// giveBack cancels a task that was claimed ahead, so that it returns to its queue; false if it has got its turn. The
// tasks that run now are not taken to end soon any more.
func (p *Pool) giveBack(t *runningTask) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.turned {
		return false
	}
	for o := range p.running {
		if o.group == t.group && !o.waitsForTurn() {
			o.outlived = true
		}
	}
	p.leases.Cancel(t.Task.ID, errReturned)
	return true
}

// learn records how long the computation of a task took, for the estimate of the next of its queue. The caller holds
// mu.
func (p *Pool) learn(t *runningTask) {
	if t.group.Pool != nil && !t.computing.IsZero() {
		p.paces[t.Task.Queue] = p.cfg.Clock().Sub(t.computing).Seconds() / t.size()
	}
}
