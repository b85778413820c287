package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"pleat"
	"pleat/internal/store"
)

const (
	// steadyWorkers is how many workers do the steady work, each of which creates as many jobs as it claims.
	steadyWorkers = 16
	// steadyFold is how long a worker holds a task, and steadyBeat the time between its heartbeats.
	steadyFold = 8 * time.Second
	steadyBeat = 5 * time.Second
	// steadyLate is how far a worker may fall behind its rate before it gives up what it has missed.
	steadyLate = time.Second
	// maximumSeconds is how long the rate that the machine can do is measured, times --seconds.
	maximumSeconds = 10
)

// steady works on the large database for some minutes, and adds the lines of growthSamples.
func (g *growthBench) steady(ctx context.Context) (err error) {
	h := g.sides[1]
	stop := h.deliver(ctx)
	defer func() { err = errors.Join(err, stop()) }()
	rate := g.sizes.rate
	if rate == 0 {
		most, err := g.maximum(ctx)
		if err != nil {
			return err
		}
		g.say("at most %.0f jobs/s from creation to delivery", most)
		rate = most / 2
	}
	s := &steadyWork{h: h}
	samples, err := newGrowthSamples(ctx, g, s)
	if err != nil {
		return err
	}
	took := time.Duration(g.sizes.minutes * float64(time.Minute))
	work, cancel := context.WithTimeout(ctx, took)
	defer cancel()
	watched := make(chan error, 1)
	go func() {
		err := samples.run(ctx, took)
		if err != nil {
			cancel()
		}
		watched <- err
	}()
	err = s.run(work, ctx, rate)
	if err := errors.Join(err, <-watched); err != nil {
		return err
	}
	g.lines = append(g.lines, line{
		what:     fmt.Sprintf("jobs from creation to delivery in %g minutes of steady work", g.sizes.minutes),
		database: g.database.name,
		figure:   fmt.Sprintf("%.1f/s", float64(s.taken.Load())/took.Seconds()),
		ceiling:  fmt.Sprintf("asked for %.1f/s", rate),
	})
	samples.judge()
	return nil
}

// maximum returns how many jobs per second the machine takes from their creation to their delivery, where each gets one
// heartbeat.
func (g *growthBench) maximum(ctx context.Context) (float64, error) {
	h := g.sides[1]
	if err := awaitDelivered(ctx, g.dbs[1]); err != nil { // what the comparison has left
		return 0, err
	}
	began := time.Now()
	end := began.Add(time.Duration(maximumSeconds * g.seconds * float64(time.Second)))
	var done atomic.Int64
	errs := make([]error, steadyWorkers)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			w := steadyWorker{h: h, id: steadyID(i)}
			for n := i; time.Now().Before(end) && errs[i] == nil; n += steadyWorkers {
				if errs[i] = errors.Join(w.take(ctx, n), w.beat(ctx), w.finish(ctx, math.MaxInt64)); errs[i] == nil {
					done.Add(1)
				}
			}
		})
	}
	wg.Wait()
	err := errors.Join(errs...)
	if err == nil {
		err = awaitDelivered(ctx, g.dbs[1])
	}
	return float64(done.Load()) / time.Since(began).Seconds(), err
}

// steadyID names a worker.
func steadyID(i int) pleat.WorkerID { return pleat.WorkerID(fmt.Sprintf("steady-%d", i)) }

// endQueued ends up to n queued runs, from the head of the queue.
func (h *service) endQueued(ctx context.Context, n int) error {
	for n > 0 {
		list, err := h.store.Claim(ctx, "bench", store.ClaimFilter{Queues: []string{nullQueue}, N: clients})
		if err != nil || len(list) == 0 {
			return err
		}
		n -= len(list)
		err = inParallel(len(list), func(i int) error {
			return h.store.FinishRun(ctx, store.LeaseOf(&list[i].Task), resultOf(&list[i]))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// steadyWork is work at a fixed rate: jobs are created, as many are claimed, held for steadyFold with heartbeats, and
// finished.
type steadyWork struct {
	h     *deliveryService
	taken atomic.Int64 // jobs that were created, and as many claimed
}

// run works until the context work ends, and then ends what is held.
func (s *steadyWork) run(work, ctx context.Context, rate float64) error {
	errs := make([]error, steadyWorkers)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = s.worker(work, ctx, i, rate/steadyWorkers) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// worker is one worker with a rate of its own.
func (s *steadyWork) worker(work, ctx context.Context, i int, rate float64) error {
	w := steadyWorker{h: s.h, id: steadyID(i)}
	every := time.Duration(float64(time.Second) / rate)
	next := time.Now().Add(time.Duration(i) * every / steadyWorkers)
	beat := time.Now().Add(steadyBeat)
	for n := i; ; n += steadyWorkers {
		if err := pauseFor(work, time.Until(next)); err != nil {
			break
		}
		if next = next.Add(every); time.Since(next) > steadyLate {
			next = time.Now()
		}
		err := w.take(ctx, n)
		if err == nil && time.Now().After(beat) {
			beat = time.Now().Add(steadyBeat)
			err = w.beat(ctx)
		}
		if err == nil {
			err = w.finish(ctx, time.Now().Add(-steadyFold).UnixMicro())
		}
		if err != nil {
			return err
		}
		s.taken.Add(1)
	}
	return w.finish(ctx, math.MaxInt64)
}

// steadyWorker is a worker of steadyWork.
type steadyWorker struct {
	h    *deliveryService
	id   pleat.WorkerID
	held []heldFold // in the order of their claims
}

// heldFold is a task with the time of its claim in microseconds.
type heldFold struct {
	store.ClaimedTask
	at int64
}

// take creates the n-th job and claims a task.
func (w *steadyWorker) take(ctx context.Context, n int) error {
	if err := w.h.createJob(ctx, n%len(w.h.users)); err != nil {
		return err
	}
	list, err := w.h.store.Claim(ctx, w.id, store.ClaimFilter{Queues: []string{nullQueue}, N: 1})
	if err == nil && len(list) == 0 {
		err = errNoTasks
	}
	for _, c := range list {
		w.held = append(w.held, heldFold{c, time.Now().UnixMicro()})
	}
	return err
}

// beat renews the leases of all tasks that are held, with the progress of each.
func (w *steadyWorker) beat(ctx context.Context) error {
	var list []pleat.Heartbeat
	for i := range w.held {
		list = append(list, beatsOf(&w.held[i].ClaimedTask)...)
	}
	_, err := w.h.store.Heartbeat(ctx, w.id, list)
	return err
}

// beatsOf is the heartbeat of a fold that reports a stage.
func beatsOf(c *store.ClaimedTask) []pleat.Heartbeat {
	return []pleat.Heartbeat{{
		Task:     c.Task.ID,
		Attempt:  c.Task.Attempt,
		Run:      c.Task.Run,
		Progress: []pleat.Progress{{Kind: pleat.ProgressStage, Stage: "infer", Done: 1, Total: 4}},
	}}
}

// finish ends the tasks that were claimed before a time in microseconds.
func (w *steadyWorker) finish(ctx context.Context, before int64) error {
	for len(w.held) > 0 && w.held[0].at < before {
		c := &w.held[0].ClaimedTask
		if err := w.h.store.FinishRun(ctx, store.LeaseOf(&c.Task), resultOf(c)); err != nil {
			return err
		}
		w.held = w.held[1:]
	}
	return nil
}
