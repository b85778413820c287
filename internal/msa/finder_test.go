package msa_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pleat/internal/msa"
	"pleat/internal/msa/msatest"
)

// shelf keeps what a finder saves.
type shelf struct {
	mu   sync.Mutex
	kept map[string][]byte
}

func (s *shelf) load(_ context.Context, key string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.kept[key]
	if !ok {
		return nil, nil
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (s *shelf) save(_ context.Context, key string, r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[key] = b
	return nil
}

func newFinder(t *testing.T, source msa.Source) (*msa.Finder, *shelf) {
	s := &shelf{kept: map[string][]byte{}}
	f := &msa.Finder{
		Source:  source,
		Load:    s.load,
		Save:    s.save,
		Log:     slog.New(slog.DiscardHandler),
		Timeout: time.Minute,
	}
	t.Cleanup(f.Wait)
	return f, s
}

func quiet(string) {}

func find(t *testing.T, f *msa.Finder, sequences ...string) *msa.Found {
	t.Helper()
	out, err := f.Find(context.Background(), sequences, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func findPaired(t *testing.T, f *msa.Finder, sequences ...string) *msa.Found {
	t.Helper()
	out, err := f.FindPaired(context.Background(), sequences, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestKeptAlignmentsAreNotSearchedAgain(t *testing.T) {
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
	for key := range kept.kept {
		if !strings.HasPrefix(key, msa.Prefix) || strings.Contains(key, seqA) {
			t.Errorf("the key %q", key)
		}
	}
	// Pairs belong to an ordered set; alone, a sequence is the one that is kept.
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
	g := &msa.Finder{Source: other, Load: kept.load, Save: kept.save, Log: f.Log}
	if a := find(t, g, seqA); len(server.Tickets) != 4 || len(a.Unpaired[0].Rows) != 2 {
		t.Errorf("%d tickets", len(server.Tickets))
	}
}

func TestNoPairing(t *testing.T) {
	server := msatest.New(t)
	f, _ := newFinder(t, client(server))
	f.Pairing = msa.PairNone
	if out := findPaired(t, f, seqA, seqB); out.Paired != nil || len(server.Tickets) != 1 {
		t.Errorf("%d tickets", len(server.Tickets))
	}
}

func TestBrokenKeptAlignmentIsSearchedAgain(t *testing.T) {
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

func TestAFullShelfIsNoFailure(t *testing.T) {
	server := msatest.New(t)
	f, _ := newFinder(t, client(server))
	f.Save = func(context.Context, string, io.Reader) error { return errors.New("no space left") }
	find(t, f, seqA)
}

// However many ask at a time, a sequence is searched for once.
func TestOneFlightPerSequence(t *testing.T) {
	server := msatest.New(t)
	server.Gate = make(chan struct{})
	f, _ := newFinder(t, client(server))
	var group sync.WaitGroup
	var mu sync.Mutex
	heard := 0
	for i := range 20 {
		group.Go(func() {
			asked, first := []string{seqA}, true
			if i%2 == 1 {
				asked = []string{seqA, seqB}
			}
			out, err := f.Find(context.Background(), asked, func(string) {
				if first {
					mu.Lock()
					heard++
					mu.Unlock()
				}
				first = false
			})
			if err != nil || len(out.Unpaired) != len(asked) ||
				out.Unpaired[len(asked)-1].Query() != asked[len(asked)-1] {
				t.Errorf("%v, %v", out, err)
			}
		})
	}
	time.Sleep(50 * time.Millisecond)
	close(server.Gate)
	group.Wait()
	searched := map[string]int{}
	for _, s := range server.Tickets {
		for _, q := range s.Sequences {
			searched[q]++
		}
	}
	if searched[seqA] != 1 || searched[seqB] != 1 {
		t.Errorf("searched %v", searched)
	}
	if heard < 10 {
		t.Errorf("%d of 20 heard how it is getting on", heard)
	}
}

// Who asked first may leave; the search goes on for the others, and ends with the last.
func TestLeaving(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	server := msatest.New(t)
	server.Gate = make(chan struct{})
	f, kept := newFinder(t, client(server))
	ask := func(ctx context.Context) chan error {
		done, began := make(chan error, 1), make(chan struct{}, 9)
		go func() {
			_, err := f.Find(ctx, []string{seqA}, func(string) {
				select {
				case began <- struct{}{}:
				default:
				}
			})
			done <- err
		}()
		select {
		case <-began:
		case <-time.After(200 * time.Millisecond): // who joins late may find nothing new said
		}
		return done
	}
	stopped := errors.New("stopped")
	ctx1, cancel1 := context.WithCancelCause(context.Background())
	ctx2, cancel2 := context.WithCancelCause(context.Background())
	one, two := ask(ctx1), ask(ctx2)
	cancel1(stopped)
	if err := <-one; !errors.Is(err, stopped) {
		t.Errorf("the first ended with %v", err)
	}
	three := ask(context.Background())
	close(server.Gate)
	if err := errors.Join(<-two, <-three); err != nil {
		t.Error(err)
	}
	cancel2(nil)
	if len(server.Tickets) != 1 {
		t.Errorf("%d tickets", len(server.Tickets))
	}
	// Now alone: leaving ends the search, and nothing of it is kept.
	clear(kept.kept)
	server.Gate = make(chan struct{})
	ctx4, cancel4 := context.WithCancelCause(context.Background())
	four := ask(ctx4)
	cancel4(stopped)
	if err := <-four; !errors.Is(err, stopped) {
		t.Errorf("the last ended with %v", err)
	}
	f.Wait()
	if len(kept.kept) != 0 {
		t.Error("an alignment was kept of a search that nobody waited for")
	}
	close(server.Gate)
	find(t, f, seqA)
	if len(server.Tickets) != 3 {
		t.Errorf("%d tickets", len(server.Tickets))
	}
	server.Close()
}

func TestDeadline(t *testing.T) {
	server := msatest.New(t)
	server.Gate = make(chan struct{})
	f, kept := newFinder(t, client(server))
	f.Timeout = 50 * time.Millisecond
	_, err := f.Find(context.Background(), []string{seqA}, quiet)
	wantError(t, err, "no alignment was made within", true)
	server.Lock()
	server.Submit = times(9999, msatest.Answer{Code: 429})
	server.Unlock()
	_, err = f.Find(context.Background(), []string{seqA}, quiet)
	wantError(t, err, "no alignment was made within", true)
	if len(kept.kept) != 0 {
		t.Error("something was kept")
	}
}

// A failure is everybody's who waited, and nobody's who comes later.
func TestFailureIsNotKept(t *testing.T) {
	server := msatest.New(t)
	server.Look = times(1, ticketOf("ERROR"))
	f, _ := newFinder(t, client(server))
	_, err := f.Find(context.Background(), []string{seqA}, quiet)
	wantError(t, err, "failed on the search", true)
	find(t, f, seqA)
}

// patient is a source whose first search ends when it is told to, and which notes how long each may take.
type patient struct {
	end   chan struct{}
	ended time.Time
	until []time.Time
}

func (p *patient) Database() string { return "patient" }
func (p *patient) Pairs() bool      { return false }

func (p *patient) Search(ctx context.Context, sequences []string, _ msa.Pairing, _ func(string)) ([]*msa.Alignment,
	error) {
	until, _ := ctx.Deadline()
	if p.until = append(p.until, until); len(p.until) == 1 {
		<-p.end
		p.ended = time.Now()
	}
	a, err := msa.Read(strings.NewReader(">q\n"+sequences[0]+"\n"), sequences[0])
	return []*msa.Alignment{a}, err
}

// The time that a search may take begins when the one before it has ended.
func TestWaitingForAnotherSearch(t *testing.T) {
	p := &patient{end: make(chan struct{})}
	f, _ := newFinder(t, p)
	var all sync.WaitGroup
	waits := make(chan struct{}, 2)
	for _, s := range []string{seqA, seqB} {
		all.Go(func() {
			_, err := f.Find(context.Background(), []string{s}, func(line string) {
				if line == "waiting for another search to end" {
					waits <- struct{}{}
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	<-waits
	close(p.end)
	all.Wait()
	if len(p.until) != 2 || p.until[1].Before(p.ended.Add(f.Timeout)) {
		t.Errorf("searches had until %v; the first ended at %v", p.until, p.ended)
	}
}
