package runs

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pleat"
)

// metrics are those of the runs that this process has started and ended. They are counted after the commit, from
// what the transaction had at hand. Their labels are names of engines, models, queues and classes, which only operators
// and workers choose, and values of the lists below.
type metrics struct {
	ended  *prometheus.CounterVec   // by state, engine and reason
	delay  *prometheus.HistogramVec // seconds until the first claim, by queue and class
	stages *prometheus.HistogramVec // seconds, by model and stage
}

// measuredStages are the values of the label stage: those of pleat.Stages in which runs usually spend their time. The
// other keys of pleat.Result.Timings are named by runners, which may invent any number.
var measuredStages = []string{
	pleat.StageQueue, pleat.StageMSA, pleat.StageLoad, pleat.StageInfer, pleat.StageWrite,
}

const (
	noEngine    = "none"  // of a run that ended without a worker
	otherReason = "other" // of a failure of a kind that this version does not know
)

func newMetrics() *metrics {
	m := &metrics{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pleat_runs_ended_total",
			Help: "Runs that this process has ended, by state, engine and the reason of a failure.",
		}, []string{"state", "engine", "reason"}),
		delay: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "pleat_run_start_delay_seconds",
			Help:    "Time from the creation of a run until a worker first has it, by queue and class.",
			Buckets: []float64{.05, .1, .5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600},
		}, []string{"queue", "class"}),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pleat_run_stage_seconds",
			Help: "Time of the stages of runs that were computed and have completed, by model and stage.",
			Buckets: []float64{
				.01, .05, .1, .5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600,
			},
		}, []string{"model", "stage"}),
	}
	m.ended.WithLabelValues("stopped", noEngine, string(pleat.FailCancelled))
	m.ended.WithLabelValues("failed", noEngine, string(pleat.FailCrashed))
	return m
}

// Collectors are the metrics of the runs that this process has started and ended, for its registry.
func (s *Store) Collectors() []prometheus.Collector {
	return []prometheus.Collector{s.metrics.ended, s.metrics.delay, s.metrics.stages}
}

// ExpectWorker makes the series of a worker's engines and queues appear with the value 0: Prometheus cannot see the
// increase of a counter that appears with its first event.
func (s *Store) ExpectWorker(w *pleat.Worker) {
	m := s.metrics
	for _, q := range w.Queues {
		m.delay.WithLabelValues(q, w.Class)
	}
	for i := range w.Models {
		engine := cmp.Or(w.Models[i].Engine, noEngine)
		m.ended.WithLabelValues("completed", engine, "")
		m.ended.WithLabelValues("stopped", engine, string(pleat.FailCancelled))
		for _, kind := range pleat.FailureKinds {
			if kind != pleat.FailCancelled {
				m.ended.WithLabelValues("failed", engine, string(kind))
			}
		}
	}
}

// start measures how long claimed tasks waited, those of them that no worker had before.
func (m *metrics) start(list []ClaimedTask, class string) {
	class = cmp.Or(class, pleat.DefaultClass)
	for i := range list {
		if c := &list[i]; c.Task.Attempt == 1 {
			m.delay.WithLabelValues(c.Task.Queue, class).Observe(seconds(pleat.Elapsed(c.Queued, c.Claimed)))
		}
	}
}

// end counts a run that has ended, and measures its stages if its result was computed.
func (m *metrics) end(e *runEnd) {
	reason := ""
	if e.failure != nil {
		if reason = string(e.failure.Kind); !slices.Contains(pleat.FailureKinds, e.failure.Kind) {
			reason = otherReason
		}
	}
	m.ended.WithLabelValues(strings.ToLower(string(e.state)), cmp.Or(e.served, noEngine), reason).Inc()
	if e.state != pleat.StateCompleted || e.result == nil || e.result.AnsweredFrom != "" {
		return
	}
	_, model, _ := strings.Cut(e.queue, "/")
	for _, stage := range measuredStages {
		if took, ok := e.result.Timings[stage]; ok && took >= 0 {
			m.stages.WithLabelValues(model, stage).Observe(took)
		}
	}
}

// seconds is a duration in seconds, and 0 for a negative one: the clocks of two machines may differ a little.
func seconds(d time.Duration) float64 { return max(0, d.Seconds()) }
