package runs_test

import (
	"strings"
	"testing"

	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
)

// The query for expired leases reads only tasks that run, and that for sessions of a clock ahead only those.
func TestNoTableIsScanned(t *testing.T) {
	t.Parallel()
	storetest.CheckSQLitePlans(t, runs.Plans, "")
}

// The list of one person's jobs in a shared project is read from an index that has it alone, in the order of the list,
// and its creators by their ids.
func TestCreatorsAreIndexed(t *testing.T) {
	t.Parallel()
	s := storetest.OpenAt(t, "sqlite:"+t.TempDir()+"/pleat.db", nil)
	for q, p := range runs.CreatorPages() {
		index := "SEARCH j USING INDEX job_creator"
		if strings.Contains(q, "FROM workflow") {
			index = "SEARCH w USING INDEX workflow_creator"
		}
		steps := strings.Join(storetest.SQLitePlan(t, s.DB, q, p.Args), "\n")
		if !strings.Contains(steps, index) || strings.Contains(steps, "TEMP B-TREE") ||
			!strings.Contains(steps, "SEARCH y USING INDEX sqlite_autoindex_account_1 (id=?)") {
			t.Errorf("the plan of %s is\n%s", q, steps)
		}
	}
}
