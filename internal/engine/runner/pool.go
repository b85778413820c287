package runner

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/sandbox"
)

const (
	// Idle processes are reaped this often: idle_ttl_s has a resolution of a second.
	reapInterval = time.Second
	closeGrace   = time.Second // for a process to end by itself
)

// ProcessPool keeps runners' processes between jobs, because loading weights takes longer than most predictions. It has
// a slot per device; one job at a time runs in a slot, and the processes of several engines may stay loaded in it, as
// far as the device's memory allows. It is safe for concurrent use. Make it with [NewProcessPool]; Close ends every
// process.
type ProcessPool struct {
	log *slog.Logger

	mu       sync.Mutex
	slots    []*slot
	closed   bool
	reserved map[pleat.TaskID]bool // claimed for an accelerator that they have not acquired yet
	changed  chan struct{}         // closed and replaced whenever a slot becomes free
	freed    chan struct{}         // receives a value whenever a slot becomes free

	background sync.WaitGroup // the reaper, and processes that are being stopped
	stop       chan struct{}  // closed by Close
}

// The worker asks the pool through engine.Pool which jobs it may claim.
var _ engine.Pool = (*ProcessPool)(nil)

// slot is a device that one job at a time may use: an accelerator, or a share of the CPU. Its fields are guarded by the
// mutex of the pool, except device and cpu, which never change.
type slot struct {
	device pleat.Device
	cpu    bool
	busy   bool
	need   int64      // bytes that its job may use
	procs  []*process // loaded, one per engine
}

// NewProcessPool makes a pool over accelerators and a number of CPU slots, each of which runs one job at a time. The
// jobs of the CPU slots share memory bytes of main memory, 0 for no limit; the memory of an accelerator is its own.
// Processes start when the first job needs them.
func NewProcessPool(accelerators []pleat.Device, cpus int, memory int64, log *slog.Logger) *ProcessPool {
	p := &ProcessPool{
		log:      log,
		reserved: map[pleat.TaskID]bool{},
		changed:  make(chan struct{}),
		freed:    make(chan struct{}, 1),
		stop:     make(chan struct{}),
	}
	for _, d := range accelerators {
		p.slots = append(p.slots, &slot{device: d})
	}
	for range cpus {
		p.slots = append(p.slots, &slot{device: pleat.Device{ID: "cpu", Name: "CPU", Memory: memory}, cpu: true})
	}
	p.background.Go(p.reapIdle)
	return p
}

// Close ends every process and waits until all are gone. Jobs should have been interrupted before. It may be called
// again.
func (p *ProcessPool) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	close(p.stop)
	for _, s := range p.slots {
		p.end(s.procs...)
		s.procs = nil
	}
	p.mu.Unlock()
	p.background.Wait()
}

// end stops processes in the background, with closeGrace to end by themselves. Close waits for them.
func (p *ProcessPool) end(all ...*process) {
	for _, proc := range all {
		p.background.Go(func() { proc.close(closeGrace) })
	}
}

// stopInBackground runs stop, which returns once a cancelled request has ended, and then removes the folder of the
// work: the process may have written to it after the run had returned. The channel is closed once the request has
// ended, which frees the slot; see release.
func (p *ProcessPool) stopInBackground(stop func(), dir string) <-chan struct{} {
	stopped := make(chan struct{})
	p.background.Go(func() {
		stop()
		close(stopped)
		_ = sandbox.RemoveAll(dir)
	})
	return stopped
}

// capacity returns the kind of device that an engine runs on here and the largest memory in bytes that a job may use on
// one; 0 bytes: not known. Ok is false if the engine cannot run here at all.
func (p *ProcessPool) capacity(m *Manifest) (device string, bytes int64, ok bool) {
	for _, s := range p.slots {
		if !s.fits(m, p.slots) {
			continue
		}
		if ok && (bytes == 0 || s.device.Memory == 0) {
			bytes = 0
		} else {
			bytes = max(bytes, s.device.Memory)
		}
		device, ok = "cuda", true
		if s.cpu {
			device = "cpu"
		}
	}
	return device, bytes, ok
}

// fits reports whether an engine may run in a slot: device cpu in a CPU slot, cuda on an accelerator, and any on an
// accelerator if all, the slots of the pool, have one, else on the CPU.
func (s *slot) fits(m *Manifest, all []*slot) bool {
	switch m.Device {
	case "cpu":
		return s.cpu
	case "cuda":
		return !s.cpu
	}
	return !s.cpu || !slices.ContainsFunc(all, func(o *slot) bool { return !o.cpu })
}

// Free implements [engine.Pool]: the number of accelerators without a job or a reservation, and the largest memory in
// bytes of those without a job, 0 if it is not known for one of them.
func (p *ProcessPool) Free() (slots int, memory int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		if s.cpu || s.busy {
			continue
		}
		if slots > 0 && memory == 0 || s.device.Memory == 0 {
			memory = 0
		} else {
			memory = max(memory, s.device.Memory)
		}
		slots++
	}
	return max(slots-len(p.reserved), 0), memory
}

// Accelerators implements [engine.Pool]: the number of accelerators, busy or not.
func (p *ProcessPool) Accelerators() int {
	n := 0
	for _, s := range p.slots {
		if !s.cpu {
			n++
		}
	}
	return n
}

// Reserve implements [engine.Pool]: a claimed task counts as a busy accelerator until it has acquired its slot, so that
// the worker does not claim two tasks for one free accelerator.
func (p *ProcessPool) Reserve(task pleat.TaskID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reserved[task] = true
}

// Unreserve implements [engine.Pool]: it ends a reservation whose task never acquired a slot. It does nothing for
// others.
func (p *ProcessPool) Unreserve(task pleat.TaskID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reserved[task] {
		delete(p.reserved, task)
		p.notify()
	}
}

// Freed implements [engine.Pool]: the channel receives a value when a slot may have become free. Several may become
// one.
func (p *ProcessPool) Freed() <-chan struct{} { return p.freed }

// notify wakes all that wait for a slot. The caller holds mu.
func (p *ProcessPool) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
	select {
	case p.freed <- struct{}{}:
	default:
	}
}

// slotLease is an acquired slot. It must be released exactly once, with the process that the job used.
type slotLease struct {
	pool *ProcessPool
	slot *slot
	need int64 // bytes; after an out of memory, all of the device
}

// acquire waits for a free slot with need bytes of memory and ends the task's reservation. It prefers a slot in which
// the model is loaded, then one with another model of the engine, then an empty one, then the smallest. The failure
// says that ctx ended or that the pool was closed.
func (p *ProcessPool) acquire(
	ctx context.Context, task pleat.TaskID, m *Manifest, model string, need int64,
) (*slotLease, *pleat.Failure) {
	for {
		p.mu.Lock()
		if s := p.best(m, model, need); s != nil && !p.closed {
			s.busy, s.need = true, need
			delete(p.reserved, task)
			p.mu.Unlock()
			return &slotLease{p, s, need}, nil
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, engine.Interrupted(ctx)
		case <-p.stop:
			return nil, pleat.Failed(pleat.FailCrashed, "the worker shut down")
		}
	}
}

// best returns the free slot that acquire prefers, or nil. The caller holds mu.
func (p *ProcessPool) best(m *Manifest, model string, need int64) *slot {
	rank := func(s *slot) int {
		switch proc := s.find(m); {
		case proc != nil && proc.model == model:
			return 0
		case proc != nil:
			return 1
		case len(s.procs) == 0:
			return 2
		}
		return 3
	}
	var best *slot
	for _, s := range p.slots {
		if s.busy || !s.fits(m, p.slots) || s.device.Memory != 0 && need > s.device.Memory {
			continue
		}
		if best == nil || cmp.Or(rank(s)-rank(best), cmp.Compare(s.device.Memory, best.device.Memory)) < 0 {
			best = s
		}
	}
	return best
}

// find returns the slot's living process of an engine, or nil. The caller holds the mutex of the pool.
func (s *slot) find(m *Manifest) *process {
	i := slices.IndexFunc(s.procs, func(p *process) bool { return p.manifest == m })
	if i < 0 || !s.procs[i].alive() {
		return nil
	}
	return s.procs[i]
}

// loaded reports whether the slot has a living process with the model loaded.
func (l *slotLease) loaded(m *Manifest, model string) bool {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	p := l.slot.find(m)
	return p != nil && p.model == model
}

// process returns the slot's process of an engine: the one that is loaded, or a new one. It ends other processes first
// if their memory is needed, and waits until they are gone. A new process sees one accelerator only, as cuda:0, or
// none.
func (l *slotLease) process(ctx context.Context, spec launchSpec) (*process, *pleat.Failure) {
	pool := l.pool
	pool.mu.Lock()
	p := l.slot.find(spec.manifest)
	l.slot.procs = slices.DeleteFunc(l.slot.procs, func(o *process) bool {
		dead := !o.alive()
		if dead {
			pool.end(o)
		}
		return dead
	})
	evicted := pool.evict(l.slot, p, l.need)
	pool.mu.Unlock()
	for _, o := range evicted { // their memory must be free before another process uses it
		pool.log.Info("a runner is evicted from memory", "engine", o.manifest.Engine, "device", l.slot.device.Name)
		o.close(closeGrace)
	}
	if p != nil {
		return p, nil
	}
	spec.device = "cpu"
	visible := ""
	if !l.slot.cpu {
		spec.device, visible = "cuda:0", l.slot.device.ID
	}
	spec.env = append(slices.Clone(spec.env), "CUDA_VISIBLE_DEVICES="+visible)
	p, f := start(ctx, spec)
	if f != nil {
		if p != nil {
			pool.end(p)
		}
		return nil, f
	}
	pool.mu.Lock()
	l.slot.procs = append(l.slot.procs, p)
	pool.mu.Unlock()
	return p, nil
}

// evict removes idle processes other than keep from slots until need bytes are free, least recently used first. On an
// accelerator only its own processes count; on the CPU those of every slot, since they share the machine's memory. The
// caller holds mu and ends the processes.
func (p *ProcessPool) evict(target *slot, keep *process, need int64) []*process {
	if target.device.Memory == 0 {
		return nil
	}
	type candidate struct {
		slot *slot
		proc *process
	}
	var idle []candidate
	used := int64(0)
	for _, s := range p.slots {
		if s != target && (!target.cpu || !s.cpu) {
			continue
		}
		if s != target && s.busy {
			used += s.need
			continue
		}
		for _, proc := range s.procs {
			if proc != keep {
				idle = append(idle, candidate{s, proc})
				used += proc.idleMemory()
			}
		}
	}
	slices.SortFunc(idle, func(a, b candidate) int { return a.proc.idle.Compare(b.proc.idle) })
	var out []*process
	for _, c := range idle {
		if used+need <= target.device.Memory {
			break
		}
		used -= c.proc.idleMemory()
		out = append(out, c.proc)
		c.slot.procs = slices.DeleteFunc(c.slot.procs, func(o *process) bool { return o == c.proc })
	}
	return out
}

// idleMemory returns the bytes that an idle process uses: as it reports, else what its manifest states for a model
// without input.
func (p *process) idleMemory() int64 {
	m := p.memory()
	n := m.RSS
	if p.device != "cpu" {
		n = m.DeviceUsed
	}
	if n == 0 && len(p.manifest.Models) > 0 && p.manifest.Models[0].Memory != nil {
		n = int64(p.manifest.Models[0].Memory.BaseGB * 1e9)
	}
	return n
}

// release frees the slot, once stopped is closed (nil: immediately): a process that still works on a cancelled request
// must not get another. It ends the process if the process is dead or due for replacement. p is nil if none was
// started.
func (l *slotLease) release(p *process, stopped <-chan struct{}) {
	if stopped != nil {
		l.pool.background.Go(func() { <-stopped; l.release(p, nil) })
		return
	}
	pool := l.pool
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if p != nil {
		p.idle = clock.Start()
		if pool.closed || !p.alive() || p.due() {
			l.slot.procs = slices.DeleteFunc(l.slot.procs, func(o *process) bool { return o == p })
			pool.end(p)
		}
	}
	l.slot.busy, l.slot.need = false, 0
	pool.notify()
}

// due reports whether a process must be replaced: after recycle_jobs jobs, above recycle_rss_gb of memory, or after
// every job if its manifest does not keep it loaded. Python engines leak memory and fragment that of the device.
func (p *process) due() bool {
	m := p.manifest
	return !m.keepLoaded() || p.jobs >= m.RecycleJobs ||
		m.RecycleRSS > 0 && float64(p.memory().RSS) > m.RecycleRSS*1e9
}

// reapIdle ends processes that were idle for longer than their manifest allows, or died while idle. It returns at
// Close.
func (p *ProcessPool) reapIdle() {
	tick := time.NewTicker(reapInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		p.mu.Lock()
		for _, s := range p.slots {
			if s.busy {
				continue
			}
			s.procs = slices.DeleteFunc(s.procs, func(proc *process) bool {
				expired := !proc.alive() || proc.idle.Elapsed() > pleat.Seconds(proc.manifest.IdleTTL)
				if expired {
					p.end(proc)
				}
				return expired
			})
		}
		p.mu.Unlock()
	}
}
