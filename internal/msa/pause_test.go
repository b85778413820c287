package msa_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat/internal/clock"
	"pleat/internal/msa"
	"pleat/internal/msa/msatest"
)

// sharedPauses are the pauses that the processes of a service share. Their seconds are as long as those of its clients.
type sharedPauses struct {
	second   time.Duration
	mu       sync.Mutex
	until    map[string]time.Time
	recorded chan struct{} // closed when a server has asked for a pause
}

func (p *sharedPauses) share(_ context.Context, host string, pause time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	scale := p.second.Seconds()
	end := time.Now().Add(time.Duration(float64(pause) * scale))
	if pause > 0 && end.After(p.until[host]) {
		if len(p.until) == 0 {
			close(p.recorded)
		}
		p.until[host] = end
	}
	return max(time.Duration(float64(time.Until(p.until[host]))/scale), 0)
}

// processes returns clients of one server that share pauses, as the processes of a service do.
func processes(server *msatest.Server, n int) ([]*msa.Server, *sharedPauses) {
	shared := &sharedPauses{second: time.Millisecond, until: map[string]time.Time{}, recorded: make(chan struct{})}
	out := make([]*msa.Server, n)
	for i := range out {
		out[i] = client(server)
		out[i].SharePause = shared.share
		out[i].Clock = func() time.Time { return time.Date(2026, 12, 1, 13, 5, 0, 0, time.UTC) }
	}
	return out, shared
}

// pauseAnswer is an answer that asks for a pause.
func pauseAnswer(code int, retryAfter string) msatest.Answer {
	return msatest.Answer{Code: code, Header: [2]string{"Retry-After", retryAfter}}
}

// A server that asked to be left alone for longer than a search may take is asked nothing more, by no process: the
// searches fail at once and say until when.
func TestServerIsLeftAlone(t *testing.T) {
	t.Parallel()
	const hour = "asked to be left alone until 14:05 UTC, longer than a search may wait here"
	for name, c := range map[string]struct {
		submit, look, download []msatest.Answer
		want                   string
		requests               int
	}{
		"429":            {submit: times(9, pauseAnswer(429, "3600")), want: hour, requests: 1},
		"503":            {submit: times(9, pauseAnswer(503, "3600")), want: hour, requests: 1},
		"429, as a date": {submit: times(9, pauseAnswer(429, "Tue, 01 Dec 2026 14:05:00 GMT")), want: hour, requests: 1},
		"until tomorrow": {
			submit: times(9, pauseAnswer(429, "86400")), want: "left alone until 2026-12-02 13:05 UTC", requests: 1,
		},
		"for years": {
			submit: times(9, pauseAnswer(429, "99999999999999999999")), want: "until 2026-12-02 13:05 UTC", requests: 1,
		},
		"maintenance": {
			submit: times(9, msatest.Answer{
				Body: `{"status":"MAINTENANCE"}`, Header: [2]string{"Retry-After", "3599.2"},
			}), want: hour, requests: 1,
		},
		"in a look":     {look: times(9, pauseAnswer(429, "3600")), want: hour, requests: 2},
		"in a download": {download: times(9, pauseAnswer(503, "3600")), want: hour, requests: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := msatest.New(t)
			server.Submit, server.Look, server.Download = c.submit, c.look, c.download
			all, shared := processes(server, 2)
			shared.second = time.Second // so that a slow machine does not see the end of a pause
			for _, s := range []*msa.Server{all[0], all[0], all[1], all[1]} {
				_, _, err := search(t, s, msa.PairNone, seqA)
				wantError(t, err, c.want, false)
				wantRetryAfter(t, err, 50*time.Minute)
			}
			server.Lock()
			defer server.Unlock()
			if n := len(server.Requests); n != c.requests {
				t.Errorf("%d requests; want %d", n, c.requests)
			}
		})
	}
}

// A pause that is shorter than a search is waited out by the searches of all processes, which say so.
func TestPauseIsWaitedOut(t *testing.T) {
	t.Parallel()
	server := msatest.New(t)
	server.Known = true
	server.Submit = times(1, pauseAnswer(429, "90"))
	all, shared := processes(server, 3)
	var group sync.WaitGroup
	for i, s := range all {
		group.Go(func() {
			var said []string
			report := func(line string) { said = append(said, line) }
			_, err := s.Search(t.Context(), []string{seqA}, msa.PairNone, report)
			if err != nil {
				t.Error(err)
			}
			if text := strings.Join(said, "\n"); i == 0 && !strings.Contains(text, "alone until 13:07 UTC; waiting") {
				t.Errorf("it said %q", text)
			}
		})
		<-shared.recorded
	}
	group.Wait()
	server.Lock()
	defer server.Unlock()
	if want := 1 + 2*len(all); len(server.Requests) != want {
		t.Fatalf("%d requests; want %d", len(server.Requests), want)
	}
	const pause = 90 * time.Millisecond // by the clients' seconds
	if early := server.Requests[0].Elapsed() - server.Requests[1].Elapsed(); early < pause {
		t.Errorf("a request came %s after the server asked for %s", early, pause)
	}
}

// A search for which too little time is left after a pause, though another would have it, is tried again.
func TestPauseAtTheEndOfASearch(t *testing.T) {
	t.Parallel()
	server := msatest.New(t)
	server.Look = times(1, pauseAnswer(429, "60"))
	s := client(server)
	s.Hurry(100 * time.Millisecond) // which pass between the beginning and the first look
	ctx, done := context.WithTimeout(t.Context(), time.Minute+50*time.Millisecond)
	defer done()
	_, err := s.Search(ctx, []string{seqA}, msa.PairNone, func(string) {})
	wantError(t, err, "longer than a search may wait here", true)
	wantRetryAfter(t, err, time.Second)
}

// A server that fails again and again, and asks for a pause at last, is not asked again before it is over.
func TestPauseOfAServerThatFails(t *testing.T) {
	t.Parallel()
	server := msatest.New(t)
	server.Submit = append(times(5, msatest.Answer{Code: 503}), pauseAnswer(503, "86400"))
	_, _, err := search(t, client(server), msa.PairNone, seqA)
	wantError(t, err, "the alignment server answered 503", true)
	wantRetryAfter(t, err, time.Hour)
}

// wantRetryAfter checks that an error says for how long the server is still to be left alone, at least.
func wantRetryAfter(t *testing.T, err error, least time.Duration) {
	t.Helper()
	var e *msa.Error
	if !errors.As(err, &e) || e.RetryAfter < least {
		t.Errorf("error is %#v; want a pause of %s at least", err, least)
	}
}

// A search asks the other processes about a pause when it begins and after one, and not before each poll.
func TestOtherProcessesAreAskedSeldom(t *testing.T) {
	t.Parallel()
	server := msatest.New(t)
	server.Submit = times(1, pauseAnswer(429, "1"))
	server.Look = times(6, ticketOf("RUNNING"))
	s := client(server)
	var asked []time.Duration
	s.SharePause = func(_ context.Context, _ string, pause time.Duration) time.Duration {
		asked = append(asked, pause)
		return 0
	}
	watch := clock.Start()
	if _, _, err := search(t, s, msa.PairNone, seqA); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]time.Duration{0, time.Second, 0}, asked[:min(3, len(asked))]); d != "" {
		t.Errorf("the first questions (-want +got):\n%s", d)
	}
	const interval = 10 * time.Millisecond // by the client's seconds
	if most := 4 + int(watch.Elapsed()/interval); len(asked) > most {
		t.Errorf("%d questions for %d requests in %s", len(asked), len(server.Requests), watch.Elapsed())
	}
}
