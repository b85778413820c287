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

// scansNoTable matches the steps of plans of SQLite that scan something else than a table: what an inner query with a
// limit has returned, a part of a table that an index has alone, constants.
var scansNoTable = regexp.MustCompile(
	`^SCAN (page_\w+|(\d+ )?CONSTANT ROWS?)$|^SCAN .*(_deleted|batch_open|task_running)$`)

// ReadsAnIndex matches the steps that scan an index, for queries that may read all of one.
const ReadsAnIndex = " INDEX "

// CheckSQLitePlans checks that SQLite scans no table for queries, each with its parameters. Steps that match the
// expression also are allowed too; empty: none.
func CheckSQLitePlans(t *testing.T, queries map[string][]any, also string) {
	t.Helper()
	if len(queries) == 0 {
		t.Fatal("there are no queries")
	}
	s := OpenAt(t, "sqlite:"+t.TempDir()+"/pleat.db", nil)
	for q, args := range queries {
		for _, step := range SQLitePlan(t, s.DB, q, args) {
			allowed := scansNoTable.MatchString(step) || also != "" && regexp.MustCompile(also).MatchString(step)
			if strings.HasPrefix(step, "SCAN") && !allowed {
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
