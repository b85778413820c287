package store

import (
	"context"
	"errors"
	"slices"
	"strings"

	"pleat"
)

// workersLast is how long, in microseconds, a silent worker is expected to come back. Until then jobs for its models
// are accepted and wait.
const workersLast = 24 * 60 * 60 * 1_000_000

// RegisterWorker stores what a worker can run, and requeues at once what an earlier process of it held: a process that
// starts again with its identity need not wait for its leases to expire. It also removes workers that have been silent
// for a day. A worker calls it once, before it claims.
func (s *Store) RegisterWorker(ctx context.Context, w pleat.Worker) error {
	return s.write(ctx, "register worker", func(t *tx) error {
		if err := t.expireLeases("worker_id = $1", w.ID, &Reaped{}); err != nil {
			return err
		}
		if _, err := t.exec("DELETE FROM worker WHERE id = $1 OR seen_at < $2", w.ID, t.now-workersLast); err != nil {
			return err
		}
		_, err := t.exec(`
			INSERT INTO worker (id, host, queues, models, devices, memory, started_at, seen_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $7)`,
			w.ID, w.Host, encodeJSON(w.Queues), encodeJSON(w.Models), encodeJSON(w.Devices), w.Memory, t.now)
		return err
	})
}

// TouchWorker records that a worker is alive. A worker calls it every pleat.HeartbeatInterval, since it sends
// heartbeats for its tasks only.
func (s *Store) TouchWorker(ctx context.Context, id pleat.WorkerID) error {
	return s.writeAsync(ctx, "touch worker", func(t *tx) error {
		_, err := t.exec("UPDATE worker SET seen_at = $1 WHERE id = $2", t.now, id)
		return err
	})
}

// Workers lists the workers that are alive or may come back, the one seen last first.
func (s *Store) Workers(ctx context.Context) ([]pleat.Worker, error) {
	out := []pleat.Worker{}
	rows, err := s.read(ctx, `
		SELECT id, host, queues, models, devices, memory, started_at, seen_at
		FROM worker
		WHERE seen_at >= $1
		ORDER BY seen_at DESC`,
		s.now()-workersLast)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var w pleat.Worker
		var queues, models, devices string
		var started, seen int64
		if err := scan(&w.ID, &w.Host, &queues, &models, &devices, &w.Memory, &started, &seen); err != nil {
			return err
		}
		w.Started, w.SeenAt = fromMicros(started), fromMicros(seen)
		err := errors.Join(decodeJSON(queues, &w.Queues), decodeJSON(models, &w.Models),
			decodeJSON(devices, &w.Devices))
		out = append(out, w)
		return err
	})
	return out, unavailable("list workers", err)
}

// Models lists what the workers can run, by kind and name. It decides which models a job may ask for. If two workers
// describe a model differently, the one seen last counts, but for Room: there the largest counts, since a job runs
// where it fits, and 0, unknown, counts as larger than any.
func (s *Store) Models(ctx context.Context) ([]pleat.Model, error) {
	workers, err := s.Workers(ctx)
	if err != nil {
		return nil, err
	}
	out := []pleat.Model{}
	for _, w := range workers {
		for _, m := range w.Models {
			i := slices.IndexFunc(out, func(o pleat.Model) bool { return o.Name == m.Name && o.Kind == m.Kind })
			switch {
			case i < 0:
				out = append(out, m)
			case m.Room == 0 || out[i].Room != 0 && m.Room > out[i].Room:
				out[i].Room = m.Room
			}
		}
	}
	slices.SortFunc(out, func(a, b pleat.Model) int {
		return strings.Compare(string(a.Kind)+a.Name, string(b.Kind)+b.Name)
	})
	return out, nil
}
