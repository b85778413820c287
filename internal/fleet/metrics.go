package fleet

import (
	"github.com/prometheus/client_golang/prometheus"

	"pleat"
	"pleat/internal/store/workers"
)

// metrics are the figures of the fleet, by class. Servers show how many workers are wanted. A process that does not
// lead shows no gauges.
type metrics struct {
	workers   *prometheus.GaugeVec
	submitted *prometheus.CounterVec
	refused   *prometheus.CounterVec
}

func newMetrics() *metrics {
	return &metrics{
		workers: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pleat_fleet_workers",
			Help: "Workers on their cluster, by class and state: running, or pending (waiting for the cluster).",
		}, []string{"class", "state"}),
		submitted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pleat_fleet_submitted_total",
			Help: "Workers that this process has submitted, by class.",
		}, []string{"class"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pleat_fleet_refused_total",
			Help: "Workers that the cluster has refused, by class.",
		}, []string{"class"}),
	}
}

// show sets the gauges of a class, and makes its counters appear.
func (m *metrics) show(d *workers.Demand, r *pleat.FleetReport) {
	m.workers.WithLabelValues(d.Class.Name, string(JobRunning)).Set(float64(r.Running))
	m.workers.WithLabelValues(d.Class.Name, string(JobPending)).Set(float64(r.Pending))
	m.submitted.WithLabelValues(d.Class.Name)
	m.refused.WithLabelValues(d.Class.Name)
}

// drop removes the gauges of a class that is gone.
func (m *metrics) drop(class string) {
	m.workers.DeletePartialMatch(prometheus.Labels{"class": class})
}

// clear removes the gauges.
func (m *metrics) clear() {
	m.workers.Reset()
}

// Collectors are the fleet's figures, for the registry of the process.
func (f *Fleet) Collectors() []prometheus.Collector {
	m := f.metrics
	return []prometheus.Collector{m.workers, m.submitted, m.refused}
}
