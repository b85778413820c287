package workerapi

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"pleat"
	"pleat/internal/queue"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

// claims is what the worker has room for, and what it was given but has not taken yet. Client.mu guards it.
//
// A slot group of the worker asks by Claim, which returns what is there. The room that is left stays as an ask: poll
// holds a claim with all of them at the server, puts the tasks that come into received, and wakes the group, which
// calls Claim again.
type claims struct {
	asks     map[string]*standingAsk // by the names of their queues
	received []runs.ClaimedTask
	topics   map[string]map[chan struct{}]bool
	changed  chan struct{} // gets a token when asks or received have changed
	idle     bool          // the last claim brought nothing
	unsure   bool          // the answer to a claim may be lost
	stray    bool          // a task could not be returned: the next claim does so, since it is not among those held
}

// standingAsk is the room of one slot group.
type standingAsk struct {
	Ask
	endBy time.Time // when tasks must have ended; zero: never
}

func (c *claims) init() {
	c.asks = map[string]*standingAsk{}
	c.topics = map[string]map[chan struct{}]bool{}
	c.changed = make(chan struct{}, 1)
	c.idle = true
}

// signal tells poll that asks or received have changed.
func (c *claims) signal() { queue.Wake(c.changed) }

// keyOf names the slot group of some queues, whatever their order.
func keyOf(queues []string) string {
	return strings.Join(slices.Sorted(slices.Values(queues)), "\n")
}

// SubscribeTo wakes a channel when a task of a topic's queue was given to the worker.
func (c *Client) SubscribeTo(topic string, ch chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.claims.topics[topic] == nil {
		c.claims.topics[topic] = map[chan struct{}]bool{}
	}
	c.claims.topics[topic][ch] = true
}

// Unsubscribe ends what SubscribeTo began. Nothing more is asked for of queues without a subscriber, and what was given
// of them goes back.
func (c *Client) Unsubscribe(topic string, ch chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.claims.topics[topic], ch)
	if len(c.claims.topics[topic]) > 0 {
		return
	}
	delete(c.claims.topics, topic)
	for key, a := range c.claims.asks {
		if slices.ContainsFunc(a.Queues, func(q string) bool { return tasks.QueueTopic(q) == topic }) {
			delete(c.claims.asks, key)
		}
	}
	c.returnGiven(func(t *runs.ClaimedTask) bool { return tasks.QueueTopic(t.Task.Queue) == topic })
	c.claims.signal()
}

// Claim returns tasks that the server has given to the worker and that a filter allows. Tasks for the room that is left
// are asked for until the next Claim of the same queues, or Unsubscribe.
func (c *Client) Claim(
	_ context.Context, _ pleat.WorkerID, filter tasks.ClaimFilter,
) ([]runs.ClaimedTask, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []runs.ClaimedTask
	c.claims.received = slices.DeleteFunc(c.claims.received, func(t runs.ClaimedTask) bool {
		fits := len(out) < filter.N && slices.Contains(filter.Queues, t.Task.Queue) &&
			(filter.Memory == 0 || t.Task.Memory <= filter.Memory) &&
			(filter.Owner == "" || t.Task.Owner == filter.Owner)
		if fits {
			out = append(out, t)
		}
		return fits
	})
	// The group has less room than it had asked for.
	c.returnGiven(func(t *runs.ClaimedTask) bool { return slices.Contains(filter.Queues, t.Task.Queue) })
	filter.N -= len(out)
	key := keyOf(filter.Queues)
	delete(c.claims.asks, key)
	if filter.N > 0 {
		a := &standingAsk{Ask: askOf(filter)}
		a.Queues = slices.Clone(a.Queues)
		if filter.Left > 0 {
			a.endBy = c.clock().Add(filter.Left)
		}
		c.claims.asks[key] = a
	}
	c.claims.signal()
	return out, nil
}

// returnGiven releases the tasks among given for which fn is true. The caller holds mu.
func (c *Client) returnGiven(fn func(t *runs.ClaimedTask) bool) {
	var back []runs.ClaimedTask
	c.claims.received = slices.DeleteFunc(c.claims.received, func(t runs.ClaimedTask) bool {
		if !fn(&t) {
			return false
		}
		back = append(back, t)
		return true
	})
	for _, t := range back {
		c.awaited.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(c.life), min(returnTimeout, c.timeout))
			defer cancel()
			if err := c.Release(ctx, tasks.LeaseOf(&t.Task), 0, nil); err != nil && !errors.Is(err, pleat.ErrLost) {
				c.log.Warn("a task that the worker has no room for could not be returned; the next claim returns it",
					"task", t.Task.ID, "run", t.Task.Run, "error", err)
				c.mu.Lock()
				defer c.mu.Unlock()
				c.forget(t.Task.ID, t.Task.Attempt)
				c.claims.stray = true
				c.claims.signal()
			}
		})
	}
}

const (
	// answerTime is how long a claim whose asks have changed may still be answered: a task that the server is about to
	// give would have to be returned.
	answerTime = 100 * time.Millisecond
	// returnTimeout bounds the return of a task that the worker has no room for; a worker that ends waits for it.
	returnTimeout = 3 * time.Second
	// untaken is how long a given task may wait for its group to claim it.
	untaken = 5 * time.Second
)

// poll holds a claim at the server while the worker has room for tasks, until the client is closed.
func (c *Client) poll() {
	fault := queue.Fault{What: "cannot claim tasks"}
	for wait := time.Duration(0); c.life.Err() == nil; {
		asks := c.nextAsks()
		if asks == nil {
			return
		}
		err := c.claimOnce(asks)
		if err == nil || c.life.Err() != nil {
			fault.Over(c.log)
			wait = 0
			continue
		}
		wait = queue.Backoff(wait)
		fault.Warn(c.log, err)
		queue.Sleep(c.life, wait+rand.N(wait))
	}
}

// nextAsks waits until there are asks, and all tasks that were given are taken. It returns nil if the client is closed
// or the server has ended the session.
func (c *Client) nextAsks() []Ask {
	late := time.NewTicker(untaken)
	defer late.Stop()
	for passed := false; ; {
		c.mu.Lock()
		if passed { // the group has no room any more, and so does not claim; it asks again when it has
			for key, a := range c.claims.asks {
				if slices.ContainsFunc(c.claims.received, func(t runs.ClaimedTask) bool {
					return slices.Contains(a.Queues, t.Task.Queue)
				}) {
					delete(c.claims.asks, key)
				}
			}
			c.returnGiven(func(*runs.ClaimedTask) bool { return true })
		}
		asks, refused, received := c.currentAsks(), c.refused, len(c.claims.received)
		c.mu.Unlock()
		switch {
		case c.life.Err() != nil || refused != nil:
			return nil
		case len(asks) > 0 && received == 0:
			return asks
		}
		passed = false
		select {
		case <-c.claims.changed:
		case <-late.C:
			passed = received > 0
		case <-c.life.Done():
			return nil
		}
	}
}

// currentAsks returns what the worker has room for now. The caller holds mu.
func (c *Client) currentAsks() []Ask {
	if c.failing { // the input of a task could not be read, nor its result be stored
		return nil
	}
	var out []Ask
	for _, a := range c.claims.asks {
		ask := a.Ask
		if !a.endBy.IsZero() {
			left := a.endBy.Sub(c.clock())
			if left <= 0 {
				continue
			}
			ask.Left = SecondsOf(left)
		}
		out = append(out, ask)
	}
	return out
}

// stillAsks reports whether the worker asks for what it did, but for the time that is left, and has nothing to return;
// and whether it asks for anything.
func (c *Client) stillAsks(before []Ask) (still, any bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.currentAsks()
	still = !c.claims.stray && len(now) == len(before) && !slices.ContainsFunc(before, func(b Ask) bool {
		return !slices.ContainsFunc(now, func(a Ask) bool {
			return keyOf(a.Queues) == keyOf(b.Queues) && a.N == b.N && a.Memory == b.Memory && a.Owner == b.Owner &&
				a.Waited == b.Waited
		})
	})
	return still, len(now) > 0
}

// patience returns how long a claim may still be answered whose asks have changed. One for a task that is claimed ahead
// ends at once: the device has become free, and waits for any task.
func patience(asks []Ask) time.Duration {
	if slices.ContainsFunc(asks, func(a Ask) bool { return a.Waited > 0 }) {
		return 0
	}
	return answerTime
}

// claimOnce holds one claim at the server, until tasks come, the wait is over, or the asks change.
func (c *Client) claimOnce(asks []Ask) error {
	ctx, cancel := context.WithCancel(c.life)
	defer cancel()
	watching := make(chan struct{})
	go func() { // awaited below
		defer close(watching)
		for {
			select {
			case <-c.claims.changed:
				switch still, any := c.stillAsks(asks); {
				case !any:
					cancel()
					return
				case !still:
					time.AfterFunc(patience(asks), cancel)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	c.mu.Lock()
	in := Claim{Asks: asks, Wait: SecondsOf(c.wait), Idle: c.claims.idle, Repeat: c.claims.unsure || c.claims.stray}
	if in.Repeat {
		for id, a := range c.attempts {
			in.Held = append(in.Held, Lease{id, a.number})
		}
	}
	c.claims.unsure, c.claims.stray = true, false // until there is an answer
	c.mu.Unlock()
	var out Claimed
	err := c.call(ctx, request{path: "claim", in: in, out: &out, held: in.Wait.Duration()})
	changed := ctx.Err() != nil && c.life.Err() == nil
	cancel()
	<-watching
	if err != nil {
		if changed {
			return nil
		}
		return err
	}
	c.take(out.Tasks)
	return nil
}

// take keeps tasks that the server has given, and wakes the groups that wait for them.
func (c *Client) take(taskList []Task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claims.unsure, c.claims.idle = false, len(taskList) == 0
	for i := range taskList {
		t := &taskList[i]
		if held := c.attempts[t.ID]; held != nil && held.number >= t.Attempt {
			continue // it came by an earlier answer
		}
		claimed := t.claimed(c.worker, c.clock())
		c.attempts[t.ID] = &attempt{number: t.Attempt, run: t.Run, token: t.Token, links: t.Links}
		c.claims.received = append(c.claims.received, claimed)
		for ch := range c.claims.topics[tasks.QueueTopic(t.Queue)] {
			queue.Wake(ch)
		}
	}
	if len(c.claims.received) == 0 {
		return
	}
	// Tasks that nobody waits for any more go back.
	c.returnGiven(func(t *runs.ClaimedTask) bool { return c.claims.topics[tasks.QueueTopic(t.Task.Queue)] == nil })
}

// NeedsFreshWorker reports whether a task waits that a new worker could claim, but not this one.
func (c *Client) NeedsFreshWorker(ctx context.Context, current, fresh tasks.ClaimFilter) (bool, error) {
	var out Answer
	err := c.call(ctx, request{path: "fresh", in: Fresh{askOf(current), askOf(fresh)}, out: &out})
	return out.Yes, err
}
