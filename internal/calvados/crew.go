package calvados

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// crew is the set of threads that compute the forces of one run: the caller and its helpers, which process numbered
// tasks until none is left. A step lasts some tens of microseconds, less than waking a sleeping thread does, so a
// helper polls for a while before it sleeps.
type crew struct {
	task    func(k int)
	tasks   int64
	next    atomic.Int64
	done    atomic.Int64
	round   atomic.Uint64
	closed  atomic.Bool
	asleep  atomic.Int32
	mu      sync.Mutex
	wake    *sync.Cond
	helpers sync.WaitGroup
}

// newCrew starts threads−1 helpers for rounds of the given number of tasks. close stops them.
func newCrew(threads, tasks int, task func(k int)) *crew {
	c := &crew{task: task, tasks: int64(tasks)}
	c.wake = sync.NewCond(&c.mu)
	c.next.Store(c.tasks)
	for range min(threads, tasks) - 1 {
		c.helpers.Go(c.help)
	}
	return c
}

// run executes every task once and returns when all are done.
func (c *crew) run() {
	c.done.Store(0)
	c.next.Store(0)
	c.round.Add(1)
	if c.asleep.Load() > 0 {
		c.mu.Lock()
		c.wake.Broadcast()
		c.mu.Unlock()
	}
	c.work()
	for spins := 1; c.done.Load() < c.tasks; spins++ {
		if spins%256 == 0 {
			runtime.Gosched()
		}
	}
}

// work executes tasks of the current round until none is left.
func (c *crew) work() {
	for {
		k := c.next.Add(1) - 1
		if k >= c.tasks {
			return
		}
		c.task(int(k))
		c.done.Add(1)
	}
}

// close stops the helpers and waits for them.
func (c *crew) close() {
	c.mu.Lock()
	c.closed.Store(true)
	c.wake.Broadcast()
	c.mu.Unlock()
	c.helpers.Wait()
}

// help is the loop of one helper.
func (c *crew) help() {
	seen := uint64(0)
	for !c.closed.Load() {
		if c.await(&seen) {
			c.work()
		}
	}
}

// await returns true once a new round has begun, false when the crew is closed.
func (c *crew) await(seen *uint64) bool {
	const patience = 30_000 // looks, about 20 µs
	for spins := range patience {
		if r := c.round.Load(); r != *seen {
			*seen = r
			return true
		}
		if spins%4096 == 4095 {
			runtime.Gosched()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asleep.Add(1)
	defer c.asleep.Add(-1)
	for c.round.Load() == *seen {
		if c.closed.Load() {
			return false
		}
		c.wake.Wait()
	}
	*seen = c.round.Load()
	return true
}
