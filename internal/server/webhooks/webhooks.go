// Package webhooks has the routes of endpoints, subscriptions and deliveries.
//
// It must not send anything: package deliver does.
package webhooks

import (
	"pleat/internal/seal"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/webhooks"
	"pleat/internal/webhook"
)

// Handlers are the handlers of the routes of webhooks. All fields are required, but IngestSecret.
type Handlers struct {
	DB       *db.DB
	People   *people.Store
	Webhooks *webhooks.Store
	Guard    *webhook.Guard // decides which addresses endpoints may have
	Ring     *seal.Ring     // seals tokens and secrets
	// IngestSecret is the secret that POST /v1/webhooks/events/ingest demands; empty: it refuses every request.
	IngestSecret string
}
