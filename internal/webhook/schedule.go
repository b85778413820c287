package webhook

import "time"

// schedule is how long after the n-th failed attempt the next one follows: the Standard Webhooks specification's,
// about 75 h.
var schedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	jitter        = 0.2 // of each wait, either way
	maxRetryAfter = 24 * time.Hour
)

// Tries is how many attempts a delivery has before it fails for good.
func Tries() int { return len(schedule) + 1 }

// Next is when to try again after attempt number attempt (1 for the first) failed at now, and whether to try again at
// all. RetryAfter, if longer than the schedule's wait, takes its place, up to 24 h. Random is in [0, 1).
func Next(attempt int, now time.Time, retryAfter time.Duration, random float64) (time.Time, bool) {
	if attempt > len(schedule) {
		return time.Time{}, false
	}
	base := float64(schedule[max(attempt, 1)-1])
	wait := time.Duration(base * (1 + jitter*(2*random-1)))
	return now.Add(max(wait, min(retryAfter, maxRetryAfter))), true
}
