package runs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/webhooks"
)

// SettleTimes brings back times that the clock shows no longer, after it was ahead and was set back: what has happened
// has happened now, and what was to happen after a delay happens after that delay from now. Otherwise a delivery that
// failed while the clock was years ahead would wait for years. A process calls it when it starts and after a jump of
// the clock.
//
//   - Attempts whose tasks wait have ended now, and keep their durations. So their delays begin now.
//   - Leases, and claims of searches, last no longer than if they had been renewed now.
//   - Endpoints that are paused for longer than any pause are looked at: their breakers know for how long they pause.
//   - Sessions, logins, invitations and links last as long as if they had begun now. Workers were seen, and idempotency
//     keys used, now.
//
// It writes only where it has found such a time.
func (s *Store) SettleTimes(ctx context.Context) error {
	found, err := s.db.FindAhead(ctx, timesAhead(s.db.Micros()))
	if err != nil {
		return db.Unavailable("settle times", err)
	}
	if len(found) == 0 {
		return nil
	}
	return s.db.Write(ctx, "settle times", func(t *db.Tx) error {
		list := timesAhead(t.Now)
		for _, i := range found {
			t.BringBack(list[i])
		}
		return t.Wait()
	})
}

// timesAhead selects what SettleTimes brings back, in the order in which it must be.
func timesAhead(now int64) []db.Ahead {
	late := now + db.ClockError.Microseconds()
	const lastEnded = "(SELECT a.ended_at FROM attempt a WHERE a.task_id = task.id AND a.number = task.attempt)"
	lease := func(table, where string, d time.Duration) db.Ahead {
		return db.Ahead{
			Table:  table,
			Where:  where + "lease_until > $1",
			Latest: now + d.Microseconds(),
			Set:    fmt.Sprintf("lease_until = CAST($2 AS bigint) + %d", d.Microseconds()),
		}
	}
	list := []db.Ahead{
		{
			Table:  "task",
			Where:  "state = 'waiting' AND " + lastEnded + " > $1",
			Latest: late,
			Set:    "run_at = $2 + run_at - " + lastEnded,
		},
		{
			Table:  "attempt",
			Where:  "ended_at > $1 AND (task_id, number) IN (SELECT id, attempt FROM task WHERE state = 'waiting')",
			Latest: late,
			Set:    "started_at = $2 + started_at - ended_at, ended_at = $2",
		},
		db.PendingAhead("mail", late),
		lease("task", "state = 'running' AND ", max(pleat.RemoteLeaseDuration, 2*pleat.RemoteHeartbeatInterval)),
		lease("msa_search", "", pleat.SearchLease),
		{Table: "worker", Where: "seen_at > $1", Latest: late, Set: "seen_at = $2"},
		{Table: "idempotency", Where: "created_at > $1", Latest: late, Set: "created_at = $2"},
	}
	return slices.Concat(list, people.TimesAhead(late), webhooks.TimesAhead(late))
}
