package webhooks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/mails"
	"pleat/internal/store/tasks"
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

// end returns the states that the delivery and its task move to, and the outcome of the attempt. The task has ended
// unless the delivery is pending. An attempt that will be repeated has failed.
func (d *DeliveryOutcome) end() (status pleat.DeliveryStatus, task pleat.TaskState, outcome string) {
	switch {
	case d.Aborted:
		return pleat.DeliveryPending, pleat.TaskQueued, tasks.OutcomeReleased
	case d.OK:
		return pleat.DeliverySucceeded, "", tasks.OutcomeDone
	case !d.NextAt.IsZero():
		return pleat.DeliveryPending, pleat.TaskWaiting, tasks.OutcomeFailed
	}
	return pleat.DeliveryFailed, "", tasks.OutcomeFailed
}

// EndpointUpdate is what the outcomes of attempts change about their endpoint.
type EndpointUpdate struct {
	Health  string    // the circuit breaker's state to store
	RetryAt time.Time // when the endpoint may receive again; zero: at once
	Disable string    // why the endpoint is to be disabled; empty: it is not
}

// UpdateEndpoint passes the outcomes of attempts, none of which was aborted, to the circuit breaker of their endpoint,
// and returns its new state. It runs outside the transaction, and again if the state has changed before it was stored;
// only what it returned last counts.
type UpdateEndpoint func(e Endpoint, list []DeliveryOutcome, now time.Time) EndpointUpdate

// FinishDeliveries ends attempts: the tasks, the attempts and the deliveries, with the breakers of their endpoints. It
// skips those whose lease is no longer held, without an error: another worker sends them again, under the same
// webhook-id.
//
// The outcomes of one endpoint are stored in one transaction with its breaker, or not at all. The first transaction
// takes the breakers to be as the claims have read them. Outcomes of endpoints whose breakers have changed since then
// are left out and stored by another one, with the breaker as it is.
func (s *Store) FinishDeliveries(
	ctx context.Context, worker pleat.WorkerID, list []DeliveryOutcome, update UpdateEndpoint,
) error {
	read := map[pleat.EndpointID]Endpoint{}
	for i := range list {
		read[list[i].Claimed.Endpoint.ID] = list[i].Claimed.Endpoint
	}
	for len(list) > 0 {
		f := &deliveryFinish{worker: worker, list: list, read: read}
		f.update(update, s.db.Now())
		err := s.db.Write(ctx, "finish deliveries", func(t *db.Tx) error {
			finishDeliveries(t, f)
			return mailAllDisabled(t, f)
		})
		if err != nil {
			return err
		}
		list, read = f.leftOut()
	}
	return nil
}

// deliveryFinish is one transaction of FinishDeliveries.
type deliveryFinish struct {
	worker  pleat.WorkerID
	list    []DeliveryOutcome
	read    map[pleat.EndpointID]Endpoint       // as the updates take them to be
	updates map[pleat.EndpointID]EndpointUpdate // of those that change

	current map[pleat.EndpointID]Endpoint // as they were when the transaction had locked them
	held    map[pleat.TaskID]bool         // the tasks whose leases the worker held
}

// leftOut returns the outcomes that were left out, and their endpoints as they were.
func (f *deliveryFinish) leftOut() (list []DeliveryOutcome, read map[pleat.EndpointID]Endpoint) {
	read = map[pleat.EndpointID]Endpoint{}
	for _, d := range f.list {
		id := d.Claimed.Endpoint.ID
		e, exists := f.current[id] // the deliveries of one that is gone are gone too
		if exists && f.held[d.Claimed.Task.ID] && e.Health != f.read[id].Health {
			list, read[id] = append(list, d), e
		}
	}
	return list, read
}

// update decides about the endpoints.
func (f *deliveryFinish) update(update UpdateEndpoint, now time.Time) {
	lists := map[pleat.EndpointID][]DeliveryOutcome{}
	for _, d := range f.list {
		if id := d.Claimed.Endpoint.ID; !d.Aborted {
			lists[id] = append(lists[id], d)
		}
	}
	f.updates = map[pleat.EndpointID]EndpointUpdate{}
	for id, list := range lists {
		e := f.read[id]
		u := update(e, list, now)
		if u.Health != e.Health || db.ToMicros(u.RetryAt) != db.ToMicros(e.ResumeAt) || u.Disable != "" {
			f.updates[id] = u
		}
	}
}

// heldSQL is the condition on a row v that a worker, $1, still holds the lease on its task, column1 with the attempt
// column2, and that the health of the endpoint is column3. Both are locked.
const heldSQL = `EXISTS (
	SELECT 1 FROM task k
	JOIN endpoint e ON e.id = k.tenant
	WHERE k.id = v.column1 AND k.attempt = v.column2 AND k.worker_id = $1 AND k.state = 'running'
		AND e.health = v.column3)`

// finishDeliveries stores outcomes. The tasks come after what depends on their leases, and the endpoints after what
// depends on their health.
func finishDeliveries(t *db.Tx, f *deliveryFinish) {
	lockFinished(t, f)
	endDeliveryAttempts(t, f)
	endDeliveries(t, f)
	endDeliveryTasks(t, f)
	for id, u := range f.updates {
		updateEndpoint(t, f, id, u)
	}
}

// rows returns the values of a statement about outcomes: the task, the attempt and the health of the endpoint of each,
// and then what more returns; nil leaves an outcome out.
func (f *deliveryFinish) rows(more func(d *DeliveryOutcome) []any) (args []any) {
	for i := range f.list {
		d := &f.list[i]
		if values := more(d); values != nil {
			k := &d.Claimed.Task
			args = append(args, string(k.ID), k.Attempt, f.read[d.Claimed.Endpoint.ID].Health)
			args = append(args, values...)
		}
	}
	return args
}

// lockFinished locks the endpoints and the tasks of outcomes, which it reads.
func lockFinished(t *db.Tx, f *deliveryFinish) {
	f.current, f.held = map[pleat.EndpointID]Endpoint{}, map[pleat.TaskID]bool{}
	ids := db.Args(slices.Sorted(maps.Keys(f.read))) // parts are locked in one order too
	for part := range slices.Chunk(ids, db.MaxStatementRows) {
		t.Ask("SELECT "+endpointColumns+" FROM endpoint e WHERE e.id IN ("+db.Params(1, db.Padded(len(part)))+
			") ORDER BY e.id FOR UPDATE", db.Pad(part), func(scan func(...any) error) error {
			e, err := scanEndpoint(scan)
			f.current[e.ID] = e
			return err
		})
	}
	tasks := f.rows(func(*DeliveryOutcome) []any { return []any{} })
	for part := range t.IdempotentRowParts(tasks, 3) {
		t.Ask(`
			SELECT k.id FROM task k
			JOIN (`+db.Values(2, len(part)/3, "text", "bigint", "text")+`) AS v
				ON k.id = v.column1 AND k.attempt = v.column2
			WHERE k.worker_id = $1 AND k.state = 'running'
			ORDER BY k.id
			FOR NO KEY UPDATE OF k`,
			append([]any{f.worker}, part...), func(scan func(...any) error) error {
				var id pleat.TaskID
				defer func() { f.held[id] = true }()
				return scan(&id)
			})
	}
}

// endDeliveryAttempts writes the ends of attempts with their details.
func endDeliveryAttempts(t *db.Tx, f *deliveryFinish) {
	args := f.rows(func(d *DeliveryOutcome) []any {
		_, _, outcome := d.end()
		return []any{outcome, d.Detail}
	})
	for part := range t.IdempotentRowParts(args, 5) {
		t.Send(`
			UPDATE attempt
			SET ended_at = $2, outcome = v.column4, detail = v.column5
			FROM (`+db.Values(3, len(part)/5, "text", "bigint", "text", "text", "text")+`) AS v
			WHERE attempt.task_id = v.column1 AND attempt.number = v.column2 AND attempt.ended_at = 0 AND `+heldSQL,
			append([]any{f.worker, t.Now}, part...)...)
	}
}

// endDeliveries writes the new states of deliveries, and counts the attempts.
func endDeliveries(t *db.Tx, f *deliveryFinish) {
	args := f.rows(func(d *DeliveryOutcome) []any {
		if d.Aborted {
			return nil
		}
		status, _, _ := d.end()
		return []any{string(d.Claimed.Delivery.ID), string(status), db.ToMicros(d.NextAt), d.Status, d.Reason}
	})
	for part := range t.IdempotentRowParts(args, 8) {
		rows := db.Values(3, len(part)/8, "text", "bigint", "text", "text", "text", "bigint", "bigint", "text")
		t.Send(`
			UPDATE delivery
			SET status = v.column5, attempts = attempts + 1, next_at = v.column6, response_status = v.column7,
				reason = v.column8, updated_at = $2
			FROM (`+rows+`) AS v
			WHERE delivery.id = v.column4 AND `+heldSQL,
			append([]any{f.worker, t.Now}, part...)...)
	}
}

// endDeliveryTasks deletes the tasks of deliveries that have ended and requeues the others.
func endDeliveryTasks(t *db.Tx, f *deliveryFinish) {
	ended := f.rows(func(d *DeliveryOutcome) []any {
		if _, state, _ := d.end(); state != "" {
			return nil
		}
		return []any{}
	})
	again := f.rows(func(d *DeliveryOutcome) []any {
		_, state, _ := d.end()
		switch {
		case state == "":
			return nil
		case d.Aborted:
			tasks.NotifyDeliveries(t)
			return []any{string(state), db.ToMicros(d.NextAt), 0}
		}
		return []any{string(state), db.ToMicros(d.NextAt), 1}
	})
	for part := range t.IdempotentRowParts(ended, 3) {
		t.Send(`
			DELETE FROM task
			WHERE id IN (
				SELECT v.column1 FROM (`+db.Values(2, len(part)/3, "text", "bigint", "text")+`) AS v
				WHERE `+heldSQL+`)`,
			append([]any{f.worker}, part...)...)
	}
	for part := range t.IdempotentRowParts(again, 6) {
		t.Send(`
			UPDATE task
			SET state = v.column4, run_at = v.column5, tries = tries + v.column6, lease_until = 0, worker_id = ''
			FROM (`+db.Values(2, len(part)/6, "text", "bigint", "text", "text", "bigint", "bigint")+`) AS v
			WHERE task.id = v.column1 AND `+heldSQL,
			append([]any{f.worker}, part...)...)
	}
}

// updateEndpoint stores what outcomes change about an endpoint whose health is the one that was read, if all of them
// were stored: an outcome whose lease was lost is another worker's to report. One that is
// disabled is taken out of use: deliveries to a default or a named one wait until a manager activates it again, and
// deliveries to the endpoint of a single run fail, and can be sent again.
func updateEndpoint(t *db.Tx, f *deliveryFinish, id pleat.EndpointID, u EndpointUpdate) {
	e := f.read[id]
	args := []any{u.Health, db.ToMicros(u.RetryAt), t.Now, u.Disable, e.ID, e.Health, f.worker}
	var attempts []any
	for i := range f.list {
		if d := &f.list[i]; d.Claimed.Endpoint.ID == id && !d.Aborted {
			attempts = append(attempts, string(d.Claimed.Task.ID), d.Claimed.Task.Attempt)
		}
	}
	n := db.Padded(len(attempts) / 2)
	for len(attempts) < 2*n {
		attempts = append(attempts, attempts[:2]...)
	}
	disabled := "CASE WHEN $4 <> '' AND active = 1 THEN "
	t.Send(`
		UPDATE endpoint
		SET health = $1, resume_at = $2, active = `+disabled+`0 ELSE active END,
			disabled_reason = `+disabled+`$4 ELSE disabled_reason END,
			updated_at = `+disabled+`CAST($3 AS bigint) ELSE updated_at END
		WHERE id = $5 AND health = $6 AND NOT EXISTS (
			SELECT 1 FROM (`+db.Values(len(args)+1, n, "text", "bigint")+`) AS v
			WHERE NOT EXISTS (
				SELECT 1 FROM attempt a
				WHERE a.task_id = v.column1 AND a.number = v.column2 AND a.worker_id = $7 AND a.ended_at = $3))`,
		append(args, attempts...)...)
	if u.Disable == "" || !e.SingleRun {
		return
	}
	const disabledNow = "EXISTS (SELECT 1 FROM endpoint WHERE id = $1 AND active = 0 AND updated_at = $3)"
	t.Send("DELETE FROM task WHERE tenant = $1 AND queue = $2 AND state IN ('queued', 'waiting') AND "+disabledNow,
		e.ID, deliveryQueue(e.ID), t.Now)
	t.Send(`
		UPDATE delivery SET status = 'FAILED', reason = $2, next_at = 0, updated_at = $3
		WHERE endpoint_id = $1 AND status = 'PENDING' AND `+disabledNow+` AND NOT EXISTS (
			SELECT 1 FROM task k WHERE k.delivery_id = delivery.id AND k.state = 'running')`,
		e.ID, u.Disable, t.Now)
}

// mailAllDisabled writes mails about the endpoints that outcomes have disabled.
func mailAllDisabled(t *db.Tx, f *deliveryFinish) error {
	for id, u := range f.updates {
		if u.Disable == "" || f.read[id].SingleRun {
			continue
		}
		if err := mails.EndpointDisabled(t, f.read[id].Owner, id); err != nil {
			return err
		}
	}
	return nil
}

// ForgetDeliveries deletes up to n deliveries to custom endpoints that ended before a moment, with their attempts, and
// returns how many it deleted. Follow-ups stay: their rows show that a run's follow-ups have started. A caller repeats
// it while it returns n, so that no transaction is long.
func (s *Store) ForgetDeliveries(ctx context.Context, before time.Time, n int) (int, error) {
	deleted := 0
	err := s.db.Write(ctx, "forget deliveries", func(t *db.Tx) error {
		ids, err := db.IDsOf(t.Query(`
			SELECT id FROM delivery
			WHERE status <> 'PENDING' AND updated_at < $1 AND destination = 'custom_http'
			ORDER BY updated_at
			LIMIT $2`,
			db.ToMicros(before), n))
		if err != nil {
			return err
		}
		deleted = len(ids)
		return DeleteDeliveries(t, ids)
	})
	return deleted, err
}

// DeleteDeliveries deletes ended deliveries with their attempts, and the events of test deliveries, which belong to no
// run.
func DeleteDeliveries(t *db.Tx, ids []any) error {
	for part := range slices.Chunk(ids, db.MaxStatementRows) {
		in := "(" + db.Params(1, db.Padded(len(part))) + ")"
		for _, q := range []string{
			"DELETE FROM attempt WHERE delivery_id IN " + in,
			"DELETE FROM event WHERE source_id = '' AND id IN (SELECT event_id FROM delivery WHERE id IN " + in + ")",
			"DELETE FROM delivery WHERE id IN " + in,
		} {
			if _, err := t.Exec(q, db.Pad(part)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetSends deletes the attempts of all but the latest keptSends sends of deliveries.
func forgetSends(t *db.Tx, ids []any) error {
	for part := range slices.Chunk(ids, db.MaxStatementRows) {
		// Each send is a task; one that has just been queued has no attempt yet.
		if _, err := t.Exec(fmt.Sprintf(`
			DELETE FROM attempt
			WHERE task_id IN (
				SELECT s.task_id
				FROM (
					SELECT a.task_id, dense_rank() OVER (PARTITION BY a.delivery_id ORDER BY a.task_id DESC) AS nth
					FROM attempt a
					WHERE a.delivery_id IN (%s)
				) AS s
				WHERE s.nth >= %d)`, db.Params(1, db.Padded(len(part))), keptSends), db.Pad(part)...); err != nil {
			return err
		}
	}
	return nil
}

// CountLostAttempt counts an attempt at a delivery whose process died. The next one is due at once.
func CountLostAttempt(t *db.Tx, id pleat.DeliveryID) error {
	_, err := t.Exec("UPDATE delivery SET attempts = attempts + 1, next_at = $1, updated_at = $1 WHERE id = $2",
		t.Now, id)
	return err
}

// FailDelivery ends a delivery or a follow-up that has no tries left.
func FailDelivery(t *db.Tx, id pleat.DeliveryID, reason string) error {
	_, err := t.Exec("UPDATE delivery SET status = 'FAILED', reason = $1, next_at = 0, updated_at = $2 WHERE id = $3",
		reason, t.Now, id)
	return err
}
