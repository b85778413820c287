package fair

import (
	"cmp"
	"sync"

	"pleat"
)

// Streams bounds the event streams, or other long answers, that callers have open. Strangers, who have no valid
// credential and can come from any number of addresses, share what they may have; users are not counted there, so that
// strangers cannot take their place. The zero value has no room; Each and Strangers are set before its first use.
type Streams struct {
	Each      int // the most for one caller
	Strangers int // the most for all strangers together
	// Of says in messages what the streams are; empty: event streams.
	Of string

	mu        sync.Mutex
	open      map[string]int // by caller
	strangers int            // streams of strangers
}

// Acquire counts one more stream of a caller until Release. CodeLimited: the caller has as many as it may, or all
// strangers together have.
func (n *Streams) Acquire(who string, stranger bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.open[who] >= n.Each:
		return pleat.Errorf(pleat.CodeLimited, "Too many %s are open; at most %d are allowed", cmp.Or(n.Of, "event streams"), n.Each)
	case stranger && n.strangers >= n.Strangers:
		return pleat.Errorf(pleat.CodeLimited,
			"Too many %s without a key are open on this server; send a key, or try again later",
			cmp.Or(n.Of, "event streams"))
	}
	if n.open == nil {
		n.open = map[string]int{}
	}
	n.open[who]++
	if stranger {
		n.strangers++
	}
	return nil
}

// Release counts one stream of a caller less.
func (n *Streams) Release(who string, stranger bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.open[who]--; n.open[who] <= 0 {
		delete(n.open, who)
	}
	if stranger {
		n.strangers--
	}
}
