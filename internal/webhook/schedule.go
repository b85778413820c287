package webhook

import "time"

// schedule is the wait after the n-th failed attempt, by the Standard Webhooks specification; about 75 h in total.
var schedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	// jitter is the fraction of each wait that is added or subtracted at most, so that deliveries that failed together
	// are not sent together again.
	jitter = 0.2
	// maxRetryAfter bounds the wait that a receiver can ask for.
	maxRetryAfter = 24 * time.Hour
)

// Next returns when to try again after attempt number attempt (1 for the first) failed at now, and whether to try again
// at all. RetryAfter replaces the scheduled wait if it is longer, up to 24 h. Random is in [0, 1).
func Next(attempt int, now time.Time, retryAfter time.Duration, random float64) (time.Time, bool) {
	if attempt > len(schedule) {
		return time.Time{}, false
	}
	base := float64(schedule[max(attempt, 1)-1])
	wait := time.Duration(base * (1 + jitter*(2*random-1)))
	return now.Add(max(wait, min(retryAfter, maxRetryAfter))), true
}
