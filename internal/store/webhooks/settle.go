package webhooks

import "pleat/internal/store/db"

// SettleTimes brings back times of deliveries and endpoints that are after late; see runs.Store.SettleTimes. It takes
// the pauses of endpoints for over, so that the next claim asks DeliveryLimits.Decide about them.
func SettleTimes(t *db.Tx, late int64) {
	t.Send(`
		UPDATE delivery SET next_at = CASE WHEN next_at > updated_at THEN $1 + next_at - updated_at ELSE $1 END,
			updated_at = $1
		WHERE status = 'PENDING' AND updated_at > $2`,
		t.Now, late)
	t.Send("UPDATE endpoint SET resume_at = $1 WHERE resume_at > $2", t.Now, late)
}
