package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/fair"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/workers"
)

// The mapping of errors to HTTP.
func TestStatuses(t *testing.T) {
	t.Parallel()
	for code, want := range map[pleat.Code]int{
		pleat.CodeInvalid: 400, pleat.CodeUnauthorized: 401, pleat.CodeForbidden: 403,
		pleat.CodeNotFound: 404, pleat.CodeConflict: 409,
		pleat.CodeTooLarge: 413,
		pleat.CodeNotJSON:  415, pleat.CodeLimited: 429, pleat.CodeUnavailable: 503, pleat.CodeInternal: 500,
		"unheard of": 500,
	} {
		cause := errors.New("a secret of ours")
		status, message := refusal(fmt.Errorf("verb: %w", &pleat.Error{Code: code, Message: "said", Err: cause}))
		if status != want {
			t.Errorf("%s: %d, want %d", code, status, want)
		}
		if wantText := map[bool]string{true: "internal error", false: "said"}[want == 500]; message != wantText {
			t.Errorf("%s: %q", code, message)
		}
	}
	if status, message := refusal(errors.New("a secret of ours")); status != 500 || message != "internal error" {
		t.Errorf("%d %s", status, message)
	}
	if status, message := refusal(fmt.Errorf("x: %w", &api.DecodeError{Message: "said"})); status != 400 ||
		message != "said" {
		t.Errorf("%d %s", status, message)
	}
}

// The cache holds what it may and no more, and lets go of what was not read for longest.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	const most = 16 * (1000 + cachedOverhead)
	c := newCache(most)
	key := func(i int) cacheKey { return cacheKey{run: pleat.RunID(fmt.Sprint(i))} }
	for i := range 100 {
		c.put(key(i), make([]byte, 1000))
		c.put(key(i), make([]byte, 1000))
		c.get(key(0))
		if c.size > most || c.order.Len() != len(c.at) {
			t.Fatalf("%d bytes after %d", c.size, i)
		}
	}
	if len(c.at) != 16 || c.get(key(0)) == nil || c.get(key(99)) == nil || c.get(key(50)) != nil {
		t.Errorf("%d entries", len(c.at))
	}
	c.put(key(200), make([]byte, most))
	if c.get(key(200)) != nil || len(c.at) != 16 {
		t.Error("one entry threw out the others")
	}
	var none *cache
	none.put(key(1), []byte("x"))
	if none.get(key(1)) != nil {
		t.Error("a cache of nothing holds something")
	}
}

// Errors are problem details for those who ask for them, and only for them.
func TestPrefersProblem(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"":                         false,
		"*/*":                      false,
		"application/*":            false,
		"application/json":         false,
		"application/problem+json": true,
		"Application/Problem+JSON": true,
		"text/event-stream, application/problem+json;q=0.1":        true,
		"application/json, application/problem+json":               true,
		"application/json;q=0.9, application/problem+json":         true,
		"application/json, application/problem+json;q=0.9":         false,
		"application/json;q=0.5 , application/problem+json; q=0.5": true,
		"application/problem+json;q=0":                             false,
		"application/problem+json;q=high":                          false,
		";;,application/problem+json":                              true,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept", accept)
		if got := prefersProblem(r); got != want {
			t.Errorf("%q: %t, want %t", accept, got, want)
		}
	}
}

// Whose file finds no place before its time ends is told to try again; that is no fault of the service.
func TestNoPlaceInTime(t *testing.T) {
	t.Parallel()
	s := &Server{checks: fair.NewTurns(0)}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := s.checkFile(ctx, newFile{by: people.Reach{User: "ann"}, name: "x.pdb"}, &runs.LibraryFile{Bytes: 1})
	if status, message := refusal(err); status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", status, message)
	}
}

// A rerun of a batch takes its turn among the batches of all users before it reads anything, and may take longer than
// other requests.
func TestRerunTakesATurn(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(batchRoutes, func(r route) bool { return r.id == "rerunBatch" })
	rerun := batchRoutes[i].handler
	if !rerun.ownDeadline {
		t.Error("a rerun has the time of other requests")
	}
	s := &Server{batches: fair.NewTurns(0)} // without a store
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequest("POST", "/v1/batches/x/rerun", strings.NewReader(`{"params":{}}`))
	r.Header.Set("Content-Type", "application/json")
	r.SetPathValue("id", "01890a5d-ac96-774b-bcce-b302099a8057")
	c := &call{w: &answer{ResponseWriter: httptest.NewRecorder()}, r: r}
	if err := rerun.serve(s, ctx, c); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Who waits for the counts of a large batch waits neither for those of another, nor longer than its request lasts.
func TestRowCountsWaitForOneBatch(t *testing.T) {
	t.Parallel()
	st := storetest.OpenAt(t, storetest.Databases()["sqlite"](t), nil)
	var k rowCounts
	release := make(chan struct{})
	slow := k.flight.DoChan("slow", func() (any, error) {
		<-release
		return map[pleat.State]int{pleat.StateRunning: 7}, nil
	})
	large := func(id pleat.BatchID) *pleat.Batch { return &pleat.Batch{ID: id, Rows: countedEachTime + 1} }
	other := large("other")
	if err := k.read(t.Context(), st, other); err != nil || other.Counts[pleat.StateInitialized] != other.Rows {
		t.Error(err, other.Counts)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.read(ctx, st, large("slow")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(release)
	<-slow
	before := st.DB.Transactions()
	again := large("other")
	if err := k.read(t.Context(), st, again); err != nil || again.Counts[pleat.StateInitialized] != again.Rows {
		t.Error(err, again.Counts)
	}
	if n := st.DB.Transactions() - before; n != 0 {
		t.Errorf("%d transactions for counts of a moment ago", n)
	}
}

// However many streams are open, one query finds out which of their credentials have ended.
func TestCredentialsOfStreamsAreCheckedTogether(t *testing.T) {
	t.Parallel()
	st := storetest.OpenAt(t, storetest.Databases()["sqlite"](t), nil)
	s := &Server{store: st, open: openCredentials{checkEvery: time.Hour}}
	owner := storetest.User(t, st, "ann")
	var open []credential
	for i := range 100 {
		c := credential{given: true, Credential: people.Credential{Hash: fmt.Sprint("key ", i)}}
		by := people.Actor{Reach: owner, Database: true}
		_, err := st.People.CreateKey(t.Context(), by, people.NewKey{Prefix: "p", Hash: c.Hash})
		if err != nil {
			if pleat.CodeOf(err) != pleat.CodeConflict {
				t.Fatal(err)
			}
			c.Hash = open[0].Hash // a user has a limited number of keys; streams may share one
		}
		s.open.add(c)
		open = append(open, c)
	}
	gone := credential{given: true, Credential: people.Credential{Hash: "never created"}}
	s.open.add(gone)
	before := st.DB.Transactions()
	for _, c := range open {
		if s.open.ended(t.Context(), s, c) {
			t.Errorf("the credential %q counts as ended", c.Hash)
		}
	}
	if !s.open.ended(t.Context(), s, gone) {
		t.Error("a credential that does not exist counts as valid")
	}
	if n := st.DB.Transactions() - before; n != 1 {
		t.Errorf("%d queries for %d streams", n, len(open)+1)
	}
	for _, c := range append(open, gone) {
		s.open.remove(c)
	}
	if len(s.open.streams) != 0 || len(s.open.invalid) != 0 {
		t.Errorf("%d streams, %d ended credentials are left", len(s.open.streams), len(s.open.invalid))
	}
}

// TestDownloadName puts the name of the job before that of the file, unless it is there already.
func TestDownloadName(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"GB1", "model.cif", "GB1-model.cif"},
		{"GB1", "GB1-model.cif", "GB1-model.cif"},
		{"m", "model.cif", "m-model.cif"},
		{"model", "model.cif", "model.cif"},
		{"…", "model.cif", "model.cif"},
	} {
		if got := downloadName(c[0], c[1]); got != c[2] {
			t.Errorf("%q of %q: %q, want %q", c[1], c[0], got, c[2])
		}
	}
}

// The sentence says of every reason for how long the fleet has reported it, or when it last did.
func TestFleetReason(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	const ends = "the workers of this class end before they register, so the next one is started after a pause; " +
		"what they print is in the file of its option output"
	for _, c := range []struct {
		reason     string
		since, age time.Duration
		want       string
	}{
		{"this machine has just been asked to start a worker", 3 * time.Second, 0,
			"the fleet has reported for less than a minute: this machine has just been asked to start a worker"},
		{ends, 5 * time.Minute, time.Minute, "the fleet has reported for 5 min: " + ends},
		{"Slurm does not answer", 3 * time.Hour, 6 * time.Minute,
			"the fleet last reported 6 min ago: Slurm does not answer"},
	} {
		d := &workers.Demand{Class: pleat.Class{Name: "quick"}, Wanted: 2}
		d.Fleet = pleat.FleetReport{Reason: c.reason, Since: now.Add(-c.since), At: now.Add(-c.age)}
		want := "it waits for a worker of the class quick (0 of 2 run); " + c.want
		if got := fleetReason(d, now); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}

// A compressed file that could not be read to its end breaks the connection. A few answers are compressed at once, of
// one address even fewer.
func TestCompressionIsBoundedAndBreaks(t *testing.T) {
	t.Parallel()
	z := newCompressor()
	from := func(n int) *call {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", "gzip")
		return &call{r: r, from: netip.AddrFrom4([4]byte{10, 0, 0, byte(n)})}
	}
	plain := from(0)
	plain.r.Header.Set("Accept-Encoding", "identity")
	for range maxCompressed + 1 {
		if z.acquire(plain) {
			t.Fatal("an answer that must not be compressed has a slot")
		}
	}
	slow := from(0)
	for i := range maxCompressedEach + 1 {
		if got, want := z.acquire(slow), i < maxCompressedEach; got != want {
			t.Fatalf("slot %d of one address: %v", i, got)
		}
	}
	for i := maxCompressedEach; i <= maxCompressed; i++ {
		if got, want := z.acquire(from(i)), i < maxCompressed; got != want {
			t.Fatalf("slot %d of all: %v", i, got)
		}
	}
	z.release(slow)
	last := from(maxCompressed)
	if !z.acquire(last) {
		t.Error("a slot was not returned")
	}
	if z.acquire(slow) {
		t.Error("more answers are compressed than may be")
	}
	z.release(last)
	if !z.acquire(slow) {
		t.Error("a refused answer counts for its address")
	}
	r := slow.r
	for wrote, want := range map[string]any{"": http.ErrAbortHandler, "half": http.ErrAbortHandler, "complete": nil} {
		c := &call{r: r}
		c.w = &answer{ResponseWriter: httptest.NewRecorder(), c: c}
		func() {
			defer func() {
				if p := recover(); p != want {
					t.Errorf("%q: panic %v, want %v", wrote, p, want)
				}
			}()
			z.send(c, int64(len("complete")), func(w http.ResponseWriter) {
				w.WriteHeader(http.StatusOK)
				_, _ = io.WriteString(w, wrote)
			})
		}()
	}
}
