package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"pleat"
)

const (
	// networkDelay is what the slow network adds each way.
	networkDelay = time.Millisecond
	// networkGrowth is how much longer a call may take besides its round trips.
	networkGrowth = 1.5
	// networkPause is the time before a job whose start is measured: the job before it has ended.
	networkPause = 20 * time.Millisecond
)

// network measures how the service bears a network between it and PostgreSQL: two services, each behind a proxy, of
// which one adds networkDelay each way. The calls alternate between them. A call may take networkGrowth times what it
// takes without the delay, plus the delay of each round trip that is allowed.
//
// Allowed are two for a creation: one that reads what decides about it, and one that commits. Results are one query. A
// job in the process starts with the claim, one; a worker in another process hears of the job by NOTIFY, which takes as
// long as a round trip, before it claims.
//
// The proxy also counts the round trips of each verb.
func (b *bench) network(ctx context.Context, d database) (err error) {
	if d.server == "" {
		return nil
	}
	n := &networkBench{bench: b, database: d}
	defer func() { err = errors.Join(err, n.close()) }()
	for _, step := range []func(context.Context) error{n.open, n.echo, n.starts, n.requests, n.verbs} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// networkBench is one run of the part: side 0 has no delay, side 1 has networkDelay.
type networkBench struct {
	*bench
	database database
	proxies  [2]*proxy
	sides    [2]*deliveryService
	// ends closes what is open, in the order of its opening.
	ends []func() error
}

// close ends the services and their proxies.
func (n *networkBench) close() error {
	var errs []error
	for i := len(n.ends) - 1; i >= 0; i-- {
		errs = append(errs, n.ends[i]())
	}
	return errors.Join(errs...)
}

// open starts the proxies and the services.
func (n *networkBench) open(ctx context.Context) error {
	for i, delay := range []time.Duration{0, networkDelay} {
		p, err := newProxy(ctx, n.database.server, delay)
		if err != nil {
			return err
		}
		n.proxies[i], n.ends = p, append(n.ends, p.close)
		d := n.database
		d.proxy = p
		h, err := n.newDeliveryService(ctx, d)
		if err != nil {
			return err
		}
		n.sides[i], n.ends = h, append(n.ends, h.close)
	}
	return nil
}

// times is how often a call is measured.
func (n *networkBench) times() int { return max(20, int(200*n.seconds)) }

// echo measures the shortest query, which shows what the proxies add. It fails if that is less than the delay.
func (n *networkBench) echo(ctx context.Context) error {
	var conns [2]*pgx.Conn
	for i, h := range n.sides {
		c, err := pgx.Connect(ctx, h.database)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close(ctx) }()
		conns[i] = c
	}
	took, err := alternate(n.times(), timed(func(side int) error {
		var one int
		return conns[side].QueryRow(ctx, "SELECT 1").Scan(&one)
	}))
	if err != nil {
		return err
	}
	near, far := quantileTime(0.5, took[0]), quantileTime(0.5, took[1])
	if far-near < 2*networkDelay*9/10 {
		return fmt.Errorf("the proxy adds %s to a round trip and should add %s", short(far-near), short(2*networkDelay))
	}
	n.lines = append(n.lines, line{
		what:     "SELECT 1 with 1 ms each way, p50",
		database: n.database.name,
		figure:   short(far),
		ceiling:  "without the delay " + short(near),
	})
	return nil
}

// judge adds a line for a call that may make some round trips.
func (n *networkBench) judge(what string, took [2][]time.Duration, trips int) {
	near, far := quantileTime(0.5, took[0]), quantileTime(0.5, took[1])
	trip := 2 * networkDelay
	n.within(line{
		what:     what + " with 1 ms each way, p50",
		database: n.database.name,
		ceiling: fmt.Sprintf("without the delay %s; added: %.1f round trips, allowed: %d", short(near),
			float64(far-near)/float64(trip), trips),
		ratio: fmt.Sprintf("%.2f", float64(far)/float64(near)),
	}, far, time.Duration(networkGrowth*float64(near))+time.Duration(trips)*trip)
}

// starts measures the time from the acknowledgement of a job to the start of its work, as the part latency does.
func (n *networkBench) starts(ctx context.Context) error {
	for _, w := range []struct {
		what  string
		trips int
		start startWorker
	}{
		{"creation to start of work in the process", 1, (*service).workInProcess},
		{"creation to start of work across processes", 2, (*service).workInOtherProcess},
	} {
		took, err := n.waits(ctx, w.start)
		if err != nil {
			return fmt.Errorf("%s: %w", w.what, err)
		}
		n.judge(w.what, took, w.trips)
	}
	return nil
}

// waits creates a job at a time and returns how long each waited, by side.
func (n *networkBench) waits(ctx context.Context, start startWorker) (took [2][]time.Duration, err error) {
	var begun [2]*starts
	for i, h := range n.sides {
		s := &starts{at: map[pleat.RunID]int64{}, news: make(chan struct{}, 1)}
		stop, err := start(h.service, ctx, s.add)
		if err != nil {
			return took, err
		}
		defer func() { err = errors.Join(err, stop()) }()
		begun[i] = s
	}
	return alternate(n.times(), func(side int) (time.Duration, error) {
		time.Sleep(networkPause)
		h := n.sides[side]
		made, err := h.store.CreateJob(ctx, newJob(h.users[0]))
		acked := time.Now().UnixMicro()
		if err != nil {
			return 0, err
		}
		at, err := begun[side].await(ctx, made.Run)
		return time.Duration(max(0, at-acked)) * time.Microsecond, err
	})
}

// starts are the times at which runs started, in microseconds since 1970.
type starts struct {
	mu   sync.Mutex
	at   map[pleat.RunID]int64
	news chan struct{} // has a token after an addition
}

// add records a start.
func (s *starts) add(run pleat.RunID, us int64) {
	s.mu.Lock()
	s.at[run] = us
	s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// await returns when a run started, once it has.
func (s *starts) await(ctx context.Context, run pleat.RunID) (int64, error) {
	limit := time.After(startLimit)
	for {
		s.mu.Lock()
		at, ok := s.at[run]
		s.mu.Unlock()
		if ok {
			return at, nil
		}
		select {
		case <-s.news:
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-limit:
			return 0, fmt.Errorf("run %s did not start within %v", run, startLimit)
		}
	}
}

// requests measures what a user waits for: a creation, and results of an own job.
func (n *networkBench) requests(ctx context.Context) error {
	var create, results [2][]byte
	var conns [2]*connection
	for i, h := range n.sides {
		jobs, err := h.finished(ctx)
		if err != nil {
			return err
		}
		all, closeAll, err := dialAll(ctx, h.addr)
		if err != nil {
			return err
		}
		defer closeAll()
		conns[i] = all[0]
		create[i] = rawRequest("POST", "/v1/jobs", h.keys[0], jobBody)
		results[i] = rawRequest("GET", "/v1/jobs/"+string(jobs[0])+"/results", h.keys[0], "")
	}
	for _, r := range []struct {
		what  string
		trips int
		raw   [2][]byte
	}{{"creation over HTTP", 2, create}, {"reading private results", 1, results}} {
		took, err := alternate(n.times(), timed(func(side int) error { return conns[side].do(r.raw[side], nil) }))
		if err != nil {
			return fmt.Errorf("%s: %w", r.what, err)
		}
		n.judge(r.what, took, r.trips)
	}
	// The same two, counted by the proxy.
	for _, v := range []verb{
		{what: "a creation over HTTP", bound: 2, do: func() error { return conns[1].do(create[1], nil) }},
		{what: "an authenticated read of results", bound: 1, do: func() error {
			return conns[1].do(results[1], nil)
		}},
	} {
		if err := n.count(v); err != nil {
			return err
		}
	}
	return n.sides[1].endQueued(ctx, math.MaxInt)
}
