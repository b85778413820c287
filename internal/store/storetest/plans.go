package storetest

import (
	"context"
	"database/sql"
	"regexp"
	"strings"
	"testing"

	"pleat/internal/store/db"
)

// SQLitePlan returns the steps of the plan of a query, of which there is at least one. The store is one of SQLite.
func SQLitePlan(t *testing.T, d *db.DB, query string, args []any) (steps []string) {
	t.Helper()
	rows, err := d.Read(context.Background(), "EXPLAIN QUERY PLAN "+query, args...)
	err = db.ForEachRow(rows, err, func(scan func(...any) error) error {
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

// indexed matches the steps of plans of SQLite that scan no table: what an inner query has returned, a part of a table
// that an index has alone, constants.
var indexed = regexp.MustCompile(
	`^SCAN (page_\w+|filled|\w|spent|ended|(\d+ )?CONSTANT ROWS?)$|^SCAN .*(_deleted|batch_open|task_running)$`)

// CheckSQLitePlans checks that SQLite scans no table for queries, each with its parameters. Where covered is set, it
// may scan an index that has all columns of the query.
func CheckSQLitePlans(t *testing.T, queries map[string][]any, covered bool) {
	t.Helper()
	s := OpenAt(t, "sqlite:"+t.TempDir()+"/pleat.db", nil)
	for q, args := range queries {
		for _, step := range SQLitePlan(t, s.DB, q, args) {
			if strings.HasPrefix(step, "SCAN") && !indexed.MatchString(step) &&
				(!covered || !strings.Contains(step, " INDEX ")) {
				t.Errorf("%s\n%s", q, step)
			}
		}
	}
}

// OpenForPlans opens a new database of PostgreSQL as the store does, which plans with indexes alone.
func OpenForPlans(t *testing.T) *sql.DB {
	t.Helper()
	address := MigratedPostgres(t)
	OpenAt(t, address, nil)
	d, err := sql.Open("pgx", address+"&enable_seqscan=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// CheckPostgresPlan checks that PostgreSQL scans no table for a statement.
func CheckPostgresPlan(t *testing.T, d *sql.DB, q string, args ...any) {
	t.Helper()
	rows, err := d.Query("EXPLAIN "+q, args...)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "Seq Scan") {
			t.Errorf("%s\n%s", q, line)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
