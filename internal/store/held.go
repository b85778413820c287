package store

import (
	"context"
	"slices"
	"time"

	"pleat"
)

// ReleaseAll returns all tasks that a worker holds to their queues, as Release does without a pause, and returns how
// many they were. Those that their owners have cancelled end STOPPED. A worker that ends calls it.
func (s *Store) ReleaseAll(ctx context.Context, worker pleat.WorkerID) (int, error) {
	n := 0
	err := s.write(ctx, "release all", func(t *tx) error {
		var err error
		n, err = t.releaseTasks("worker_id = $1", worker)
		return err
	})
	return n, err
}

// releaseTasks is ReleaseAll for the running tasks that a condition on one parameter selects.
func (t *tx) releaseTasks(where string, arg any) (int, error) {
	for n := 0; ; {
		held, err := t.selectHeld(where, arg, "FOR UPDATE")
		if err != nil {
			return 0, err
		}
		for _, l := range held {
			if err := t.release(l); err != nil {
				return 0, err
			}
		}
		if n += len(held); len(held) < maxHeld {
			return n, nil
		}
	}
}

// release returns a task that was locked to its queue, or ends it if it was cancelled.
func (t *tx) release(l expiredLease) error {
	if !l.cancel {
		return t.requeue(l.Lease, OutcomeReleased, 0)
	}
	why := stoppedByOwner()
	if err := t.endTask(l.Lease, pleat.StateStopped, why); err != nil {
		return err
	}
	return t.endSubject(l, pleat.StateStopped, why)
}

// AttemptOutcome returns how an attempt by a worker has ended, such as OutcomeDone; empty if it has not ended, or if
// the worker made no such attempt. A worker that does not know whether its report of the end arrived asks it.
func (s *Store) AttemptOutcome(ctx context.Context, l Lease) (string, error) {
	var outcome string
	err := s.readRow(ctx, "SELECT outcome FROM attempt WHERE task_id = $1 AND number = $2 AND worker_id = $3",
		[]any{l.Task, l.Attempt, l.Worker}, &outcome)
	return outcome, unavailable("read attempt", mapNoRows(err, nil))
}

// HeldTasks lists the leases of a worker, in the order of their tasks.
func (s *Store) HeldTasks(ctx context.Context, worker pleat.WorkerID) ([]Lease, error) {
	var out []Lease
	rows, err := s.read(ctx,
		"SELECT id, attempt FROM task WHERE state = 'running' AND worker_id = $1 ORDER BY id", worker)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		l := Lease{Worker: worker}
		err := scan(&l.Task, &l.Attempt)
		out = append(out, l)
		return err
	})
	return out, unavailable("list held tasks", err)
}

// Reclaim reads again the tasks of those leases that the worker still holds, as Claim has returned them, and renews the
// leases for a time from now. A worker that has not received the answer to a claim asks for it so: no further attempt
// begins. The tasks are in the order of the leases; leases of other workers are left out.
func (s *Store) Reclaim(
	ctx context.Context, worker pleat.WorkerID, lease time.Duration, leases []Lease,
) ([]ClaimedTask, error) {
	own := slices.DeleteFunc(slices.Clone(leases), func(l Lease) bool { return l.Worker != worker })
	var out []ClaimedTask
	err := s.writeAsync(ctx, "reclaim", func(t *tx) error {
		out = nil
		held := map[Lease]ClaimedTask{}
		err := t.renewAll(lease, own, claimedColumns, func(scan func(...any) error) error {
			var c ClaimedTask
			err := scanClaimedTask(scan, &c.Task)
			held[LeaseOf(&c.Task)] = c
			return err
		})
		if err != nil {
			return err
		}
		for _, l := range own {
			if c, ok := held[l]; ok {
				out = append(out, c)
				delete(held, l)
			}
		}
		if err := t.loadClaimed(out); err != nil {
			return err
		}
		return t.loadInputs(out)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// loadClaimed reads when tasks were claimed.
func (t *tx) loadClaimed(list []ClaimedTask) error {
	for i := range list {
		c := &list[i]
		var began int64
		if err := t.row("SELECT started_at FROM attempt WHERE task_id = $1 AND number = $2",
			[]any{c.Task.ID, c.Task.Attempt}, &began); err != nil {
			return err
		}
		c.Claimed = fromMicros(began)
	}
	return nil
}
