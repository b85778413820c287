package tasks_test

import (
	"testing"

	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// The query that counts the queues reads rows by an index, or those that an inner query has limited.
func TestCountsScanNoTable(t *testing.T) {
	t.Parallel()
	storetest.CheckSQLitePlans(t, tasks.Plans, storetest.ReadsAnIndex)
}

// On a busy PostgreSQL the query that counts the queues reads indexes alone.
func TestCountsScanNoTableOfPostgres(t *testing.T) {
	t.Parallel()
	d := storetest.OpenForPlans(t)
	for q, args := range tasks.Plans {
		storetest.CheckPostgresPlan(t, d, q, args...)
	}
}
