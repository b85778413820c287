package queue

import (
	"context"
	"log/slog"
	"time"

	"pleat"
	"pleat/internal/store"
)

// clockJump is the difference between the wall clock and the monotonic clock that counts as a jump.
const clockJump = 3 * time.Second

// Reap runs the store's reaper once a second until ctx ends. After a jump of the clock, leases only seem to have
// expired: it then calls renew, to renew the leases of this process, and pauses while other processes renew theirs.
func Reap(ctx context.Context, s *store.Store, clock func() time.Time, log *slog.Logger, renew func()) {
	tick := time.NewTicker(PollInterval)
	defer tick.Stop()
	wall, steady, resume := clock().Round(0), time.Now(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// The wall clock can be set; the difference of two readings of time.Now cannot.
		jump := clock().Round(0).Sub(wall) - time.Since(steady)
		wall, steady = clock().Round(0), time.Now()
		if jump.Abs() > clockJump {
			log.Warn("the clock jumped; no lease expires before its worker had time to renew it", "by", jump)
			if err := s.SyncClock(ctx); err != nil {
				log.Warn("cannot read the database's clock", "error", err)
			}
			renew()
			resume = steady.Add(2 * pleat.HeartbeatInterval)
		}
		if steady.Before(resume) {
			continue
		}
		r, err := s.Reap(ctx)
		if err != nil && ctx.Err() == nil {
			log.Warn("cannot reap expired leases", "error", err)
		}
		if r.Requeued+r.Failed+r.Stopped > 0 {
			log.Info("leases expired", "requeued", r.Requeued, "failed", r.Failed, "stopped", r.Stopped)
		}
	}
}
