// Package service has the routes that tell others about this server: health, metrics, documentation, and the door of
// the Model Context Protocol.
//
// It must not know what the service does for its users.
package service

import (
	"net/http"

	"pleat/internal/fair"
	"pleat/internal/server/progress"
	"pleat/internal/store/db"
	"pleat/internal/store/workers"
	"pleat/internal/telemetry"
)

// Handlers are the handlers of the routes about the server. All fields but Agents and MetricsToken are required.
type Handlers struct {
	DB      *db.DB
	Workers *workers.Store
	Demand  *progress.Demand
	Health  *telemetry.Health
	Metrics http.Handler
	// MetricsToken is the bearer token that /metrics demands; empty: see OpenMetrics.
	MetricsToken string
	// OpenMetrics lets everyone read /metrics if there is no MetricsToken: only programs of this machine reach the
	// server. Otherwise /metrics refuses every request.
	OpenMetrics bool
	Docs        Documentation
	// Issuer is the name of the issuer by which people sign in; empty: they use API keys alone.
	Issuer string
	// Agents answers POST /mcp; nil: there is no such address.
	Agents http.Handler
	// AgentCalls bounds the calls of POST /mcp that a caller may have under way.
	AgentCalls fair.Streams
}
