package webhooks_test

import (
	"testing"

	"pleat/internal/store/storetest"
	"pleat/internal/store/webhooks"
)

// What looks for endpoints and subscriptions reads only their rows: no query scans a table.
func TestNoTableIsScanned(t *testing.T) {
	t.Parallel()
	storetest.CheckSQLitePlans(t, webhooks.Plans, "")
}
