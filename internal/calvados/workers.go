package calvados

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// workerPool is the threads that compute the forces of one run: the caller of run and its helpers, which execute
// numbered tasks until none is left. A step lasts some tens of microseconds, less than waking a sleeping thread does,
// so a helper polls for a while before it sleeps.
type workerPool struct {
	task    func(k int)
	tasks   int64
	next    atomic.Int64  // task to start next in this round
	done    atomic.Int64  // tasks of this round that have ended
	round   atomic.Uint64 // rises with each run
	closed  atomic.Bool
	asleep  atomic.Int32 // helpers that wait for wake
	mu      sync.Mutex   // of wake
	wake    *sync.Cond   // a new round, or closed
	helpers sync.WaitGroup
}

// newWorkerPool starts threads−1 helpers for rounds of the given number of tasks. close stops them.
func newWorkerPool(threads, tasks int, task func(k int)) *workerPool {
	p := &workerPool{task: task, tasks: int64(tasks)}
	p.wake = sync.NewCond(&p.mu)
	p.next.Store(p.tasks)
	for range min(threads, tasks) - 1 {
		p.helpers.Go(p.help)
	}
	return p
}

// run executes every task once and returns when all are done.
func (p *workerPool) run() {
	p.done.Store(0)
	p.next.Store(0)
	p.round.Add(1)
	if p.asleep.Load() > 0 {
		p.mu.Lock()
		p.wake.Broadcast()
		p.mu.Unlock()
	}
	p.work()
	for spins := 1; p.done.Load() < p.tasks; spins++ {
		if spins%256 == 0 {
			runtime.Gosched()
		}
	}
}

// work executes tasks of the current round until none is left.
func (p *workerPool) work() {
	for {
		k := p.next.Add(1) - 1
		if k >= p.tasks {
			return
		}
		p.task(int(k))
		p.done.Add(1)
	}
}

// close stops the helpers and waits for them.
func (p *workerPool) close() {
	p.mu.Lock()
	p.closed.Store(true)
	p.wake.Broadcast()
	p.mu.Unlock()
	p.helpers.Wait()
}

// help is the loop of one helper.
func (p *workerPool) help() {
	seen := uint64(0)
	for !p.closed.Load() {
		if p.await(&seen) {
			p.work()
		}
	}
}

// await returns true once a new round has begun, false when the pool is closed.
func (p *workerPool) await(seen *uint64) bool {
	const patience = 30_000 // polls, about 20 µs
	for spins := range patience {
		if r := p.round.Load(); r != *seen {
			*seen = r
			return true
		}
		if spins%4096 == 4095 {
			runtime.Gosched()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asleep.Add(1)
	defer p.asleep.Add(-1)
	for p.round.Load() == *seen {
		if p.closed.Load() {
			return false
		}
		p.wake.Wait()
	}
	*seen = p.round.Load()
	return true
}
