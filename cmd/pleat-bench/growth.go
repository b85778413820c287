package main

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// growthSizes are the sizes of the part growth: how many tasks have ended in the large database, every second a job and
// the others the deliveries of their ends, and how many jobs wait.
type growthSizes struct{ ended, waiting int }

// flags defines the flags of the sizes. The defaults take about two minutes.
func (z *growthSizes) flags(f *pflag.FlagSet) {
	f.IntVar(&z.ended, "growth-ended", 100_000,
		"tasks that have ended in the part growth, half of them deliveries; in full 10000000")
	f.IntVar(&z.waiting, "growth-waiting", 10_000, "jobs that wait in the part growth; in full 1000000")
}

// check refuses sizes that measure nothing.
func (z *growthSizes) check() error {
	if z.ended < growthFew || z.waiting < growthFew/4 {
		return fmt.Errorf("--growth-ended must be at least %d and --growth-waiting at least %d", growthFew, growthFew/4)
	}
	return nil
}

const (
	// growthFew is how many tasks have ended in the small database, in which nothing waits: enough for full pages.
	growthFew = 8000
	// growthBound is how much longer a request may take in the large database.
	growthBound = 1.5
)

// growth measures a database that has grown old, on PostgreSQL: many tasks that have ended, and many that wait. The
// ceiling is the same request in a database of growthFew ended tasks in which nothing waits. An index makes a time grow
// with the logarithm of the size, so that growthBound is allowed; a scan of the table would take far longer.
//
// The rows are made by SQL. An ended job has the rows that a job of the null engine leaves with the delivery of its
// end, the result of a small fold, and one file of its ten, so that ten million tasks fit on a small disk.
func (b *bench) growth(ctx context.Context, d database) (err error) {
	if d.server == "" {
		return nil
	}
	g := &growthBench{
		bench:    b,
		ctx:      ctx,
		database: d,
		random:   rand.New(rand.NewPCG(3, 4)), //nolint:gosec // which jobs to read
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if err := g.open(); err != nil {
		return err
	}
	return g.compare()
}

// growthBench is one run of the part: side 0 is small, side 1 large.
type growthBench struct {
	*bench
	ctx      context.Context //nolint:containedctx // it is the run of the part
	database database
	sides    [2]*service
	conns    [2]*connection
	// limited are stores with a limit of what a user's results may take.
	limited [2]*store.Store
	random  *rand.Rand
	// orders are the ended jobs of user 0 in random order, and read is how many of them were read. No job is read again
	// before all have been read: otherwise the result cache of the server would speed up the small side alone.
	orders [2][]int
	read   [2]int
	// claimed are the tasks that were claimed on each side; heartbeats and ended are the next to renew and to end.
	claimed           [2][]runs.ClaimedTask
	heartbeats, ended [2]int
	// waiting is a job of user 0 that waits, by side.
	waiting [2]string
	closers
}

// open makes the two services and fills their databases.
func (g *growthBench) open() error {
	for i, n := range [2]int{growthFew / 2, g.growthSizes.ended / 2} {
		h, err := g.newService(g.ctx, g.database, store.Options{})
		if err != nil {
			return err
		}
		g.sides[i] = h
		g.later(h.close)
		if err := g.fill(i, n); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
		all, closeAll, err := dialAll(g.ctx, h.addr)
		if err != nil {
			return err
		}
		g.conns[i] = all[0]
		g.later(func() error { closeAll(); return nil })
		limits := store.Options{People: people.Options{Limits: people.Limits{ResultsBytes: 1 << 60}}}
		if g.limited[i], err = store.Open(g.ctx, h.database, limits); err != nil {
			return err
		}
		g.later(g.limited[i].DB.Close)
		g.orders[i] = g.random.Perm(n / 2)
	}
	return nil
}

// fill makes n jobs that have ended, half of them of user 0, and on the large side those that wait. The statements
// insert ids in another order than the service, which makes them in the order of time, so that the indexes are made
// again: those of the service are as dense.
func (g *growthBench) fill(side, n int) (err error) {
	h := g.sides[side]
	db, err := sql.Open("pgx", h.database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	began := time.Now()
	events := make(chan error, 1)
	go func() { events <- storetest.FillEvents(g.ctx, h.database, h.users[0].Project, n) }()
	if err := errors.Join(storetest.Fill(g.ctx, h.database, h.users[0].Project, n), <-events); err != nil {
		return err
	}
	for _, q := range []string{"REINDEX SCHEMA public", "VACUUM (ANALYZE)"} {
		if _, err := db.ExecContext(g.ctx, q); err != nil {
			return err
		}
	}
	waiting := 0
	if side == 1 {
		jobs := queuedJobs{n: g.growthSizes.waiting}
		for _, u := range h.users {
			jobs.users = append(jobs.users, string(u.Project))
		}
		if err := jobs.fill(g.ctx, db); err != nil {
			return err
		}
		waiting = jobs.n
	}
	var size int64
	if err := db.QueryRowContext(g.ctx, "SELECT pg_database_size(current_database())").Scan(&size); err != nil {
		return err
	}
	fmt.Fprintf(g.progress, "  %d ended and %d waiting tasks were inserted in %s: %.2f GB\n",
		2*n, waiting, short(time.Since(began)), float64(size)/1e9)
	return nil
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
func (g *growthBench) compare() error {
	list := slices.Concat(g.ofUsers(), g.ofPage(), g.ofWorkers(), g.afterClaims())
	for _, m := range list {
		times := m.times
		if times == 0 {
			times = min(int(max(20, 400*g.seconds)), growthFew/20)
		}
		took, err := alternate(times, m.do)
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

// nextJob returns the path of the next ended job to read on a side.
func (g *growthBench) nextJob(side int) string {
	order := g.orders[side]
	i := order[g.read[side]%len(order)]
	g.read[side]++
	return "/v1/jobs/" + string(storetest.FilledJob(2*i))
}

// get sends requests of user 0 to a side, one after the other.
func (g *growthBench) get(side int, paths ...string) error {
	for _, p := range paths {
		raw := rawRequest("GET", p, g.sides[side].keys[0], "")
		if err := g.conns[side].do(raw, nil); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

// pageOfJob are the requests with which the page shows a job.
func pageOfJob(path, id string) []string {
	return []string{path, path + "/results", "/v1/workflows/qna/linked-history?limit=200&source_job_id=" + id}
}

// ofUsers are the requests that a user makes most.
func (g *growthBench) ofUsers() []comparison {
	return []comparison{
		{what: "creating a job", do: func(side int) error {
			return g.conns[side].do(rawRequest("POST", "/v1/jobs", g.sides[side].keys[0], jobBody), nil)
		}},
		{what: "reading a job", do: func(side int) error { return g.get(side, g.nextJob(side)) }},
		{what: "reading results", do: func(side int) error { return g.get(side, g.nextJob(side)+"/results") }},
		{what: "listing the newest page", do: func(side int) error { return g.get(side, "/v1/jobs?limit=50") }},
		{what: "listing some page", do: func(side int) error {
			n := 2 * len(g.orders[side])
			before := storetest.FilledJob(n/10 + g.random.IntN(n*9/10))
			return g.get(side, "/v1/jobs?limit=50&cursor="+base64.RawURLEncoding.EncodeToString([]byte(before)))
		}},
	}
}

// rarely is how often a call is made that may take seconds.
const rarely = 5

// ofPage are the requests of the page. Both sides have jobs of user 0 that wait then, from the creations before.
func (g *growthBench) ofPage() []comparison {
	return []comparison{
		{what: "the list of the page", do: func(side int) error {
			return g.get(side, "/v1/usage", "/v1/jobs?limit=50")
		}},
		{what: "the list of the page, jobs that wait", do: func(side int) error {
			return g.get(side, "/v1/usage", "/v1/jobs?limit=50&status=INITIALIZED")
		}},
		{what: "the page of an ended job", do: func(side int) error {
			path := g.nextJob(side)
			return g.get(side, pageOfJob(path, path[len("/v1/jobs/"):])...)
		}},
		{what: "searching a name that many jobs have", times: rarely, do: func(side int) error {
			return g.get(side, "/v1/jobs?limit=50&q=fold")
		}},
		{what: "searching a name that no job has", times: rarely, do: func(side int) error {
			return g.get(side, "/v1/jobs?limit=50&q=nothing")
		}},
		{what: "creating a job with results-quota set", times: rarely, do: func(side int) error {
			_, err := g.limited[side].Runs.CreateJob(g.ctx, newJob(g.sides[side].users[0]))
			return err
		}},
	}
}

// ofWorkers are the calls of a worker with one task.
func (g *growthBench) ofWorkers() []comparison {
	return []comparison{
		{what: "claiming a task", do: func(side int) error {
			filter := tasks.ClaimFilter{Queues: []string{nullQueue}, N: 1}
			list, err := g.sides[side].store.Runs.Claim(g.ctx, "bench", filter)
			if err == nil && len(list) == 0 {
				err = errors.New("no task waits")
			}
			g.claimed[side] = append(g.claimed[side], list...)
			return err
		}},
		{what: "a heartbeat", do: func(side int) error {
			k := &g.claimed[side][g.heartbeats[side]]
			g.heartbeats[side]++
			_, err := g.sides[side].store.Runs.Heartbeat(g.ctx, "bench", []pleat.Heartbeat{{
				Task:     k.Task.ID,
				Attempt:  k.Task.Attempt,
				Run:      k.Task.Run,
				Progress: []pleat.Progress{{Kind: pleat.ProgressStage, Stage: "infer", Done: 1, Total: 4}},
			}})
			return err
		}},
		{what: "finishing a run with 10 files", do: func(side int) error {
			k := &g.claimed[side][g.ended[side]]
			g.ended[side]++
			return g.sides[side].store.Runs.FinishRun(g.ctx, tasks.LeaseOf(&k.Task), resultOf(k))
		}},
	}
}

// afterClaims are requests on a side in which only what is asked for waits.
func (g *growthBench) afterClaims() []comparison {
	return []comparison{
		{what: "the page of a waiting job", do: func(side int) error {
			if g.waiting[side] == "" {
				if side == 0 { // whose queue is to be empty
					if err := g.endQueued(0); err != nil {
						return err
					}
				}
				created, err := g.sides[side].store.Runs.CreateJob(g.ctx, newJob(g.sides[side].users[0]))
				if err != nil {
					return err
				}
				g.waiting[side] = string(created.Job)
			}
			id := g.waiting[side]
			return g.get(side, pageOfJob("/v1/jobs/"+id, id)...)
		}},
		{what: "counting the tasks by queue", bounded: true, do: func(side int) error {
			_, err := g.sides[side].store.Tasks.QueueCounts(g.ctx)
			return err
		}},
	}
}

// endQueued ends all queued runs of a side.
func (g *growthBench) endQueued(side int) error {
	for s := g.sides[side].store; ; {
		list, err := s.Runs.Claim(g.ctx, "bench", tasks.ClaimFilter{Queues: []string{nullQueue}, N: clients})
		if err != nil || len(list) == 0 {
			return err
		}
		err = inParallel(len(list), func(i int) error {
			return s.Runs.FinishRun(g.ctx, tasks.LeaseOf(&list[i].Task), resultOf(&list[i]))
		})
		if err != nil {
			return err
		}
	}
}
