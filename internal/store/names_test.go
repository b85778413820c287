package store_test

import (
	"testing"

	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
)

// A search by name reads the index of names where few jobs have the name, also on a connection that keeps plans, and
// the newest jobs of its user where many do, however many newer ones others have.
func TestSearchReadsTheIndexOfNames(t *testing.T) {
	t.Parallel()
	address := storetest.MigratedPostgres(t)
	s, db := storetest.OpenAt(t, address, nil), openRaw(t, address)
	u := storetest.User(t, s, "ada")
	if err := storetest.Fill(t.Context(), address, u.Project, 20_000); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("ANALYZE job"); err != nil {
		t.Fatal(err)
	}
	search := func(name string, want int) {
		t.Helper()
		for range 8 { // PostgreSQL keeps a plan from the sixth time on
			rows, err := s.Runs.ListJobs(t.Context(), u, runs.Filter{Query: name, Limit: 50})
			if err != nil || len(rows) != want {
				t.Fatalf("%q: %d jobs, %v", name, len(rows), err)
			}
		}
	}
	scans := func() (n int) {
		t.Helper()
		err := db.QueryRow("SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'job_name'").Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	search("FOLD", 50)
	search("nothing", 0)
	search("fold 1234", 6) // 1234 itself and 12340, 12342 … 12348
	_ = s.DB.Close()       // connections report what they have read when they end
	storetest.Eventually(t, "the index was read for each of the rare names", func() bool { return scans() == 16 })
}
