package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"pleat"
	"pleat/internal/engine/builtin"
	"pleat/internal/queue"
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
	watched     int           // workers that hold a watch, from the first on
	mean        time.Duration // of a fold, whose duration is exponential

	// life ends with close, and all are the goroutines that it ends.
	life context.Context //nolint:containedctx // it is the life of the workers, as in workerapi.Client
	end  context.CancelFunc
	all  sync.WaitGroup
	// Once hold is closed no fold ends by itself. Once release is closed all folds end, and nothing more is claimed.
	hold, release chan struct{}

	mu        sync.Mutex
	tally     fleetTally
	waiting   time.Duration // that calls ask to be held
	heartbeat time.Duration
}

// fleetTally is what the workers have done so far.
type fleetTally struct {
	claims                   []time.Duration // how long each took that got a task
	finishes, beats, watches int64
	held                     int64 // tasks that are held now
	retries, failures        int64 // calls that were repeated, and that were given up
	lost                     int64 // leases
	failed                   error // the first failure
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
func newCrowd(addr, token string, n, watched int, mean time.Duration) *crowd {
	c := &crowd{
		addr:    addr,
		token:   token,
		watched: watched,
		mean:    mean,
		hold:    make(chan struct{}),
		release: make(chan struct{}),
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.client.Transport = &http.Transport{MaxIdleConnsPerHost: n + watched}
	for range n {
		c.workers = append(c.workers, &fleetWorker{c: c, id: pleat.WorkerID(uuid.NewString()), idle: true})
	}
	return c
}

// close ends the workers and their connections.
func (c *crowd) close() {
	c.end()
	c.all.Wait()
	c.client.CloseIdleConnections()
}

// count changes the tally.
func (c *crowd) count(change func(t *fleetTally)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.tally)
}

// now returns the tally.
func (c *crowd) now() fleetTally {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tally
}

// register registers all workers, which watch from then on.
func (c *crowd) register() (time.Duration, error) {
	began := time.Now()
	err := inParallel(len(c.workers), func(i int) error { return c.workers[i].register() })
	took := time.Since(began)
	if err == nil {
		for _, w := range c.workers[:c.watched] {
			c.all.Go(w.watch)
		}
	}
	return took, err
}

// work starts all workers at random within a time.
func (c *crowd) work(within time.Duration) {
	for _, w := range c.workers {
		c.all.Go(func() {
			if queue.Sleep(c.life, rand.N(within)) {
				w.work()
			}
		})
	}
}

// await returns when the tally is as wanted. It fails after a time, and after a call that was given up.
func (c *crowd) await(ctx context.Context, most time.Duration, what string, is func(t fleetTally) bool) error {
	for limit := time.Now().Add(most); ; {
		t := c.now()
		switch {
		case t.failed != nil:
			return t.failed
		case is(t):
			return nil
		case time.Now().After(limit):
			return fmt.Errorf("after %s not %s: %d workers hold a task", most, what, t.held)
		}
		if !queue.Sleep(ctx, 10*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// isClosed reports whether a channel is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// register registers the worker.
func (w *fleetWorker) register() error {
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
	err := w.repeat(func() error { return w.c.post("register", w.c.token, in, &out, 0) })
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	w.session = out.Session
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.c.waiting, w.c.heartbeat = out.Wait.Duration(), out.Heartbeat.Duration()
	return nil
}

// watch waits for orders for the life of the worker.
func (w *fleetWorker) watch() {
	in := workerapi.Watch{Wait: workerapi.SecondsOf(w.c.waiting)}
	for w.c.life.Err() == nil {
		var out workerapi.Orders
		err := w.repeat(func() error {
			return w.c.post("watch", w.session, in, &out, w.c.waiting)
		})
		if err != nil {
			return
		}
		w.c.count(func(t *fleetTally) { t.watches++ })
	}
}

// work claims, folds and finishes until it is released.
func (w *fleetWorker) work() {
	for w.c.life.Err() == nil && !isClosed(w.c.release) {
		t, err := w.claim()
		if err != nil {
			return
		}
		if t == nil {
			continue
		}
		w.c.count(func(t *fleetTally) { t.held++ })
		if w.fold(t) {
			err = w.finish(t)
		}
		w.c.count(func(t *fleetTally) { t.held-- })
		if err != nil {
			return
		}
	}
}

// claim asks for a task. It returns nil if none came in time.
func (w *fleetWorker) claim() (*workerapi.Task, error) {
	var out workerapi.Claimed
	began := time.Now()
	err := w.repeat(func() error {
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
	w.c.count(func(t *fleetTally) { t.claims = append(t.claims, time.Since(began)) })
	return &out.Tasks[0], nil
}

// fold sleeps, with heartbeats. It returns false if the lease was lost.
func (w *fleetWorker) fold(t *workerapi.Task) bool {
	end := time.NewTimer(time.Duration(rand.ExpFloat64() * float64(w.c.mean)))
	defer end.Stop()
	ticker := time.NewTicker(w.c.heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-end.C:
			if !isClosed(w.c.hold) {
				return true
			}
		case <-w.c.release:
			return true
		case <-w.c.life.Done():
			return false
		case <-ticker.C:
			if !w.heartbeat(t) {
				return false
			}
		}
	}
}

// heartbeat renews the lease of a task. It returns false if that is lost.
func (w *fleetWorker) heartbeat(t *workerapi.Task) bool {
	in := workerapi.Heartbeat{Tasks: []workerapi.TaskHeartbeat{
		{Lease: workerapi.Lease{Task: t.ID, Attempt: t.Attempt}},
	}}
	var out workerapi.HeartbeatReply
	err := w.repeat(func() error { return w.c.post("heartbeat", w.session, in, &out, 0) })
	if err != nil {
		return false
	}
	kept := len(out.Tasks) == 1 && !out.Tasks[0].Lost
	w.c.count(func(t *fleetTally) {
		t.beats++
		if !kept {
			t.lost++
		}
	})
	return kept
}

// finish ends the run of a task. A lost lease is no error.
func (w *fleetWorker) finish(t *workerapi.Task) error {
	in := workerapi.Finish{
		State:  pleat.StateCompleted,
		Result: &pleat.Result{},
		Engine: "null 1",
		Served: "null",
		MSA:    pleat.StatePending,
	}
	err := w.repeat(func() error { return w.c.post("tasks/"+string(t.ID)+"/finish", t.Token, in, nil, 0) })
	if refused := (*refusedCall)(nil); errors.As(err, &refused) && refused.code == string(workerapi.CodeLost) {
		w.c.count(func(t *fleetTally) { t.lost++ })
		return nil
	}
	if err == nil {
		w.c.count(func(t *fleetTally) { t.finishes++ })
	}
	return err
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
func (w *fleetWorker) repeat(call func() error) error {
	wait := 100 * time.Millisecond
	for n := 1; ; n++ {
		err := call()
		if err == nil {
			return nil
		}
		if w.c.life.Err() != nil {
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
				w.c.count(func(t *fleetTally) { t.failures, t.failed = t.failures+1, cmp.Or(t.failed, err) })
			}
			return err
		}
		w.c.count(func(t *fleetTally) { t.retries++ })
		if !queue.Sleep(w.c.life, wait+rand.N(wait)) {
			return w.c.life.Err()
		}
		wait = min(2*wait, 5*time.Second)
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
