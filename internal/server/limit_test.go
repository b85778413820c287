package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"pleat/internal/server"
	"pleat/internal/store/people"
)

// signIn opens a session and returns its cookie; empty if it was refused.
func (h *fixture) signIn(key string, headers ...string) string {
	h.t.Helper()
	r := h.ask("POST", "/v1/session", `{"key":"`+key+`"}`, headers...)
	cookie, _, _ := strings.Cut(r.header.Get("Set-Cookie"), ";")
	return cookie
}

// newKey makes one more key for a user.
func (h *fixture) newKey(user string) string {
	h.t.Helper()
	_, key := h.newUser(user)
	return key
}

// stoppedClock is a clock that stands still until a test moves it.
type stoppedClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *stoppedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock ahead.
func (c *stoppedClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// newStoppedFixture is newFixture with a server whose clock stands still, so that what a limit allows does not depend
// on how long the requests take. The store's clock goes on.
func newStoppedFixture(t *testing.T, change func(*server.Config)) (*fixture, *stoppedClock) {
	t.Helper()
	clock := &stoppedClock{}
	h := newFixtureWith(t, func(c *server.Config, d *server.Deps) {
		change(c)
		clock.now = d.Clock()
		d.Clock = clock.Now
	})
	return h, clock
}

func TestRate(t *testing.T) {
	t.Parallel()
	h, _ := newStoppedFixture(t, func(c *server.Config) { c.Rate, c.Burst = .5, 3 })
	for range 3 {
		if r := h.as(h.key, "GET", "/v1/usage", nil); r.status != 200 {
			t.Fatal(r.body)
		}
	}
	if r := h.as(h.key, "GET", "/v1/usage", nil); r.status != 429 || r.message(t) == "" ||
		r.header.Get("Retry-After") != "2" {
		t.Errorf("%d %s %v", r.status, r.body, r.header)
	}
}

// Neither sessions nor further keys allow a user more requests or more streams.
func TestLimitsAreOfUsers(t *testing.T) {
	t.Parallel()
	const burst = 12
	h := newFixture(t, func(c *server.Config) { c.Rate, c.Burst, c.Streams = .001, burst, 2 })
	second := h.newKey("ann")
	credentials := [][2]string{
		{"Cookie", h.signIn(h.key)},
		{"Cookie", h.signIn(h.key)},
		{"Cookie", h.signIn(second)},
		{"X-API-Key", h.key},
		{"X-API-Key", second},
	}
	got := map[int]int{}
	for i := range 20 {
		who := credentials[i%len(credentials)]
		got[h.ask("GET", "/v1/usage", nil, who[0], who[1]).status]++
	}
	if want := burst - 3; got[200] != want || got[429] != 20-want { // three opened sessions
		t.Errorf("%v, want %d answers", got, want)
	}
	if h.signIn(h.key) != "" {
		t.Error("a session above what its user may")
	}
	if r := h.as(h.newKey("ben"), "GET", "/v1/usage", nil); r.status != 200 {
		t.Errorf("another user: %d", r.status)
	}

	h = newFixture(t, func(c *server.Config) { c.Streams = 2 })
	cookie, other := h.signIn(h.key), h.signIn(h.key)
	<-readStream(t, h.http.URL+"/v1/events", "X-API-Key", h.key)
	<-readStream(t, h.http.URL+"/v1/events", "Cookie", cookie)
	req, err := http.NewRequestWithContext(t.Context(), "GET", h.http.URL+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Cookie", other)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 429 {
		t.Errorf("a third stream: %d", res.StatusCode)
	}
}

// streamResponse passes the status of a stream on when its header is written, and forgets its body.
type streamResponse struct {
	header http.Header
	status chan<- int
}

func (r streamResponse) Header() http.Header         { return r.header }
func (r streamResponse) WriteHeader(status int)      { r.status <- status }
func (r streamResponse) Write(b []byte) (int, error) { return len(b), nil }
func (r streamResponse) Flush()                      {}

// Strangers from many addresses have at most 1,024 streams together. Users do not notice them.
func TestStreamsOfStrangers(t *testing.T) {
	t.Parallel()
	const most, each, more = 1024, 32, 16
	h := newFixture(t)
	path := "/v1/jobs/" + h.create(strings.Replace(trp, `"params"`, `"isPublic":true,"params"`, 1)).JobID + "/events"
	handler := h.srv.Handler()
	var open sync.WaitGroup
	status := make(chan int)
	// stream opens a stream from the address of a number. It ends with ctx or, if it is refused, at once.
	stream := func(ctx context.Context, address int, key string) {
		r := httptest.NewRequestWithContext(ctx, "GET", path, nil)
		r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1234", address)
		if key != "" {
			r.Header.Set("X-API-Key", key)
		}
		open.Go(func() { handler.ServeHTTP(streamResponse{http.Header{}, status}, r) })
	}
	ctx, end := context.WithCancel(t.Context())
	defer open.Wait()
	defer end()
	got := map[int]int{}
	for i := range most + more {
		stream(ctx, i/each, "")
	}
	for range most + more {
		got[<-status]++
	}
	if got[200] != most || got[429] != more {
		t.Errorf("%v", got)
	}
	stream(ctx, 0, h.key)
	if got := <-status; got != 200 {
		t.Errorf("a user among strangers: %d", got)
	}
	end()
	open.Wait()
	ctx, end = context.WithCancel(t.Context())
	defer end()
	stream(ctx, 100, "")
	if got := <-status; got != 200 {
		t.Errorf("closed streams leave no room: %d", got)
	}
}

// However many strangers share an address, valid credentials work there at once: a key and a session that this server
// has not seen, and signing in.
func TestStrangersLockNobodyOut(t *testing.T) {
	t.Parallel()
	h, _ := newStoppedFixture(t, func(c *server.Config) { c.Rate, c.Burst = .001, 5 })
	got := map[int]int{}
	count := func(n int, ask func(i int) reply) map[int]int {
		clear(got)
		for i := range n {
			got[ask(i).status]++
		}
		return got
	}
	anonymous := func(int) reply { return h.ask("GET", "/v1/models", nil) }
	invented := func(i int) reply { return h.as(fmt.Sprint("x", i), "GET", "/v1/usage", nil) }
	badSignIn := func(i int) reply { return h.ask("POST", "/v1/session", fmt.Sprintf(`{"key":"x%d"}`, i)) }
	if count(20, anonymous); got[200] != 5 || got[429] != 15 {
		t.Errorf("anonymous: %v", got)
	}
	if count(250, invented); got[429] != 250 { // the address has no requests left for what is not valid
		t.Errorf("invented: %v", got)
	}
	if count(30, badSignIn); got[401] != 10 || got[429] != 20 {
		t.Errorf("invalid sign-ins: %v", got)
	}
	if r := h.as(h.newKey("ben"), "GET", "/v1/usage", nil); r.status != 200 {
		t.Errorf("a key that was never used: %d %s", r.status, r.body)
	}
	cookie := h.signIn(h.newKey("cid"))
	if r := h.ask("GET", "/v1/session", nil, "Cookie", cookie); r.status != 200 || !strings.Contains(r.body, "cid") {
		t.Errorf("signing in: %d %s", r.status, r.body)
	}
	job := h.create(strings.Replace(trp, `"params"`, `"isPublic":true,"params"`, 1))
	for range 5 {
		if r := h.as(h.newKey("dan"), "GET", "/v1/jobs/"+job.JobID, nil); r.status != 200 {
			t.Errorf("a new key reads a public job: %d", r.status)
		}
	}
}

// A key that is revoked no longer counts for its user.
func TestRevokedKeyCountsForNobody(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(c *server.Config) { c.Rate, c.Burst = .001, 10 })
	key := h.newKey("ann")
	h.as(key, "GET", "/v1/usage", nil)
	keys, err := h.client(h.key).Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.client(h.key).RevokeKey(t.Context(), keys.Data[0].ID); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		if r := h.as(key, "GET", "/v1/usage", nil); r.status == 200 {
			t.Fatal("the key works")
		}
	}
	if r := h.as(h.key, "GET", "/v1/usage", nil); r.status != 200 {
		t.Errorf("the user's other key: %d", r.status)
	}
}

// That also holds on routes that do not check whether the key is valid, such as those of files, and on those that find
// it out with the job.
func TestRevokedKeyCountsForNobodyElsewhere(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/jobs/%s", "/v1/artifacts/%s/model.cif?s=x"} {
		h := newFixture(t, func(c *server.Config) { c.Rate, c.Burst = .001, 20 })
		path = fmt.Sprintf(path, h.create(trp).JobID)
		id, key := h.newUser("ann")
		h.as(key, "GET", "/v1/usage", nil)
		keys, err := h.store.People.Keys(t.Context(), people.Reach{User: id})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.store.People.RevokeKey(t.Context(), people.Actor{Reach: people.Own(id)}, keys[0].ID); err != nil {
			t.Fatal(err)
		}
		h.clock.Advance(time.Minute)
		for range 120 {
			if r := h.as(key, "GET", path, nil); r.status == 200 {
				t.Fatal("the key works")
			}
		}
		if r := h.as(h.key, "GET", "/v1/usage", nil); r.status != 200 {
			t.Errorf("%s: the user's other key: %d", path, r.status)
		}
	}
}

// Behind a trusted proxy a request counts for the address that the proxy states, and the log shows it.
func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(c *server.Config) {
		c.Rate, c.Burst, c.TrustedProxies = .001, 2, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	ask := func(forwarded string) int {
		return h.ask("GET", "/v1/models", nil, "X-Forwarded-For", forwarded).status
	}
	for range 10 {
		ask("198.51.100.7")
	}
	for _, c := range []struct {
		forwarded string
		want      int
	}{
		{"198.51.100.7", 429},
		{"203.0.113.1, 198.51.100.7", 429}, // what the client itself wrote changes nothing
		{"203.0.113.1, 198.51.100.7, 127.0.0.2", 429},
		{"198.51.100.8", 200},
	} {
		if got := ask(c.forwarded); got != c.want {
			t.Errorf("%s: %d, want %d", c.forwarded, got, c.want)
		}
	}
	if !strings.Contains(h.log.String(), "from=198.51.100.8") {
		t.Error("the log does not show the client's address")
	}
	h = newFixture(t, func(c *server.Config) { c.Rate, c.Burst = .001, 2 })
	for i := range 3 {
		if got, want := ask(fmt.Sprint("198.51.100.", i)), []int{200, 200, 429}[i]; got != want {
			t.Errorf("without a trusted proxy, request %d: %d, want %d", i, got, want)
		}
	}
}

// A run can be polled once a second at any rate, also by somebody who has no other request left.
func TestPollingIsNotLimited(t *testing.T) {
	t.Parallel()
	h, clock := newStoppedFixture(t, func(c *server.Config) { c.Rate, c.Burst = .1, 2 })
	j := h.create(trp)
	h.create(trp)
	if r := h.as(h.key, "GET", "/v1/usage", nil); r.status != 429 {
		t.Fatalf("the user has requests left: %d", r.status)
	}
	for second := range 60 {
		for _, path := range []string{"", "/results"} {
			if r := h.as(h.key, "GET", "/v1/jobs/"+j.JobID+path, nil); r.status != 200 {
				t.Fatalf("second %d, %s: %d %s", second, path, r.status, r.body)
			}
		}
		clock.Advance(time.Second)
	}
	got := map[int]int{}
	for range 200 {
		got[h.as(h.key, "GET", "/v1/jobs/"+j.JobID, nil).status]++
	}
	if got[429] == 0 {
		t.Errorf("reads of runs are not limited at all: %v", got)
	}
}

// Secrets that people choose cannot be tried at will, at any rate of requests.
func TestWrongSecrets(t *testing.T) {
	t.Parallel()
	h, clock := newStoppedFixture(t, func(c *server.Config) {
		c.IngestSecret, c.MetricsToken = ingestSecret, "token of sixteen"
	})
	for name, ask := range map[string]func() reply{
		"ingest":  func() reply { return h.ask("POST", "/v1/webhooks/events/ingest", "{}") },
		"metrics": func() reply { return h.as("wrong", "GET", "/metrics", nil) },
	} {
		got := map[int]int{}
		for range 30 {
			got[ask().status]++
		}
		if got[401] != 10 || got[429] != 20 {
			t.Errorf("%s: %v", name, got)
		}
	}
	clock.Advance(2 * time.Second)
	if r := h.as("token of sixteen", "GET", "/metrics", nil); r.status != 200 {
		t.Errorf("after a pause: %d", r.status)
	}
}
