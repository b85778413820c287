package work

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"pleat"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/webhook"
)

// CourierConfig of a Courier. The zero value of each field but ID serves.
type CourierConfig struct {
	ID        pleat.WorkerID // the same after a restart, so that what it held is free at once; different from every other's
	Parallel  int            // deliveries under way at once, of this courier; 0: 256
	Endpoint  int            // of those to one endpoint, on all nodes; 0: 16
	Owner     int            // of those to all endpoints of one user, on all nodes; 0: 32
	Rate      float64        // deliveries a second to one endpoint; 0: as many as it takes
	Base      string         // the service's public address
	Link      func(a *pleat.Artifact, j *pleat.Job, now time.Time) string
	Reap      bool          // whether to run the store's reaper too, where no Pool of this process does
	Retention time.Duration // how long ended deliveries are kept; 0: for ever
	Clock     func() time.Time
	Log       *slog.Logger
	// Step, if set, is called before and after each thing that a crash could come between. Tests end the process in it.
	Step func(name string)
}

// Courier delivers events to custom endpoints: it claims deliveries, builds their bodies, posts them and stores how each
// attempt ended. Any number may share a database. It keeps nothing that a crash could lose.
type Courier struct {
	cfg    CourierConfig
	store  *store.Store
	ring   *seal.Ring
	sender *webhook.Sender
	meters *courierMeters

	mu   sync.Mutex
	held map[pleat.TaskID]*inFlight
	pace map[string]time.Duration // what an endpoint's answers take lately, by its id

	ended chan result   // how attempts ended, for the one who stores it
	freed chan struct{} // wakes the one who claims
}

// carried is a delivery under way.
type inFlight struct {
	attempt int
	renewed time.Time
	cancel  context.CancelFunc
}

// result is how one attempt ended.
type result struct {
	store.Delivered
	attempt webhook.Attempt
}

// NewCourier makes a Courier that posts with sender. Closing the sender is the caller's.
func NewCourier(cfg CourierConfig, s *store.Store, ring *seal.Ring, sender *webhook.Sender) *Courier {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	def(&cfg.Parallel, 256)
	def(&cfg.Endpoint, 16)
	def(&cfg.Owner, 32)
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Step == nil {
		cfg.Step = func(string) {}
	}
	return &Courier{cfg: cfg, store: s, ring: ring, sender: sender, meters: newCourierMeters(),
		held: map[pleat.TaskID]*inFlight{}, pace: map[string]time.Duration{}, ended: make(chan result, cfg.Parallel), freed: make(chan struct{}, 1)}
}

const (
	finishMost  = 128 // attempts stored in one transaction
	forgetEvery = time.Hour
	forgetMost  = 1000
)

// grace is what deliveries under way get when the process is asked to stop.
var grace = 5 * time.Second

// Run delivers until ctx ends, lets what is under way end for a few seconds, gives back what does not, and returns.
func (c *Courier) Run(ctx context.Context) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		_, err := c.store.FreeTasks(ctx, c.cfg.ID)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil
		}
		c.cfg.Log.Warn("the courier cannot begin; trying again", "error", err)
		if !sleep(ctx, wait) {
			return nil
		}
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	posts, cut := context.WithCancel(run)
	var duties, tasks, finisher sync.WaitGroup
	finisher.Go(func() { c.finish(run) })
	duties.Go(func() { c.keepLeases(run) })
	if c.cfg.Reap {
		duties.Go(func() { reap(run, c.store, c.cfg.Clock, c.cfg.Log, c.touch) })
	}
	if c.cfg.Retention > 0 {
		duties.Go(func() { c.forget(run) })
	}
	c.claim(ctx, posts, &tasks)
	late := time.AfterFunc(grace, cut)
	tasks.Wait()
	late.Stop()
	cut()
	close(c.ended)
	giveUp := time.AfterFunc(grace, stop)
	finisher.Wait()
	giveUp.Stop()
	stop()
	duties.Wait()
	return nil
}

// claim takes deliveries while there is room, round the endpoints. What it took goes out under posts, which outlives ctx.
func (c *Courier) claim(ctx, posts context.Context, tasks *sync.WaitGroup) {
	kick, end := c.store.Subscribe(store.DeliveryTopic())
	defer end()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	cursor := ""
	for {
		for ctx.Err() == nil {
			free := c.cfg.Parallel - c.underway()
			if free <= 0 {
				break
			}
			c.cfg.Step("claim")
			got, next, err := c.store.ClaimDeliveries(ctx, c.cfg.ID, cursor, free, c.admit)
			if err != nil {
				if ctx.Err() == nil {
					c.cfg.Log.Warn("the courier cannot claim; trying again", "error", err)
					sleep(ctx, pollInterval)
				}
				break
			}
			if len(got) > 0 {
				c.cfg.Step("claimed")
				c.take(posts, got, tasks)
			}
			whole := cursor == "" && next == "" // a round that began and ended at the first endpoint
			cursor = next
			if whole && len(got) == 0 {
				break
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-kick:
		case <-poll.C:
		case <-c.freed:
		}
	}
}

func (c *Courier) underway() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.held)
}

// take sends claimed deliveries on their way: what they tell of is read for all of them together.
func (c *Courier) take(posts context.Context, got []store.ClaimedDelivery, tasks *sync.WaitGroup) {
	ctxs := make([]context.Context, len(got))
	now := c.cfg.Clock()
	c.mu.Lock()
	for i := range got {
		ctx, cancel := context.WithCancel(posts)
		ctxs[i] = ctx
		c.held[got[i].Task.ID] = &inFlight{attempt: got[i].Task.Attempt, renewed: now, cancel: cancel}
	}
	c.mu.Unlock()
	c.meters.underway.Add(float64(len(got)))
	tasks.Go(func() {
		sources := c.sources(posts, got)
		for i := range got {
			tasks.Go(func() { c.ended <- c.carry(ctxs[i], got[i], sources[got[i].Delivery.Run]) })
		}
	})
}

// sources reads the jobs that deliveries tell of. Where that fails the events go alone.
func (c *Courier) sources(ctx context.Context, got []store.ClaimedDelivery) map[pleat.RunID]*store.View {
	var runs []pleat.RunID
	for i := range got {
		if got[i].Event.Source == pleat.SourceFold {
			runs = append(runs, got[i].Delivery.Run)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	views, err := c.store.RunViews(ctx, runs)
	if err != nil && ctx.Err() == nil {
		c.cfg.Log.Warn("deliveries go without their source", "error", err)
	}
	return views
}

// carry makes one attempt at a delivery.
func (c *Courier) carry(ctx context.Context, d store.ClaimedDelivery, v *store.View) result {
	r := result{Delivered: store.Delivered{Claimed: d}}
	req, err := c.request(ctx, d, v)
	if err != nil {
		c.cfg.Log.Error("a delivery cannot be written", "delivery", d.Delivery.ID, "endpoint", d.Endpoint.ID, "error", err)
		r.attempt = webhook.Attempt{At: c.cfg.Clock(), Error: webhook.ClassInvalid, Message: "the delivery could not be written; the operator's log says why"}
	} else {
		c.cfg.Step("post")
		r.attempt = c.sender.Post(ctx, req)
		c.cfg.Step("posted")
	}
	c.meters.note(&r.attempt)
	c.timed(d.Endpoint.ID, r.attempt.Timings.Total)
	r.judge(c.store.Now())
	c.cfg.Log.Debug("delivery attempt", "delivery", d.Delivery.ID, "endpoint", d.Endpoint.ID, "ok", r.OK, "status", r.Status,
		"class", string(r.attempt.Error), "took", r.attempt.Timings.Total)
	return r
}

// judge decides what becomes of the delivery.
func (r *result) judge(now time.Time) {
	a := &r.attempt
	r.OK, r.Status, r.Detail = a.OK(), a.Status, detail(a)
	switch {
	case a.Error == webhook.ClassCancelled:
		r.Aborted = true
	case r.OK:
	case a.Disable:
		r.Reason = "the receiver wants no deliveries: it answered 410 or webhook-delivery: disable"
	case a.Abort:
		r.Reason = "the receiver does not want this message again: it answered webhook-delivery: abort-message"
	default:
		var again bool
		if r.NextAt, again = webhook.Next(r.Claimed.Task.Tries+1, now, a.RetryAfter, rand.Float64()); !again || r.Claimed.Task.Tries+1 >= r.Claimed.Task.MaxTries {
			r.NextAt, r.Reason = time.Time{}, "no attempt is left; the last one: "+a.Message
		}
	}
}

// finish stores how attempts ended, those that are at hand together, until ended is closed. What cannot be stored is tried
// again for as long as ctx lives; then its lease runs out, and it goes out once more.
func (c *Courier) finish(ctx context.Context) {
	for first := range c.ended {
		batch := []result{first}
	gather:
		for len(batch) < finishMost {
			select {
			case r, open := <-c.ended:
				if !open {
					break gather
				}
				batch = append(batch, r)
			default:
				break gather
			}
		}
		c.keep(ctx, batch)
		c.mu.Lock()
		for i := range batch {
			id := batch[i].Claimed.Task.ID
			c.held[id].cancel()
			delete(c.held, id)
		}
		c.mu.Unlock()
		c.meters.underway.Sub(float64(len(batch)))
		select {
		case c.freed <- struct{}{}:
		default:
		}
	}
}

func (c *Courier) keep(ctx context.Context, batch []result) {
	list := make([]store.Delivered, len(batch))
	attempts := make(map[pleat.TaskID]*webhook.Attempt, len(batch))
	for i := range batch {
		list[i] = batch[i].Delivered
		attempts[list[i].Claimed.Task.ID] = &batch[i].attempt
	}
	judge := func(e store.Endpoint, d store.Delivered, now time.Time) (string, time.Time, string) {
		c.cfg.Step("finishing")
		return c.record(e, d, attempts[d.Claimed.Task.ID], now)
	}
	c.cfg.Step("finish")
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := c.store.FinishDeliveries(ctx, c.cfg.ID, list, judge)
		if err == nil {
			c.cfg.Step("finished")
			return
		}
		c.cfg.Log.Warn("deliveries cannot be ended; trying again", "deliveries", len(list), "error", err)
		if !sleep(ctx, wait) {
			return
		}
	}
}

// keepLeases renews the leases of deliveries that take long, and breaks off those that another courier has.
func (c *Courier) keepLeases(ctx context.Context) {
	tick := time.NewTicker(pleat.HeartbeatInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var beats []pleat.Heartbeat
		now := c.cfg.Clock()
		c.mu.Lock()
		for id, h := range c.held {
			if now.Sub(h.renewed).Abs() >= pleat.HeartbeatInterval/2 {
				beats = append(beats, pleat.Heartbeat{Task: id, Attempt: h.attempt})
			}
		}
		c.mu.Unlock()
		if len(beats) == 0 {
			continue
		}
		pulses, err := c.store.Heartbeat(ctx, c.cfg.ID, beats)
		if err != nil {
			if ctx.Err() == nil {
				c.cfg.Log.Warn("the courier cannot renew its leases", "error", err)
			}
			continue
		}
		c.mu.Lock()
		for _, p := range pulses {
			if h := c.held[p.Task]; h != nil {
				h.renewed = now
				if p.Lost {
					h.cancel()
				}
			}
		}
		c.mu.Unlock()
	}
}

// touch makes the next heartbeat renew every lease.
func (c *Courier) touch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.held {
		h.renewed = time.Time{}
	}
}

// forget deletes deliveries that ended long ago.
func (c *Courier) forget(ctx context.Context) {
	for {
		n, err := c.store.ForgetDeliveries(ctx, c.store.Now().Add(-c.cfg.Retention), forgetMost)
		if err != nil && ctx.Err() == nil {
			c.cfg.Log.Warn("old deliveries cannot be deleted", "error", err)
		}
		wait := forgetEvery
		if n == forgetMost {
			wait = pollInterval
		}
		if !sleep(ctx, wait) {
			return
		}
	}
}

var errNoSecret = errors.New("a stored secret cannot be opened with this PLEAT_SECRET_KEY")
