package webhook

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestScheduleLength(t *testing.T) {
	now, at := time.Unix(1_760_000_000, 0), time.Unix(1_760_000_000, 0)
	n := 1
	for ; ; n++ {
		next, again := Next(n, at, 0, 0.5)
		if !again {
			break
		}
		at = next
	}
	if n != 10 {
		t.Errorf("%d attempts, want 10", n)
	}
	if got, want := at.Sub(now), 75*time.Hour+35*time.Minute+5*time.Second; got != want {
		t.Errorf("the last attempt comes after %s, want %s", got, want)
	}
}

func TestNext(t *testing.T) {
	now := time.Unix(1_760_000_000, 0)
	tests := []struct {
		name       string
		attempt    int
		retryAfter time.Duration
		random     float64
		want       time.Duration
	}{
		{"first", 1, 0, 0.5, 5 * time.Second},
		{"least jitter", 1, 0, 0, 4 * time.Second},
		{"no attempt counts as the first", 0, 0, 0.5, 5 * time.Second},
		{"Retry-After under the schedule", 2, time.Second, 0.5, 5 * time.Minute},
		{"Retry-After over the schedule", 1, time.Hour, 0.5, time.Hour},
		{"Retry-After past a day", 1, 90 * time.Hour, 0.5, 24 * time.Hour},
		{"a negative Retry-After", 1, -time.Hour, 0.5, 5 * time.Second},
	}
	for _, tt := range tests {
		if got, again := Next(tt.attempt, now, tt.retryAfter, tt.random); !again || got.Sub(now) != tt.want {
			t.Errorf("%s: %s, %t; want %s", tt.name, got.Sub(now), again, tt.want)
		}
	}
}

func TestNextStaysInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_760_000_000, 0)
		n := rapid.IntRange(1, len(schedule)).Draw(t, "attempt")
		after := time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(t, "retry after"))
		random := rapid.Float64Range(0, 0.999999).Draw(t, "random")
		at, again := Next(n, now, after, random)
		base, wait := schedule[n-1], at.Sub(now)
		low, high := base*8/10, max(base*12/10, min(after, maxRetryAfter))
		if !again || wait < max(low, min(after, maxRetryAfter))-1 || wait > high+1 {
			t.Fatalf("attempt %d: wait %s outside [%s, %s]", n, wait, low, high)
		}
	})
}
