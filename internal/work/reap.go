package work

import (
	"context"
	"log/slog"
	"time"

	"pleat"
	"pleat/internal/store"
)

// reap runs the store's reaper once a second. After a jump of the clock it first has touch renew this process's leases and lets others renew theirs, since
// they only seem to have run out.
func reap(ctx context.Context, s *store.Store, clock func() time.Time, log *slog.Logger, touch func()) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	wall, steady, resume := clock().Round(0), time.Now(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// The clock tells the time of day and can be set; time.Now's own difference only ever counts up.
		jump := clock().Round(0).Sub(wall) - time.Since(steady)
		wall, steady = clock().Round(0), time.Now()
		if jump.Abs() > 3*time.Second {
			log.Warn("the clock jumped; leases are left alone until they are renewed", "by", jump)
			if err := s.SyncClock(ctx); err != nil {
				log.Warn("this process cannot read the database's clock", "error", err)
			}
			touch()
			resume = steady.Add(2 * pleat.HeartbeatInterval)
		}
		if steady.Before(resume) {
			continue
		}
		r, err := s.Reap(ctx)
		if err != nil && ctx.Err() == nil {
			log.Warn("this process cannot reap", "error", err)
		}
		if r.Requeued+r.Failed+r.Stopped > 0 {
			log.Info("tasks taken from lost workers", "requeued", r.Requeued, "failed", r.Failed, "stopped", r.Stopped)
		}
	}
}
