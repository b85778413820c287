package service

import (
	"context"

	"pleat/internal/server/route"
	"pleat/internal/telemetry"
)

// health is GET /healthz, for everyone: the process is alive. It depends on nothing else, so that an orchestrator does
// not restart the process because the database is down.
func (h *Handlers) health(context.Context, *route.Call) (telemetry.Status, error) {
	return telemetry.Alive(), nil
}

// ready is GET /readyz, for everyone: the database answers and has this version's schema. 503 says what does not; a
// load balancer then sends no requests here. An artifact store that fails, and a service without a live worker, are
// reported with 200, since jobs are accepted and wait.
func (h *Handlers) ready(ctx context.Context, _ *route.Call) (telemetry.Status, error) {
	return h.Health.Ready(ctx)
}

// metrics is GET /metrics, in the Prometheus text format, for callers with the token of the configuration as a bearer
// token; for everyone if the configuration says so and has no token. 401: the token is missing or wrong; 429: too many
// wrong ones came from the address.
func (h *Handlers) metrics(_ context.Context, c *route.Call) error {
	if h.MetricsToken != "" || !h.OpenMetrics {
		if err := c.CheckSecret(c.Bearer(), h.MetricsToken); err != nil {
			return err
		}
	}
	h.Metrics.ServeHTTP(c.W, c.R)
	return nil
}
