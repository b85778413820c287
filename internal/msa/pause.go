package msa

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"time"

	"pleat"
	"pleat/internal/clock"
)

// pause is until when a server is left alone because it asked for that. The zero value is no pause.
type pause struct {
	mu    sync.Mutex
	until time.Time
}

// extend makes the pause last for at least d from now, and returns what is left of it; 0: it is over.
func (p *pause) extend(d time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if end := clock.Deadline(d); d > 0 && end.After(p.until) {
		p.until = end
	}
	if p.until.IsZero() {
		return 0
	}
	return max(clock.Until(p.until), 0)
}

// host names the server for the other processes that query it: its host, and its port if there is one.
func (s *Server) host() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// leaveAlone records that the server asked to be left alone for d from now; 0: it did not. It returns for how long it
// still is to be left alone by the searches of this process and, if SharePause is set, of all others.
func (s *Server) leaveAlone(ctx context.Context, d time.Duration) time.Duration {
	if s.SharePause != nil {
		d = max(d, min(s.SharePause(ctx, s.host(), d), pleat.MaxSearchPause))
	}
	return s.extendPause(d)
}

// extendPause is leaveAlone for the searches of this process alone.
func (s *Server) extendPause(d time.Duration) time.Duration {
	scale := s.unit().Seconds()
	return time.Duration(float64(s.paused.extend(time.Duration(float64(d)*scale))) / scale)
}

// pauseLeft returns for how long the server is still to be left alone. It asks the other processes at the beginning of
// the search and after each pause. Otherwise askInterval passes between two questions: polls are more frequent.
func (v *serverSearch) pauseLeft(ctx context.Context) time.Duration {
	if v.asked.Elapsed() < askInterval*v.unit() {
		return v.extendPause(0)
	}
	left := v.leaveAlone(ctx, 0)
	if left <= 0 {
		v.asked = clock.Start()
	}
	return left
}

// unit is how long a second of a pause lasts.
func (s *Server) unit() time.Duration { return cmp.Or(s.pauseUnit, time.Second) }

// awaitTurn returns when the server may be queried: at once, unless it asked to be left alone. A search that would have
// to wait for longer than it may take fails at once. It may be tried again only if it then has the time.
func (v *serverSearch) awaitTurn(ctx context.Context) error {
	for {
		left := v.pauseLeft(ctx)
		if left <= 0 {
			return nil
		}
		line := "the alignment server asked to be left alone until " + v.timeAfter(left)
		if end, ok := ctx.Deadline(); ok && clock.Until(end) < left {
			return &Error{
				Message:    line + ", longer than a search may wait here",
				Retry:      left < v.longest,
				RetryAfter: left,
			}
		}
		if left < shortPause*time.Second { // servers that ask for a second often ask for it again and again
			line = "the alignment server asked for a short pause"
		}
		v.report(line + "; waiting")
		if err := v.sleep(ctx, left.Seconds()); err != nil {
			return err
		}
	}
}

// timeAfter returns the time after d in UTC, rounded up to a minute, and its date if that is another day.
func (v *serverSearch) timeAfter(d time.Duration) string {
	now := clock.Or(v.Clock)().UTC()
	end := now.Add(d + time.Minute - 1).Truncate(time.Minute)
	if end.YearDay() != now.YearDay() {
		return end.Format("2006-01-02 15:04 UTC")
	}
	return end.Format("15:04 UTC")
}

// sleep waits the given number of seconds plus a random part of up to half of it, and of half a minute, so that workers
// do not retry at the same moment.
func (v *serverSearch) sleep(ctx context.Context, seconds float64) error {
	seconds += rand.Float64() * min(seconds/2, maxJitter)
	t := time.NewTimer(time.Duration(seconds * float64(v.unit())))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
