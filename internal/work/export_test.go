package work

import (
	"testing"
	"time"
)

// SetGrace shortens how long a stopping courier waits, for one test.
func SetGrace(t testing.TB, d time.Duration) {
	was := grace
	grace = d
	t.Cleanup(func() { grace = was })
}
