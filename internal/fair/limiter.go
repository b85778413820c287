// Package fair shares what one node has between its callers: requests per second, places, bytes and streams. No caller,
// and no crowd of strangers, takes what another needs. It holds only what can be lost at any time, and knows neither
// HTTP nor what the callers ask for.
package fair

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limiter bounds what each caller may do per second with a token bucket. A nil Limiter allows everything.
//
// A bucket that nobody used for as long as it takes to fill is like a new one. The Limiter keeps two generations, each
// of which begins that long after the one before, and drops the older one: it never forgets that a bucket is not full.
// Callers for whom there is no room share one bucket, so that invented ones cannot make it grow or forget.
type Limiter struct {
	mu       sync.Mutex
	rate     rate.Limit
	burst    int
	most     int           // callers that are remembered; 0: all
	fill     time.Duration // in which an empty bucket fills
	began    time.Time     // when the newer generation began
	now, old map[string]*rate.Limiter
	others   *rate.Limiter // of the callers for whom there is no room
}

// NewLimiter returns a Limiter of perSecond actions per caller, burst of which may come at once. It remembers most
// callers; 0: all, for callers that cannot be invented.
func NewLimiter(perSecond float64, burst, most int) *Limiter {
	l := &Limiter{
		rate:  rate.Limit(perSecond),
		burst: burst,
		most:  most,
		fill:  time.Duration(float64(burst) / perSecond * float64(time.Second)),
		now:   map[string]*rate.Limiter{},
	}
	l.others = rate.NewLimiter(l.rate, burst)
	return l
}

// bucket returns the bucket of a caller.
func (l *Limiter) bucket(who string, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.began) >= l.fill {
		l.now, l.old, l.began = map[string]*rate.Limiter{}, l.now, now
	}
	if b := l.now[who]; b != nil {
		return b
	}
	b := l.old[who]
	switch {
	case b != nil:
		delete(l.old, who)
	case l.most > 0 && len(l.now)+len(l.old) >= l.most:
		return l.others
	default:
		b = rate.NewLimiter(l.rate, l.burst)
	}
	l.now[who] = b
	return b
}

// Take takes a token of a caller. It returns how long the caller must wait if there is none, and takes nothing then.
func (l *Limiter) Take(who string, now time.Time) time.Duration {
	if l == nil {
		return 0
	}
	res := l.bucket(who, now).ReserveN(now, 1)
	wait := res.DelayFrom(now)
	if wait > 0 {
		res.CancelAt(now)
	}
	return wait
}

// Spent reports whether a caller has no token. It takes none.
func (l *Limiter) Spent(who string, now time.Time) bool { return l.bucket(who, now).TokensAt(now) < 1 }

// PerSecond returns how many actions each caller has in a second.
func (l *Limiter) PerSecond() float64 { return float64(l.rate) }
