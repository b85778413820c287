package runs

import (
	"context"
	"strings"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/tasks"
)

// Speed compares the tasks of a queue, on the workers of a class, with what the model's manifest expects.
type Speed struct {
	factor  float64       // measured time in expected times
	Typical time.Duration // of a task; 0: none was measured
}

// unknownExpected is how long a task is taken to run if neither the manifest nor a measurement says it.
const unknownExpected = time.Minute

// Corrected is how long a task is expected to take that the manifest expects to take raw; 0: unknown. A search has no
// expected time of its own.
func (v Speed) Corrected(queue string, raw time.Duration) time.Duration {
	switch {
	case raw > 0 && !strings.HasPrefix(queue, pleat.SearchQueue("")):
		return pleat.Seconds(v.factor * raw.Seconds())
	case v.Typical > 0:
		return v.Typical
	}
	return unknownExpected
}

// Speeds are the measured speeds by queue and class.
type Speeds map[[2]string]Speed

// For returns the speed of a queue on a class: the class's own, or the manifest's where nothing was measured.
func (m Speeds) For(queue, class string) Speed {
	if v, ok := m[[2]string{queue, class}]; ok {
		return v
	}
	return Speed{factor: 1}
}

// ClassOf returns, of the classes that serve the queue of a task, the one that is asked to run it, and how long the
// task is expected to take there: the first whose workers the task fits, else the first; nil if there are none. Raw is
// the expected time by the manifest.
func (m Speeds) ClassOf(
	serving []*pleat.Class, queue string, memory int64, raw time.Duration,
) (c *pleat.Class, expected time.Duration, fits bool) {
	for _, o := range serving {
		e := m.For(queue, o.Name).Corrected(queue, raw)
		if o.Fits(queue, memory, e) {
			return o, e, true
		}
		if c == nil {
			c, expected = o, e
		}
	}
	return c, expected, false
}

// Speeds reads what was measured.
func (s *Store) Speeds(ctx context.Context) (Speeds, error) {
	out := Speeds{}
	rows, err := s.db.Read(ctx, "SELECT queue, class, factor, typical FROM speed")
	err = db.ForEachRow(rows, err, func(scan func(...any) error) error {
		var key [2]string
		var v Speed
		var typical int64
		if err := scan(&key[0], &key[1], &v.factor, &typical); err != nil {
			return err
		}
		v.Typical = time.Duration(typical) * time.Microsecond
		out[key] = v
		return nil
	})
	return out, db.Unavailable("read speeds", err)
}

const (
	// measureAll is how many tasks of a queue a process measures before it measures only every measureEvery-th.
	measureAll   = 20
	measureEvery = 10
)

// sampled reports whether the end of a task of a queue is to be measured: that of each would cost every run two more
// statements.
func (s *Store) sampled(queue string) bool {
	s.measuredMu.Lock()
	defer s.measuredMu.Unlock()
	if s.measured == nil {
		s.measured = map[string]int{}
	}
	s.measured[queue]++
	n := s.measured[queue]
	return n <= measureAll || n%measureEvery == 0
}

// measure records how long an attempt took that has computed a task, or its search, in an average that gives recent
// attempts a tenth of the weight. It must be called before the task leaves its worker. A simulation that was continued
// from a checkpoint says nothing of its whole, and a worker that has not registered nothing of a class. Where another
// transaction records a measurement at this moment, this one is dropped instead of waiting.
func (s *Store) measure(t *db.Tx, l tasks.Lease, queue string) {
	if !s.sampled(queue) {
		return
	}
	const measured = `
		SELECT k.queue AS of_queue, w.class AS of_class, k.expected AS expected,
			CASE WHEN a.started_at < $2 THEN $2 - a.started_at ELSE 1 END AS took
		FROM task k
		JOIN attempt a ON a.task_id = k.id AND a.number = k.attempt
		JOIN worker w ON w.id = k.worker_id
		WHERE k.id = $1 AND NOT (k.kind = 'md' AND k.attempt > 1)`
	const factor = `CASE WHEN m.expected > 0 THEN CAST(m.took AS double precision) / m.expected ELSE 1.0 END`
	const weight = "(CASE WHEN runs < 9 THEN 1.0 / (runs + 1) ELSE 0.1 END)"
	t.Send(`
		UPDATE speed
		SET factor = factor + (`+factor+` - factor) * `+weight+`,
			typical = typical + CAST((m.took - typical) * `+weight+` AS bigint),
			runs = runs + 1
		FROM (`+measured+`) AS m
		WHERE speed.queue = m.of_queue AND speed.class = m.of_class AND (speed.queue, speed.class) IN (
			SELECT v.queue, v.class
			FROM speed v
			WHERE v.queue = (SELECT k.queue FROM task k WHERE k.id = $1) AND v.class = (
				SELECT w.class FROM task k JOIN worker w ON w.id = k.worker_id WHERE k.id = $1)
			FOR UPDATE SKIP LOCKED)`,
		l.Task, t.Now)
	t.Send(`
		INSERT INTO speed (queue, class, factor, typical, runs)
		SELECT m.of_queue, m.of_class, `+factor+`, m.took, 1
		FROM (`+measured+`) AS m
		WHERE NOT EXISTS (SELECT 1 FROM speed v WHERE v.queue = m.of_queue AND v.class = m.of_class)
		ON CONFLICT (queue, class) DO NOTHING`,
		l.Task, t.Now)
}
