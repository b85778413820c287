package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/blob"
	"pleat/internal/config"
	"pleat/internal/store"
	"pleat/internal/store/db"
)

// creationRate is the average number of jobs created per second while the time to their start is measured.
const creationRate = 50

// startLimit is how long the last jobs may wait for their start.
const startLimit = time.Minute

// latency measures the time from the acknowledgement of a job to the start of its work, by a worker in the process and,
// on PostgreSQL, by one in another process. The figures are times, not ratios: a user feels them. At most 1 ms in the
// process and 5 ms with PostgreSQL for the median (p50), and 50 ms for the 99th percentile (p99).
func (b *bench) latency(ctx context.Context, d database) error {
	where := []struct {
		what  string
		p50   time.Duration // target
		start startWorker
	}{
		{"in the process", time.Millisecond, (*service).workInProcess},
		{"across processes", 5 * time.Millisecond, (*service).workInOtherProcess},
	}
	if d.name == "sqlite" {
		where = where[:1] // other processes find their work by polling
	} else {
		where[0].p50 = where[1].p50 // the database is another process in either case
	}
	for _, w := range where {
		waits, err := b.waits(ctx, d, w.start)
		if err != nil {
			return fmt.Errorf("%s: %w", w.what, err)
		}
		jobs := fmt.Sprintf("%d jobs at random, %d/s on average", len(waits), creationRate)
		line := line{database: d.name, ceiling: jobs}
		line.what = "creation to start of work " + w.what + ", p50"
		b.within(line, quantileTime(0.5, waits), w.p50)
		line.what = "creation to start of work " + w.what + ", p99"
		b.within(line, quantileTime(0.99, waits), 50*time.Millisecond)
	}
	return nil
}

// startWorker starts a worker that calls began at the start of each run, with the time in microseconds since 1970. It
// returns when the worker can claim jobs. stop ends the worker.
type startWorker func(
	h *service, ctx context.Context, began func(run pleat.RunID, us int64),
) (stop func() error, err error)

// waits creates jobs for about 12 times --seconds, at random moments, whether or not earlier jobs have started, and
// returns how long each waited after it was acknowledged. A job that starts before its acknowledgement waited 0.
func (b *bench) waits(ctx context.Context, d database, start startWorker) (_ []time.Duration, err error) {
	h, err := b.newService(ctx, d, store.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	var mu sync.Mutex
	begun, acked := map[pleat.RunID]int64{}, map[pleat.RunID]int64{} // microseconds
	stop, err := start(h, ctx, func(r pleat.RunID, at int64) {
		mu.Lock()
		defer mu.Unlock()
		begun[r] = at
	})
	if err != nil {
		return nil, err
	}
	create := func(i int) error {
		made, err := h.store.Runs.CreateJob(ctx, newJob(h.users[i%len(h.users)]))
		at := time.Now().UnixMicro()
		mu.Lock()
		defer mu.Unlock()
		acked[made.Run] = at
		return err
	}
	err = openLoop(ctx, int(max(20, 12*b.seconds*creationRate)), create)
	// The last jobs have not all started yet.
	for end := time.Now().Add(startLimit); err == nil && time.Now().Before(end); {
		mu.Lock()
		n := len(acked) - len(begun)
		mu.Unlock()
		if n == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := errors.Join(err, stop()); err != nil {
		return nil, err
	}
	var out []time.Duration
	for run, at := range acked {
		if begun[run] == 0 {
			return nil, fmt.Errorf("run %s did not start within %v", run, startLimit)
		}
		out = append(out, time.Duration(max(0, begun[run]-at))*time.Microsecond)
	}
	return out, nil
}

// openLoop calls create n times, at random moments (a Poisson process of creationRate), without waiting for earlier
// calls: a slow service does not slow its users down.
func openLoop(ctx context.Context, n int, create func(i int) error) error {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // arrivals, not secrets
	errs := make([]error, n)
	var wg sync.WaitGroup
	next := time.Now()
	for i := range n {
		next = next.Add(time.Duration(random.ExpFloat64() / creationRate * float64(time.Second)))
		time.Sleep(time.Until(next))
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() { errs[i] = create(i) })
	}
	wg.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}

// workInProcess is a startWorker: the worker runs in this process, with the store of the service.
func (h *service) workInProcess(ctx context.Context, began func(pleat.RunID, int64)) (func() error, error) {
	pool, err := newPool(h.store, h.blobs, h.log, h.dir, func(r pleat.RunID) { began(r, time.Now().UnixMicro()) })
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- pool.Run(ctx) }()
	<-pool.Ready()
	return func() error { cancel(); return <-ended }, nil
}

// workInOtherProcess is a startWorker: the worker runs in another process, which prints the identifier and the start of
// each run on its standard output.
func (h *service) workInOtherProcess(ctx context.Context, began func(pleat.RunID, int64)) (func() error, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, self, "--worker", h.dir)
	c.Env = append(os.Environ(), "PLEAT_DATABASE="+h.database)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	// ended is closed when the process closes its output, even if it never was ready.
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			run, at, _ := strings.Cut(lines.Text(), " ")
			if us, err := strconv.ParseInt(at, 10, 64); err == nil {
				began(pleat.RunID(run), us)
			} else if run == "ready" {
				close(ready)
			}
		}
	}()
	select {
	case <-ready:
	case <-ended:
	}
	return func() error { _ = in.Close(); <-ended; return c.Wait() }, nil
}

// runWorkerProcess is the other process of workInOtherProcess. It prints "ready", then a line "RUN MICROSECONDS" for
// each run that starts, and works until its standard input ends.
func runWorkerProcess(cmd *cobra.Command, dir, database string) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	go func() { _, _ = io.Copy(io.Discard, cmd.InOrStdin()); stop() }() // ends with the parent, however that ends
	out := cmd.OutOrStdout()
	quiet := config.Default()
	quiet.LogLevel = "warn"
	log := app.NewLog(cmd.ErrOrStderr(), quiet)
	s, err := store.Open(ctx, database, store.Options{DB: db.Options{Log: log}})
	if err != nil {
		return err
	}
	defer s.DB.Close()
	blobs, err := blob.Open(ctx, "dir:"+filepath.Join(dir, "blobs"))
	if err != nil {
		return err
	}
	var mu sync.Mutex // one line at a time
	pool, err := newPool(s, blobs, log, filepath.Join(dir, "elsewhere"), func(r pleat.RunID) {
		at := time.Now().UnixMicro()
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(out, r, at)
	})
	if err != nil {
		return err
	}
	go func() {
		<-pool.Ready()
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(out, "ready")
	}()
	return pool.Run(ctx)
}
