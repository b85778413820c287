package workerapi_test

import (
	"math"
	"testing"
	"time"

	"pleat/internal/workerapi"
)

// No number of seconds becomes a duration of the other sign.
func TestSecondsAreBounded(t *testing.T) {
	t.Parallel()
	const most = time.Duration(math.MaxInt64)
	for s, want := range map[workerapi.Seconds]time.Duration{
		0: 0, 1.5: 1500 * time.Millisecond, -2: -2 * time.Second, 1e300: most, -1e300: -most, 9.3e9: most,
	} {
		if got := s.Duration(); got != want {
			t.Errorf("%v s: %v, want %v", float64(s), got, want)
		}
	}
}
