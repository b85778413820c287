package webhook

import (
	"time"

	"pleat"
)

// Thresholds and pauses of the circuit breaker.
const (
	Trip          = 10 // consecutive failures that open the breaker
	FirstPause    = 30 * time.Second
	MaxPause      = pleat.MaxDeliveryPause
	FirstThrottle = time.Second // after 429, 502 or 504 without Retry-After
	DisableAfter  = 5 * 24 * time.Hour
	// ProbeFor is the time after which another probe may be sent if a probe has no outcome: a process may have died
	// while it sent one.
	ProbeFor = 30 * time.Second
)

// BreakerState is the state of a circuit breaker.
type BreakerState string

const (
	Closed   BreakerState = "closed"    // deliveries are sent
	Open     BreakerState = "open"      // no deliveries before Until
	HalfOpen BreakerState = "half_open" // one probe is being sent; no other delivery before Until
)

// Breaker is the circuit breaker of an endpoint, in the form that is stored. The zero value is healthy. A delivery that
// is not allowed does not spend an attempt.
type Breaker struct {
	State        BreakerState  // empty equals Closed
	Failures     int           // consecutive
	Pause        time.Duration // length of the current pause; the next one is twice as long
	Until        time.Time     // see State
	FailingSince time.Time     // time of the first of Failures; zero: healthy
}

// Permission is the decision about one delivery.
type Permission struct {
	Go    bool      // send it
	Probe bool      // this delivery is the probe; pass it to Record
	Until time.Time // if Go is false: earliest time to ask again
}

// Allow decides whether a delivery may be sent now. The caller stores the returned breaker in place of b.
func (b Breaker) Allow(now time.Time) (Breaker, Permission) {
	if b.State == Closed || b.State == "" {
		return b, Permission{Go: true}
	}
	pause := b.Pause
	if b.State == HalfOpen {
		pause = ProbeFor
	}
	if latest := now.Add(pause); b.Until.After(latest) { // the clock was set back since the pause began
		b.Until = latest
	}
	if now.Before(b.Until) {
		return b, Permission{Until: b.Until}
	}
	b.State, b.Until = HalfOpen, now.Add(ProbeFor)
	return b, Permission{Go: true, Probe: true}
}

// Outcome is the outcome of an attempt for the breaker.
type Outcome struct {
	OK         bool
	Throttled  bool          // 429, 502 or 504: the endpoint asks for fewer requests
	Refusal    bool          // 429: the endpoint works and asks for fewer requests
	RetryAfter time.Duration // 0: none
	Probe      bool          // the attempt was allowed as a probe
}

// Transition is the change that an outcome caused.
type Transition struct {
	Opened  bool // no deliveries before Breaker.Until
	Closed  bool // the endpoint works again
	Disable bool // it has failed for DisableAfter without a success: disable it and notify its owner
}

// Record updates the breaker with the outcome of an attempt. Attempts that started before the breaker opened neither
// extend nor repeat the pause. A success always closes it.
func (b Breaker) Record(now time.Time, o Outcome) (Breaker, Transition) {
	if o.OK {
		return Breaker{State: Closed}, Transition{Closed: b.State == Open || b.State == HalfOpen}
	}
	var v Transition
	if !o.Refusal {
		if b.FailingSince.IsZero() || b.FailingSince.After(now) {
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

// Pace limits the rate of an endpoint to perSecond deliveries a second on average, with bursts of burst. Next is the
// stored timestamp (the theoretical arrival time of the generic cell rate algorithm, ITU-T I.371), zero at first. If
// the delivery must wait, Pace returns next unchanged and the time to wait.
func Pace(next, now time.Time, perSecond float64, burst int) (time.Time, time.Duration) {
	if perSecond <= 0 {
		return next, 0
	}
	step := time.Duration(min(float64(time.Second)/perSecond, float64(24*time.Hour)))
	if ahead := next.Sub(now); ahead < 0 || ahead > time.Duration(max(burst, 1))*step {
		next = now // it is past, or the clock was set back
	}
	if wait := next.Sub(now) - time.Duration(max(burst, 1)-1)*step; wait > 0 {
		return next, wait
	}
	return next.Add(step), 0
}
