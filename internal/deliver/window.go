package deliver

import (
	"sync"
	"time"

	"pleat"
)

const (
	// firstWindow is the window of an endpoint at first, and the smallest one of an endpoint that does not fail. If the
	// process dies, each delivery in flight is sent twice, so a window is no larger than it must be.
	firstWindow = 4
	// slowWindow is the window of an endpoint that takes quick or longer on average.
	slowWindow = 16
	quick      = 50 * time.Millisecond
	// windowKept is how long a window stays larger than firstWindow after it was last full.
	windowKept = time.Second
	maxWindows = 10_000 // endpoints whose windows are kept
)

// windows are the windows of endpoints: how many deliveries may be in flight to each. A window follows the endpoint's
// answers as the congestion window of TCP does: it grows by one in a round in which it was full and answers were quick,
// a failure halves it, and it is forgotten when it is not used.
//
// Each process has its own. It is an estimate that a second of traffic restores, so storing it would cost a write for
// each step and save nothing. All nodes compare theirs with the deliveries in flight on all nodes, so together they
// have at most the largest of their windows in flight.
type windows struct {
	most int // the largest window

	mu sync.Mutex
	of map[pleat.EndpointID]*window
}

// window is the window of one endpoint.
type window struct {
	size   int
	took   time.Duration // moving average of the time of an attempt
	full   bool          // deliveries have waited for the window since it last grew
	fullAt time.Time     // when they last did
}

func newWindows(most int) *windows {
	return &windows{most: most, of: map[pleat.EndpointID]*window{}}
}

// size returns the window of an endpoint for which deliveries wait, while a number is in flight.
func (w *windows) size(id pleat.EndpointID, now time.Time, inFlight int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.of[id]
	if e == nil {
		return min(firstWindow, w.most)
	}
	if now.Sub(e.fullAt) > windowKept && e.took < quick {
		e.size = min(firstWindow, w.most)
	}
	if inFlight >= e.size {
		e.full, e.fullAt = true, now
	}
	return e.size
}

// observe adjusts the window of an endpoint to the outcome of an attempt.
func (w *windows) observe(id pleat.EndpointID, took time.Duration, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.of[id]
	if e == nil {
		if len(w.of) >= maxWindows {
			clear(w.of)
		}
		e = &window{size: firstWindow, took: took}
		w.of[id] = e
	}
	e.took += (took - e.took) / 4
	switch {
	case !ok:
		e.size = max(e.size/2, firstWindow)
	case e.took >= quick:
		e.size = slowWindow
	case e.full:
		e.size++
	}
	e.size, e.full = min(e.size, w.most), false
}
