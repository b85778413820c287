package server

import (
	"testing"
	"time"
)

// SetTimes shortens or lengthens what streams wait for, for one test.
func SetTimes(t testing.TB, beat, look time.Duration) {
	h, p := heartbeat, poll
	heartbeat, poll = beat, look
	t.Cleanup(func() { heartbeat, poll = h, p })
}
