package msa_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/msa"
	"pleat/internal/msa/msatest"
)

// cache stores what a finder saves.
type cache struct {
	mu   sync.Mutex
	kept map[string][]byte
}

func (s *cache) load(_ context.Context, key string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.kept[key]
	if !ok {
		return nil, nil
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (s *cache) save(_ context.Context, key string, r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[key] = b
	return nil
}

func newFinder(t *testing.T, source msa.Searcher) (*msa.Finder, *cache) {
	s := &cache{kept: map[string][]byte{}}
	f := &msa.Finder{
		Searcher: source,
		Load:     s.load,
		Save:     s.save,
		Log:      slog.New(slog.DiscardHandler),
		Timeout:  time.Minute,
	}
	t.Cleanup(f.Wait)
	return f, s
}

func quiet(string) {}

func find(t *testing.T, f *msa.Finder, sequences ...string) *msa.Found {
	t.Helper()
	out, err := f.Find(context.Background(), msa.Query{Owner: "ada", Sequences: sequences}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func findPaired(t *testing.T, f *msa.Finder, sequences ...string) *msa.Found {
	t.Helper()
	out, err := f.FindPaired(context.Background(), msa.Query{Owner: "ada", Sequences: sequences}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCachedAlignmentsAreNotSearchedAgain(t *testing.T) {
	t.Parallel()
	server := msatest.New(t)
	f, kept := newFinder(t, client(server))
	first := findPaired(t, f, seqA, seqB)
	if len(first.Unpaired) != 2 || len(first.Paired) != 2 || len(first.Unpaired[0].Rows) != 3 ||
		len(first.Paired[1].Rows) != 2 {
		t.Fatalf("%+v", first)
	}
	if n := len(server.Tickets); n != 2 {
		t.Fatalf("%d tickets; want one for both sequences and one for the pair", n)
	}
	again := findPaired(t, f, seqA, seqB)
	if len(server.Tickets) != 2 ||
		fmt.Sprint(texts(again.Paired[0]), texts(again.Unpaired[1])) != fmt.Sprint(texts(first.Paired[0]),
			texts(first.Unpaired[1])) {
		t.Errorf("%d tickets; %v", len(server.Tickets), again)
	}
	// A job's files, and with them the hash of its input, do not tell whether its alignments were searched for.
	if d := cmp.Diff(first, again); d != "" {
		t.Error(d)
	}
	for key := range kept.kept {
		if !strings.HasPrefix(key, msa.Prefix) || strings.Contains(key, seqA) {
			t.Errorf("the key %q", key)
		}
	}
	// Pairs belong to an ordered set; alone, a sequence is the one that is cached.
	if other := findPaired(t, f, seqB, seqA); len(server.Tickets) != 3 || other.Paired[0].Query() != seqB {
		t.Errorf("%d tickets", len(server.Tickets))
	}
	find(t, f, seqB)
	if len(server.Tickets) != 3 {
		t.Errorf("%d tickets", len(server.Tickets))
	}
	// Another database, another alignment.
	other := client(server)
	other.Mode = msa.ModeAll
	g := &msa.Finder{Searcher: other, Load: kept.load, Save: kept.save, Log: f.Log}
	if a := find(t, g, seqA); len(server.Tickets) != 4 || len(a.Unpaired[0].Rows) != 2 {
		t.Errorf("%d tickets", len(server.Tickets))
	}
}

func TestNoPairing(t *testing.T) {
	t.Parallel()
	server := msatest.New(t)
	f, _ := newFinder(t, client(server))
	f.Pairing = msa.PairNone
	if out := findPaired(t, f, seqA, seqB); out.Paired != nil || len(server.Tickets) != 1 {
		t.Errorf("%d tickets", len(server.Tickets))
	}
}

func TestBrokenCacheEntryIsSearchedAgain(t *testing.T) {
	t.Parallel()
	server := msatest.New(t)
	f, kept := newFinder(t, client(server))
	find(t, f, seqA)
	for key, whole := range kept.kept {
		var other bytes.Buffer
		z := gzip.NewWriter(&other)
		fmt.Fprintf(z, ">101\n%s\n", seqB)
		z.Close()
		for i, bad := range [][]byte{{}, []byte("no gzip"), whole[:len(whole)/2], other.Bytes()} {
			kept.kept[key] = bad
			if out := find(t, f, seqA); len(out.Unpaired[0].Rows) != 3 || len(server.Tickets) != i+2 {
				t.Errorf("%d: %d tickets", i, len(server.Tickets))
			}
			if !bytes.Equal(kept.kept[key], whole) {
				t.Errorf("%d: not kept again", i)
			}
		}
	}
}

func TestAFullCacheIsNoFailure(t *testing.T) {
	t.Parallel()
	server := msatest.New(t)
	f, _ := newFinder(t, client(server))
	f.Save = func(context.Context, string, io.Reader) error { return errors.New("no space left") }
	find(t, f, seqA)
}

// gated is a source whose searches end when their gate is opened.
type gated struct {
	gate chan struct{}

	mu        sync.Mutex
	searched  [][]string  // the sequences of each search
	deadlines []time.Time // of each search
}

func (g *gated) Database() string { return "gated" }
func (g *gated) Pairs() bool      { return false }

func (g *gated) Search(
	ctx context.Context, sequences []string, _ msa.Pairing, report func(string),
) (out []*msa.Alignment, err error) {
	deadline, _ := ctx.Deadline()
	g.mu.Lock()
	g.searched, g.deadlines = append(g.searched, sequences), append(g.deadlines, deadline)
	gate := g.gate
	g.mu.Unlock()
	select {
	case <-gate:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	report("found")
	for _, q := range sequences {
		a, err := msa.Read(strings.NewReader(">q\n"+q+"\n"), q)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// However many callers ask at a time, a sequence is searched for once, and all of them hear about its progress.
func TestOneFlightPerSequence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &gated{gate: make(chan struct{})}
		f, _ := newFinder(t, source)
		const callers = 20
		var group sync.WaitGroup
		var informed atomic.Int64
		for i := range callers {
			group.Go(func() {
				asked := []string{seqA}
				if i%2 == 1 {
					asked = []string{seqA, seqB}
				}
				inform := sync.OnceFunc(func() { informed.Add(1) })
				out, err := f.Find(t.Context(), msa.Query{Sequences: asked}, func(line string) {
					if line == "found" {
						inform()
					}
				})
				if err != nil || len(out.Unpaired) != len(asked) ||
					out.Unpaired[len(asked)-1].Query() != asked[len(asked)-1] {
					t.Errorf("%v, %v", out, err)
				}
			})
		}
		synctest.Wait() // every caller waits for a search
		close(source.gate)
		group.Wait()
		searched := slices.Sorted(slices.Values(slices.Concat(source.searched...)))
		if d := cmp.Diff([]string{seqB, seqA}, searched); d != "" {
			t.Errorf("searched: %s", d)
		}
		if n := informed.Load(); n != callers {
			t.Errorf("%d of %d callers heard about the progress", n, callers)
		}
	})
}

// A caller that asked first may leave: the search continues for the others, and ends with the last.
func TestLeaving(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &gated{gate: make(chan struct{})}
		f, cached := newFinder(t, source)
		ask := func(ctx context.Context) chan error {
			done := make(chan error, 1)
			go func() {
				_, err := f.Find(ctx, msa.Query{Sequences: []string{seqA}}, quiet)
				done <- err
			}()
			synctest.Wait() // it waits for the search
			return done
		}
		stopped := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		one, two := ask(ctx), ask(t.Context())
		cancel(stopped)
		if err := <-one; !errors.Is(err, stopped) {
			t.Errorf("the first ended with %v", err)
		}
		three := ask(t.Context())
		close(source.gate)
		if err := errors.Join(<-two, <-three); err != nil {
			t.Error(err)
		}
		if n := len(source.searched); n != 1 {
			t.Errorf("%d searches", n)
		}
		// Now alone: leaving ends the search, and nothing of it is cached.
		clear(cached.kept)
		source.gate = make(chan struct{})
		ctx, cancel = context.WithCancelCause(t.Context())
		four := ask(ctx)
		cancel(stopped)
		if err := <-four; !errors.Is(err, stopped) {
			t.Errorf("the last ended with %v", err)
		}
		f.Wait()
		if len(cached.kept) != 0 {
			t.Error("an alignment was cached of a search that nobody waited for")
		}
		close(source.gate)
		find(t, f, seqA)
		if n := len(source.searched); n != 3 {
			t.Errorf("%d searches", n)
		}
	})
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	server := msatest.New(t)
	server.Gate = make(chan struct{})
	f, kept := newFinder(t, client(server))
	f.Timeout = 50 * time.Millisecond
	_, err := f.Find(context.Background(), msa.Query{Sequences: []string{seqA}}, quiet)
	wantError(t, err, "no alignment was made within", true)
	server.Lock()
	server.Submit = times(9999, msatest.Answer{Code: 429})
	server.Unlock()
	_, err = f.Find(context.Background(), msa.Query{Sequences: []string{seqA}}, quiet)
	wantError(t, err, "no alignment was made within", true)
	if len(kept.kept) != 0 {
		t.Error("something was kept")
	}
}

// A failure is passed to all who waited, and to nobody who comes later.
func TestFailureIsNotCached(t *testing.T) {
	t.Parallel()
	server := msatest.New(t)
	server.Look = times(1, ticketOf("ERROR"))
	f, _ := newFinder(t, client(server))
	_, err := f.Find(context.Background(), msa.Query{Sequences: []string{seqA}}, quiet)
	wantError(t, err, "failed on the search", true)
	find(t, f, seqA)
}

// The time that a search may take begins when the one before it has ended.
func TestWaitingForAnotherSearch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &gated{gate: make(chan struct{})}
		f, _ := newFinder(t, source)
		start := time.Now()
		var all sync.WaitGroup
		for _, s := range []string{seqA, seqB} {
			all.Go(func() {
				if _, err := f.Find(t.Context(), msa.Query{Sequences: []string{s}}, quiet); err != nil {
					t.Error(err)
				}
			})
		}
		const first = 40 * time.Second
		time.Sleep(first)
		close(source.gate)
		all.Wait()
		want := []time.Duration{f.Timeout, first + f.Timeout}
		var got []time.Duration
		for _, d := range source.deadlines {
			got = append(got, d.Sub(start))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the deadlines of the searches: %s", d)
		}
	})
}

// A search under way is joined by callers of the same project alone, unless all share.
func TestSearchIsJoinedByItsProject(t *testing.T) {
	t.Parallel()
	for shared, want := range map[bool]int{false: 2, true: 1} {
		synctest.Test(t, func(t *testing.T) {
			source := &gated{gate: make(chan struct{})}
			f, _ := newFinder(t, source)
			f.Shared = shared
			var group sync.WaitGroup
			for _, project := range []pleat.ProjectID{"ada", "bob", "ada", "bob"} {
				group.Go(func() {
					q := msa.Query{Owner: project, Sequences: []string{seqA}}
					if _, err := f.Find(t.Context(), q, quiet); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait() // every caller waits for a search
			close(source.gate)
			group.Wait()
			if n := len(source.searched); n != want {
				t.Errorf("shared %t: %d searches of two users; want %d", shared, n, want)
			}
		})
	}
}

// Alignments that were cached while users shared serve nobody after they stop sharing, and serve again when they share.
func TestSharedAlignmentsAreNotUsedAfterwards(t *testing.T) {
	t.Parallel()
	server := msatest.New(t)
	f, kept := newFinder(t, client(server))
	f.Shared = true
	find(t, f, seqA)
	for i, shared := range []bool{false, true} {
		g := &msa.Finder{Searcher: f.Searcher, Load: kept.load, Save: kept.save, Log: f.Log, Shared: shared}
		if find(t, g, seqA); len(server.Tickets) != 2 {
			t.Errorf("%d: %d tickets; want 2", i, len(server.Tickets))
		}
	}
}
