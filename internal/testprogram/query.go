package testprogram

import (
	"database/sql"
	"testing"
	"time"
)

// QueryInt returns the only value of a query.
func QueryInt(t *testing.T, db *sql.DB, q string) int {
	t.Helper()
	var k int
	if err := db.QueryRow(q).Scan(&k); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return k
}

// Queries that must count 0 whatever was killed.
const (
	CompletedTwice = "SELECT count(*) FROM (SELECT task_id FROM attempt WHERE outcome = 'done' " +
		"GROUP BY task_id HAVING count(*) > 1) x"
	OpenTasks = "SELECT count(*) FROM task"
	// Where no job was deleted, what is counted is the time of the attempts at runs that have ended.
	Miscounted = "SELECT CAST((SELECT COALESCE(sum(wall), 0) FROM usage_day) - (" +
		"SELECT COALESCE(sum(CASE WHEN ended_at > started_at THEN ended_at - started_at ELSE 0 END), 0) " +
		"FROM attempt WHERE ended_at > 0 AND run_id IS NOT NULL) AS bigint)"
)

// WantZero checks that each query counts 0; its key says what it counts.
func WantZero(t *testing.T, db *sql.DB, queries map[string]string) {
	t.Helper()
	for what, q := range queries {
		if k := QueryInt(t, db, q); k != 0 {
			t.Errorf("%s: %d", what, k)
		}
	}
}

// WaitUntil waits until something is so, which it looks at again and again, and fails the test after a time.
func WaitUntil(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// QueryStrings returns the values of a query with one column.
func QueryStrings(t *testing.T, db *sql.DB, q string) []string {
	t.Helper()
	rows, err := db.Query(q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
