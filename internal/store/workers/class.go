package workers

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

// SetClasses replaces the classes of workers with those of the operator's file. The class [pleat.DefaultClass] stays as
// it is unless it is among them.
func (s *Store) SetClasses(ctx context.Context, classes []pleat.Class) error {
	return s.db.Write(ctx, "set classes", func(t *db.Tx) error {
		names := []any{pleat.DefaultClass}
		for i := range classes {
			if err := setClass(t, i, &classes[i]); err != nil {
				return err
			}
			names = append(names, classes[i].Name)
		}
		_, err := t.Exec("DELETE FROM class WHERE name NOT IN ("+db.Params(1, len(names))+")", names...)
		return err
	})
}

// SetDefaultClass stores the class [pleat.DefaultClass] of a service whose operator has not configured it. It is the
// last that is asked to run a task.
func (s *Store) SetDefaultClass(ctx context.Context, c pleat.Class) error {
	const last = 1 << 30
	return s.db.Write(ctx, "set default class", func(t *db.Tx) error { return setClass(t, last, &c) })
}

func setClass(t *db.Tx, position int, c *pleat.Class) error {
	_, err := t.Exec(`
		INSERT INTO class (name, position, spec) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET position = excluded.position, spec = excluded.spec`,
		c.Name, position, db.EncodeJSON(c))
	return err
}

// Classes lists the classes, in the order in which they are asked to run a task. The models of [pleat.DefaultClass]
// include those that its workers have registered.
func (s *Store) Classes(ctx context.Context) ([]pleat.Class, error) {
	classes, err := s.classes(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := s.Workers(ctx)
	if err != nil {
		return nil, err
	}
	var out []pleat.Class
	for _, c := range withWorkers(classes, workers) {
		out = append(out, c.Class)
	}
	return out, nil
}

// reportedClass is a class with what the fleet reports of it.
type reportedClass struct {
	pleat.Class
	fleet pleat.FleetReport
}

// classes reads the classes as they are stored, by position.
func (s *Store) classes(ctx context.Context) ([]reportedClass, error) {
	rows, err := s.db.Read(ctx, "SELECT spec, fleet FROM class ORDER BY position, name")
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (c reportedClass, err error) {
		var spec, fleet string
		if err := scan(&spec, &fleet); err != nil {
			return c, err
		}
		err = errors.Join(db.DecodeJSON(spec, &c.Class), db.DecodeJSON(fleet, &c.fleet))
		return c, err
	})
	return out, db.Unavailable("list classes", err)
}

// withWorkers adds to the default class the models of its workers that it does not have, and the class itself where it
// is missing.
func withWorkers(classes []reportedClass, workers []pleat.Worker) []reportedClass {
	i := slices.IndexFunc(classes, func(c reportedClass) bool { return c.Name == pleat.DefaultClass })
	if i < 0 {
		i = len(classes)
		classes = append(classes, reportedClass{Class: pleat.Class{
			Name:       pleat.DefaultClass,
			TargetWait: pleat.DefaultTargetWait,
			Alignments: pleat.AlignmentsAlso,
			Isolation:  pleat.IsolationShared,
		}})
	}
	c := &classes[i]
	for j := range workers {
		if workers[j].Class != c.Name {
			continue
		}
		for _, m := range workers[j].Models {
			same := func(o pleat.Model) bool { return o.Name == m.Name && o.Kind == m.Kind }
			if !slices.ContainsFunc(c.Models, same) {
				c.Models = append(c.Models, m)
			}
		}
	}
	return classes
}

// servingOf returns the classes of a demand that serve a queue.
func servingOf(list []Demand, queue string) []*pleat.Class {
	var out []*pleat.Class
	for i := range list {
		if list[i].Class.Serves(queue) {
			out = append(out, &list[i].Class)
		}
	}
	return out
}

// DemandOf returns the demand for the class that is asked to run a task: the first that serves its queue and whose
// workers the task fits, else the first that serves it; false if none does. Expected is the time by the manifest.
func DemandOf(list []Demand, queue string, memory int64, expected time.Duration) (*Demand, bool) {
	var measured runs.Speeds
	if len(list) > 0 {
		measured = list[0].speeds
	}
	c, _, _ := measured.ClassOf(servingOf(list, queue), queue, memory, expected)
	if c == nil {
		return nil, false
	}
	return &list[slices.IndexFunc(list, func(d Demand) bool { return d.Class.Name == c.Name })], true
}

// Demand is the work that waits for the workers of a class, and the workers that it has.
type Demand struct {
	Class   pleat.Class
	Wanted  int           // workers; see pleat.Class.Wanted
	Needed  int           // workers that would be wanted if MaxWorkers did not bound them
	Queued  int           // tasks that wait; at most maxDemand of a queue are counted
	Oldest  time.Time     // when the first of them was created; zero: none waits
	Backlog time.Duration // in which one worker is expected to run those that fit it
	Busy    int           // workers that run a task
	Workers []pleat.Worker
	Fleet   pleat.FleetReport

	speeds runs.Speeds // of all queues on all classes
}

// Live is how many workers of the class claim or run tasks.
func (d *Demand) Live(now time.Time) int {
	n := 0
	for i := range d.Workers {
		if d.Workers[i].IsAlive(now) {
			n++
		}
	}
	return n
}

const (
	// maxDemand bounds how many tasks of a queue are counted: more do not change how many workers are wanted.
	maxDemand = 10_000
)

// Demand returns the demand for each class, in the order of [Store.Classes].
func (s *Store) Demand(ctx context.Context) ([]Demand, error) {
	classes, err := s.classes(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := s.Workers(ctx)
	if err != nil {
		return nil, err
	}
	classes = withWorkers(classes, workers)
	measured, err := s.runs.Speeds(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Demand, len(classes))
	index := map[string]*Demand{}
	for i, c := range classes {
		out[i] = Demand{Class: c.Class, Fleet: c.fleet, speeds: measured}
		index[c.Name] = &out[i]
	}
	for _, w := range workers {
		if d := index[w.Class]; d != nil {
			d.Workers = append(d.Workers, w)
		}
	}
	waiting, err := s.queuedTasks(ctx, out, measured)
	if err != nil {
		return nil, err
	}
	fit := addQueued(index, waiting)
	left, err := s.runningTasks(ctx, measured)
	if err != nil {
		return nil, err
	}
	for i := range out {
		d := &out[i]
		running := left[d.Class.Name]
		d.Busy = len(running)
		load := pleat.Load{Queued: d.Backlog, Tasks: fit[d.Class.Name], Running: running}
		unbounded := d.Class
		unbounded.MaxWorkers = 0
		d.Wanted, d.Needed = d.Class.Wanted(load), unbounded.Wanted(load)
	}
	return out, nil
}

// addQueued adds the tasks that wait to the demand for their classes, and returns, by class, how many of them its
// workers can run.
func addQueued(demand map[string]*Demand, waiting []queuedTask) (fit map[string]int) {
	fit = map[string]int{}
	for _, q := range waiting {
		d := demand[q.class]
		d.Queued += q.n
		if q.fits { // else a further worker could not claim them either
			d.Backlog = addTasks(d.Backlog, q.n, q.expected)
			fit[q.class] += q.n
		}
		if d.Oldest.IsZero() || q.oldest.Before(d.Oldest) {
			d.Oldest = q.oldest
		}
	}
	return fit
}

// addTasks adds the expected times of n tasks to a backlog. A sum that a Duration cannot hold is the longest Duration.
func addTasks(backlog time.Duration, n int, expected time.Duration) time.Duration {
	if expected > 0 && time.Duration(n) > (math.MaxInt64-backlog)/expected {
		return math.MaxInt64
	}
	return backlog + time.Duration(n)*expected
}

// queuedTask stands for the tasks of a queue that expect the same.
type queuedTask struct {
	class    string // that is asked to run them
	fits     bool   // its workers can
	expected time.Duration
	n        int
	oldest   time.Time
}

// queuedTasks counts the tasks that wait in the queues of the classes, except those of paused models, which nobody
// claims.
func (s *Store) queuedTasks(ctx context.Context, list []Demand, measured runs.Speeds) ([]queuedTask, error) {
	var queues []string
	for i := range list {
		for _, q := range list[i].Class.Queues() {
			if !slices.Contains(queues, q) {
				queues = append(queues, q)
			}
		}
	}
	paused, err := s.pausedQueues(ctx)
	if err != nil {
		return nil, err
	}
	queues = slices.DeleteFunc(queues, func(q string) bool { return paused[q] })
	var out []queuedTask
	for _, q := range queues {
		serving := servingOf(list, q)
		rows, err := s.db.Read(ctx, `
			SELECT memory, expected, count(*), min(created_at)
			FROM (
				SELECT memory, expected, created_at FROM task WHERE state = 'queued' AND queue = $1 LIMIT $2
			) AS waiting
			GROUP BY memory, expected`,
			q, maxDemand)
		err = db.ForEachRow(rows, err, func(scan func(...any) error) error {
			var w queuedTask
			var memory, raw int64
			if err := scan(&memory, &raw, &w.n, db.ScanTime(&w.oldest)); err != nil {
				return err
			}
			var c *pleat.Class
			c, w.expected, w.fits = measured.ClassOf(serving, q, memory, time.Duration(raw)*time.Microsecond)
			w.class = c.Name
			out = append(out, w)
			return nil
		})
		if err != nil {
			return nil, db.Unavailable("count queued tasks", err)
		}
	}
	return out, nil
}

// runningTasks returns, by class, what is left of the tasks of each worker that runs any. A worker's slots run side by
// side, so its longest task counts.
func (s *Store) runningTasks(ctx context.Context, measured runs.Speeds) (map[string][]time.Duration, error) {
	now := s.db.Micros()
	type holder struct{ class, worker string }
	longest := map[holder]time.Duration{}
	rows, err := s.db.Read(ctx, `
		SELECT k.worker_id, w.class, k.queue, k.expected, a.started_at
		FROM task k
		JOIN worker w ON w.id = k.worker_id
		JOIN attempt a ON a.task_id = k.id AND a.number = k.attempt
		WHERE k.state = 'running'`)
	err = db.ForEachRow(rows, err, func(scan func(...any) error) error {
		var h holder
		var queue string
		var expected, started int64
		if err := scan(&h.worker, &h.class, &queue, &expected, &started); err != nil {
			return err
		}
		left := measured.For(queue, h.class).Corrected(queue, time.Duration(expected)*time.Microsecond) -
			time.Duration(now-started)*time.Microsecond
		longest[h] = max(longest[h], left, 0)
		return nil
	})
	if err != nil {
		return nil, db.Unavailable("count running tasks", err)
	}
	out := map[string][]time.Duration{}
	for h, left := range longest {
		out[h.class] = append(out[h.class], left)
	}
	return out, nil
}

// ReportFleet stores what the fleet knows of a class's workers on their cluster.
func (s *Store) ReportFleet(ctx context.Context, class string, r pleat.FleetReport) error {
	return s.db.Write(ctx, "report fleet", func(t *db.Tx) error {
		_, err := t.Exec("UPDATE class SET fleet = $1 WHERE name = $2", db.EncodeJSON(r), class)
		return err
	})
}

// TryLead makes a process the leader of a role, or keeps it the leader, for a time from now. It returns false while
// another process leads. A process that does not call it again in time is no leader any more.
func (s *Store) TryLead(ctx context.Context, role, holder string, d time.Duration) (bool, error) {
	var leads bool
	err := s.db.Write(ctx, "lead", func(t *db.Tx) error {
		n, err := t.Exec(`
			INSERT INTO leader (role, holder, until) VALUES ($1, $2, $3)
			ON CONFLICT (role) DO UPDATE SET holder = excluded.holder, until = excluded.until
			WHERE leader.holder = excluded.holder OR leader.until < $4`,
			role, holder, t.Now+d.Microseconds(), t.Now)
		leads = n > 0
		return err
	})
	return leads && err == nil, err
}

// StopLeading ends the leadership of a process at once, so that another need not wait for it to expire.
func (s *Store) StopLeading(ctx context.Context, role, holder string) error {
	return s.db.Write(ctx, "stop leading", func(t *db.Tx) error {
		_, err := t.Exec("DELETE FROM leader WHERE role = $1 AND holder = $2", role, holder)
		return err
	})
}

// DrainClass asks the workers of a class that have not stopped to finish what they run, to claim nothing more and to
// end. It returns how many it has asked; [ErrClassNotFound] if there is no such class.
func (s *Store) DrainClass(ctx context.Context, class string) (int, error) {
	n := 0
	err := s.db.Write(ctx, "drain class", func(t *db.Tx) error {
		var err error
		n, err = wakeWorkers(t, `
			UPDATE worker SET draining_at = $1
			WHERE id IN (
				SELECT id FROM worker WHERE class = $2 AND stopped_at = 0 AND draining_at = 0
				ORDER BY id
				FOR NO KEY UPDATE)
			RETURNING id`,
			t.Now, class)
		if err != nil || n > 0 || class == pleat.DefaultClass {
			return err
		}
		var name string
		err = t.Row("SELECT name FROM class WHERE name = $1", []any{class}, &name)
		return db.MapNoRows(err, ErrClassNotFound)
	})
	return n, err
}

// wakeWorkers runs a statement that returns the ids of workers, wakes them and returns how many they are.
func wakeWorkers(t *db.Tx, q string, args ...any) (int, error) {
	ids, err := db.ColumnOf[pleat.WorkerID](t.Query(q, args...))
	for _, id := range ids {
		t.Notify(tasks.WorkerTopic(id))
	}
	return len(ids), err
}

// ErrClassNotFound: no class has the name.
var ErrClassNotFound = pleat.Errorf(pleat.CodeNotFound, "there is no class of workers with this name")
