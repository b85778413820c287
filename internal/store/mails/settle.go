package mails

import "pleat/internal/store/db"

// SettleTimes brings back times of mails that are after late; see runs.Store.SettleTimes.
func SettleTimes(t *db.Tx, late int64) {
	t.Send(`
		UPDATE mail SET next_at = CASE WHEN next_at > updated_at THEN $1 + next_at - updated_at ELSE $1 END,
			updated_at = $1
		WHERE status = 'PENDING' AND updated_at > $2`,
		t.Now, late)
}
