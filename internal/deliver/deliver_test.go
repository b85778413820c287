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
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pleat"
	"pleat/internal/deliver"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
	"pleat/internal/webhook"
)

// post is a store whose deliveries a test makes and sends.
type post struct {
	t      *testing.T
	s      *store.Store
	clock  *storetest.Clock
	ring   *seal.Ring
	links  seal.Links
	sender *webhook.Sender
	secret webhook.Key
}

func newPost(t *testing.T, s *store.Store, clock *storetest.Clock) *post {
	t.Helper()
	ring, err := seal.Parse(strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	p := &post{t: t, s: s, clock: clock, ring: ring, secret: webhook.NewKey()}
	p.links = seal.Links{Ring: ring, Base: "https://fold.example.org", For: 24 * time.Hour}
	p.sender = webhook.NewSender(webhook.Config{
		Guard: webhook.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, nil, nil),
	})
	t.Cleanup(p.sender.Close)
	return p
}

// start runs a Pool until the test, or the function returned, ends it.
func (p *post) start(change ...func(*deliver.Config)) (stop func()) {
	p.t.Helper()
	cfg := deliver.Config{
		ID:   "deliverer",
		Base: p.links.Base,
		Link: p.links.URL,
		Reap: true,
		Log:  slog.New(slog.DiscardHandler),
	}
	for _, fn := range change {
		fn(&cfg)
	}
	c := deliver.New(cfg, p.s, p.ring, p.sender)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := c.Run(ctx); err != nil {
			p.t.Error(err)
		}
	}()
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); <-done }) }
	p.t.Cleanup(stop)
	return stop
}

// receiver is a real server that hears deliveries. Answer may be nil: 200.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	heard []heard
}

type heard struct {
	header http.Header
	body   string
	at     time.Time
}

func newReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.heard = append(r.heard, heard{req.Header.Clone(), string(body), time.Now()})
		r.mu.Unlock()
		if answer != nil {
			answer(w, req)
		}
	}))
	t.Cleanup(r.CloseClientConnections)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) all() []heard {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]heard(nil), r.heard...)
}

// user makes a user with a global endpoint.
func (p *post) user(name, url string) (pleat.UserID, store.Endpoint) {
	p.t.Helper()
	u, err := p.s.EnsureUser(context.Background(), name)
	if err != nil {
		p.t.Fatal(err)
	}
	yes := true
	e, err := p.s.PutEndpoint(context.Background(), u.ID, store.EndpointConfig{
		URL:              url,
		Token:            p.ring.Seal(string(u.ID), "token", []byte("the-token")),
		Secret:           p.ring.Seal(string(u.ID), "secret", []byte(p.secret.Text())),
		EnabledByDefault: &yes,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return u.ID, e
}

func global(e store.Endpoint) pleat.Subscription {
	return pleat.Subscription{
		Destination: pleat.DestCustom,
		Alias:       "custom_http",
		TargetType:  "custom_http",
		Endpoint:    e.ID,
	}
}

// own is a subscription that brings its endpoint.
func (p *post) own(owner pleat.UserID, url string) pleat.Subscription {
	return pleat.Subscription{Destination: pleat.DestCustom, Alias: "custom_http", TargetType: "custom_http",
		Custom: &pleat.CustomTarget{URL: url, Token: p.ring.Seal(string(owner), "token", []byte("own-token"))}}
}

// fold makes a job and ends its run, as a worker would.
func (p *post) fold(owner pleat.UserID, subs ...pleat.Subscription) store.Created {
	p.t.Helper()
	ctx := context.Background()
	c, err := p.s.CreateJob(ctx, store.NewJob{
		Job: pleat.Job{
			Owner: owner, Name: "told", Sequences: []pleat.Sequence{
				{Kind: pleat.Protein, Text: "GSGSGSGSGSGS", Chains: []string{"A"}, Count: 1},
			},
		},
		Run:   store.RunSpec{Model: "null", Seed: "1", Queue: "fold/null", Params: pleat.Params{Model: "null"}},
		Quota: 100000,
		Subs:  subs,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	got, err := p.s.Claim(ctx, "w", []string{"fold/null"}, 1, 0)
	if err != nil || len(got) != 1 {
		p.t.Fatal(len(got), err)
	}
	score := 71.5
	err = p.s.FinishRun(ctx, store.LeaseOf(&got[0].Task), store.RunFinished{State: pleat.StateCompleted,
		Result: &pleat.Result{Predictions: []pleat.Prediction{{Chains: []string{"A"}, MeanPLDDT: &score}}},
		Artifacts: []pleat.Artifact{{
			Name:        "model.cif",
			Kind:        pleat.ArtifactCIF,
			ContentType: "chemical/x-mmcif",
			Bytes:       3,
			SHA256:      "00",
			Key:         "runs/x/1/model.cif",
		}}})
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *post) list(owner pleat.UserID, f store.DeliveryFilter) []store.Delivery {
	p.t.Helper()
	f.Limit = 1000
	out, err := p.s.Deliveries(context.Background(), owner, f)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within 30 s: ", what)
		}
	}
}

// ended waits until a user has n deliveries of a status.
func (p *post) ended(owner pleat.UserID, status pleat.DeliveryStatus, n int) []store.Delivery {
	p.t.Helper()
	var out []store.Delivery
	until(p.t, fmt.Sprintf("%d deliveries %s", n, status), func() bool {
		out = p.list(owner, store.DeliveryFilter{Status: status})
		return len(out) == n
	})
	return out
}

func TestPoolDelivers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		p := newPost(t, s, clock)
		r := newReceiver(t, nil)
		u, e := p.user("ada", r.URL+"/hook?key=1")
		p.start()
		c := p.fold(u, global(e))
		d := p.ended(u, "SUCCEEDED", 1)[0]
		got := r.all()
		if len(got) != 1 {
			t.Fatalf("%d were heard", len(got))
		}
		h := got[0].header
		if h.Get("X-Webhook-Token") != "the-token" || h.Get("Webhook-Id") != string(d.ID) ||
			h.Get("Content-Type") != "application/json" {
			t.Errorf("%v", h)
		}
		if err := webhook.Verify(h, []byte(got[0].body), time.Now(), webhook.Tolerance, p.secret); err != nil {
			t.Error(err)
		}
		var body webhook.Body
		var source webhook.BodyFold
		body.Source = &source
		if err := json.Unmarshal([]byte(got[0].body), &body); err != nil {
			t.Fatal(err)
		}
		if body.Event.SourceID != string(c.Job) || body.Event.Name != "on_complete" || source.Run.ID != string(c.Run) ||
			len(source.Results) != 1 || *source.Results[0].Prediction.MeanPLDDT != 71.5 {
			t.Errorf("%s", got[0].body)
		}
		if link := source.Results[0].Artifacts["cif_url"]; !strings.HasPrefix(link,
			"https://fold.example.org/v1/artifacts/") || !strings.Contains(link, "&s=") {
			t.Errorf("the link is %q", link)
		}
		if strings.Contains(got[0].body, "GSGSGSGS") {
			t.Error("the sequence was delivered")
		}
		_, tries, err := s.Delivery(context.Background(), u, d.ID)
		if err != nil || len(tries) != 1 || strings.Contains(tries[0].Detail, "the-token") ||
			strings.Contains(tries[0].Detail, "key=1") {
			t.Errorf("%+v %v", tries, err)
		}
	})
}

func TestPoolTriesAgain(t *testing.T) {
	t.Parallel()
	if store.DeliveryTries != webhook.Tries() {
		t.Fatalf("the store allows %d tries, the schedule has %d", store.DeliveryTries, webhook.Tries())
	}
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		p := newPost(t, s, clock)
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
		u, e := p.user("ada", r.URL)
		p.start()
		p.fold(u, global(e))
		waits := func(attempts int) store.Delivery {
			t.Helper()
			var d store.Delivery
			until(t, fmt.Sprint(attempts, " attempts"), func() bool {
				d = p.list(u, store.DeliveryFilter{})[0]
				return d.Attempts == attempts && d.Status == "PENDING"
			})
			return d
		}
		d := waits(1)
		if in := d.NextAt.Sub(s.Now()); in < 3*time.Second || in > 7*time.Second {
			t.Errorf("the first repeat comes in %v", in)
		}
		clock.Advance(7 * time.Second)
		d = waits(2)
		if in := d.NextAt.Sub(s.Now()); in < 59*time.Minute || in > time.Hour || d.ResponseStatus != 503 {
			t.Errorf("Retry-After of an hour is honoured with %v; %+v", in, d)
		}
		clock.Advance(time.Hour)
		d = p.ended(u, "SUCCEEDED", 1)[0]
		got := r.all()
		if d.Attempts != 3 || len(got) != 3 {
			t.Fatalf("%d attempts, %d heard", d.Attempts, len(got))
		}
		for _, h := range got {
			if h.header.Get("Webhook-Id") != string(d.ID) {
				t.Error("a repeat has another webhook-id")
			}
		}
	})
}

// What never works ends after all tries, and says why; a redelivery begins anew.
func TestPoolGivesUp(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		p := newPost(t, s, clock)
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) })
		u, e := p.user("ada", r.URL)
		p.start()
		p.fold(u, global(e))
		for i := range webhook.Tries() {
			until(t, fmt.Sprint("attempt ", i+1), func() bool {
				return p.list(u, store.DeliveryFilter{})[0].Attempts == i+1
			})
			clock.Advance(30 * time.Hour)
		}
		d := p.ended(u, "FAILED", 1)[0]
		if d.Attempts != webhook.Tries() || !strings.Contains(d.Reason, "answered 404") {
			t.Errorf("%+v", d)
		}
		// More than five days of nothing but failures have disabled the endpoint; its owner wakes it.
		if e, err := s.GlobalEndpoint(context.Background(), u); err != nil || e.Active ||
			!strings.Contains(e.DisabledReason, "5 days") {
			t.Errorf("%+v %v", e, err)
		}
		if _, err := s.ChangeEndpoint(context.Background(), u, store.EndpointResume); err != nil {
			t.Fatal(err)
		}
		if err := s.Redeliver(context.Background(), u, d.ID); err != nil {
			t.Fatal(err)
		}
		until(t, "the redelivery", func() bool {
			d := p.list(u, store.DeliveryFilter{})[0]
			return d.Attempts == webhook.Tries()+1 && d.Status == "PENDING" && !d.NextAt.IsZero()
		})
	})
}

// After ten failures in a row the endpoint is left alone, and who waits spends no attempt; one probe finds it well.
func TestBreakerPausesWithoutSpending(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		p := newPost(t, s, clock)
		var well atomic.Bool
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
			if !well.Load() {
				w.WriteHeader(500)
			}
		})
		u, e := p.user("ada", r.URL)
		const n = 40
		for range n {
			p.fold(u, global(e))
		}
		p.start()
		until(t, "the breaker opens", func() bool {
			e, err := s.GlobalEndpoint(context.Background(), u)
			return err == nil && !e.ResumeAt.IsZero()
		})
		time.Sleep(1500 * time.Millisecond) // a poll and more
		sent := len(r.all())
		if sent < webhook.Trip || sent > webhook.Trip+8 {
			t.Errorf("%d were sent", sent)
		}
		untried := 0
		for _, d := range p.list(u, store.DeliveryFilter{}) {
			if d.Attempts == 0 {
				untried++
			}
		}
		if untried != n-sent {
			t.Errorf("%d of %d have not been tried after %d attempts", untried, n, sent)
		}
		well.Store(true)
		clock.Advance(webhook.FirstPause + time.Second)
		p.ended(u, "SUCCEEDED", n)
		if got := len(r.all()); got != n+sent {
			t.Errorf("%d posts for %d deliveries after %d failures", got, n, sent)
		}
	})
}

// Endpoints that hang take neither the courier's hands nor another's turn, were they all one user's.
func TestNeighboursThatHang(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		p := newPost(t, s, clock)
		release := make(chan struct{})
		defer close(release)
		hang := newReceiver(t, func(_ http.ResponseWriter, req *http.Request) {
			select {
			case <-release:
			case <-req.Context().Done():
			}
		})
		well := newReceiver(t, nil)
		eve, end := p.user("eve", hang.URL)
		for range 30 {
			p.fold(eve, global(end))
		}
		for range 10 {
			p.fold(eve, p.own(eve, hang.URL))
		}
		p.start(func(c *deliver.Config) { c.Parallel, c.Endpoint, c.Owner = 16, 4, 6 })
		until(t, "eve has all she may", func() bool { return len(hang.all()) == 6 })
		var slowest time.Duration
		for i := range 5 {
			u, e := p.user(fmt.Sprint("user", i), well.URL)
			for range 10 {
				from := time.Now()
				p.fold(u, global(e))
				want := len(p.list(u, store.DeliveryFilter{}))
				p.ended(u, "SUCCEEDED", want)
				slowest = max(slowest, time.Since(from))
			}
		}
		if slowest > 5*time.Second {
			t.Errorf("the slowest delivery beside a hanging endpoint took %v", slowest)
		}
		if n := len(hang.all()); n != 6 {
			t.Errorf("eve has %d deliveries under way; she may have 6", n)
		}
	})
}

// A delivery that takes longer than a lease stays with its courier.
func TestSlowReceiverKeepsItsLease(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		p := newPost(t, s, clock)
		release := make(chan struct{})
		r := newReceiver(t, func(http.ResponseWriter, *http.Request) { <-release })
		u, e := p.user("ada", r.URL)
		p.start()
		p.fold(u, global(e))
		until(t, "the post", func() bool { return len(r.all()) == 1 })
		time.Sleep(pleat.HeartbeatInterval + 1500*time.Millisecond)
		// by now the first lease would have ended, the renewed one has not
		clock.Advance(pleat.LeaseDuration - 5500*time.Millisecond)
		time.Sleep(1500 * time.Millisecond)
		close(release)
		d := p.ended(u, "SUCCEEDED", 1)[0]
		if d.Attempts != 1 || len(r.all()) != 1 {
			t.Errorf("%d attempts, %d posts", d.Attempts, len(r.all()))
		}
	})
}

func TestPoolStops(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {

		p := newPost(t, s, clock)
		hang := newReceiver(t, func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })
		u, e := p.user("ada", hang.URL)
		stop := p.start(func(c *deliver.Config) { c.Grace = 200 * time.Millisecond })
		p.fold(u, global(e))
		until(t, "the post", func() bool { return len(hang.all()) == 1 })
		stop()
		d, tries, err := s.Delivery(context.Background(), u, p.list(u, store.DeliveryFilter{})[0].ID)
		if err != nil || d.Status != "PENDING" || d.Attempts != 0 || len(tries) != 1 || tries[0].Outcome != "released" {
			t.Errorf("%+v %+v %v", d, tries, err)
		}
		// What is nearly done gets the time to be so.

		slow := newReceiver(t, func(http.ResponseWriter, *http.Request) { time.Sleep(300 * time.Millisecond) })
		bob, end := p.user("bob", slow.URL)
		stop = p.start(func(c *deliver.Config) { c.ID, c.Grace = "other", 10*time.Second })
		p.fold(bob, global(end))
		until(t, "the post", func() bool { return len(slow.all()) == 1 })
		if _, err := s.ChangeEndpoint(context.Background(), u, store.EndpointPause); err != nil {
			t.Fatal(err)
		}
		hang.CloseClientConnections()
		stop()
		p.ended(bob, "SUCCEEDED", 1)
	})
}

func TestReceiversWishes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		p := newPost(t, s, clock)
		p.start()
		abort := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("webhook-delivery", "abort-message")
			w.WriteHeader(400)
		})
		u, e := p.user("ada", abort.URL)
		p.fold(u, global(e))
		if d := p.ended(u, "FAILED", 1)[0]; !strings.Contains(d.Reason, "abort-message") || d.Attempts != 1 {
			t.Errorf("%+v", d)
		}
		if e, _ := s.GlobalEndpoint(context.Background(), u); !e.Active {
			t.Error("abort-message disabled the endpoint")
		}
		gone := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) })
		bob, end := p.user("bob", gone.URL)
		p.fold(bob, global(end))
		p.ended(bob, "FAILED", 1)
		if e, _ := s.GlobalEndpoint(context.Background(), bob); e.Active || !strings.Contains(e.DisabledReason, "410") {
			t.Errorf("%+v", e)
		}
	})
}

// Whatever is wrong with the source or the secrets, the owner can read what happened, and no secret with it.
func TestSourcesAndSecrets(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		p := newPost(t, s, clock)
		r := newReceiver(t, nil)
		u, e := p.user("ada", r.URL)
		deleted := p.fold(u, global(e))
		if err := s.DeleteJob(ctx, u, deleted.Job); err != nil {
			t.Fatal(err)
		}
		again := p.fold(u, global(e))
		if _, err := s.Rerun(ctx, u, again.Job, store.RunSpec{Model: "null", Queue: "fold/null"}, 1000); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Claim(ctx, "w", []string{"fold/null"}, 1, 0); err != nil || len(got) != 1 { // it runs on
			t.Fatal(len(got), err)
		}
		if _, err := s.PingEndpoint(ctx, u); err != nil {
			t.Fatal(err)
		}
		// A run's own endpoint: its token, its owner's secret. One of a user without a secret is not signed.
		p.fold(u, p.own(u, r.URL+"/own"))
		stranger, err := s.EnsureUser(ctx, "no secret")
		if err != nil {
			t.Fatal(err)
		}
		p.fold(stranger.ID, p.own(stranger.ID, r.URL+"/unsigned"))
		p.start()
		p.ended(u, "SUCCEEDED", 4)
		p.ended(stranger.ID, "SUCCEEDED", 1)
		found := map[string]bool{}
		for _, h := range r.all() {
			unsigned := h.header.Get("Webhook-Signature") == ""
			if !unsigned {
				if err := webhook.Verify(h.header, []byte(h.body), time.Now(), webhook.Tolerance,
					p.secret); err != nil {
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
			}
		}
		if len(found) != 5 {
			t.Errorf("found %v", found)
		}
		// Secrets that this process has no key for.
		eve, end := p.user("eve", r.URL)
		if _, err := s.PutEndpoint(ctx, eve, store.EndpointConfig{URL: r.URL, Token: "s1.00000000.AAAA"}); err != nil {
			t.Fatal(err)
		}
		p.fold(eve, global(end))
		until(t, "the attempt", func() bool { return p.list(eve, store.DeliveryFilter{})[0].Attempts == 1 })
		_, tries, err := s.Delivery(ctx, eve, p.list(eve, store.DeliveryFilter{})[0].ID)
		if err != nil || !strings.Contains(tries[0].Detail, "could not be written") {
			t.Errorf("%+v %v", tries, err)
		}
	})
}

func TestRateOfOneEndpoint(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		p := newPost(t, s, clock)
		r := newReceiver(t, nil)
		u, e := p.user("ada", r.URL)
		for range 16 {
			p.fold(u, global(e))
		}
		p.start(func(c *deliver.Config) { c.Rate = 4 })
		p.ended(u, "SUCCEEDED", 16)
		got := r.all()
		if took := got[len(got)-1].at.Sub(got[0].at); took < 1500*time.Millisecond {
			t.Errorf("16 deliveries at 4 a second, 4 at once, took %v", took)
		}
	})
}

// Two couriers of one database share the work: each delivery goes out once.
func TestTwoCouriersShare(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		p := newPost(t, s, clock)
		r := newReceiver(t, nil)
		var users []pleat.UserID
		for i := range 5 {
			u, e := p.user(fmt.Sprint("u", i), r.URL)
			users = append(users, u)
			for range 20 {
				p.fold(u, global(e))
			}
		}
		p.start(func(c *deliver.Config) { c.ID = "a" })
		p.start(func(c *deliver.Config) { c.ID = "b" })
		for _, u := range users {
			p.ended(u, "SUCCEEDED", 20)
		}
		ids := map[string]int{}
		for _, h := range r.all() {
			ids[h.header.Get("Webhook-Id")]++
		}
		if len(ids) != 100 || len(r.all()) != 100 {
			t.Errorf("%d posts of %d deliveries", len(r.all()), len(ids))
		}
	})
}
