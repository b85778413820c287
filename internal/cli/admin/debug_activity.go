package admin

import (
	"cmp"
	"context"
	"io"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/store/ops"
	"pleat/internal/store/workers"
)

// activity is the part of a bundle that says what the service does, without the names of users and jobs. Ages and
// durations are in seconds.
type activity struct {
	At      api.Time          `json:"at"`
	Paused  []pausedModel     `json:"paused"`
	Queues  []queueActivity   `json:"queues"`
	Workers []workerActivity  `json:"workers"` // that have not stopped
	Running []runningActivity `json:"running"` // at most ops.ActivityRunning
	Minute  minuteActivity    `json:"last_minute"`
}

// pausedModel is a model that operators have paused.
type pausedModel struct {
	Model  string  `json:"model"`
	Reason string  `json:"reason"`
	Age    float64 `json:"since_s"`
}

// queueActivity counts the tasks of a queue that are in one state, up to ops.ActivityCounted.
type queueActivity struct {
	Queue  string  `json:"queue"`
	State  string  `json:"state"`
	Tasks  int     `json:"tasks"`
	Oldest float64 `json:"oldest_s"` // the age of the oldest queued task; 0: none is queued
}

// workerActivity is a worker.
type workerActivity struct {
	ID      string         `json:"id"`
	Host    string         `json:"host"`
	Class   string         `json:"class"`
	State   string         `json:"state"`
	Devices []pleat.Device `json:"devices"`
	Memory  int64          `json:"memory"` // bytes; 0: unlimited
	Seen    float64        `json:"seen_s"` // the time since its last heartbeat
}

// runningActivity is a running task.
type runningActivity struct {
	ID       string  `json:"id"` // that of the job or workflow
	Kind     string  `json:"kind"`
	Model    string  `json:"model"`
	Worker   string  `json:"worker"`
	Attempt  int     `json:"attempt"`
	Stage    string  `json:"stage"`
	Done     int     `json:"done"`
	Total    int     `json:"total"`
	Duration float64 `json:"seconds"` // of the attempt
}

// minuteActivity has counts over the last minute, each up to ops.ActivityCounted.
type minuteActivity struct {
	Created          int `json:"created"`
	Completed        int `json:"completed"`
	Failed           int `json:"failed"`
	Stopped          int `json:"stopped"`
	Delivered        int `json:"delivered"`
	DeliveriesFailed int `json:"deliveries_failed"`
}

// bundleActivity writes what the service does at the moment.
func bundleActivity(ctx context.Context, w io.Writer, c config.Config) error {
	s, err := openBundleStore(ctx, c)
	if err != nil {
		return err
	}
	defer s.DB.Close()
	g, err := s.Ops.Activity(ctx)
	if err != nil {
		return err
	}
	workers, err := s.Workers.Workers(ctx)
	if err != nil {
		return err
	}
	paused, err := s.Workers.PausedModels(ctx)
	if err != nil {
		return err
	}
	return cli.PrintJSON(w, newActivity(&g, workers, paused))
}

// newActivity joins what was read.
func newActivity(g *ops.Activity, workers []pleat.Worker, paused []workers.ModelPause) activity {
	out := activity{
		At:      api.At(g.At),
		Paused:  []pausedModel{},
		Queues:  []queueActivity{},
		Workers: []workerActivity{},
		Running: []runningActivity{},
		Minute: minuteActivity{
			Created:          g.Rates.Created,
			Completed:        g.Rates.Completed,
			Failed:           g.Rates.Failed,
			Stopped:          g.Rates.Stopped,
			Delivered:        g.Rates.Delivered,
			DeliveriesFailed: g.Rates.Exhausted,
		},
	}
	for _, p := range paused {
		out.Paused = append(out.Paused, pausedModel{p.Model, p.Reason, max(g.At.Sub(p.Since), 0).Seconds()})
	}
	for _, q := range g.Queues {
		row := queueActivity{Queue: q.Queue, State: string(q.State), Tasks: q.N}
		if q.State == pleat.TaskQueued {
			row.Oldest = max(g.At.Sub(q.Oldest), 0).Seconds()
		}
		out.Queues = append(out.Queues, row)
	}
	for i := range workers {
		w := &workers[i]
		state := w.State(g.At)
		if state == pleat.WorkerStopped {
			continue
		}
		out.Workers = append(out.Workers, workerActivity{
			ID:      string(w.ID),
			Host:    w.Host,
			Class:   cmp.Or(w.Class, pleat.DefaultClass),
			State:   string(state),
			Devices: append([]pleat.Device{}, w.Devices...),
			Memory:  w.Memory,
			Seen:    max(g.At.Sub(w.SeenAt), 0).Seconds(),
		})
	}
	for _, r := range g.Running {
		out.Running = append(out.Running, runningActivity{
			ID:       r.Source.ID(),
			Kind:     string(r.Kind),
			Model:    r.Model,
			Worker:   string(r.Worker),
			Attempt:  r.Attempt,
			Stage:    r.Stage,
			Done:     r.Done,
			Total:    r.Total,
			Duration: max(g.At.Sub(r.Began), 0).Seconds(),
		})
	}
	return out
}
