package runs

import (
	"cmp"
	"context"
	"slices"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/tasks"
)

// WorkerHeartbeat are the heartbeats of one worker. A worker without Beats is only marked as seen.
type WorkerHeartbeat struct {
	Worker pleat.WorkerID
	Beats  []pleat.Heartbeat
}

// WorkerReply answers a [WorkerHeartbeat].
type WorkerReply struct {
	Replies    []pleat.HeartbeatReply // in the order of the beats
	Drain      bool                   // the worker is to claim nothing more
	Registered bool                   // false: the worker never was, or was removed since
}

// Heartbeat renews a worker's leases and stores the progress of their runs, all in one transaction, and marks the
// worker as alive. The replies are in the order of the beats and report which tasks are cancelled and which leases are
// lost; the progress of a lost one is dropped. A renewal may be lost in a crash of the machine, with the progress.
func (s *Store) Heartbeat(
	ctx context.Context, worker pleat.WorkerID, beats []pleat.Heartbeat,
) ([]pleat.HeartbeatReply, error) {
	out, err := s.Heartbeats(ctx, pleat.LeaseDuration, []WorkerHeartbeat{{worker, beats}})
	if err != nil {
		return nil, err
	}
	return out[0].Replies, nil
}

// Heartbeats is [Store.Heartbeat] for many workers in one transaction. The leases last for a time from now. The replies
// are in the order of the list. Progress is stored with the run of its task, whatever run the beat names.
func (s *Store) Heartbeats(ctx context.Context, lease time.Duration, list []WorkerHeartbeat) ([]WorkerReply, error) {
	var reply func() []WorkerReply
	err := s.db.WriteAsync(ctx, "heartbeat", func(t *db.Tx) error {
		var leases []tasks.Lease
		var workers []any
		for _, h := range list {
			workers = append(workers, string(h.Worker))
			for i := range h.Beats {
				leases = append(leases, leaseOfBeat(h.Worker, &h.Beats[i]))
			}
		}
		held := map[tasks.Lease]tasks.HeldTask{}
		renewBeats(t, lease, leases, held)
		drains := map[pleat.WorkerID]bool{}
		markSeen(t, workers, drains)
		for _, h := range list {
			for i := range h.Beats {
				addProgressOf(t, leaseOfBeat(h.Worker, &h.Beats[i]), h.Beats[i].Progress)
			}
		}
		reply = func() []WorkerReply { return replies(list, held, drains) }
		return nil
	})
	if err != nil {
		return nil, err
	}
	return reply(), nil
}

// replies answers heartbeats, by the leases that are held and by the registered workers, which of them are to drain.
func replies(
	list []WorkerHeartbeat, held map[tasks.Lease]tasks.HeldTask, drains map[pleat.WorkerID]bool,
) []WorkerReply {
	out := make([]WorkerReply, len(list))
	for i, h := range list {
		r := &out[i]
		r.Drain, r.Registered = drains[h.Worker]
		for k := range h.Beats {
			b := &h.Beats[k]
			task := held[leaseOfBeat(h.Worker, b)]
			r.Replies = append(r.Replies,
				pleat.HeartbeatReply{Task: b.Task, Run: task.Run, Cancel: task.Cancel, Lost: !task.Held})
		}
	}
	return out
}

// ExtendLeases lets the leases of workers that call a server last at least for a time from now, unless a server has
// answered one of them lately. A server calls it before it serves: such workers could not renew their leases while no
// server answered.
func (s *Store) ExtendLeases(ctx context.Context, d time.Duration) error {
	return s.db.Write(ctx, "extend leases", func(t *db.Tx) error {
		_, err := t.Exec(`
			UPDATE task SET lease_until = $1
			WHERE id IN (
				SELECT id FROM task
				WHERE state = 'running' AND lease_until < $1
					AND worker_id IN (SELECT w.id FROM worker w WHERE w.token <> '')
					AND NOT EXISTS (SELECT 1 FROM worker w WHERE w.token <> '' AND w.seen_at > $2)
				ORDER BY id
				FOR NO KEY UPDATE)`,
			tasks.LeaseEnd(t, d), t.Now-pleat.RemoteHeartbeatInterval.Microseconds())
		return err
	})
}

// leaseOfBeat returns the lease that a heartbeat renews.
func leaseOfBeat(worker pleat.WorkerID, b *pleat.Heartbeat) tasks.Lease {
	return tasks.Lease{Task: b.Task, Attempt: b.Attempt, Worker: worker}
}

// renewBeats renews the leases of heartbeats, and adds those that are held to a map.
func renewBeats(t *db.Tx, d time.Duration, leases []tasks.Lease, held map[tasks.Lease]tasks.HeldTask) {
	renewAll(t, d, leases, "id, attempt, worker_id, COALESCE(run_id, ''), queue, cancel",
		func(scan func(...any) error) error {
			var l tasks.Lease
			var cancel int64
			h := tasks.HeldTask{Held: true}
			err := scan(&l.Task, &l.Attempt, &l.Worker, &h.Run, &h.Queue, &cancel)
			h.Cancel = cancel == 1
			held[l] = h
			return err
		})
}

// renewAll is renew for many leases, in few statements, but ends them at a time from now even if they were to last
// longer. It calls fn with the columns of each task whose lease is held, see ask. It locks the tasks in the order of
// their ids, so that two transactions that renew the same leases cannot wait for each other.
func renewAll(t *db.Tx, d time.Duration, leases []tasks.Lease, columns string, fn func(scan func(...any) error) error) {
	leases = slices.SortedFunc(slices.Values(leases), func(a, b tasks.Lease) int { return cmp.Compare(a.Task, b.Task) })
	var args []any
	for _, l := range leases {
		args = append(args, string(l.Task), l.Attempt, string(l.Worker))
	}
	for part := range t.IdempotentRowParts(args, 3) {
		t.Ask(`
			UPDATE task SET lease_until = $1
			FROM (
				SELECT k.id AS held
				FROM task k
				JOIN (`+db.Values(2, len(part)/3, "text", "bigint", "text")+`) AS v
					ON k.id = v.column1 AND k.attempt = v.column2 AND k.worker_id = v.column3
				WHERE k.state = 'running'
				ORDER BY k.id
				FOR NO KEY UPDATE OF k
			) AS locked
			WHERE task.id = locked.held
			RETURNING `+columns,
			append([]any{tasks.LeaseEnd(t, d)}, part...), fn)
	}
}

// markSeen records that workers are alive. It adds those that are registered to a map, with whether they are to drain.
// It locks them in the order of their ids.
func markSeen(t *db.Tx, workers []any, drains map[pleat.WorkerID]bool) {
	workers = slices.SortedFunc(slices.Values(workers), func(a, b any) int {
		return cmp.Compare(a.(string), b.(string))
	})
	for part := range slices.Chunk(workers, db.MaxStatementRows) {
		t.Ask(`
			UPDATE worker SET seen_at = $1
			WHERE id IN (
				SELECT id FROM worker WHERE id IN (`+db.Params(2, db.Padded(len(part)))+`)
				ORDER BY id
				FOR NO KEY UPDATE)
			RETURNING id, draining_at > 0`,
			append([]any{t.Now}, db.Pad(part)...),
			func(scan func(...any) error) error {
				var id pleat.WorkerID
				var drain bool
				err := scan(&id, &drain)
				drains[id] = drain
				return err
			})
	}
}
