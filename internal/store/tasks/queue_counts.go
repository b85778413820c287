package tasks

import (
	"context"
	"strconv"
	"time"

	"pleat"
	"pleat/internal/store/db"
)

// QueueCount is the number of tasks of one queue in one state, as metrics and pleat doctor show it.
type QueueCount struct {
	Queue  string
	State  pleat.TaskState
	N      int       // at most those that QueueCounts counts
	Oldest time.Time // when the first of them was created
}

// maxCounted bounds how many tasks of a queue and state QueueCounts counts.
const maxCounted = 100_000

// QueueCounts returns the number of tasks by queue and state, without ended ones. All deliveries count as one queue,
// since each endpoint has one of its own. It counts at most 100,000 queued tasks of each queue, whose oldest is that of
// the first 1000 in its order, and at most 100,000 tasks of all queues that wait and that run. So a long queue is not
// read to its end.
func (s *Store) QueueCounts(ctx context.Context) ([]QueueCount, error) {
	queues, err := db.ColumnOf[string](s.db.Read(ctx, FilledQueues+FilledQueuesOnce))
	if err != nil {
		return nil, db.Unavailable("list queues", err)
	}
	out := []QueueCount{}
	for _, queue := range queues {
		q, args := countQueued, []any{maxCounted, queue}
		if queue == string(pleat.TaskDeliver) {
			q, args = countDeliveries, args[:1]
		}
		c := QueueCount{Queue: queue, State: pleat.TaskQueued}
		var at *int64
		if err := s.db.ReadRow(ctx, q, args, &c.N, &at); err != nil {
			return nil, db.Unavailable("count tasks", err)
		}
		if at != nil { // else the tasks were claimed meanwhile
			c.Oldest = db.FromMicros(*at)
			out = append(out, c)
		}
	}
	rest, err := s.UnqueuedCounts(ctx, maxCounted)
	return append(out, rest...), db.Unavailable("count tasks", err)
}

// The queries that count queued tasks, at most $1: those of the queue $2 in its index alone, and the deliveries, whose
// index does not have the order of any queue.
const (
	countQueued = `
		SELECT
			(
				SELECT count(*)
				FROM (SELECT 1 FROM task WHERE state = 'queued' AND queue = $2 LIMIT $1) AS counted
			),
			(
				SELECT min(created_at)
				FROM (
					SELECT created_at FROM task
					WHERE state = 'queued' AND queue = $2
					ORDER BY position, id
					LIMIT 1000
				) AS ahead
			)`
	countDeliveries = `
		SELECT count(*), min(created_at)
		FROM (SELECT created_at FROM task WHERE state = 'queued' AND kind = 'deliver' LIMIT $1) AS counted`
)

// FilledQueues is a query of the queues that have queued tasks, and FilledQueuesOnce names them as [Store.QueueCounts]
// does. It steps from queue to queue through an index, and over those of all endpoints at once: their ids are
// hexadecimal, so that no queue of one is behind the letter g.
const (
	FilledQueues = `
		WITH RECURSIVE filled (queue) AS (
			SELECT min(queue) FROM task WHERE state = 'queued'
			UNION ALL
			SELECT (
				SELECT min(k.queue) FROM task k
				WHERE k.state = 'queued' AND k.queue > CASE
					WHEN filled.queue LIKE '` + DeliveryQueuePrefix + `%' THEN '` + DeliveryQueuePrefix + `g'
					ELSE filled.queue END
			)
			FROM filled
			WHERE filled.queue IS NOT NULL
		)`
	FilledQueuesOnce = `
		SELECT CASE WHEN queue LIKE '` + DeliveryQueuePrefix + `%' THEN 'deliver' ELSE queue END AS queue
		FROM filled
		WHERE queue IS NOT NULL`
)

// UnqueuedCounts counts the tasks that wait, those due next first, and those that run, by queue: at most so many of
// each state.
func (s *Store) UnqueuedCounts(ctx context.Context, most int) ([]QueueCount, error) {
	rows, err := s.db.Read(ctx, unqueuedTasks(most))
	return db.ListOf(rows, err, func(scan func(...any) error) (c QueueCount, err error) {
		err = scan(&c.Queue, &c.State, &c.N, db.ScanTime(&c.Oldest))
		return c, err
	})
}

// unqueuedTasks is the query of UnqueuedCounts.
func unqueuedTasks(most int) string {
	const queue = "CASE WHEN kind = 'deliver' THEN 'deliver' ELSE queue END"
	count := func(state, order string) string {
		return `
		SELECT ` + queue + `, state, count(*), min(created_at)
		FROM (
			SELECT queue, kind, state, created_at FROM task
			WHERE state = '` + state + `'
			ORDER BY ` + order + `
			LIMIT ` + strconv.Itoa(most) + `
		) AS page_counted
		GROUP BY ` + queue + `, state`
	}
	return count("waiting", "run_at") + " UNION ALL " + count("running", "id")
}
