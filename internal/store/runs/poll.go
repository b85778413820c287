package runs

import (
	"context"
	"strings"
	"time"

	"pleat/internal/store/db"
	"pleat/internal/store/tasks"
)

const (
	// pollBusy is the time between polls while there is work, and where nothing else tells of what other processes do:
	// on SQLite, and while the connection that listens is broken.
	pollBusy = time.Second
	// pollIdle is the time between polls while NOTIFY tells of new work. It is shorter than a lease, so that a lease is
	// known before it can expire.
	pollIdle = 5 * time.Second
)

// nextLease reads when the next lease ends.
const nextLease = "SELECT min(lease_until) FROM task WHERE state = 'running'"

// Polled is what one look at the queues found.
type Polled struct {
	Reap bool          // Reap has something to do
	Next time.Duration // when to look again, if no wake-up comes before
}

// Poll looks, in one query for the whole process, for what no wake-up told of: it publishes the topics of the queues
// that hold tasks and that somebody of this process waits for, and those of its workers that hold tasks which are to
// stop, and reports whether Reap has work. Queues that hold tasks are looked at again after a second; otherwise Next is
// when the next delay or lease ends, but at most five seconds.
func (s *Store) Poll(ctx context.Context) (Polled, error) {
	waits := s.awaited()
	now := s.db.Micros()
	q := `
		SELECT 'reap', CASE WHEN
				EXISTS (SELECT 1 FROM session WHERE expires_at < $1)
				OR EXISTS (SELECT 1 FROM login WHERE expires_at < $1)
				OR EXISTS (SELECT 1 FROM login_attempt WHERE expires_at < $1)
				OR EXISTS (SELECT 1 FROM idempotency WHERE created_at < $2) THEN 0 END
		UNION ALL SELECT 'reap', (SELECT min(run_at) FROM task WHERE state = 'waiting')
		UNION ALL SELECT 'reap', (` + nextLease + `)`
	args := []any{now, KeysSince(now)}
	if waits.workers {
		q += `
		UNION ALL SELECT DISTINCT '` + tasks.WorkerTopicPrefix + `' || worker_id, 0
		FROM task
		WHERE state = 'running' AND cancel = 1`
	}
	if waits.deliveries {
		q += `
		UNION ALL SELECT '` + tasks.DeliveryTopic + `', CASE WHEN
			EXISTS (SELECT 1 FROM task WHERE state = 'queued' AND kind = 'deliver') THEN 0 END`
	}
	for part := range db.PaddedRowParts(waits.queues, 1) {
		q += `
		UNION ALL SELECT '` + tasks.QueueTopicPrefix + `' || v.column1, CASE WHEN
			EXISTS (SELECT 1 FROM task WHERE state = 'queued' AND queue = v.column1)
			AND ` + tasks.NotPaused("v.column1") + ` THEN 0 END
		FROM (` + db.Values(len(args)+1, len(part), "text") + ") AS v"
		args = append(args, part...)
	}
	out := Polled{Next: pollBusy}
	if s.db.Notified() {
		out.Next = pollIdle
	}
	var found []string
	rows, err := s.db.Read(ctx, q, args...)
	err = db.ForEachRow(rows, err, func(scan func(...any) error) error {
		var what string
		var at *int64 // of the event that the process waits for; nil: there is none
		if err := scan(&what, &at); err != nil || at == nil {
			return err
		}
		if what != "reap" {
			found = append(found, what)
			if tasks.IsQueueTopic(what) {
				out.Next = pollBusy
				found = append(found, tasks.AnyQueueTopic)
			}
			return nil
		}
		// Other processes look at the same rows; what is due is due for one of them.
		wait := max(0, time.Duration(*at-now)*time.Microsecond)
		out.Reap = out.Reap || wait == 0
		out.Next = min(out.Next, max(wait+time.Millisecond, pollBusy))
		return nil
	})
	if err != nil {
		return Polled{Next: pollBusy}, db.Unavailable("poll", err)
	}
	s.db.Publish(found...)
	return out, nil
}

// awaitedTopics are topics that have subscribers in this process.
type awaitedTopics struct {
	queues     []any // whose topics, but for those of deliveries
	deliveries bool
	workers    bool // any worker's
}

// awaited returns the topics that Poll is to look for.
func (s *Store) awaited() awaitedTopics {
	var out awaitedTopics
	for _, topic := range s.db.Subscriptions() {
		if name, ok := strings.CutPrefix(topic, tasks.QueueTopicPrefix); ok {
			out.queues = append(out.queues, name)
		}
		out.deliveries = out.deliveries || topic == tasks.DeliveryTopic
		out.workers = out.workers || strings.HasPrefix(topic, tasks.WorkerTopicPrefix)
	}
	return out
}
