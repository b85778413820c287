package workers_test

import (
	"testing"

	"pleat/internal/store/storetest"
	"pleat/internal/store/workers"
)

// The query that counts the tasks of workers reads an index.
func TestNoTableIsScanned(t *testing.T) {
	t.Parallel()
	storetest.CheckSQLitePlans(t, workers.Plans, storetest.ReadsAnIndex)
}

// On a busy PostgreSQL the query that counts the tasks of workers reads an index.
func TestNoTableOfPostgresIsScanned(t *testing.T) {
	t.Parallel()
	d := storetest.OpenForPlans(t)
	for q, args := range workers.Plans {
		storetest.CheckPostgresPlan(t, d, q, args...)
	}
}
