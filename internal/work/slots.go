package work

import (
	"context"
	"slices"
	"sync"
	"time"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/pae"
	"pleat/internal/queue"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

// maxSearches is how many MSA searches a worker claims at once. The search server or program gets them one by one
// (msa.Finder sees to that); the other slots are for searches whose result is cached or in flight, which need not wait.
// They are few, since a worker that dies costs each of them a try.
const maxSearches = 8

// maxWritingPerSlot is how many results may be written at once for each slot. Further results keep their slots until
// they are written, so that they do not pile up before a slow store.
const maxWritingPerSlot = 4

// slotGroup is a set of queues that share slots. An engine with accelerators has a Pool, which decides how many tasks
// it can run.
type slotGroup struct {
	engine.Group
	slots  int           // if the group has no accelerators
	search bool          // MSA searches, which use no memory that counts
	freed  chan struct{} // gets a token when a slot is free
	next   string        // the queue to claim from first, for which a task yielded; Pool.mu guards it
	soon   *time.Timer   // wakes the group when a task will end soon; nil: none has been set
}

// slotGroups returns a group for each kind of the engines' tasks, and one for MSA searches.
func (p *Pool) slotGroups() []*slotGroup {
	var out []*slotGroup
	for _, g := range p.engines.Groups() {
		if p.cfg.Alignments == pleat.AlignmentsOnly {
			break
		}
		out = append(out, &slotGroup{Group: g, slots: p.cfg.Slots, freed: make(chan struct{}, 1)})
	}
	if len(p.searches.Queues) > 0 {
		out = append(out, &slotGroup{
			Group:  p.searches,
			slots:  maxSearches,
			search: true,
			freed:  make(chan struct{}, 1),
		})
	}
	return out
}

// claim claims tasks of a group's queues while it has slots. Tasks run under run, which outlives ctx, so that a
// shutdown can cancel them with its cause.
func (p *Pool) claim(ctx, run context.Context, running *sync.WaitGroup, g *slotGroup) {
	queues := slices.Clone(g.Queues)
	loop := queue.ClaimLoop{News: p.service, Wake: g.freed, Log: p.cfg.Log}
	for _, q := range queues {
		loop.Topics = append(loop.Topics, tasks.QueueTopic(q))
	}
	loop.Claim = func(ctx context.Context) error {
		p.prefer(g, queues)
		got, err := p.claimSome(ctx, run, g, queues)
		if err == nil && len(got) == 0 && g.Pool != nil {
			got, err = p.claimAhead(ctx, run, g, queues)
		}
		if len(queues) > 1 { // else tasks of the first queue could keep the others waiting for ever
			queues = append(queues[1:], queues[0])
		}
		for _, t := range got {
			running.Go(func() { p.execute(t) })
		}
		return err
	}
	loop.Run(ctx)
	if g.soon != nil {
		g.soon.Stop()
	}
}

// prefer moves the queue for which a task has yielded to the front.
func (p *Pool) prefer(g *slotGroup, queues []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(queues, g.next); i > 0 {
		copy(queues[1:i+1], queues[:i])
		queues[0] = g.next
	}
}

// claimSome claims as many tasks as a group has slots for. One group claims at a time, since two could both use the
// last of the memory.
func (p *Pool) claimSome(ctx, run context.Context, g *slotGroup, queues []string) ([]*runningTask, error) {
	p.claiming.Lock()
	defer p.claiming.Unlock()
	var out []*runningTask
	for {
		free, memory := p.freeSlots(g)
		if free <= 0 {
			return out, nil
		}
		if memory != 0 && g.Pool == nil {
			free = 1 // the next one has less memory
		}
		filter := p.narrow(tasks.ClaimFilter{Queues: queues, N: free, Memory: memory})
		if filter.N <= 0 || ctx.Err() != nil {
			return out, nil
		}
		claimedAt := p.cfg.Clock()
		got, err := p.claimTasks(ctx, filter)
		for _, c := range got {
			out = append(out, p.startAttempt(run, c, g, nil, claimedAt))
		}
		if err != nil || len(got) == 0 || memory == 0 || g.Pool != nil {
			return out, err
		}
	}
}

// claimTasks claims tasks. A claim under way when ctx ends is still awaited: a task that was claimed without this
// worker's knowledge would keep its lease, and then cost a try.
func (p *Pool) claimTasks(ctx context.Context, filter tasks.ClaimFilter) ([]runs.ClaimedTask, error) {
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if queue.Sleep(last, stopTimeout) {
			cancel()
		}
	})()
	got, err := p.service.Claim(last, p.cfg.ID, filter)
	p.countClaimed(got)
	return got, err
}

// freeSlots returns how many tasks of a group may be claimed, and how many bytes each may expect to use; 0 bytes:
// unlimited. A task that only writes its result uses no slot, and only the memory for that, but a bounded number of
// results may be written at once. While the artifact store fails, nothing may be claimed: its input could not be read
// and its result not be stored.
func (p *Pool) freeSlots(g *slotGroup) (free int, memory int64) {
	if p.files.Failing() {
		return 0, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	computing, writing := p.counts(g)
	slots := g.slots
	if g.Pool != nil {
		slots = g.Pool.Accelerators()
		free, memory = g.Pool.Free()
		for t := range p.running {
			if t.group == g && t.waitsForTurn() { // it gets the first that is free
				free--
			}
		}
	} else {
		free, memory = slots-computing, p.freeMemory()
	}
	if g.search {
		memory = 0
	}
	if writing >= maxWritingPerSlot*slots {
		free = 0
	}
	return free, memory
}

// counts returns how many tasks of a group hold a slot or wait for one, and of how many the result is written. The
// caller holds mu.
func (p *Pool) counts(g *slotGroup) (computing, writing int) {
	for t := range p.running {
		switch {
		case t.group != g:
		case t.writing:
			writing++
		default:
			computing++
		}
	}
	return computing, writing
}

// freeMemory returns how many bytes the next task in the worker's own slots may expect to use; 0: unlimited. The caller
// holds p.mu.
func (p *Pool) freeMemory() int64 {
	if p.cfg.Memory == 0 {
		return 0
	}
	left := p.cfg.Memory
	for t := range p.running {
		switch {
		case t.writing:
			left -= t.writingMemory()
		case t.group.Pool == nil && !t.group.search: // tasks on an accelerator use the accelerator's memory
			left -= t.Task.Memory
		}
	}
	return max(left, 1)
}

// writingMemory returns how many bytes it takes to check, draw and store the result of a task, most of them for the PAE
// of each pair of tokens: 10 bytes a pair were measured.
func (t *runningTask) writingMemory() int64 {
	if t.Fold == nil {
		return 0
	}
	j := pleat.Job{Sequences: t.Fold.Sequences, Constraints: t.Fold.Constraints}
	n := int64(min(j.Tokens(pleat.ModelLimits{}), pae.MaxRows))
	return 16 * n * n
}
