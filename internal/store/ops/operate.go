package ops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

// Overview is what the operators of a service see of it at a moment. Its parts are read one after another.
type Overview struct {
	At      time.Time
	Models  []ModelQueue // that have tasks, by name
	Slowest []SlowRun    // compared with what was expected, the slowest first
	// Users and Projects are counted up to ActivityCounted; projects that are users' own are not.
	Users, Projects int
}

// ModelQueue is how many tasks of a model wait and run, in all its queues. The name of a kind of task that has no model
// stands for one. Counts of a queue are exact up to [ActivityCounted].
type ModelQueue struct {
	Model   string
	Waiting int
	Running int
	Oldest  time.Time // when the first of those that wait was created; zero: none waits
}

// SlowRun is a run whose attempt has taken long.
type SlowRun struct {
	RunningTask
	// Expected is how long the attempt was expected to take, as measured on workers of the class; 0: unknown.
	Expected time.Duration
}

// maxSlowest is how many runs an Overview names.
const maxSlowest = 20

// Overview reads what the operators see. None of its statements scans a table, however many tasks wait. For the runs it
// compares the [ActivityRunning] that were queued first.
func (s *Store) Overview(ctx context.Context) (Overview, error) {
	out := Overview{At: s.db.Now()}
	queues, err := s.activityQueues(ctx)
	if err != nil {
		return out, db.Unavailable("count tasks", err)
	}
	out.Models = modelQueues(queues)
	running, err := s.activityRunning(ctx)
	if err != nil {
		return out, db.Unavailable("list running tasks", err)
	}
	measured, err := s.runs.Speeds(ctx)
	if err != nil {
		return out, err
	}
	out.Slowest = slowestOf(out.At, running, measured)
	err = s.db.ReadRow(ctx, countPeople, nil, &out.Users, &out.Projects)
	return out, db.Unavailable("count users", err)
}

// countPeople counts the users and the projects of several of them, at most ActivityCounted each.
var countPeople = fmt.Sprintf(`
	SELECT
		(SELECT count(*) FROM (SELECT 1 FROM account ORDER BY id LIMIT %[1]d) AS page_users),
		(
			SELECT count(*)
			FROM (SELECT 1 FROM project WHERE own = 0 AND deleted_at = 0 ORDER BY name LIMIT %[1]d) AS page_projects
		)`, ActivityCounted)

// modelQueues adds up the counts of the queues of each model.
func modelQueues(queues []tasks.QueueCount) []ModelQueue {
	byModel := map[string]*ModelQueue{}
	for _, c := range queues {
		if !pleat.IsWorkerQueue(c.Queue) {
			continue
		}
		kind, model, _ := strings.Cut(c.Queue, "/")
		name := cmp.Or(model, kind)
		m := byModel[name]
		if m == nil {
			m = &ModelQueue{Model: name}
			byModel[name] = m
		}
		if c.State == pleat.TaskRunning {
			m.Running += c.N
			continue
		}
		m.Waiting += c.N
		if m.Oldest.IsZero() || c.Oldest.Before(m.Oldest) {
			m.Oldest = c.Oldest
		}
	}
	out := []ModelQueue{}
	for _, m := range byModel {
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b ModelQueue) int { return cmp.Compare(a.Model, b.Model) })
	return out
}

// slowestOf returns the runs that have taken longest, in expected times, the slowest first.
func slowestOf(now time.Time, running []RunningTask, measured runs.Speeds) []SlowRun {
	out := []SlowRun{}
	ratio := map[pleat.TaskID]float64{}
	for i := range running {
		r := SlowRun{RunningTask: running[i]}
		v := measured.For(r.Queue, r.Class)
		usual := v.Corrected(r.Queue, r.RunningTask.Expected)
		if r.RunningTask.Expected > 0 || v.Typical > 0 {
			r.Expected = usual
		}
		ratio[r.Task] = pleat.Elapsed(r.Began, now).Seconds() / max(usual, time.Millisecond).Seconds()
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b SlowRun) int { return cmp.Compare(ratio[b.Task], ratio[a.Task]) })
	return out[:min(len(out), maxSlowest)]
}

// SeenUser is a user with when the service saw the user last.
type SeenUser struct {
	people.User
	// SeenAt is when a key was used last, or a session of the issuer begun; zero: never, or the keys were deleted.
	SeenAt time.Time
}

// UsersPage lists users, the newest first, from the one before an id on. It is for operators.
func (s *Store) UsersPage(ctx context.Context, before pleat.UserID, limit int) ([]SeenUser, error) {
	rows, err := s.db.Read(ctx, usersPage, cmp.Or(string(before), people.AfterAllIDs), limit)
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (SeenUser, error) {
		var key, login int64
		u, err := people.ScanUser(func(dst ...any) error { return scan(append(dst, &key, &login)...) })
		return SeenUser{User: u, SeenAt: db.FromMicros(max(key, login))}, err
	})
	return out, db.Unavailable("list users", err)
}

const usersPage = `
	SELECT ` + people.UserColumns + `,
		COALESCE((SELECT max(k.last_used_at) FROM api_key k WHERE k.account_id = a.id), 0),
		COALESCE((SELECT max(l.created_at) FROM login l WHERE l.account_id = a.id AND l.kind <> 'grant'), 0)
	FROM account a
	WHERE a.id < $1
	ORDER BY a.id DESC
	LIMIT $2`
