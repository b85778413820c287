// Package work moves tasks: it claims them, keeps their leases, hands them to the engines, stores what came of them and
// ends their runs. One file per kind of task.
//
// A Pool is one worker. Any number may share a database, in one process or on many machines: what two of them must agree on
// stands in the store. It owns no state that a crash could lose; it must not speak HTTP or know what an engine does.
package work

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/engine"
	"pleat/internal/msa"
	"pleat/internal/store"
	"pleat/internal/submit"
)

// Config of a Pool.
type Config struct {
	ID      pleat.WorkerID // the same after a restart, so that what it held is free at once; different from every other's
	Host    string
	Dir     string        // scratch, emptied at the start; nobody else's
	Slots   int           // tasks of one kind at once; 0: 1. Searches for alignments have places of their own
	Memory  int64         // bytes that tasks may be expected to use together; 0: no bound
	Timeout time.Duration // for one attempt; 0: a day
	Devices []pleat.Device
	Sources Sources     // of structures that workflows name by an id
	Aligner *msa.Finder // makes alignments; nil: none are made. New joins it to the blob store
	// KeepAlignments is how long alignments are kept for further jobs; 0: for ever.
	KeepAlignments time.Duration
	Clock          func() time.Time // nil: time.Now
	Log            *slog.Logger
}

// Pool is one worker. Make it with New, then call Run.
type Pool struct {
	cfg     Config
	store   *store.Store
	blobs   blob.Store
	engines *engine.Registry
	models  map[string]pleat.Model // by lane

	resolver *submit.Resolver // decisions that requests share

	searches engine.Group // the lanes in which folds wait for a search

	claiming sync.Mutex

	mu      sync.Mutex
	running map[pleat.TaskID]*runningTask
	beat    chan struct{} // wakes the heartbeat

	ready chan struct{} // closed once the database knows the worker
}

// New makes a Pool that serves the lanes of the engines.
func New(cfg Config, s *store.Store, b blob.Store, e *engine.Registry) *Pool {
	if cfg.Slots == 0 {
		cfg.Slots = 1
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 24 * time.Hour
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	p := &Pool{cfg: cfg, store: s, blobs: b, engines: e, models: map[string]pleat.Model{},
		resolver: &submit.Resolver{Store: s},
		running:  map[pleat.TaskID]*runningTask{}, beat: make(chan struct{}, 1), ready: make(chan struct{})}
	for _, m := range p.offeredModels() {
		p.models[pleat.Queue(m.Kind, m.Name)] = m
		if m.Kind == pleat.TaskFold && m.Has(pleat.FeatureMSA) {
			p.models[pleat.SearchQueue(m.Name)] = m
			p.searches.Queues = append(p.searches.Queues, pleat.SearchQueue(m.Name))
		}
	}
	p.joinAligner()
	return p
}

// searchesAtOnce is how many searches a worker takes. They go to the server, or to the program, one by one (msa.Finder sees to that);
// the other places are for those whose alignment is kept or on its way, which need not wait for another's. They are few, since a worker
// that dies costs each of them a try.
const searchesAtOnce = 8

const (
	pollInterval         = time.Second            // where no wake-up comes
	progressInterval     = 500 * time.Millisecond // progress, at most
	garbageInterval      = 10 * time.Minute
	alignmentAgeInterval = 6 * time.Hour
	garbageAge           = time.Hour // far longer than from storing a file to naming it in the database
)

// Run works until ctx ends, then stops what runs, gives it back to the queue and returns. It fails only where the scratch
// folder cannot be made; a database that is gone is waited for.
func (p *Pool) Run(ctx context.Context) error {
	if err := os.RemoveAll(p.cfg.Dir); err != nil {
		return fmt.Errorf("empty the scratch folder: %w", err)
	}
	if err := os.MkdirAll(p.cfg.Dir, 0o700); err != nil {
		return fmt.Errorf("make the scratch folder: %w", err)
	}
	if !p.register(ctx) {
		return nil
	}
	close(p.ready)
	run, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	var duties, tasks sync.WaitGroup
	duties.Go(func() { p.keepLeases(run) })
	duties.Go(func() { reap(run, p.store, p.cfg.Clock, p.cfg.Log, p.renewNow) })
	duties.Go(func() { p.collectGarbage(run) })
	duties.Go(func() { p.startFollowUps(run) })
	duties.Go(func() { p.forgetAlignments(run) })
	var claims sync.WaitGroup
	for _, g := range p.slotGroups() {
		claims.Go(func() { p.claim(ctx, run, &tasks, g) })
	}
	<-ctx.Done()
	claims.Wait()
	p.interrupt(engine.ErrShutdown)
	tasks.Wait()
	stop(engine.ErrShutdown)
	duties.Wait()
	p.awaitSearches()
	return nil
}

// Ready is closed once Run has made the worker's models known, so that jobs for them are accepted.
func (p *Pool) Ready() <-chan struct{} { return p.ready }

// register tells the database about this worker, until it listens or ctx ends.
func (p *Pool) register(ctx context.Context) bool {
	models := p.offeredModels()
	for i := range models {
		if models[i].Room == 0 && models[i].Device == "cpu" {
			models[i].Room = p.cfg.Memory
		}
	}
	w := pleat.Worker{ID: p.cfg.ID, Host: p.cfg.Host, Queues: append(p.engines.Queues(), p.searches.Queues...), Models: models, Devices: p.cfg.Devices, Memory: p.cfg.Memory}
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := p.store.RegisterWorker(ctx, w)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		p.cfg.Log.Warn("worker cannot register; trying again", "error", err)
		if !sleep(ctx, wait) {
			return false
		}
	}
}

// group is lanes that share places, and hears when one may have become free.
type slotGroup struct {
	engine.Group
	slots  int  // where it has no accelerators
	search bool // what is in its lanes expects no memory yet
	freed  chan struct{}
}

// groups are those of the engines' work, and one of searches.
func (p *Pool) slotGroups() []*slotGroup {
	var out []*slotGroup
	for _, g := range p.engines.Groups() {
		out = append(out, &slotGroup{Group: g, slots: p.cfg.Slots, freed: make(chan struct{}, 1)})
	}
	if len(p.searches.Queues) > 0 {
		out = append(out, &slotGroup{Group: p.searches, slots: searchesAtOnce, search: true, freed: make(chan struct{}, 1)})
	}
	return out
}

func (g *slotGroup) notifyFreed() {
	select {
	case g.freed <- struct{}{}:
	default:
	}
}

// writingEach is how many results are written at once for each place to compute in. More wait in their places, so that a store
// that is slow does not have results pile up before it.
const writingEach = 4

// claim takes tasks of a group's lanes while it has places. Work runs under run, which outlives ctx, so that a shutdown is told
// to it with its cause.
func (p *Pool) claim(ctx, run context.Context, tasks *sync.WaitGroup, g *slotGroup) {
	lanes := slices.Clone(g.Queues)
	kick := make(chan struct{}, 1)
	for _, l := range lanes {
		p.store.SubscribeTo(store.QueueTopic(l), kick)
		defer p.store.Unsubscribe(store.QueueTopic(l), kick)
	}
	var device <-chan struct{}
	if g.Pool != nil {
		device = g.Pool.Freed()
	}
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for wait := time.Duration(0); ; {
		if ctx.Err() == nil {
			got, err := p.claimSome(ctx, run, g, lanes)
			if len(lanes) > 1 { // else work in the first lane could keep the others waiting for ever
				lanes = append(lanes[1:], lanes[0])
			}
			for _, h := range got {
				tasks.Go(func() { p.execute(h) })
			}
			switch {
			case err == nil:
				wait = 0
			case ctx.Err() == nil:
				wait = min(max(2*wait, 100*time.Millisecond), 5*time.Second)
				p.cfg.Log.Warn("worker cannot claim; trying again", "error", err)
				if !sleep(ctx, wait) {
					return
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-kick:
		case <-poll.C:
		case <-g.freed:
		case <-device:
		}
	}
}

// claimSome claims what a group has room for: one group at a time, since two could both take the last of the memory.
func (p *Pool) claimSome(ctx, run context.Context, g *slotGroup, lanes []string) ([]*runningTask, error) {
	p.claiming.Lock()
	defer p.claiming.Unlock()
	var out []*runningTask
	for {
		free, memory := p.room(g)
		if free <= 0 {
			return out, nil
		}
		if memory != 0 && g.Pool == nil {
			free = 1 // the next one has less
		}
		got, err := p.store.Claim(ctx, p.cfg.ID, lanes, free, memory)
		for _, c := range got {
			out = append(out, p.startAttempt(run, c, g))
		}
		if err != nil || len(got) == 0 || memory == 0 || g.Pool != nil {
			return out, err
		}
	}
}

// room is how many tasks of a group may be taken, and how much memory each may expect to use; 0 bytes where there is no bound.
func (p *Pool) room(g *slotGroup) (free int, memory int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	computing, writing := 0, 0
	for _, h := range p.running {
		switch {
		case h.group != g:
		case h.writing:
			writing++
		default:
			computing++
		}
	}
	places := g.slots
	if g.Pool != nil {
		places = g.Pool.Accelerators()
		free, memory = g.Pool.Free()
	} else {
		free, memory = places-computing, p.memoryLeft()
	}
	if g.search {
		memory = 0
	}
	if writing >= writingEach*places {
		free = 0
	}
	return free, memory
}

// memoryLeft is how much the next task in the worker's own slots may expect to use; 0 where there is no bound. The caller
// holds mu.
func (p *Pool) memoryLeft() int64 {
	if p.cfg.Memory == 0 {
		return 0
	}
	left := p.cfg.Memory
	for _, h := range p.running {
		if h.group.Pool == nil && !h.writing && !h.group.search { // what runs on an accelerator has the memory of that
			left -= h.task.Memory
		}
	}
	return max(left, 1)
}

// sweepNow removes, from time to time, files that nothing refers to.
func (p *Pool) collectGarbage(ctx context.Context) {
	for sleep(ctx, garbageInterval) {
		n, err := CollectGarbage(ctx, p.store, p.blobs, p.cfg.Clock().Add(-garbageAge))
		if err != nil && ctx.Err() == nil {
			p.cfg.Log.Warn("sweep stopped", "error", err)
		}
		if n > 0 {
			p.cfg.Log.Info("orphan files removed", "files", n)
		}
	}
}

// Sweep deletes the files stored before a moment that no artifact, no checkpoint and no library refers to, what a killed process left
// unfinished among them, and says how many.
func CollectGarbage(ctx context.Context, s *store.Store, b blob.Store, before time.Time) (int, error) {
	n := 0
	for _, prefix := range []string{"runs/", "library/"} {
		swept, err := blob.Sweep(ctx, b, prefix, before, s.UnreferencedBlobs)
		n += swept.Objects + swept.Temps
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// scratch makes the fresh, empty folder of one attempt.
func (p *Pool) scratch(c store.ClaimedTask) (string, error) {
	dir := filepath.Join(p.cfg.Dir, fmt.Sprintf("%s-%d", c.Task.ID, c.Task.Attempt))
	if os.Mkdir(dir, 0o700) == nil {
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
