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
	// slowWindow is the window of an endpoint that takes Config.Quick or longer on average.
	slowWindow = 16
	// windowKept is how long a window stays larger than firstWindow after it was last full.
	windowKept = time.Second
	maxWindows = 1000 // endpoints whose windows are kept
)

// windows are the windows of endpoints: how many deliveries may be in flight to each. A window follows the endpoint's
// answers as the congestion window of TCP does: it grows by one in a round in which it was full and answers were quick,
// a failure halves it, and it is forgotten when it is not used.
//
// Each process has its own. It is an estimate that a second of traffic restores, so storing it would cost a write for
// each step and save nothing. All nodes compare theirs with the deliveries in flight on all nodes, so together they
// have at most the largest of their windows in flight.
type windows struct {
	most  int           // the largest window
	quick time.Duration // an endpoint that takes less is fast

	mu         sync.Mutex
	byEndpoint map[pleat.EndpointID]*window
}

// window is the window of one endpoint.
type window struct {
	size   int
	took   time.Duration // moving average of the time of an attempt
	full   bool          // deliveries have waited for the window since it last grew
	fullAt time.Time     // when they last did
}

func newWindows(most int, quick time.Duration) *windows {
	return &windows{most: most, quick: quick, byEndpoint: map[pleat.EndpointID]*window{}}
}

// size returns the window of an endpoint.
func (w *windows) size(id pleat.EndpointID, now time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sizeOf(w.byEndpoint[id], now)
}

// sizes returns the windows of all endpoints: the usual one, and up to most others.
func (w *windows) sizes(now time.Time, most int) (usual int, others map[pleat.EndpointID]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	usual, others = w.sizeOf(nil, now), map[pleat.EndpointID]int{}
	for id, e := range w.byEndpoint {
		if n := w.sizeOf(e, now); n != usual && len(others) < most {
			others[id] = n
		}
	}
	return usual, others
}

// sizeOf returns the size of a window, after it has forgotten one that was not used; nil: it is not known yet.
func (w *windows) sizeOf(e *window, now time.Time) int {
	if e == nil {
		return min(firstWindow, w.most)
	}
	if now.Sub(e.fullAt) > windowKept && e.took < w.quick {
		e.size = min(firstWindow, w.most)
	}
	return e.size
}

// full notes that deliveries wait for the windows of endpoints.
func (w *windows) full(now time.Time, ids ...pleat.EndpointID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		if e := w.byEndpoint[id]; e != nil {
			e.full, e.fullAt = true, now
		}
	}
}

// observe adjusts the window of an endpoint to the outcome of an attempt.
func (w *windows) observe(id pleat.EndpointID, took time.Duration, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.byEndpoint[id]
	if e == nil {
		if len(w.byEndpoint) >= maxWindows {
			clear(w.byEndpoint)
		}
		e = &window{size: firstWindow, took: took}
		w.byEndpoint[id] = e
	}
	e.took += (took - e.took) / 4
	switch {
	case !ok:
		e.size = max(e.size/2, firstWindow)
	case e.took >= w.quick:
		e.size = slowWindow
	case e.full:
		e.size++
	}
	e.size, e.full = min(e.size, w.most), false
}
