package runs

import (
	"context"
	"strconv"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/mails"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
)

// Reaped counts what one pass of the reaper did, for the log and the metrics.
type Reaped struct {
	Woken    int // waiting tasks whose time had come
	Requeued int // tasks whose lease had expired
	Failed   int // such tasks without tries left
	Stopped  int // such tasks whose owner had cancelled them
	Expired  int // sessions and idempotency keys past their time
}

// HeldLease is a running task that is taken from its worker, mostly since that is gone. Run or delivery is set,
// whichever the task works on, or neither: a mail has the id of its task.
type HeldLease struct {
	tasks.Lease
	kind     pleat.TaskKind
	run      pleat.RunID      // of a fold or a workflow's task
	delivery pleat.DeliveryID // of a delivery or a follow-up
	cancel   bool
}

// Reap queues waiting tasks whose time has come, takes tasks from workers whose lease expired, and deletes expired
// sessions and idempotency keys. Any node may call it, several at once too: they skip the rows that another has locked.
// It handles at most 1000 tasks of each kind; the next call continues. Package queue calls it when [Store.Poll] has
// found something to do, so that an idle service does not write.
//
// A lease has expired if it ended before the given time. A caller that watches the clock passes its last reading, so
// that a jump of the clock after that reading ends no lease, and the zero time for none.
func (s *Store) Reap(ctx context.Context, expired time.Time) (Reaped, error) {
	var r Reaped
	err := s.db.Write(ctx, "reap", func(t *db.Tx) error {
		r = Reaped{}
		if err := wakeTasks(t, &r); err != nil {
			return err
		}
		if err := s.ExpireLeases(t, leaseExpired, db.ToMicros(expired), &r); err != nil {
			return err
		}
		a, err := t.Exec("DELETE FROM session WHERE expires_at < $1", t.Now)
		if err != nil {
			return err
		}
		b, err := t.Exec("DELETE FROM idempotency WHERE created_at < $1", KeysSince(t.Now))
		if err != nil {
			return err
		}
		r.Expired = int(a + b)
		t.Send("DELETE FROM login WHERE expires_at < $1", t.Now)
		t.Send("DELETE FROM login_attempt WHERE expires_at < $1", t.Now)
		return t.Wait()
	})
	return r, err
}

// wakeTasks queues waiting tasks whose time has come, those that have waited longest first.
func wakeTasks(t *db.Tx, r *Reaped) error {
	queues, err := db.ColumnOf[string](t.Query(`
		UPDATE task SET state = 'queued'
		WHERE id IN (
			SELECT id FROM task
			WHERE state = 'waiting' AND run_at <= $1
			ORDER BY run_at
			LIMIT 1000
			FOR UPDATE SKIP LOCKED)
		RETURNING queue`,
		t.Now))
	for _, queue := range queues {
		tasks.NotifyQueue(t, queue)
	}
	r.Woken += len(queues)
	return err
}

// FreeTasks ends the attempts that an earlier process of a worker left behind, as if their leases had expired: the
// tasks are queued again at once, and each has spent a try. A delivery worker calls it when it starts;
// workers.Store.RegisterWorker includes it.
func (s *Store) FreeTasks(ctx context.Context, worker pleat.WorkerID) (Reaped, error) {
	var r Reaped
	err := s.db.Write(ctx, "free tasks", func(t *db.Tx) error {
		r = Reaped{}
		return s.ExpireLeases(t, "worker_id = $1", worker, &r)
	})
	return r, err
}

// ExpireLeases ends the attempts of running tasks that a condition on one parameter selects, and counts them in r.
func (s *Store) ExpireLeases(t *db.Tx, where string, arg any, r *Reaped) error {
	expired, err := s.SelectHeld(t, "FOR UPDATE SKIP LOCKED", where, arg)
	if err != nil {
		return err
	}
	for _, l := range expired {
		if err := s.onLeaseExpired(t, l, r); err != nil {
			return err
		}
	}
	return nil
}

// SelectHeld locks running tasks that a condition selects, the first Options.HeldTasks by their ids, by a locking
// clause: one that skips locked rows skips a task whose worker is renewing its lease at this moment.
func (s *Store) SelectHeld(t *db.Tx, lock, where string, args ...any) ([]HeldLease, error) {
	rows, err := t.Query(heldTasksSQL(where, s.heldTasks)+" "+lock, args...)
	return db.ListOf(rows, err, func(scan func(...any) error) (l HeldLease, err error) {
		err = scan(&l.Task, &l.Attempt, &l.Worker, &l.kind, &l.run, &l.delivery, db.ScanBool(&l.cancel))
		return l, err
	})
}

// heldTasksSQL selects running tasks by a condition, not more than most.
func heldTasksSQL(where string, most int) string {
	return `
		SELECT id, attempt, worker_id, kind, COALESCE(run_id, ''), COALESCE(delivery_id, ''), cancel
		FROM task
		WHERE state = 'running' AND ` + where + `
		ORDER BY id
		LIMIT ` + strconv.Itoa(most)
}

// leaseExpired is the condition for leases that ended before the parameter.
const leaseExpired = "lease_until < $1"

// onLeaseExpired ends an attempt whose worker is gone. The task is tried again, or ends if it has no tries left or its
// owner has cancelled it.
func (s *Store) onLeaseExpired(t *db.Tx, l HeldLease, r *Reaped) error {
	if l.cancel {
		r.Stopped++
		tasks.End(t, l.Lease, pleat.StateStopped, nil)
		return s.endSubject(t, l, pleat.StateStopped, stoppedByOwner())
	}
	tries, limit, err := tasks.SpendTry(t, l.Task)
	if err != nil {
		return err
	}
	switch l.kind {
	case pleat.TaskDeliver:
		err = webhooks.CountLostAttempt(t, l.delivery)
	case pleat.TaskMail:
		err = mails.CountLost(t, l.Task)
	}
	if err != nil {
		return err
	}
	if tries < limit {
		r.Requeued++
		// The task itself may have killed the worker, so the owner's other tasks go first.
		if _, err := t.Exec(`
			UPDATE task
			SET position = COALESCE(`+tasks.LastPositionSQL("task.queue", "task.tenant")+` + 1, position)
			WHERE id = $1`,
			l.Task); err != nil {
			return err
		}
		tasks.Requeue(t, l.Lease, tasks.OutcomeLost, 0)
		return nil
	}
	r.Failed++
	why := pleat.Failed(pleat.FailCrashed, "the worker process died during every attempt")
	tasks.End(t, l.Lease, pleat.StateFailed, why)
	return s.endSubject(t, l, pleat.StateFailed, why)
}

// endSubject ends the run, the delivery or the mail of a task that no worker can end.
func (s *Store) endSubject(t *db.Tx, l HeldLease, state pleat.State, why *pleat.Failure) error {
	switch l.kind {
	case pleat.TaskFold, pleat.TaskQnA, pleat.TaskMD, pleat.TaskDesign, pleat.TaskAlign, pleat.TaskCompare:
		return s.end(t, l.run, runEnd{state: state, failure: why})
	case pleat.TaskFollow:
		return webhooks.FailDelivery(t, l.delivery, why.String())
	case pleat.TaskDeliver:
		return webhooks.FailDelivery(t, l.delivery, diedSending)
	case pleat.TaskMail:
		return mails.Fail(t, l.Task, diedSending)
	}
	return nil
}

// diedSending is why a delivery or a mail has failed that no process could end.
const diedSending = "the process that sent it died during every attempt"
