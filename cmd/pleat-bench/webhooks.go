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

// Sizes and rates of the parts on webhooks.
const (
	deliveryRounds    = 3   // the median counts
	queuedPerEndpoint = 100 // deliveries queued per endpoint for the closed loop
	eventRate         = 100 // events per second of the open loops
	hangingRate       = 50  // events per second for the endpoint that hangs
	openLoopSeconds   = 10  // of an open loop, times --seconds
	longQueue         = 200_000
	maxMemoryGrowth   = 1.25 // most that memory may grow by
	memorySeconds     = 30   // seconds, times --seconds
)

// deliveryService is a service with a delivery worker, and a receiver of its deliveries.
type deliveryService struct {
	*service
	ends     []store.Endpoint // one per user
	receiver *receiver
	ring     *seal.Ring
	sender   *webhook.Sender
	filled   int // deliveries that refill made, per endpoint
}

// receiver answers deliveries at once, except those to /hang, which it never answers. It records when the event of each
// run arrived.
type receiver struct {
	url   string
	total atomic.Int64
	mu    sync.Mutex
	at    map[string]time.Time // by run
}

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
		s.at[string(rest[:36])] = now
		s.mu.Unlock()
	}
	s.total.Add(1)
}

func (s *receiver) arrival(run pleat.RunID) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.at[string(run)]
	return at, ok
}

// newDeliveryService returns a service in which each user has an endpoint. With hang, the endpoint of user 1 hangs.
// Close it.
func (b *bench) newDeliveryService(ctx context.Context, d database, hang bool) (_ *deliveryService, err error) {
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
	h.service.ends = append(h.service.ends, func() error {
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
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	h.sender = webhook.NewSender(webhook.Config{Guard: webhook.NewGuard(loopback, nil, nil)})
	h.service.ends = append(h.service.ends, func() error { h.sender.Close(); return nil })
	for i, u := range h.users {
		path := "/hook/" + strconv.Itoa(i)
		if hang && i == 1 {
			path = "/hang"
		}
		token := h.ring.Seal(string(u), "token", []byte("token"))
		secret := h.ring.Seal(string(u), "secret", []byte(webhook.NewKey().Text()))
		e, err := h.store.PutEndpoint(ctx, u, store.EndpointConfig{
			URL:    h.receiver.url + path,
			Token:  token,
			Secret: secret,
		})
		if err != nil {
			return nil, err
		}
		h.ends = append(h.ends, e)
	}
	return h, nil
}

// deliver runs a delivery worker until the function returned is called.
func (h *deliveryService) deliver(ctx context.Context) (stop func() error) {
	links := seal.Links{Ring: h.ring, Base: "http://" + h.addr, For: 24 * time.Hour}
	c := deliver.New(deliver.Config{
		ID:   "bench/deliver",
		Base: links.Base,
		Link: links.URL,
		Log:  h.log,
	}, h.store, h.ring, h.sender)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	return func() error { cancel(); return <-ended }
}

// claimed makes n jobs of users and claims them, so that all that is left is to end their runs.
func (h *deliveryService) claimed(ctx context.Context, n int, user func(i int) int) ([]store.ClaimedTask, error) {
	err := inParallel(n, func(i int) error {
		u := user(i)
		j := newJob(h.users[u])
		j.Subs = []pleat.Subscription{{
			Destination: pleat.DestCustom,
			Alias:       "custom_http",
			TargetType:  "custom_http",
			Endpoint:    h.ends[u].ID,
		}}
		_, err := h.store.CreateJob(ctx, j)
		return err
	})
	var out []store.ClaimedTask
	for err == nil && len(out) < n {
		var got []store.ClaimedTask
		got, err = h.store.Claim(ctx, "bench", []string{nullQueue}, 256, 0)
		if err == nil && len(got) == 0 {
			err = fmt.Errorf("%d of %d jobs were claimed", len(out), n)
		}
		out = append(out, got...)
	}
	return out, err
}

// end ends a claimed run with a result of ordinary size, which publishes its event.
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
			Key:         "runs/" + string(c.Fold.Run) + "/1/" + string(kind),
		})
	}
	return h.store.FinishRun(ctx, store.LeaseOf(&c.Task), f)
}

// inParallel calls fn for 0 to n-1, 16 at once.
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

// deliverySpeed empties a queue of deliveries to 64 endpoints, each of a run of its own.
func (b *bench) deliverySpeed(ctx context.Context, d database) error {
	bound := map[string]float64{"sqlite": 2000, "postgres": 1200}[d.name]
	var rates, works []float64
	for range deliveryRounds {
		rate, work, err := b.drain(ctx, d)
		if err != nil {
			return err
		}
		rates, works = append(rates, rate), append(works, work)
		fmt.Fprintf(b.say, "  %.0f deliveries/s, %s of a core each in this process\n", rate, short(time.Duration(work)))
	}
	rate := quantile(0.5, rates)
	work := short(time.Duration(quantile(0.5, works)))
	b.lines = append(b.lines, line{
		what:     fmt.Sprintf("deliveries from a full queue, %d endpoints", clients),
		database: d.name,
		figure:   fmt.Sprintf("%.0f/s", rate),
		beside:   fmt.Sprintf("%s of a core each, receiver included; fdatasync %s", work, short(d.sync)),
		want:     fmt.Sprintf("≥ %.0f/s", bound),
		met:      rate >= bound,
	})
	return nil
}

// drain returns deliveries per second and the processor's time for each.
func (b *bench) drain(ctx context.Context, d database) (rate, work float64, err error) {
	h, err := b.newDeliveryService(ctx, d, false)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	n := clients * queuedPerEndpoint
	runs, err := h.claimed(ctx, n, func(i int) int { return i % clients })
	if err == nil {
		err = inParallel(n, func(i int) error { return h.end(ctx, runs[i]) })
	}
	if err != nil {
		return 0, 0, err
	}
	began, cpu := time.Now(), processorTime()
	stop := h.deliver(ctx)
	err = h.await(ctx, int64(n))
	took, spent := time.Since(began), processorTime()-cpu
	return float64(n) / took.Seconds(), float64(spent) / float64(n), errors.Join(err, stop())
}

// await waits until the receiver has had n deliveries.
func (h *deliveryService) await(ctx context.Context, n int64) error {
	last, at := int64(-1), time.Now()
	for h.receiver.total.Load() < n {
		if got := h.receiver.total.Load(); got != last {
			last, at = got, time.Now()
		} else if time.Since(at) > 30*time.Second {
			return fmt.Errorf("deliveries stand still at %d of %d", got, n)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// endRuns ends the runs at a steady rate, and returns what each commit took and how long
// after its beginning the endpoint was told. Runs of the user who hangs are not looked at.
func (h *deliveryService) endRuns(
	ctx context.Context, runs []store.ClaimedTask, rate float64, watch bool,
) (commits, delays []time.Duration, err error) {
	began := make([]time.Time, len(runs))
	commits = make([]time.Duration, len(runs))
	errs := make([]error, len(runs))
	var wg sync.WaitGroup
	start := time.Now()
	for i := range runs {
		time.Sleep(time.Until(start.Add(time.Duration(float64(i) / rate * float64(time.Second)))))
		wg.Go(func() {
			began[i] = time.Now()
			errs[i] = h.end(ctx, runs[i])
			commits[i] = time.Since(began[i])
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil || !watch {
		return commits, nil, err
	}
	limit := time.Now().Add(30 * time.Second)
	for i := range runs {
		for {
			if at, ok := h.receiver.arrival(runs[i].Fold.Run); ok {
				delays = append(delays, at.Sub(began[i]))
				break
			}
			if time.Now().After(limit) {
				late := len(runs) - len(delays)
				return commits, delays, fmt.Errorf("%d of %d events did not arrive within 30 s", late, len(runs))
			}
			time.Sleep(time.Millisecond)
		}
	}
	return commits, delays, nil
}

func (b *bench) openLoopEvents() int { return max(20, int(eventRate*openLoopSeconds*b.seconds)) }

// deliveryDelay measures the time from the end of a run to the arrival at its endpoint, at 100 a second.
func (b *bench) deliveryDelay(ctx context.Context, d database) error {
	var delays, commits []float64
	for range deliveryRounds {
		commit, delay, err := b.openLoopDelays(ctx, d, false)
		if err != nil {
			return err
		}
		commits = append(commits, float64(quantileTime(0.99, commit)))
		delays = append(delays, float64(quantileTime(0.99, delay)))
		fmt.Fprintf(b.say, "  p99 %s, p50 %s; commits p99 %s, p50 %s\n",
			short(quantileTime(0.99, delay)), short(quantileTime(0.5, delay)),
			short(quantileTime(0.99, commit)), short(quantileTime(0.5, commit)))
	}
	commit, delay := time.Duration(quantile(0.5, commits)), time.Duration(quantile(0.5, delays))
	b.within(line{
		what:     fmt.Sprintf("end of a run to arrival at its endpoint, %d/s, p99", eventRate),
		database: d.name,
		beside:   fmt.Sprintf("commit p99 %s, fdatasync %s", short(commit), short(d.sync)),
		ratio:    fmt.Sprintf("%.2f", float64(delay)/float64(commit)),
	}, delay, 3*commit+5*time.Millisecond)
	return nil
}

// openLoopDelays runs one open loop on 64 endpoints, or on one beside an endpoint that hangs.
func (b *bench) openLoopDelays(ctx context.Context, d database, hang bool) (commits, delays []time.Duration,
	err error) {
	h, err := b.newDeliveryService(ctx, d, false)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	runs, err := h.claimed(ctx, b.openLoopEvents(), func(i int) int { return i % clients })
	if err != nil {
		return nil, nil, err
	}
	stop := h.deliver(ctx)
	commits, delays, err = h.endRuns(ctx, runs, eventRate, true)
	return commits, delays, errors.Join(err, stop())
}

// deliveryNeighbour measures an endpoint alone, and again while another's deliveries hang.
func (b *bench) deliveryNeighbour(ctx context.Context, d database) error {
	var alone, beside, rates []float64
	for range deliveryRounds {
		for _, hang := range []bool{false, true} {
			p99, rate, err := b.healthyDelay(ctx, d, hang)
			if err != nil {
				return err
			}
			if !hang {
				alone = append(alone, float64(p99))
				continue
			}
			beside, rates = append(beside, float64(p99)), append(rates, rate)
		}
		last := len(alone) - 1
		fmt.Fprintf(b.say, "  p99 alone %s, with one that hangs %s, delivered %.1f/s\n",
			short(time.Duration(alone[last])), short(time.Duration(beside[last])), rates[last])
	}
	a, w := time.Duration(quantile(0.5, alone)), time.Duration(quantile(0.5, beside))
	b.atMost(line{
		what:     fmt.Sprintf("the same beside an endpoint that hangs at %d/s", hangingRate),
		database: d.name,
		figure:   short(w),
		beside:   "alone " + short(a),
	}, float64(w)/float64(a), 2)
	rate := quantile(0.5, rates)
	b.atLeast(line{
		what:     "rate of the healthy endpoint meanwhile",
		database: d.name,
		figure:   fmt.Sprintf("%.1f/s", rate),
		beside:   fmt.Sprintf("published %d/s", eventRate),
	}, rate/eventRate, 0.98)
	return nil
}

func (b *bench) healthyDelay(ctx context.Context, d database, hang bool) (p99 time.Duration, rate float64, err error) {
	h, err := b.newDeliveryService(ctx, d, true)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	healthy, err := h.claimed(ctx, b.openLoopEvents(), func(int) int { return 0 })
	if err != nil {
		return 0, 0, err
	}
	var hanging []store.ClaimedTask
	if hang {
		if hanging, err = h.claimed(ctx, b.openLoopEvents()*hangingRate/eventRate, func(int) int {
			return 1
		}); err != nil {
			return 0, 0, err
		}
	}
	stop := h.deliver(ctx)
	other := make(chan error, 1)
	go func() {
		_, _, err := h.endRuns(ctx, hanging, hangingRate, false)
		other <- err
	}()
	began := time.Now()
	_, delays, err := h.endRuns(ctx, healthy, eventRate, true)
	took := time.Since(began)
	return quantileTime(0.99, delays), float64(len(delays)) / took.Seconds(), errors.Join(err, <-other, stop())
}

// deliveryMemory measures the memory of the process while it delivers from a queue of 200,000, beside one of a few
// thousand.
func (b *bench) deliveryMemory(ctx context.Context, d database) (err error) {
	h, err := b.newDeliveryService(ctx, d, false)
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
	short, err := h.peak(ctx, runs, 4000, time.Duration(memorySeconds*b.seconds*float64(time.Second)))
	if err != nil {
		return err
	}
	fmt.Fprintf(b.say, "  %s with a short queue, after %d deliveries\n", config.Bytes(short),
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
		beside:   "over 4000 " + config.Bytes(short).String(),
	}, float64(long)/float64(short), maxMemoryGrowth)
	return nil
}

// peak queues deliveries and returns the most memory that the process held while it delivered them, for at most a
// while.
func (h *deliveryService) peak(ctx context.Context, runs []store.ClaimedTask, queued int, limit time.Duration) (int64,
	error) {
	if err := h.refill(ctx, runs, queued); err != nil {
		return 0, err
	}
	from := h.receiver.total.Load()
	debug.FreeOSMemory() // what the filling took
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

// refill queues deliveries, spread over the endpoints. What an earlier filling left is forgotten first.
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
	byUser := map[pleat.UserID]store.ClaimedTask{}
	for _, c := range runs {
		byUser[c.Task.Owner] = c
	}
	for i := range h.ends {
		e, c := h.ends[i], byUser[h.users[i]]
		err := storetest.FillDeliveries(ctx, h.database, e, c.Fold.Job, c.Fold.Run, h.filled, queued/len(h.ends))
		if err != nil {
			return err
		}
	}
	h.filled += queued / len(h.ends)
	return nil
}
