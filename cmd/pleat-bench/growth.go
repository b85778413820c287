package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"pleat/internal/store"
	"pleat/internal/store/storetest"
)

// growthSizes are the sizes of the part growth.
type growthSizes struct {
	// ended is how many tasks have ended in the large database, every second a job and the others the deliveries of
	// their ends, and waiting is how many jobs wait.
	ended, waiting int
	// minutes is how long the steady work lasts, and rate how many jobs it takes each second; 0: half of what the
	// machine can do.
	minutes, rate float64
}

// flags defines the flags of the sizes. The defaults take about three minutes.
func (z *growthSizes) flags(f *pflag.FlagSet) {
	f.IntVar(&z.ended, "growth-ended", 100_000,
		"tasks that have ended in the part growth, half of them deliveries; in full 10000000")
	f.IntVar(&z.waiting, "growth-waiting", 10_000, "jobs that wait in the part growth; in full 1000000")
	f.Float64Var(&z.minutes, "growth-minutes", 1, "minutes of steady work in the part growth; in full 60")
	f.Float64Var(&z.rate, "growth-rate", 0,
		"jobs per second of the steady work in the part growth; 0: half of what the machine can do")
}

// check refuses sizes that measure nothing.
func (z *growthSizes) check() error {
	if z.ended < growthFew || z.waiting < growthFew/4 || z.minutes <= 0 || z.rate < 0 {
		return fmt.Errorf("--growth-ended must be at least %d, --growth-waiting at least %d, --growth-minutes above 0 "+
			"and --growth-rate not below 0", growthFew, growthFew/4)
	}
	return nil
}

const (
	// growthFew is how many tasks have ended in the small database, in which nothing waits: enough for full pages.
	growthFew = 8000
	// endedBytes and waitingBytes are what a task takes in the database that is filled, with its indexes, and
	// spareBytes what must stay free on the disk.
	endedBytes, waitingBytes = 2200, 2800
	spareBytes               = 3 << 30
	// growthBound is how much longer a request may take in the large database.
	growthBound = 1.5
)

// growth measures a database that has grown old, on PostgreSQL: many tasks that have ended, and many that wait. The
// ceiling is the same request in a database of growthFew ended tasks in which nothing waits. Steady work follows on the
// large one, which shows whether its dead rows, tables and indexes stay bounded.
//
// The rows are made by SQL. An ended job has the rows that a job of the null engine leaves with the delivery of its
// end, the result of a small fold, and one file of its ten, so that ten million tasks fit on a small disk. A job of the
// steady work has all ten files and its subscription.
func (b *bench) growth(ctx context.Context, d database) (err error) {
	if d.server == "" {
		return nil
	}
	g := &growthBench{bench: b, sizes: b.growthSizes, database: d}
	defer func() { err = errors.Join(err, g.close()) }()
	for _, step := range []func(context.Context) error{g.open, g.fill, g.report, g.compare, g.steady} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// growthBench is one run of the part: side 0 is small, side 1 large.
type growthBench struct {
	*bench
	sizes    growthSizes
	database database
	sides    [2]*deliveryService
	dbs      [2]*sql.DB
	// ends closes what is open, in the order of its opening.
	ends []func() error
}

// close removes the databases.
func (g *growthBench) close() error {
	var errs []error
	for i := len(g.ends) - 1; i >= 0; i-- {
		errs = append(errs, g.ends[i]())
	}
	return errors.Join(errs...)
}

// say prints a line of progress.
func (g *growthBench) say(format string, args ...any) {
	fmt.Fprintf(g.progress, "  "+format+"\n", args...)
}

// open makes the two services, each with an endpoint for each user.
func (g *growthBench) open(ctx context.Context) error {
	for i := range g.sides {
		h, err := g.newDeliveryService(ctx, g.database)
		if err != nil {
			return err
		}
		g.sides[i], g.ends = h, append(g.ends, h.close)
		if g.dbs[i], err = sql.Open("pgx", h.database); err != nil {
			return err
		}
		g.ends = append(g.ends, g.dbs[i].Close)
	}
	return nil
}

// fill makes the rows of both databases.
func (g *growthBench) fill(ctx context.Context) error {
	if free, ok := g.freeBytes(ctx); ok {
		if need := int64(g.sizes.ended)*endedBytes + int64(g.sizes.waiting)*waitingBytes + spareBytes; free < need {
			return fmt.Errorf("about %.1f GB are needed on the disk of PostgreSQL, and %.1f GB are free; give a "+
				"smaller --growth-ended", float64(need)/1e9, float64(free)/1e9)
		}
	}
	if _, err := g.fillEnded(ctx, 0, growthFew/2); err != nil {
		return err
	}
	took, err := g.fillEnded(ctx, 1, g.sizes.ended/2)
	if err != nil {
		return err
	}
	h := g.sides[1]
	jobs := queuedJobs{n: g.sizes.waiting}
	for i, u := range h.users {
		jobs.users = append(jobs.users, string(u.Project))
		jobs.endpoints = append(jobs.endpoints, string(h.endpoints[i].ID))
	}
	began := time.Now()
	if err := jobs.fill(ctx, g.dbs[1]); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	for _, f := range []struct {
		what string
		n    int
		took time.Duration
	}{{"ended", g.sizes.ended, took}, {"waiting", g.sizes.waiting, time.Since(began)}} {
		g.say("%d %s tasks were inserted in %s", f.n, f.what, short(f.took))
		g.lines = append(g.lines, line{
			what:     fmt.Sprintf("inserting %d %s tasks by SQL", f.n, f.what),
			database: g.database.name,
			figure:   short(f.took),
			ceiling:  fmt.Sprintf("%.0f/s", float64(f.n)/f.took.Seconds()),
		})
	}
	return nil
}

// fillEnded makes n jobs that have ended, half of them of user 0, and returns how long it took. The statements of the
// filling insert ids in another order than the service, which makes them in the order of time, so that the indexes are
// made again: those of the service are as dense.
func (g *growthBench) fillEnded(ctx context.Context, side, n int) (time.Duration, error) {
	h := g.sides[side]
	began := time.Now()
	filled := make(chan struct{})
	var reports sync.WaitGroup
	reports.Go(func() { g.sayGrowth(ctx, g.dbs[side], filled) })
	events := make(chan error, 1)
	go func() { events <- storetest.FillEvents(ctx, h.database, h.users[0].Project, n) }()
	err := errors.Join(storetest.Fill(ctx, h.database, h.users[0].Project, n), <-events)
	for _, q := range []string{"REINDEX SCHEMA public", "VACUUM (ANALYZE)"} {
		if err == nil {
			_, err = g.dbs[side].ExecContext(ctx, q)
		}
	}
	close(filled)
	reports.Wait()
	return time.Since(began), err
}

// sayGrowth prints the size of a database each minute while it is filled.
func (g *growthBench) sayGrowth(ctx context.Context, db *sql.DB, filled <-chan struct{}) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-filled:
			return
		case <-tick.C:
			var size int64
			if db.QueryRowContext(ctx, "SELECT pg_database_size(current_database())").Scan(&size) == nil {
				g.say("filling: %.1f GB", float64(size)/1e9)
			}
		}
	}
}

// freeBytes returns how much is free on the disk of the database; false if that is not on this machine.
func (g *growthBench) freeBytes(ctx context.Context) (int64, bool) {
	var folder string
	if err := g.dbs[0].QueryRowContext(ctx, "SHOW data_directory").Scan(&folder); err != nil {
		return 0, false
	}
	if _, err := os.Stat(folder); err != nil {
		return 0, false
	}
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * s.Bsize, true //nolint:gosec // bytes of a disk
}

// comparison is a call that is made on both sides.
type comparison struct {
	what string
	// times is how often; 0: as often as most.
	times int
	do    func(side int) error
	// bounded says that the time is bounded, but not by that of an empty database: it is not judged.
	bounded bool
}

// compare adds a line for each call that users, the page and workers make.
func (g *growthBench) compare(ctx context.Context) error {
	r := rowsBench{
		rows:   [2]int{growthFew / 2, g.sizes.ended / 2},
		random: rand.New(rand.NewPCG(3, 4)), //nolint:gosec // which jobs to read
	}
	for i, h := range g.sides {
		all, closeAll, err := dialAll(ctx, h.addr)
		if err != nil {
			return err
		}
		defer closeAll()
		r.sides[i], r.conns[i] = h.service, all[0]
		r.orders[i] = r.random.Perm(r.rows[i] / 2)
	}
	var list []comparison
	for _, m := range r.requests() {
		list = append(list, comparison{what: m.what, do: func(side int) error {
			return r.conns[side].do(m.request(side), nil)
		}})
	}
	c := &growthCalls{growthBench: g, rows: &r, ctx: ctx}
	defer func() {
		for _, s := range c.limited {
			_ = s.Close()
		}
	}()
	if err := c.open(); err != nil {
		return err
	}
	list = append(append(list, c.ofPage()...), c.ofWorkers()...)
	list = append(list, c.afterClaims()...)
	for _, m := range list {
		times := m.times
		if times == 0 {
			times = min(int(max(20, 400*g.seconds)), growthFew/20)
		}
		took, err := alternate(times, timed(m.do))
		if err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
		few, many := quantileTime(0.5, took[0]), quantileTime(0.5, took[1])
		g.atMost(line{
			what:     m.what + " in a large database",
			database: g.database.name,
			figure:   short(many),
			ceiling:  "in a small one " + short(few),
		}, float64(many)/float64(few), growthBound)
		if m.bounded {
			g.lines[len(g.lines)-1].target = ""
		}
	}
	return nil
}

// growthCalls makes the calls that are compared.
type growthCalls struct {
	*growthBench
	ctx  context.Context
	rows *rowsBench
	// held are the tasks that were claimed on each side, and next the one to beat or end.
	held        [2][]store.ClaimedTask
	beat, ended [2]int
	// waiting is a job of user 0 that waits, by side.
	waiting [2]string
	// limited are stores with a limit of what a user's results may take.
	limited [2]*store.Store
}

// open opens the stores with a limit.
func (c *growthCalls) open() (err error) {
	for i, h := range c.sides {
		c.limited[i], err = store.Open(c.ctx, h.database, store.Options{Limits: store.Limits{ResultsBytes: 1 << 60}})
		if err != nil {
			return err
		}
	}
	return nil
}

// get sends requests of user 0 to a side, one after the other.
func (c *growthCalls) get(side int, paths ...string) error {
	for _, p := range paths {
		raw := rawRequest("GET", p, c.sides[side].keys[0], "")
		if err := c.rows.conns[side].do(raw, nil); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

// pageOfJob are the requests with which the page shows a job.
func pageOfJob(path, id string) []string {
	return []string{path, path + "/results", "/v1/workflows/qna/linked-history?limit=200&source_job_id=" + id}
}

// rarely is how often a call is made that may take seconds.
const rarely = 5

// ofPage are the requests of the page. Both sides have jobs of user 0 that wait then, from the creations before.
func (c *growthCalls) ofPage() []comparison {
	return []comparison{
		{what: "the list of the page", do: func(side int) error {
			return c.get(side, "/v1/usage", "/v1/jobs?limit=50")
		}},
		{what: "the list of the page, jobs that wait", do: func(side int) error {
			return c.get(side, "/v1/usage", "/v1/jobs?limit=50&status=INITIALIZED")
		}},
		{what: "the page of an ended job", do: func(side int) error {
			path := c.rows.nextJob(side)
			return c.get(side, pageOfJob(path, path[len("/v1/jobs/"):])...)
		}},
		{what: "searching a name that many jobs have", times: rarely, do: func(side int) error {
			return c.get(side, "/v1/jobs?limit=50&q=fold")
		}},
		{what: "searching a name that no job has", times: rarely, do: func(side int) error {
			return c.get(side, "/v1/jobs?limit=50&q=nothing")
		}},
		{what: "creating a job with results-quota set", times: rarely, do: func(side int) error {
			_, err := c.limited[side].CreateJob(c.ctx, newJob(c.sides[side].users[0]))
			return err
		}},
	}
}

// ofWorkers are the calls of a worker with one task.
func (c *growthCalls) ofWorkers() []comparison {
	return []comparison{
		{what: "claiming a task", do: func(side int) error {
			list, err := c.sides[side].store.Claim(c.ctx, "bench", store.ClaimFilter{Queues: []string{nullQueue}, N: 1})
			if err == nil && len(list) == 0 {
				err = errors.New("no task waits")
			}
			c.held[side] = append(c.held[side], list...)
			return err
		}},
		{what: "a heartbeat", do: func(side int) error {
			k := &c.held[side][c.beat[side]]
			c.beat[side]++
			_, err := c.sides[side].store.Heartbeat(c.ctx, "bench", beatsOf(k))
			return err
		}},
		{what: "finishing a run with 10 files", do: func(side int) error {
			k := &c.held[side][c.ended[side]]
			c.ended[side]++
			return c.sides[side].store.FinishRun(c.ctx, store.LeaseOf(&k.Task), resultOf(k))
		}},
	}
}

// afterClaims are requests on a side in which only what is asked for waits.
func (c *growthCalls) afterClaims() []comparison {
	return []comparison{
		{what: "the page of a waiting job", do: func(side int) error {
			if c.waiting[side] == "" {
				if side == 0 { // whose queue is to be empty
					if err := c.sides[0].endQueued(c.ctx, math.MaxInt); err != nil {
						return err
					}
				}
				made, err := c.sides[side].store.CreateJob(c.ctx, newJob(c.sides[side].users[0]))
				if err != nil {
					return err
				}
				c.waiting[side] = string(made.Job)
			}
			id := c.waiting[side]
			return c.get(side, pageOfJob("/v1/jobs/"+id, id)...)
		}},
		{what: "counting the tasks by queue", bounded: true, do: func(side int) error {
			_, err := c.sides[side].store.QueueCounts(c.ctx)
			return err
		}},
	}
}
