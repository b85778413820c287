package store

import (
	"context"
	"time"

	"pleat"
)

// Usage is how much of one of today's quotas a project has spent. The day is UTC.
type Usage struct {
	Limit int
	Used  int
	Reset time.Time // the next UTC midnight
}

// Usages are what a project has spent of each of today's quotas.
type Usages struct{ Jobs, Workflows, BatchRows Usage }

// Usage returns how much of today's quotas a project has spent, without spending any. pleat.ErrNoProject: the caller
// may not read it.
func (s *Store) Usage(ctx context.Context, by Reach) (Usages, error) {
	var u Usages
	now := s.now()
	var own int
	var role pleat.Role
	err := s.readRow(ctx, `
		SELECT `+roleSQL("a.id", "$3", "$1")+`, a.quota, COALESCE(q.used, 0), COALESCE(q.workflows, 0),
			COALESCE(q.batch_rows, 0)
		FROM project a
		LEFT JOIN quota_day q ON q.project_id = a.id AND q.day = $2
		WHERE a.id = $1`,
		[]any{by.Project, dayOf(now), by.User}, &role, &own, &u.Jobs.Used, &u.Workflows.Used, &u.BatchRows.Used)
	u.Jobs.Limit, u.Workflows.Limit = s.limits.jobsOf(own), s.limits.workflows()
	u.BatchRows.Limit = s.limits.batchRows()
	u.Jobs.Reset = nextDay(now)
	u.Workflows.Reset, u.BatchRows.Reset = u.Jobs.Reset, u.Jobs.Reset
	if err == nil {
		err = role.Allow(pleat.Viewer, pleat.ErrNoProject)
	}
	return u, unavailable("read usage", mapNoRows(err, pleat.ErrNoProject))
}

// charge is what a project has spent with one more call.
type charge struct {
	known bool // the project exists
	own   int  // the project's quota of jobs; negative: the service's default
	used  int  // calls of today, this one included
	bytes int64
	// budget is the project's.
	budget Budget
}

// askCharge counts one call against today's quota of jobs, and reads what usage needs to refuse it. The row's lock
// makes the count exact between concurrent calls: on PostgreSQL the second waits for the first to commit. A call that
// fails later in its transaction costs nothing.
func (t *tx) askCharge(owner pleat.ProjectID, c *charge) {
	t.ask(`
		INSERT INTO quota_day (project_id, day, used) VALUES ($1, $2, 1)
		ON CONFLICT (project_id, day) DO UPDATE SET used = quota_day.used + 1
		RETURNING used`,
		[]any{owner, t.today()},
		func(scan func(...any) error) error { return scan(&c.used) })
	t.askLimits(owner, c)
}

// askLimits reads what bounds the work of a project. Asked after a charge, which waits for DeleteProject, it does not
// find a project that was deleted meanwhile.
func (t *tx) askLimits(owner pleat.ProjectID, c *charge) {
	t.askResults(owner, &c.bytes)
	t.askProject(owner, c)
}

// askProject is askLimits without the sum of what the runs hold.
func (t *tx) askProject(owner pleat.ProjectID, c *charge) {
	t.ask("SELECT quota, budget_gpu, budget_cpu FROM project WHERE id = $1 AND deleted_at = 0", []any{owner},
		func(scan func(...any) error) error {
			c.known = true
			return scan(&c.own, &c.budget.GPU, &c.budget.CPU)
		})
}

// check refuses work for a project that was deleted, or whose runs hold as much as they may.
func (t *tx) check(c *charge) error {
	if !c.known {
		return pleat.ErrNoProject
	}
	return t.checkResults(c.bytes)
}

// usage returns what a project has spent after askCharge. CodeConflict: its runs hold as much as they may; CodeLimited:
// the quota is spent. ErrNoProject: there is none.
func (t *tx) usage(c *charge) (Usage, error) {
	if err := t.check(c); err != nil {
		return Usage{}, err
	}
	u := Usage{
		Limit: t.s.limits.jobsOf(c.own),
		Used:  c.used,
		Reset: nextDay(t.now),
	}
	if u.Used > u.Limit {
		return u, pleat.ErrQuota(u.Limit, u.Used-1)
	}
	return u, nil
}

// askChargeRows counts rows of a batch against today's quota, and reads what rowUsage needs to refuse them.
func (t *tx) askChargeRows(owner pleat.ProjectID, rows int, c *charge) {
	t.ask(`
		INSERT INTO quota_day (project_id, day, used, batch_rows) VALUES ($1, $2, 0, $3)
		ON CONFLICT (project_id, day) DO UPDATE SET batch_rows = quota_day.batch_rows + excluded.batch_rows
		RETURNING batch_rows`,
		[]any{owner, t.today(), rows},
		func(scan func(...any) error) error { return scan(&c.used) })
	t.askLimits(owner, c)
}

// askSpentRows is askChargeRows without a charge.
func (t *tx) askSpentRows(owner pleat.ProjectID, c *charge) {
	t.askLimits(owner, c)
	t.ask("SELECT batch_rows FROM quota_day WHERE project_id = $1 AND day = $2", []any{owner, t.today()},
		func(scan func(...any) error) error { return scan(&c.used) })
}

// rowUsage is usage after askChargeRows.
func (t *tx) rowUsage(c *charge, rows int) (Usage, error) {
	if err := t.check(c); err != nil {
		return Usage{}, err
	}
	u := Usage{Limit: t.s.limits.batchRows(), Used: c.used, Reset: nextDay(t.now)}
	if u.Used > u.Limit {
		return u, pleat.ErrBatchQuota(u.Limit, u.Used-rows, rows)
	}
	return u, nil
}

// chargeWorkflow counts one workflow against today's quota, or refuses it and counts nothing. It also refuses it if the
// project's runs hold as much as they may, or if its run would pass the budget.
func (t *tx) chargeWorkflow(owner pleat.ProjectID, add planned) error {
	var c charge
	t.askLimits(owner, &c)
	if err := t.wait(); err != nil {
		return err
	}
	if err := t.check(&c); err != nil {
		return err
	}
	if err := t.checkBudget(owner, c.budget, add); err != nil {
		return err
	}
	limit, charged := t.s.limits.workflows(), false
	t.ask(`
		INSERT INTO quota_day (project_id, day, used, workflows) VALUES ($1, $2, 0, 1)
		ON CONFLICT (project_id, day) DO UPDATE SET workflows = quota_day.workflows + 1
		WHERE quota_day.workflows < $3
		RETURNING workflows`,
		[]any{owner, t.today(), limit},
		func(scan func(...any) error) error {
			charged = true
			return scan(&c.used)
		})
	c.known = false
	t.askProject(owner, &c)
	switch err := t.wait(); {
	case err != nil:
		return err
	case !charged:
		return pleat.ErrWorkflowQuota(limit)
	case !c.known: // it was deleted meanwhile
		return pleat.ErrNoProject
	}
	return nil
}
