package queue_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"pleat"
	"pleat/internal/queue"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
)

// startReaper runs the reaper and returns how often it had leases renewed.
func (f *fixture) startReaper() *atomic.Int64 {
	renewals := &atomic.Int64{}
	f.start(func(ctx context.Context) {
		queue.Reap(ctx, f.store, f.clock.Now, slog.New(slog.DiscardHandler), func() { renewals.Add(1) })
	})
	return renewals
}

func TestReapRequeues(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.create()
		f.hold()
		renewals := f.startReaper()
		time.Sleep(pleat.LeaseDuration - time.Second)
		if n := f.counts(); n[pleat.TaskRunning] != 1 {
			t.Errorf("before the lease expires: %v", n)
		}
		time.Sleep(3 * time.Second)
		if n := f.counts(); n[pleat.TaskQueued] != 1 || renewals.Load() != 0 {
			t.Errorf("after the lease has expired: %v, %d renewals", n, renewals.Load())
		}
	})
}

// After a jump of the clock, no lease expires that is renewed in time by the new clock, and those that nobody renews
// do.
func TestReapAfterAClockJump(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.create()
		f.create()
		alive := storetest.Claim(t, f.store, "alive", storetest.FoldQueue).Task
		storetest.Claim(t, f.store, "dead", storetest.FoldQueue)
		renewals := f.startReaper()
		time.Sleep(2 * time.Second)
		f.clock.Advance(time.Hour)
		time.Sleep(pleat.HeartbeatInterval)
		if n := f.counts(); n[pleat.TaskRunning] != 2 || renewals.Load() != 1 {
			t.Errorf("after the jump: %v, %d renewals", n, renewals.Load())
		}
		lease := store.LeaseOf(&alive)
		beat := pleat.Heartbeat{Task: lease.Task, Attempt: lease.Attempt}
		if _, err := f.store.Heartbeat(f.Context(), lease.Worker, []pleat.Heartbeat{beat}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(pleat.HeartbeatInterval + 2*time.Second)
		if n := f.counts(); n[pleat.TaskRunning] != 1 || n[pleat.TaskQueued] != 1 || renewals.Load() != 1 {
			t.Errorf("after the pause: %v, %d renewals", n, renewals.Load())
		}
	})
}
