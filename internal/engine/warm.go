package engine

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"pleat"
)

// Warm keeps runners' processes between jobs: a slot per device, in which one job runs at a time and the processes of several
// engines may stay loaded. Make it with NewWarm; Close ends every process.
type Warm struct {
	log *slog.Logger

	mu      sync.Mutex
	slots   []*slot
	closed  bool
	coming  map[pleat.TaskID]bool // claimed for an accelerator, and not on one yet
	changed chan struct{}         // closed, and made anew, whenever a slot becomes free
	freed   chan struct{}         // told likewise
	ending  sync.WaitGroup        // processes that are being stopped, and the janitor
	stop    chan struct{}
}

// slot is a place for one job at a time.
type slot struct {
	device pleat.Device
	cpu    bool
	busy   bool
	need   int64 // bytes that its job may take
	procs  []*process
}

const (
	janitorEvery  = time.Second
	closePatience = time.Second // for a runner to end by itself
)

// NewWarm makes a pool over accelerators, and so many slots on the CPU whose jobs share memory bytes (0: no bound).
func NewWarm(devices []pleat.Device, cpus int, memory int64, log *slog.Logger) *Warm {
	w := &Warm{log: log, coming: map[pleat.TaskID]bool{}, changed: make(chan struct{}), freed: make(chan struct{}, 1), stop: make(chan struct{})}
	for _, d := range devices {
		w.slots = append(w.slots, &slot{device: d})
	}
	for range cpus {
		w.slots = append(w.slots, &slot{device: pleat.Device{ID: "cpu", Name: "CPU", Memory: memory}, cpu: true})
	}
	w.ending.Go(w.janitor)
	return w
}

// Close ends every process, soon. Jobs that run should have been interrupted before.
func (w *Warm) Close() {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.closed = true
	close(w.stop)
	for _, s := range w.slots {
		w.end(s.procs...)
		s.procs = nil
	}
	w.mu.Unlock()
	w.ending.Wait()
}

// end stops processes without waiting for it.
func (w *Warm) end(all ...*process) {
	for _, p := range all {
		w.ending.Go(func() { p.close(closePatience) })
	}
}

// room is the largest memory that a job of the manifest may use here, and what kind of device that is; false where it cannot
// run at all. 0 bytes: not known.
func (w *Warm) room(m *Manifest) (device string, bytes int64, ok bool) {
	for _, s := range w.slots {
		if !s.fits(m, w.slots) {
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

// fits reports whether an engine runs in a slot: one that may use an accelerator does where there is one.
func (s *slot) fits(m *Manifest, all []*slot) bool {
	switch m.Device {
	case "cpu":
		return s.cpu
	case "cuda":
		return !s.cpu
	}
	return !s.cpu || !slices.ContainsFunc(all, func(o *slot) bool { return !o.cpu })
}

// Free is how many accelerators have no job and expect none, and the memory of the largest without one; 0 where that is not known.
func (w *Warm) Free() (slots int, memory int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.slots {
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
	return max(slots-len(w.coming), 0), memory
}

// Accelerators is how many there are.
func (w *Warm) Accelerators() int {
	n := 0
	for _, s := range w.slots {
		if !s.cpu {
			n++
		}
	}
	return n
}

// Expect keeps an accelerator for a task that was claimed for one.
func (w *Warm) Expect(task pleat.TaskID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.coming[task] = true
}

// Forget ends what Expect began, where the task has not taken its place.
func (w *Warm) Forget(task pleat.TaskID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.coming[task] {
		delete(w.coming, task)
		w.tell()
	}
}

// Freed hears when an accelerator may have become free.
func (w *Warm) Freed() <-chan struct{} { return w.freed }

// tell wakes whoever waits for a slot. The caller holds mu.
func (w *Warm) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
	select {
	case w.freed <- struct{}{}:
	default:
	}
}

// seat is a slot that a job holds. It must be left, once.
type seat struct {
	warm *Warm
	slot *slot
	need int64 // bytes; after an out of memory as much as there is
}

// sit waits for a free slot with room for need bytes, and takes the one that suits best: where the engine is loaded, then one
// that is empty, then the smallest.
func (w *Warm) sit(ctx context.Context, task pleat.TaskID, m *Manifest, model string, need int64) (*seat, *pleat.Failure) {
	for {
		w.mu.Lock()
		if s := w.pick(m, model, need); s != nil && !w.closed {
			s.busy, s.need = true, need
			delete(w.coming, task)
			w.mu.Unlock()
			return &seat{w, s, need}, nil
		}
		changed := w.changed
		w.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, Interrupted(ctx)
		case <-w.stop:
			return nil, pleat.Failed(pleat.FailCrashed, "the worker shut down")
		}
	}
}

func (w *Warm) pick(m *Manifest, model string, need int64) *slot {
	var best *slot
	rank := func(s *slot) int {
		switch p := s.find(m); {
		case p != nil && p.loaded == model:
			return 0
		case p != nil:
			return 1
		case len(s.procs) == 0:
			return 2
		}
		return 3
	}
	for _, s := range w.slots {
		if s.busy || !s.fits(m, w.slots) || s.device.Memory != 0 && need > s.device.Memory {
			continue
		}
		if best == nil || cmp.Or(rank(s)-rank(best), cmp.Compare(s.device.Memory, best.device.Memory)) < 0 {
			best = s
		}
	}
	return best
}

// find is the slot's living process of an engine.
func (s *slot) find(m *Manifest) *process {
	i := slices.IndexFunc(s.procs, func(p *process) bool { return p.manifest == m })
	if i < 0 || !s.procs[i].alive() {
		return nil
	}
	return s.procs[i]
}

// has reports whether the seat has a living process with the model loaded.
func (w *Warm) has(s *seat, m *Manifest, model string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := s.slot.find(m)
	return p != nil && p.loaded == model
}

// process is the seat's process of an engine: the warm one, or a new one. Others that stay loaded make room first, the one
// longest unused before the rest.
func (s *seat) process(ctx context.Context, l launch) (*process, *pleat.Failure) {
	w := s.warm
	w.mu.Lock()
	p := s.slot.find(l.manifest)
	s.slot.procs = slices.DeleteFunc(s.slot.procs, func(o *process) bool {
		dead := !o.alive()
		if dead {
			w.end(o)
		}
		return dead
	})
	ended := w.evict(s.slot, p, s.need)
	w.mu.Unlock()
	for _, o := range ended { // their memory must be free before another process takes it
		w.log.Info("a runner makes room", "engine", o.manifest.Engine, "device", s.slot.device.Name)
		o.close(closePatience)
	}
	if p != nil {
		return p, nil
	}
	l.device = "cpu"
	visible := ""
	if !s.slot.cpu {
		l.device, visible = "cuda:0", s.slot.device.ID
	}
	l.env = append(slices.Clone(l.env), "CUDA_VISIBLE_DEVICES="+visible)
	p, f := start(ctx, l)
	if f != nil {
		if p != nil {
			w.end(p)
		}
		return nil, f
	}
	w.mu.Lock()
	s.slot.procs = append(s.slot.procs, p)
	w.mu.Unlock()
	return p, nil
}

// evict takes processes other than stays out of slots until there is room for need bytes. On the CPU idle processes of every slot
// count, since they share the machine's memory.
func (w *Warm) evict(at *slot, stays *process, need int64) []*process {
	if at.device.Memory == 0 {
		return nil
	}
	type resident struct {
		slot *slot
		p    *process
	}
	var idle []resident
	used := int64(0)
	for _, s := range w.slots {
		if s != at && (!at.cpu || !s.cpu) {
			continue
		}
		if s != at && s.busy {
			used += s.need
			continue
		}
		for _, p := range s.procs {
			if p != stays {
				idle = append(idle, resident{s, p})
				used += p.resident()
			}
		}
	}
	slices.SortFunc(idle, func(a, b resident) int { return a.p.used.Compare(b.p.used) })
	var out []*process
	for _, r := range idle {
		if used+need <= at.device.Memory {
			break
		}
		used -= r.p.resident()
		out = append(out, r.p)
		r.slot.procs = slices.DeleteFunc(r.slot.procs, func(o *process) bool { return o == r.p })
	}
	return out
}

// resident is the memory that an idle process holds: as it says, else what its manifest expects of a model without input.
func (p *process) resident() int64 {
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

// leave gives the slot back, once the process has stopped what it does. A process that is due is replaced.
func (s *seat) leave(p *process, stopped <-chan struct{}) {
	if stopped != nil {
		s.warm.ending.Go(func() { <-stopped; s.leave(p, nil) })
		return
	}
	w := s.warm
	w.mu.Lock()
	defer w.mu.Unlock()
	if p != nil {
		p.used = time.Now()
		if w.closed || !p.alive() || p.due() {
			s.slot.procs = slices.DeleteFunc(s.slot.procs, func(o *process) bool { return o == p })
			w.end(p)
		}
	}
	s.slot.busy, s.slot.need = false, 0
	w.tell()
}

// due reports whether a process has done enough: so many jobs, too much memory, or none is to stay.
func (p *process) due() bool {
	m := p.manifest
	return !m.warm() || p.jobs >= m.RecycleJobs || m.RecycleRSS > 0 && float64(p.memory().RSS) > m.RecycleRSS*1e9
}

// janitor ends processes that were idle for too long, or died while idle.
func (w *Warm) janitor() {
	tick := time.NewTicker(janitorEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
		}
		w.mu.Lock()
		for _, s := range w.slots {
			if s.busy {
				continue
			}
			s.procs = slices.DeleteFunc(s.procs, func(p *process) bool {
				old := !p.alive() || time.Since(p.used) > seconds(p.manifest.IdleTTL)
				if old {
					w.end(p)
				}
				return old
			})
		}
		w.mu.Unlock()
	}
}
