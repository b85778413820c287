package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"pleat"
	"pleat/api"
	"pleat/internal/app"
	"pleat/internal/config"
	"pleat/internal/store"
)

// topCmd returns the command top, which shows what the service does until it is ended. It reads the database alone and
// needs no server. Where standard output is not a terminal, it prints one snapshot.
func topCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "top",
		Short: "Show queues, workers, running jobs and rates, live",
		Long: `Shows, in a terminal, the paused models, the queues, the workers with their devices, the running
jobs, what was created, ended and delivered in the last minute, and how long the stages of recent runs took, by
model: the 50th, 90th and 99th percentile of the runs that have completed among the last 500 that ended. It reads
the database as pleat serve and pleat doctor do, with six statements for each refresh, and changes nothing. The
key q ends it.

Counts are exact up to 10,000. With --once, or where standard output is not a terminal, it prints one snapshot and
ends; --json prints one as a JSON object, with times in seconds.`,
		Example: `  pleat top
  pleat top --once --database postgres://pleat@db.example.org/pleat
  pleat top --json | jq '.queues[] | select(.queued > 100)'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			every, _ := cmd.Flags().GetDuration("interval")
			if every < minInterval || every > time.Hour {
				return usagef("--interval is %v; it must be %v to 1h", every, minInterval)
			}
			return runTop(cmd, every)
		},
	}
	config.AddFlags(c.Flags(), config.Store)
	c.Flags().Duration("interval", 2*time.Second, "time between two refreshes, at least 500ms")
	c.Flags().Bool("once", false, "print one snapshot and end")
	c.Flags().Bool("json", false, "print one snapshot as JSON and end")
	return c
}

const (
	// minInterval is the shortest time between two refreshes, so that watching a service costs it little.
	minInterval = 500 * time.Millisecond
	// timingsEvery is the time between two reads of the timings, which change slowly.
	timingsEvery = 10 * time.Second
	// topTimeout bounds one refresh.
	topTimeout = 10 * time.Second
)

// runTop prints a snapshot, or shows the service until the user quits.
func runTop(cmd *cobra.Command, every time.Duration) error {
	asJSON, _ := cmd.Flags().GetBool("json")
	once, _ := cmd.Flags().GetBool("once")
	out, terminal := cmd.OutOrStdout().(*os.File)
	terminal = terminal && term.IsTerminal(int(out.Fd())) && term.IsTerminal(int(os.Stdin.Fd()))
	c, err := configure(cmd)
	if err != nil {
		return err
	}
	log := app.NewLog(cmd.ErrOrStderr(), c)
	live := terminal && !once && !asJSON
	if live {
		log = slog.New(slog.DiscardHandler) // a line would be written across the tables
	}
	s, err := app.OpenMigrated(cmd.Context(), c, log)
	if err != nil {
		return err
	}
	defer s.Close()
	reader := &topReader{store: s}
	if live {
		return watchTop(cmd.Context(), reader, out, every)
	}
	snapshot, err := reader.read(cmd.Context())
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), snapshot)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), snapshot.text())
	return err
}

// topReader reads snapshots of a service. It is used by one goroutine.
type topReader struct {
	store   *store.Store
	timings []topModel
	timed   time.Time // when timings were read
}

// read reads a snapshot; the timings may be those of an earlier one.
func (r *topReader) read(ctx context.Context) (*topSnapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, topTimeout)
	defer cancel()
	g, err := r.store.Glance(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := r.store.Workers(ctx)
	if err != nil {
		return nil, err
	}
	paused, err := r.store.PausedModels(ctx)
	if err != nil {
		return nil, err
	}
	if g.At.Sub(r.timed) >= timingsEvery {
		runs, err := r.store.RecentTimings(ctx)
		if err != nil {
			return nil, err
		}
		r.timings, r.timed = topModels(runs), g.At
	}
	out := newTopSnapshot(&g, workers, r.timings, r.store.Dialect())
	for _, p := range paused {
		out.Paused = append(out.Paused, topPause{p.Model, p.Reason, max(g.At.Sub(p.Since), 0).Seconds()})
	}
	return out, nil
}

// topSnapshot is what pleat top shows, and prints as JSON. Texts that users and engines have given are as they are
// stored: who prints them to a terminal must replace control characters.
type topSnapshot struct {
	At       api.Time     `json:"at"`
	Version  string       `json:"version"`
	Database string       `json:"database"`
	Paused   []topPause   `json:"paused"`
	Queues   []topQueue   `json:"queues"`
	Workers  []topWorker  `json:"workers"`
	Running  []topRunning `json:"running"`
	Minute   topRates     `json:"last_minute"`
	Models   []topModel   `json:"timings"`
}

// topPause is a model that operators have paused.
type topPause struct {
	Model  string  `json:"model"`
	Reason string  `json:"reason"`
	Age    float64 `json:"since_s"` // ago
}

// topQueue is a queue: how many tasks it has in each state, at most store.GlanceCounted of each.
type topQueue struct {
	Queue   string  `json:"queue"`
	Queued  int     `json:"queued"`
	Waiting int     `json:"waiting"`
	Running int     `json:"running"`
	Oldest  float64 `json:"oldest_s"` // the age of the oldest queued task; 0: none is queued
}

// topWorker is a worker that has not stopped.
type topWorker struct {
	ID      string         `json:"id"`
	Host    string         `json:"host"`
	Class   string         `json:"class"`
	State   string         `json:"state"`
	Tasks   *int           `json:"tasks"` // running; null: not known, since more run than were listed
	Devices []pleat.Device `json:"devices"`
	Memory  int64          `json:"memory"` // bytes; 0: unlimited
	Seen    float64        `json:"seen_s"` // ago
	Ends    *api.Time      `json:"ends"`
}

// topRunning is a running task.
type topRunning struct {
	Job      string  `json:"id"` // of the job or workflow
	Kind     string  `json:"kind"`
	User     string  `json:"user"`
	Model    string  `json:"model"`
	Worker   string  `json:"worker"`
	Attempt  int     `json:"attempt"`
	Stage    string  `json:"stage"`
	Done     int     `json:"done"`
	Total    int     `json:"total"`
	Duration float64 `json:"seconds"` // of the attempt
}

// topRates are counts over the last minute, at most store.GlanceCounted each.
type topRates struct {
	Created          int `json:"created"`
	Completed        int `json:"completed"`
	Failed           int `json:"failed"`
	Stopped          int `json:"stopped"`
	Delivered        int `json:"delivered"`
	DeliveriesFailed int `json:"deliveries_failed"`
}

// topModel has the percentiles of the stages of a model's recent runs.
type topModel struct {
	Model  string                    `json:"model"`
	Runs   int                       `json:"runs"`
	Stages map[string]topPercentiles `json:"stages"`
}

// topPercentiles are the seconds that a stage took in the runs that have it, by nearest rank.
type topPercentiles struct {
	Runs int     `json:"runs"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
}

// newTopSnapshot joins what was read.
func newTopSnapshot(g *store.Glance, workers []pleat.Worker, models []topModel, database string) *topSnapshot {
	out := &topSnapshot{
		At:       api.At(g.At),
		Version:  pleat.Version,
		Database: database,
		Paused:   []topPause{},
		Queues:   topQueues(g),
		Running:  []topRunning{},
		Models:   models,
		Minute: topRates{
			Created:          g.Rates.Created,
			Completed:        g.Rates.Completed,
			Failed:           g.Rates.Failed,
			Stopped:          g.Rates.Stopped,
			Delivered:        g.Rates.Delivered,
			DeliveriesFailed: g.Rates.Exhausted,
		},
	}
	tasks := map[pleat.WorkerID]int{}
	for _, r := range g.Running {
		tasks[r.Worker]++
		out.Running = append(out.Running, topRunning{
			Job:      r.Source.ID(),
			Kind:     string(r.Kind),
			User:     r.Owner,
			Model:    r.Model,
			Worker:   string(r.Worker),
			Attempt:  r.Attempt,
			Stage:    r.Stage,
			Done:     r.Done,
			Total:    r.Total,
			Duration: max(g.At.Sub(r.Began), 0).Seconds(),
		})
	}
	slices.SortStableFunc(out.Running, func(a, b topRunning) int { return cmp.Compare(b.Duration, a.Duration) })
	out.Workers = topWorkers(g, workers, tasks)
	return out
}

// topQueues joins the counts of each queue, the longest queue first.
func topQueues(g *store.Glance) []topQueue {
	byName := map[string]*topQueue{}
	for _, c := range g.Queues {
		q := byName[c.Queue]
		if q == nil {
			q = &topQueue{Queue: c.Queue}
			byName[c.Queue] = q
		}
		switch c.State {
		case pleat.TaskQueued:
			q.Queued, q.Oldest = c.N, max(g.At.Sub(c.Oldest), 0).Seconds()
		case pleat.TaskWaiting:
			q.Waiting = c.N
		case pleat.TaskRunning:
			q.Running = c.N
		}
	}
	out := []topQueue{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, *byName[name])
	}
	slices.SortStableFunc(out, func(a, b topQueue) int { return cmp.Compare(b.Queued, a.Queued) })
	return out
}

// topWorkers lists the workers that have not stopped, those that work first.
func topWorkers(g *store.Glance, workers []pleat.Worker, tasks map[pleat.WorkerID]int) []topWorker {
	out := []topWorker{}
	for i := range workers {
		w := &workers[i]
		state := w.State(g.At)
		if state == pleat.WorkerStopped {
			continue
		}
		row := topWorker{
			ID:      string(w.ID),
			Host:    w.Host,
			Class:   cmp.Or(w.Class, pleat.DefaultClass),
			State:   string(state),
			Devices: append([]pleat.Device{}, w.Devices...),
			Memory:  w.Memory,
			Seen:    max(g.At.Sub(w.SeenAt), 0).Seconds(),
		}
		if n := tasks[w.ID]; len(g.Running) < store.GlanceRunning {
			row.Tasks = &n
		}
		if !w.Ends.IsZero() {
			ends := api.At(w.Ends)
			row.Ends = &ends
		}
		out = append(out, row)
	}
	order := []string{string(pleat.WorkerLive), string(pleat.WorkerDraining), string(pleat.WorkerSilent)}
	slices.SortStableFunc(out, func(a, b topWorker) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)),
			cmp.Compare(a.Class, b.Class), cmp.Compare(a.Host, b.Host), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// topModels computes the percentiles of the stages, by model; the models with the most runs first.
func topModels(runs []store.TimedRun) []topModel {
	seconds := map[string]map[string][]float64{}
	count := map[string]int{}
	for _, r := range runs {
		count[r.Model]++
		if seconds[r.Model] == nil {
			seconds[r.Model] = map[string][]float64{}
		}
		for _, stage := range pleat.Stages {
			if s, ok := r.Timings[stage]; ok {
				seconds[r.Model][stage] = append(seconds[r.Model][stage], s)
			}
		}
	}
	out := []topModel{}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		m := topModel{Model: name, Runs: count[name], Stages: map[string]topPercentiles{}}
		for stage, all := range seconds[name] {
			slices.Sort(all)
			m.Stages[stage] = topPercentiles{
				Runs: len(all),
				P50:  percentile(all, 50),
				P90:  percentile(all, 90),
				P99:  percentile(all, 99),
			}
		}
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b topModel) int { return cmp.Compare(b.Runs, a.Runs) })
	return out
}

// percentile returns the smallest of sorted values that at least p of a hundred do not exceed. There must be one.
func percentile(sorted []float64, p float64) float64 {
	return sorted[max(int(math.Ceil(p/100*float64(len(sorted))))-1, 0)]
}

// shortTime writes a time in at most six characters: 0.31s, 12.4s, 3m20s, 5h12m, 12d3h.
func shortTime(s float64) string {
	d := pleat.Seconds(s)
	switch {
	case s < 0.0095:
		return fmt.Sprintf("%.0fms", s*1000)
	case s < 9.995:
		return fmt.Sprintf("%.2fs", s)
	case s < 59.95:
		return fmt.Sprintf("%.1fs", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case s < 24*3600:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}
