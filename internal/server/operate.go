package server

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"pleat"
	"pleat/internal/seal"
	"pleat/internal/telemetry"
	"pleat/internal/workerapi"
)

// health is GET /healthz, for everyone: the process is alive. It depends on nothing else, so that an orchestrator does
// not restart the process because the database is down.
func (s *Server) health(context.Context, *call) (telemetry.Status, error) {
	return telemetry.Alive(), nil
}

// ready is GET /readyz, for everyone: the database answers and has this version's schema. 503 says what does not; a
// load balancer then sends no requests here. An artifact store that fails, and a service without a live worker, are
// reported with 200, since jobs are accepted and wait.
func (s *Server) ready(ctx context.Context, _ *call) (telemetry.Status, error) {
	return s.healthy.Ready(ctx)
}

// meters are the metrics of one server, in a registry of their own, so that tests can have several servers in a
// process. Labels are routes, statuses, queues and models: no client can create new values.
type meters struct {
	registry *prometheus.Registry
	serve    http.Handler
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	flying   prometheus.Gauge
	streams  prometheus.Gauge
	cached   prometheus.Counter
	created  *prometheus.CounterVec
}

// newMeters registers the metrics of a server. Names and labels are part of the interface that operators use.
func newMeters(s *Server) *meters {
	m := &meters{
		registry: prometheus.NewRegistry(),
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
	m.registry.MustRegister(m.requests, m.took, m.flying, m.streams, m.cached, m.created,
		telemetry.NewService(s.store.DB, s.store.Tasks, s.store.Workers, s.clock))
	m.registry.MustRegister(telemetry.Process(s.store.DB, s.store.Runs, s.blobs)...)
	if s.disk != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "pleat_disk_free_bytes", Help: "Free space of the folder of data or artifacts that has least.",
		}, func() float64 {
			free, err := s.disk.Free()
			if err != nil {
				return math.NaN()
			}
			return float64(free)
		}))
	}
	m.serve = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	return m
}

// record counts a response. The label is the route's pattern, never the path. The time of event streams, and of calls
// that workers let wait, is not recorded: it is how long the client listened.
func (m *meters) record(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	held := []string{"POST " + workerapi.Path + "claim", "POST " + workerapi.Path + "watch"}
	if !strings.HasSuffix(route, "/events") && !slices.Contains(held, route) {
		m.took.WithLabelValues(route).Observe(took.Seconds())
	}
}

// metrics is GET /metrics, in the Prometheus text format, for who sends the token of the configuration as a bearer
// token; for everyone if the configuration says so and has no token. 401: the token is missing or wrong; 429: too many
// wrong ones came from the address.
func (s *Server) metrics(_ context.Context, c *call) error {
	if s.cfg.MetricsToken != "" || !s.cfg.OpenMetrics {
		if err := s.checkSecret(c, c.bearer(), s.cfg.MetricsToken); err != nil {
			return err
		}
	}
	s.meters.serve.ServeHTTP(c.w, c.r)
	return nil
}

// checkSecret compares a secret that a request carries with the one in the configuration. 401: it is wrong, or the
// configuration has none; 429: see checkGuess.
func (s *Server) checkSecret(c *call, got, want string) error {
	return s.checkGuess(c, func() (bool, error) { return want != "" && seal.Equal(got, want), nil })
}

// checkGuess calls right, which looks whether the secret of a request is right. Who sends wrong ones must wait for the
// next try, since people choose some of these secrets. 401: it is wrong; 429: the address must wait, and what it sent
// was not looked at.
func (s *Server) checkGuess(c *call, right func() (bool, error)) error {
	from, now := c.route()+" "+peer(c.from), s.clock()
	if s.limits.secrets.Spent(from, now) {
		return pleat.Errorf(pleat.CodeLimited, "Too many wrong secrets come from this address; try again in a second")
	}
	if ok, err := right(); ok || err != nil {
		return err
	}
	s.limits.secrets.Take(from, now)
	return pleat.ErrUnauthorized
}

// bearer returns the bearer token of a request; empty: it has none.
func (c *call) bearer() string { return strings.TrimPrefix(c.r.Header.Get("Authorization"), "Bearer ") }
