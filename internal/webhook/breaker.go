package webhook

import "time"

// What moves a breaker.
const (
	Trip          = 10 // failures in a row that open it
	FirstPause    = 30 * time.Second
	MaxPause      = time.Hour
	FirstThrottle = time.Second // after 429, 502 or 504 without Retry-After
	DisableAfter  = 5 * 24 * time.Hour
	// ProbeFor is how long a probe may be out before another is sent; a process that dies holding one must not close
	// the road for good.
	ProbeFor = 30 * time.Second
)

// BreakerState says whether an endpoint gets deliveries.
type BreakerState string

const (
	Closed   BreakerState = "closed"    // all go
	Open     BreakerState = "open"      // none before Until
	HalfOpen BreakerState = "half_open" // one is out to see; none other before Until
)

// Breaker is an endpoint's health, as a row keeps it. The zero value is healthy. It pauses deliveries and never spends
// their attempts: who is not admitted has not tried.
type Breaker struct {
	State        BreakerState  // empty counts as Closed
	Failures     int           // in a row
	Pause        time.Duration // of the present opening, from which the next doubles
	Until        time.Time     // see State
	FailingSince time.Time     // first of Failures; zero: healthy
}

// Admission is a breaker's answer to one delivery that wants to go.
type Admission struct {
	Go    bool
	Probe bool      // the one delivery that finds out; tell Record
	Until time.Time // where Go is false: not before
}

// Admit asks whether a delivery may go now. The breaker returned takes the place of b.
func (b Breaker) Admit(now time.Time) (Breaker, Admission) {
	if b.State == Closed || b.State == "" {
		return b, Admission{Go: true}
	}
	if now.Before(b.Until) {
		return b, Admission{Until: b.Until}
	}
	b.State, b.Until = HalfOpen, now.Add(ProbeFor)
	return b, Admission{Go: true, Probe: true}
}

// Outcome is what an attempt tells a breaker.
type Outcome struct {
	OK         bool
	Throttled  bool          // 429, 502 or 504: the endpoint wants less
	Refusal    bool          // 429: it works, and wants less
	RetryAfter time.Duration // 0: none
	Probe      bool          // as admitted
}

// Verdict is what an outcome changed.
type Verdict struct {
	Opened  bool // the endpoint is left alone until Breaker.Until
	Closed  bool // it works again
	Disable bool // it has failed for DisableAfter without one success: disable it and tell its owner
}

// Record takes an attempt's outcome. Results of attempts that went out before an opening neither lengthen nor repeat
// it, but a success always closes.
func (b Breaker) Record(now time.Time, o Outcome) (Breaker, Verdict) {
	if o.OK {
		return Breaker{State: Closed}, Verdict{Closed: b.State == Open || b.State == HalfOpen}
	}
	var v Verdict
	if !o.Refusal {
		if b.FailingSince.IsZero() {
			b.FailingSince = now
		}
		b.Failures++
		v.Disable = b.Failures >= Trip && now.Sub(b.FailingSince) >= DisableAfter
	}
	var pause time.Duration
	switch {
	case b.State == Open, b.State == HalfOpen && !o.Probe:
		return b, v
	case b.State == HalfOpen:
		pause = 2 * b.Pause
	case b.Failures >= Trip && !o.Refusal:
		pause = FirstPause
	}
	if o.Throttled {
		pause = max(pause, FirstThrottle, o.RetryAfter)
	}
	if b.Failures >= Trip {
		pause = max(pause, FirstPause)
	}
	if pause > 0 {
		b.State, b.Pause = Open, min(pause, MaxPause)
		b.Until, v.Opened = now.Add(b.Pause), true
	} else {
		b.State = Closed
	}
	return b, v
}

// Pace is an endpoint's rate limit: perSecond deliveries a second on average, burst at once. Next is the row's one
// timestamp (the theoretical arrival time of the generic cell rate algorithm, ITU-T I.371); zero at first. Where the
// delivery must wait, next comes back unchanged.
func Pace(next, now time.Time, perSecond float64, burst int) (time.Time, time.Duration) {
	if perSecond <= 0 {
		return next, 0
	}
	step := time.Duration(min(float64(time.Second)/perSecond, float64(24*time.Hour)))
	if next.Before(now) {
		next = now
	}
	if wait := next.Sub(now) - time.Duration(max(burst, 1)-1)*step; wait > 0 {
		return next, wait
	}
	return next.Add(step), 0
}
