package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pleat"
)

// ClaimFilter selects the tasks that a worker claims.
type ClaimFilter struct {
	Queues []string
	N      int   // at most
	Memory int64 // bytes that a task may expect to use; 0: unlimited
	// Left is how long the tasks may be expected to run, as measured on workers of the class; 0: for ever.
	Left  time.Duration
	Class string
	Owner pleat.ProjectID // of the tasks; empty: any
	// Waited is how long the tasks must have been in their queue; 0: any time.
	Waited time.Duration
	Lease  time.Duration // how long the claim lasts without a heartbeat; 0: pleat.LeaseDuration
}

// Claim leases queued tasks to a worker: from the first queue as many as there are, then from the next, and in each in
// fair order. Each task gets the next attempt number. The input of each task is read in the same transaction, and its
// run moves to RUNNING.
//
// Two workers never get the same task: PostgreSQL skips rows that another claim has locked, SQLite has one writer. A
// claim may be lost in a crash of the machine; the task is then queued again.
func (s *Store) Claim(
	ctx context.Context, worker pleat.WorkerID, filter ClaimFilter,
) ([]ClaimedTask, error) {
	return s.ClaimFor(ctx, slices.Repeat([]pleat.WorkerID{worker}, max(0, filter.N)), filter)
}

// ClaimFor is Claim for several workers in one transaction: the i-th task that is claimed is leased to the i-th worker
// of the list, so at most as many are claimed as it has places. A worker may have several. It ignores filter.N.
func (s *Store) ClaimFor(
	ctx context.Context, workers []pleat.WorkerID, filter ClaimFilter,
) ([]ClaimedTask, error) {
	if len(workers) == 0 {
		return nil, nil
	}
	var c *claim
	err := s.writeAsync(ctx, "claim", func(t *tx) error {
		c = newClaim(t, filter.Lease)
		for _, queue := range filter.Queues {
			if slices.ContainsFunc(workers, func(w pleat.WorkerID) bool { return w != workers[0] }) {
				for first := 0; first < len(workers); first += maxStatementRows {
					c.forEach(workers[first:min(first+maxStatementRows, len(workers))], first, queue, filter)
				}
			} else {
				c.forOne(workers[0], queue, len(workers), filter)
			}
		}
		c.start()
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.complete()
	c.sort(filter.Queues)
	s.metrics.start(c.tasks, filter.Class)
	return c.tasks, nil
}

// claim is a transaction that leases tasks. Its statements find the tasks of those before them by the id of the claim,
// so that all of them can be sent together.
type claim struct {
	*tx
	id    string
	lease time.Duration // 0: pleat.LeaseDuration
	asked bool          // a statement that leases was sent
	tasks []ClaimedTask
	runs  map[pleat.RunID]int // where tasks has the task of a run
	// faults has why the input of a run cannot be read. A callback must not return it: it would strand the other tasks.
	faults map[pleat.RunID]error
}

func newClaim(t *tx, lease time.Duration) *claim {
	return &claim{
		tx:     t,
		id:     newID(),
		lease:  lease,
		runs:   map[pleat.RunID]int{},
		faults: map[pleat.RunID]error{},
	}
}

// claimedTasks is the task k of a claim whose id is $1, for FROM.
const claimedTasks = "(SELECT * FROM task WHERE state = 'running' AND claim = $1) AS k"

// taken returns SQL for how many tasks the claim has leased, whose id is a parameter.
func (c *claim) taken(id string) string {
	if !c.asked {
		c.asked = true
		return "0"
	}
	return "(SELECT count(*) FROM task c WHERE c.state = 'running' AND c.claim = " + id + ")"
}

// forOne leases tasks of one queue to one worker, as long as the claim has fewer than n.
func (c *claim) forOne(worker pleat.WorkerID, queue string, n int, filter ClaimFilter) {
	c.fromQueue(worker, queue, n, c.taken("$3"), filter)
}

// fromQueue leases up to n tasks of one queue, less a number in SQL, to one worker. It raises the attempt, which fences
// off every lease on the task that was given before.
func (c *claim) fromQueue(worker pleat.WorkerID, queue string, n int, less string, filter ClaimFilter) {
	limits, args := filter.limits(c.now, 5, []any{worker, c.leaseEnd(c.lease), c.id, queue, n})
	c.ask(`
		UPDATE task
		SET state = 'running', attempt = attempt + 1, worker_id = $1, lease_until = $2, claim = $3
		WHERE id `+c.inLimited(`
			SELECT id FROM task
			WHERE state = 'queued' AND queue = $4`+unlessPaused(queue, "$4")+limits+`
			ORDER BY position, id
			LIMIT $5 - `+less+`
			FOR UPDATE SKIP LOCKED`)+`
		RETURNING `+claimedColumns,
		args, c.scan)
}

// unlessPaused is the condition, after an AND, that the model of a queue is not paused. The queue is a parameter too.
// Those of deliveries and follow-ups have no model.
func unlessPaused(queue, param string) string {
	if !pleat.IsWorkerQueue(queue) {
		return ""
	}
	return " AND " + notPaused(param)
}

// inLimited returns the condition that a column is among the rows of a query whose LIMIT is computed. PostgreSQL takes
// such a limit for a tenth of the table, for which it would read all of the table; an array it takes for ten rows.
func (t *tx) inLimited(query string) string {
	if t.pg == nil {
		return "IN (" + query + ")"
	}
	return "= ANY (ARRAY(" + query + "))"
}

// forEach leases tasks of one queue to workers, at most maxStatementRows: the i-th task of the claim goes to the i-th
// worker of the claim, of whom so many come first that are not in the list. It leases none while one of those has none.
func (c *claim) forEach(workers []pleat.WorkerID, first int, queue string, filter ClaimFilter) {
	args := []any{c.leaseEnd(c.lease), c.id, queue, first, first + len(workers)}
	var places []any
	for i, w := range workers {
		places = append(places, first+i+1, string(w))
	}
	from := len(args) + 1
	for part := range paddedRowParts(places, 2) { // there is one
		args = append(args, part...)
	}
	rowsOf := values(from, padded(len(workers)), "bigint", "text")
	limits, args := filter.limits(c.now, len(args), args)
	taken := c.taken("$2")
	c.ask(`
		WITH free (claimed, place) AS MATERIALIZED (
			SELECT f.id, `+taken+` + row_number() OVER (ORDER BY f.position, f.id)
			FROM (
				SELECT id, position FROM task
				WHERE state = 'queued' AND queue = $3`+unlessPaused(queue, "$3")+limits+`
				ORDER BY position, id
				LIMIT CASE WHEN `+taken+` BETWEEN $4 AND $5 THEN $5 - `+taken+` ELSE 0 END
				FOR UPDATE SKIP LOCKED
			) AS f
		)
		UPDATE task
		SET state = 'running', attempt = attempt + 1, worker_id = v.column2, lease_until = $1, claim = $2
		FROM free
		JOIN (`+rowsOf+`) AS v ON v.column1 = free.place
		WHERE task.id = free.claimed AND task.id `+c.inLimited("SELECT claimed FROM free")+`
		RETURNING `+claimedColumns,
		args, c.scan)
}

// scan reads a task that the claim has leased.
func (c *claim) scan(scan func(...any) error) error {
	k := ClaimedTask{Claimed: fromMicros(c.now)}
	var r taskRow
	if err := scan(r.into(&k.Task)...); err != nil {
		return err
	}
	r.fill(&k.Task)
	c.runs[k.Task.Run] = len(c.tasks)
	c.tasks = append(c.tasks, k)
	return nil
}

// sort puts the tasks into the order of their queues and in each into the fair one, since RETURNING has none.
func (c *claim) sort(queues []string) {
	order := map[string]int{}
	for i, q := range queues {
		order[q] = i
	}
	slices.SortFunc(c.tasks, func(a, b ClaimedTask) int {
		return cmp.Or(
			cmp.Compare(order[a.Task.Queue], order[b.Task.Queue]),
			cmp.Compare(a.Task.Position, b.Task.Position),
			cmp.Compare(a.Task.ID, b.Task.ID))
	})
}

// complete drops the tasks whose input cannot be read, such as that of a later version: their leases expire.
func (c *claim) complete() {
	c.tasks = slices.DeleteFunc(c.tasks, func(k ClaimedTask) bool {
		lacks := k.Fold == nil && k.Workflow == nil
		if lacks {
			c.s.log.Error("store: the input of a task cannot be read", "task", k.Task.ID, "run", k.Task.Run,
				"error", c.faults[k.Task.Run])
		}
		return lacks
	})
}

// leaseEnd is when a lease that is given or renewed now ends, in microseconds; 0 stands for pleat.LeaseDuration.
func (t *tx) leaseEnd(d time.Duration) int64 {
	return t.now + cmp.Or(d, pleat.LeaseDuration).Microseconds()
}

// limits returns the conditions on a task of the queues of a filter, each after an AND, and args with their parameters.
// The parameters up to $n are taken already. Now is the time in microseconds.
func (f *ClaimFilter) limits(now int64, n int, args []any) (string, []any) {
	sql := ""
	param := func(v any) string {
		n++
		args = append(args, v)
		return fmt.Sprintf("$%d", n)
	}
	if f.Memory > 0 {
		sql += " AND memory <= " + param(f.Memory)
	}
	if f.Owner != "" {
		sql += " AND project_id = " + param(string(f.Owner))
	}
	if f.Left > 0 {
		sql += " AND " + timeNeededSQL(param(f.Class)) + " <= CAST(" + param(f.Left.Microseconds()) + " AS bigint)"
	}
	if f.Waited > 0 {
		sql += " AND run_at <= " + param(now-f.Waited.Microseconds())
	}
	return sql, args
}

// NeedsFreshWorker reports whether a task waits that a worker with the filter own cannot claim, but that one with the
// filter fresh can. Both have the same queues.
func (s *Store) NeedsFreshWorker(ctx context.Context, own, fresh ClaimFilter) (bool, error) {
	queues := make([]any, len(fresh.Queues))
	for i, q := range fresh.Queues {
		queues[i] = q
	}
	if len(queues) == 0 {
		return false, nil
	}
	now := s.now()
	limits, args := fresh.limits(now, len(queues), queues)
	refused, args := own.limits(now, len(args), args)
	var needed bool
	err := s.readRow(ctx, `
		SELECT EXISTS (
			SELECT 1 FROM task
			WHERE state = 'queued' AND queue IN (`+params(1, len(queues))+`)`+limits+`
				AND queue NOT IN (SELECT p.queue FROM paused_queue p)
				AND NOT (state = 'queued'`+refused+`))`,
		args, &needed)
	return needed, unavailable("look for tasks", err)
}

// claimedColumns are the columns of a claimed task that taskRow scans.
const claimedColumns = `id, kind, queue, project_id, tenant, position, COALESCE(run_id, ''), COALESCE(delivery_id, ''),
	attempt, tries, max_tries, memory, expected, cancel, checkpoint, checkpoint_step, created_at, request, worker_id,
	lease_until, run_at`

// taskRow holds the columns of a claimed task whose types differ from those of Task; see jobRow.
type taskRow struct{ expected, cancel, created, until, ready int64 }

// into returns where to scan claimedColumns; fill then completes the task.
func (r *taskRow) into(k *pleat.Task) []any {
	return []any{
		&k.ID, &k.Kind, &k.Queue, &k.Owner, &k.Tenant, &k.Position, &k.Run, &k.Delivery, &k.Attempt, &k.Tries,
		&k.MaxTries, &k.Memory, &r.expected, &r.cancel, &k.Checkpoint.Key, &k.Checkpoint.Step, &r.created, &k.Request,
		&k.Worker, &r.until, &r.ready,
	}
}

func (r *taskRow) fill(k *pleat.Task) {
	k.State, k.LeaseUntil, k.RunAt = pleat.TaskRunning, fromMicros(r.until), fromMicros(r.ready)
	k.Expected = time.Duration(r.expected) * time.Microsecond
	k.Cancel, k.Created = r.cancel == 1, fromMicros(r.created)
}

// start records the attempts at the tasks, moves their runs to RUNNING and reads their input.
func (c *claim) start() {
	if c.pg == nil && len(c.tasks) == 0 {
		return // SQLite has run the statements already
	}
	c.recordAttempts()
	c.setRunning()
	c.loadFolds()
	c.loadWorkflows()
	c.loadEarlierAttempts()
}

// recordAttempts records the attempts, with what they have of their workers.
func (c *claim) recordAttempts() {
	c.send(`
		INSERT INTO attempt (
			task_id, number, worker_id, started_at, run_id, delivery_id, ended_at, outcome, detail, gpus, cores)
		SELECT k.id, k.attempt, k.worker_id, $2, k.run_id, k.delivery_id, 0, '', '', u.gpus, u.cores
		FROM `+claimedTasks+`
		LEFT JOIN worker_use u ON u.worker_id = k.worker_id AND u.queue = k.queue`,
		c.id, c.now)
}

// setRunning moves the runs of the tasks, with their jobs and workflows, to RUNNING, the first time each is claimed. A
// job or workflow that has a later run keeps its state.
func (c *claim) setRunning() {
	c.ask(`
		UPDATE run SET state = $2, started_at = $3, changed_at = $3, event_seq = event_seq + 1
		WHERE state <> $2 AND id IN (SELECT k.run_id FROM `+claimedTasks+`)
		RETURNING id, project_id`,
		[]any{c.id, pleat.StateRunning, c.now}, c.notifyRun)
	for _, table := range []string{"job", "workflow"} {
		c.send(`
			UPDATE `+table+` SET state = $2, version = version + 1, updated_at = $3
			WHERE state <> $2
				AND id IN (SELECT r.`+table+`_id FROM `+claimedTasks+` JOIN run r ON r.id = k.run_id)
				AND run_id IN (SELECT k.run_id FROM `+claimedTasks+`)`,
			c.id, pleat.StateRunning, c.now)
	}
	// A run that was RUNNING before has an event of this number already.
	c.send(`
		INSERT INTO run_event (run_id, seq, body)
		SELECT r.id, r.event_seq, $2
		FROM `+claimedTasks+`
		JOIN run r ON r.id = k.run_id
		WHERE r.started_at = $3
		ON CONFLICT DO NOTHING`,
		c.id, encodeJSON(pleat.Progress{
			Kind: pleat.ProgressState, State: pleat.StateRunning, At: fromMicros(c.now),
		}), c.now)
}

// loadFolds reads the input of the folds.
func (c *claim) loadFolds() {
	c.ask(`
		SELECT `+jobColumns+", "+runColumns+`, r.fresh, r.trace
		FROM `+claimedTasks+`
		JOIN run r ON r.id = k.run_id
		JOIN job j ON j.id = r.job_id
		WHERE k.kind = 'fold'`,
		[]any{c.id}, c.scanFold)
}

// scanFold reads the input of a fold into the claim of its run.
func (c *claim) scanFold(scan func(...any) error) error {
	var j pleat.Job
	var u pleat.Run
	var jr jobRow
	var rr runRow
	var fresh int64
	var trace string
	if err := scan(append(append(jr.into(&j), rr.into(&u)...), &fresh, &trace)...); err != nil {
		return err
	}
	if err := errors.Join(jr.fill(&j), rr.fill(&u)); err != nil {
		c.faults[u.ID] = err
		return nil
	}
	k := &c.tasks[c.runs[u.ID]]
	k.Fold = &pleat.FoldInput{
		Job:         j.ID,
		Run:         u.ID,
		Owner:       j.Owner,
		LibraryItem: j.LibraryItem,
		Name:        j.Name,
		Sequences:   j.Sequences,
		Params:      u.Params,
		Seed:        u.Seed,
		Constraints: j.Constraints,
		Complex:     j.Complex,
	}
	k.Queued, k.Seed, k.Fresh, k.Trace = u.CreatedAt, u.Seed, fresh == 1, trace
	return nil
}

// loadWorkflows reads the workflows that the tasks execute.
func (c *claim) loadWorkflows() {
	c.ask(`
		SELECT `+workflowColumns+", "+runColumns+`, r.trace
		FROM `+claimedTasks+`
		JOIN run r ON r.id = k.run_id
		JOIN workflow w ON w.id = r.workflow_id`,
		[]any{c.id},
		func(scan func(...any) error) error {
			var w pleat.Workflow
			var u pleat.Run
			var fr workflowRow
			var rr runRow
			var trace string
			if err := scan(append(append(fr.into(&w), rr.into(&u)...), &trace)...); err != nil {
				return err
			}
			fr.fill(&w)
			if err := rr.fill(&u); err != nil {
				c.faults[u.ID] = err
				return nil
			}
			k := &c.tasks[c.runs[u.ID]]
			k.Workflow, k.Queued, k.Seed, k.Trace = &w, u.CreatedAt, u.Seed, trace
			return nil
		})
}

// loadEarlierAttempts reads how long earlier attempts at the tasks ran, and those of them that yielded, and what the
// MSA search before a fold has published: the files of the last attempt that ended as searched.
func (c *claim) loadEarlierAttempts() {
	const searched = "'" + OutcomeSearched + "'"
	c.ask(`
		SELECT k.run_id, o.outcome, o.ended_at - o.started_at
		FROM `+claimedTasks+`
		JOIN attempt o ON o.task_id = k.id
		WHERE k.attempt > 1 AND o.ended_at > 0
		ORDER BY o.number`,
		[]any{c.id},
		func(scan func(...any) error) error {
			var run pleat.RunID
			var outcome string
			var micros int64
			if err := scan(&run, &outcome, &micros); err != nil {
				return err
			}
			k, took := &c.tasks[c.runs[run]], time.Duration(micros)*time.Microsecond
			k.Earlier += took
			switch outcome {
			case OutcomeSearched:
				k.SearchDuration, k.Alignments = took, []pleat.Artifact{}
			case OutcomeYielded:
				k.Worked += took
			}
			return nil
		})
	c.ask(`
		SELECT `+artifactColumns+`
		FROM `+claimedTasks+`
		JOIN attempt o ON o.task_id = k.id AND o.outcome = `+searched+`
		JOIN artifact a ON a.run_id = k.run_id AND a.attempt = o.number
		WHERE k.attempt > 1 AND k.kind = 'fold' AND NOT EXISTS (
			SELECT 1 FROM attempt p WHERE p.task_id = o.task_id AND p.outcome = `+searched+` AND p.number > o.number)
		ORDER BY a.id`,
		[]any{c.id},
		func(scan func(...any) error) error {
			a, err := scanArtifact(scan)
			k := &c.tasks[c.runs[a.Run]]
			k.Alignments = append(k.Alignments, a)
			return err
		})
}
