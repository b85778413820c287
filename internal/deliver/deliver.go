// Package deliver sends webhooks: it claims deliveries to custom endpoints, builds their requests, posts them and
// stores the outcome of each attempt.
//
// A Pool is one delivery worker. Any number may share a database; it keeps no state that a crash could lose. It must
// not decide what triggers a delivery (packages runs and webhooks of the store do) nor how a body looks (package
// webhook).
package deliver

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/queue"
	"pleat/internal/seal"
	"pleat/internal/store/batches"
	"pleat/internal/store/db"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
	"pleat/internal/tracing"
	"pleat/internal/webhook"
)

// Config of a Pool. The zero value of each field but ID and the stores serves.
type Config struct {
	// ID is unique, and the same after a restart, so that the leases of the process before are released at once.
	ID pleat.WorkerID
	// DB tells the time and what is new, Webhooks has the deliveries, Runs and Batches what they are about. Runs also
	// renews the leases.
	DB       *db.DB
	Webhooks *webhooks.Store
	Runs     *runs.Store
	Batches  *batches.Store
	// Parallel is how many deliveries of this process may be in flight at once; 0: 256.
	Parallel int
	// Endpoint is how many deliveries to one endpoint may be in flight at once, on all nodes, while it answers fast and
	// others wait; 0: 64.
	Endpoint int
	// Owner is how many deliveries to all endpoints of one user may be in flight at once, on all nodes; 0: 32. For an
	// endpoint whose window is larger, the bound is that window.
	Owner int
	// Quick is how long a fast endpoint takes to answer, at most; 0: 50 ms.
	Quick time.Duration
	// Rate bounds the deliveries to one endpoint, a second; 0: unlimited.
	Rate float64
	// Base is the service's public address, which requests name as their source.
	Base string
	// Link signs the URL of a file, as seal.Links.URL does. nil: requests have no links to files.
	Link func(a *pleat.Artifact, scope seal.LinkScope, now time.Time) string
	// Poll runs a queue.Poller. Set it if no work.Pool of this process does.
	Poll bool
	// Retention is how long ended deliveries are kept; 0: for ever.
	Retention time.Duration
	// Grace is how long deliveries in flight may take to end when the process is asked to stop; 0: 5 s.
	Grace time.Duration
	// StoreGrace is how long their outcomes may then take to be stored; 0: 5 s.
	StoreGrace time.Duration
	// Tracer begins the spans of attempts; nil: there are none.
	Tracer *tracing.Tracer
	Clock  func() time.Time // nil: the machine's
	Log    *slog.Logger     // nil: discards
	// Step, if set, is called before and after each step that a crash could come between. Tests end the process in it.
	Step func(name string)
}

func (c *Config) setDefaults() {
	c.Parallel = cmp.Or(c.Parallel, 256)
	c.Endpoint = cmp.Or(c.Endpoint, 64)
	c.Owner = cmp.Or(c.Owner, 32)
	c.Quick = cmp.Or(c.Quick, 50*time.Millisecond)
	c.Grace = cmp.Or(c.Grace, 5*time.Second)
	c.StoreGrace = cmp.Or(c.StoreGrace, 5*time.Second)
	c.Clock = clock.Or(c.Clock)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Step == nil {
		c.Step = func(string) {}
	}
}

// Pool delivers events to custom endpoints. Make it with New, then call Run.
type Pool struct {
	cfg     Config
	ring    *seal.Ring
	sender  *webhook.Sender
	metrics *metrics
	leases  *queue.Leases
	windows *windows

	ended chan *result  // outcomes, for the goroutine that stores them
	wake  chan struct{} // wakes the claim loop
}

// result is the outcome of one attempt: what the store gets, and what the circuit breaker and the metrics need.
type result struct {
	webhooks.DeliveryOutcome
	held    *queue.Held
	attempt webhook.Attempt
}

// New makes a Pool that posts with sender. The ring opens the tokens and secrets of endpoints. The caller closes sender
// after Run has returned.
func New(cfg Config, ring *seal.Ring, sender *webhook.Sender) *Pool {
	cfg.setDefaults()
	return &Pool{
		cfg:     cfg,
		ring:    ring,
		sender:  sender,
		metrics: newMetrics(),
		leases:  queue.NewLeases(cfg.Runs, cfg.ID, cfg.Clock, cfg.Log),
		windows: newWindows(cfg.Endpoint, cfg.Quick),
		ended:   make(chan *result, cfg.Parallel),
		wake:    make(chan struct{}, 1),
	}
}

const (
	maxFinished    = 128 // outcomes stored in one transaction
	forgetInterval = time.Hour
	maxForgotten   = 1000 // deliveries deleted in one transaction
	endInterval    = 5 * time.Second
)

// Run delivers until ctx ends. It then lets deliveries in flight end for Config.Grace, returns the others to the queue,
// and returns.
func (p *Pool) Run(ctx context.Context) error {
	run, stop, started := p.leases.Start(ctx, p.cfg.Runs, "the delivery worker cannot start")
	if !started {
		return nil
	}
	defer stop()
	posts, cut := context.WithCancel(run)
	var duties, attempts, finisher sync.WaitGroup
	finisher.Go(func() { p.finish(run) })
	if p.cfg.Poll {
		poller := queue.NewPoller(p.cfg.DB, p.cfg.Runs, p.cfg.Clock, p.cfg.Log, p.leases.RenewNow)
		duties.Go(func() { poller.Run(run) })
	}
	duties.Go(func() { p.endDeleted(run) })
	if p.cfg.Retention > 0 {
		duties.Go(func() { p.forget(run) })
	}
	p.claim(ctx, posts, &attempts)
	late := time.AfterFunc(p.cfg.Grace, cut)
	attempts.Wait()
	late.Stop()
	cut()
	close(p.ended)
	unstored := time.AfterFunc(p.cfg.StoreGrace, stop)
	finisher.Wait()
	unstored.Stop()
	stop()
	duties.Wait()
	return nil
}

// claim claims deliveries while there is room, going round the endpoints. They are posted under posts, which outlives
// ctx.
func (p *Pool) claim(ctx, posts context.Context, running *sync.WaitGroup) {
	cursor := ""
	queue.ClaimLoop{
		News:   p.cfg.DB,
		Topics: []string{tasks.DeliveryTopic},
		Wake:   p.wake,
		Log:    p.cfg.Log,
		Claim: func(ctx context.Context) error {
			for ctx.Err() == nil {
				free := p.cfg.Parallel - p.leases.Len()
				if free <= 0 {
					return nil
				}
				p.cfg.Step("claim")
				got, err := p.cfg.Webhooks.ClaimDeliveries(ctx, p.cfg.ID, cursor, free, p.limits())
				if len(got.List) > 0 {
					p.cfg.Step("claimed")
					p.start(posts, got.List, running)
				}
				if err != nil {
					return err
				}
				p.windows.full(p.cfg.DB.Now(), got.Full...)
				p.metrics.markBusy(p.cfg.DB.Now(), got.Full...)
				if len(got.Full) > 0 {
					p.cfg.Step("full")
				}
				complete := cursor == "" && got.Next == "" // a round that began and ended at the first endpoint
				cursor = got.Next
				if complete && len(got.List) == 0 {
					return nil
				}
			}
			return nil
		},
	}.Run(ctx)
}

// start posts claimed deliveries, each in a goroutine of its own. It reads their jobs for all of them together.
func (p *Pool) start(posts context.Context, got []webhooks.ClaimedDelivery, attempts *sync.WaitGroup) {
	held := make([]*queue.Held, len(got))
	for i := range got {
		held[i] = p.leases.Add(posts, &got[i].Task)
	}
	p.metrics.inFlight.Add(float64(len(got)))
	attempts.Go(func() {
		sources := p.sources(posts, got)
		for i := range got {
			attempts.Go(func() { p.ended <- p.attempt(held[i], got[i], sources[got[i].Delivery.Run]) })
		}
	})
}

// sources reads the jobs of deliveries. If that fails, the events are sent without them.
func (p *Pool) sources(ctx context.Context, got []webhooks.ClaimedDelivery) map[pleat.RunID]*runs.View {
	var ids []pleat.RunID
	for i := range got {
		if got[i].Event.Source.Job != "" {
			ids = append(ids, got[i].Delivery.Run)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	views, err := p.cfg.Runs.RunViews(ctx, ids)
	if err != nil && ctx.Err() == nil {
		p.cfg.Log.Warn("deliveries are sent without their source", "error", err)
	}
	return views
}

// attempt makes one attempt at a delivery: it builds the request, posts it, and decides whether and when to try again.
// A delivery whose request cannot be built counts as failed, with a message that has no secret.
func (p *Pool) attempt(h *queue.Held, d webhooks.ClaimedDelivery, v *runs.View) *result {
	r := &result{DeliveryOutcome: webhooks.DeliveryOutcome{Claimed: d}, held: h}
	ctx, span := p.cfg.Tracer.Deliver(h.Context(), traced(&d), d.Endpoint.Address.Origin)
	log := tracing.LogWith(ctx, p.cfg.Log).With("delivery", d.Delivery.ID, "endpoint", d.Endpoint.ID,
		"run", d.Delivery.Run)
	req, err := p.request(ctx, d, v)
	if err != nil {
		log.Error("a delivery cannot be built", "error", err)
		r.attempt = webhook.Attempt{
			At:      p.cfg.Clock(),
			Error:   webhook.ClassInvalid,
			Message: "the delivery could not be built; the server's log has the reason",
		}
	} else {
		p.cfg.Step("post")
		r.attempt = p.sender.Post(ctx, req)
		p.cfg.Step("posted")
	}
	p.metrics.observe(&r.attempt)
	p.metrics.observeDelay(&d, &r.attempt, p.cfg.DB.Now())
	p.windows.observe(d.Endpoint.ID, r.attempt.Timings.Total, r.attempt.OK())
	r.decide(p.cfg.DB.Now())
	tracing.Delivered(span, r.Status, string(r.attempt.Error))
	log = log.With("ok", r.OK, "status", r.Status, "class", string(r.attempt.Error),
		"duration_ms", r.attempt.Timings.Total, "user", d.Endpoint.Owner)
	if r.OK {
		log.Debug("delivery attempt")
	} else {
		log.Info("delivery attempt") // the operator must be able to see whose endpoint fails
	}
	return r
}

// decide sets whether and when the delivery is tried again: by the receiver's response headers, else by the schedule.
// An attempt that was cut off by a shutdown does not count.
func (r *result) decide(now time.Time) {
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
		tries := r.Claimed.Task.Tries + 1
		var again bool
		r.NextAt, again = webhook.Next(tries, now, a.RetryAfter, rand.Float64())
		if !again || tries >= r.Claimed.Task.MaxTries {
			r.NextAt, r.Reason = time.Time{}, "no attempt is left; the last one: "+a.Message
		}
	}
}

// finish stores outcomes, those that are ready together, until ended is closed.
func (p *Pool) finish(ctx context.Context) {
	for first := range p.ended {
		batch := []*result{first}
	gather:
		for len(batch) < maxFinished {
			select {
			case r, open := <-p.ended:
				if !open {
					break gather
				}
				batch = append(batch, r)
			default:
				break gather
			}
		}
		p.storeOutcomes(ctx, batch)
		for _, r := range batch {
			p.leases.Remove(r.held)
		}
		p.metrics.inFlight.Sub(float64(len(batch)))
		queue.Wake(p.wake)
	}
}

// storeOutcomes stores outcomes, trying for as long as ctx lives. After that the leases expire, and the deliveries are
// sent once more.
func (p *Pool) storeOutcomes(ctx context.Context, batch []*result) {
	list := make([]webhooks.DeliveryOutcome, len(batch))
	results := make(map[pleat.TaskID]*result, len(batch))
	for i, r := range batch {
		list[i] = r.DeliveryOutcome
		results[r.Claimed.Task.ID] = r
	}
	logs := map[pleat.EndpointID]func(){}
	update := func(e webhooks.Endpoint, list []webhooks.DeliveryOutcome, now time.Time) (v webhooks.EndpointUpdate) {
		p.cfg.Step("finishing")
		var endpointResults []*result
		for _, d := range list {
			endpointResults = append(endpointResults, results[d.Claimed.Task.ID])
		}
		v, logs[e.ID] = p.endpointUpdate(e, endpointResults, now)
		return v
	}
	p.cfg.Step("finish")
	stored := queue.Retry(ctx, p.cfg.Log, "the outcomes of deliveries cannot be stored", func() error {
		return p.cfg.Webhooks.FinishDeliveries(ctx, p.cfg.ID, list, update)
	})
	if stored {
		p.cfg.Step("finished")
		for _, tell := range logs {
			tell()
		}
	}
}

// forget deletes deliveries that ended longer ago than Config.Retention: once an hour, or every second while there are
// more than one transaction deletes.
func (p *Pool) forget(ctx context.Context) {
	for {
		n, err := p.cfg.Webhooks.ForgetDeliveries(ctx, p.cfg.DB.Now().Add(-p.cfg.Retention), maxForgotten)
		if err != nil && ctx.Err() == nil {
			p.cfg.Log.Warn("old deliveries cannot be deleted", "error", err)
		}
		wait := forgetInterval
		if n == maxForgotten {
			wait = queue.PollInterval
		}
		if !queue.Sleep(ctx, wait) {
			return
		}
	}
}

// endDeleted ends the deliveries that wait for deleted endpoints, every few seconds, a part of them in each
// transaction.
func (p *Pool) endDeleted(ctx context.Context) {
	for {
		more, err := p.cfg.Webhooks.EndDeliveries(ctx)
		if err != nil && ctx.Err() == nil {
			p.cfg.Log.Warn("deliveries to deleted endpoints cannot be ended", "error", err)
		}
		if !more && !queue.Sleep(ctx, endInterval) || ctx.Err() != nil {
			return
		}
	}
}
