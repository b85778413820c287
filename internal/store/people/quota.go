package people

import (
	"context"
	"time"

	"pleat"
	"pleat/internal/store/db"
)

// Usage is how much of one of today's quotas a project has spent. The day is UTC.
type Usage struct {
	Limit int
	Used  int
	Reset time.Time // the next UTC midnight
}

// Usages are what a project has spent of each of today's quotas.
type Usages struct{ Jobs, Workflows, BatchRows Usage }

// Usage returns how much of today's quotas a project has spent, without spending any. [pleat.ErrNoProject]: the caller
// may not read it.
func (s *Store) Usage(ctx context.Context, by Reach) (Usages, error) {
	var u Usages
	now := s.db.Micros()
	var quota int
	var role pleat.Role
	err := s.db.ReadRow(ctx, `
		SELECT `+RoleSQL("a.id", "$3", "$1")+`, a.quota, COALESCE(q.used, 0), COALESCE(q.workflows, 0),
			COALESCE(q.batch_rows, 0)
		FROM project a
		LEFT JOIN quota_day q ON q.project_id = a.id AND q.day = $2
		WHERE a.id = $1`,
		[]any{by.Project, db.DayOf(now), by.User}, &role, &quota, &u.Jobs.Used, &u.Workflows.Used, &u.BatchRows.Used)
	u.Jobs.Limit, u.Workflows.Limit = s.limits.jobsOf(quota), s.limits.workflows()
	u.BatchRows.Limit = s.limits.batchRows()
	u.Jobs.Reset = db.NextDay(now)
	u.Workflows.Reset, u.BatchRows.Reset = u.Jobs.Reset, u.Jobs.Reset
	if err == nil {
		err = role.Allow(pleat.Viewer, pleat.ErrNoProject)
	}
	return u, db.Unavailable("read usage", db.MapNoRows(err, pleat.ErrNoProject))
}

// Charge is what a project has spent with one more call.
type Charge struct {
	known bool // the project exists
	quota int  // the project's quota of jobs; negative: the service's default
	Used  int  // calls of today, this one included
	bytes int64
	// budget is the project's.
	Budget Budget
}

// AskCharge counts one call against today's quota of jobs, and reads what [Store.JobUsage] needs to refuse it. The
// row's lock makes the count exact between concurrent calls: on PostgreSQL the second waits for the first to commit. A
// call that fails later in its transaction costs nothing.
func (s *Store) AskCharge(t *db.Tx, owner pleat.ProjectID, c *Charge) {
	t.Ask(`
		INSERT INTO quota_day (project_id, day, used) VALUES ($1, $2, 1)
		ON CONFLICT (project_id, day) DO UPDATE SET used = quota_day.used + 1
		RETURNING used`,
		[]any{owner, t.Today()},
		func(scan func(...any) error) error { return scan(&c.Used) })
	s.AskLimits(t, owner, c)
}

// AskLimits reads what bounds the work of a project. Asked after a charge, which waits for ops.Store.DeleteProject, it
// does not find a project that was deleted meanwhile.
func (s *Store) AskLimits(t *db.Tx, owner pleat.ProjectID, c *Charge) {
	s.AskResults(t, owner, &c.bytes)
	askProject(t, owner, c)
}

// askProject is AskLimits without the sum of what the runs hold.
func askProject(t *db.Tx, owner pleat.ProjectID, c *Charge) {
	t.Ask("SELECT quota, budget_gpu, budget_cpu FROM project WHERE id = $1 AND deleted_at = 0", []any{owner},
		func(scan func(...any) error) error {
			c.known = true
			return scan(&c.quota, &c.Budget.GPU, &c.Budget.CPU)
		})
}

// check refuses work for a project that was deleted, or whose runs hold as much as they may.
func (s *Store) check(t *db.Tx, c *Charge) error {
	if !c.known {
		return pleat.ErrNoProject
	}
	return s.CheckResults(t, c.bytes)
}

// JobUsage returns what a project has spent after [Store.AskCharge]. CodeConflict: its runs hold as much as they may;
// CodeLimited: the quota is spent. ErrNoProject: there is none.
func (s *Store) JobUsage(t *db.Tx, c *Charge) (Usage, error) {
	if err := s.check(t, c); err != nil {
		return Usage{}, err
	}
	u := Usage{
		Limit: s.limits.jobsOf(c.quota),
		Used:  c.Used,
		Reset: db.NextDay(t.Now),
	}
	if u.Used > u.Limit {
		return u, pleat.ErrQuota(u.Limit, u.Used-1)
	}
	return u, nil
}

// AskChargeRows counts rows of a batch against today's quota, and reads what [Store.RowUsage] needs to refuse them.
func (s *Store) AskChargeRows(t *db.Tx, owner pleat.ProjectID, rows int, c *Charge) {
	t.Ask(`
		INSERT INTO quota_day (project_id, day, used, batch_rows) VALUES ($1, $2, 0, $3)
		ON CONFLICT (project_id, day) DO UPDATE SET batch_rows = quota_day.batch_rows + excluded.batch_rows
		RETURNING batch_rows`,
		[]any{owner, t.Today(), rows},
		func(scan func(...any) error) error { return scan(&c.Used) })
	s.AskLimits(t, owner, c)
}

// AskSpentRows is [Store.AskChargeRows] without a charge.
func (s *Store) AskSpentRows(t *db.Tx, owner pleat.ProjectID, c *Charge) {
	s.AskLimits(t, owner, c)
	t.Ask("SELECT batch_rows FROM quota_day WHERE project_id = $1 AND day = $2", []any{owner, t.Today()},
		func(scan func(...any) error) error { return scan(&c.Used) })
}

// RowUsage is [Store.JobUsage] after [Store.AskChargeRows].
func (s *Store) RowUsage(t *db.Tx, c *Charge, rows int) (Usage, error) {
	if err := s.check(t, c); err != nil {
		return Usage{}, err
	}
	u := Usage{Limit: s.limits.batchRows(), Used: c.Used, Reset: db.NextDay(t.Now)}
	if u.Used > u.Limit {
		return u, pleat.ErrBatchQuota(u.Limit, u.Used-rows, rows)
	}
	return u, nil
}

// ChargeWorkflow counts one workflow against today's quota, or refuses it and counts nothing. It also refuses it if the
// project's runs hold as much as they may, or if its run would pass the budget.
func (s *Store) ChargeWorkflow(t *db.Tx, owner pleat.ProjectID, add PlannedWork) error {
	var c Charge
	s.AskLimits(t, owner, &c)
	if err := t.Wait(); err != nil {
		return err
	}
	if err := s.check(t, &c); err != nil {
		return err
	}
	if err := CheckBudget(t, owner, c.Budget, add); err != nil {
		return err
	}
	limit, charged := s.limits.workflows(), false
	t.Ask(`
		INSERT INTO quota_day (project_id, day, used, workflows) VALUES ($1, $2, 0, 1)
		ON CONFLICT (project_id, day) DO UPDATE SET workflows = quota_day.workflows + 1
		WHERE quota_day.workflows < $3
		RETURNING workflows`,
		[]any{owner, t.Today(), limit},
		func(scan func(...any) error) error {
			charged = true
			return scan(&c.Used)
		})
	c.known = false
	askProject(t, owner, &c)
	switch err := t.Wait(); {
	case err != nil:
		return err
	case !charged:
		return pleat.ErrWorkflowQuota(limit)
	case !c.known: // it was deleted meanwhile
		return pleat.ErrNoProject
	}
	return nil
}
