package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"pleat"
)

// Lease names one attempt at a task. The verbs that take one are fenced: they change nothing and return pleat.ErrLost
// once another attempt has begun or the task has ended. So a worker that was away too long cannot write over the work
// of its successor, whatever its clock says. A lease that has expired, but that nobody has taken over, is still held.
type Lease struct {
	Task    pleat.TaskID
	Attempt int
	Worker  pleat.WorkerID
}

// LeaseOf returns the lease under which a worker holds a claimed task.
func LeaseOf(t *pleat.Task) Lease { return Lease{t.ID, t.Attempt, t.Worker} }

// setState copies a run's state to its job or workflow, unless that has a later run. The version rises, so that readers
// fetch the job or workflow again.
func (t *tx) setState(source pleat.Source, run pleat.RunID, state pleat.State) {
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
	t.send("UPDATE "+table+" SET state = $1, version = version + 1, updated_at = $2"+forget+
		" WHERE id = $3 AND run_id = $4",
		state, t.now, source.ID(), run)
}

// The outcomes of an attempt, under which it is stored when it has ended.
const (
	OutcomeDone     = "done"
	OutcomeFailed   = "failed" // also if the task is tried again
	OutcomeStopped  = "stopped"
	OutcomeReleased = "released" // the worker returned the task unfinished
	OutcomeSearched = "searched" // an MSA search, whose files belong to the run, whichever attempt ends it
	OutcomeYielded  = "yielded"  // the next attempt continues its work
	OutcomeLost     = "lost"     // the lease expired
)

// heldTask is what the verbs need to know of a task that a worker holds.
type heldTask struct {
	held   bool        // else the lease is lost, and the rest is empty
	run    pleat.RunID // empty for deliveries and follow-ups
	queue  string
	cancel bool // its owner wants it stopped
}

// renew extends a lease to LeaseDuration from now, unless it lasts longer, and locks its task until the transaction
// ends; pleat.ErrLost if the lease is no longer held. Every fenced verb begins with it.
func (t *tx) renew(l Lease) (heldTask, error) {
	var h heldTask
	t.askRenew(l, &h)
	if err := t.wait(); err != nil {
		return h, err
	}
	return h, h.lost()
}

// askRenew is renew for a verb that has more to ask. After the wait, h.lost must be checked.
func (t *tx) askRenew(l Lease, h *heldTask) {
	t.ask(`
		UPDATE task SET lease_until = CASE WHEN lease_until > $1 THEN lease_until ELSE $1 END
		WHERE id = $2 AND attempt = $3 AND worker_id = $4 AND state = 'running'
		RETURNING COALESCE(run_id, ''), queue, cancel`,
		[]any{t.leaseEnd(0), l.Task, l.Attempt, l.Worker},
		func(scan func(...any) error) error {
			var cancel int64
			err := scan(&h.run, &h.queue, &cancel)
			h.held, h.cancel = true, cancel == 1
			return err
		})
}

// lost returns pleat.ErrLost if the lease was not held.
func (h *heldTask) lost() error {
	if !h.held {
		return pleat.ErrLost
	}
	return nil
}

// MaxLogLines bounds the log lines stored of one run, over all its attempts. The last of them is a note that there
// were more.
const MaxLogLines = 2000

// progress appends to the events of a run and stores its newest stage with it. It does nothing if the run is gone.
func (t *tx) progress(run pleat.RunID, list []pleat.Progress) {
	t.progressWhere("id = $1", []any{run}, list)
}

// progressOf is progress for the run of a task, if the lease on it is held.
func (t *tx) progressOf(l Lease, list []pleat.Progress) {
	t.progressWhere(`id = (
		SELECT k.run_id FROM task k WHERE k.id = $1 AND k.attempt = $2 AND k.worker_id = $3 AND k.state = 'running')`,
		[]any{l.Task, l.Attempt, l.Worker}, list)
}

// progressWhere is progress for the run that a condition on its columns selects. The counters in the run's row number
// the events and the log lines, so that they follow the order of the commits. The update locks the row.
func (t *tx) progressWhere(where string, args []any, list []pleat.Progress) {
	if len(list) == 0 {
		return
	}
	var rows []any
	var stage *pleat.Progress
	lines := 0
	for i := range list {
		p := list[i]
		if p.At.IsZero() {
			p.At = fromMicros(t.now)
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
		rows = append(rows, i+1, line, encodeJSON(p))
	}
	t.countEvents(where, args, len(list), lines, stage)
	t.insertEvents(where, args, len(list), lines, rows)
}

// countEvents raises the counters of the run that a condition selects, and stores its newest stage; nil: it stays.
func (t *tx) countEvents(where string, args []any, events, lines int, stage *pleat.Progress) {
	n := len(args)
	set := fmt.Sprintf("event_seq = event_seq + $%d, log_lines = log_lines + $%d, changed_at = $%d", n+1, n+2, n+3)
	args = append(slices.Clone(args), events, lines, t.now)
	if stage != nil {
		set += fmt.Sprintf(", stage = $%d, done = $%d, total = $%d", n+4, n+5, n+6)
		args = append(args, stage.Stage, stage.Done, stage.Total)
	}
	t.ask("UPDATE run SET "+set+" WHERE "+where+" RETURNING id, project_id", args, t.notifyRun)
}

// notifyRun wakes those who wait for news of a run, by its id and its project's.
func (t *tx) notifyRun(scan func(...any) error) error {
	var run pleat.RunID
	var owner pleat.ProjectID
	err := scan(&run, &owner)
	t.notify(RunTopic(run), OwnerTopic(owner))
	return err
}

// insertEvents stores events that countEvents has counted: rows of their number, that of their log line, and the body.
// Those of log lines beyond MaxLogLines are dropped.
func (t *tx) insertEvents(where string, args []any, events, lines int, list []any) {
	last := pleat.Progress{Kind: pleat.ProgressLog, At: fromMicros(t.now), Line: "further lines are not stored"}
	n := len(args)
	args = append(slices.Clone(args), events, lines, encodeJSON(last))
	line := fmt.Sprintf("(r.log_lines - $%d + v.column2)", n+2)
	for part := range rowParts(list, 3) {
		t.send(fmt.Sprintf(`
			INSERT INTO run_event (run_id, seq, body)
			SELECT r.id, r.event_seq - $%d + v.column1,
				CASE WHEN v.column2 > 0 AND %s = %d THEN $%d ELSE v.column3 END
			FROM run r
			CROSS JOIN (%s) AS v
			WHERE r.%s AND (v.column2 = 0 OR %[2]s <= %[3]d)`,
			n+1, line, MaxLogLines, n+3, values(n+4, len(part)/3, "bigint", "bigint", "text"), where),
			slices.Concat(args, part)...)
	}
}

// CancelledTasks lists the tasks that a worker holds and whose owner wants them stopped. The worker calls it when
// WorkerTopic has news, to stop them before its next heartbeat.
func (s *Store) CancelledTasks(ctx context.Context, worker pleat.WorkerID) ([]pleat.TaskID, error) {
	var out []pleat.TaskID
	rows, err := s.read(ctx, "SELECT id FROM task WHERE state = 'running' AND worker_id = $1 AND cancel = 1", worker)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var id pleat.TaskID
		if err := scan(&id); err != nil {
			return err
		}
		out = append(out, id)
		return nil
	})
	return out, unavailable("read cancels", err)
}

// Release returns the task of a run to its queue unfinished, at its old position, and no try is spent. A worker that
// shuts down in order returns it at once; one that cannot reach the artifacts, after a delay, so that it does not claim
// it again and again. A task that its owner has cancelled ends STOPPED. pleat.ErrLost: the lease is no longer held.
func (s *Store) Release(ctx context.Context, l Lease, delay time.Duration, progress []pleat.Progress) error {
	return s.write(ctx, "release", func(t *tx) error {
		h, err := t.renew(l)
		if err != nil {
			return err
		}
		t.progress(h.run, progress)
		if h.cancel {
			return t.stopRun(l, h.run)
		}
		t.requeue(l, OutcomeReleased, delay)
		return nil
	})
}

// requeue ends the attempt with an outcome and puts its running task back into its queue, at its position: at once, or
// after a delay, which Reap ends.
func (t *tx) requeue(l Lease, outcome string, delay time.Duration) {
	state := pleat.TaskQueued
	if delay > 0 {
		state = pleat.TaskWaiting
	}
	t.ask("UPDATE task SET state = $1, run_at = $2, lease_until = 0, worker_id = '' WHERE id = $3 RETURNING queue",
		[]any{state, t.now + delay.Microseconds(), l.Task},
		func(scan func(...any) error) error {
			var queue string
			err := scan(&queue)
			t.notify(QueueTopic(queue))
			return err
		})
	t.endAttempt(l, outcome, "")
}

// endAttempt writes the end of an attempt, once, and has it counted. Attempts at deliveries end elsewhere too, since
// they are not counted.
func (t *tx) endAttempt(l Lease, outcome, detail string) {
	t.send(`
		UPDATE attempt SET ended_at = $1, outcome = $2, detail = $3
		WHERE task_id = $4 AND number = $5 AND ended_at = 0`,
		t.now, outcome, detail, l.Task, l.Attempt)
	t.spent.attempts = append(t.spent.attempts, l)
}

// insertTask queues work: the id (empty: a new one), kind, queue, owner, tenant, subject and memory of k, with
// k.MaxTries tries (0: DefaultTries). Its position keeps tenants even: behind the tenant's own tasks, but not behind
// those of others. A tenant with nothing queued starts at the position that is being served now. The task of a delivery
// needs its row: it is not queued where insertDelivery has stored none.
func (t *tx) insertTask(k pleat.Task) {
	if k.MaxTries == 0 {
		k.MaxTries = DefaultTries
	}
	t.send(`
		INSERT INTO task (
			id, kind, queue, project_id, tenant, position, run_id, delivery_id, state, attempt, tries, max_tries,
			memory, expected, run_at, lease_until, worker_id, cancel, checkpoint, checkpoint_step, created_at, request)
		SELECT $1, $2, $3, $4, $5,
			CASE WHEN own >= served THEN own + 1 ELSE served END,
			NULLIF($6, ''), NULLIF($7, ''), 'queued', 0, 0, $8, $9, $10, $11, 0, '', 0, '', 0, $11, $12
		FROM `+fairOrderSQL("$3", "$5")+`
		WHERE $7 = '' OR EXISTS (SELECT 1 FROM delivery d WHERE d.id = $7)`,
		cmp.Or(k.ID, pleat.TaskID(newID())), k.Kind, k.Queue, k.Owner, k.Tenant, k.Run, k.Delivery, k.MaxTries,
		k.Memory, k.Expected.Microseconds(), t.now, k.Request)
	t.notify(QueueTopic(k.Queue))
}

// fairOrderSQL returns a subquery with one row and two columns: own, the last position of a tenant in a queue (NULL: it
// has none there), and served, the position at the queue's head (0: the queue is empty). Queue and tenant are SQL.
//
// A task that is inserted at own+1, or at served if that is more, shares the queue evenly: the n-th tasks of all
// tenants have about the same position, and a tenant that was idle gets no credit for it. Both subqueries are answered
// from an index.
func fairOrderSQL(queue, tenant string) string {
	return `(
		SELECT
			(
				SELECT max(q.position) FROM task q
				WHERE q.state = 'queued' AND q.queue = ` + queue + ` AND q.tenant = ` + tenant + `
			) AS own,
			COALESCE((
				SELECT min(q.position) FROM task q WHERE q.state = 'queued' AND q.queue = ` + queue + `
			), 0) AS served
		) AS fair_order`
}

// SaveCheckpoint names the blob from which the next attempt can resume. The blob must be stored already; the one before
// is then garbage. pleat.ErrLost: the lease is no longer held.
func (s *Store) SaveCheckpoint(ctx context.Context, l Lease, c pleat.Checkpoint) error {
	return s.write(ctx, "save checkpoint", func(t *tx) error {
		if _, err := t.renew(l); err != nil {
			return err
		}
		_, err := t.exec("UPDATE task SET checkpoint = $1, checkpoint_step = $2 WHERE id = $3", c.Key, c.Step, l.Task)
		return err
	})
}

// maxCounted bounds how many tasks of a queue and state QueueCounts counts.
const maxCounted = 100_000

// QueueCounts returns the number of tasks by queue and state, without ended ones. All deliveries count as one queue,
// since each endpoint has one of its own. Of the queued tasks, at most 100,000 of each queue are counted, and the
// oldest is that of the first 1000 in its order; of those that wait and that run, at most 100,000 of all queues. So a
// long queue is not read to its end.
func (s *Store) QueueCounts(ctx context.Context) ([]QueueCount, error) {
	queues, err := s.queuesFilled(ctx)
	if err != nil {
		return nil, unavailable("list queues", err)
	}
	out := []QueueCount{}
	for _, queue := range queues {
		q, args := countQueued, []any{maxCounted, queue}
		if queue == string(pleat.TaskDeliver) {
			q, args = countDeliveries, args[:1]
		}
		c := QueueCount{Queue: queue, State: pleat.TaskQueued}
		var at *int64
		if err := s.readRow(ctx, q, args, &c.N, &at); err != nil {
			return nil, unavailable("count tasks", err)
		}
		if at != nil { // else the tasks were claimed meanwhile
			c.Oldest = fromMicros(*at)
			out = append(out, c)
		}
	}
	rest, err := s.unqueuedCounts(ctx, maxCounted)
	return append(out, rest...), unavailable("count tasks", err)
}

// The queries that count queued tasks, at most $1: those of the queue $2 in its index alone, and the deliveries, whose
// index does not have the order of any queue.
const (
	countQueued = `
		SELECT
			(
				SELECT count(*)
				FROM (SELECT 1 FROM task WHERE state = 'queued' AND queue = $2 LIMIT $1) AS counted
			),
			(
				SELECT min(created_at)
				FROM (
					SELECT created_at FROM task
					WHERE state = 'queued' AND queue = $2
					ORDER BY position, id
					LIMIT 1000
				) AS ahead
			)`
	countDeliveries = `
		SELECT count(*), min(created_at)
		FROM (SELECT created_at FROM task WHERE state = 'queued' AND kind = 'deliver' LIMIT $1) AS counted`
)

// filledQueues is a query of the queues that have queued tasks, and filledQueuesOnce names them as QueueCounts does. It
// steps from queue to queue through an index, and over those of all endpoints at once: their ids are hexadecimal, so
// that no queue of one is behind the letter g.
const (
	filledQueues = `
		WITH RECURSIVE filled (queue) AS (
			SELECT min(queue) FROM task WHERE state = 'queued'
			UNION ALL
			SELECT (
				SELECT min(k.queue) FROM task k
				WHERE k.state = 'queued' AND k.queue > CASE
					WHEN filled.queue LIKE '` + deliveryQueuePrefix + `%' THEN '` + deliveryQueuePrefix + `g'
					ELSE filled.queue END
			)
			FROM filled
			WHERE filled.queue IS NOT NULL
		)`
	filledQueuesOnce = `
		SELECT CASE WHEN queue LIKE '` + deliveryQueuePrefix + `%' THEN 'deliver' ELSE queue END AS queue
		FROM filled
		WHERE queue IS NOT NULL`
)

// queuesFilled lists the queues that have queued tasks.
func (s *Store) queuesFilled(ctx context.Context) ([]string, error) {
	var out []string
	rows, err := s.read(ctx, filledQueues+filledQueuesOnce)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		out = append(out, "")
		return scan(&out[len(out)-1])
	})
	return out, err
}

// unqueuedCounts counts the tasks that wait, those due next first, and those that run, by queue: at most so many of
// each state.
func (s *Store) unqueuedCounts(ctx context.Context, most int) ([]QueueCount, error) {
	var out []QueueCount
	rows, err := s.read(ctx, unqueuedTasks(most))
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var c QueueCount
		var at int64
		if err := scan(&c.Queue, &c.State, &c.N, &at); err != nil {
			return err
		}
		c.Oldest = fromMicros(at)
		out = append(out, c)
		return nil
	})
	return out, err
}

// unqueuedTasks is the query of unqueuedCounts.
func unqueuedTasks(most int) string {
	const queue = "CASE WHEN kind = 'deliver' THEN 'deliver' ELSE queue END"
	count := func(state, order string) string {
		return `
		SELECT ` + queue + `, state, count(*), min(created_at)
		FROM (
			SELECT queue, kind, state, created_at FROM task
			WHERE state = '` + state + `'
			ORDER BY ` + order + `
			LIMIT ` + strconv.Itoa(most) + `
		) AS page_counted
		GROUP BY ` + queue + `, state`
	}
	return count("waiting", "run_at") + " UNION ALL " + count("running", "id")
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
	// What the task expects: bytes, and the time by its model's manifest.
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
	var since, until, expected int64
	err := s.readRow(ctx, `
		SELECT t.queue, t.memory, t.expected,
			COALESCE((SELECT max(a.ended_at) FROM attempt a WHERE a.task_id = t.id), t.created_at),
			CASE WHEN t.state = 'waiting' THEN t.run_at ELSE 0 END,
			`+before("")+`, `+before(" AND o.tenant = t.tenant")+`, m.reason
		FROM task t
		LEFT JOIN paused_queue p ON p.queue = t.queue
		LEFT JOIN paused_model m ON m.model = p.model
		WHERE t.run_id = $1 AND t.state IN ('queued', 'waiting')`,
		[]any{run}, &w.Queue, &w.Memory, &expected, &since, &until, &w.Before, &w.Own,
		&w.Paused)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	w.Since, w.Until, w.Expected = fromMicros(since), fromMicros(until), time.Duration(expected)*time.Microsecond
	return &w, unavailable("read queue", err)
}
