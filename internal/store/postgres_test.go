package store_test

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	storedb "pleat/internal/store/db"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// On PostgreSQL, heartbeats can replace rows within their page (HOT): an index that has the lease's end would cost each
// of them an entry in every index.
func TestHeartbeatsKeepIndexes(t *testing.T) {
	t.Parallel()
	address := storetest.MigratedPostgres(t)
	s := storetest.OpenAt(t, address, nil)
	ctx := context.Background()
	db := openRaw(t, address)
	const count, rounds = 200, 20
	u := storetest.User(t, s, "ada")
	var beats []pleat.Heartbeat
	for range count {
		create(t, s, u, "fold")
	}
	for len(beats) < count {
		got, err := s.Runs.Claim(ctx, "w", tasks.ClaimFilter{Queues: []string{storetest.FoldQueue}, N: 50})
		if err != nil || len(got) == 0 {
			t.Fatalf("%d tasks, %v", len(got), err)
		}
		for i := range got {
			beats = append(beats, pleat.Heartbeat{Task: got[i].Task.ID, Attempt: got[i].Task.Attempt})
		}
	}
	counted := func() (updated, hot int) {
		t.Helper()
		const q = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'task'"
		err := db.QueryRowContext(ctx, q).Scan(&updated, &hot)
		if err != nil {
			t.Fatal(err)
		}
		return updated, hot
	}
	for range rounds {
		if _, err := s.Runs.Heartbeat(ctx, "w", beats); err != nil {
			t.Fatal(err)
		}
	}
	var updated, hot int
	storetest.Eventually(t, "the updates are counted", func() bool {
		_, _ = s.Runs.Heartbeat(ctx, "w", nil) // a connection reports what it has counted with a later transaction
		updated, hot = counted()
		return updated >= count*(rounds+1)
	})
	t.Logf("%d of %d updates were HOT", hot, updated)
	if hot < updated/10 { // usually nine in ten, fewer while other sessions hold snapshots; with such an index, none
		t.Errorf("%d of %d updates were HOT", hot, updated)
	}
}

// A connection keeps the plans that it made while the queue was empty. They do not scan the tables once these are full,
// though PostgreSQL has not analysed them since.
func TestPlansOfAnEmptyQueue(t *testing.T) {
	t.Parallel()
	address := storetest.MigratedPostgres(t)
	if storetest.Pooled(t, address) != "" {
		t.Skip("through a pooler, plans are made for each execution")
	}
	s := storetest.OpenAt(t, address, nil)
	db := openRaw(t, address)
	for _, table := range []string{"task", "attempt"} {
		if _, err := db.Exec("ALTER TABLE " + table + " SET (autovacuum_enabled = off)"); err != nil {
			t.Fatal(err)
		}
	}
	u := storetest.User(t, s, "ada")
	life := func(n int) {
		t.Helper()
		for range n {
			got := claim(t, s, "w", 1)
			if len(got) != 1 {
				t.Fatal("nothing to claim")
			}
			if err := finish(s, got[0], pleat.StateCompleted); err != nil {
				t.Fatal(err)
			}
		}
	}
	scans := func() (scans, all int) {
		t.Helper()
		const q = "SELECT sum(seq_scan), sum(seq_scan + idx_scan) FROM pg_stat_user_tables " +
			"WHERE relname IN ('task', 'attempt', 'run', 'job', 'event', 'subscription', 'endpoint')"
		if err := db.QueryRow(q).Scan(&scans, &all); err != nil {
			t.Fatal(err)
		}
		return scans, all
	}
	if _, err := db.Exec("ANALYZE"); err != nil {
		t.Fatal(err)
	}
	for range 20 { // PostgreSQL keeps the plan of a statement's sixth execution
		create(t, s, u, "fold")
		life(1)
	}
	const tasks = 200
	for range tasks {
		create(t, s, u, "fold")
	}
	before, counted := scans()
	life(tasks)
	var after, all int
	storetest.Eventually(t, "the scans are counted", func() bool {
		create(t, s, u, "fold") // a connection reports what it has counted with a later transaction
		life(1)
		after, all = scans()
		return all-counted >= 10*tasks
	})
	if after-before > tasks/10 {
		t.Errorf("%d tasks cost %d scans of a whole table, of %d", tasks, after-before, all-counted)
	}
}

// A claim over several queues reads few tasks of each, however many wait, also with plans that connections keep.
func TestClaimReadsFewTasks(t *testing.T) {
	t.Parallel()
	const waiting, claims = 20_000, 40
	address := storetest.MigratedPostgres(t)
	s, db := storetest.OpenAt(t, address, nil), openRaw(t, address)
	if err := storetest.Fill(t.Context(), address, storetest.User(t, s, "ada").Project, waiting); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`
		INSERT INTO task (
			id, kind, queue, project_id, tenant, position, run_id, state, attempt, tries, max_tries, memory, run_at,
			lease_until, worker_id, cancel, checkpoint, checkpoint_step, created_at)
		SELECT id, 'fold', 'fold/second', project_id, project_id, row_number() OVER (), id, 'queued', 1, 0, 3, 0, 0,
			0, '', 0, '', 0, 0
		FROM run`); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("ANALYZE"); err != nil {
		t.Fatal(err)
	}
	register(t, s, "w1")
	register(t, s, "w2")
	queues := []string{storetest.FoldQueue, "fold/second", "fold/third"}
	for range claims {
		got, err := s.Runs.Claim(t.Context(), "w1", tasks.ClaimFilter{Queues: queues, N: 2})
		if err != nil || len(got) != 2 {
			t.Fatalf("%d tasks, %v", len(got), err)
		}
		got, err = s.Runs.ClaimFor(t.Context(), []pleat.WorkerID{"w1", "w2"}, tasks.ClaimFilter{Queues: queues})
		if err != nil || len(got) != 2 {
			t.Fatalf("%d tasks, %v", len(got), err)
		}
	}
	_ = s.DB.Close() // connections report what they have read when they end
	var read, updated int
	storetest.Eventually(t, "the connections have reported", func() bool {
		err := db.QueryRow(`
			SELECT n_tup_upd, seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'task')
			FROM pg_stat_user_tables WHERE relname = 'task'`).Scan(&updated, &read)
		if err != nil {
			t.Fatal(err)
		}
		return updated >= 4*claims
	})
	if most := 2 * claims * 1000; read > most { // dead entries too; a plan that reads a queue reads 20 times as many
		t.Errorf("%d claims read %d entries of tasks and indexes, at most %d are allowed", 2*claims, read, most)
	}
}

// The position of a new task is read from two indexes, neither of which PostgreSQL can take for the other: with the
// other it would read a whole queue, and without statistics it did so, on some connections.
func TestPositionHasItsIndexes(t *testing.T) {
	t.Parallel()
	d := storetest.OpenForPlans(t)
	for gone, rest := range map[string]string{"task_ready": "task_share", "task_share": "task_ready"} {
		tx, err := d.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("DROP INDEX " + gone); err != nil {
			t.Fatal(err)
		}
		var plan string
		err = tx.QueryRow("EXPLAIN (FORMAT JSON) SELECT " + tasks.NextPositionSQL("'fold'", "'ada'")).Scan(&plan)
		if uses := strings.Count(plan, rest); err != nil || uses != 1 {
			t.Errorf("without %s, %d parts of the query use %s, want 1, %v", gone, uses, rest, err)
		}
		_ = tx.Rollback()
	}
	s := storetest.OpenAt(t, "sqlite:"+t.TempDir()+"/pleat.db", nil)
	steps := strings.Join(storetest.SQLitePlan(t, s.DB, "SELECT "+tasks.NextPositionSQL("'fold'", "'ada'"), nil), "\n")
	if !strings.Contains(steps, "task_share (queue=? AND tenant=?)") ||
		!strings.Contains(steps, "task_ready (queue=?)") {
		t.Errorf("SQLite: %s", steps)
	}
}

// A transaction that holds a snapshot is seen, and its end too.
func TestOldestSnapshot(t *testing.T) {
	t.Parallel()
	address := storetest.MigratedPostgres(t)
	s := storetest.OpenAt(t, address, nil)
	db := openRaw(t, address)
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "SELECT count(*) FROM task"); err != nil {
		t.Fatal(err)
	}
	oldest := func() time.Duration {
		t.Helper()
		d, err := s.DB.OldestSnapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	storetest.Eventually(t, "the snapshot is a second old", func() bool { return oldest() >= time.Second })
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	storetest.Eventually(t, "the snapshot is gone", func() bool { return oldest() < time.Second })
}

// openRaw opens a database of PostgreSQL beside a store.
func openRaw(t *testing.T, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Tuning sets what is missing and keeps what an operator has set. It makes the index of names again after a node was
// stopped while it made the index. Without the extension for the index the store works.
func TestTune(t *testing.T) {
	t.Parallel()
	address := storetest.MigratedPostgres(t)
	s, db := storetest.OpenAt(t, address, nil), openRaw(t, address)
	exec := func(q string) {
		t.Helper()
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	tune := func() {
		t.Helper()
		if err := s.Ops.Tune(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	options := func() (out string) {
		t.Helper()
		if err := db.QueryRow("SELECT reloptions FROM pg_class WHERE relname = 'run'").Scan(&out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	indexes := func() (valid int) {
		t.Helper()
		err := db.QueryRow(`
			SELECT count(*) FROM pg_index WHERE indexrelid = to_regclass('job_name') AND indisvalid`).Scan(&valid)
		if err != nil {
			t.Fatal(err)
		}
		return valid
	}
	want := "{autovacuum_vacuum_scale_factor=0.02,autovacuum_analyze_scale_factor=0.02,fillfactor=80}"
	own := "{autovacuum_analyze_scale_factor=0.02,autovacuum_vacuum_scale_factor=0.005,fillfactor=80}"
	if got := options(); got != want || indexes() != 1 {
		t.Errorf("%s, and %d indexes", got, indexes())
	}
	exec("ALTER TABLE run RESET (fillfactor)")
	exec("ALTER TABLE run SET (autovacuum_vacuum_scale_factor = 0.005)")
	exec("UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass('job_name')")
	tune()
	if got := options(); got != own || indexes() != 1 {
		t.Errorf("%s, and %d indexes", got, indexes())
	}
	exec("DROP INDEX job_name; CREATE SCHEMA elsewhere; ALTER EXTENSION pg_trgm SET SCHEMA elsewhere")
	if err := s.Ops.Tune(t.Context()); err == nil {
		t.Error("no error without the extension")
	}
	u := storetest.User(t, s, "ada")
	create(t, s, u, "Trp-cage")
	rows, err := s.Runs.ListJobs(t.Context(), u, runs.Filter{Query: "trp", Limit: 50})
	if err != nil || len(rows) != 1 || indexes() != 0 {
		t.Errorf("%d jobs, %v, and %d indexes", len(rows), err, indexes())
	}
}

// Sessions keep the settings with which they were opened, for example while the database could only be read after a
// failover. The first change afterwards succeeds in another session.
func TestStaleSessions(t *testing.T) {
	t.Parallel()
	t.Run("read only", func(t *testing.T) {
		t.Parallel()
		testStaleSessions(t, "default_transaction_read_only", "on", "takes no changes")
	})
	t.Run("search_path", func(t *testing.T) {
		t.Parallel()
		testStaleSessions(t, "search_path", "elsewhere", "change of its search_path")
	})
}

func testStaleSessions(t *testing.T, setting, value, reason string) {
	t.Helper()
	address := storetest.MigratedPostgres(t)
	if storetest.Pooled(t, address) != "" {
		t.Skip("the sessions behind a pooler are closed by the pooler")
	}
	s := storetest.OpenAt(t, address, nil)
	ctx := context.Background()
	by := storetest.User(t, s, "ada")
	raw := openRaw(t, address)
	set := func(text string) {
		t.Helper()
		_, err := raw.ExecContext(ctx,
			"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I "+text+"', current_database()); END $$")
		if err != nil {
			t.Fatal(err)
		}
	}
	set("SET " + setting + " = " + value)
	if _, err := raw.ExecContext(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+
		"WHERE datname = current_database() AND pid <> pg_backend_pid()"); err != nil {
		t.Fatal(err)
	}
	openSessions := func() {
		t.Helper()
		var open []*storedb.Snapshot
		for range 6 {
			var r *storedb.Snapshot
			storetest.Eventually(t, "a session is opened", func() bool { // those that were ended are found one by one
				var err error
				r, err = s.DB.BeginRead(ctx)
				return err == nil
			})
			open = append(open, r)
		}
		for _, r := range open {
			r.End(ctx)
		}
	}
	openSessions()
	_, err := s.Runs.CreateJob(ctx, storetest.NewFold(by, "refused"))
	if pleat.CodeOf(err) != pleat.CodeUnavailable || !strings.Contains(err.Error(), reason) {
		t.Errorf("a change that fails: %v", err)
	}
	if why, err := s.DB.WriteFault(ctx); setting == "default_transaction_read_only" && why == "" || err != nil {
		t.Errorf("%q, %v", why, err)
	}
	openSessions()
	set("RESET " + setting)
	if _, err := s.Runs.CreateJob(ctx, storetest.NewFold(by, "taken")); err != nil {
		t.Errorf("the first change afterwards: %v", err)
	}
	if why, err := s.DB.WriteFault(ctx); why != "" || err != nil {
		t.Errorf("%q, %v", why, err)
	}
}

// Addresses with which a service could not work are refused at the start, by name.
func TestPoolersAreNamed(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("default_query_exec_mode", "simple_protocol")
	u.RawQuery = q.Encode()
	for name, address := range map[string]string{
		"simple_protocol": u.String(), "pooler": storetest.Pooled(t, address),
	} {
		if address == "" {
			continue
		}
		s, err := store.Open(t.Context(), address, store.Options{})
		if err == nil {
			_ = s.DB.Close()
		}
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "database-direct") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Databases and addresses with which texts would be lost or no table could be made are refused at the start, by name.
func TestDatabasesThatCannotServe(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	for _, c := range []struct{ parameter, value, want string }{
		{"search_path", "nowhere", "the search_path of the database's role is nowhere, and there is no such schema"},
		{"client_encoding", "LATIN1", "the PostgreSQL address has client_encoding=LATIN1"},
		{"target_session_attrs", "garbage", `its parameter target_session_attrs cannot be "garbage"`},
		{"default_query_exec_mode", "x", `its parameter default_query_exec_mode cannot be "x"`},
		{"pool_max_conns", "5", "the PostgreSQL address has a parameter that PostgreSQL does not have; leave it out"},
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set(c.parameter, c.value)
		u.RawQuery = q.Encode()
		s, err := store.Open(t.Context(), u.String(), store.Options{})
		if err == nil {
			_, _, err = s.DB.Migrate(t.Context())
			_ = s.DB.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v", c.parameter, c.value, err)
		}
	}
}
