package mails_test

import (
	"testing"

	"pleat/internal/store/mails"
	"pleat/internal/store/storetest"
)

// The query for the managers of a project reads only their rows: no query scans a table.
func TestNoTableIsScanned(t *testing.T) {
	t.Parallel()
	storetest.CheckSQLitePlans(t, mails.Plans, "")
}
