package queue

import (
	"context"
	"log/slog"
	"time"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/store/db"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

// clockJump is the difference between the wall clock and the monotonic clock that counts as a jump.
const clockJump = 3 * time.Second

// Poller looks for what no wake-up told of: it wakes the claim loops of this process whose queues hold tasks, and runs
// the store's reaper. One query does so for all of them: once a second while there is work, and less often where other
// processes can tell of new work. Each process that claims needs one Poller.
//
// After a jump of the clock, leases only seem to have expired: the Poller then calls renew, to renew the leases of this
// process, and ends no lease while other processes renew theirs.
type Poller struct {
	db    *db.DB
	runs  *runs.Store
	clock func() time.Time
	log   *slog.Logger
	renew func()

	watch  clock.Stopwatch // is not set with the wall clock
	wall   time.Time       // when the clocks were read last
	steady time.Duration   // what watch showed then
	resume time.Duration   // when leases may expire again after a jump of the clock, by watch
	// unsettled says that times of the database may be ahead of the clock, see runs.Store.SettleTimes.
	unsettled bool
	fault     Fault
}

// NewPoller returns a Poller that notices jumps of the clock from now on.
func NewPoller(d *db.DB, r *runs.Store, now func() time.Time, log *slog.Logger, renew func()) *Poller {
	return &Poller{
		db:    d,
		runs:  r,
		clock: now,
		log:   log,
		renew: renew,
		wall:  now().Round(0),
		watch: clock.Start(),
		fault: Fault{What: "cannot look for tasks and expired leases"},

		unsettled: true,
	}
}

// Run polls until ctx ends.
func (p *Poller) Run(ctx context.Context) {
	news, unsubscribe := p.db.Subscribe(tasks.AnyQueueTopic)
	defer unsubscribe()
	p.settle(ctx)
	for next := PollInterval; p.wait(ctx, next, news); {
		next = p.poll(ctx)
	}
}

// wait waits for next, or for news, but then until PollInterval after the last poll. It returns false if ctx ended.
func (p *Poller) wait(ctx context.Context, next time.Duration, news <-chan struct{}) bool {
	if !Sleep(ctx, min(next, PollInterval)) {
		return false
	}
	rest := time.NewTimer(next - PollInterval)
	defer rest.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-news:
	case <-rest.C:
	}
	return true
}

// poll polls once and returns when to poll again.
func (p *Poller) poll(ctx context.Context) time.Duration {
	expired := p.watchClock(ctx)
	p.settle(ctx)
	found, err := p.runs.Poll(ctx)
	if err == nil && found.Reap {
		var r runs.Reaped
		if r, err = p.runs.Reap(ctx, expired); r.Requeued+r.Failed+r.Stopped > 0 {
			p.log.Info("leases expired", "requeued", r.Requeued, "failed", r.Failed, "stopped", r.Stopped)
		}
	}
	if ctx.Err() != nil {
		return 0
	}
	if err != nil {
		p.fault.Warn(p.log, err)
		return PollInterval
	}
	p.fault.Over(p.log)
	return max(found.Next, PollInterval)
}

// settle brings back times that are ahead of the clock, at the start and after a jump. The poll meets its error too.
func (p *Poller) settle(ctx context.Context) {
	if p.unsettled {
		p.unsettled = p.runs.SettleTimes(ctx) != nil
	}
}

// watchClock notices a jump of the wall clock, which can be set; a stopwatch cannot. It
// returns the time before which a lease must have ended to count as expired: that of its reading, so that a jump after
// it ends no lease, or the zero time while leases are renewed after a jump.
func (p *Poller) watchClock(ctx context.Context) time.Time {
	now := p.db.Now() // before the wall clock, which then shows a jump between the two
	wall, steady := p.clock().Round(0), p.watch.Elapsed()
	jump := wall.Sub(p.wall) - (steady - p.steady)
	p.wall, p.steady = wall, steady
	if jump.Abs() > clockJump {
		p.log.Warn("the clock jumped; no lease expires before its worker had time to renew it", "jump_ms", jump)
		if err := p.db.SyncClock(ctx); err != nil {
			p.log.Warn("cannot read the database's clock", "error", err)
		}
		p.unsettled = true
		p.renew()
		p.resume = steady + 2*pleat.RemoteHeartbeatInterval
	}
	if steady < p.resume {
		return time.Time{}
	}
	return now
}
