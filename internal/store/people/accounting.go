package people

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"pleat"
	"pleat/internal/store/db"
)

// spending is what a transaction ends, and what its commit adds to usage_day: attempts at runs, and runs.
type spending struct {
	part     int // of usage_day and result_use, which the transaction changes
	attempts []endedAttempt
	runs     []pleat.RunID
}

// endedAttempt is an attempt that a transaction ends.
type endedAttempt struct {
	task   pleat.TaskID
	number int
}

// spendingIn returns what the transaction ends.
func spendingIn(t *db.Tx) *spending {
	return db.TxValue(t, func() *spending {
		v := &spending{}
		if t.Postgres() {
			v.part = rand.IntN(resultParts)
		}
		t.BeforeCommit(func() { account(t, v) })
		return v
	})
}

// CountAttempt counts an attempt that ends in this transaction, unless it is one at a delivery or a mail.
func CountAttempt(t *db.Tx, task pleat.TaskID, number int) {
	v := spendingIn(t)
	v.attempts = append(v.attempts, endedAttempt{task, number})
}

// CountRun counts a run that ends in this transaction.
func CountRun(t *db.Tx, run pleat.RunID) {
	v := spendingIn(t)
	v.runs = append(v.runs, run)
}

// account adds what the transaction has ended to usage_day. It is the last that a transaction does: on PostgreSQL it
// comes right before the COMMIT, so that runs of one project that end at the same time wait for one another only if
// they have drawn the same part, and then for a commit. The rows are locked in one order.
func account(t *db.Tx, v *spending) {
	var ended []any
	for i := range max(len(v.attempts), len(v.runs)) {
		a, run := endedAttempt{}, pleat.RunID("")
		if i < len(v.attempts) {
			a = v.attempts[i]
		}
		if i < len(v.runs) {
			run = v.runs[i]
		}
		ended = append(ended, string(a.task), a.number, string(run))
	}
	for part := range t.IdempotentRowParts(ended, 3) {
		t.SendLast(accountSQL(len(part)/3), append([]any{t.Now, t.Today(), v.part}, part...)...)
	}
}

// WallSQL is how long an ended attempt took, in microseconds. A clock that was set back makes no time negative.
const WallSQL = "CASE WHEN ended_at > started_at THEN ended_at - started_at ELSE 0 END"

// userSQL is the user who created the run r.
var userSQL = CreatorSQL("r")

// accountSQL adds attempts that ended at $1, and runs, to the day $2 of usage_day. Its rows are the task and number of
// an attempt, and a run; each may be empty.
func accountSQL(rows int) string {
	return `
		WITH ended AS (` + db.Values(4, rows, "text", "bigint", "text") + `)
		INSERT INTO usage_day (
			project_id, day, account_id, model, part, attempts, wall, gpu, cpu, no_gpu, no_cpu, runs, tokens, bytes)
		SELECT r.project_id, CAST($2 AS bigint), ` + userSQL + `, r.model, CAST($3 AS bigint),
			CAST(sum(e.attempts) AS bigint), CAST(sum(e.wall) AS bigint),
			CAST(sum(e.wall * COALESCE(e.gpus, 0)) AS bigint), CAST(sum(e.wall * COALESCE(e.cores, 0)) AS bigint),
			CAST(sum(CASE WHEN e.gpus IS NULL THEN e.wall ELSE 0 END) AS bigint),
			CAST(sum(CASE WHEN e.cores IS NULL THEN e.wall ELSE 0 END) AS bigint),
			CAST(sum(e.completed) AS bigint), CAST(sum(e.completed * r.tokens) AS bigint), CAST(sum(e.bytes) AS bigint)
		FROM (
			SELECT run_id, 1 AS attempts, ` + WallSQL + ` AS wall, gpus, cores, 0 AS completed, 0 AS bytes
			FROM attempt
			WHERE (task_id, number) IN (SELECT column1, column2 FROM ended)
				AND ended_at = $1 AND run_id IS NOT NULL
			UNION ALL
			SELECT id, 0, 0, 0, 0, CASE WHEN state = 'COMPLETED' THEN 1 ELSE 0 END,
				(SELECT COALESCE(sum(f.bytes), 0) FROM artifact f WHERE f.run_id = run.id)
			FROM run
			WHERE id IN (SELECT column3 FROM ended)
		) AS e
		JOIN run r ON r.id = e.run_id
		GROUP BY r.project_id, ` + userSQL + `, r.model
		HAVING sum(e.attempts + e.completed + e.bytes) > 0
		ORDER BY 1, 3, 4
		ON CONFLICT (project_id, day, account_id, model, part) DO UPDATE SET
			attempts = usage_day.attempts + excluded.attempts,
			wall = usage_day.wall + excluded.wall,
			gpu = usage_day.gpu + excluded.gpu,
			cpu = usage_day.cpu + excluded.cpu,
			no_gpu = usage_day.no_gpu + excluded.no_gpu,
			no_cpu = usage_day.no_cpu + excluded.no_cpu,
			runs = usage_day.runs + excluded.runs,
			tokens = usage_day.tokens + excluded.tokens,
			bytes = usage_day.bytes + excluded.bytes`
}

// SetWorkerResources stores what a task of each queue has on a worker. A model that runs on accelerators has one of
// them for a task, and the worker says of its models how many cores a task has.
func SetWorkerResources(t *db.Tx, w *pleat.Worker) {
	t.Send("DELETE FROM worker_use WHERE worker_id = $1", w.ID)
	t.Send("DELETE FROM worker_use WHERE NOT EXISTS (SELECT 1 FROM worker v WHERE v.id = worker_use.worker_id)")
	seen := map[string]bool{}
	var rows []any
	add := func(queue string, gpus, cores any) {
		if !seen[queue] {
			seen[queue] = true
			rows = append(rows, string(w.ID), queue, gpus, cores)
		}
	}
	for i := range w.Models {
		m := &w.Models[i]
		var gpus, cores any
		switch {
		case m.Device == "cuda":
			gpus = 1
		case m.Device == "cpu" || m.Kind == pleat.TaskAlign:
			gpus = 0
		}
		if m.Cores > 0 {
			cores = min(m.Cores, maxCores)
		}
		add(pleat.Queue(m.Kind, m.Name), gpus, cores)
		if m.Kind == pleat.TaskFold {
			add(pleat.SearchQueue(m.Name), 0, nil)
		}
	}
	for part := range db.RowParts(rows, 4) {
		t.Send("INSERT INTO worker_use (worker_id, queue, gpus, cores) "+
			db.Values(1, len(part)/4, "text", "text", "bigint", "bigint"), part...)
	}
}

// maxCores bounds the cores that a worker may say a task has.
const maxCores = 1024

// UsageKey is a field by which [Store.Spent] splits sums.
type UsageKey string

// The keys of usage.
const (
	UsageByUser    UsageKey = "user"
	UsageByProject UsageKey = "project"
	UsageByModel   UsageKey = "model"
	UsageByDay     UsageKey = "day"
)

// UsageKeys lists the keys of usage.
func UsageKeys() []UsageKey { return []UsageKey{UsageByDay, UsageByProject, UsageByUser, UsageByModel} }

// SpentQuery selects what was spent: on days of UTC, both included, and the fields by which the sums are split.
type SpentQuery struct {
	From, To time.Time
	By       []UsageKey
	User     pleat.UserID // only what this user's runs have spent; empty: all
	Limit    int          // of the sums that are returned
}

// Spent is what runs have spent. Day, Project, User and Model are set if the query splits sums by them. Names are empty
// where what they name is gone.
type Spent struct {
	Day         time.Time
	Project     pleat.ProjectID
	ProjectName string
	User        pleat.UserID
	UserName    string
	Model       string

	Attempts int64         // that have ended, whatever their outcome
	Wall     time.Duration // of these, from the claim to the end
	// GPU and CPU are the wall time by the GPUs and cores that an attempt had, in microseconds, and NoGPU and NoCPU the
	// wall time of the attempts of which these are unknown.
	GPU, CPU, NoGPU, NoCPU int64
	Runs                   int64 // that have completed
	Tokens                 int64 // of the input of completed folds
	Bytes                  int64 // of the files of runs when they ended
}

// Add adds what other runs have spent.
func (v *Spent) Add(o *Spent) {
	v.Attempts += o.Attempts
	v.Wall += o.Wall
	v.GPU += o.GPU
	v.CPU += o.CPU
	v.NoGPU += o.NoGPU
	v.NoCPU += o.NoCPU
	v.Runs += o.Runs
	v.Tokens += o.Tokens
	v.Bytes += o.Bytes
}

// usageColumns are the column of each key and the columns that a sum by it has.
var usageColumns = map[UsageKey][2]string{
	UsageByDay:     {"u.day", "u.day"},
	UsageByProject: {"u.project_id", "u.project_id, p.name"},
	UsageByUser:    {"u.account_id", "u.account_id, a.name"},
	UsageByModel:   {"u.model", "u.model"},
}

// Spent reads what the runs of the project of the reach have spent, in the order of the keys of [UsageKeys]. The caller
// must be a viewer; a manager if the sums of several users are separate. [pleat.ErrNoProject]: the caller has no role
// in the project.
func (s *Store) Spent(ctx context.Context, by Reach, operator bool, q SpentQuery) ([]Spent, error) {
	role, err := s.Role(ctx, by, by.Project)
	if err != nil {
		return nil, err
	}
	needs := pleat.Viewer
	if q.User != by.User && slices.Contains(q.By, UsageByUser) {
		needs = pleat.Manager
	}
	if !operator {
		if err := role.Allow(needs, pleat.ErrNoProject); err != nil {
			return nil, err
		}
	}
	return s.spent(ctx, q, "u.project_id = $4", by.Project)
}

// SpentByAll is [Store.Spent] for all projects together. It is for operators.
func (s *Store) SpentByAll(ctx context.Context, q SpentQuery) ([]Spent, error) {
	return s.spent(ctx, q, "$4 = ''", "")
}

// spent reads sums over the rows u of usage_day that meet a condition with the parameter $4.
func (s *Store) spent(ctx context.Context, q SpentQuery, where string, arg any) ([]Spent, error) {
	var group, columns []string
	for _, key := range UsageKeys() {
		if slices.Contains(q.By, key) {
			group, columns = append(group, usageColumns[key][0]), append(columns, usageColumns[key][1])
		}
	}
	columns = append(columns, sumsOf("attempts", "wall", "gpu", "cpu", "no_gpu", "no_cpu", "runs", "tokens", "bytes"))
	text := "SELECT " + strings.Join(columns, ", ") + `
		FROM usage_day u
		LEFT JOIN project p ON p.id = u.project_id
		LEFT JOIN account a ON a.id = u.account_id
		WHERE u.day BETWEEN $1 AND $2 AND ($3 = '' OR u.account_id = $3) AND ` + where
	if len(group) > 0 {
		text += " GROUP BY " + strings.Join(columns[:len(columns)-1], ", ") + " ORDER BY " + strings.Join(group, ", ")
	}
	text += fmt.Sprintf(" LIMIT %d", q.Limit)
	rows, err := s.db.Read(ctx, text, db.DayOf(db.ToMicros(q.From)), db.DayOf(db.ToMicros(q.To)), q.User, arg)
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (Spent, error) { return scanSpent(scan, q.By) })
	return out, db.Unavailable("read usage", err)
}

// sumsOf returns the sums of columns of the rows u.
func sumsOf(columns ...string) string {
	for i, c := range columns {
		columns[i] = "CAST(COALESCE(sum(u." + c + "), 0) AS bigint)"
	}
	return strings.Join(columns, ", ")
}

// scanSpent reads a row of a query by some keys.
func scanSpent(scan func(...any) error, by []UsageKey) (Spent, error) {
	var v Spent
	var day int64
	var project, user *string
	var targets []any
	for _, key := range UsageKeys() {
		switch {
		case !slices.Contains(by, key):
		case key == UsageByDay:
			targets = append(targets, &day)
		case key == UsageByProject:
			targets = append(targets, &v.Project, &project)
		case key == UsageByUser:
			targets = append(targets, &v.User, &user)
		case key == UsageByModel:
			targets = append(targets, &v.Model)
		}
	}
	err := scan(append(targets, &v.Attempts, db.ScanDuration(&v.Wall), &v.GPU, &v.CPU, &v.NoGPU, &v.NoCPU, &v.Runs,
		&v.Tokens, &v.Bytes)...)
	if day > 0 {
		v.Day = db.FromMicros(db.DayBegins(day))
	}
	none := ""
	v.ProjectName, v.UserName = *cmp.Or(project, &none), *cmp.Or(user, &none)
	return v, err
}
