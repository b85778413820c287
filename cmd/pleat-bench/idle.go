package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/engine"
	"pleat/internal/engine/runner"
	"pleat/internal/queue"
	"pleat/internal/seal"
	"pleat/internal/server/workers"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/work"
	"pleat/internal/workerapi"
	"pleat/runners"
)

const (
	// idleJobs is how many jobs run one after the other on one device, and idleResidues how large each is.
	idleJobs, idleResidues = 30, 400
	// idleDelay is added to each call of the distant worker: one round trip to another part of the world.
	idleDelay = 100 * time.Millisecond
	// idleLimit is how long all of them may take.
	idleLimit = 5 * time.Minute
)

// benchRunner is the folder of the runner that measures how long its device is idle.
//
//go:embed runner
var benchRunner embed.FS

// newIdlePool makes a worker of the part. The function ends what it needs.
type newIdlePool func(*service, context.Context, *engine.Registry) (*work.Pool, func() error, error)

// idle measures how long the device of a runner is idle between the end of one prediction and the start of the next,
// while jobs wait: with a worker in the process, with one that calls a server, and with one that is far from it. At
// most 50 ms (median).
func (b *bench) idle(ctx context.Context, d database) error {
	for _, where := range []struct {
		what string
		pool newIdlePool
	}{
		{"worker in the process", (*service).directPool},
		{"worker over HTTP", calledPool(0)},
		{"worker over HTTP, " + short(idleDelay) + " away", calledPool(idleDelay)},
	} {
		idle, all, err := b.idleTimes(ctx, d, where.pool)
		if err != nil {
			return fmt.Errorf("%s: %w", where.what, err)
		}
		ceiling := fmt.Sprintf("%d jobs of %d residues in %s", idleJobs, idleResidues, short(all))
		line := line{database: d.name, ceiling: ceiling}
		line.what = "device idle between two predictions, " + where.what + ", p50"
		b.within(line, quantileTime(0.5, idle), 50*time.Millisecond)
		line.what = "device idle between two predictions, " + where.what + ", p90"
		line.figure = short(quantileTime(0.9, idle))
		b.lines = append(b.lines, line)
	}
	return nil
}

// idleTimes runs the jobs and returns how long the device was idle before each but the first, and how long all took.
func (b *bench) idleTimes(
	ctx context.Context, d database, newPool newIdlePool,
) (_ []time.Duration, all time.Duration, err error) {
	ctx, done := context.WithTimeout(ctx, idleLimit)
	defer done()
	h, err := b.newService(ctx, d, store.Options{})
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	engines, model, err := h.benchEngine()
	if err != nil {
		return nil, 0, err
	}
	defer engines.Close()
	pool, end, err := newPool(h, ctx, engines)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	stop := start(ctx, pool.Run)
	defer func() { err = errors.Join(err, stop()) }()
	<-pool.Ready()
	began := time.Now()
	var jobs []pleat.JobID
	for i := range idleJobs {
		created, err := h.store.Runs.CreateJob(ctx, helixJob(h.users[0], model, i+1))
		if err != nil {
			return nil, 0, err
		}
		jobs = append(jobs, created.Job)
	}
	for _, id := range jobs {
		if err := h.awaitCompleted(ctx, id); err != nil {
			return nil, 0, err
		}
	}
	idle, err := readIdle(filepath.Join(h.dir, "cache", "idle"))
	return idle, time.Since(began), err
}

// benchEngine returns the runner of the benchmark on one accelerator, which it does not use.
func (h *service) benchEngine() (*engine.Registry, pleat.Model, error) {
	dir, cache := filepath.Join(h.dir, "runner"), filepath.Join(h.dir, "cache")
	if err := os.CopyFS(h.dir, benchRunner); err != nil {
		return nil, pleat.Model{}, err
	}
	if err := os.Mkdir(cache, 0o700); err != nil {
		return nil, pleat.Model{}, err
	}
	if _, err := runners.Unpack(filepath.Join(h.dir, "runners")); err != nil {
		return nil, pleat.Model{}, err
	}
	m, err := runner.ReadManifest(dir)
	if err != nil {
		return nil, pleat.Model{}, err
	}
	r := &runner.Runner{
		Manifest:  m,
		Processes: runner.NewProcessPool([]pleat.Device{{ID: "0", Name: "none", Memory: 80e9}}, 0, 0, h.log),
		Library:   runners.Dir(filepath.Join(h.dir, "runners")),
		Cache:     cache,
		Log:       h.log,
	}
	engines, err := engine.New(h.log, r)
	return engines, r.Models()[0], err
}

// directPool returns a worker that reaches the database.
func (h *service) directPool(_ context.Context, engines *engine.Registry) (*work.Pool, func() error, error) {
	return work.New(h.idleConfig("idle"), h.store, h.blobs, engines), func() error { return nil }, nil
}

// calledPool returns a worker that calls a server in this process, each of whose answers takes so much longer.
func calledPool(delay time.Duration) newIdlePool {
	return func(h *service, ctx context.Context, engines *engine.Registry) (*work.Pool, func() error, error) {
		c, end, err := h.workerServer(ctx, delay)
		if err != nil {
			return nil, nil, err
		}
		return work.NewRemote(h.idleConfig(uuid.NewString()), c, c, engines), end, nil
	}
}

// workerServer starts a server for workers, and returns a client of it. The function ends both.
func (h *service) workerServer(ctx context.Context, delay time.Duration) (*workerapi.Client, func() error, error) {
	token, err := workerToken(ctx, h.store)
	if err != nil {
		return nil, nil, err
	}
	ring, err := seal.Load("", filepath.Join(h.dir, "workers.key"))
	if err != nil {
		return nil, nil, err
	}
	blobs := blob.NewMonitor(h.blobs, h.log)
	gateway := workers.New(workers.Config{Store: h.store, Blobs: blobs, Ring: ring, Log: h.log})
	addr, stop, err := serveLoopback(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(delay)
		gateway.ServeHTTP(w, r)
	}))
	if err != nil {
		return nil, nil, err
	}
	run, cancel := context.WithCancel(ctx)
	var duties sync.WaitGroup
	duties.Go(func() { gateway.Run(run) })
	poller := queue.NewPoller(h.store.DB, h.store.Runs, time.Now, h.log, func() {})
	duties.Go(func() { poller.Run(run) })
	c := workerapi.NewClient(workerapi.Options{Server: "http://" + addr, Token: token, Log: h.log})
	return c, func() error {
		c.Close(context.WithoutCancel(ctx))
		gateway.EndWaits()
		err := stop()
		cancel()
		duties.Wait()
		return err
	}, nil
}

// idleConfig is the configuration of a worker of the part.
func (h *service) idleConfig(id string) work.Config {
	return work.Config{
		ID:      pleat.WorkerID(id),
		Host:    "bench",
		Devices: []pleat.Device{{ID: "0", Name: "none", Memory: 80e9}},
		Dir:     filepath.Join(h.dir, "scratch"),
		Log:     h.log,
	}
}

// helixJob returns a job of a chain of alanine.
func helixJob(by people.Reach, m pleat.Model, seed int) runs.NewJob {
	text := strconv.Itoa(seed)
	return foldJob(by, m, "helix", strings.Repeat("A", idleResidues), text, map[string]any{"seed": text})
}

// awaitCompleted waits until a job is COMPLETED.
func (h *service) awaitCompleted(ctx context.Context, id pleat.JobID) error {
	for {
		v, err := h.store.Runs.View(ctx, id)
		switch {
		case err != nil:
			return err
		case v.Job.State == pleat.StateCompleted:
			return nil
		case v.Job.State.Terminal():
			return fmt.Errorf("job %s is %s: %v", id, v.Job.State, v.Run.Failure)
		case !queue.Sleep(ctx, 20*time.Millisecond):
			return fmt.Errorf("job %s is %s: %w", id, v.Job.State, ctx.Err())
		}
	}
}

// readIdle reads the times that the runner has written, in seconds.
func readIdle(path string) ([]time.Duration, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []time.Duration
	for line := range strings.Lines(string(text)) {
		s, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
		if err != nil {
			return nil, err
		}
		out = append(out, pleat.Seconds(s))
	}
	if len(out) != idleJobs-1 {
		return nil, fmt.Errorf("the device was idle %d times between %d jobs", len(out), idleJobs)
	}
	slices.Sort(out)
	return out, nil
}
