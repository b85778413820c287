package tasks

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pleat"
	"pleat/internal/store/db"
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

// Claim is a transaction that leases tasks. Its statements find the tasks of those before them by the id of the claim,
// so that all of them can be sent together.
type Claim struct {
	*db.Tx
	ID    string
	lease time.Duration // 0: pleat.LeaseDuration
	sent  bool          // a statement that leases was sent
	Tasks []leasedTask
}

// leasedTask is a task that a claim has leased.
type leasedTask struct {
	Task    pleat.Task
	Claimed time.Time // by the store's clock
}

// NewClaim begins a claim in a transaction. Its leases last for lease; 0: for [pleat.LeaseDuration].
func NewClaim(t *db.Tx, lease time.Duration) *Claim {
	return &Claim{Tx: t, ID: db.NewID(), lease: lease}
}

// ClaimedTasks is the task k of a claim whose id is $1, for FROM.
const ClaimedTasks = "(SELECT * FROM task WHERE state = 'running' AND claim = $1) AS k"

// taken returns SQL for how many tasks the claim has leased, whose id is a parameter.
func (c *Claim) taken(id string) string {
	if !c.sent {
		c.sent = true
		return "0"
	}
	return "(SELECT count(*) FROM task c WHERE c.state = 'running' AND c.claim = " + id + ")"
}

// ForOne leases tasks of one queue to one worker, as long as the claim has fewer than n.
func (c *Claim) ForOne(worker pleat.WorkerID, queue string, n int, filter ClaimFilter) {
	c.FromQueue(worker, queue, n, c.taken("$3"), filter)
}

// FromQueue leases up to n tasks of one queue, less a number in SQL, to one worker. It raises the attempt, which fences
// off every lease on the task that was given before.
func (c *Claim) FromQueue(worker pleat.WorkerID, queue string, n int, less string, filter ClaimFilter) {
	limits, args := filter.Conditions(c.Now, 5, []any{worker, LeaseEnd(c.Tx, c.lease), c.ID, queue, n})
	c.Ask(`
		UPDATE task
		SET state = 'running', attempt = attempt + 1, worker_id = $1, lease_until = $2, claim = $3
		WHERE id `+inLimited(c.Tx, `
			SELECT id FROM task
			WHERE state = 'queued' AND queue = $4`+unlessPaused(queue, "$4")+limits+`
			ORDER BY position, id
			LIMIT $5 - `+less+`
			FOR UPDATE SKIP LOCKED`)+`
		RETURNING `+ClaimedColumns,
		args, c.scan)
}

// unlessPaused is the condition, after an AND, that the model of a queue is not paused. The queue is a parameter too.
// Those of deliveries and follow-ups have no model.
func unlessPaused(queue, param string) string {
	if !pleat.IsWorkerQueue(queue) {
		return ""
	}
	return " AND " + NotPaused(param)
}

// inLimited returns the condition that a column is among the rows of a query whose LIMIT is computed. PostgreSQL takes
// such a limit for a tenth of the table, for which it would read all of the table; an array it takes for ten rows.
func inLimited(t *db.Tx, query string) string {
	if !t.Postgres() {
		return "IN (" + query + ")"
	}
	return "= ANY (ARRAY(" + query + "))"
}

// ForEach leases tasks of one queue to workers, at most [db.MaxStatementRows]: the i-th task of the claim goes to the
// i-th worker of the claim, of whom so many come first that are not in the list. It leases none while one of those has
// none.
func (c *Claim) ForEach(workers []pleat.WorkerID, first int, queue string, filter ClaimFilter) {
	args := []any{LeaseEnd(c.Tx, c.lease), c.ID, queue, first, first + len(workers)}
	var places []any
	for i, w := range workers {
		places = append(places, first+i+1, string(w))
	}
	from := len(args) + 1
	for part := range db.PaddedRowParts(places, 2) { // there is one
		args = append(args, part...)
	}
	rowsOf := db.Values(from, db.Padded(len(workers)), "bigint", "text")
	limits, args := filter.Conditions(c.Now, len(args), args)
	taken := c.taken("$2")
	c.Ask(`
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
		WHERE task.id = free.claimed AND task.id `+inLimited(c.Tx, "SELECT claimed FROM free")+`
		RETURNING `+ClaimedColumns,
		args, c.scan)
}

// scan reads a task that the claim has leased.
func (c *Claim) scan(scan func(...any) error) error {
	k := leasedTask{Claimed: db.FromMicros(c.Now)}
	if err := scan(ClaimedInto(&k.Task)...); err != nil {
		return err
	}
	c.Tasks = append(c.Tasks, k)
	return nil
}

// Sort puts the tasks into the order of their queues and in each into the fair one, since RETURNING has none.
func (c *Claim) Sort(queues []string) {
	order := map[string]int{}
	for i, q := range queues {
		order[q] = i
	}
	slices.SortFunc(c.Tasks, func(a, b leasedTask) int {
		return cmp.Or(
			cmp.Compare(order[a.Task.Queue], order[b.Task.Queue]),
			cmp.Compare(a.Task.Position, b.Task.Position),
			cmp.Compare(a.Task.ID, b.Task.ID))
	})
}

// RecordAttempts records the attempts, with what they have of their workers.
func (c *Claim) RecordAttempts() {
	c.Send(`
		INSERT INTO attempt (
			task_id, number, worker_id, started_at, run_id, delivery_id, ended_at, outcome, detail, gpus, cores)
		SELECT k.id, k.attempt, k.worker_id, $2, k.run_id, k.delivery_id, 0, '', '', u.gpus, u.cores
		FROM `+ClaimedTasks+`
		LEFT JOIN worker_use u ON u.worker_id = k.worker_id AND u.queue = k.queue`,
		c.ID, c.Now)
}

// ClaimedColumns are the columns of a claimed task that [ClaimedInto] scans.
const ClaimedColumns = `id, kind, queue, project_id, tenant, position, COALESCE(run_id, ''), COALESCE(delivery_id, ''),
	attempt, tries, max_tries, memory, expected, cancel, checkpoint, checkpoint_step, created_at, request, worker_id,
	lease_until, run_at`

// ClaimedInto returns where to scan [ClaimedColumns] of a task, which runs.
func ClaimedInto(k *pleat.Task) []any {
	k.State = pleat.TaskRunning
	return []any{
		&k.ID, &k.Kind, &k.Queue, &k.Owner, &k.Tenant, &k.Position, &k.Run, &k.Delivery, &k.Attempt, &k.Tries,
		&k.MaxTries, &k.Memory, db.ScanDuration(&k.Expected), db.ScanBool(&k.Cancel), &k.Checkpoint.Key,
		&k.Checkpoint.Step, db.ScanTime(&k.Created), &k.Request, &k.Worker, db.ScanTime(&k.LeaseUntil),
		db.ScanTime(&k.RunAt),
	}
}

// LeaseEnd is when a lease that is given or renewed now ends, in microseconds; 0 stands for [pleat.LeaseDuration].
func LeaseEnd(t *db.Tx, d time.Duration) int64 {
	return t.Now + cmp.Or(d, pleat.LeaseDuration).Microseconds()
}

// Conditions returns the conditions on a task of the queues of a filter, each after an AND, and args with their
// parameters. The parameters up to $n are taken already. Now is the time in microseconds.
func (f *ClaimFilter) Conditions(now int64, n int, args []any) (string, []any) {
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

// NotPaused is the condition that the model of a queue, in SQL, is not paused. It is one look into an index, which does
// not depend on the task.
func NotPaused(queue string) string {
	return "NOT EXISTS (SELECT 1 FROM paused_queue p WHERE p.queue = " + queue + ")"
}

// timeNeededSQL is how long, in microseconds, a worker of a class must still live to take the task of a row: the
// corrected time, but not more than pleat.SimulationTurn of a simulation; 0: unknown. The class is a parameter.
func timeNeededSQL(class string) string {
	speed := func(column string) string {
		return "(SELECT v." + column + " FROM speed v WHERE v.queue = task.queue AND v.class = " + class + ")"
	}
	corrected := "(CASE WHEN expected > 0 AND queue NOT LIKE '" + pleat.SearchQueue("") + "%' " +
		"THEN expected * COALESCE(" + speed("factor") + ", 1) ELSE COALESCE(" + speed("typical") + ", 0) END)"
	return fmt.Sprintf("CASE WHEN kind = '%s' AND %s > %d THEN %[3]d ELSE %[2]s END", pleat.TaskMD, corrected,
		pleat.SimulationTurn.Microseconds())
}
