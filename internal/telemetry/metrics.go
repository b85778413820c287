package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/store/db"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
	"pleat/internal/store/workers"
)

// Names and labels of metrics are part of the interface that operators use. docs/operations.md lists them; a test
// compares.

// Process returns the metrics of one process, server or worker: what it has ended, its errors, its clock, its
// connections and its memory. Without a monitor, there are no figures of artifacts.
func Process(d *db.DB, r *runs.Store, b *blob.Monitor) []prometheus.Collector {
	out := append(Program(), r.Collectors()...)
	return append(out, &processCollector{d, b},
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "pleat_build_schema_version",
			Help: "Version of the database's schema that this program needs.",
		}, func() float64 { return float64(db.Latest()) }),
	)
}

// Program returns the metrics of one process that knows neither a database nor artifacts: its memory and its time.
func Program() []prometheus.Collector {
	return []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	}
}

// processCollector shows the figures that a database and a monitor keep.
type processCollector struct {
	db    *db.DB
	blobs *blob.Monitor
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	artifactErrorsDesc = desc("pleat_artifact_errors_total",
		"Operations on the artifact store that failed through its fault.", "operation")
	artifactsDamagedDesc = desc("pleat_artifacts_damaged_total",
		"Reads of stored files whose bytes have changed since they were stored.")
	artifactsFailingDesc = desc("pleat_artifacts_failing",
		"1 if this process could not read or write an artifact when it last tried.")
	clockDesc = desc("pleat_clock_ahead_seconds",
		"How far the clock of this machine is ahead of the database's; 0 on SQLite.")
	transactionsDesc = desc("pleat_database_transactions_total", "Transactions that this process has begun.")
	connectionsDesc  = desc("pleat_database_connections", "Open connections to the database, by pool and state.",
		"pool", "state")
	maxConnectionsDesc = desc("pleat_database_connections_max", "Connections that a pool may open.", "pool")
	waitsDesc          = desc("pleat_database_connection_waits_total",
		"Queries that had to wait for a connection, because all were in use.", "pool")
	waitSecondsDesc = desc("pleat_database_connection_wait_seconds_total", "Time that queries have waited so.", "pool")
)

// Describe implements prometheus.Collector.
func (*processCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{artifactErrorsDesc, artifactsDamagedDesc, artifactsFailingDesc, clockDesc,
		transactionsDesc, connectionsDesc, maxConnectionsDesc, waitsDesc, waitSecondsDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It asks no database.
func (c *processCollector) Collect(ch chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if c.blobs != nil {
		for op, n := range c.blobs.Errors() {
			counter(artifactErrorsDesc, float64(n), op)
		}
		counter(artifactsDamagedDesc, float64(c.blobs.Damaged()))
		gauge(artifactsFailingDesc, flag(c.blobs.Failing()))
	}
	gauge(clockDesc, c.db.ClockAhead().Seconds())
	counter(transactionsDesc, float64(c.db.Transactions()))
	for name, p := range c.db.Pools() {
		gauge(connectionsDesc, float64(p.InUse), name, "used")
		gauge(connectionsDesc, float64(p.Idle), name, "idle")
		gauge(maxConnectionsDesc, float64(p.MaxOpenConnections), name)
		counter(waitsDesc, float64(p.WaitCount), name)
		counter(waitSecondsDesc, p.WaitDuration.Seconds(), name)
	}
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// serviceAge is how old the figures of the whole service may be, so that several scrapers cost the database no more
// than one.
const serviceAge = 5 * time.Second

// Service shows the state of the whole service, as the database has it: every server shows the same. Make it with
// NewService.
type Service struct {
	db      *db.DB
	tasks   *tasks.Store
	workers *workers.Store
	clock   func() time.Time

	mu     sync.Mutex
	at     time.Time
	up     bool
	queues []tasks.QueueCount
	demand []workers.Demand
	schema int64
	oldest time.Duration // snapshot
}

// NewService returns the metrics of the whole service.
func NewService(d *db.DB, t *tasks.Store, w *workers.Store, clock func() time.Time) *Service {
	return &Service{db: d, tasks: t, workers: w, clock: clock}
}

var (
	queueDesc  = desc("pleat_tasks", "Tasks that have not ended, by queue and state.", "queue", "state")
	oldestDesc = desc("pleat_task_oldest_seconds", "Age of the oldest task, by queue and state.", "queue", "state")
	workerDesc = desc("pleat_workers",
		"Workers by class and state: live, draining, silent for 30 s or more, or stopped.", "class", "state")
	wantedDesc = desc("pleat_workers_wanted", "Workers that a class should have, at most its maximum.", "class")
	neededDesc = desc("pleat_workers_needed",
		"Workers that would begin every queued task of a class within its target wait, whatever its maximum.", "class")
	oldSnapshotDesc = desc("pleat_database_oldest_snapshot_seconds",
		"How long the oldest snapshot has been held that this role can see; 0 on SQLite.")
	schemaDesc = desc("pleat_database_schema_version", "Version of the database's schema.")
	upDesc     = desc("pleat_database_up", "Whether the figures of the service could be read.")
)

// Describe implements prometheus.Collector.
func (*Service) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		queueDesc, oldestDesc, workerDesc, wantedDesc, neededDesc, oldSnapshotDesc, schemaDesc, upDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. If the database does not answer within 2 s, pleat_database_up is 0 and the
// others are absent.
func (c *Service) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) > serviceAge {
		c.up, c.at = c.read() == nil, time.Now()
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if gauge(upDesc, flag(c.up)); !c.up {
		return
	}
	c.showTasks(gauge)
	for i := range c.demand {
		d := &c.demand[i]
		states := map[pleat.WorkerState]int{
			pleat.WorkerLive:     0,
			pleat.WorkerDraining: 0,
			pleat.WorkerSilent:   0,
			pleat.WorkerStopped:  0,
		}
		for j := range d.Workers {
			states[d.Workers[j].State(c.db.Now())]++
		}
		for state, n := range states {
			gauge(workerDesc, float64(n), d.Class.Name, string(state))
		}
		gauge(wantedDesc, float64(d.Wanted), d.Class.Name)
		gauge(neededDesc, float64(d.Needed), d.Class.Name)
	}
	gauge(schemaDesc, float64(c.schema))
	gauge(oldSnapshotDesc, c.oldest.Seconds())
}

// showTasks shows the tasks of every queue that has any or that a class serves. A queue without tasks shows zeros:
// neither an alert rule nor an autoscaler can use a series that comes and goes.
func (c *Service) showTasks(gauge func(d *prometheus.Desc, v float64, labels ...string)) {
	type key struct {
		queue string
		state pleat.TaskState
	}
	counts := map[key]tasks.QueueCount{}
	queues := map[string]bool{deliveries: true}
	for i := range c.demand {
		for _, q := range c.demand[i].Class.Queues() {
			queues[q] = true
		}
	}
	for _, q := range c.queues {
		counts[key{q.Queue, q.State}], queues[q.Queue] = q, true
	}
	now := c.clock()
	for queue := range queues {
		for _, state := range []pleat.TaskState{pleat.TaskQueued, pleat.TaskWaiting, pleat.TaskRunning} {
			q, age := counts[key{queue, state}], 0.0
			if q.N > 0 {
				age = pleat.Elapsed(q.Oldest, now).Seconds()
			}
			gauge(queueDesc, float64(q.N), queue, string(state))
			gauge(oldestDesc, age, queue, string(state))
		}
	}
}

// deliveries is the queue that stands for those of all endpoints; see tasks.Store.QueueCounts.
const deliveries = "deliver"

// read reads the figures from the database.
func (c *Service) read() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if c.queues, err = c.tasks.QueueCounts(ctx); err != nil {
		return err
	}
	if c.demand, err = c.workers.Demand(ctx); err != nil {
		return err
	}
	if c.oldest, err = c.db.OldestSnapshot(ctx); err != nil {
		return err
	}
	c.schema, err = c.db.Version(ctx)
	return err
}
