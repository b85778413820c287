package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
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
	// eventRate is the number of events per second, and openLoopSeconds how long they are published, times --seconds.
	eventRate       = 100
	openLoopSeconds = 10
)

// deliveryService is a service with a delivery worker, and a receiver of its deliveries.
type deliveryService struct {
	*service
	// endpoints has one endpoint per user, whose token and secret the ring has sealed.
	endpoints []webhooks.Endpoint
	receiver  *receiver
	ring      *seal.Ring
	sender    *webhook.Sender
}

// receiver is the endpoint of every user. It responds to deliveries at once, and records when the event of each run
// arrived.
type receiver struct {
	url string
	// at has the time of arrival by run; mu guards it.
	mu sync.Mutex
	at map[string]time.Time
}

// ServeHTTP receives one delivery. It finds the run without decoding the body, whose cost would count as the service's.
func (s *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, webhook.MaxBody))
	if err != nil {
		return
	}
	now := time.Now()
	if _, rest, ok := bytes.Cut(body, []byte(`"job_run":{"id":"`)); ok && len(rest) > 36 {
		s.mu.Lock()
		if run := string(rest[:36]); s.at[run].IsZero() {
			s.at[run] = now
		}
		s.mu.Unlock()
	}
}

// arrival returns when the event of a run arrived, if it has.
func (s *receiver) arrival(run pleat.RunID) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.at[string(run)]
	return at, ok
}

// newDeliveryService returns a service in which each user has an endpoint at the same receiver. The caller closes it.
func (b *bench) newDeliveryService(ctx context.Context, d database) (_ *deliveryService, err error) {
	h := &deliveryService{receiver: &receiver{at: map[string]time.Time{}}}
	if h.service, err = b.newService(ctx, d, store.Options{}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	srv := &http.Server{Handler: h.receiver, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	h.closers = append(h.closers, func() error {
		err := srv.Close()
		if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
		return err
	})
	h.receiver.url = "http://" + l.Addr().String()
	if h.ring, err = seal.Load("", filepath.Join(h.dir, "secret.key")); err != nil {
		return nil, err
	}
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} // which the guard of a server refuses
	h.sender = webhook.NewSender(webhook.Config{Guard: webhook.NewGuard(loopback, nil, nil)})
	h.closers = append(h.closers, func() error { h.sender.Close(); return nil })
	for i, u := range h.users {
		token := h.ring.Seal(string(u.Project), "token", []byte("token"))
		secret := h.ring.Seal(string(u.Project), "secret", []byte(webhook.NewKey().Text()))
		e, err := h.store.Webhooks.PutEndpoint(ctx, people.Actor{Reach: u}, webhooks.EndpointConfig{
			URL:    h.receiver.url + "/hook/" + strconv.Itoa(i),
			Token:  token,
			Secret: secret,
		})
		if err != nil {
			return nil, err
		}
		h.endpoints = append(h.endpoints, e)
	}
	return h, nil
}

// deliver starts a delivery worker with the default settings. stop ends it and returns its error.
func (h *deliveryService) deliver(ctx context.Context) (stop func() error) {
	links := seal.Links{Ring: h.ring, Base: "http://" + h.addr, For: 24 * time.Hour}
	c := deliver.New(deliver.Config{
		ID:   "bench/deliver",
		Poll: true,
		Base: links.Base,
		Link: links.URL,
		Log:  h.log,
	}, h.store, h.ring, h.sender)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	return func() error { cancel(); return <-ended }
}

// claimed creates n jobs of the users in turn, whose endpoints are notified when they end, and claims them, so that
// only the ends of their runs remain to be measured.
func (h *deliveryService) claimed(ctx context.Context, n int) ([]runs.ClaimedTask, error) {
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

// inParallel calls fn for 0 to n-1, 16 calls at once. After an error a goroutine makes no further calls.
func inParallel(n int, fn func(i int) error) error {
	var next atomic.Int64
	errs := make([]error, 16)
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && errs[w] == nil; i = int(next.Add(1)) - 1 {
				errs[w] = fn(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// endedRun is a run that endRuns has ended.
type endedRun struct {
	id pleat.RunID
	// began is when the transaction that ended the run began, and commit how long it took until it was durable.
	began  time.Time
	commit time.Duration
}

// endRuns ends the runs at eventRate, without waiting for earlier ones. Each transaction creates a delivery.
func (h *deliveryService) endRuns(ctx context.Context, runs []runs.ClaimedTask) ([]endedRun, error) {
	out := make([]endedRun, len(runs))
	errs := make([]error, len(runs))
	var wg sync.WaitGroup
	start := time.Now()
	for i := range runs {
		time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / eventRate)))
		wg.Go(func() {
			began := time.Now()
			errs[i] = h.store.Runs.FinishRun(ctx, tasks.LeaseOf(&runs[i].Task), resultOf(&runs[i]))
			out[i] = endedRun{runs[i].Fold.Run, began, time.Since(began)}
		})
	}
	wg.Wait()
	return out, errors.Join(errs...)
}

// delays waits for the events of ended runs, and returns the time of each from the beginning of its transaction to its
// arrival. It fails if they have not all arrived after 30 s.
func (h *deliveryService) delays(runs []endedRun) ([]time.Duration, error) {
	var out []time.Duration
	limit := time.Now().Add(30 * time.Second)
	for _, r := range runs {
		for {
			if at, ok := h.receiver.arrival(r.id); ok {
				out = append(out, at.Sub(r.began))
				break
			}
			if time.Now().After(limit) {
				late := len(runs) - len(out)
				return out, fmt.Errorf("%d of %d events did not arrive within 30 s", late, len(runs))
			}
			time.Sleep(time.Millisecond)
		}
	}
	return out, nil
}

// deliveryDelay measures the time from the end of a run to the arrival of its event at the endpoint, at 100 events per
// second to 64 endpoints. An event cannot arrive before its transaction is durable, so the target of the 99th
// percentile is 3 times that of the commits, measured in the same run, plus 5 ms.
func (b *bench) deliveryDelay(ctx context.Context, d database) error {
	var delays, commits []float64
	for range deliveryRounds {
		commit, delay, err := b.openLoopDelays(ctx, d)
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

// openLoopDelays publishes events to 64 endpoints at eventRate, and returns the durations of their commits and the
// delays of their deliveries.
func (b *bench) openLoopDelays(ctx context.Context, d database) (commits, delays []time.Duration, err error) {
	h, err := b.newDeliveryService(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	runs, err := h.claimed(ctx, max(20, int(eventRate*openLoopSeconds*b.seconds)))
	if err != nil {
		return nil, nil, err
	}
	stop := h.deliver(ctx)
	ended, err := h.endRuns(ctx, runs)
	if err == nil {
		delays, err = h.delays(ended)
	}
	for _, r := range ended {
		commits = append(commits, r.commit)
	}
	return commits, delays, errors.Join(err, stop())
}
