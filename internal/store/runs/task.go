package runs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/tasks"
)

// setState copies a run's state to its job or workflow, unless that has a later run. The version rises, so that readers
// fetch the job or workflow again.
func setState(t *db.Tx, source pleat.Source, run pleat.RunID, state pleat.State) {
	table := "job"
	if source.Job == "" {
		table = "workflow"
	}
	forget := ""
	if table == "job" && state.Terminal() { // that was deleted with its batch
		forget = `,
			sequences = CASE WHEN deleted_at = 0 THEN sequences ELSE '[]' END,
			constraints = CASE WHEN deleted_at = 0 THEN constraints ELSE '' END`
	}
	t.Send("UPDATE "+table+" SET state = $1, version = version + 1, updated_at = $2"+forget+
		" WHERE id = $3 AND run_id = $4",
		state, t.Now, source.ID(), run)
}

// MaxLogLines bounds the log lines stored of one run, over all its attempts. The last of them is a note that there
// were more.
const MaxLogLines = 2000

// addProgress appends to the events of a run and stores its newest stage with it. It does nothing if the run is gone.
func addProgress(t *db.Tx, run pleat.RunID, list []pleat.Progress) {
	addProgressWhere(t, "id = $1", []any{run}, list)
}

// addProgressOf is addProgress for the run of a task, if the lease on it is held.
func addProgressOf(t *db.Tx, l tasks.Lease, list []pleat.Progress) {
	addProgressWhere(t, `id = (
		SELECT k.run_id FROM task k WHERE k.id = $1 AND k.attempt = $2 AND k.worker_id = $3 AND k.state = 'running')`,
		[]any{l.Task, l.Attempt, l.Worker}, list)
}

// addProgressWhere is addProgress for the run that a condition on its columns selects. The counters in the run's row
// number the events and the log lines, so that they follow the order of the commits. The update locks the row.
func addProgressWhere(t *db.Tx, where string, args []any, list []pleat.Progress) {
	if len(list) == 0 {
		return
	}
	var rows []any
	var stage *pleat.Progress
	lines := 0
	for i := range list {
		p := list[i]
		if p.At.IsZero() {
			p.At = db.FromMicros(t.Now)
		}
		line := 0
		switch p.Kind {
		case pleat.ProgressLog:
			lines++
			line = lines
		case pleat.ProgressStage:
			stage = &list[i]
		}
		p.Seq = 0
		rows = append(rows, i+1, line, db.EncodeJSON(p))
	}
	countEvents(t, where, args, len(list), lines, stage)
	insertEvents(t, where, args, len(list), lines, rows)
}

// countEvents raises the counters of the run that a condition selects, and stores its newest stage; nil: it stays.
func countEvents(t *db.Tx, where string, args []any, events, lines int, stage *pleat.Progress) {
	n := len(args)
	set := fmt.Sprintf("event_seq = event_seq + $%d, log_lines = log_lines + $%d, changed_at = $%d", n+1, n+2, n+3)
	args = append(slices.Clone(args), events, lines, t.Now)
	if stage != nil {
		set += fmt.Sprintf(", stage = $%d, done = $%d, total = $%d", n+4, n+5, n+6)
		args = append(args, stage.Stage, stage.Done, stage.Total)
	}
	t.Ask("UPDATE run SET "+set+" WHERE "+where+" RETURNING id, project_id", args,
		func(scan func(...any) error) error { return notifyRun(t, scan) })
}

// notifyRun wakes those who wait for news of a run, by its id and its project's.
func notifyRun(t *db.Tx, scan func(...any) error) error {
	var run pleat.RunID
	var owner pleat.ProjectID
	err := scan(&run, &owner)
	t.Notify(Topic(run), OwnerTopic(owner))
	return err
}

// insertEvents stores events that countEvents has counted: rows of their number, that of their log line, and the body.
// Those of log lines beyond MaxLogLines are dropped.
func insertEvents(t *db.Tx, where string, args []any, events, lines int, list []any) {
	last := pleat.Progress{Kind: pleat.ProgressLog, At: db.FromMicros(t.Now), Line: "further lines are not stored"}
	n := len(args)
	args = append(slices.Clone(args), events, lines, db.EncodeJSON(last))
	line := fmt.Sprintf("(r.log_lines - $%d + v.column2)", n+2)
	for part := range db.RowParts(list, 3) {
		t.Send(fmt.Sprintf(`
			INSERT INTO run_event (run_id, seq, body)
			SELECT r.id, r.event_seq - $%d + v.column1,
				CASE WHEN v.column2 > 0 AND %s = %d THEN $%d ELSE v.column3 END
			FROM run r
			CROSS JOIN (%s) AS v
			WHERE r.%s AND (v.column2 = 0 OR %[2]s <= %[3]d)`,
			n+1, line, MaxLogLines, n+3, db.Values(n+4, len(part)/3, "bigint", "bigint", "text"), where),
			slices.Concat(args, part)...)
	}
}

// CancelledTasks lists the tasks that a worker holds and whose owner wants them stopped. The worker calls it when
// [tasks.WorkerTopic] has news, to stop them before its next heartbeat.
func (s *Store) CancelledTasks(ctx context.Context, worker pleat.WorkerID) ([]pleat.TaskID, error) {
	out, err := db.ColumnOf[pleat.TaskID](s.db.Read(ctx,
		"SELECT id FROM task WHERE state = 'running' AND worker_id = $1 AND cancel = 1", worker))
	return out, db.Unavailable("read cancels", err)
}

// Release returns the task of a run to its queue unfinished, at its old position, and no try is spent. A worker that
// shuts down in order returns it at once; one that cannot reach the artifacts, after a delay, so that it does not claim
// it again and again. A task that its owner has cancelled ends STOPPED. [pleat.ErrLost]: the lease is no longer held.
func (s *Store) Release(ctx context.Context, l tasks.Lease, delay time.Duration, progress []pleat.Progress) error {
	return s.db.Write(ctx, "release", func(t *db.Tx) error {
		if h, err := s.renewOrStop(t, l, progress); err != nil || h.Cancel {
			return err
		}
		tasks.Requeue(t, l, tasks.OutcomeReleased, delay)
		return nil
	})
}

// SaveCheckpoint names the blob from which the next attempt can resume. The blob must be stored already; the one before
// is then garbage. [pleat.ErrLost]: the lease is no longer held.
func (s *Store) SaveCheckpoint(ctx context.Context, l tasks.Lease, c pleat.Checkpoint) error {
	return s.db.Write(ctx, "save checkpoint", func(t *db.Tx) error {
		if _, err := tasks.Renew(t, l); err != nil {
			return err
		}
		_, err := t.Exec("UPDATE task SET checkpoint = $1, checkpoint_step = $2 WHERE id = $3", c.Key, c.Step, l.Task)
		return err
	})
}

// WaitingTask is the task of a run that no worker has now.
type WaitingTask struct {
	Queue  string
	Since  time.Time // when it was created, or its last attempt ended
	Until  time.Time // when it is queued again after an attempt that failed; zero: it is queued
	Before int       // tasks of the same queue that will be claimed before it, at most 1000
	Own    int       // those of them that belong to the same user
	// Paused says why the model of the task is paused; nil: it is not.
	Paused *string
	// The resources that the task expects: bytes, and the time by its model's manifest.
	Memory   int64
	Expected time.Duration
}

// WaitingTask reads the task of a run that waits; nil if it does not wait. The tasks before it do not include those
// that are claimed already, nor consider the memory that each expects.
func (s *Store) WaitingTask(ctx context.Context, run pleat.RunID) (*WaitingTask, error) {
	before := func(and string) string {
		return `(
			SELECT count(*) FROM (
				SELECT 1 FROM task o
				WHERE o.state = 'queued' AND o.queue = t.queue
					AND (o.position, o.id) < (t.position, t.id)` + and + `
				LIMIT 1000
			) AS ahead)`
	}
	var w WaitingTask
	err := s.db.ReadRow(ctx, `
		SELECT t.queue, t.memory, t.expected,
			COALESCE((SELECT max(a.ended_at) FROM attempt a WHERE a.task_id = t.id), t.created_at),
			CASE WHEN t.state = 'waiting' THEN t.run_at ELSE 0 END,
			`+before("")+`, `+before(" AND o.tenant = t.tenant")+`, m.reason
		FROM task t
		LEFT JOIN paused_queue p ON p.queue = t.queue
		LEFT JOIN paused_model m ON m.model = p.model
		WHERE t.run_id = $1 AND t.state IN ('queued', 'waiting')`,
		[]any{run}, &w.Queue, &w.Memory, db.ScanDuration(&w.Expected), db.ScanTime(&w.Since), db.ScanTime(&w.Until),
		&w.Before, &w.Own, &w.Paused)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &w, db.Unavailable("read queue", err)
}
