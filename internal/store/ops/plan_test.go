package ops_test

import (
	"testing"

	"pleat/internal/store/ops"
	"pleat/internal/store/storetest"
)

// The query for jobs and workflows to delete, every few seconds, reads only rows that are old or deleted, and that for
// a page of files only its rows: neither scans a whole table.
func TestNoTableIsScanned(t *testing.T) {
	t.Parallel()
	storetest.CheckSQLitePlans(t, ops.Plans(), "")
}

// The activity of the service is read by an index, or from rows that an inner query has limited.
func TestActivityReadsIndexes(t *testing.T) {
	t.Parallel()
	storetest.CheckSQLitePlans(t, ops.ActivityStatements(), storetest.ReadsAnIndex+`|^SCAN (filled|q|k)$`)
}

// A purge finds its rows by indexes, so that it takes no longer as the service grows old, and what the service does is
// read from a busy PostgreSQL by indexes alone.
func TestNoTableOfPostgresIsScanned(t *testing.T) {
	t.Parallel()
	d := storetest.OpenForPlans(t)
	for _, q := range ops.PurgeStatements() {
		storetest.CheckPostgresPlan(t, d, q, "01900000-0000-7000-8000-000000000000")
	}
	for q, args := range ops.ActivityStatements() {
		storetest.CheckPostgresPlan(t, d, q, args...)
	}
}
