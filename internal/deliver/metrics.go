package deliver

import (
	"github.com/prometheus/client_golang/prometheus"

	"pleat"
	"pleat/internal/webhook"
)

// metrics are the figures of deliveries. Their labels are classes of outcome and never endpoints, of which any user can
// create many.
type metrics struct {
	attempts *prometheus.CounterVec   // by destination and outcome: delivered, or a webhook.Class
	took     *prometheus.HistogramVec // seconds, by destination
	inFlight prometheus.Gauge         // claimed and not stored yet
}

func newMetrics() *metrics {
	return &metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pleat_delivery_attempts_total",
			Help: "Attempts at deliveries, by destination and outcome.",
		}, []string{"destination", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "pleat_delivery_attempt_seconds",
			Help:    "Time of an attempt, by destination.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15, 30},
		}, []string{"destination"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pleat_deliveries_in_flight",
			Help: "Deliveries in flight.",
		}),
	}
}

// observe adds an attempt to the counter of its outcome and to the histogram of durations.
func (m *metrics) observe(a *webhook.Attempt) {
	outcome := string(a.Error)
	if a.OK() {
		outcome = "delivered"
	}
	m.attempts.WithLabelValues(string(pleat.DestCustom), outcome).Inc()
	m.took.WithLabelValues(string(pleat.DestCustom)).Observe(a.Timings.Total.Seconds())
}

// Collectors are the pool's figures, for the registry of the process.
func (p *Pool) Collectors() []prometheus.Collector {
	return []prometheus.Collector{p.metrics.attempts, p.metrics.took, p.metrics.inFlight}
}
