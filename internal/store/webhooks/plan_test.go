package webhooks_test

import (
	"testing"

	"pleat/internal/store/storetest"
	"pleat/internal/store/webhooks"
)

// Queries for endpoints and subscriptions read only the rows that they return: none scans a table.
func TestNoTableIsScanned(t *testing.T) {
	t.Parallel()
	storetest.CheckSQLitePlans(t, webhooks.Plans, "")
}
