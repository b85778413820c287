package runs

import (
	"context"
	"slices"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/tasks"
)

// ReleaseAll returns the tasks that a worker holds to their queues, except some, as [Store.Release] does without a
// delay, and returns how many they were. Those that their owners have cancelled end STOPPED. It is for tasks that were
// claimed for the worker without its knowledge.
func (s *Store) ReleaseAll(ctx context.Context, worker pleat.WorkerID, but []tasks.Lease) (int, error) {
	n := 0
	err := s.db.Write(ctx, "release all", func(t *db.Tx) error {
		var err error
		n, err = s.ReleaseTasks(t, "worker_id = $1", worker, but)
		return err
	})
	return n, err
}

// ReleaseTasks is [Store.ReleaseAll] for the running tasks that a condition on one parameter selects.
func (s *Store) ReleaseTasks(t *db.Tx, where string, arg any, but []tasks.Lease) (int, error) {
	n, last := 0, pleat.TaskID("")
	for {
		held, err := s.SelectHeld(t, "FOR UPDATE", where+" AND id > $2", arg, last)
		if err != nil {
			return 0, err
		}
		for _, l := range held {
			last = l.Task
			if slices.Contains(but, l.Lease) {
				continue
			}
			if err := s.release(t, l); err != nil {
				return 0, err
			}
			n++
		}
		if len(held) < s.heldTasks {
			return n, nil
		}
	}
}

// release returns a task that was locked to its queue, or ends it if it was cancelled.
func (s *Store) release(t *db.Tx, l HeldLease) error {
	if !l.cancel {
		tasks.Requeue(t, l.Lease, tasks.OutcomeReleased, 0)
		return nil
	}
	why := stoppedByOwner()
	tasks.End(t, l.Lease, pleat.StateStopped, why)
	return s.endSubject(t, l, pleat.StateStopped, why)
}

// AttemptOutcome returns how an attempt by a worker has ended, such as [tasks.OutcomeDone]; empty if it has not ended.
// A worker that does not know whether its report of the end arrived asks it. [pleat.ErrLost]: the worker made no such
// attempt, or it was deleted with its job.
func (s *Store) AttemptOutcome(ctx context.Context, l tasks.Lease) (string, error) {
	var outcome string
	err := s.db.ReadRow(ctx, "SELECT outcome FROM attempt WHERE task_id = $1 AND number = $2 AND worker_id = $3",
		[]any{l.Task, l.Attempt, l.Worker}, &outcome)
	return outcome, db.Unavailable("read attempt", db.MapNoRows(err, pleat.ErrLost))
}
