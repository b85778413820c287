package store

import (
	"cmp"
	"context"
	"database/sql"
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
	Owner pleat.UserID  // of the tasks; empty: any
	Lease time.Duration // how long the claim lasts without a heartbeat; 0: pleat.LeaseDuration
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
	var out []ClaimedTask
	err := s.writeAsync(ctx, "claim", func(t *tx) error {
		out = nil
		for _, queue := range filter.Queues {
			got, err := t.claim(workers[len(out):], queue, filter)
			if err != nil {
				return err
			}
			out = append(out, got...)
		}
		return t.start(out)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// claim leases tasks of one queue in fair order: by position, then by age. The i-th goes to the i-th worker.
func (t *tx) claim(workers []pleat.WorkerID, queue string, filter ClaimFilter) ([]ClaimedTask, error) {
	if len(workers) == 0 {
		return nil, nil
	}
	if !slices.ContainsFunc(workers, func(w pleat.WorkerID) bool { return w != workers[0] }) {
		return t.claimForOne(workers[0], queue, len(workers), filter)
	}
	var out []ClaimedTask
	for part := range slices.Chunk(workers, maxStatementRows) {
		got, err := t.claimForEach(part, queue, filter)
		if err != nil {
			return nil, err
		}
		if out = append(out, got...); len(got) < len(part) {
			break
		}
	}
	return out, nil
}

// claimForOne leases up to n tasks of one queue to one worker.
func (t *tx) claimForOne(worker pleat.WorkerID, queue string, n int, filter ClaimFilter) ([]ClaimedTask, error) {
	limits, args := filter.limits(4, []any{queue, n})
	out, err := t.claimWhere(`
		SELECT id FROM task
		WHERE state = 'queued' AND queue = $3`+limits+`
		ORDER BY position, id
		LIMIT $4
		FOR UPDATE SKIP LOCKED`,
		worker, filter.Lease, args...)
	sortClaimed(out)
	return out, err
}

// claimForEach leases tasks of one queue to several workers, at most maxStatementRows.
func (t *tx) claimForEach(workers []pleat.WorkerID, queue string, filter ClaimFilter) ([]ClaimedTask, error) {
	args := []any{t.leaseEnd(filter.Lease), queue, len(workers)}
	var places []any
	for i, w := range workers {
		places = append(places, i+1, string(w))
	}
	from := len(args) + 1
	for part := range paddedRowParts(places, 2) { // there is one
		args = append(args, part...)
	}
	rowsOf := values(from, padded(len(workers)), "bigint", "text")
	limits, args := filter.limits(len(args), args)
	rows, err := t.query(`
		WITH free (claimed, place) AS MATERIALIZED (
			SELECT f.id, row_number() OVER (ORDER BY f.position, f.id)
			FROM (
				SELECT id, position FROM task
				WHERE state = 'queued' AND queue = $2`+limits+`
				ORDER BY position, id
				LIMIT $3
				FOR UPDATE SKIP LOCKED
			) AS f
		)
		UPDATE task
		SET state = 'running', attempt = attempt + 1, worker_id = v.column2, lease_until = $1
		FROM free
		JOIN (`+rowsOf+`) AS v ON v.column1 = free.place
		WHERE task.id = free.claimed
		RETURNING `+claimedColumns,
		args...)
	out, err := t.scanClaims(rows, err)
	sortClaimed(out)
	return out, err
}

// sortClaimed puts tasks of one queue into its fair order, since RETURNING has none.
func sortClaimed(list []ClaimedTask) {
	slices.SortFunc(list, func(a, b ClaimedTask) int {
		return cmp.Or(cmp.Compare(a.Task.Position, b.Task.Position), cmp.Compare(a.Task.ID, b.Task.ID))
	})
}

// leaseEnd is when a lease that is given or renewed now ends, in microseconds; 0 stands for pleat.LeaseDuration.
func (t *tx) leaseEnd(d time.Duration) int64 {
	return t.now + cmp.Or(d, pleat.LeaseDuration).Microseconds()
}

// limits returns the conditions on a task of the queues of a filter, each after an AND, and args with their parameters.
// The parameters up to $n are taken already.
func (f *ClaimFilter) limits(n int, args []any) (string, []any) {
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
		sql += " AND tenant = " + param(string(f.Owner))
	}
	if f.Left > 0 {
		sql += " AND " + timeNeededSQL(param(f.Class)) + " <= CAST(" + param(f.Left.Microseconds()) + " AS bigint)"
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
	limits, args := fresh.limits(len(queues), queues)
	refused, args := own.limits(len(args), args)
	var needed bool
	err := s.readRow(ctx, `
		SELECT EXISTS (
			SELECT 1 FROM task
			WHERE state = 'queued' AND queue IN (`+params(1, len(queues))+`)`+limits+`
				AND NOT (state = 'queued'`+refused+`))`,
		args, &needed)
	return needed, unavailable("look for tasks", err)
}

// claimWhere claims the tasks whose ids a query returns. The parameters of the query begin at $3. It raises the
// attempt, which fences off every lease on the task that was given before, and leaves the recording of the attempt to
// the caller.
func (t *tx) claimWhere(
	ids string, worker pleat.WorkerID, lease time.Duration, args ...any,
) ([]ClaimedTask, error) {
	rows, err := t.query(`
		UPDATE task
		SET state = 'running', attempt = attempt + 1, worker_id = $1, lease_until = $2
		WHERE id IN (`+ids+`)
		RETURNING `+claimedColumns,
		append([]any{worker, t.leaseEnd(lease)}, args...)...)
	return t.scanClaims(rows, err)
}

// claimedColumns are the columns of a claimed task that scanClaimedTask reads.
const claimedColumns = `id, kind, queue, account_id, tenant, position, COALESCE(run_id, ''), COALESCE(delivery_id, ''),
	attempt, tries, max_tries, memory, expected, cancel, checkpoint, checkpoint_step, created_at, request, worker_id,
	lease_until, run_at`

// scanClaims reads the tasks that a claim returns.
func (t *tx) scanClaims(rows rows, err error) ([]ClaimedTask, error) {
	var out []ClaimedTask
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		c := ClaimedTask{Claimed: fromMicros(t.now)}
		err := scanClaimedTask(scan, &c.Task)
		out = append(out, c)
		return err
	})
	return out, err
}

// scanClaimedTask reads a task that a worker holds.
func scanClaimedTask(scan func(...any) error, k *pleat.Task) error {
	var r taskRow
	if err := scan(r.into(k)...); err != nil {
		return err
	}
	r.fill(k)
	return nil
}

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

// start records the attempts at claimed tasks, moves their runs to RUNNING and reads their input.
func (t *tx) start(list []ClaimedTask) error {
	tasks := tasksOf(list)
	if err := t.insertAttempts(tasks); err != nil {
		return err
	}
	if err := t.setRunning(tasks); err != nil {
		return err
	}
	return t.loadInputs(list)
}

// tasksOf returns the tasks of claims.
func tasksOf(list []ClaimedTask) []*pleat.Task {
	out := make([]*pleat.Task, len(list))
	for i := range list {
		out[i] = &list[i].Task
	}
	return out
}

// insertAttempts records the attempts at tasks that were claimed.
func (t *tx) insertAttempts(tasks []*pleat.Task) error {
	var args []any
	for _, k := range tasks {
		args = append(args, string(k.ID), k.Attempt, string(k.Worker), t.now, string(k.Run), string(k.Delivery))
	}
	for part := range t.idempotentRowParts(args, 6) {
		if _, err := t.exec(`
			INSERT INTO attempt (task_id, number, worker_id, started_at, run_id, delivery_id, ended_at, outcome, detail)
			SELECT v.column1, v.column2, v.column3, v.column4, NULLIF(v.column5, ''), NULLIF(v.column6, ''), 0, '', ''
			FROM (`+values(1, len(part)/6, "text", "bigint", "text", "bigint", "text", "text")+`) AS v
			WHERE true
			ON CONFLICT DO NOTHING`,
			part...); err != nil {
			return err
		}
	}
	return nil
}

// setRunning moves the runs of claimed tasks, with their jobs and workflows, to RUNNING, the first time each is
// claimed. A job or workflow that has a later run keeps its state.
func (t *tx) setRunning(tasks []*pleat.Task) error {
	body := encodeJSON(pleat.Progress{Kind: pleat.ProgressState, State: pleat.StateRunning, At: fromMicros(t.now)})
	var ids []any
	for _, k := range tasks {
		ids = append(ids, string(k.Run))
	}
	for part := range slices.Chunk(ids, maxStatementRows) {
		var runs, jobs, workflows, events []any
		rows, err := t.query(`
			UPDATE run SET state = $1, started_at = $2, changed_at = $2, event_seq = event_seq + 1
			WHERE state <> $1 AND id IN (`+params(3, padded(len(part)))+`)
			RETURNING id, COALESCE(job_id, ''), COALESCE(workflow_id, ''), account_id, event_seq`,
			append([]any{pleat.StateRunning, t.now}, pad(part)...)...)
		err = forEachRow(rows, err, func(scan func(...any) error) error {
			var run pleat.RunID
			var job, workflow string
			var owner pleat.UserID
			var seq int64
			if err := scan(&run, &job, &workflow, &owner, &seq); err != nil {
				return err
			}
			runs, events = append(runs, string(run)), append(events, string(run), seq, body)
			if job != "" {
				jobs = append(jobs, job)
			} else {
				workflows = append(workflows, workflow)
			}
			t.notify(RunTopic(run), OwnerTopic(owner))
			return nil
		})
		if err != nil {
			return err
		}
		if err := t.setRunningOf("job", jobs, runs); err != nil {
			return err
		}
		if err := t.setRunningOf("workflow", workflows, runs); err != nil {
			return err
		}
		if err := t.insertEvents(events); err != nil {
			return err
		}
	}
	return nil
}

// setRunningOf moves the jobs or workflows, of the table with this name, that have one of the runs as their latest to
// RUNNING; see setState.
func (t *tx) setRunningOf(table string, ids, runs []any) error {
	if len(ids) == 0 {
		return nil
	}
	ids, runs = pad(ids), pad(runs)
	_, err := t.exec(`
		UPDATE `+table+` SET state = $1, version = version + 1, updated_at = $2
		WHERE id IN (`+params(3, len(ids))+`) AND run_id IN (`+params(3+len(ids), len(runs))+`)`,
		slices.Concat([]any{pleat.StateRunning, t.now}, ids, runs)...)
	return err
}

// insertEvents appends events to runs: rows of a run, the event's number and its body.
func (t *tx) insertEvents(events []any) error {
	for part := range t.idempotentRowParts(events, 3) {
		if _, err := t.exec(`
			INSERT INTO run_event (run_id, seq, body)
			SELECT v.column1, v.column2, v.column3
			FROM (`+values(1, len(part)/3, "text", "bigint", "text")+`) AS v
			WHERE true
			ON CONFLICT DO NOTHING`,
			part...); err != nil {
			return err
		}
	}
	return nil
}

// loadInputs reads the input of tasks that workers hold.
func (t *tx) loadInputs(list []ClaimedTask) error {
	folds := map[pleat.RunID]*ClaimedTask{}
	var ids []any
	for i := range list {
		c := &list[i]
		switch c.Task.Kind {
		case pleat.TaskFold:
			folds[c.Task.Run] = c
			ids = append(ids, string(c.Task.Run))
		case pleat.TaskQnA, pleat.TaskMD:
			if err := t.loadWorkflow(c); err != nil {
				return err
			}
		}
	}
	for part := range slices.Chunk(ids, maxStatementRows) {
		rows, err := t.query(`
			SELECT `+jobColumns+", "+runColumns+`, r.fresh, r.trace
			FROM run r
			JOIN job j ON j.id = r.job_id
			WHERE r.id IN (`+params(1, padded(len(part)))+")",
			pad(part)...)
		if err := forEachRow(rows, err, func(scan func(...any) error) error {
			return scanFold(scan, folds)
		}); err != nil {
			return err
		}
	}
	for _, c := range folds {
		if c.Fold == nil {
			return fmt.Errorf("no row of run %s", c.Task.Run)
		}
		if err := t.loadAlignments(c); err != nil {
			return err
		}
	}
	return nil
}

// scanFold reads the input of a fold into the claim of its run.
func scanFold(scan func(...any) error, claimed map[pleat.RunID]*ClaimedTask) error {
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
		return err
	}
	c := claimed[u.ID]
	c.Fold = &pleat.FoldInput{
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
	c.Queued, c.Seed, c.Fresh, c.Trace = u.CreatedAt, u.Seed, fresh == 1, trace
	return nil
}

// loadAlignments reads what the MSA search before a fold has published: the files of the last attempt that ended as
// searched. A task in its first attempt has had none.
func (t *tx) loadAlignments(c *ClaimedTask) error {
	if c.Task.Attempt == 1 {
		return nil
	}
	var number int
	var began, ended int64
	err := t.row(`
		SELECT number, started_at, ended_at FROM attempt
		WHERE task_id = $1 AND outcome = '`+OutcomeSearched+`'
		ORDER BY number DESC
		LIMIT 1`,
		[]any{c.Task.ID}, &number, &began, &ended)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	c.SearchDuration = time.Duration(ended-began) * time.Microsecond
	rows, err := t.query(
		"SELECT "+artifactColumns+" FROM artifact a WHERE a.run_id = $1 AND a.attempt = $2 ORDER BY a.id",
		c.Task.Run, number)
	c.Alignments, err = scanArtifacts(rows, err)
	return err
}
