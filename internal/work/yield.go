package work

import (
	"context"
	"fmt"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/store/runs"
)

// stageWaiting is the stage of a run that has yielded, until its next attempt begins.
const stageWaiting = "wait"

// slotsOf returns what another task could use if t made room: the queues of its group, and its memory with what is
// free. On accelerators it is the memory of the largest, on which one task runs at a time.
func (p *Pool) slotsOf(t *runningTask) runs.Slots {
	s := runs.Slots{Queues: t.group.Queues}
	if t.group.Pool != nil {
		for _, d := range p.cfg.Devices {
			s.Memory = max(s.Memory, d.Memory)
		}
		return s
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if free := p.freeMemory(); free > 0 {
		s.Memory = free + t.Task.Memory
	}
	return s
}

// yieldIfOthersWait ends an attempt that has just stored a checkpoint, if it has had its turn and another tenant's task
// waits for its slot. The engine stops as it does at a shutdown. Each attempt makes progress, however short a turn is.
func (p *Pool) yieldIfOthersWait(t *runningTask, step int64) {
	if t.Workflow == nil || step <= t.Task.Checkpoint.Step || p.cfg.Clock().Sub(t.began) < p.cfg.Turn {
		return
	}
	if p.life.OneUser || p.isDraining() { // this worker would not claim the other task
		return
	}
	wait, err := p.service.OthersWait(t.ctx, &t.Task, p.slotsOf(t))
	switch {
	case err != nil && t.ctx.Err() == nil:
		p.logOf(t).Warn("cannot see whether other tasks wait", "error", err)
	case wait:
		t.lease.Report(pleat.Progress{
			At:   p.cfg.Clock().UTC(),
			Kind: pleat.ProgressLog,
			Line: fmt.Sprintf("paused at step %d: it is another user's turn; this run will continue here", step),
		})
		t.lease.Report(pleat.Progress{At: p.cfg.Clock().UTC(), Kind: pleat.ProgressStage, Stage: stageWaiting})
		p.leases.Cancel(t.Task.ID, engine.ErrYield)
	}
}

// yield returns the task to its queue. The slot's next claim begins with the queue of the task that it is for.
func (p *Pool) yield(t *runningTask) {
	slots := p.slotsOf(t)
	t.yielded = true
	progress := t.lease.DrainProgress(context.WithoutCancel(t.ctx))
	p.persist(t, func(ctx context.Context) error {
		next, err := p.service.Yield(ctx, &t.Task, slots, progress)
		p.mu.Lock()
		defer p.mu.Unlock()
		t.group.next = next
		return err
	})
}
