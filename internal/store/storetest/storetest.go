// Package storetest opens stores for tests: SQLite always, PostgreSQL where PLEAT_TEST_POSTGRES names a server (make
// test starts one). It must not be imported by anything but tests and benches.
package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pleat/internal/store"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// Log is a buffer that a program writes while a test reads it. The zero value is empty.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns all that was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Clock runs with the machine's and can be moved ahead, so that leases and delays end without waiting. It is safe for
// use by many goroutines. The zero value is the machine's clock.
type Clock struct {
	mu      sync.Mutex
	ahead   time.Duration
	stopped time.Time // the machine's time when the clock was stopped; zero: it runs
}

// Now is the machine's time, or that at which the clock was stopped, plus what the clock was moved. It is for
// db.Options.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped.IsZero() {
		return c.stopped.Add(c.ahead)
	}
	return time.Now().Add(c.ahead)
}

// Stop lets time pass only by Advance from now on, so that a test may compare times however slow the machine is.
func (c *Clock) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = time.Now()
}

// Advance moves the clock ahead. It wakes nobody: a test calls Reap, or waits for a goroutine that polls.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// Each runs fn on a fresh, migrated store of every database at hand, as a subtest with the database's name.
func Each(t *testing.T, fn func(t *testing.T, s *store.Store, clock *Clock)) {
	t.Helper()
	EachLimited(t, people.Limits{}, fn)
}

// EachLimited is Each with limits of what one user may have.
func EachLimited(t *testing.T, limits people.Limits, fn func(t *testing.T, s *store.Store, clock *Clock)) {
	t.Helper()
	EachWith(t, store.Options{People: people.Options{Limits: limits}}, fn)
}

// EachWith is Each with options, such as sizes that a test reaches with few rows.
func EachWith(t *testing.T, opt store.Options, fn func(t *testing.T, s *store.Store, clock *Clock)) {
	t.Helper()
	for name, fresh := range Migrated() {
		t.Run(name, func(t *testing.T) {
			clock := &Clock{}
			fn(t, OpenWith(t, fresh(t), clock, opt), clock)
		})
	}
}

// Databases are the databases at hand, by name: each function makes an empty one, which goes with the test, and gives
// its address for db.Open. SQLite's are files, as in production, since its behaviour in memory differs.
func Databases() map[string]func(t testing.TB) string {
	all := map[string]func(t testing.TB) string{"sqlite": func(t testing.TB) string {
		return "sqlite:" + filepath.Join(t.TempDir(), "pleat.db")
	}}
	if os.Getenv("PLEAT_TEST_POSTGRES") != "" {
		all["postgres"] = Postgres
	}
	return all
}

// Migrated are the databases of Databases with the schema of this program and no rows, which are copied from a template
// and so cost less than a migration. A test of the migration itself uses Databases.
func Migrated() map[string]func(t testing.TB) string {
	all := map[string]func(t testing.TB) string{}
	for name, fresh := range Databases() {
		all[name] = func(t testing.TB) string {
			t.Helper()
			address := fresh(t)
			copyMigrated(t, address)
			return address
		}
	}
	if all["postgres"] != nil {
		all["postgres"] = MigratedPostgres
	}
	return all
}

// addresses holds the address of each store that OpenAt opened and that is still open, for Count, which reads the
// database behind the store's back.
var addresses sync.Map // *store.Store → string

// OpenAt opens and migrates the store at an address; it is closed with the test. A nil clock is the machine's. Several
// stores may be open at one address, like the processes of a service on PostgreSQL.
func OpenAt(t testing.TB, address string, clock *Clock) *store.Store {
	t.Helper()
	return OpenWith(t, address, clock, store.Options{})
}

// OpenLimited is OpenAt with limits of what one user may have.
func OpenLimited(t testing.TB, address string, clock *Clock, limits people.Limits) *store.Store {
	t.Helper()
	return OpenWith(t, address, clock, store.Options{People: people.Options{Limits: limits}})
}

// OpenWith is OpenAt with further options.
func OpenWith(t testing.TB, address string, clock *Clock, opt store.Options) *store.Store {
	t.Helper()
	// PostgreSQL's clock does not go with a Clock that was moved: its next measurement would take the move back.
	opt.DB.ClockInterval = 24 * time.Hour
	if clock != nil {
		opt.DB.Clock = clock.Now
	}
	copyMigrated(t, address)
	at := address
	if pooled := Pooled(t, address); pooled != "" {
		at, opt.DB.Direct = pooled, address
	}
	s, err := store.Open(context.Background(), at, opt)
	if err != nil {
		t.Fatal(err)
	}
	addresses.Store(s, address)
	t.Cleanup(func() {
		addresses.Delete(s)
		checkResultUse(t, address)
		checkSpent(t, address)
		_ = s.DB.Close()
	})
	if err := Migrate(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Migrate migrates and tunes a database, as a start of the program does.
func Migrate(ctx context.Context, s *store.Store) error {
	if _, _, err := s.DB.Migrate(ctx); err != nil {
		return err
	}
	return s.Ops.Tune(ctx)
}

// checkResultUse fails a test after which the bytes that are counted for a user are not those of the user's runs. A
// database that the test has removed, or not migrated, is not checked.
func checkResultUse(t testing.TB, address string) {
	t.Helper()
	db, err := openRaw(address)
	if err != nil {
		t.Error(err)
		return
	}
	defer db.Close()
	rows, err := db.Query(`
		SELECT project_id, sum(bytes)
		FROM (SELECT project_id, bytes FROM run UNION ALL SELECT project_id, -bytes FROM result_use) AS held
		GROUP BY project_id
		HAVING sum(bytes) <> 0`)
	if err != nil {
		var refused *pgconn.PgError
		gone := errors.As(err, &refused) && (refused.Code == "3D000" || refused.Code == "42P01") ||
			strings.Contains(err.Error(), "no such table") || strings.Contains(err.Error(), "unable to open")
		if !gone {
			t.Error(err)
		}
		return
	}
	defer rows.Close()
	for rows.Next() {
		var user string
		var bytes int64
		if err := rows.Scan(&user, &bytes); err != nil {
			t.Error(err)
			return
		}
		t.Errorf("the runs of the user %s have %d bytes more than are counted", user, bytes)
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
}

// checkSpent fails a test after which less time is counted than the attempts at runs that are still there have taken. A
// database that the test has removed, or not migrated, is not checked.
func checkSpent(t testing.TB, address string) {
	t.Helper()
	db, err := openRaw(address)
	if err != nil {
		t.Error(err)
		return
	}
	defer db.Close()
	var short int64
	err = db.QueryRow(`
		SELECT CAST((
			SELECT COALESCE(sum(CASE WHEN a.ended_at > a.started_at THEN a.ended_at - a.started_at ELSE 0 END), 0)
			FROM attempt a WHERE a.ended_at > 0 AND a.run_id IS NOT NULL
		) - (SELECT COALESCE(sum(wall), 0) FROM usage_day) AS bigint)`).Scan(&short)
	if err == nil && short > 0 {
		t.Errorf("the attempts have taken %d µs more than is counted", short)
	}
}

// sqliteTemplate is an SQLite database with the schema and no rows.
type sqliteTemplate struct {
	file   []byte
	schema string // hash of its tables and indexes
}

// migrated is the template of SQLite's databases. Hundreds of tests need one, and copying a file is cheaper than a
// migration.
var migrated = sync.OnceValues(func() (out sqliteTemplate, err error) {
	dir, err := os.MkdirTemp("", "pleat-migrated-")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "pleat.db")
	s, err := store.Open(context.Background(), "sqlite:"+file, store.Options{})
	if err != nil {
		return out, err
	}
	_, _, err = s.DB.Migrate(context.Background())
	if err := errors.Join(err, s.DB.Close()); err != nil {
		return out, err
	}
	if out.schema, err = schemaHash(file); err != nil {
		return out, err
	}
	out.file, err = os.ReadFile(file)
	return out, err
})

// schemaHash returns a hash of the statements that make the tables and indexes of an SQLite database.
func schemaHash(file string) (string, error) {
	db, err := openRaw("sqlite:" + file)
	if err != nil {
		return "", err
	}
	defer db.Close()
	var statements string
	err = db.QueryRow("SELECT group_concat(sql, ';' ORDER BY name) FROM sqlite_schema").Scan(&statements)
	sum := sha256.Sum256([]byte(statements))
	return hex.EncodeToString(sum[:8]), err
}

// copyMigrated makes the database at an SQLite address, if there is none yet, from a migrated one.
func copyMigrated(t testing.TB, address string) {
	t.Helper()
	path, ok := strings.CutPrefix(address, "sqlite:")
	if !ok {
		return
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	from, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, from.file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// databases numbers the databases that this process has made, for their names.
var databases atomic.Int64

// Postgres makes an empty database on the server named by PLEAT_TEST_POSTGRES; it is dropped with the test, even if a
// connection is open. Without a server the test is skipped.
func Postgres(t testing.TB) string {
	t.Helper()
	return createPostgres(t, "")
}

// MigratedPostgres is Postgres for a database that has the schema.
func MigratedPostgres(t testing.TB) string {
	t.Helper()
	needPostgres(t)
	options, err := template()
	if err != nil {
		t.Fatal(err)
	}
	return createPostgres(t, options)
}

// template returns the options of CREATE DATABASE that copy a database with the schema and without rows, which is
// faster than a migration. The first of the processes that test on a server makes it. Its name has a hash of the
// schema, which is that of SQLite, too: a server may outlive a change of it.
var template = sync.OnceValues(func() (string, error) {
	ctx, server := context.Background(), os.Getenv("PLEAT_TEST_POSTGRES")
	sqlite, err := migrated()
	if err != nil {
		return "", err
	}
	db, err := sql.Open("pgx", server)
	if err != nil {
		return "", err
	}
	defer db.Close()
	conn, err := db.Conn(ctx) // that holds the lock
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(hashtext('pleat template'))"); err != nil {
		return "", err
	}
	name := "pleat_template_" + sqlite.schema
	var there, hasStrategies bool
	const q = `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1 AND datistemplate),
		current_setting('server_version_num')::int >= 150000`
	err = conn.QueryRowContext(ctx, q, name).Scan(&there, &hasStrategies)
	if err == nil && !there {
		err = makeTemplate(ctx, conn, server, name)
	}
	options := " TEMPLATE " + name
	if hasStrategies {
		options += " STRATEGY file_copy" // the only way before version 15; it takes half the time
	}
	return options, err
})

// makeTemplate makes and migrates a database, and marks it as a template once it is whole.
func makeTemplate(ctx context.Context, conn *sql.Conn, server, name string) error {
	for _, q := range []string{"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name} {
		if _, err := conn.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	address, err := databaseAt(server, name)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, address, store.Options{})
	if err != nil {
		return err
	}
	if err := errors.Join(Migrate(ctx, s), s.DB.Close()); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "ALTER DATABASE "+name+" IS_TEMPLATE true")
	return err
}

// databaseAt returns the address of a database of a server.
func databaseAt(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// needPostgres returns the address of the server, and skips the test where there is none.
func needPostgres(t testing.TB) string {
	t.Helper()
	server := os.Getenv("PLEAT_TEST_POSTGRES")
	if server == "" {
		t.Skip("PLEAT_TEST_POSTGRES names no server; make test starts one")
	}
	return server
}

// createPostgres makes a database with options of CREATE DATABASE.
func createPostgres(t testing.TB, options string) string {
	t.Helper()
	server := needPostgres(t)
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("pleat_%d_%d", os.Getpid(), databases.Add(1))
	if _, err := db.Exec("CREATE DATABASE " + name + options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer db.Close()
		if os.Getenv("PLEAT_TEST_PGBOUNCER") != "" { // PgBouncer 1.18 ends when its connections are closed so
			return
		}
		if _, err := db.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	address, err := databaseAt(server, name)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// Pooled returns the address of a PostgreSQL database behind the PgBouncer that PLEAT_TEST_PGBOUNCER names; empty if
// there is none, or the address is not one of PostgreSQL.
func Pooled(t testing.TB, address string) string {
	t.Helper()
	pooler := os.Getenv("PLEAT_TEST_PGBOUNCER")
	if pooler == "" || strings.HasPrefix(address, "sqlite:") {
		return ""
	}
	database, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	pooled, err := databaseAt(pooler, strings.TrimPrefix(database.Path, "/"))
	if err != nil {
		t.Fatal(err)
	}
	return pooled
}

// Address is that of the database of a store that OpenAt opened.
func Address(t testing.TB, s *store.Store) string {
	t.Helper()
	address, ok := addresses.Load(s)
	if !ok {
		t.Fatal("storetest needs a store that OpenAt opened")
	}
	return address.(string)
}

// Tables returns the rows of every table of a store, by name, as one text for each row. The tables are those of the
// schema, but for VersionTable. OpenAt must have opened the store.
func Tables(t testing.TB, s *store.Store) map[string][]string {
	t.Helper()
	database := rawAt(t, Address(t, s))
	defer database.Close()
	schema := "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
	if database.sqlite {
		schema = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
	}
	out := map[string][]string{}
	for _, name := range texts(t, database, schema) {
		if name[0] != db.VersionTable {
			rows := []string{}
			for _, row := range texts(t, database, "SELECT * FROM "+name[0]) {
				rows = append(rows, strings.Join(row, "|"))
			}
			out[name[0]] = rows
		}
	}
	return out
}

// texts returns the rows of a query with every column as text.
func texts(t testing.TB, db *rawDB, query string) [][]string {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for rows.Next() {
		values, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(columns))
		for i, v := range values {
			row[i] = v.String
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Query returns the rows that a query finds behind the back of a store, with every column as text. OpenAt must have
// opened the store.
func Query(t testing.TB, s *store.Store, query string) [][]string {
	t.Helper()
	return QueryAt(t, Address(t, s), query)
}

// QueryAt is Query for the database at an address, which no store need have opened.
func QueryAt(t testing.TB, address, query string) [][]string {
	t.Helper()
	db := rawAt(t, address)
	defer db.Close()
	return texts(t, db, query)
}

// Count returns how many rows a table of a store has, with those that no verb shows. OpenAt must have opened the store.
func Count(t testing.TB, s *store.Store, table string) int {
	t.Helper()
	db := rawAt(t, Address(t, s))
	defer db.Close()
	var n int
	if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
