package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"pleat"
	"pleat/internal/deliver"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
	"pleat/internal/webhook"
)

const (
	// deliveryRounds is how often the delay is measured; the median counts.
	deliveryRounds = 3
	// eventRate is the average number of events per second, and eventSeconds how long they are published, times
	// --seconds.
	eventRate    = 100
	eventSeconds = 10
	// arrivalLimit is how long the last events may take to arrive.
	arrivalLimit = 30 * time.Second
)

// deliveryDelay measures the time from the end of a run to the arrival of its event at the endpoint, at 100 events per
// second on average to 64 endpoints. An event cannot arrive before its transaction is durable, so the target of the
// 99th percentile is 3 times that of the commits, measured in the same run, plus 5 ms.
func (b *bench) deliveryDelay(ctx context.Context, d database) error {
	var delays, commits []float64
	for range deliveryRounds {
		commit, delay, err := b.delays(ctx, d)
		if err != nil {
			return err
		}
		commits = append(commits, float64(quantileTime(0.99, commit)))
		delays = append(delays, float64(quantileTime(0.99, delay)))
		fmt.Fprintf(b.progress, "  p99 %s, p50 %s; commits p99 %s, p50 %s\n",
			short(quantileTime(0.99, delay)), short(quantileTime(0.5, delay)),
			short(quantileTime(0.99, commit)), short(quantileTime(0.5, commit)))
	}
	commit, delay := time.Duration(quantile(0.5, commits)), time.Duration(quantile(0.5, delays))
	b.within(line{
		what:     fmt.Sprintf("end of a run to arrival at its endpoint, %d/s, p99", eventRate),
		database: d.name,
		ceiling:  fmt.Sprintf("commit p99 %s, fdatasync %s", short(commit), short(d.sync)),
		ratio:    fmt.Sprintf("%.2f", float64(delay)/float64(commit)),
	}, delay, 3*commit+5*time.Millisecond)
	return nil
}

// delays publishes events, and returns the durations of their commits and the time of each from the beginning of its
// transaction to its arrival.
func (b *bench) delays(ctx context.Context, d database) (commits, delays []time.Duration, err error) {
	h, err := b.newDeliveries(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	runs, err := h.claimed(ctx, max(20, int(eventRate*eventSeconds*b.seconds)))
	if err != nil {
		return nil, nil, err
	}
	stop := h.deliver(ctx)
	commits, began := make([]time.Duration, len(runs)), make([]time.Time, len(runs))
	err = openLoop(ctx, len(runs), eventRate, func(i int) error {
		began[i] = time.Now()
		err := h.store.Runs.FinishRun(ctx, tasks.LeaseOf(&runs[i].Task), resultOf(&runs[i])) // which creates a delivery
		commits[i] = time.Since(began[i])
		return err
	})
	for end := time.Now().Add(arrivalLimit); err == nil && len(delays) < len(runs); {
		at, ok := h.arrival(runs[len(delays)].Fold.Run)
		switch {
		case ok:
			delays = append(delays, at.Sub(began[len(delays)]))
		case time.Now().After(end):
			err = fmt.Errorf("%d of %d events did not arrive within %v", len(runs)-len(delays), len(runs), arrivalLimit)
		default:
			time.Sleep(time.Millisecond)
		}
	}
	return commits, delays, errors.Join(err, stop())
}

// deliveries is a service in which each user has an endpoint, all at the same receiver, which answers at once.
type deliveries struct {
	*service
	endpoints []webhooks.Endpoint // one per user, whose token and secret the ring has sealed
	ring      *seal.Ring
	sender    *webhook.Sender

	mu       sync.Mutex
	arrivals map[string]time.Time // when the event of each run arrived
}

// newDeliveries returns a service with a receiver. The caller closes it.
func (b *bench) newDeliveries(ctx context.Context, d database) (_ *deliveries, err error) {
	h := &deliveries{arrivals: map[string]time.Time{}}
	if h.service, err = b.newService(ctx, d, store.Options{}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	addr, stop, err := serveLoopback(ctx, http.HandlerFunc(h.receive))
	if err != nil {
		return nil, err
	}
	h.later(stop)
	if h.ring, err = seal.Load("", filepath.Join(h.dir, "secret.key")); err != nil {
		return nil, err
	}
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} // which the guard of a server refuses
	h.sender = webhook.NewSender(webhook.Config{Guard: webhook.NewGuard(loopback, nil, nil)})
	h.later(func() error { h.sender.Close(); return nil })
	for i, u := range h.users {
		e, err := h.store.Webhooks.PutEndpoint(ctx, people.Actor{Reach: u}, webhooks.EndpointSettings{
			Address: new(h.ring.SealAddress(u.Project, webhooks.AddressColumn,
				"http://"+addr+"/hook/"+strconv.Itoa(i))),
			Token:  new(h.ring.Seal(string(u.Project), "token", []byte("token"))),
			Secret: h.ring.Seal(string(u.Project), "secret", []byte(webhook.NewKey().Text())),
		})
		if err != nil {
			return nil, err
		}
		h.endpoints = append(h.endpoints, e)
	}
	return h, nil
}

// receive receives one delivery. It finds the run without decoding the body, whose cost would count as the service's.
func (h *deliveries) receive(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, webhook.MaxBody))
	now := time.Now()
	if _, rest, ok := bytes.Cut(body, []byte(`"job_run":{"id":"`)); err == nil && ok && len(rest) > 36 {
		h.mu.Lock()
		defer h.mu.Unlock()
		if run := string(rest[:36]); h.arrivals[run].IsZero() {
			h.arrivals[run] = now
		}
	}
}

// arrival returns when the event of a run arrived, if it has.
func (h *deliveries) arrival(run pleat.RunID) (time.Time, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, ok := h.arrivals[string(run)]
	return at, ok
}

// deliver starts a delivery worker with the default settings. stop ends it and returns its error.
func (h *deliveries) deliver(ctx context.Context) (stop func() error) {
	links := seal.Links{Ring: h.ring, Base: "http://" + h.addr, For: 24 * time.Hour}
	c := deliver.New(deliver.Config{
		ID:       "bench/deliver",
		DB:       h.store.DB,
		Webhooks: h.store.Webhooks,
		Runs:     h.store.Runs,
		Batches:  h.store.Batches,
		Poll:     true,
		Base:     links.Base,
		Link:     links.URL,
		Log:      h.log,
	}, h.ring, h.sender)
	return start(ctx, c.Run)
}

// claimed creates n jobs of the users in turn, whose endpoints are notified when they end, and claims them, so that
// only the ends of their runs remain to be measured.
func (h *deliveries) claimed(ctx context.Context, n int) ([]runs.ClaimedTask, error) {
	err := inParallel(n, func(i int) error {
		i %= len(h.users)
		j := newJob(h.users[i])
		j.Subs = []pleat.Subscription{{
			Destination: pleat.DestCustom,
			Alias:       "custom_http",
			TargetType:  "custom_http",
			Endpoint:    h.endpoints[i].ID,
		}}
		_, err := h.store.Runs.CreateJob(ctx, j)
		return err
	})
	var out []runs.ClaimedTask
	for err == nil && len(out) < n {
		var got []runs.ClaimedTask
		got, err = h.store.Runs.Claim(ctx, "bench", tasks.ClaimFilter{Queues: []string{nullQueue}, N: 256})
		if err == nil && len(got) == 0 {
			err = fmt.Errorf("%d of %d jobs were claimed", len(out), n)
		}
		out = append(out, got...)
	}
	return out, err
}
