package route

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pleat/internal/workerapi"
)

// Meters are the metrics of the routes of one server. Labels are routes, statuses and models: no client can create new
// values.
type Meters struct {
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	flying   prometheus.Gauge
	streams  prometheus.Gauge
	cached   prometheus.Counter
	created  *prometheus.CounterVec
}

// NewMeters registers the metrics of routes. Names and labels are part of the interface that operators use.
func NewMeters(r prometheus.Registerer) *Meters {
	m := &Meters{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pleat_http_requests_total", Help: "Requests answered.",
		}, []string{"route", "status"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "pleat_http_request_seconds",
			Help:    "Time to answer; streams are not counted.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}},
			[]string{"route"}),
		flying: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pleat_http_requests_in_flight", Help: "Requests being answered.",
		}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pleat_event_streams", Help: "Event streams that are open.",
		}),
		cached: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pleat_results_cached_total", Help: "Results answered from the cache.",
		}),
		created: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pleat_runs_created_total", Help: "Runs accepted by this server.",
		}, []string{"model"}),
	}
	r.MustRegister(m.requests, m.took, m.flying, m.streams, m.cached, m.created)
	return m
}

// record counts a response. The label is the route's pattern, never the path. The time of event streams, and of calls
// that workers let wait, is not recorded: it is how long the client listened.
func (m *Meters) record(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	held := []string{"POST " + workerapi.Path + "claim", "POST " + workerapi.Path + "watch"}
	if !strings.HasSuffix(route, "/events") && !slices.Contains(held, route) {
		m.took.WithLabelValues(route).Observe(took.Seconds())
	}
}

// CountRun counts a run of a model that the call has created.
func (c *Call) CountRun(model string) { c.core.meters.created.WithLabelValues(model).Inc() }

// CountCached counts a result that was answered from a cache.
func (c *Call) CountCached() { c.core.meters.cached.Inc() }
