package workers_test

import (
	"testing"

	"pleat/internal/store/storetest"
	"pleat/internal/store/workers"
)

// What counts the tasks of workers reads an index.
func TestNoTableIsScanned(t *testing.T) {
	t.Parallel()
	storetest.CheckSQLitePlans(t, workers.Plans, storetest.ReadsAnIndex)
}

// What counts the tasks of workers reads an index of a busy PostgreSQL.
func TestNoTableOfPostgresIsScanned(t *testing.T) {
	t.Parallel()
	d := storetest.OpenForPlans(t)
	for q, args := range workers.Plans {
		storetest.CheckPostgresPlan(t, d, q, args...)
	}
}
