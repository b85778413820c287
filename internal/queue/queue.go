// Package queue holds what every worker does with the store's task queue: it claims while there is room, renews the
// leases of the tasks that this process holds, takes over tasks whose lease has expired, and retries while the
// database is away.
//
// It must not know what a task does.
package queue

import (
	"context"
	"log/slog"
	"time"
)

// PollInterval is the least time between two looks at the database for what no wake-up told of.
const PollInterval = time.Second

const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// News tells a process of new tasks. The store does so, and a client of a server.
type News interface {
	// SubscribeTo makes the channel, which needs a buffer of one, get a token after news on the topic. Unsubscribe ends
	// that.
	SubscribeTo(topic string, ch chan struct{})
	Unsubscribe(topic string, ch chan struct{})
}

// ClaimLoop claims tasks until its context ends.
type ClaimLoop struct {
	News   News
	Topics []string // whose news may mean a task to claim
	// Wake gets a token for news on a topic, and from the owner when a slot is free. It needs a buffer.
	Wake  chan struct{}
	Freed <-chan struct{} // a further signal that a slot is free; nil: none
	Log   *slog.Logger
	// Claim claims what there is room for. It is called at once and after each wake-up; Poll makes up for those that
	// were lost. After an error it is called again after a pause, which no wake-up ends and which doubles from 100 ms
	// to 5 s.
	Claim func(ctx context.Context) error
}

// Run claims until ctx ends.
func (l ClaimLoop) Run(ctx context.Context) {
	for _, topic := range l.Topics {
		l.News.SubscribeTo(topic, l.Wake)
		defer l.News.Unsubscribe(topic, l.Wake)
	}
	fault := Fault{What: "cannot claim tasks"}
	for wait := time.Duration(0); ctx.Err() == nil; {
		err := l.Claim(ctx)
		switch {
		case err == nil:
			fault.Over(l.Log)
			wait = 0
		case ctx.Err() == nil:
			wait = Backoff(wait)
			fault.Warn(l.Log, err, "topics", l.Topics)
			if !Sleep(ctx, wait) {
				return
			}
			continue
		}
		select {
		case <-ctx.Done():
		case <-l.Wake:
		case <-l.Freed:
		}
	}
}

// Backoff returns the pause after one of last, which failed again; zero: there was none. It doubles from 100 ms to 5 s.
func Backoff(last time.Duration) time.Duration { return min(max(2*last, minBackoff), maxBackoff) }

// Wake puts a token into a channel with a buffer, unless it has one.
func Wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Fault is something that fails again and again: the log has one line when it begins and one when it is over.
type Fault struct {
	What  string // «cannot claim tasks»
	lasts bool
}

// Warn logs the first error of a fault, with further attributes.
func (f *Fault) Warn(log *slog.Logger, err error, args ...any) {
	if !f.lasts {
		f.lasts = true
		log.Warn(f.What+"; trying again", append(args, "error", err)...)
	}
}

// Over logs the end of a fault, if there was one.
func (f *Fault) Over(log *slog.Logger) {
	if f.lasts {
		f.lasts = false
		log.Info("a fault is over", "fault", f.What)
	}
}

// Retry calls fn until it succeeds, with a pause that doubles from 100 ms to 5 s. It logs what as a Fault, and returns
// false if ctx ended first.
func Retry(ctx context.Context, log *slog.Logger, what string, fn func() error) bool {
	fault := Fault{What: what}
	for wait := Backoff(0); ; wait = Backoff(wait) {
		err := fn()
		if err == nil {
			fault.Over(log)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		fault.Warn(log, err)
		if !Sleep(ctx, wait) {
			return false
		}
	}
}

// Sleep waits for d. It returns false if ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
