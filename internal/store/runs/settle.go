package runs

import (
	"context"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/mails"
	"pleat/internal/store/people"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
)

// SettleTimes brings back times that the clock shows no longer, after it was ahead and was set back: what has happened
// has happened now, and what was to happen after a delay happens after that delay from now. Otherwise a delivery that
// failed while the clock was years ahead would wait for years. A process calls it when it starts and after a jump of
// the clock.
//
//   - Attempts whose tasks wait have ended now, and keep their durations. So their delays begin now.
//   - Leases, and claims of searches, last no longer than if they had been renewed now.
//   - Paused endpoints are looked at: their breakers know for how long they pause.
//   - Sessions last as long as if they had begun now. Workers were seen, and idempotency keys used, now.
func (s *Store) SettleTimes(ctx context.Context) error {
	return s.db.Write(ctx, "settle times", func(t *db.Tx) error {
		late := t.Now + db.ClockError.Microseconds()
		t.Send(`
			UPDATE task
			SET run_at = $1 + run_at - (
				SELECT a.ended_at FROM attempt a WHERE a.task_id = task.id AND a.number = task.attempt)
			WHERE state = 'waiting' AND EXISTS (
				SELECT 1 FROM attempt a
				WHERE a.task_id = task.id AND a.number = task.attempt AND a.ended_at > $2)`,
			t.Now, late)
		t.Send(`
			UPDATE attempt SET started_at = $1 + started_at - ended_at, ended_at = $1
			WHERE ended_at > $2
				AND (task_id, number) IN (SELECT k.id, k.attempt FROM task k WHERE k.state = 'waiting')`,
			t.Now, late)
		people.SettleTimes(t, late)
		webhooks.SettleTimes(t, late)
		mails.SettleTimes(t, late)
		lease := max(pleat.RemoteLeaseDuration, 2*pleat.RemoteHeartbeatInterval)
		t.Send("UPDATE task SET lease_until = $1 WHERE state = 'running' AND lease_until > $1",
			tasks.LeaseEnd(t, lease))
		t.Send("UPDATE msa_search SET lease_until = $1 WHERE lease_until > $1", tasks.LeaseEnd(t, pleat.SearchLease))
		t.Send("UPDATE worker SET seen_at = $1 WHERE seen_at > $2", t.Now, late)
		t.Send("UPDATE idempotency SET created_at = $1 WHERE created_at > $2", t.Now, late)
		return t.Wait()
	})
}
