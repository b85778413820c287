package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/store"
)

// Status is the response of /healthz and /readyz. It is not in package api, whose types are those of /v1.
type Status struct {
	Status  string `json:"status"`
	Version string `json:"version" doc:"Of the service."`
}

// health is GET /healthz, for everyone: the process is alive. It depends on nothing else, so that an orchestrator does
// not restart the process because the database is down.
func (s *Server) health(context.Context, *call) (Status, error) {
	return Status{"ok", pleat.Version}, nil
}

// ready is GET /readyz, for everyone: the database answers and has this version's schema, and files can be written. 503
// names the first of these that fails; a load balancer then sends no requests here.
func (s *Server) ready(ctx context.Context, _ *call) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := s.store.Ping(ctx); err != nil {
		return Status{}, &pleat.Error{Code: pleat.CodeUnavailable, Message: "not ready: the database does not answer",
			Err: err}
	}
	v, err := s.store.Version(ctx)
	if err != nil {
		return Status{}, &pleat.Error{Code: pleat.CodeUnavailable, Message: "not ready: the database does not answer",
			Err: err}
	}
	if v != store.Latest() {
		return Status{}, pleat.Errorf(pleat.CodeUnavailable,
			"not ready: the database has schema %d and this version needs %d; run pleat migrate", v, store.Latest())
	}
	if err := s.probe.writable(ctx, s.blobs); err != nil {
		return Status{}, &pleat.Error{Code: pleat.CodeUnavailable, Message: "not ready: files cannot be written",
			Err: err}
	}
	return Status{"ready", pleat.Version}, nil
}

// probe writes to the artifact store and remembers the result for probeEvery, so that requests, which need no
// credential, cannot wear out the disk.
type probe struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

const (
	probeEvery = 5 * time.Second
	// probeKey is outside the prefixes of runs and library files, which garbage collection walks.
	probeKey = "ready/probe"
)

// writable returns nil if files can be written, and otherwise the error of the write.
func (p *probe) writable(ctx context.Context, b blob.Store) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.at.IsZero() && time.Since(p.at) < probeEvery {
		return p.err
	}
	_, err := b.Put(ctx, probeKey, strings.NewReader("can be written\n"))
	if err == nil {
		err = b.Delete(ctx, probeKey)
	}
	p.at, p.err = time.Now(), err
	return err
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
		&queueCollector{s: s},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
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

// record counts a response. The label is the route's pattern, never the path. The time of event streams is not
// recorded: it is how long the client listened.
func (m *meters) record(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	if !strings.HasSuffix(route, "/events") {
		m.took.WithLabelValues(route).Observe(took.Seconds())
	}
}

// metrics is GET /metrics, in the Prometheus text format, for who sends the token of the configuration as a bearer
// token; for everyone if the configuration says so and has no token. 401: the token is missing or wrong; 429: too many
// wrong ones came from the address.
func (s *Server) metrics(_ context.Context, c *call) error {
	if s.cfg.MetricsToken != "" || !s.cfg.OpenMetrics {
		got := strings.TrimPrefix(c.r.Header.Get("Authorization"), "Bearer ")
		if err := s.checkSecret(c, got, s.cfg.MetricsToken); err != nil {
			return err
		}
	}
	s.meters.serve.ServeHTTP(c.w, c.r)
	return nil
}

// checkSecret compares a secret that a request carries with the one in the configuration. Who sends wrong ones must
// wait for the next try, since people choose these secrets. 401: it is wrong, or the configuration has none; 429: the
// address must wait, and what it sent was not compared.
func (s *Server) checkSecret(c *call, got, want string) error {
	from, now := c.route()+" "+peer(c.from), s.clock()
	if s.limits.secrets.Spent(from, now) {
		return pleat.Errorf(pleat.CodeLimited, "Too many wrong secrets come from this address; try again in a second")
	}
	// Digests have the same length, so that the comparison reveals nothing about that of the secret.
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	if want != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1 {
		return nil
	}
	s.limits.secrets.Take(from, now)
	return pleat.ErrUnauthorized
}

// queueCollector collects the sizes of the queues from the store when metrics are read, at most every 5 s, so that
// several scrapers cost the database no more than one.
type queueCollector struct {
	s    *Server
	mu   sync.Mutex
	at   time.Time
	list []store.QueueCount
	ok   bool
}

var (
	queueDesc = prometheus.NewDesc("pleat_tasks", "Tasks that have not ended, by queue and state.",
		[]string{"queue", "state"}, nil)
	oldestDesc = prometheus.NewDesc("pleat_task_oldest_seconds", "Age of the oldest task, by queue and state.",
		[]string{"queue", "state"}, nil)
	upDesc = prometheus.NewDesc("pleat_database_up", "Whether the queue could be counted.", nil, nil)
)

// Describe implements prometheus.Collector.
func (q *queueCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- queueDesc
	ch <- oldestDesc
	ch <- upDesc
}

// Collect implements prometheus.Collector. If the database does not answer within 2 s, pleat_database_up is 0 and there
// are no sizes.
func (q *queueCollector) Collect(ch chan<- prometheus.Metric) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.at) > 5*time.Second {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		list, err := q.s.store.QueueCounts(ctx)
		q.list, q.ok, q.at = list, err == nil, time.Now()
	}
	up := 0.0
	if q.ok {
		up = 1
	}
	ch <- prometheus.MustNewConstMetric(upDesc, prometheus.GaugeValue, up)
	now := q.s.clock()
	for _, c := range q.list {
		ch <- prometheus.MustNewConstMetric(queueDesc, prometheus.GaugeValue, float64(c.N), c.Queue, string(c.State))
		ch <- prometheus.MustNewConstMetric(oldestDesc, prometheus.GaugeValue, max(0, now.Sub(c.Oldest).Seconds()),
			c.Queue, string(c.State))
	}
}
