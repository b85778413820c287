package deliver

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pleat"
	"pleat/internal/store/webhooks"
	"pleat/internal/webhook"
)

// metrics are the figures of deliveries. Their labels are classes of outcome and never endpoints, of which any user can
// create many.
type metrics struct {
	attempts *prometheus.CounterVec   // by destination and outcome: delivered, or a webhook.Class
	took     *prometheus.HistogramVec // seconds, by destination
	inFlight prometheus.Gauge         // claimed and not stored yet
	first    *prometheus.HistogramVec // seconds from the event to the first attempt, by destination and receiver
	success  *prometheus.HistogramVec // seconds from the event to the answer that ends the delivery, by the same

	mu   sync.Mutex
	busy map[pleat.EndpointID]time.Time // when an endpoint last kept deliveries waiting
}

// Values of the label receiver: what a delay is due to. A busy receiver has kept deliveries waiting since the event:
// it failed, or it had as many in flight as it may have, or as its owner may have.
const (
	receiverReady = "ready"
	receiverBusy  = "busy"
	maxBusy       = 10_000 // endpoints that are remembered
)

// outcomeDelivered is the value of the label outcome for an attempt that succeeded.
const outcomeDelivered = "delivered"

func newMetrics() *metrics {
	delay := func(name, help string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name,
			Help: help,
			Buckets: []float64{
				.01, .05, .1, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600, 6 * 3600, 24 * 3600, 5 * 24 * 3600,
			},
		}, []string{"destination", "receiver"})
		for _, receiver := range []string{receiverReady, receiverBusy} {
			v.WithLabelValues(string(pleat.DestCustom), receiver) // appear with 0; see store.figures
		}
		return v
	}
	m := &metrics{
		busy: map[pleat.EndpointID]time.Time{},
		first: delay("pleat_delivery_first_attempt_delay_seconds",
			"Time from an event to the first attempt at its delivery, by destination and receiver."),
		success: delay("pleat_delivery_success_delay_seconds",
			"Time from an event to the answer that accepts its delivery, by destination and receiver."),
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
	m.attempts.WithLabelValues(string(pleat.DestCustom), outcomeDelivered)
	m.took.WithLabelValues(string(pleat.DestCustom))
	return m
}

// observe adds an attempt to the counter of its outcome and to the histogram of durations.
func (m *metrics) observe(a *webhook.Attempt) {
	outcome := string(a.Error)
	if a.OK() {
		outcome = outcomeDelivered
	}
	m.attempts.WithLabelValues(string(pleat.DestCustom), outcome).Inc()
	m.took.WithLabelValues(string(pleat.DestCustom)).Observe(a.Timings.Total.Seconds())
}

// observeDelay adds the times from an event to an attempt at its delivery. A delivery that was sent again on request
// does not count: its event may be old. Now is the store's time, at the end of the attempt.
func (m *metrics) observeDelay(d *webhooks.ClaimedDelivery, a *webhook.Attempt, now time.Time) {
	if a.Error == webhook.ClassCancelled || d.Task.Created.After(d.Delivery.CreatedAt) {
		return
	}
	labels := []string{string(pleat.DestCustom), m.receiver(d)}
	began := now.Add(-a.Timings.Total)
	if d.Delivery.Attempts == 0 {
		m.first.WithLabelValues(labels...).Observe(pleat.Elapsed(d.Event.At, began).Seconds())
	}
	if a.OK() {
		m.success.WithLabelValues(labels...).Observe(pleat.Elapsed(d.Event.At, now).Seconds())
	}
}

// receiver returns whether the receiver of a delivery has kept it waiting. A change of the endpoint since the event
// counts too: its owner may have paused it.
func (m *metrics) receiver(d *webhooks.ClaimedDelivery) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d.Delivery.Attempts > 0 || d.Event.At.Before(d.Endpoint.UpdatedAt) || d.Event.At.Before(m.busy[d.Endpoint.ID]) {
		return receiverBusy
	}
	return receiverReady
}

// observeLimit is claimLimit. It notes the endpoints that may get no delivery now, or have failed.
func (p *Pool) observeLimit(e webhooks.WaitingEndpoint, now time.Time) webhooks.ClaimLimit {
	l := p.claimLimit(e, now)
	if l.N == 0 || l.Probe || readHealth(e.Health).Failures > 0 {
		p.metrics.markBusy(now, e.ID)
	}
	return l
}

// markBusy notes endpoints that may get no delivery now.
func (m *metrics) markBusy(now time.Time, list ...pleat.EndpointID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.busy)+len(list) > maxBusy {
		clear(m.busy)
	}
	for _, id := range list {
		m.busy[id] = now
	}
}

// Collectors are the pool's figures, for the registry of the process.
func (p *Pool) Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		p.metrics.attempts, p.metrics.took, p.metrics.inFlight, p.metrics.first, p.metrics.success,
	}
}
