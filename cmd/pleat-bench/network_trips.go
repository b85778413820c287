package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"pleat"
	"pleat/internal/store"
)

const (
	// tripCalls is how often the round trips of a verb are counted; the median counts. The first calls, tripWarmUp,
	// prepare the statements on the connections.
	tripCalls  = 9
	tripWarmUp = 6
	// tripGroup is the number of tasks in a group.
	tripGroup = 16
	// tripQuiet is how long no round trip ends once nothing is under way.
	tripQuiet = 6 * (2 * networkDelay)
)

// verb is a call whose round trips are counted.
type verb struct {
	what  string
	bound int // of the round trips that a caller waits for
	// prepare makes what do needs; nil: nothing. Its round trips do not count.
	prepare func() error
	do      func() error
}

// count adds a line with the round trips of a verb on the side with the delay: those that had ended when the call
// returned, for which it waited, and those that the call caused in all. NOTIFY comes after the commit and makes one
// more.
func (n *networkBench) count(v verb) error {
	var waited, all []float64
	for i := range tripCalls + tripWarmUp {
		if v.prepare != nil {
			if err := v.prepare(); err != nil {
				return fmt.Errorf("%s: %w", v.what, err)
			}
		}
		n.settle()
		before := n.proxies[1].trips.Load()
		if err := v.do(); err != nil {
			return fmt.Errorf("%s: %w", v.what, err)
		}
		after := n.proxies[1].trips.Load()
		n.settle()
		if i >= tripWarmUp {
			waited = append(waited, float64(after-before))
			all = append(all, float64(n.proxies[1].trips.Load()-before))
		}
	}
	trips := quantile(0.5, waited)
	n.lines = append(n.lines, line{
		what:     "round trips of " + v.what,
		database: n.database.name,
		figure:   fmt.Sprintf("%.0f", trips),
		ceiling:  fmt.Sprintf("%.0f with those after the answer", quantile(0.5, all)),
		target:   fmt.Sprintf("≤ %d", v.bound),
		met:      trips <= float64(v.bound),
	})
	return nil
}

// settle returns when no round trip has ended for tripQuiet.
func (n *networkBench) settle() {
	for last := int64(-1); last != n.proxies[1].trips.Load(); time.Sleep(tripQuiet) {
		last = n.proxies[1].trips.Load()
	}
}

// verbs counts the round trips of the store's verbs.
func (n *networkBench) verbs(ctx context.Context) error {
	h := n.sides[1]
	c := &tripCounter{h: h, ctx: ctx}
	for _, list := range [][]verb{c.ofTasks(), c.ofDeliveries()} {
		for _, v := range list {
			if err := n.count(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// tripCounter calls the verbs of the store of the side with the delay.
type tripCounter struct {
	h   *deliveryService
	ctx context.Context
	// held are the tasks that the worker bench holds for the next call.
	held []store.ClaimedTask
	// deliveries are those that it holds.
	deliveries []store.ClaimedDelivery
}

// ofTasks are the verbs of jobs and their tasks.
func (c *tripCounter) ofTasks() []verb {
	group := slices.Repeat([]pleat.WorkerID{"bench"}, tripGroup)
	for i := range group {
		group[i] += pleat.WorkerID(fmt.Sprint("-", i))
	}
	many := fmt.Sprintf("%d", tripGroup)
	return []verb{
		{what: "creating a job", bound: 2, do: func() error {
			_, err := c.h.store.CreateJob(c.ctx, newJob(c.h.users[0]))
			return err
		}},
		{
			what:    "claiming a task",
			bound:   1,
			prepare: c.queueOf(1),
			do:      c.claim("bench"),
		},
		{
			what:    "claiming " + many + " tasks for one worker",
			bound:   1,
			prepare: c.queueOf(tripGroup),
			do:      c.claim(slices.Repeat([]pleat.WorkerID{"bench"}, tripGroup)...),
		},
		{
			what:    "claiming " + many + " tasks for as many workers",
			bound:   1,
			prepare: c.queueOf(tripGroup),
			do:      c.claim(group...),
		},
		{
			what:    "a heartbeat of " + many + " leases",
			bound:   1,
			prepare: c.hold(tripGroup),
			do:      func() error { return c.beat(nil) },
		},
		{
			what:    "a heartbeat of " + many + " leases with progress",
			bound:   1,
			prepare: c.hold(tripGroup),
			do: func() error {
				return c.beat([]pleat.Progress{{Kind: pleat.ProgressStage, Stage: "infer", Done: 1, Total: 4}})
			},
		},
		{
			what:    "finishing a run with 10 files and a delivery",
			bound:   2,
			prepare: c.hold(1),
			do:      c.finish,
		},
	}
}

// beat sends a heartbeat of the tasks that are held, each with the same progress.
func (c *tripCounter) beat(progress []pleat.Progress) error {
	var list []pleat.Heartbeat
	for _, k := range c.held {
		list = append(list, pleat.Heartbeat{
			Task:     k.Task.ID,
			Attempt:  k.Task.Attempt,
			Run:      k.Task.Run,
			Progress: progress,
		})
	}
	_, err := c.h.store.Heartbeat(c.ctx, "bench", list)
	return err
}

// queueOf returns a prepare that leaves n tasks queued and none held.
func (c *tripCounter) queueOf(n int) func() error {
	return func() error {
		c.held = nil
		if err := c.h.endQueued(c.ctx, math.MaxInt); err != nil {
			return err
		}
		return inParallel(n, func(i int) error {
			return c.h.createJob(c.ctx, i%len(c.h.users))
		})
	}
}

// hold returns a prepare that lets the worker bench hold n new tasks.
func (c *tripCounter) hold(n int) func() error {
	return func() error {
		if err := c.queueOf(n)(); err != nil {
			return err
		}
		return c.claim(slices.Repeat([]pleat.WorkerID{"bench"}, n)...)()
	}
}

// claim returns a call that claims a task for each of the workers.
func (c *tripCounter) claim(workers ...pleat.WorkerID) func() error {
	return func() error {
		list, err := c.h.store.ClaimFor(c.ctx, workers, store.ClaimFilter{Queues: []string{nullQueue}})
		if err == nil && len(list) != len(workers) {
			err = fmt.Errorf("%d of %d tasks were claimed", len(list), len(workers))
		}
		c.held = list
		return err
	}
}

// finish ends the first task that is held.
func (c *tripCounter) finish() error {
	k := &c.held[0]
	return c.h.store.FinishRun(c.ctx, store.LeaseOf(&k.Task), resultOf(k))
}

// ofDeliveries are the verbs of deliveries.
func (c *tripCounter) ofDeliveries() []verb {
	due := func() error {
		if err := c.hold(tripGroup)(); err != nil {
			return err
		}
		return inParallel(len(c.held), func(i int) error {
			k := &c.held[i]
			return c.h.store.FinishRun(c.ctx, store.LeaseOf(&k.Task), resultOf(k))
		})
	}
	claim := func() error {
		got, err := c.h.store.ClaimDeliveries(c.ctx, "bench", "", 64*len(c.h.users),
			store.DeliveryLimits{Window: 64, Owner: 64})
		c.deliveries = got.List
		if err == nil && len(c.deliveries) < tripGroup {
			err = fmt.Errorf("%d of %d deliveries were claimed", len(c.deliveries), tripGroup)
		}
		return err
	}
	finish := func() error {
		var list []store.DeliveryOutcome
		for _, k := range c.deliveries {
			list = append(list, store.DeliveryOutcome{Claimed: k, OK: true, Status: 200})
		}
		return c.h.store.FinishDeliveries(c.ctx, "bench", list,
			func(e store.Endpoint, _ []store.DeliveryOutcome, _ time.Time) store.EndpointUpdate {
				return store.EndpointUpdate{Health: e.Health, RetryAt: e.ResumeAt}
			})
	}
	return []verb{
		{
			what:    fmt.Sprintf("claiming %d deliveries", tripGroup),
			bound:   1,
			prepare: due,
			do:      claim,
		},
		{
			what:  fmt.Sprintf("the outcomes of %d deliveries", tripGroup),
			bound: 1,
			prepare: func() error {
				if err := due(); err != nil {
					return err
				}
				return claim()
			},
			do: finish,
		},
	}
}
