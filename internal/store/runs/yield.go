package runs

import (
	"context"
	"database/sql"
	"errors"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/tasks"
)

// Slots are what a worker can use for a task: the queues whose tasks compete for it, and the bytes that a task may
// expect to use; 0: unlimited.
type Slots struct {
	Queues []string
	Memory int64
}

// waiter is a queued task for which another tenant's task may yield.
type waiter struct {
	id      pleat.TaskID
	queue   string
	running int   // how many tasks of its tenant run in the slots
	since   int64 // when it was queued last, in microseconds
}

// before reports whether a task is yielded to before another: its tenant has fewer tasks running, or it has waited
// longer.
func (w *waiter) before(o *waiter) bool {
	return o == nil || w.running < o.running || w.running == o.running && w.since < o.since
}

// firstWaiterSQL returns a query for the task of a queue for which a task of another tenant yields first. Its tenant
// has fewer tasks running in the slots' queues, the fewest of all that wait; among those, the fair order decides.
//
// So two tenants that share two slots each keep one, and neither yields to the further tasks of the other.
func firstWaiterSQL(slots Slots) string {
	const all = `
		state = 'queued' AND queue = $2 AND (CAST($3 AS bigint) = 0 OR memory <= CAST($3 AS bigint))`
	waits := all + " AND " + tasks.NotPaused("$2")
	running := func(tenant string) string {
		return `(
			SELECT count(*) FROM task r
			WHERE r.state = 'running' AND r.queue IN (` + db.Params(4, db.Padded(len(slots.Queues))) + `)
				AND r.tenant = ` + tenant + `)`
	}
	return `
		SELECT w.id, w.run_at, f.running
		FROM (
			SELECT q.tenant, min(q.position) AS position, ` + running("q.tenant") + ` AS running
			FROM task q
			WHERE q.tenant <> $1 AND ` + waits + `
			GROUP BY q.tenant
		) AS f
		JOIN (SELECT id, run_at, tenant, position FROM task WHERE ` + waits + `) AS w
			ON w.tenant = f.tenant AND w.position = f.position
		WHERE f.running < ` + running("$1") + `
		ORDER BY f.running, w.position, w.id
		LIMIT 1`
}

// firstWaiter finds the task of the slots' queues for which a task yields first. row runs a query of one row. It
// returns nil if there is none.
func firstWaiter(
	k *pleat.Task, slots Slots, row func(q string, args []any, dst ...any) error,
) (*waiter, error) {
	var first *waiter
	in := db.Pad(db.Args(slots.Queues))
	for _, q := range slots.Queues {
		w := waiter{queue: q}
		err := row(firstWaiterSQL(slots), append([]any{k.Tenant, q, slots.Memory}, in...), &w.id, &w.since, &w.running)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return nil, err
		case w.before(first):
			first = &w
		}
	}
	return first, nil
}

// OthersWait reports whether a running task is to yield: a task of another tenant waits that the slots could run, and
// that tenant has fewer tasks running in them. A worker asks it after a checkpoint of the task.
func (s *Store) OthersWait(ctx context.Context, k *pleat.Task, slots Slots) (bool, error) {
	w, err := firstWaiter(k, slots, func(q string, args []any, dst ...any) error {
		return s.db.ReadRow(ctx, q, args, dst...)
	})
	return w != nil, db.Unavailable("look for waiting tasks", err)
}

// Yield returns a task to its queue from its last checkpoint, for a task of another tenant that waits. No try is spent.
// That task becomes the first of its queue, whose name is returned so that the worker claims from it first. The
// yielding task waits behind the first task of every other tenant and before its own tenant's; the run stays RUNNING.
//
// If nobody waits any more, the task keeps its position and no queue is returned. A task that its owner has cancelled
// ends STOPPED. [pleat.ErrLost]: the lease is no longer held.
func (s *Store) Yield(ctx context.Context, k *pleat.Task, slots Slots, progress []pleat.Progress) (string, error) {
	var queue string
	err := s.db.Write(ctx, "yield", func(t *db.Tx) error {
		queue = ""
		l := tasks.LeaseOf(k)
		if h, err := s.renewOrStop(t, l, progress); err != nil || h.Cancel {
			return err
		}
		first, err := firstWaiter(k, slots, t.Row)
		if err != nil {
			return err
		}
		if first != nil {
			queue = first.queue
			if err := requeueBehindOtherTenants(t, k); err != nil {
				return err
			}
			if err := stepForward(t, first); err != nil {
				return err
			}
		}
		tasks.Requeue(t, l, tasks.OutcomeYielded, 0)
		return nil
	})
	return queue, err
}

// requeueBehindOtherTenants moves a task, and its tenant's queued tasks after it, behind the first task of every other
// tenant that waits in its queue.
func requeueBehindOtherTenants(t *db.Tx, k *pleat.Task) error {
	var behind int64
	err := t.Row(`
		SELECT COALESCE(max(f.position) + 1, (SELECT position FROM task WHERE id = $3))
		FROM (
			SELECT min(position) AS position FROM task
			WHERE state = 'queued' AND queue = $1 AND tenant <> $2
			GROUP BY tenant
		) AS f`,
		[]any{k.Queue, k.Tenant, k.ID}, &behind)
	if err != nil {
		return err
	}
	if _, err := t.Exec("UPDATE task SET position = $1 WHERE id = $2", behind, k.ID); err != nil {
		return err
	}
	var tenant sql.NullInt64
	err = t.Row("SELECT min(q.position) FROM task q WHERE "+tasks.QueuedBy("$1", "$2"),
		[]any{k.Queue, k.Tenant}, &tenant)
	if err != nil || !tenant.Valid || tenant.Int64 > behind {
		return err
	}
	_, err = t.Exec("UPDATE task AS q SET position = position + $1 WHERE "+tasks.QueuedBy("$2", "$3"),
		behind+1-tenant.Int64, k.Queue, k.Tenant)
	return err
}

// stepForward makes a task the first of its queue.
func stepForward(t *db.Tx, w *waiter) error {
	_, err := t.Exec(`
		UPDATE task SET position = (
			SELECT min(q.position) - 1 FROM task q WHERE q.state = 'queued' AND q.queue = $1)
		WHERE id = $2 AND id <> (
			SELECT q.id FROM task q WHERE q.state = 'queued' AND q.queue = $1 ORDER BY q.position, q.id LIMIT 1)`,
		w.queue, w.id)
	return err
}
