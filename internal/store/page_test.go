package store_test

import (
	"testing"

	"pleat"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/webhooks"
)

// A list reads the rows of its page and no rows of others, however many of those are newer: whatever PostgreSQL
// estimates, it walks the index of the user's rows.
func TestListsReadTheirPage(t *testing.T) {
	t.Parallel()
	address := storetest.MigratedPostgres(t)
	s, db := storetest.OpenAt(t, address, nil), openRaw(t, address)
	db.SetMaxOpenConns(1)
	var version int
	if err := db.QueryRow("SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		t.Fatal(err)
	}
	if version < 15_00_00 {
		t.Skip("PostgreSQL counts what a connection has read at once from version 15 on")
	}
	u, other := storetest.User(t, s, "ada"), storetest.User(t, s, "eve")
	const all, limit = 20_000, 20
	err := storetest.Fill(t.Context(), address, u.Project, all)
	if err == nil {
		err = storetest.FillEvents(t.Context(), address, u.Project, all)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"job", "delivery"} {
		if _, err := db.Exec("UPDATE "+table+` SET project_id = $1
			WHERE id > (SELECT id FROM `+table+" ORDER BY id OFFSET $2 LIMIT 1)", other.Project, all/2); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec(`UPDATE job SET created_by = $1
		WHERE id < (SELECT id FROM job ORDER BY id OFFSET $2 LIMIT 1)`, other.User, all/20); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("VACUUM ANALYZE"); err != nil {
		t.Fatal(err)
	}
	read := func() (jobs, deliveries int) {
		t.Helper()
		err := db.QueryRow(`
			SELECT sum(CASE relname WHEN 'job' THEN n END), sum(CASE relname WHEN 'delivery' THEN n END)
			FROM (
				SELECT relname, seq_tup_read AS n FROM pg_stat_user_tables
				UNION ALL
				SELECT relname, idx_tup_read FROM pg_stat_user_indexes) AS reads`).Scan(&jobs, &deliveries)
		if err != nil {
			t.Fatal(err)
		}
		return jobs, deliveries
	}
	// Rows that this connection has read itself are otherwise counted up to a second later.
	if _, err := db.Exec("SELECT pg_stat_force_next_flush()"); err != nil {
		t.Fatal(err)
	}
	before, deliveriesBefore := read()
	lists, narrowed, last := 0, 0, ""
	for range 8 { // PostgreSQL keeps a plan from the sixth time on
		for _, f := range []runs.Filter{{}, {State: pleat.StateCompleted}} {
			f.Limit, f.Creator = limit, other.User // whose jobs are the oldest
			rows, err := s.Runs.ListJobs(t.Context(), u, f)
			if err != nil || len(rows) != limit || rows[0].Creator != other.User || rows[0].CreatorName != "eve" {
				t.Fatalf("%d jobs, %v", len(rows), err)
			}
			narrowed++
		}
		for _, f := range []runs.Filter{{}, {State: pleat.StateCompleted}} {
			f.Limit, f.Before = limit, last
			rows, err := s.Runs.ListJobs(t.Context(), u, f)
			if err != nil || len(rows) != limit {
				t.Fatalf("%d jobs, %v", len(rows), err)
			}
			last = string(rows[limit-1].ID)
			lists++
		}
		for _, f := range []webhooks.DeliveryFilter{{}, {Status: pleat.DeliverySucceeded}} {
			f.Limit = limit
			rows, err := s.Webhooks.Deliveries(t.Context(), u, f)
			if err != nil || len(rows) != limit {
				t.Fatalf("%d deliveries, %v", len(rows), err)
			}
		}
	}
	_ = s.DB.Close() // connections report what they have read when they end
	var jobs, deliveries int
	storetest.Eventually(t, "the lists are counted", func() bool {
		jobs, deliveries = read()
		return jobs-before >= (lists+narrowed)*limit && deliveries-deliveriesBefore >= lists*limit
	})
	if most := lists * limit * 3; jobs-before > most+narrowed*limit*3 || deliveries-deliveriesBefore > most {
		t.Errorf("%d lists of %d read %d entries of jobs and %d of deliveries", lists, limit, jobs-before,
			deliveries-deliveriesBefore)
	}
}
