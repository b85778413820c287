package people_test

import (
	"slices"
	"testing"

	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
)

// The use of a budget is read from the tasks of the project in an index alone, and from those that run; an end reads
// what has ended.
func TestAccountingReadsIndexes(t *testing.T) {
	t.Parallel()
	storetest.CheckSQLitePlans(t, people.Plans, `^SCAN (\w|spent|ended)$`)
	s := storetest.OpenAt(t, "sqlite:"+t.TempDir()+"/pleat.db", nil)
	steps := storetest.SQLitePlan(t, s.DB, people.BudgetUseSQL, people.Plans[people.BudgetUseSQL])
	const tasks = "SEARCH k USING COVERING INDEX task_expected (project_id=?)"
	if !slices.Contains(steps, tasks) {
		t.Errorf("the plan has not %q: %q", tasks, steps)
	}
}

// The audit log of a time is read by an index.
func TestAuditReadsIndexes(t *testing.T) {
	t.Parallel()
	storetest.CheckSQLitePlans(t, people.AuditStatements, storetest.ReadsAnIndex)
}

// The audit log of a time is read from a busy PostgreSQL by an index.
func TestAuditReadsIndexesOfPostgres(t *testing.T) {
	t.Parallel()
	d := storetest.OpenForPlans(t)
	for q, args := range people.AuditStatements {
		storetest.CheckPostgresPlan(t, d, q, args...)
	}
}
