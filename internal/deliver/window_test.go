package deliver

import (
	"testing"
	"time"
)

// A window grows while it is full and answers are quick, shrinks at once when they are not, and is forgotten when it is
// not used.
func TestWindow(t *testing.T) {
	t.Parallel()
	const id = "endpoint"
	now := time.Unix(1_800_000_000, 0)
	fast, slow := time.Millisecond, 3*time.Second
	w := newWindows(64, 50*time.Millisecond)
	is := func(why string, want int) {
		t.Helper()
		if got := w.size(id, now); got != want {
			t.Errorf("%s: the window is %d, not %d", why, got, want)
		}
	}
	grow := func(n int) {
		for range n {
			w.full(now, id)
			w.observe(id, fast, true)
		}
	}
	is("at first", firstWindow)
	for range 100 {
		w.observe(id, fast, true)
	}
	is("never full", firstWindow)
	grow(1)
	is("after one round", firstWindow+1)
	w.observe(id, fast, true)
	is("after a second answer of the same round", firstWindow+1)
	grow(100)
	is("after many rounds", 64)
	w.observe(id, fast, false)
	is("after a failure", 32)
	w.observe(id, fast, false)
	is("after two", 16)
	grow(100)
	now = now.Add(windowKept)
	is("a while after it was full", 64)
	now = now.Add(1)
	is("later", firstWindow)
	grow(100)
	w.observe(id, slow, true)
	is("after a slow answer", slowWindow)
	now = now.Add(time.Minute)
	is("slow and not full", slowWindow)
	for range 100 {
		w.observe(id, fast, true)
	}
	is("quick again", firstWindow)
	for range 10 {
		w.observe(id, slow, false)
	}
	is("hanging", firstWindow)
}

// The configured bound of an endpoint holds for each window.
func TestWindowIsBounded(t *testing.T) {
	t.Parallel()
	w := newWindows(3, 50*time.Millisecond)
	for _, took := range []time.Duration{time.Millisecond, time.Minute} {
		for range 10 {
			if n := w.size("endpoint", time.Unix(1, 0)); n != 3 {
				t.Errorf("the window is %d", n)
			}
			w.full(time.Unix(1, 0), "endpoint")
			w.observe("endpoint", took, true)
		}
	}
}
