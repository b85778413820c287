package clock_test

import (
	"net/http"
	"testing"
	"time"

	"pleat/internal/clock"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Date(2026, 12, 1, 13, 5, 0, 0, time.UTC) }
	const longest = 24 * time.Hour
	for value, want := range map[string]time.Duration{
		"":                                0,
		"0":                               0,
		"120":                             2 * time.Minute,
		" 3600 ":                          time.Hour,
		"0.2":                             time.Second,
		"1.5":                             2 * time.Second,
		"-5":                              0,
		"1e9":                             0,
		"1.2.3":                           0,
		"...":                             0,
		"NaN":                             0,
		"Inf":                             0,
		"soon":                            0,
		"86400":                           longest,
		"86399.5":                         longest,
		"1000000":                         longest,
		"99999999999999999999999999999":   longest,
		"Tue, 01 Dec 2026 14:05:00 GMT":   time.Hour,
		"Tuesday, 01-Dec-26 14:05:00 GMT": time.Hour,
		"Tue Dec  1 14:05:00 2026":        time.Hour,
		"Tue, 01 Dec 2026 12:05:00 GMT":   0,
		"Fri, 01 Jan 2100 00:00:00 GMT":   longest,
		"Tue, 01 Dec 2026 14:05:00":       0,
	} {
		if got := clock.RetryAfter(http.Header{"Retry-After": {value}}, now, longest); got != want {
			t.Errorf("%q: %s; want %s", value, got, want)
		}
	}
	h := http.Header{"Retry-After": {"Tue, 01 Dec 2026 12:05:00 GMT"}, "Date": {"Tue, 01 Dec 2026 11:05:00 GMT"}}
	if got := clock.RetryAfter(h, now, longest); got != time.Hour {
		t.Errorf("of a machine whose clock is behind: %s", got)
	}
}
