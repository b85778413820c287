package people

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"pleat"
	"pleat/internal/store/db"
)

// Budget is what a project may spend in a month of UTC, in microseconds; negative: without a limit.
type Budget struct{ GPU, CPU int64 }

// NoBudget limits nothing.
var NoBudget = Budget{-1, -1}

// BudgetUse is a budget with what has been spent of it this month, and what the tasks that wait and run are expected to
// take, as far as that is known. Both are in microseconds.
type BudgetUse struct {
	Budget
	Month    time.Time // its first day
	Spent    Budget
	Expected Budget
}

// BudgetChange changes a budget. Fields that are nil stay.
type BudgetChange struct{ GPU, CPU *int64 }

// changeBudget changes the budget of a locked project, and records it. It concerns what is created from then on.
func (s *Store) changeBudget(t *db.Tx, by Actor, p *Project, change BudgetChange) error {
	for _, c := range []struct {
		column, unit string
		to           *int64
	}{{"budget_gpu", "GPU", change.GPU}, {"budget_cpu", "CPU", change.CPU}} {
		if c.to == nil {
			continue
		}
		limit := max(*c.to, -1)
		t.Send("UPDATE project SET "+c.column+" = $1 WHERE id = $2", limit, p.ID)
		detail := "no budget of " + c.unit + "-seconds"
		if limit >= 0 {
			detail = "budget of " + inUnits(limit, c.unit) + " a month"
		}
		if err := s.RecordAudit(t, by, AuditProjectChanged, p.Name, detail); err != nil {
			return err
		}
	}
	return nil
}

// BudgetUse reads the budget of the project of the reach and how much of it is used. The caller must be a viewer.
func (s *Store) BudgetUse(ctx context.Context, by Reach, operator bool) (BudgetUse, error) {
	if !operator {
		role, err := s.Role(ctx, by, by.Project)
		if err == nil {
			err = role.Allow(pleat.Viewer, pleat.ErrNoProject)
		}
		if err != nil {
			return BudgetUse{}, err
		}
	}
	now := s.db.Micros()
	u := BudgetUse{Budget: NoBudget, Month: monthOf(now)}
	err := s.db.ReadRow(ctx, "SELECT budget_gpu, budget_cpu FROM project WHERE id = $1", []any{by.Project},
		&u.GPU, &u.CPU)
	if err == nil {
		err = s.db.ReadRow(ctx, budgetUseSQL, u.args(by.Project, now), u.scanTargets()...)
	}
	return u, db.Unavailable("read budget", db.MapNoRows(err, pleat.ErrNoProject))
}

func (u *BudgetUse) args(owner pleat.ProjectID, now int64) []any {
	return []any{owner, db.DayOf(db.ToMicros(u.Month)), now}
}

func (u *BudgetUse) scanTargets() []any {
	return []any{&u.Spent.GPU, &u.Spent.CPU, &u.Expected.GPU, &u.Expected.CPU}
}

// monthOf is the first day of the month of a time in microseconds.
func monthOf(now int64) time.Time {
	at := db.FromMicros(now).UTC()
	return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// EndOfMonth is when the budgets of this month end.
func (s *Store) EndOfMonth() time.Time { return monthOf(s.db.Micros()).AddDate(0, 1, 0) }

// computedIn is the queue in which a task of a queue computes: a fold waits in another one for its MSA search. Queue is
// an expression of SQL.
func computedIn(queue string) string {
	search := pleat.SearchQueue("")
	return fmt.Sprintf("CASE WHEN %[1]s LIKE '%[2]s%%' THEN '%[3]s' || substr(%[1]s, %[4]d) ELSE %[1]s END",
		queue, search, pleat.Queue(pleat.TaskFold, "")+"/", len(search)+1)
}

// ofQueue is a column of worker_use for a queue, the largest of all workers; 0: unknown. Queue is an expression of SQL.
func ofQueue(column, queue string) string {
	return "COALESCE((SELECT max(u." + column + ") FROM worker_use u WHERE u.queue = " + queue + "), 0)"
}

// slowest is how a queue compares with what the manifest expects, on the slowest class that was measured.
func slowest(queue string) string {
	return "COALESCE((SELECT max(v.factor) FROM speed v WHERE v.queue = " + queue + "), 1)"
}

// budgetUseSQL reads what the project $1 has spent since the day $2, and what its tasks are expected to take: those
// that wait or run, what the running ones have taken beyond that until $3, and those of the rows of batches that have
// no job yet. The running ones are few, so that they are found among all that run.
var budgetUseSQL = `
	WITH expected AS (
		SELECT w.queue, CAST(sum(w.takes) * ` + slowest("w.queue") + ` AS bigint) AS takes
		FROM (
			SELECT ` + computedIn("k.queue") + ` AS queue, sum(k.expected) AS takes
			FROM task k
			WHERE k.project_id = $1 AND k.expected > 0
			GROUP BY k.queue
			UNION ALL
			SELECT b.queue, b.expected * 1.0 / b.job_count * (b.job_count - b.jobs_made)
			FROM batch b
			WHERE b.ended_at = 0 AND b.deleted_at = 0 AND b.project_id = $1 AND b.opened_at <> 0 AND b.cancelled = 0
				AND b.job_count > 0
		) AS w
		GROUP BY w.queue
	), longer AS (
		SELECT COALESCE(a.gpus, 0) AS gpus, COALESCE(a.cores, 0) AS cores,
			$3 - a.started_at - CAST(k.expected * ` + slowest("k.queue") + ` AS bigint) AS takes
		FROM task k
		JOIN attempt a ON a.task_id = k.id AND a.number = k.attempt AND a.ended_at = 0
		WHERE k.state = 'running' AND k.project_id || '' = $1 AND k.run_id IS NOT NULL
	), spent AS (
		SELECT COALESCE(sum(u.gpu), 0) AS gpu, COALESCE(sum(u.cpu), 0) AS cpu
		FROM usage_day u
		WHERE u.project_id = $1 AND u.day >= $2
	)
	SELECT CAST(spent.gpu AS bigint), CAST(spent.cpu AS bigint),
		CAST((SELECT COALESCE(sum(e.takes * ` + ofQueue("gpus", "e.queue") + `), 0) FROM expected e)
			+ (SELECT COALESCE(sum(l.takes * l.gpus), 0) FROM longer l WHERE l.takes > 0) AS bigint),
		CAST((SELECT COALESCE(sum(e.takes * ` + ofQueue("cores", "e.queue") + `), 0) FROM expected e)
			+ (SELECT COALESCE(sum(l.takes * l.cores), 0) FROM longer l WHERE l.takes > 0) AS bigint)
	FROM spent`

// PlannedWork is work that is to be added: runs that compute in a queue.
type PlannedWork struct {
	Queue    string
	Expected time.Duration // of all of them together; 0: unknown
}

// CheckBudget refuses work that would pass the budget of its project, as far as it is known what the work takes; where
// that is not known, work is refused once the budget is used up. Without a budget it asks nothing. It makes verbs that
// add work to one project wait for each other, so that two of them cannot both use what is left. CodeLimited.
func CheckBudget(t *db.Tx, owner pleat.ProjectID, b Budget, add PlannedWork) error {
	if b.GPU < 0 && b.CPU < 0 {
		return nil
	}
	if err := LockProject(t, owner); err != nil {
		return err
	}
	u := BudgetUse{Budget: b, Month: monthOf(t.Now)}
	if err := t.Row(budgetUseSQL, u.args(owner, t.Now), u.scanTargets()...); err != nil {
		return err
	}
	var gpus, cores *int64
	var factor float64
	if err := t.Row("SELECT (SELECT max(gpus) FROM worker_use WHERE queue = $1), "+
		"(SELECT max(cores) FROM worker_use WHERE queue = $1), "+slowest("$1"), []any{add.Queue},
		&gpus, &cores, &factor); err != nil {
		return err
	}
	takes := int64(float64(add.Expected.Microseconds()) * factor)
	if err := refusePassed("GPU", b.GPU, u.Spent.GPU, u.Expected.GPU, takes, gpus); err != nil {
		return err
	}
	return refusePassed("CPU", b.CPU, u.Spent.CPU, u.Expected.CPU, takes, cores)
}

// refusePassed refuses work that takes some microseconds on a number of units, of which nil is unknown, if a limit
// would be passed.
func refusePassed(unit string, limit, spent, expected, takes int64, units *int64) error {
	if limit < 0 || units != nil && *units == 0 {
		return nil
	}
	need := int64(0)
	if units != nil {
		need = takes * *units
	}
	if sum := spent + expected + need; sum < limit || sum == limit && need > 0 {
		return nil
	}
	text := fmt.Sprintf("The project has used %s of the %s of its budget for this month", inUnits(spent, unit),
		inUnits(limit, unit))
	if expected > 0 {
		text += fmt.Sprintf(", %s are expected for what waits and runs", inUnits(expected, unit))
	}
	if need > 0 {
		text += fmt.Sprintf(", and this would take %s", inUnits(need, unit))
	}
	return &pleat.Error{Code: pleat.CodeLimited, Message: text + "; an operator of this service can raise the budget",
		Err: ErrBudget}
}

// ErrBudget is the cause of a refusal that lasts until the month ends or an operator raises the budget.
var ErrBudget = errors.New("the budget of the project is used up")

// inUnits writes microseconds of a unit for a message: in hours, or in seconds where they are few.
func inUnits(us int64, unit string) string {
	v, name := float64(us)/3.6e9, "hours"
	if us < 360e6 {
		v, name = float64(us)/1e6, "seconds"
	}
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) + " " + unit + "-" + name
}
