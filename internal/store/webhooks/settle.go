package webhooks

import (
	"pleat"
	"pleat/internal/store/db"
)

// TimesAhead selects deliveries and endpoints with times after late, which is about now; see runs.Store.SettleTimes. A
// pause of an endpoint is brought back only if it is longer than any pause can be. It is then taken for over, so that
// the next claim asks DeliveryLimits.Decide about it.
func TimesAhead(late int64) []db.Ahead {
	return []db.Ahead{
		db.PendingAhead("delivery", late),
		{
			Table:  "endpoint",
			Where:  "resume_at > $1",
			Latest: late + pleat.MaxDeliveryPause.Microseconds(),
			Set:    "resume_at = $2",
		},
	}
}
