package tasks

import (
	"cmp"
	"fmt"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// Lease names one attempt at a task. The verbs that take one are fenced: they change nothing and return [pleat.ErrLost]
// once another attempt has begun or the task has ended. So a worker that was away too long cannot write over the work
// of its successor, whatever its clock says. A lease that has expired, but that nobody has taken over, is still held.
type Lease struct {
	Task    pleat.TaskID
	Attempt int
	Worker  pleat.WorkerID
}

// LeaseOf returns the lease under which a worker holds a claimed task.
func LeaseOf(t *pleat.Task) Lease { return Lease{t.ID, t.Attempt, t.Worker} }

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

// HeldTask is what the verbs need to know of a task that a worker holds.
type HeldTask struct {
	Held   bool        // else the lease is lost, and the rest is empty
	Run    pleat.RunID // empty for deliveries and follow-ups
	Queue  string
	Cancel bool // its owner wants it stopped
}

// Renew extends a lease to [pleat.LeaseDuration] from now, unless it lasts longer, and locks its task until the
// transaction ends; [pleat.ErrLost] if the lease is no longer held. Every fenced verb begins with it.
func Renew(t *db.Tx, l Lease) (HeldTask, error) {
	var h HeldTask
	AskRenew(t, l, &h)
	if err := t.Wait(); err != nil {
		return h, err
	}
	return h, h.Lost()
}

// AskRenew is [Renew] for a verb that has more to ask. After the wait, h.Lost must be checked.
func AskRenew(t *db.Tx, l Lease, h *HeldTask) {
	t.Ask(`
		UPDATE task SET lease_until = CASE WHEN lease_until > $1 THEN lease_until ELSE $1 END
		WHERE id = $2 AND attempt = $3 AND worker_id = $4 AND state = 'running'
		RETURNING COALESCE(run_id, ''), queue, cancel`,
		[]any{LeaseEnd(t, 0), l.Task, l.Attempt, l.Worker},
		func(scan func(...any) error) error {
			var cancel int64
			err := scan(&h.Run, &h.Queue, &cancel)
			h.Held, h.Cancel = true, cancel == 1
			return err
		})
}

// Lost returns [pleat.ErrLost] if the lease was not held.
func (h *HeldTask) Lost() error {
	if !h.Held {
		return pleat.ErrLost
	}
	return nil
}

// DefaultTries is how many attempts a run has if its worker dies, and a mail if it cannot be sent: enough to survive
// restarts, and an end for a run that kills every worker.
const DefaultTries = 10

// Requeue ends the attempt with an outcome and puts its running task back into its queue, at its position: at once, or
// after a delay, which Reap ends.
func Requeue(t *db.Tx, l Lease, outcome string, delay time.Duration) {
	requeue(t, l, outcome, "", delay)
}

// Retry is Requeue for an attempt that has failed.
func Retry(t *db.Tx, l Lease, why *pleat.Failure, delay time.Duration) {
	requeue(t, l, OutcomeFailed, why.String(), delay)
}

func requeue(t *db.Tx, l Lease, outcome, detail string, delay time.Duration) {
	state := pleat.TaskQueued
	if delay > 0 {
		state = pleat.TaskWaiting
	}
	t.Ask("UPDATE task SET state = $1, run_at = $2, lease_until = 0, worker_id = '' WHERE id = $3 RETURNING queue",
		[]any{state, t.Now + delay.Microseconds(), l.Task},
		func(scan func(...any) error) error {
			var queue string
			err := scan(&queue)
			NotifyQueue(t, queue)
			return err
		})
	EndAttempt(t, l, outcome, detail)
}

// StartSQL is when that of a row began which ends now and took a time by a clock that is not set, in microseconds, or 0
// if that is not known. It is started_at, unless the clock has been set since then by more than [db.ClockError].
func StartSQL(now, took string) string {
	now, took = "CAST("+now+" AS bigint)", "CAST("+took+" AS bigint)"
	return fmt.Sprintf("CASE WHEN %[2]s > 0 AND started_at > 0 AND abs(%[1]s - started_at - %[2]s) > %[3]d "+
		"THEN %[1]s - %[2]s ELSE started_at END", now, took, db.ClockError.Microseconds())
}

// EndAttempt writes the end of an attempt, once, and has it counted. Attempts at deliveries end elsewhere too, since
// they are not counted.
func EndAttempt(t *db.Tx, l Lease, outcome, detail string) { endAttempt(t, l, outcome, detail, 0) }

func endAttempt(t *db.Tx, l Lease, outcome, detail string, took time.Duration) {
	t.Send(`
		UPDATE attempt SET ended_at = $1, outcome = $2, detail = $3, started_at = `+StartSQL("$1", "$6")+`
		WHERE task_id = $4 AND number = $5 AND ended_at = 0`,
		t.Now, outcome, detail, l.Task, l.Attempt, took.Microseconds())
	people.CountAttempt(t, l.Task, l.Attempt)
}

// Insert queues work: the id (empty: a new one), kind, queue, owner, tenant, subject and memory of k, with
// k.MaxTries tries (0: [DefaultTries]). Its position keeps tenants even: behind the tenant's own tasks, but not behind
// those of others. A tenant with nothing queued starts at the position that is being served now. The task of a delivery
// needs its row: it is not queued where webhooks.insertDelivery has stored none.
func Insert(t *db.Tx, k pleat.Task) {
	if k.MaxTries == 0 {
		k.MaxTries = DefaultTries
	}
	t.Send(`
		INSERT INTO task (
			id, kind, queue, project_id, tenant, position, run_id, delivery_id, state, attempt, tries, max_tries,
			memory, expected, run_at, lease_until, worker_id, cancel, checkpoint, checkpoint_step, created_at, request)
		SELECT $1, $2, $3, $4, $5,
			`+NextPositionSQL("$3", "$5")+`,
			NULLIF($6, ''), NULLIF($7, ''), 'queued', 0, 0, $8, $9, $10, $11, 0, '', 0, '', 0, $11, $12
		WHERE $7 = '' OR EXISTS (SELECT 1 FROM delivery d WHERE d.id = $7)`,
		cmp.Or(k.ID, pleat.TaskID(db.NewID())), k.Kind, k.Queue, k.Owner, k.Tenant, k.Run, k.Delivery, k.MaxTries,
		k.Memory, k.Expected.Microseconds(), t.Now, k.Request)
	NotifyQueue(t, k.Queue)
}

// NextPositionSQL returns a subquery for the position of a tenant's next task in a queue: behind the tenant's own, and
// not before the position that is served now, at the head of the queue. Queue and tenant are SQL.
//
// So tenants share the queue evenly: the n-th tasks of all tenants have about the same position, and a tenant that was
// idle gets no credit for it. Each of the two is read as one row of an index.
func NextPositionSQL(queue, tenant string) string {
	return `(
				SELECT COALESCE(max(next_place.position), 0) FROM (
					SELECT ` + LastPositionSQL(queue, tenant) + ` + 1 AS position
					UNION ALL
					SELECT (
						SELECT q.position FROM task q WHERE q.state = 'queued' AND q.queue = ` + queue + `
						ORDER BY q.position LIMIT 1)
				) AS next_place)`
}

// LastPositionSQL returns a subquery for the last position of a tenant in a queue; NULL: it has none there. Queue and
// tenant are SQL.
func LastPositionSQL(queue, tenant string) string {
	return `(SELECT q.position FROM task q WHERE ` + QueuedBy(queue, tenant) + ` ORDER BY q.position DESC LIMIT 1)`
}

// QueuedBy is the condition that a task q is queued in a queue for a tenant. Queue and tenant are SQL.
//
// It says «queued» with the conditions of the index task_share: the other states sort behind r, and no tenant is empty.
// They do not imply the condition of the index task_ready, nor does that imply them. So a query can use one of the two
// alone, in whose order it finds its row at once. PostgreSQL would choose by statistics, and has none for tasks that
// were queued in the last minutes: some connections then read the whole queue at each insert.
func QueuedBy(queue, tenant string) string {
	return "q.state < 'r' AND q.tenant > '' AND q.queue = " + queue + " AND q.tenant = " + tenant
}

// outcomes are the outcomes of the last attempt at a task whose run has ended in a state.
var outcomes = map[pleat.State]string{
	pleat.StateCompleted: OutcomeDone,
	pleat.StateFailed:    OutcomeFailed,
	pleat.StateStopped:   OutcomeStopped,
}

// End ends an attempt and deletes its task, so that the table task holds the queues and nothing else: claims do not
// slow down as the service grows old. The attempts stay, under the run or the delivery. The checkpoint becomes garbage.
func End(t *db.Tx, l Lease, state pleat.State, failure *pleat.Failure) {
	EndMeasured(t, l, state, failure, 0)
}

// EndMeasured is [End] for an attempt whose worker says how long it took; 0: it does not.
func EndMeasured(t *db.Tx, l Lease, state pleat.State, failure *pleat.Failure, took time.Duration) {
	t.Send("DELETE FROM task WHERE id = $1", l.Task)
	endAttempt(t, l, outcomes[state], failure.String(), took)
}

// SpendTry counts one more try of a task and returns how many it has spent and may spend.
func SpendTry(t *db.Tx, id pleat.TaskID) (tries, limit int, err error) {
	err = t.Row("UPDATE task SET tries = tries + 1 WHERE id = $1 RETURNING tries, max_tries", []any{id}, &tries, &limit)
	return tries, limit, err
}
