// Package clock measures how long something takes, and says when a connection must have moved.
//
// It reads the machine's clock, so that no other package has to. A time that is stored, shown, signed or compared with
// the database must not come from here: its owner gets a clock, a func() time.Time, from where the program is composed.
package clock

import "time"

// Or returns now, or the machine's clock if now is nil. It is for constructors whose clock is optional.
func Or(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}

// Stopwatch measures the time since its start. It does not notice that the machine's clock is set. The zero Stopwatch
// was never started: it has run longer than any other.
type Stopwatch struct{ start time.Time }

// Start returns a running Stopwatch.
func Start() Stopwatch { return Stopwatch{time.Now()} }

// Elapsed returns the time since the start.
func (s Stopwatch) Elapsed() time.Duration { return time.Since(s.start) }

// Seconds returns the time since the start in seconds.
func (s Stopwatch) Seconds() float64 { return s.Elapsed().Seconds() }

// StartedAt returns when the stopwatch was started by the machine's clock, for traces.
func (s Stopwatch) StartedAt() time.Time { return s.start }

// Compare returns -1 if s started before t, 1 if it started after t, and 0 if they started together.
func (s Stopwatch) Compare(t Stopwatch) int { return s.start.Compare(t.start) }

// Deadline returns the time after d, for the deadlines of connections and pipes.
func Deadline(d time.Duration) time.Time { return time.Now().Add(d) }

// Until returns the time that is left until the deadline of a context or a connection; negative: it has passed.
func Until(deadline time.Time) time.Duration { return time.Until(deadline) }
