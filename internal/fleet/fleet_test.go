package fleet

import (
	"context"
	"testing"
	"time"
)

// until waits until a condition holds, for two minutes at most.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("%s: not within two minutes", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// cancelWhen returns a context that ends when a condition holds.
func cancelWhen(t *testing.T, holds func() bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil && !holds() {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	return ctx, func() { cancel(); <-done }
}
