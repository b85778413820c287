package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"pleat"
	"pleat/internal/queue"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/store/workers"
)

// fleetSizes are the sizes of the part fleet.
type fleetSizes struct {
	// jobs is how many are queued at the start, and workers how many call the server.
	jobs, workers int
	// fold is the mean duration of a fold, and steady how long its load is measured, both in seconds.
	fold, steady float64
}

// flags defines the flags of the sizes. The defaults take about two minutes.
func (z *fleetSizes) flags(f *pflag.FlagSet) {
	f.IntVar(&z.jobs, "fleet-jobs", 50_000, "jobs that are queued in the part fleet; in full 1000000")
	f.IntVar(&z.workers, "fleet-workers", 500, "workers of the part fleet; in full 10000")
	f.Float64Var(&z.fold, "fleet-fold", 10, "mean seconds of a fold in the part fleet; in full 60")
	f.Float64Var(&z.steady, "fleet-seconds", 20, "seconds of the steady load in the part fleet; in full 120")
}

// check refuses sizes that measure nothing.
func (z *fleetSizes) check() error {
	if z.jobs < 1000 || z.workers < 1 || z.fold <= 0 || z.steady <= 0 {
		return errors.New("--fleet-jobs must be at least 1000, --fleet-workers at least 1, and --fleet-fold and " +
			"--fleet-seconds above 0")
	}
	return nil
}

const (
	// fleetUsers is how many users own the queued jobs.
	fleetUsers = 1000
	// spareFiles is how many open files the process needs besides the sockets of the workers.
	spareFiles = 300
	// gatherWait is how long all workers may take to hold a task before they finish at once, besides a second for each
	// hundred of them, and settleWait how long all calls may take to end.
	gatherWait = 2 * time.Minute
	settleWait = 5 * time.Minute
)

// fleet measures a pleat serve process that many workers call over HTTP, each in the protocol of workers, with folds
// that sleep. The workers are in this process, the server is another, and the database is PostgreSQL: SQLite is not
// measured, since a service of this size does not use it. No call may fail after its repetitions, and no lease may be
// lost.
func (b *bench) fleet(ctx context.Context, d database) (err error) {
	if d.server == "" {
		return nil
	}
	if !reportsProcesses() {
		l := line{what: "workers over HTTP", database: d.name, unmeasured: "this system does not report processes"}
		b.lines = append(b.lines, l)
		return nil
	}
	f := &fleetBench{bench: b, sizes: b.fleetSizes, database: d}
	defer func() { err = errors.Join(err, f.close()) }()
	for _, step := range []func(context.Context) error{f.open, f.begin, f.steady, f.storm} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fleetBench is one run of the part.
type fleetBench struct {
	*bench
	sizes    fleetSizes
	database database
	db       *sql.DB
	server   *serverProcess
	rest     int64 // memory of the server before any worker called
	crowd    *crowd
	closers
}

// say prints a line of progress.
func (f *fleetBench) say(format string, args ...any) {
	fmt.Fprintf(f.progress, "  "+format+"\n", args...)
}

// open starts a server that runs no jobs itself, with a token for workers, and queues the jobs.
func (f *fleetBench) open(ctx context.Context) error {
	dir, err := os.MkdirTemp(f.dir, "fleet-")
	if err != nil {
		return err
	}
	address, drop, err := f.database.create(ctx, dir)
	if err != nil {
		return err
	}
	f.later(drop)
	if f.server, _, err = f.newServer(ctx, dir, named(address, serverName), "mini", "--work=false"); err != nil {
		return err
	}
	f.later(func() error { return errors.Join(f.server.stop(), f.server.complaints(f.progress)) })
	database := named(address, "pleat-bench")
	s, err := store.Open(ctx, database, store.Options{})
	if err != nil {
		return err
	}
	f.later(s.DB.Close)
	if f.db, err = sql.Open("pgx", database); err != nil {
		return err
	}
	f.later(f.db.Close)
	token, err := workerToken(ctx, s)
	if err != nil {
		return err
	}
	watches, err := f.allowedWatches()
	if err != nil {
		return err
	}
	f.crowd = newCrowd(f.server.addr, token, f.sizes.workers, watches, f.mean())
	f.later(func() error { f.crowd.close(); return nil })
	if err := f.fill(ctx); err != nil {
		return err
	}
	f.rest, err = f.server.resident()
	return err
}

// serverName is the application_name of the server's connections.
const serverName = "pleat"

// named returns an address of PostgreSQL with an application_name.
func named(address, name string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address // what opens it reports the error
	}
	q := u.Query()
	q.Set("application_name", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// allowedWatches returns how many workers can hold a watch. A worker has two sockets, one with its held watch and one
// with its other calls, and the system may allow too few open files.
func (f *fleetBench) allowedWatches() (int, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, err
	}
	n := min(f.sizes.workers, int(limit.Cur)-f.sizes.workers-spareFiles) //nolint:gosec // at most a few millions
	if n < 0 {
		return 0, fmt.Errorf("%d open files are too few for %d workers", limit.Cur, f.sizes.workers)
	}
	if n < f.sizes.workers {
		f.say("only %d of %d workers hold a watch: the system allows %d open files", n, f.sizes.workers, limit.Cur)
	}
	return n, nil
}

// fill queues the jobs.
func (f *fleetBench) fill(ctx context.Context) error {
	began := time.Now()
	jobs := queuedJobs{n: f.sizes.jobs}
	for i := range fleetUsers {
		jobs.users = append(jobs.users, fmt.Sprintf("user-%d", i))
	}
	_, err := f.db.ExecContext(ctx, `
		INSERT INTO account (id, name, created_at) SELECT u, u, 0 FROM unnest($1::text[]) u`, jobs.users)
	if err := errors.Join(err, jobs.fill(ctx, f.db)); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	took := time.Since(began)
	f.say("%d jobs were queued in %s", f.sizes.jobs, short(took))
	f.add(line{
		what:    fmt.Sprintf("queueing %d jobs of %d users by SQL", f.sizes.jobs, fleetUsers),
		figure:  short(took),
		ceiling: fmt.Sprintf("%.0f/s", float64(f.sizes.jobs)/took.Seconds()),
	})
	return nil
}

// add adds a line without a target.
func (f *fleetBench) add(l line) {
	l.database = f.database.name
	f.lines = append(f.lines, l)
}

// none adds a line whose figure is a count that must be 0.
func (f *fleetBench) none(l line, n int64) {
	l.database = f.database.name
	l.figure, l.target, l.met = fmt.Sprint(n), "0", n == 0
	f.lines = append(f.lines, l)
}

// begin registers the workers, which watch from then on.
func (f *fleetBench) begin(context.Context) error {
	took, err := f.crowd.register()
	if err != nil {
		return err
	}
	f.say("%d workers have registered in %s", f.sizes.workers, short(took))
	f.add(line{
		what:    fmt.Sprintf("registration of %d workers", f.sizes.workers),
		figure:  short(took),
		ceiling: fmt.Sprintf("%.0f/s", float64(f.sizes.workers)/took.Seconds()),
	})
	return nil
}

// mean is the mean duration of a fold.
func (f *fleetBench) mean() time.Duration { return time.Duration(f.sizes.fold * float64(time.Second)) }

// steady measures the workers while their folds run. They begin within the mean duration of a fold, at most half a
// minute, so that not all claim at once.
func (f *fleetBench) steady(ctx context.Context) error {
	ramp := min(f.mean(), 30*time.Second)
	f.crowd.work(ramp)
	if !queue.Sleep(ctx, ramp+2*time.Second) {
		return ctx.Err()
	}
	before, err := f.counts()
	if err != nil {
		return err
	}
	conns, memory := 0, int64(0)
	end := time.Now().Add(time.Duration(f.sizes.steady * float64(time.Second)))
	for time.Now().Before(end) {
		if !queue.Sleep(ctx, min(time.Second, time.Until(end))) {
			return ctx.Err()
		}
		n, rss, err := f.sample(ctx)
		if err != nil {
			return err
		}
		conns, memory = max(conns, n), max(memory, rss)
	}
	after, err := f.counts()
	if err != nil {
		return err
	}
	f.reportSteady(before, after, conns, memory)
	return after.failed
}

// sample returns the server's connections to the database and its resident memory.
func (f *fleetBench) sample(ctx context.Context) (conns int, memory int64, err error) {
	err = f.db.QueryRowContext(ctx, `
		SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = $1`, serverName).Scan(&conns)
	if err != nil {
		return 0, 0, err
	}
	memory, err = f.server.resident()
	return conns, memory, err
}

// fleetCounts is what the workers have done until a time, and what the processes have spent.
type fleetCounts struct {
	fleetTally
	at              time.Time
	server, workers time.Duration // of processors
}

// counts returns the counts now.
func (f *fleetBench) counts() (fleetCounts, error) {
	spent, err := f.server.processorTime()
	return fleetCounts{f.crowd.now(), time.Now(), spent, processorTime()}, err
}

// reportSteady adds the lines of the steady load.
func (f *fleetBench) reportSteady(a, b fleetCounts, conns int, memory int64) {
	claims := b.claims[len(a.claims):]
	seconds := b.at.Sub(a.at).Seconds()
	per := func(n int64) string { return fmt.Sprintf("%.0f/s", float64(n)/seconds) }
	with := fmt.Sprintf("%d workers, folds of %g s", f.sizes.workers, f.sizes.fold)
	offered := float64(f.sizes.workers) / f.sizes.fold
	f.add(line{
		what:    "claims, " + with,
		figure:  per(int64(len(claims))),
		ceiling: fmt.Sprintf("if calls took no time %.0f/s", offered),
		ratio:   fmt.Sprintf("%.2f", float64(len(claims))/seconds/offered),
	})
	f.add(line{what: "finishes, " + with, figure: per(b.finishes - a.finishes)})
	f.add(line{
		what:   "heartbeats and watches, " + with,
		figure: per(b.beats-a.beats) + " and " + per(b.watches-a.watches),
	})
	if len(claims) > 0 {
		f.add(line{
			what:    "claim to the answer with a task, p50 and p99",
			figure:  short(quantileTime(0.5, claims)) + " and " + short(quantileTime(0.99, claims)),
			ceiling: fmt.Sprintf("%d claims", len(claims)),
		})
	}
	f.none(line{what: "calls that failed, " + with, ceiling: fmt.Sprintf("%d repeated", b.retries-a.retries)},
		b.failures-a.failures)
	f.none(line{what: "leases lost, " + with}, b.lost-a.lost)
	f.add(line{what: "connections to the database", figure: fmt.Sprint(conns)})
	sockets := f.sizes.workers + f.crowd.watched
	f.add(line{
		what:   "memory of pleat serve",
		figure: fmt.Sprintf("%.0f MB", float64(memory)/1e6),
		ceiling: fmt.Sprintf("%.0f MB at the start, and %.1f kB for each of %d sockets", float64(f.rest)/1e6,
			float64(memory-f.rest)/1e3/float64(sockets), sockets),
	})
	cores := func(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()/seconds) }
	f.add(line{
		what:    "processors that pleat serve takes",
		figure:  cores(b.server - a.server),
		ceiling: "the workers of the bench " + cores(b.workers-a.workers),
	})
	f.say("steady: %s claims, %s finishes, %d connections", per(int64(len(claims))), per(b.finishes-a.finishes), conns)
}

// storm lets all workers hold a task, and finish at once.
func (f *fleetBench) storm(ctx context.Context) error {
	c, all := f.crowd, int64(f.sizes.workers)
	close(c.hold)
	err := c.await(ctx, gatherWait+time.Duration(all)*10*time.Millisecond, "every worker holds a task",
		func(t fleetTally) bool { return t.held == all })
	if err != nil {
		return err
	}
	before, began := c.now(), time.Now()
	close(c.release)
	err = c.await(ctx, settleWait, "all have finished", func(t fleetTally) bool { return t.held == 0 })
	if err != nil {
		return err
	}
	took, after := time.Since(began), c.now()
	n := after.finishes - before.finishes
	f.say("storm: %d finishes in %s", n, short(took))
	f.add(line{
		what:    fmt.Sprintf("%d workers finish at once, until the last is acknowledged", all),
		figure:  short(took),
		ceiling: fmt.Sprintf("%.0f/s, %d calls repeated", float64(n)/took.Seconds(), after.retries-before.retries),
	})
	f.none(line{what: "finishes that failed then"}, after.failures-before.failures+after.lost-before.lost)
	return nil
}

// workerToken creates a token for workers.
func workerToken(ctx context.Context, s *store.Store) (string, error) {
	token := seal.NewFleetToken()
	return token, s.Workers.CreateFleetToken(ctx, workers.FleetToken{
		Kind:  workers.TokenWorker,
		Class: pleat.DefaultClass,
		Hash:  seal.HashKey(token),
	})
}
