package ops

import (
	"context"
	"fmt"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/tasks"
)

// The bounds of an [Activity], so that it costs a busy service no more than a quiet one.
const (
	// ActivityCounted is how many rows a count of an Activity reads at most: a count of that is «at least».
	ActivityCounted = 10_000
	// ActivityRunning is how many running tasks an Activity lists at most.
	ActivityRunning = 200
)

// Activity is what a service does at a moment. Its parts are read one after another, so that they may differ by what
// happened between.
type Activity struct {
	At      time.Time
	Queues  []tasks.QueueCount // with tasks, in no order; all deliveries count as one queue
	Running []RunningTask      // of runs, the longest-waiting first; at most ActivityRunning
	Rates   Rates
}

// RunningTask is a task of a run that a worker holds.
type RunningTask struct {
	Task     pleat.TaskID
	Kind     pleat.TaskKind
	Queue    string
	Run      pleat.RunID
	Source   pleat.Source // the job or workflow
	Project  pleat.ProjectID
	Owner    string // name of the project
	Worker   pleat.WorkerID
	Class    string // of the worker; empty: it is not known any more
	Model    string
	Attempt  int
	Began    time.Time     // the attempt
	Expected time.Duration // by the model's manifest; 0: unknown
	Stage    string
	Done     int
	Total    int // steps of the stage; 0: not known
}

// Rates are counts over the last minute, each at most [ActivityCounted].
type Rates struct {
	Created   int // runs
	Completed int
	Failed    int
	Stopped   int
	Delivered int // deliveries that have ended
	Exhausted int // deliveries that have failed for good
}

// Activity reads what the service does, in four statements. None scans a table, however many tasks wait.
func (s *Store) Activity(ctx context.Context) (Activity, error) {
	g := Activity{At: s.db.Now()}
	var err error
	if g.Queues, err = s.activityQueues(ctx); err != nil {
		return g, db.Unavailable("count tasks", err)
	}
	if g.Running, err = s.activityRunning(ctx); err != nil {
		return g, db.Unavailable("list running tasks", err)
	}
	g.Rates, err = s.activityRates(ctx, g.At.Add(-time.Minute))
	return g, db.Unavailable("count what has ended", err)
}

// activityQueued counts, in one statement, the queued tasks of each queue, at most ActivityCounted of each. The oldest
// is that of the first hundred in the order of the queue, and of the first thousand deliveries. The bounds are part of
// the statement, and the rows have the order of an index: a plan for any bound, or for rows in any order, may first
// collect all tasks of a queue from an index.
var activityQueued = tasks.FilledQueues + fmt.Sprintf(`
	SELECT q.queue,
		CASE WHEN q.queue = 'deliver' THEN (
			SELECT count(*)
			FROM (
				SELECT 1 FROM task t
				WHERE t.state = 'queued' AND t.kind = 'deliver'
				ORDER BY t.tenant
				LIMIT %[1]d
			) AS page_counted
		) ELSE (
			SELECT count(*)
			FROM (
				SELECT 1 FROM task t
				WHERE t.state = 'queued' AND t.queue = q.queue
				ORDER BY t.position, t.id
				LIMIT %[1]d
			) AS page_counted
		) END,
		CASE WHEN q.queue = 'deliver' THEN (
			SELECT min(page_ahead.created_at)
			FROM (
				SELECT created_at FROM task t
				WHERE t.state = 'queued' AND t.kind = 'deliver'
				ORDER BY t.tenant
				LIMIT 1000
			) AS page_ahead
		) ELSE (
			SELECT min(page_ahead.created_at)
			FROM (
				SELECT created_at FROM task t
				WHERE t.state = 'queued' AND t.queue = q.queue
				ORDER BY t.position, t.id
				LIMIT 100
			) AS page_ahead
		) END
	FROM (%[2]s) AS q`, ActivityCounted, tasks.FilledQueuesOnce)

func (s *Store) activityQueues(ctx context.Context) ([]tasks.QueueCount, error) {
	var out []tasks.QueueCount
	rows, err := s.db.Read(ctx, activityQueued)
	err = db.ForEachRow(rows, err, func(scan func(...any) error) error {
		c := tasks.QueueCount{State: pleat.TaskQueued}
		var at *int64
		if err := scan(&c.Queue, &c.N, &at); err != nil || at == nil { // claimed meanwhile
			return err
		}
		c.Oldest = db.FromMicros(*at)
		out = append(out, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	rest, err := s.tasks.UnqueuedCounts(ctx, ActivityCounted)
	return append(out, rest...), err
}

// activityRunningTasks lists running tasks of runs, at most ActivityRunning, which were queued first.
var activityRunningTasks = fmt.Sprintf(`
	SELECT k.id, k.kind, k.queue, r.id, COALESCE(r.job_id, ''), COALESCE(r.workflow_id, ''), u.id, u.name, k.worker_id,
		COALESCE(w.class, ''), r.model, k.attempt, a.started_at, k.expected, r.stage, r.done, r.total
	FROM (
		SELECT id, kind, queue, worker_id, attempt, expected, run_id, project_id FROM task
		WHERE state = 'running' AND run_id IS NOT NULL AND kind <> 'deliver'
		ORDER BY id
		LIMIT %d
	) AS k
	JOIN run r ON r.id = k.run_id
	JOIN project u ON u.id = k.project_id
	JOIN attempt a ON a.task_id = k.id AND a.number = k.attempt
	LEFT JOIN worker w ON w.id = k.worker_id
	ORDER BY k.id`, ActivityRunning)

func (s *Store) activityRunning(ctx context.Context) ([]RunningTask, error) {
	rows, err := s.db.Read(ctx, activityRunningTasks)
	return db.ListOf(rows, err, func(scan func(...any) error) (r RunningTask, err error) {
		err = scan(&r.Task, &r.Kind, &r.Queue, &r.Run, &r.Source.Job, &r.Source.Workflow, &r.Project, &r.Owner,
			&r.Worker, &r.Class, &r.Model, &r.Attempt, db.ScanTime(&r.Began), db.ScanDuration(&r.Expected), &r.Stage,
			&r.Done, &r.Total)
		return r, err
	})
}

// activityEnded counts, since a time, the runs that were created and ended and the deliveries that ended, at most
// ActivityCounted of each. Ids of version 7 are in the order in which their rows were made; $1 is the first that the
// time can have, $2 the time.
var activityEnded = fmt.Sprintf(`
	SELECT 'created', '', count(*)
	FROM (SELECT 1 FROM run WHERE id >= $1 ORDER BY id LIMIT %[1]d) AS page_created
	UNION ALL
	SELECT 'ended', page_ended.status, count(*)
	FROM (SELECT status FROM event WHERE id >= $1 AND run_id <> '' ORDER BY id LIMIT %[1]d) AS page_ended
	GROUP BY page_ended.status
	UNION ALL
	SELECT 'delivered', page_delivered.status, count(*)
	FROM (
		SELECT status FROM delivery
		WHERE status <> 'PENDING' AND updated_at >= $2
		ORDER BY updated_at
		LIMIT %[1]d
	) AS page_delivered
	GROUP BY page_delivered.status`, ActivityCounted)

func (s *Store) activityRates(ctx context.Context, since time.Time) (Rates, error) {
	var out Rates
	rows, err := s.db.Read(ctx, activityEnded, db.IDAt(db.ToMicros(since)), db.ToMicros(since))
	err = db.ForEachRow(rows, err, func(scan func(...any) error) error {
		var what, status string
		var n int
		if err := scan(&what, &status, &n); err != nil {
			return err
		}
		switch what + " " + status {
		case "created ":
			out.Created = n
		case "ended " + string(pleat.StateCompleted):
			out.Completed = n
		case "ended " + string(pleat.StateFailed):
			out.Failed = n
		case "ended " + string(pleat.StateStopped):
			out.Stopped = n
		case "delivered " + string(pleat.DeliverySucceeded):
			out.Delivered = n
		case "delivered " + string(pleat.DeliveryFailed):
			out.Exhausted = n
		}
		return nil
	})
	return out, err
}
