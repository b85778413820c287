package runs

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
)

// FollowUp is a claimed task that starts a workflow after a fold. Only the ID, the destination and the run of its
// delivery are read.
type FollowUp struct {
	Task     pleat.Task
	Delivery webhooks.Delivery
	Alias    string          // of the destination, as the caller spelled it
	Settings json.RawMessage // the destination's object, as given
	Claimed  time.Time       // by the store's clock
	Trace    string          // of the run; empty: none
}

// ClaimFollowUps leases up to n follow-ups to a worker, whose tasks are of the kind follow. Each is ended by
// [Store.StartFollowUp]; one whose worker dies is claimed again.
func (s *Store) ClaimFollowUps(ctx context.Context, worker pleat.WorkerID, n int) ([]FollowUp, error) {
	var out []FollowUp
	err := s.db.WriteAsync(ctx, "claim follow-ups", func(t *db.Tx) error {
		out = nil
		c := tasks.NewClaim(t, 0)
		c.ForOne(worker, tasks.FollowUpQueue, n, tasks.ClaimFilter{})
		c.RecordAttempts()
		t.Ask(`
			SELECT d.id, d.destination, d.run_id, u.alias, u.settings, COALESCE(r.trace, '')
			FROM `+tasks.ClaimedTasks+`
			JOIN delivery d ON d.id = k.delivery_id
			JOIN subscription u ON u.id = d.subscription_id
			LEFT JOIN run r ON r.id = d.run_id
			ORDER BY k.position, k.id`,
			[]any{c.ID},
			func(scan func(...any) error) error {
				var f FollowUp
				var settings string
				d := &f.Delivery
				err := scan(&d.ID, &d.Destination, &d.Run, &f.Alias, &settings, &f.Trace)
				f.Settings = json.RawMessage(settings)
				for i := range c.Tasks {
					if k := &c.Tasks[i]; k.Task.Delivery == d.ID {
						f.Task, f.Claimed = k.Task, k.Claimed
					}
				}
				out = append(out, f)
				return err
			})
		return nil
	})
	return out, err
}

// StartFollowUp creates the workflow n that a follow-up starts, and ends the follow-up in the same transaction, so that
// the workflow starts once, however often the follow-up is claimed. If n is nil, or its owner's limits do not allow it,
// the follow-up fails for a reason, which its owner reads in the delivery. [pleat.ErrLost]: the lease is no longer
// held.
func (s *Store) StartFollowUp(ctx context.Context, f FollowUp, n *NewWorkflow, reason string) (pleat.Workflow, error) {
	var w pleat.Workflow
	err := s.db.Write(ctx, "start follow-up", func(t *db.Tx) error {
		l := tasks.LeaseOf(&f.Task)
		if _, err := tasks.Renew(t, l); err != nil {
			return err
		}
		state, status := pleat.StateFailed, pleat.DeliveryFailed
		if n != nil {
			var err error
			var refusal *pleat.Error
			switch w, err = s.insertFollowUp(t, f.Delivery.Run, *n); {
			case err == nil:
				state, status = pleat.StateCompleted, pleat.DeliverySucceeded
			case errors.As(err, &refusal):
				w, reason = pleat.Workflow{}, refusal.Message
			default:
				return err
			}
		}
		tasks.End(t, l, state, nil)
		t.Send(`
			UPDATE delivery
			SET status = $1, triggered = $2, reason = $3, attempts = attempts + 1, next_at = 0, updated_at = $4
			WHERE id = $5`,
			status, w.ID, reason, t.Now, f.Delivery.ID)
		return nil
	})
	return w, err
}

// insertFollowUp creates a workflow that belongs to the job of a run, with which it is deleted. It is refused if the
// job has been deleted, or if its owner's limits do not allow it.
func (s *Store) insertFollowUp(t *db.Tx, run pleat.RunID, n NewWorkflow) (pleat.Workflow, error) {
	// ops.Store.DeleteJob waits for the lock, and then finds the workflow.
	err := t.Row(`
		SELECT j.id FROM run r JOIN job j ON j.id = r.job_id WHERE r.id = $1 AND j.deleted_at = 0 FOR SHARE OF j`,
		[]any{run}, &n.Job)
	if err != nil {
		return pleat.Workflow{}, db.MapNoRows(err, pleat.Errorf(pleat.CodeNotFound, "the job was deleted"))
	}
	if err := s.countWorkflow(t, &n); err != nil {
		return pleat.Workflow{}, err
	}
	return insertWorkflow(t, n), nil
}
