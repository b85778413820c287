package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pleat"
)

// DeliveryOutcome is the outcome of one attempt at a delivery. The delivery has succeeded if OK is set, is tried again
// if NextAt is set, and has failed otherwise.
type DeliveryOutcome struct {
	Claimed ClaimedDelivery
	OK      bool
	Status  int       // of the HTTP response; 0: none came
	Detail  string    // stored with the attempt
	NextAt  time.Time // of the next attempt; zero: none
	Reason  string    // why there is none
	// Aborted returns the task without counting an attempt: the sender stopped before it knew the outcome.
	Aborted bool
}

// end returns the states that the delivery and its task move to. The task has ended unless the delivery is pending.
func (d *DeliveryOutcome) end() (pleat.DeliveryStatus, pleat.TaskState) {
	switch {
	case d.Aborted:
		return pleat.DeliveryPending, pleat.TaskQueued
	case d.OK:
		return pleat.DeliverySucceeded, ""
	case !d.NextAt.IsZero():
		return pleat.DeliveryPending, pleat.TaskWaiting
	}
	return pleat.DeliveryFailed, ""
}

// outcome is the name under which the attempt is stored. An attempt that will be repeated has failed.
func (d *DeliveryOutcome) outcome() string {
	switch {
	case d.Aborted:
		return OutcomeReleased
	case d.OK:
		return OutcomeDone
	}
	return OutcomeFailed
}

// EndpointUpdate is what the outcome of an attempt changes about its endpoint.
type EndpointUpdate struct {
	Health  string    // the circuit breaker's state to store
	RetryAt time.Time // when the endpoint may receive again; zero: at once
	Disable string    // why the endpoint is to be disabled; empty: it is not
}

// UpdateEndpoint passes the outcome of an attempt to the circuit breaker of its endpoint, whose state it returns. Like
// LimitClaims it runs inside the transaction. It sees the outcomes of one endpoint one after the other, each with the
// state that the one before has left.
type UpdateEndpoint func(e Endpoint, d DeliveryOutcome, now time.Time) EndpointUpdate

// FinishDeliveries ends attempts, all in one transaction: the tasks, the attempts, the deliveries and the breakers of
// their endpoints. It skips those whose lease is no longer held, without an error: another worker sends them again,
// under the same webhook-id.
func (s *Store) FinishDeliveries(ctx context.Context, worker pleat.WorkerID, list []DeliveryOutcome,
	update UpdateEndpoint) error {
	return s.write(ctx, "finish deliveries", func(t *tx) error {
		held, err := t.endDeliveryTasks(worker, list)
		if err != nil {
			return err
		}
		list := slices.DeleteFunc(slices.Clone(list), func(d DeliveryOutcome) bool { return !held[d.Claimed.Task.ID] })
		if err := t.endDeliveryAttempts(list); err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(d DeliveryOutcome) bool { return d.Aborted })
		if err := t.endDeliveries(list); err != nil {
			return err
		}
		return t.updateBreakers(list, update)
	})
}

// endDeliveryTasks deletes the tasks of deliveries that have ended and requeues the others, where the worker still
// holds the leases. It returns those tasks.
func (t *tx) endDeliveryTasks(worker pleat.WorkerID, list []DeliveryOutcome) (map[pleat.TaskID]bool, error) {
	var ended, again []any
	for _, d := range list {
		k := d.Claimed.Task
		_, state := d.end()
		if state == "" {
			ended = append(ended, string(k.ID), k.Attempt)
			continue
		}
		spent := 1
		if d.Aborted {
			spent = 0
			t.notify(deliveryTopic)
		}
		again = append(again, string(k.ID), k.Attempt, string(state), toMicros(d.NextAt), spent)
	}
	held := map[pleat.TaskID]bool{}
	collect := func(query string, args ...any) error {
		rows, err := t.query(query, append([]any{worker}, args...)...)
		return forEachRow(rows, err, func(scan func(...any) error) error {
			var id pleat.TaskID
			defer func() { held[id] = true }()
			return scan(&id)
		})
	}
	for part := range t.idempotentRowParts(ended, 2) {
		if err := collect(`
			DELETE FROM task
			WHERE worker_id = $1 AND state = 'running' AND (id, attempt) IN (
				SELECT v.column1, v.column2 FROM (`+values(2, len(part)/2, "text", "bigint")+`) AS v)
			RETURNING id`,
			part...); err != nil {
			return nil, err
		}
	}
	for part := range t.idempotentRowParts(again, 5) {
		if err := collect(`
			UPDATE task
			SET state = v.column3, run_at = v.column4, tries = tries + v.column5, lease_until = 0, worker_id = ''
			FROM (`+values(2, len(part)/5, "text", "bigint", "text", "bigint", "bigint")+`) AS v
			WHERE task.id = v.column1 AND task.attempt = v.column2 AND task.worker_id = $1 AND task.state = 'running'
			RETURNING id`,
			part...); err != nil {
			return nil, err
		}
	}
	return held, nil
}

// endDeliveryAttempts writes the ends of attempts with their details.
func (t *tx) endDeliveryAttempts(list []DeliveryOutcome) error {
	var args []any
	for _, d := range list {
		args = append(args, string(d.Claimed.Task.ID), d.Claimed.Task.Attempt, d.outcome(), d.Detail)
	}
	for part := range t.idempotentRowParts(args, 4) {
		if _, err := t.exec(`
			UPDATE attempt
			SET ended_at = $1, outcome = v.column3, detail = v.column4
			FROM (`+values(2, len(part)/4, "text", "bigint", "text", "text")+`) AS v
			WHERE attempt.task_id = v.column1 AND attempt.number = v.column2 AND attempt.ended_at = 0`,
			append([]any{t.now}, part...)...); err != nil {
			return err
		}
	}
	return nil
}

// endDeliveries writes the new states of deliveries, and counts the attempts.
func (t *tx) endDeliveries(list []DeliveryOutcome) error {
	var args []any
	for _, d := range list {
		status, _ := d.end()
		args = append(args, string(d.Claimed.Delivery.ID), string(status), toMicros(d.NextAt), d.Status, d.Reason)
	}
	for part := range t.idempotentRowParts(args, 5) {
		if _, err := t.exec(`
			UPDATE delivery
			SET status = v.column2, attempts = attempts + 1, next_at = v.column3, response_status = v.column4,
				reason = v.column5, updated_at = $1
			FROM (`+values(2, len(part)/5, "text", "text", "bigint", "bigint", "text")+`) AS v
			WHERE delivery.id = v.column1`,
			append([]any{t.now}, part...)...); err != nil {
			return err
		}
	}
	return nil
}

// updateBreakers passes outcomes to the breakers of their endpoints. It reads the endpoints again, since other
// deliveries may have ended after these began.
func (t *tx) updateBreakers(list []DeliveryOutcome, update UpdateEndpoint) error {
	var ids []any
	for _, d := range list {
		if id := any(string(d.Claimed.Endpoint.ID)); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	endpoints, err := t.endpoints(ids, " FOR UPDATE")
	if err != nil {
		return err
	}
	for _, e := range endpoints {
		before, disabled := e, ""
		for _, d := range list {
			if d.Claimed.Endpoint.ID != e.ID {
				continue
			}
			v := update(e, d, fromMicros(t.now))
			if e.Health, e.ResumeAt = v.Health, v.RetryAt; v.Disable != "" {
				disabled = v.Disable
			}
		}
		if e.Health == before.Health && e.ResumeAt.Equal(before.ResumeAt) && disabled == "" {
			continue
		}
		if _, err := t.exec("UPDATE endpoint SET health = $1, resume_at = $2 WHERE id = $3",
			e.Health, toMicros(e.ResumeAt), e.ID); err != nil {
			return err
		}
		if disabled != "" && e.Active {
			if err := t.disable(e, disabled); err != nil {
				return err
			}
		}
	}
	return nil
}

// disable takes an endpoint out of use. Deliveries to a global one wait until its owner activates it again. Deliveries
// to the endpoint of a single run fail, and can be sent again.
func (t *tx) disable(e Endpoint, why string) error {
	if _, err := t.exec("UPDATE endpoint SET active = 0, disabled_reason = $1, updated_at = $2 WHERE id = $3",
		why, t.now, e.ID); err != nil || !e.SingleRun {
		return err
	}
	if _, err := t.exec(`
		DELETE FROM task WHERE tenant = $1 AND queue = $2 AND state IN ('queued', 'waiting')`,
		e.ID, deliveryQueue(e.ID)); err != nil {
		return err
	}
	_, err := t.exec(`
		UPDATE delivery SET status = 'FAILED', reason = $1, next_at = 0, updated_at = $2
		WHERE endpoint_id = $3 AND status = 'PENDING' AND NOT EXISTS (
			SELECT 1 FROM task k WHERE k.delivery_id = delivery.id AND k.state = 'running')`,
		why, t.now, e.ID)
	return err
}

// ForgetDeliveries deletes up to n deliveries to custom endpoints that ended before a moment, with their attempts, and
// returns how many it deleted. Follow-ups stay: their rows show that a run's follow-ups have started. A caller repeats
// it while it returns n, so that no transaction is long.
func (s *Store) ForgetDeliveries(ctx context.Context, before time.Time, n int) (int, error) {
	deleted := 0
	err := s.write(ctx, "forget deliveries", func(t *tx) error {
		var ids []any
		rows, err := t.query(`
			SELECT id FROM delivery
			WHERE status <> 'PENDING' AND updated_at < $1 AND destination = 'custom_http'
			ORDER BY updated_at
			LIMIT $2`,
			toMicros(before), n)
		err = forEachRow(rows, err, func(scan func(...any) error) error {
			var id string
			defer func() { ids = append(ids, id) }()
			return scan(&id)
		})
		if err != nil {
			return err
		}
		deleted = len(ids)
		return t.forgetDeliveries(ids)
	})
	return deleted, err
}

// forgetDeliveries deletes ended deliveries with their attempts, and the events of test deliveries, which belong to no
// run.
func (t *tx) forgetDeliveries(ids []any) error {
	for part := range slices.Chunk(ids, maxStatementRows) {
		in := "(" + params(1, padded(len(part))) + ")"
		for _, q := range []string{
			"DELETE FROM attempt WHERE delivery_id IN " + in,
			"DELETE FROM event WHERE source_id = '' AND id IN (SELECT event_id FROM delivery WHERE id IN " + in + ")",
			"DELETE FROM delivery WHERE id IN " + in,
		} {
			if _, err := t.exec(q, pad(part)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetSends deletes the attempts of all but the latest keptSends sends of deliveries.
func (t *tx) forgetSends(ids []any) error {
	for part := range slices.Chunk(ids, maxStatementRows) {
		// Each send is a task; one that has just been queued has no attempt yet.
		if _, err := t.exec(fmt.Sprintf(`
			DELETE FROM attempt
			WHERE task_id IN (
				SELECT s.task_id
				FROM (
					SELECT a.task_id, dense_rank() OVER (PARTITION BY a.delivery_id ORDER BY a.task_id DESC) AS nth
					FROM attempt a
					WHERE a.delivery_id IN (%s)
				) AS s
				WHERE s.nth >= %d)`, params(1, padded(len(part))), keptSends), pad(part)...); err != nil {
			return err
		}
	}
	return nil
}
