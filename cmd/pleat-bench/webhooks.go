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
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pleat"
	"pleat/internal/config"
	"pleat/internal/deliver"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
	"pleat/internal/webhook"
)

// Sizes and rates of the parts on deliveries.
const (
	// deliveryRounds is how often each figure is measured; the median counts.
	deliveryRounds = 3
	// queuedPerEndpoint is the number of deliveries per endpoint in the queue whose speed is measured.
	queuedPerEndpoint = 100
	// eventRate is the number of events per second to the endpoints that respond, and hangingRate that to the endpoint
	// that hangs.
	eventRate   = 100
	hangingRate = 50
	// openLoopSeconds is how long events are published, times --seconds.
	openLoopSeconds = 10
	// shortQueue and longQueue are the numbers of deliveries in the queues whose memory is compared, and
	// maxMemoryGrowth is the allowed ratio.
	shortQueue      = 4000
	longQueue       = 200_000
	maxMemoryGrowth = 1.25
	// memorySeconds is the longest time to deliver from such a queue, times --seconds.
	memorySeconds = 30
)

// hangingUser is the user whose endpoint hangs, where one does.
const hangingUser = 1

// deliveryService is a service with a delivery worker, and a receiver of its deliveries.
type deliveryService struct {
	*service
	// endpoints has one endpoint per user, whose token and secret the ring has sealed.
	endpoints []store.Endpoint
	receiver  *receiver
	ring      *seal.Ring
	sender    *webhook.Sender
	// filled is the number of deliveries per endpoint that refill has made so far.
	filled int
}

// receiver is an endpoint of every user. It responds to deliveries at once, except to those to /hang, to which it
// never responds. It records when the event of each run arrived.
type receiver struct {
	url string
	// total counts the deliveries that were answered.
	total atomic.Int64
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
	if r.URL.Path == "/hang" {
		<-r.Context().Done()
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
	s.total.Add(1)
}

// arrival returns when the event of a run arrived, if it has.
func (s *receiver) arrival(run pleat.RunID) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.at[string(run)]
	return at, ok
}

// arrivals returns the number of runs whose events have arrived.
func (s *receiver) arrivals() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.at)
}

// newDeliveryService returns a service in which each user has an endpoint at the same receiver. The endpoints of the
// hanging users never respond. The caller closes it.
func (b *bench) newDeliveryService(
	ctx context.Context, d database, hanging ...int,
) (_ *deliveryService, err error) {
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
	h.sender = loopbackSender()
	h.closers = append(h.closers, func() error { h.sender.Close(); return nil })
	for i, u := range h.users {
		path := "/hook/" + strconv.Itoa(i)
		if slices.Contains(hanging, i) {
			path = "/hang"
		}
		token := h.ring.Seal(string(u.Project), "token", []byte("token"))
		secret := h.ring.Seal(string(u.Project), "secret", []byte(webhook.NewKey().Text()))
		e, err := h.store.PutEndpoint(ctx, store.Actor{Reach: u}, store.EndpointConfig{
			URL:    h.receiver.url + path,
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

// loopbackSender returns a sender that may reach the receiver: the guard of a server refuses loopback addresses.
func loopbackSender() *webhook.Sender {
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	return webhook.NewSender(webhook.Config{Guard: webhook.NewGuard(loopback, nil, nil)})
}

// pool returns a delivery worker with the default settings.
func (h *deliveryService) pool() *deliver.Pool {
	links := seal.Links{Ring: h.ring, Base: "http://" + h.addr, For: 24 * time.Hour}
	return deliver.New(deliver.Config{
		ID:   "bench/deliver",
		Poll: true, // a claim that commits after its process was killed is found by its lease
		Base: links.Base,
		Link: links.URL,
		Log:  h.log,
	}, h.store, h.ring, h.sender)
}

// deliver starts a delivery worker. stop ends it and returns its error.
func (h *deliveryService) deliver(ctx context.Context) (stop func() error) {
	c := h.pool()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	return func() error { cancel(); return <-ended }
}

// createJob creates a job of a user, whose endpoint is notified when it ends.
func (h *deliveryService) createJob(ctx context.Context, user int) error {
	j := newJob(h.users[user])
	j.Subs = []pleat.Subscription{{
		Destination: pleat.DestCustom,
		Alias:       "custom_http",
		TargetType:  "custom_http",
		Endpoint:    h.endpoints[user].ID,
	}}
	_, err := h.store.CreateJob(ctx, j)
	return err
}

// claimed creates n jobs, the i-th of user(i), and claims them, so that only the ends of their runs remain to be
// measured.
func (h *deliveryService) claimed(ctx context.Context, n int, user func(i int) int) ([]store.ClaimedTask, error) {
	err := inParallel(n, func(i int) error {
		return h.createJob(ctx, user(i))
	})
	var out []store.ClaimedTask
	for err == nil && len(out) < n {
		var got []store.ClaimedTask
		got, err = h.store.Claim(ctx, "bench", store.ClaimFilter{Queues: []string{nullQueue}, N: 256})
		if err == nil && len(got) == 0 {
			err = fmt.Errorf("%d of %d jobs were claimed", len(out), n)
		}
		out = append(out, got...)
	}
	return out, err
}

// end completes a claimed run with a result of typical size, which creates its delivery in the same transaction.
func (h *deliveryService) end(ctx context.Context, c store.ClaimedTask) error {
	score := 71.53
	f := store.RunFinished{State: pleat.StateCompleted, Engine: "null 1",
		Result: &pleat.Result{
			Predictions: []pleat.Prediction{
				{Sequence: c.Fold.Sequences[0].ID, Chains: []string{"A"}, MeanPLDDT: &score},
			},
		}}
	for _, kind := range []pleat.ArtifactKind{
		pleat.ArtifactCIF, pleat.ArtifactPAE, pleat.ArtifactPLDDTPlot, pleat.ArtifactMetrics,
	} {
		f.Artifacts = append(f.Artifacts, pleat.Artifact{
			Sequence:    c.Fold.Sequences[0].ID,
			Name:        string(kind),
			Kind:        kind,
			ContentType: "text/plain",
			Bytes:       1,
			SHA256:      strings.Repeat("0", 64),
			Key:         store.ArtifactKey(&c.Task, string(kind)),
		})
	}
	return h.store.FinishRun(ctx, store.LeaseOf(&c.Task), f)
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

// await waits until the receiver has answered n deliveries. It fails if none arrives for 30 s.
func (h *deliveryService) await(ctx context.Context, n int64) error {
	last, at := int64(-1), time.Now()
	for h.receiver.total.Load() < n {
		if got := h.receiver.total.Load(); got != last {
			last, at = got, time.Now()
		} else if time.Since(at) > 30*time.Second {
			return fmt.Errorf("no delivery arrived for 30 s, after %d of %d", got, n)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// endedRun is a run that endRuns has ended.
type endedRun struct {
	id pleat.RunID
	// began is when the transaction that ended the run began, and commit how long it took until it was durable.
	began  time.Time
	commit time.Duration
}

// endRuns ends the runs at a steady rate per second, without waiting for earlier ones. It calls told for each that has
// ended; nil: nobody is told.
func (h *deliveryService) endRuns(
	ctx context.Context, runs []store.ClaimedTask, rate float64, told func(pleat.RunID),
) ([]endedRun, error) {
	out := make([]endedRun, len(runs))
	errs := make([]error, len(runs))
	var wg sync.WaitGroup
	start := time.Now()
	for i := range runs {
		time.Sleep(time.Until(start.Add(time.Duration(float64(i) / rate * float64(time.Second)))))
		wg.Go(func() {
			began := time.Now()
			errs[i] = h.end(ctx, runs[i])
			out[i] = endedRun{runs[i].Fold.Run, began, time.Since(began)}
			if errs[i] == nil && told != nil {
				told(out[i].id)
			}
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

// openLoopEvents is the number of events that are published to endpoints that respond.
func (b *bench) openLoopEvents() int { return max(20, int(eventRate*openLoopSeconds*b.seconds)) }

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
	runs, err := h.claimed(ctx, b.openLoopEvents(), func(i int) int { return i % clients })
	if err != nil {
		return nil, nil, err
	}
	stop := h.deliver(ctx)
	ended, err := h.endRuns(ctx, runs, eventRate, nil)
	if err == nil {
		delays, err = h.delays(ended)
	}
	for _, r := range ended {
		commits = append(commits, r.commit)
	}
	return commits, delays, errors.Join(err, stop())
}

// neighbour is the endpoint of hangingUser next to one that responds.
type neighbour int

const (
	// it gets no events
	idle neighbour = iota
	// it gets hangingRate events per second, and never responds
	hanging
)

// deliveryNeighbour measures whether an endpoint that hangs delays the deliveries to another: the delay of one endpoint
// with an idle neighbour and with one that hangs. The p99 may double, and 0.98 of the published rate must arrive.
func (b *bench) deliveryNeighbour(ctx context.Context, d database) error {
	var delays [2][]float64 // p99 by neighbour
	var rates []float64     // with the neighbour that hangs
	for range deliveryRounds {
		var last [2]time.Duration
		for _, n := range []neighbour{idle, hanging} {
			p99, rate, err := b.healthyDelay(ctx, d, n)
			if err != nil {
				return err
			}
			last[n] = p99
			delays[n] = append(delays[n], float64(p99))
			if n == hanging {
				rates = append(rates, rate)
			}
		}
		fmt.Fprintf(b.progress, "  p99 alone %s, with one that hangs %s, delivered %.1f/s\n",
			short(last[idle]), short(last[hanging]), rates[len(rates)-1])
	}
	alone, with := quantile(0.5, delays[idle]), quantile(0.5, delays[hanging])
	b.atMost(line{
		what:     fmt.Sprintf("the same next to an endpoint that hangs at %d/s", hangingRate),
		database: d.name,
		figure:   short(time.Duration(with)),
		ceiling:  "alone " + short(time.Duration(alone)),
	}, with/alone, 2)
	rate := quantile(0.5, rates)
	b.atLeast(line{
		what:     "rate of the healthy endpoint meanwhile",
		database: d.name,
		figure:   fmt.Sprintf("%.1f/s", rate),
		ceiling:  fmt.Sprintf("published %d/s", eventRate),
	}, rate/eventRate, 0.98)
	return nil
}

// healthyDelay publishes events to the endpoint of user 0 at eventRate, and returns the 99th percentile of their delays
// and the deliveries per second.
func (b *bench) healthyDelay(
	ctx context.Context, d database, n neighbour,
) (p99 time.Duration, rate float64, err error) {
	h, err := b.newDeliveryService(ctx, d, hangingUser)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	runs, err := h.claimed(ctx, b.openLoopEvents(), func(int) int { return 0 })
	if err != nil {
		return 0, 0, err
	}
	var others []store.ClaimedTask
	if n == hanging {
		others, err = h.claimed(ctx, len(runs)*hangingRate/eventRate, func(int) int { return hangingUser })
		if err != nil {
			return 0, 0, err
		}
	}
	stop := h.deliver(ctx)
	other := make(chan error, 1)
	go func() {
		_, err := h.endRuns(ctx, others, hangingRate, nil)
		other <- err
	}()
	began := time.Now()
	ended, err := h.endRuns(ctx, runs, eventRate, nil)
	var delays []time.Duration
	if err == nil {
		delays, err = h.delays(ended)
	}
	took := time.Since(began)
	if err := errors.Join(err, <-other, stop()); err != nil {
		return 0, 0, err
	}
	return quantileTime(0.99, delays), float64(len(delays)) / took.Seconds(), nil
}

// deliveryMemory measures the resident memory of this process while it delivers from a long queue. The ceiling is the
// memory with a short queue: the service must not hold the queue in memory, so that 1.25 times is allowed.
func (b *bench) deliveryMemory(ctx context.Context, d database) (err error) {
	h, err := b.newDeliveryService(ctx, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	runs, err := h.claimed(ctx, clients, func(i int) int { return i })
	if err != nil {
		return err
	}
	for i := range runs {
		if err := h.end(ctx, runs[i]); err != nil {
			return err
		}
	}
	base := h.receiver.total.Load()
	short, err := h.peak(ctx, runs, shortQueue, time.Duration(memorySeconds*b.seconds*float64(time.Second)))
	if err != nil {
		return err
	}
	fmt.Fprintf(b.progress, "  %s with a short queue, after %d deliveries\n", config.Bytes(short),
		h.receiver.total.Load()-base)
	base = h.receiver.total.Load()
	long, err := h.peak(ctx, runs, longQueue, time.Duration(memorySeconds*b.seconds*float64(time.Second)))
	if err != nil {
		return err
	}
	b.atMost(line{
		what:     fmt.Sprintf("memory over a queue of %d deliveries", longQueue),
		database: d.name,
		figure:   fmt.Sprintf("%s, %d delivered", config.Bytes(long), h.receiver.total.Load()-base),
		ceiling:  fmt.Sprintf("over %d %s", shortQueue, config.Bytes(short)),
	}, float64(long)/float64(short), maxMemoryGrowth)
	return nil
}

// peak queues deliveries and returns the most resident memory of this process, in bytes, until they are delivered or
// the limit has passed.
func (h *deliveryService) peak(
	ctx context.Context, runs []store.ClaimedTask, queued int, limit time.Duration,
) (int64, error) {
	if err := h.refill(ctx, runs, queued); err != nil {
		return 0, err
	}
	from := h.receiver.total.Load()
	debug.FreeOSMemory() // the memory of the filling does not count
	stop := h.deliver(ctx)
	var most int64
	end := time.Now().Add(limit)
	for ; time.Now().Before(end) && h.receiver.total.Load()-from < int64(queued); time.Sleep(50 * time.Millisecond) {
		now, err := residentBytes(os.Getpid())
		if err != nil {
			return 0, errors.Join(err, stop())
		}
		most = max(most, now)
	}
	return most, stop()
}

// refill queues deliveries of the users' runs, the same number for each endpoint, and deletes the finished ones first.
func (h *deliveryService) refill(ctx context.Context, runs []store.ClaimedTask, queued int) error {
	for {
		n, err := h.store.ForgetDeliveries(ctx, h.store.Now().Add(time.Hour), 1000)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	byUser := map[pleat.ProjectID]store.ClaimedTask{}
	for _, c := range runs {
		byUser[c.Task.Owner] = c
	}
	for i := range h.endpoints {
		e, c := h.endpoints[i], byUser[h.users[i].Project]
		err := storetest.FillDeliveries(ctx, h.database, e, c.Fold.Job, c.Fold.Run, h.filled, queued/len(h.endpoints))
		if err != nil {
			return err
		}
	}
	h.filled += queued / len(h.endpoints)
	return nil
}
