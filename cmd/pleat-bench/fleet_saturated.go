package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"pleat"
	"pleat/internal/store"
)

const (
	// ceilingCallers is how many goroutines claim and finish by the store alone, and eagerWorkers how many workers do
	// so by the server, with folds that take no time.
	ceilingCallers = 16
	eagerWorkers   = 128
	// eagerRounds is how often the two are measured in alternation, eagerSeconds times --seconds each.
	eagerRounds  = 3
	eagerSeconds = 3
)

// saturated measures what workers claim and finish whose folds take no time. The store alone, in this process, is
// measured in alternation.
func (f *fleetBench) saturated(ctx context.Context) error {
	eager := newCrowd(f.server.addr, f.token, eagerWorkers, 0)
	defer eager.close()
	if _, err := eager.register(ctx); err != nil {
		return err
	}
	seconds := eagerSeconds * f.seconds
	var alone, over []pace
	var spent time.Duration
	var finished int64
	for range eagerRounds {
		rate, err := f.ceiling(ctx, seconds)
		if err != nil {
			return err
		}
		alone = append(alone, rate)
		before, err := processTime(f.server.pid())
		if err != nil {
			return err
		}
		n, took, err := f.eager(ctx, eager, seconds)
		if err != nil {
			return err
		}
		after, err := processTime(f.server.pid())
		if err != nil {
			return err
		}
		spent, finished = spent+after-before, finished+n
		over = append(over, pace{rate: float64(n) / took.Seconds()})
		f.say("claim and finish: the store alone %.0f/s, the server %.0f/s", alone[len(alone)-1].rate,
			over[len(over)-1].rate)
	}
	rate := func(list []pace) string { return fmt.Sprintf("%.0f/s", quantile(0.5, rates(list))) }
	f.atLeast(line{
		what:     fmt.Sprintf("claim and finish over HTTP, %d workers that fold nothing", eagerWorkers),
		database: f.database.name,
		figure:   fmt.Sprintf("%s (%s of the server's CPU)", rate(over), short(spent/time.Duration(max(finished, 1)))),
		ceiling:  fmt.Sprintf("store alone, %d goroutines %s", ceilingCallers, rate(alone)),
	}, medianRatio(over, alone), 0.4)
	return nil
}

// rates returns the rates of some paces.
func rates(list []pace) (out []float64) {
	for _, p := range list {
		out = append(out, p.rate)
	}
	return out
}

// ceiling claims and finishes by the store for some seconds.
func (f *fleetBench) ceiling(ctx context.Context, seconds float64) (pace, error) {
	var done atomic.Int64
	errs := make([]error, ceilingCallers)
	began := time.Now()
	end := began.Add(time.Duration(seconds * float64(time.Second)))
	var wg sync.WaitGroup
	for i := range ceilingCallers {
		wg.Go(func() {
			worker := pleat.WorkerID(uuid.NewString())
			for time.Now().Before(end) && errs[i] == nil {
				if errs[i] = f.claimAndFinish(ctx, worker); errs[i] == nil {
					done.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return pace{rate: float64(done.Load()) / time.Since(began).Seconds()}, errors.Join(errs...)
}

var errNoTasks = errors.New("no task is left in the queue; raise --fleet-jobs")

// claimAndFinish does by the store what a worker does in two calls.
func (f *fleetBench) claimAndFinish(ctx context.Context, worker pleat.WorkerID) error {
	got, err := f.store.Claim(ctx, worker, store.ClaimFilter{Queues: []string{nullQueue}, N: 1})
	if err != nil {
		return err
	}
	if len(got) == 0 {
		return errNoTasks
	}
	return f.store.FinishRun(ctx, store.LeaseOf(&got[0].Task), store.RunFinished{
		State:  pleat.StateCompleted,
		Result: &pleat.Result{},
		Engine: "null 1",
		MSA:    pleat.StatePending,
	})
}

// eager lets workers claim and finish for some seconds. It returns how many tasks they finished.
func (f *fleetBench) eager(ctx context.Context, c *crowd, seconds float64) (n int64, took time.Duration, err error) {
	c.enter(&phase{})
	stop := c.work(ctx, 0)
	began, before := time.Now(), c.finishes.Load()
	err = pauseFor(ctx, time.Duration(seconds*float64(time.Second)))
	n, took = c.finishes.Load()-before, time.Since(began)
	c.enter(&phase{last: true})
	return n, took, errors.Join(err, stop(settleWait), c.failure())
}
