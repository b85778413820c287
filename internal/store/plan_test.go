package store

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pleat"
)

// What looks for jobs and workflows to delete, every few seconds, reads only rows that are old or deleted, and a page
// of files only its rows: neither scans a whole table.
func TestNoTableIsScanned(t *testing.T) {
	t.Parallel()
	s := openMigrated(t)
	for _, c := range []struct {
		name, query string
		args        []any
	}{
		{"old workflows", expiredWorkflows.byService, []any{1, "id"}},
		{"old workflows of a project", expiredWorkflows.byProject, []any{1, "id", "project"}},
		{"old jobs", expiredJobs.byService, []any{1, "id"}},
		{"old jobs of a project", expiredJobs.byProject, []any{1, "id", "project"}},
		{"old batches of a project", expiredBatches.byProject, []any{1, "id", "project"}},
		{"inputs of deleted batches", tombstones[0].due, nil},
		{"deleted workflows", tombstones[1].due, []any{1}},
		{"deleted jobs", tombstones[2].due, []any{1}},
		{"deleted batches", tombstones[3].due, []any{1}},
		{"batches with a next step", batchesToAdvance(100), []any{1, "id"}},
		{"jobs to stop", jobsToStop, []any{"id"}},
		{"jobs to run again", jobsToRetry, []any{"id", 1}},
		{"leases that have expired", heldTasksSQL(leaseExpired, 1000), []any{1}},
		{"the next lease to expire", nextLease, nil},
		{"whom the end of a run is told", subscriptionsSQL("$1", "$2", "$3"), []any{"job", "run", "project"}},
		{"named endpoints", namedEndpointsQuery, []any{"project"}},
		{"deleted endpoints with deliveries", deletedWithDeliveries, nil},
		{"deleted endpoints without", forgottenEndpoint, []any{1}},
		{"what waits for an endpoint", waitingFor, []any{"id"}},
		{"managers to mail", managersToMail, []any{"project", 1, "id", 1}},
		{"files", blobRefs, []any{"runs/x", 100}},
	} {
		for _, step := range s.planOf(t, c.query, c.args) {
			// What an inner query has returned, and a part of a table, may be scanned.
			page := strings.HasPrefix(step, "SCAN page_")
			part := strings.HasSuffix(step, "_deleted") || strings.HasSuffix(step, "batch_open") ||
				strings.HasSuffix(step, "task_running")
			if strings.HasPrefix(step, "SCAN") && !page && !part && step != "SCAN CONSTANT ROW" {
				t.Errorf("%s: %s", c.name, step)
			}
		}
	}
}

// A glance at the service reads rows by an index, or those that an inner query has limited.
func TestGlanceReadsIndexes(t *testing.T) {
	t.Parallel()
	s := openMigrated(t)
	inner := regexp.MustCompile(`^SCAN (page_\w+|filled|q|k|CONSTANT ROW)$`)
	for q, args := range GlanceStatements("sqlite") {
		for _, step := range s.planOf(t, q, args) {
			if strings.HasPrefix(step, "SCAN") && !strings.Contains(step, " INDEX ") && !inner.MatchString(step) {
				t.Errorf("%s\n%s", q, step)
			}
		}
	}
}

// The use of a budget is read from the tasks of the project in an index alone, and from those that run; an end reads
// what has ended.
func TestAccountingReadsIndexes(t *testing.T) {
	t.Parallel()
	s := openMigrated(t)
	inner := regexp.MustCompile(`^SCAN (\w|spent|ended|\d+ CONSTANT ROWS?)$`)
	for q, args := range map[string][]any{
		budgetUseSQL:  {"project", 1, 2},
		accountSQL(2): {1, 1, 1, "task", 1, "run", "task", 1, "run"},
	} {
		steps := s.planOf(t, q, args)
		for _, step := range steps {
			running := strings.HasSuffix(step, "USING INDEX task_running")
			if strings.HasPrefix(step, "SCAN") && !inner.MatchString(step) && !running {
				t.Errorf("%s\n%s", q, step)
			}
		}
		const tasks = "SEARCH k USING COVERING INDEX task_expected (project_id=?)"
		if q == budgetUseSQL && !slices.Contains(steps, tasks) {
			t.Errorf("the plan has not %q: %q", tasks, steps)
		}
	}
}

// What one person made in a shared project is read from an index that has it alone, in the order of the list, and its
// creators by their ids.
func TestCreatorsAreIndexed(t *testing.T) {
	t.Parallel()
	s := openMigrated(t)
	in := Reach{User: "ada", Project: "lab"}
	jobs, flows := Filter{Creator: "eve", Limit: 9}, WorkflowFilter{Creator: "eve", Limit: 9}
	ofState := Filter{Creator: "eve", State: pleat.StateFailed}
	for _, c := range []struct {
		index string
		p     *page
		sql   string
	}{
		{"j USING INDEX job_creator", jobs.page(in), "SELECT " + jobRowColumns("'me'") +
			" FROM job AS j JOIN run r ON r.id = j.run_id WHERE %s ORDER BY %s LIMIT 9"},
		{"j USING INDEX job_creator", ofState.page(in), "SELECT " + jobRowColumns("'me'") +
			" FROM job AS j JOIN run r ON r.id = j.run_id WHERE %s ORDER BY %s LIMIT 9"},
		{"w USING INDEX workflow_creator", flows.page(in), "SELECT " + workflowColumns +
			" FROM workflow w WHERE %s ORDER BY %s LIMIT 9"},
	} {
		steps := strings.Join(s.planOf(t, fmt.Sprintf(c.sql, c.p.where, c.p.order), c.p.args), "\n")
		if !strings.Contains(steps, "SEARCH "+c.index) || strings.Contains(steps, "TEMP B-TREE") ||
			!strings.Contains(steps, "SEARCH y USING INDEX sqlite_autoindex_account_1 (id=?)") {
			t.Errorf("the plan of %s is\n%s", c.index, steps)
		}
	}
}

// The texts of queries that users can make by filters, orders and limits are few, since SQLite's are kept.
func TestFiltersMakeFewQueries(t *testing.T) {
	t.Parallel()
	s := openMigrated(t)
	b := &pleat.Batch{ID: "x", Counts: map[pleat.State]int{pleat.StateRunning: 3000}}
	operators := []string{">=", "<=", "!=", ">", "<", "="}
	kept := func() (n int) {
		s.translated.Range(func(any, any) bool { n++; return true })
		return n
	}
	before := kept()
	for i := range 2000 {
		q := TableQuery{Sort: []string{"", "ptm_score"}[i%2], Descending: i/2%2 == 1, Limit: 1 + i/2}
		if i/4%2 == 1 {
			q.State = pleat.StateCompleted
		}
		if i/8%3 > 0 {
			q.CustomID = pleat.TextCondition{Text: "a", IsPart: i/8%3 == 1}
		}
		for k := i; len(q.Conditions) < i%11; k /= 6 {
			c := ScoreCondition{Name: []string{"meanPLDDT", "ptm_score"}[k%2], Op: operators[k%6], Value: 1}
			q.Conditions = append(q.Conditions, c)
		}
		if _, err := s.walkedRows(context.Background(), b, &q); err != nil {
			t.Fatal(err)
		}
	}
	if n := kept() - before; n > 250 {
		t.Errorf("2000 filters made %d different queries", n)
	}
}

// openMigrated opens a new database of SQLite.
func openMigrated(t *testing.T) *Store {
	t.Helper()
	ctx := context.Background()
	s, err := Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "pleat.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, _, err := s.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

// planOf returns the steps of SQLite's plan of a query, of which there is at least one.
func (s *Store) planOf(t *testing.T, query string, args []any) (steps []string) {
	t.Helper()
	rows, err := s.read(context.Background(), "EXPLAIN QUERY PLAN "+query, args...)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var id, parent, unused int
		var step string
		err := scan(&id, &parent, &unused, &step)
		steps = append(steps, step)
		return err
	})
	if err != nil || len(steps) == 0 {
		t.Errorf("%s: %d steps, %v", query, len(steps), err)
	}
	return steps
}
