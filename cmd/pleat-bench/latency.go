package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/db"
)

const (
	// creationRate is the average number of jobs created per second while the time to their start is measured.
	creationRate = 50
	// startLimit is how long the last jobs may wait for their start.
	startLimit = time.Minute
)

// latency measures the time from the acknowledgement of a job to the start of its work, by a worker that the service
// wakes itself and, on PostgreSQL, by one that hears of the job from the database, as in another process. The figures
// are times, not ratios: a user feels them. At most 1 ms in the process and 5 ms with PostgreSQL for the median (p50),
// and 50 ms for the 99th percentile (p99).
func (b *bench) latency(ctx context.Context, d database) error {
	bound, places := time.Millisecond, []string{"in the process"}
	if d.server != "" {
		// The database is another process in either case. Other processes with SQLite find their work by polling.
		bound, places = 5*time.Millisecond, append(places, "across processes")
	}
	for i, where := range places {
		waits, err := b.waits(ctx, d, i > 0)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		jobs := fmt.Sprintf("%d jobs at random, %d/s on average", len(waits), creationRate)
		line := line{database: d.name, ceiling: jobs}
		line.what = "creation to start of work " + where + ", p50"
		b.within(line, quantileTime(0.5, waits), bound)
		line.what = "creation to start of work " + where + ", p99"
		b.within(line, quantileTime(0.99, waits), 50*time.Millisecond)
	}
	return nil
}

// waits creates jobs for about 12 times --seconds, at random moments, whether or not earlier jobs have started, and
// returns how long each waited after it was acknowledged. A job that starts before its acknowledgement waited 0. The
// worker has the store of the service or, elsewhere, another one of the same database.
func (b *bench) waits(ctx context.Context, d database, elsewhere bool) (_ []time.Duration, err error) {
	h, err := b.newService(ctx, d, store.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	s := h.store
	if elsewhere {
		if s, err = store.Open(ctx, h.database, store.Options{DB: db.Options{Log: h.log}}); err != nil {
			return nil, err
		}
		h.later(s.DB.Close)
	}
	var mu sync.Mutex
	begun, acked := map[pleat.RunID]time.Time{}, map[pleat.RunID]time.Time{}
	pool, err := newPool(s, h.blobs, h.log, h.dir, func(r pleat.RunID) {
		mu.Lock()
		defer mu.Unlock()
		begun[r] = time.Now()
	})
	if err != nil {
		return nil, err
	}
	h.later(start(ctx, pool.Run))
	<-pool.Ready()
	err = openLoop(ctx, int(max(20, 12*b.seconds*creationRate)), creationRate, func(i int) error {
		created, err := h.store.Runs.CreateJob(ctx, newJob(h.users[i%len(h.users)]))
		at := time.Now()
		mu.Lock()
		defer mu.Unlock()
		acked[created.Run] = at
		return err
	})
	// The last jobs have not all started yet.
	for end := time.Now().Add(startLimit); err == nil; time.Sleep(10 * time.Millisecond) {
		mu.Lock()
		late := len(acked) - len(begun)
		mu.Unlock()
		if late == 0 {
			break
		}
		if time.Now().After(end) {
			err = fmt.Errorf("%d runs did not start within %v", late, startLimit)
		}
	}
	var out []time.Duration
	mu.Lock()
	defer mu.Unlock()
	for run, at := range acked {
		out = append(out, max(0, begun[run].Sub(at)))
	}
	return out, err
}
