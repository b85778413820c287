package workers

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// workersLast is how long, in microseconds, a worker that has ended is expected to come back, counted back from when
// any worker was seen last. Until then jobs for its models are accepted and wait; where nobody has worked since, they
// are accepted for as long as it takes.
const workersLast = 7 * 24 * 60 * 60 * 1_000_000

// stoppedLast is how long, in microseconds, a worker that has stopped in order is kept at least: it returns its tasks
// after it has said so.
const stoppedLast = 60 * 1_000_000

// RegisterWorker stores what a worker can run, and requeues at once what an earlier process of it held: a process that
// starts again with its identity need not wait for its leases to expire. It also removes workers that have been away
// for a week, and those that have stopped a minute ago, hold no tasks and could run the same. A worker calls it once,
// before it claims.
//
// A worker with a Token may not take the identity of one of another class, or of one that has the database's address:
// CodeConflict, and nothing has changed.
func (s *Store) RegisterWorker(ctx context.Context, w pleat.Worker) error {
	w.Class = cmp.Or(w.Class, pleat.DefaultClass)
	err := s.db.Write(ctx, "register worker", func(t *db.Tx) error {
		if err := mayRegister(t, &w); err != nil {
			return err
		}
		if err := s.runs.ExpireLeases(t, "worker_id = $1", w.ID, &runs.Reaped{}); err != nil {
			return err
		}
		models := db.EncodeJSON(w.Models)
		if _, err := t.Exec(`
			DELETE FROM worker
			WHERE id = $1 OR seen_at < $2 OR stopped_at > 0 AND stopped_at < $5 AND models = $3 AND class = $4
				AND NOT EXISTS (SELECT 1 FROM task k WHERE k.state = 'running' AND k.worker_id = worker.id)`,
			w.ID, t.Now-workersLast, models, w.Class, t.Now-stoppedLast); err != nil {
			return err
		}
		_, err := t.Exec(`
			INSERT INTO worker (
				id, host, queues, models, devices, memory, started_at, seen_at, class, cluster_job, ends_at,
				token)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9, $10, $11)`,
			w.ID, w.Host, db.EncodeJSON(w.Queues), models, db.EncodeJSON(w.Devices), w.Memory, t.Now, w.Class,
			w.ClusterJob, db.ToMicros(w.Ends), w.Token)
		people.SetWorkerResources(t, &w)
		return err
	})
	if err == nil {
		s.runs.ExpectWorker(&w)
	}
	return err
}

// mayRegister refuses a worker with a token the identity of a worker that its token does not stand for.
func mayRegister(t *db.Tx, w *pleat.Worker) error {
	if w.Token == "" {
		return nil
	}
	var class, token string
	err := t.Row("SELECT class, token FROM worker WHERE id = $1 FOR UPDATE", []any{w.ID}, &class, &token)
	if err != nil {
		return db.MapNoRows(err, nil)
	}
	if class != w.Class || token == "" {
		return errWorkerTaken
	}
	return nil
}

var errWorkerTaken = pleat.Errorf(pleat.CodeConflict,
	"the id of this worker is that of a worker of another class, or of one that has the database's address; "+
		"give it another id")

// StopWorker records that a worker ends in order and claims nothing any more. Its models stay known, so that jobs for
// them are accepted.
func (s *Store) StopWorker(ctx context.Context, id pleat.WorkerID) error {
	return s.db.Write(ctx, "stop worker", func(t *db.Tx) error {
		_, err := t.Exec("UPDATE worker SET stopped_at = $1, seen_at = $1 WHERE id = $2", t.Now, id)
		return err
	})
}

// TouchWorker records that a worker is alive, and reports whether it is to drain. A worker calls it every
// [pleat.HeartbeatInterval], since it sends heartbeats for its tasks only.
func (s *Store) TouchWorker(ctx context.Context, id pleat.WorkerID) (drain bool, err error) {
	out, err := s.runs.Heartbeats(ctx, pleat.LeaseDuration, []runs.WorkerHeartbeat{{Worker: id}})
	if err != nil {
		return false, err
	}
	return out[0].Drain, nil
}

// DrainWorker records that a worker claims nothing more and ends when its tasks have ended.
func (s *Store) DrainWorker(ctx context.Context, id pleat.WorkerID) error {
	return s.db.Write(ctx, "drain worker", func(t *db.Tx) error {
		_, err := t.Exec("UPDATE worker SET draining_at = $1 WHERE id = $2 AND draining_at = 0", t.Now, id)
		return err
	})
}

// ErrNoWorker: no worker of the id is known.
var ErrNoWorker = pleat.Errorf(pleat.CodeNotFound, "Worker not found; GET /v1/operator/workers lists the workers")

// OrderDrain asks a worker to finish what it runs, to claim nothing more and to end, and records it. It changes nothing
// if the worker drains already. It is for operators. CodeNotFound: there is no such worker. CodeConflict: it has ended.
func (s *Store) OrderDrain(ctx context.Context, by people.Actor, id pleat.WorkerID) error {
	return s.db.Write(ctx, "order drain", func(t *db.Tx) error {
		if err := people.NeedOperator(t, by, "drain a worker"); err != nil {
			return err
		}
		var host string
		var draining, stopped int64
		err := t.Row("SELECT host, draining_at, stopped_at FROM worker WHERE id = $1 FOR UPDATE", []any{id}, &host,
			&draining, &stopped)
		switch {
		case err != nil:
			return db.MapNoRows(err, ErrNoWorker)
		case stopped > 0:
			return pleat.Errorf(pleat.CodeConflict, "the worker %s has ended already", id)
		case draining > 0:
			return nil
		}
		_, err = wakeWorkers(t, "UPDATE worker SET draining_at = $1 WHERE id = $2 RETURNING id", t.Now, id)
		if err != nil {
			return err
		}
		return s.people.RecordAudit(t, by, people.AuditWorkerDrained, string(id), host)
	})
}

// TasksHeld counts the tasks that each worker holds now.
func (s *Store) TasksHeld(ctx context.Context) (map[pleat.WorkerID]int, error) {
	out, err := db.MapOf[pleat.WorkerID, int](s.db.Read(ctx, tasksHeld))
	return out, db.Unavailable("count held tasks", err)
}

const tasksHeld = "SELECT worker_id, count(*) FROM task WHERE state = 'running' GROUP BY worker_id"

// recentWorker is the condition for workers that are alive or may come back; $1 is workersLast.
const recentWorker = "seen_at >= (SELECT max(seen_at) FROM worker) - CAST($1 AS bigint)"

// Workers lists the workers that are alive or may come back, the one seen last first. [pleat.Worker.State] tells which
// of them work. Workers may share a list of models, which the caller must not change.
func (s *Store) Workers(ctx context.Context) ([]pleat.Worker, error) {
	decoded := map[string][]pleat.Model{} // by their JSON: the workers of a class mostly have the same models
	rows, err := s.db.Read(ctx, `
		SELECT id, host, queues, models, devices, memory, started_at, seen_at, stopped_at, class, cluster_job, ends_at,
			draining_at, token
		FROM worker
		WHERE `+recentWorker+`
		ORDER BY seen_at DESC, id`,
		int64(workersLast))
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (w pleat.Worker, err error) {
		var queues, models, devices string
		if err := scan(&w.ID, &w.Host, &queues, &models, &devices, &w.Memory, db.ScanTime(&w.Started),
			db.ScanTime(&w.SeenAt), db.ScanTime(&w.Stopped), &w.Class, &w.ClusterJob, db.ScanTime(&w.Ends),
			db.ScanTime(&w.Draining), &w.Token); err != nil {
			return w, err
		}
		err = errors.Join(db.DecodeJSON(queues, &w.Queues), db.DecodeJSON(devices, &w.Devices))
		var ok bool
		if w.Models, ok = decoded[models]; !ok {
			err = errors.Join(err, db.DecodeJSON(models, &w.Models))
			decoded[models] = w.Models
		}
		return w, err
	})
	return out, db.Unavailable("list workers", err)
}

// Working is how many workers can run something at the moment.
type Working struct {
	Live int
	// Since is when the last of them was seen, if none is live; zero: none is known.
	Since time.Time
}

// Working counts the live workers that serve a queue, such as that of a task that waits. The empty queue stands for
// any.
func (s *Store) Working(ctx context.Context, queue string) (Working, error) {
	rows, err := s.db.Read(ctx, "SELECT queues, seen_at, stopped_at FROM worker WHERE "+recentWorker,
		int64(workersLast))
	workers, err := db.ListOf(rows, err, func(scan func(...any) error) (w pleat.Worker, err error) {
		var queues string
		if err := scan(&queues, db.ScanTime(&w.SeenAt), db.ScanTime(&w.Stopped)); err != nil {
			return w, err
		}
		err = db.DecodeJSON(queues, &w.Queues)
		return w, err
	})
	return s.working(workers, queue), db.Unavailable("count workers", err)
}

// working is Working for workers that were read.
func (s *Store) working(workers []pleat.Worker, queue string) Working {
	var out Working
	now := s.db.Now()
	for i := range workers {
		w := &workers[i]
		if queue != "" && !slices.Contains(w.Queues, queue) {
			continue
		}
		if w.State(now) == pleat.WorkerLive {
			out.Live++
		}
		if w.SeenAt.After(out.Since) {
			out.Since = w.SeenAt
		}
	}
	if out.Live > 0 {
		out.Since = time.Time{}
	}
	return out
}

// Models lists what the workers and the classes can run, by kind and name, with how many live workers can. It decides
// which models a job may ask for, so those of workers that are away are among them. If two workers describe a model
// differently, the one seen last counts, and a worker counts before a class; but of Room the largest counts, since a
// job runs where it fits, and 0, unknown, counts as larger than any. A class that does not say its room changes nothing
// of what workers register. The service searches for alignments for a model if any worker that has not stopped, or any
// class, does: the search before a fold waits for such a worker.
func (s *Store) Models(ctx context.Context) ([]pleat.Model, error) {
	workers, err := s.Workers(ctx)
	if err != nil {
		return nil, err
	}
	classes, err := s.classes(ctx)
	if err != nil {
		return nil, err
	}
	var lists [][]pleat.Model
	for i := range workers {
		lists = append(lists, workers[i].Models)
	}
	for i := range classes {
		lists = append(lists, classes[i].Models)
	}
	out := []pleat.Model{}
	for n, list := range lists {
		searches := n >= len(workers) || workers[n].Stopped.IsZero()
		for _, m := range list {
			i := slices.IndexFunc(out, func(o pleat.Model) bool { return o.Name == m.Name && o.Kind == m.Kind })
			if i >= 0 && searches && m.AlignmentsSearched() && !out[i].AlignmentsSearched() {
				out[i].TakeAlgorithm(&m)
			}
			switch {
			case i < 0:
				out = append(out, m)
			case m.Room == 0 && n >= len(workers): // of a class that does not say
			case m.Room == 0 || out[i].Room != 0 && m.Room > out[i].Room:
				out[i].Room = m.Room
			}
		}
	}
	for i := range out {
		out[i].Workers = s.working(workers, pleat.Queue(out[i].Kind, out[i].Name)).Live
	}
	slices.SortFunc(out, func(a, b pleat.Model) int {
		return strings.Compare(string(a.Kind)+a.Name, string(b.Kind)+b.Name)
	})
	return out, nil
}
