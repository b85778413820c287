package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"pleat"
	"pleat/internal/engine/builtin"
	"pleat/internal/workerapi"
)

// crowd are workers that call a server in the protocol of package workerapi, each with a session of its own. They are
// no workerapi.Client: that has a poller and goroutines for each call, which for thousands of workers would take the
// processor from the server. These have a goroutine each, and another for the watch. They repeat calls as that client
// does.
type crowd struct {
	addr, token string
	client      http.Client
	workers     []*fleetWorker
	watched     int // workers that hold a watch, from the first on

	// life ends with close, and watching are the goroutines that it ends.
	life     context.Context //nolint:containedctx // it is the life of the connections, as in workerapi.Client
	end      context.CancelFunc
	watching sync.WaitGroup
	phase    atomic.Pointer[phase]
	ended    chan struct{} // closed when the workers that work has started have ended

	claims, finishes, beats, watches atomic.Int64
	held                             atomic.Int64 // tasks
	retries                          atomic.Int64 // calls that were repeated
	failures                         atomic.Int64 // calls that were given up
	lost                             atomic.Int64 // leases

	mu      sync.Mutex
	timed   bool
	times   []time.Duration // of claims
	failed  error           // the first
	waiting time.Duration   // that calls ask to be held
	beat    time.Duration
}

// phase is what the workers do until the next is entered.
type phase struct {
	mean   time.Duration // of a fold, whose duration is exponential
	hold   bool          // folds do not end
	atOnce bool          // folds end now
	last   bool          // nothing more is claimed
	over   chan struct{} // closed when the next is entered
}

// fleetWorker is one worker.
type fleetWorker struct {
	c       *crowd
	id      pleat.WorkerID
	session string
	unsure  bool // the answer to a claim may be lost
	idle    bool
}

// newCrowd makes workers, of which some hold a watch once they have registered.
func newCrowd(addr, token string, n, watched int) *crowd {
	c := &crowd{addr: addr, token: token, watched: watched}
	c.life, c.end = context.WithCancel(context.Background())
	c.client.Transport = &http.Transport{MaxIdleConnsPerHost: n + watched}
	c.phase.Store(&phase{last: true, over: make(chan struct{})})
	for range n {
		c.workers = append(c.workers, &fleetWorker{c: c, id: pleat.WorkerID(uuid.NewString()), idle: true})
	}
	return c
}

// close ends the workers and their connections.
func (c *crowd) close() {
	c.end()
	c.watching.Wait()
	_ = c.wait(settleWait)
	c.client.CloseIdleConnections()
}

// enter begins a phase.
func (c *crowd) enter(p *phase) {
	p.over = make(chan struct{})
	close(c.phase.Swap(p).over)
}

// failure is the first error of a call that was given up.
func (c *crowd) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// claimTimes begins or ends the timing of claims, and returns the times until now.
func (c *crowd) claimTimes(on bool) []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.times
	c.timed, c.times = on, nil
	return out
}

// each calls fn for every worker, 64 at a time. It returns the first error.
func (c *crowd) each(fn func(w *fleetWorker) error) error {
	next := make(chan *fleetWorker)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var first error
	for range 64 {
		wg.Go(func() {
			for w := range next {
				if err := fn(w); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	for _, w := range c.workers {
		next <- w
	}
	close(next)
	wg.Wait()
	return first
}

// register registers all workers, and lets them watch then.
func (c *crowd) register(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	err := c.each(func(w *fleetWorker) error { return w.register(ctx) })
	took := time.Since(began)
	if err != nil {
		return took, err
	}
	for _, w := range c.workers[:c.watched] {
		c.watching.Go(w.watch)
	}
	return took, nil
}

// work starts all workers at random within a time. They end in the last phase, or with ctx.
func (c *crowd) work(ctx context.Context, within time.Duration) {
	ended := make(chan struct{})
	c.ended = ended
	var wg sync.WaitGroup
	for _, w := range c.workers {
		wg.Go(func() {
			if pauseFor(ctx, rand.N(within)) != nil {
				return
			}
			w.work(ctx)
		})
	}
	go func() { wg.Wait(); close(ended) }()
}

// wait waits for the end of the workers that work has started.
func (c *crowd) wait(most time.Duration) error {
	if c.ended == nil {
		return nil
	}
	select {
	case <-c.ended:
		return nil
	case <-time.After(most):
		return fmt.Errorf("workers still work after %s, of which %d hold a task", most, c.held.Load())
	}
}

// register registers the worker.
func (w *fleetWorker) register(ctx context.Context) error {
	in := workerapi.Registration{
		Protocol: workerapi.Version,
		Worker:   w.id,
		Version:  pleat.Version,
		Host:     "bench",
		Queues:   []string{nullQueue},
		Models:   builtin.Null{}.Models(),
		Devices:  []pleat.Device{},
	}
	var out workerapi.Registered
	err := w.repeat(ctx, func() error { return w.c.post("register", w.c.token, in, &out, 0) })
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	w.session = out.Session
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.c.waiting, w.c.beat = out.Wait.Duration(), out.Heartbeat.Duration()
	return nil
}

// watch waits for orders for the life of the worker.
func (w *fleetWorker) watch() {
	in := workerapi.Watch{Wait: workerapi.SecondsOf(w.c.waiting)}
	for w.c.life.Err() == nil {
		var out workerapi.Orders
		err := w.repeat(w.c.life, func() error {
			return w.c.post("watch", w.session, in, &out, w.c.waiting)
		})
		if err != nil {
			return
		}
		w.c.watches.Add(1)
	}
}

// work claims, folds and finishes until the last phase.
func (w *fleetWorker) work(ctx context.Context) {
	for ctx.Err() == nil && w.c.life.Err() == nil && !w.c.phase.Load().last {
		t, err := w.claim(ctx)
		if err != nil {
			return
		}
		if t == nil {
			continue
		}
		w.c.held.Add(1)
		if w.fold(ctx, t) {
			err = w.finish(ctx, t)
		}
		w.c.held.Add(-1)
		if err != nil {
			return
		}
	}
}

// claim asks for a task. It returns nil if none came in time.
func (w *fleetWorker) claim(ctx context.Context) (*workerapi.Task, error) {
	var out workerapi.Claimed
	began := time.Now()
	err := w.repeat(ctx, func() error {
		in := workerapi.Claim{
			Asks:   []workerapi.Ask{{Queues: []string{nullQueue}, N: 1}},
			Wait:   workerapi.SecondsOf(w.c.waiting),
			Idle:   w.idle,
			Repeat: w.unsure,
		}
		w.unsure = true // until there is an answer
		err := w.c.post("claim", w.session, in, &out, w.c.waiting)
		w.unsure = err != nil
		return err
	})
	w.idle = len(out.Tasks) == 0
	if err != nil || w.idle {
		return nil, err
	}
	w.c.claims.Add(1)
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if w.c.timed {
		w.c.times = append(w.c.times, time.Since(began))
	}
	return &out.Tasks[0], nil
}

// fold sleeps as long as the phases say, with heartbeats. It returns false if the lease was lost.
func (w *fleetWorker) fold(ctx context.Context, t *workerapi.Task) bool {
	p := w.c.phase.Load()
	end := time.NewTimer(time.Duration(rand.ExpFloat64() * float64(p.mean)))
	defer end.Stop()
	beat := time.NewTicker(w.c.beat)
	defer beat.Stop()
	for ; !p.atOnce; p = w.c.phase.Load() {
		done := end.C
		if p.hold {
			done = nil
		}
		select {
		case <-done:
			return true
		case <-ctx.Done():
			return false
		case <-beat.C:
			if !w.heartbeat(ctx, t) {
				return false
			}
		case <-p.over:
		}
	}
	return true
}

// heartbeat renews the lease of a task. It returns false if that is lost.
func (w *fleetWorker) heartbeat(ctx context.Context, t *workerapi.Task) bool {
	in := workerapi.Heartbeat{Tasks: []workerapi.TaskHeartbeat{
		{Lease: workerapi.Lease{Task: t.ID, Attempt: t.Attempt}},
	}}
	var out workerapi.HeartbeatReply
	err := w.repeat(ctx, func() error { return w.c.post("heartbeat", w.session, in, &out, 0) })
	if err != nil {
		return false
	}
	w.c.beats.Add(1)
	if len(out.Tasks) == 1 && !out.Tasks[0].Lost {
		return true
	}
	w.c.lost.Add(1)
	return false
}

// finish ends the run of a task. A lost lease is no error.
func (w *fleetWorker) finish(ctx context.Context, t *workerapi.Task) error {
	in := workerapi.Finish{
		State:  pleat.StateCompleted,
		Result: &pleat.Result{},
		Engine: "null 1",
		Served: "null",
		MSA:    pleat.StatePending,
	}
	err := w.repeat(ctx, func() error { return w.c.post("tasks/"+string(t.ID)+"/finish", t.Token, in, nil, 0) })
	if refused := (*refusedCall)(nil); errors.As(err, &refused) && refused.code == string(workerapi.CodeLost) {
		w.c.lost.Add(1)
		return nil
	}
	if err != nil {
		return err
	}
	w.c.finishes.Add(1)
	return nil
}

// refusedCall is the error of a call that the server has answered with an error.
type refusedCall struct {
	path, code string
	status     int
	message    string
}

func (e *refusedCall) Error() string {
	return fmt.Sprintf("%s was answered %d %s: %s", e.path, e.status, e.code, e.message)
}

// maxTries is how often a call is made before it is given up. With the waits between, that takes about four minutes.
const maxTries = 40

// repeat makes a call until it succeeds, and waits between as workerapi.Client does. An error that does not pass, and
// the last of too many, count as failures.
func (w *fleetWorker) repeat(ctx context.Context, call func() error) error {
	wait := 100 * time.Millisecond
	for n := 1; ; n++ {
		err := call()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || w.c.life.Err() != nil {
			return err
		}
		var refused *refusedCall
		passes := !errors.As(err, &refused)
		if !passes && (refused.status == http.StatusTooManyRequests || refused.status >= 500) {
			passes, wait = true, max(wait, time.Second)
		}
		lost := !passes && refused.code == string(workerapi.CodeLost)
		if !passes || n == maxTries {
			if !lost {
				w.c.fail(err)
			}
			return err
		}
		w.c.retries.Add(1)
		if err := pauseFor(ctx, wait+rand.N(wait)); err != nil {
			return err
		}
		wait = min(2*wait, 5*time.Second)
	}
}

// fail counts a call that was given up.
func (c *crowd) fail(err error) {
	c.failures.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = err
	}
}

// callWait bounds a call that the server does not hold.
const callWait = 30 * time.Second

// post sends a call and reads its answer into out; nil: it is dropped. The server may hold it for a time. An answer
// other than success is a refusedCall.
func (c *crowd) post(path, token string, in, out any, held time.Duration) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.life, held+callWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.addr+workerapi.Path+path,
		bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if resp.StatusCode >= 300 {
		var e workerapi.Error
		_ = json.Unmarshal(body, &e) // without a message, the status says it
		return &refusedCall{path, resp.Header.Get(workerapi.CodeHeader), resp.StatusCode, e.Message}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(body, out)
}
