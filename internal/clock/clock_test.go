package clock_test

import (
	"math"
	"testing"
	"time"

	"pleat/internal/clock"
)

// TestStopwatch compares stopwatches with each other and with one that was never started.
func TestStopwatch(t *testing.T) {
	var never clock.Stopwatch
	first := clock.Start()
	time.Sleep(time.Millisecond)
	second := clock.Start()
	if took := first.Elapsed(); took < time.Millisecond || took > time.Hour {
		t.Errorf("a millisecond took %s", took)
	}
	if s := first.Seconds(); s < 0.001 || s > 3600 {
		t.Errorf("a millisecond took %v seconds", s)
	}
	if first.Compare(second) != -1 || second.Compare(first) != 1 || first.Compare(first) != 0 {
		t.Error("the order of two starts is wrong")
	}
	if never.Elapsed() != math.MaxInt64 || never.Compare(first) != -1 {
		t.Errorf("a stopwatch that was never started has run for %s", never.Elapsed())
	}
}

// TestDeadline checks that Until is the inverse of Deadline.
func TestDeadline(t *testing.T) {
	if left := clock.Until(clock.Deadline(time.Hour)); left <= 59*time.Minute || left > time.Hour {
		t.Errorf("%s is left of an hour", left)
	}
	if clock.Until(clock.Deadline(-time.Hour)) > 0 {
		t.Error("time is left of a deadline that has passed")
	}
}

// TestOr checks which clock is used.
func TestOr(t *testing.T) {
	at := time.Unix(1, 0)
	if got := clock.Or(func() time.Time { return at })(); !got.Equal(at) {
		t.Errorf("the clock shows %s", got)
	}
	if off := clock.Until(clock.Or(nil)()); off.Abs() > time.Minute {
		t.Errorf("the machine's clock is off by %s", off)
	}
}
