package deliver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/api"
	"pleat/internal/deliver"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
	"pleat/internal/webhook"
)

// fixture is a store whose deliveries a test creates and sends.
type fixture struct {
	t      *testing.T
	s      *store.Store
	clock  *storetest.Clock
	ring   *seal.Ring
	links  seal.Links
	sender *webhook.Sender
	secret webhook.Key
}

// onEachStore runs fn with a fixture on each database at hand.
func onEachStore(t *testing.T, fn func(t *testing.T, f *fixture)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ring, err := seal.Parse(strings.Repeat("ab", 32))
		if err != nil {
			t.Fatal(err)
		}
		f := &fixture{t: t, s: s, clock: clock, ring: ring, secret: webhook.NewKey()}
		f.links = seal.Links{Ring: ring, Base: "https://fold.example.org", For: 24 * time.Hour}
		f.sender = webhook.NewSender(webhook.Config{
			Guard:   webhook.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, nil, nil),
			Timeout: time.Hour, // no request ends by itself, however slow the machine is
		})
		t.Cleanup(f.sender.Close)
		fn(t, f)
	})
}

// start runs a Pool until the test ends, or cancel is called. done is closed when it has ended.
func (f *fixture) start(change ...func(*deliver.Config)) (cancel func(), done <-chan struct{}) {
	f.t.Helper()
	cfg := deliver.Config{
		ID:       "deliverer",
		DB:       f.s.DB,
		Webhooks: f.s.Webhooks,
		Runs:     f.s.Runs,
		Batches:  f.s.Batches,
		Base:     f.links.Base,
		Link:     f.links.URL,
		Poll:     true,
		Log:      slog.New(slog.DiscardHandler),
	}
	for _, fn := range change {
		fn(&cfg)
	}
	pool := deliver.New(cfg, f.ring, f.sender)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := pool.Run(ctx); err != nil {
			f.t.Error(err)
		}
	}()
	f.t.Cleanup(func() { cancel(); <-ended })
	return cancel, ended
}

// receiver is a real server that records the requests it gets.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	reqs []request
}

type request struct {
	header http.Header
	body   string
}

// newReceiver starts a receiver. If answer is nil, it answers 200.
func newReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.reqs = append(r.reqs, request{req.Header.Clone(), string(body)})
		r.mu.Unlock()
		if answer != nil {
			answer(w, req)
		}
	}))
	t.Cleanup(r.CloseClientConnections)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.reqs)
}

// user creates a user with a default endpoint.
func (f *fixture) user(name, url string) (people.Reach, webhooks.Endpoint) {
	f.t.Helper()
	u := storetest.User(f.t, f.s, name)
	yes := true
	e, err := f.s.Webhooks.PutEndpoint(context.Background(), people.Actor{Reach: u}, webhooks.EndpointSettings{
		Address:          new(f.ring.SealAddress(u.Project, webhooks.AddressColumn, url)),
		Token:            new(f.ring.Seal(string(u.Project), "token", []byte("the-token"))),
		Secret:           f.ring.Seal(string(u.Project), "secret", []byte(f.secret.Text())),
		EnabledByDefault: &yes,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return u, e
}

// toGlobal subscribes a run to its owner's endpoint.
func toGlobal(e webhooks.Endpoint) pleat.Subscription {
	return pleat.Subscription{
		Destination: pleat.DestCustom,
		Alias:       "custom_http",
		TargetType:  "custom_http",
		Endpoint:    e.ID,
	}
}

// toOwn subscribes a run to an endpoint of its own.
func (f *fixture) toOwn(owner people.Reach, url string) pleat.Subscription {
	return pleat.Subscription{
		Destination: pleat.DestCustom,
		Alias:       "custom_http",
		TargetType:  "custom_http",
		Custom: &pleat.CustomTarget{
			Address: f.ring.SealAddress(owner.Project, webhooks.AddressColumn, url),
			Token:   f.ring.Seal(string(owner.Project), "token", []byte("own-token")),
		},
	}
}

// protein is what is folded, and must not be sent.
const protein = "GSGSGSGSGSGS"

// fold creates a job and completes its run, which causes one delivery for each subscription.
func (f *fixture) fold(owner people.Reach, subs ...pleat.Subscription) runs.Created {
	f.t.Helper()
	n := storetest.NewFold(owner, "delivered")
	n.Job.Sequences = []pleat.Sequence{storetest.Protein(protein, "A")}
	n.Subs = subs
	return storetest.CompleteFold(f.t, f.s, n)
}

func (f *fixture) list(owner people.Reach, filter webhooks.DeliveryFilter) []webhooks.Delivery {
	f.t.Helper()
	filter.Limit = 1000
	out, err := f.s.Webhooks.Deliveries(context.Background(), owner, filter)
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

// await waits until a user has n deliveries of a status.
func (f *fixture) await(owner people.Reach, status pleat.DeliveryStatus, n int) (out []webhooks.Delivery) {
	f.t.Helper()
	storetest.Eventually(f.t, fmt.Sprintf("%d deliveries %s", n, status), func() bool {
		out = f.list(owner, webhooks.DeliveryFilter{Status: status})
		return len(out) == n
	})
	return out
}

// awaitAttempts waits until a user's only delivery has had n attempts and waits for the next.
func (f *fixture) awaitAttempts(owner people.Reach, n int) (d webhooks.Delivery) {
	f.t.Helper()
	storetest.Eventually(f.t, fmt.Sprint(n, " attempts"), func() bool {
		d = f.list(owner, webhooks.DeliveryFilter{})[0]
		return d.Attempts == n && d.Status == pleat.DeliveryPending
	})
	return d
}

// unpolled makes a Pool that does not look for deliveries whose time has come: the test wakes them.
func unpolled(c *deliver.Config) { c.Poll = false }

// wake queues the deliveries whose time has come, of which there are n.
func (f *fixture) wake(n int) {
	f.t.Helper()
	if r, err := f.s.Runs.Reap(context.Background(), f.s.DB.Now()); err != nil || r != (runs.Reaped{Woken: n}) {
		f.t.Fatalf("%+v, %v; want %d woken", r, err, n)
	}
}

// awaitRequests waits until a receiver has had n requests.
func (f *fixture) awaitRequests(r *receiver, n int) {
	f.t.Helper()
	storetest.Eventually(f.t, fmt.Sprint(n, " requests"), func() bool { return len(r.requests()) == n })
}

func TestPoolDelivers(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		r := newReceiver(t, nil)
		u, e := f.user("ada", r.URL+"/hook?key=1")
		f.start()
		c := f.fold(u, toGlobal(e))
		d := f.await(u, pleat.DeliverySucceeded, 1)[0]
		got := r.requests()
		if len(got) != 1 {
			t.Fatalf("%d requests", len(got))
		}
		header := map[string]string{
			"X-Webhook-Token": "the-token", "Webhook-Id": string(d.ID), "Content-Type": "application/json",
		}
		for name, want := range header {
			if value := got[0].header.Get(name); value != want {
				t.Errorf("%s is %q, not %q", name, value, want)
			}
		}
		err := webhook.Verify(got[0].header, []byte(got[0].body), time.Now(), webhook.Tolerance, f.secret)
		if err != nil {
			t.Error(err)
		}
		var source api.NotifiedFold
		body := api.Notification[any]{Source: &source}
		if err := json.Unmarshal([]byte(got[0].body), &body); err != nil {
			t.Fatal(err)
		}
		type sent struct {
			Event, Source, Run string
			PLDDT              []float64
		}
		is := sent{Event: string(body.Event.Name), Source: body.Event.SourceID, Run: source.Run.ID}
		for _, result := range source.Results {
			is.PLDDT = append(is.PLDDT, *result.Prediction.MeanPLDDT)
		}
		if d := cmp.Diff(sent{"on_complete", string(c.Job), string(c.Run), []float64{71.5}}, is); d != "" {
			t.Errorf("%s\n%s", d, got[0].body)
		}
		if link := source.Results[0].Artifacts["cif_url"]; !strings.HasPrefix(link,
			"https://fold.example.org/v1/artifacts/") || !strings.Contains(link, "&s=") {
			t.Errorf("the link is %q", link)
		}
		if strings.Contains(got[0].body, protein) {
			t.Error("the sequence was sent")
		}
		_, attempts, err := f.s.Webhooks.Delivery(context.Background(), u, d.ID)
		if err != nil || len(attempts) != 1 {
			t.Fatalf("%d attempts, %v", len(attempts), err)
		}
		if detail := attempts[0].Detail; strings.Contains(detail, "the-token") || strings.Contains(detail, "key=1") {
			t.Errorf("the record of the attempt has a secret: %s", detail)
		}
	})
}

func TestPoolTriesAgain(t *testing.T) {
	t.Parallel()
	// The store counts the tries, the schedule has the waits between them.
	for n := 1; n <= webhooks.DeliveryTries; n++ {
		if _, again := webhook.Next(n, time.Now(), 0, 0.5); again != (n < webhooks.DeliveryTries) {
			t.Fatalf("after %d of %d tries, the schedule says %v", n, webhooks.DeliveryTries, again)
		}
	}
	onEachStore(t, func(t *testing.T, f *fixture) {
		var n atomic.Int64
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
			switch n.Add(1) {
			case 1:
				w.WriteHeader(500)
			case 2:
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(503)
			}
		})
		u, e := f.user("ada", r.URL)
		began := f.s.DB.Now()
		f.start(unpolled)
		f.fold(u, toGlobal(e))
		d := f.awaitAttempts(u, 1)
		if d.NextAt.Sub(began) < 3*time.Second || d.NextAt.Sub(f.s.DB.Now()) > 7*time.Second {
			t.Errorf("the first repeat comes %v after the beginning", d.NextAt.Sub(began))
		}
		f.clock.Advance(7 * time.Second)
		f.wake(1)
		d = f.awaitAttempts(u, 2)
		if in := d.NextAt.Sub(f.s.DB.Now()); in < 59*time.Minute || in > time.Hour || d.ResponseStatus != 503 {
			t.Errorf("Retry-After of an hour is honoured with %v; %+v", in, d)
		}
		f.clock.Advance(time.Hour)
		f.wake(1)
		d = f.await(u, pleat.DeliverySucceeded, 1)[0]
		got := r.requests()
		if d.Attempts != 3 || len(got) != 3 {
			t.Fatalf("%d attempts, %d requests", d.Attempts, len(got))
		}
		for _, h := range got {
			if h.header.Get("Webhook-Id") != string(d.ID) {
				t.Error("a repeat has another webhook-id")
			}
		}
	})
}

// A delivery that never succeeds fails after all tries, with the reason; a redelivery begins anew.
func TestDeliveryFails(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) })
		u, e := f.user("ada", r.URL)
		f.start(unpolled)
		f.fold(u, toGlobal(e))
		for i := range webhooks.DeliveryTries - 1 {
			f.awaitAttempts(u, i+1)
			f.clock.Advance(30 * time.Hour)
			f.wake(1)
		}
		d := f.await(u, pleat.DeliveryFailed, 1)[0]
		if d.Attempts != webhooks.DeliveryTries || !strings.Contains(d.Reason, "answered 404") {
			t.Errorf("%+v", d)
		}
		// More than five days of nothing but failures have disabled the endpoint; its owner resumes it.
		if e, _, err := f.s.Webhooks.Endpoint(context.Background(), u, webhooks.Default); err != nil || e.Active ||
			!strings.Contains(e.DisabledReason, "5 days") {
			t.Errorf("%+v %v", e, err)
		}
		if _, err := f.s.Webhooks.SwitchEndpoint(
			context.Background(), people.Actor{Reach: u}, webhooks.Default, webhooks.EndpointResume,
		); err != nil {
			t.Fatal(err)
		}
		if err := f.s.Webhooks.Redeliver(context.Background(), u, d.ID); err != nil {
			t.Fatal(err)
		}
		f.awaitAttempts(u, webhooks.DeliveryTries+1)
	})
}

// newBrokenReceiver returns a receiver that answers 500 until it is made well.
func newBrokenReceiver(t *testing.T) (*receiver, *atomic.Bool) {
	var well atomic.Bool
	return newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if !well.Load() {
			w.WriteHeader(500)
		}
	}), &well
}

// awaitRest waits until the breaker of a user's endpoint is open, so that the endpoint rests, and nothing is in flight
// to it. A claim under way may have read the breaker before it opened. Claims follow one another and go round the
// endpoints: after two deliveries to another one, that claim has ended, and this endpoint has had its turn since.
func (f *fixture) awaitRest(u people.Reach) {
	f.t.Helper()
	storetest.Eventually(f.t, "the endpoint rests", func() bool {
		e, _, err := f.s.Webhooks.Endpoint(context.Background(), u, webhooks.Default)
		return err == nil && !e.ResumeAt.IsZero()
	})
	other, end := f.user("who rests not", newReceiver(f.t, nil).URL)
	before := len(f.list(other, webhooks.DeliveryFilter{}))
	for i := range 2 {
		f.fold(other, toGlobal(end))
		f.await(other, pleat.DeliverySucceeded, before+i+1)
	}
	f.await(u, pleat.DeliveryRunning, 0)
}

// After ten failures in a row deliveries to the endpoint are paused, which spends no attempts; one probe ends the
// pause.
func TestBreakerPausesWithoutSpending(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		f.clock.Stop() // a rest must not end by itself
		r, well := newBrokenReceiver(t)
		u, e := f.user("ada", r.URL)
		const n = 40
		for range n {
			f.fold(u, toGlobal(e))
		}
		f.start()
		f.awaitRest(u)
		sent := len(r.requests())
		if sent < webhook.Trip || sent > webhook.Trip+8 {
			t.Errorf("%d were sent", sent)
		}
		untried := 0
		for _, d := range f.list(u, webhooks.DeliveryFilter{}) {
			if d.Attempts == 0 {
				untried++
			}
		}
		if untried != n-sent {
			t.Errorf("%d of %d have not been tried after %d attempts", untried, n, sent)
		}
		well.Store(true)
		f.clock.Advance(webhook.FirstPause + time.Second)
		f.await(u, pleat.DeliverySucceeded, n)
		if got := len(r.requests()); got != n+sent {
			t.Errorf("%d requests for %d deliveries after %d failures", got, n, sent)
		}
	})
}

// An endpoint that was mended need not wait: what waits is sent now. One that still fails gets a single request for
// each call, and rests again.
func TestRedeliverWhatWaits(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		f.clock.Stop() // a rest must not end by itself
		r, well := newBrokenReceiver(t)
		u, e := f.user("ada", r.URL)
		const n = 20
		for range n {
			f.fold(u, toGlobal(e))
		}
		f.start()
		sendNow := func() int {
			queued, err := f.s.Webhooks.RedeliverAll(context.Background(), u,
				webhooks.DeliveryFilter{Status: pleat.DeliveryPending, Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			return queued
		}
		f.awaitRest(u)
		sent := len(r.requests())
		if queued := sendNow(); queued != sent {
			t.Errorf("%d deliveries were queued; %d had been tried and waited", queued, sent)
		}
		f.awaitRequests(r, sent+1)
		f.awaitRest(u)
		well.Store(true)
		sendNow()
		f.await(u, pleat.DeliverySucceeded, n)
		all := r.requests()
		if len(all) != sent+1+n {
			t.Errorf("%d requests for %d deliveries after %d failures and a probe", len(all), n, sent)
		}
		ids := map[string]bool{}
		for _, q := range all {
			ids[q.header.Get("webhook-id")] = true
		}
		if len(ids) != n {
			t.Errorf("%d ids for %d deliveries", len(ids), n)
		}
	})
}

// Endpoints that hang delay no delivery to another endpoint, even if one user has them all.
func TestNeighboursThatHang(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		release := make(chan struct{})
		defer close(release)
		hang := newReceiver(t, func(_ http.ResponseWriter, req *http.Request) {
			select {
			case <-release:
			case <-req.Context().Done():
			}
		})
		well := newReceiver(t, nil)
		eve, end := f.user("eve", hang.URL)
		for range 30 {
			f.fold(eve, toGlobal(end))
		}
		for range 10 {
			f.fold(eve, f.toOwn(eve, hang.URL))
		}
		f.start(func(c *deliver.Config) { c.Parallel, c.Endpoint, c.Owner = 16, 4, 6 })
		f.awaitRequests(hang, 6) // as many as one user may have in flight
		for i := range 5 {
			u, e := f.user(fmt.Sprint("user", i), well.URL)
			for n := range 10 {
				f.fold(u, toGlobal(e))
				f.await(u, pleat.DeliverySucceeded, n+1) // eve's do not end before the test does
			}
		}
		if n := len(hang.requests()); n != 6 {
			t.Errorf("eve has %d deliveries in flight; 6 are allowed", n)
		}
	})
}

// An endpoint that answers fast gets more deliveries at once than at first, and more than its owner otherwise has. That
// delays no delivery of another user. The receiver stops answering, so that what it gets at once can be counted. Each
// answer counts as fast and deliveries wait for the window before outcomes are stored, however slow the machine is.
func TestWindowOfAFastEndpoint(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		f.clock.Stop() // a window must not be forgotten
		release := make(chan struct{})
		var answered, waiting atomic.Int64
		r := newReceiver(t, func(_ http.ResponseWriter, req *http.Request) {
			if answered.Add(1) <= 100 {
				return
			}
			waiting.Add(1)
			select {
			case <-release:
			case <-req.Context().Done():
			}
		})
		u, e := f.user("ada", r.URL)
		const n = 180
		for range n {
			f.fold(u, toGlobal(e))
		}
		full, grown := make(chan struct{}, 1), make(chan struct{})
		f.start(func(c *deliver.Config) {
			c.Owner, c.Quick = 5, time.Hour
			c.Step = func(name string) {
				switch name {
				case "full":
					select {
					case full <- struct{}{}:
					default:
					}
				case "finish":
					select {
					case <-full:
					case <-grown:
					}
				}
			}
		})
		storetest.Eventually(t, "more in flight than at first", func() bool { return waiting.Load() > 5 })
		close(grown)
		bob, end := f.user("bob", newReceiver(t, nil).URL)
		for i := range 10 {
			f.fold(bob, toGlobal(end))
			f.await(bob, pleat.DeliverySucceeded, i+1)
		}
		if got := waiting.Load(); got > 64 {
			t.Errorf("%d are in flight to one endpoint", got)
		}
		close(release)
		f.await(u, pleat.DeliverySucceeded, n)
	})
}

// A delivery that takes longer than a lease stays with its worker, whose heartbeats renew the lease.
func TestSlowReceiverKeepsItsLease(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		release := make(chan struct{})
		r := newReceiver(t, func(http.ResponseWriter, *http.Request) { <-release })
		u, e := f.user("ada", r.URL)
		const id = "deliverer"
		if err := f.s.Workers.RegisterWorker(ctx, pleat.Worker{ID: id}); err != nil {
			t.Fatal(err)
		}
		f.start(func(c *deliver.Config) { c.ID, c.Clock, c.Poll = id, f.clock.Now, false })
		f.fold(u, toGlobal(e))
		f.awaitRequests(r, 1)
		for range pleat.LeaseDuration/pleat.HeartbeatInterval + 1 {
			f.clock.Advance(pleat.HeartbeatInterval)
			due := f.s.DB.Now()
			storetest.Eventually(t, "a heartbeat", func() bool {
				all, err := f.s.Workers.Workers(ctx)
				return err == nil && len(all) == 1 && !all[0].SeenAt.Before(due)
			})
			if reaped, err := f.s.Runs.Reap(ctx, f.s.DB.Now()); err != nil || reaped.Requeued != 0 {
				t.Fatalf("%d leases have expired, %v", reaped.Requeued, err)
			}
		}
		close(release)
		d := f.await(u, pleat.DeliverySucceeded, 1)[0]
		if d.Attempts != 1 || len(r.requests()) != 1 {
			t.Errorf("%d attempts, %d requests", d.Attempts, len(r.requests()))
		}
	})
}

// A request that does not end within the grace period is cut off, and its delivery is released for another worker.
func TestShutdownReleasesDeliveries(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		hang := newReceiver(t, func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })
		u, e := f.user("ada", hang.URL)
		cancel, done := f.start(func(c *deliver.Config) { c.Grace, c.StoreGrace = time.Millisecond, time.Minute })
		f.fold(u, toGlobal(e))
		f.awaitRequests(hang, 1)
		cancel()
		<-done
		d, attempts, err := f.s.Webhooks.Delivery(context.Background(), u, f.list(u, webhooks.DeliveryFilter{})[0].ID)
		if err != nil || d.Status != pleat.DeliveryPending || d.Attempts != 0 {
			t.Errorf("%+v %v", d, err)
		}
		if len(attempts) != 1 || attempts[0].Outcome != "released" {
			t.Errorf("%+v", attempts)
		}
	})
}

// A request that ends within the grace period counts.
func TestShutdownAwaitsDeliveries(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		release := make(chan struct{})
		slow := newReceiver(t, func(_ http.ResponseWriter, req *http.Request) {
			select {
			case <-release:
			case <-req.Context().Done():
				t.Error("the request was cut off")
			}
		})
		u, e := f.user("ada", slow.URL)
		cancel, done := f.start(func(c *deliver.Config) { c.Grace = time.Minute })
		f.fold(u, toGlobal(e))
		f.awaitRequests(slow, 1)
		cancel()
		close(release)
		<-done
		f.await(u, pleat.DeliverySucceeded, 1)
	})
}

func TestReceiversWishes(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		f.start()
		abort := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("webhook-delivery", "abort-message")
			w.WriteHeader(400)
		})
		u, e := f.user("ada", abort.URL)
		f.fold(u, toGlobal(e))
		if d := f.await(u, pleat.DeliveryFailed, 1)[0]; !strings.Contains(d.Reason, "abort-message") ||
			d.Attempts != 1 {
			t.Errorf("%+v", d)
		}
		if e, _, _ := f.s.Webhooks.Endpoint(context.Background(), u, webhooks.Default); !e.Active {
			t.Error("abort-message disabled the endpoint")
		}
		gone := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) })
		bob, end := f.user("bob", gone.URL)
		f.fold(bob, toGlobal(end))
		f.await(bob, pleat.DeliveryFailed, 1)
		if e, _, _ := f.s.Webhooks.Endpoint(context.Background(), bob, webhooks.Default); e.Active ||
			!strings.Contains(e.DisabledReason, "410") {
			t.Errorf("%+v", e)
		}
	})
}

// Whatever is wrong with the source or the secrets, the owner can read what happened, without a secret.
func TestSourcesAndSecrets(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		r := newReceiver(t, nil)
		u, e := f.user("ada", r.URL)
		deleted := f.fold(u, toGlobal(e))
		if err := f.s.Ops.DeleteJob(ctx, u, deleted.Job); err != nil {
			t.Fatal(err)
		}
		moved := f.fold(u, toGlobal(e)) // to a project whose results are not for this endpoint
		lab, err := f.s.People.CreateProject(ctx, people.Actor{Database: true}, "Lab", "ada")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.s.Ops.MoveJob(ctx, people.Actor{Reach: people.Reach{User: u.User}}, moved.Job, lab.ID); err != nil {
			t.Fatal(err)
		}
		again := f.fold(u, toGlobal(e))
		if _, err := f.s.Runs.Rerun(ctx, u, again.Job, runs.RunSpec{Model: "null", Queue: "fold/null"}); err != nil {
			t.Fatal(err)
		}
		if got, err := f.s.Runs.Claim(ctx, "w", tasks.ClaimFilter{Queues: []string{"fold/null"}, N: 1}); err != nil ||
			len(got) != 1 { // it runs on
			t.Fatal(len(got), err)
		}
		if _, err := f.s.Webhooks.PingEndpoint(ctx, people.Actor{Reach: u}, webhooks.Default); err != nil {
			t.Fatal(err)
		}
		// A run's own endpoint: its token, its owner's secret. One of a user without a secret is not signed.
		f.fold(u, f.toOwn(u, r.URL+"/own"))
		stranger, err := f.s.People.EnsureUser(ctx, "no secret")
		if err != nil {
			t.Fatal(err)
		}
		f.fold(people.Own(stranger.ID), f.toOwn(people.Own(stranger.ID), r.URL+"/unsigned"))
		f.start()
		f.await(u, pleat.DeliverySucceeded, 5)
		f.await(people.Own(stranger.ID), pleat.DeliverySucceeded, 1)
		found := map[string]bool{}
		for _, h := range r.requests() {
			unsigned := h.header.Get("Webhook-Signature") == ""
			if !unsigned {
				if err := webhook.Verify(h.header, []byte(h.body), time.Now(), webhook.Tolerance,
					f.secret); err != nil {
					t.Error(err)
				}
			}
			switch {
			case unsigned && h.header.Get("X-Webhook-Token") == "own-token":
				found["unsigned"] = true
			case h.header.Get("X-Webhook-Token") == "own-token":
				found["own"] = true
			case strings.Contains(h.body, `"test":true`):
				found["ping"] = true
			case strings.Contains(h.body, string(again.Run)) && !strings.Contains(h.body, "source_enrichment_error"):
				found["first run"] = true
			case strings.Contains(h.body, string(deleted.Job)) && strings.Contains(h.body, "source_enrichment_error"):
				found["deleted"] = true
			case strings.Contains(h.body, string(moved.Job)) && strings.Contains(h.body, "source_enrichment_error"):
				found["moved"] = true
			}
		}
		if len(found) != 6 {
			t.Errorf("found %v", found)
		}
		// Secrets that this process has no key for.
		eve, end := f.user("eve", r.URL)
		if _, err := f.s.Webhooks.PutEndpoint(ctx, people.Actor{Reach: eve}, webhooks.EndpointSettings{
			Address: new(f.ring.SealAddress(eve.Project, webhooks.AddressColumn, r.URL)),
			Token:   new("s1.00000000.AAAA"),
		}); err != nil {
			t.Fatal(err)
		}
		f.fold(eve, toGlobal(end))
		storetest.Eventually(t, "the attempt", func() bool {
			return f.list(eve, webhooks.DeliveryFilter{})[0].Attempts > 0
		})
		_, tries, err := f.s.Webhooks.Delivery(ctx, eve, f.list(eve, webhooks.DeliveryFilter{})[0].ID)
		if err != nil || !strings.Contains(tries[0].Detail, "could not be built") {
			t.Errorf("%+v %v", tries, err)
		}
	})
}

func TestRateOfOneEndpoint(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		r := newReceiver(t, nil)
		u, e := f.user("ada", r.URL)
		for range 16 {
			f.fold(u, toGlobal(e))
		}
		began := f.s.DB.Now() // before any decision; a claim is a moment later than the decision about it
		f.start(func(c *deliver.Config) { c.Rate = 4 })
		f.await(u, pleat.DeliverySucceeded, 16)
		var last time.Time
		for _, d := range f.list(u, webhooks.DeliveryFilter{}) {
			_, attempts, err := f.s.Webhooks.Delivery(context.Background(), u, d.ID)
			if err != nil || len(attempts) != 1 {
				t.Fatalf("%d attempts, %v", len(attempts), err)
			}
			if at := attempts[0].StartedAt; at.After(last) {
				last = at
			}
		}
		if took := last.Sub(began); took < 3*time.Second-time.Millisecond {
			t.Errorf("16 deliveries at 4 a second, 4 at once, were claimed within %v", took)
		}
	})
}

// Two delivery workers of one database share the work: each delivery is sent once.
func TestTwoPoolsShare(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		r := newReceiver(t, nil)
		var users []people.Reach
		for i := range 5 {
			u, e := f.user(fmt.Sprint("u", i), r.URL)
			users = append(users, u)
			for range 20 {
				f.fold(u, toGlobal(e))
			}
		}
		f.start(func(c *deliver.Config) { c.ID = "a" })
		f.start(func(c *deliver.Config) { c.ID = "b" })
		for _, u := range users {
			f.await(u, pleat.DeliverySucceeded, 20)
		}
		ids := map[string]int{}
		for _, h := range r.requests() {
			ids[h.header.Get("Webhook-Id")]++
		}
		if len(ids) != 100 || len(r.requests()) != 100 {
			t.Errorf("%d requests for %d deliveries", len(r.requests()), len(ids))
		}
	})
}
