package store

import (
	"context"
	"slices"

	"pleat"
)

// ReleaseAll returns the tasks that a worker holds to their queues, but for some, as Release does without a delay, and
// returns how many they were. Those that their owners have cancelled end STOPPED. It is for tasks that were claimed for
// the worker without its knowledge.
func (s *Store) ReleaseAll(ctx context.Context, worker pleat.WorkerID, but []Lease) (int, error) {
	n := 0
	err := s.write(ctx, "release all", func(t *tx) error {
		var err error
		n, err = t.releaseTasks("worker_id = $1", worker, but)
		return err
	})
	return n, err
}

// releaseTasks is ReleaseAll for the running tasks that a condition on one parameter selects.
func (t *tx) releaseTasks(where string, arg any, but []Lease) (int, error) {
	n, last := 0, pleat.TaskID("")
	for {
		held, err := t.selectHeld("FOR UPDATE", where+" AND id > $2", arg, last)
		if err != nil {
			return 0, err
		}
		for _, l := range held {
			last = l.Task
			if slices.Contains(but, l.Lease) {
				continue
			}
			if err := t.release(l); err != nil {
				return 0, err
			}
			n++
		}
		if len(held) < t.s.bounds.HeldTasks {
			return n, nil
		}
	}
}

// release returns a task that was locked to its queue, or ends it if it was cancelled.
func (t *tx) release(l expiredLease) error {
	if !l.cancel {
		t.requeue(l.Lease, OutcomeReleased, 0)
		return nil
	}
	why := stoppedByOwner()
	t.endTask(l.Lease, pleat.StateStopped, why)
	return t.endSubject(l, pleat.StateStopped, why)
}

// AttemptOutcome returns how an attempt by a worker has ended, such as OutcomeDone; empty if it has not ended. A worker
// that does not know whether its report of the end arrived asks it. pleat.ErrLost: the worker made no such attempt, or
// it was deleted with its job.
func (s *Store) AttemptOutcome(ctx context.Context, l Lease) (string, error) {
	var outcome string
	err := s.readRow(ctx, "SELECT outcome FROM attempt WHERE task_id = $1 AND number = $2 AND worker_id = $3",
		[]any{l.Task, l.Attempt, l.Worker}, &outcome)
	return outcome, unavailable("read attempt", mapNoRows(err, pleat.ErrLost))
}
