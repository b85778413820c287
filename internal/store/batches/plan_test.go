package batches_test

import (
	"testing"

	"pleat/internal/store/batches"
	"pleat/internal/store/storetest"
)

// The statement that advances batches reads only open ones and their jobs: no query scans a table.
func TestNoTableIsScanned(t *testing.T) {
	t.Parallel()
	storetest.CheckSQLitePlans(t, batches.Plans, "")
}
