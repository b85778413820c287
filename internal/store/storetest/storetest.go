// Package storetest opens stores for tests: SQLite always, PostgreSQL where PLEAT_TEST_POSTGRES names a server (make
// test starts one). It must not be imported by anything but tests and benches.
package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pleat/internal/store"
)

// Clock runs with the machine's and can be moved ahead, so that leases and pauses end without waiting. It is safe for
// use by many goroutines. The zero value is the machine's clock.
type Clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

// Now is the machine's time plus what the clock was moved. It is for store.Options.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// Advance moves the clock ahead. It wakes nobody: a test calls Reap, or waits for who polls.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// Each runs fn on a fresh, migrated store of every database at hand, as a subtest with the database's name.
func Each(t *testing.T, fn func(t *testing.T, s *store.Store, clock *Clock)) {
	t.Helper()
	EachLimited(t, store.Limits{}, fn)
}

// EachLimited is Each with limits of what one user may have.
func EachLimited(t *testing.T, limits store.Limits, fn func(t *testing.T, s *store.Store, clock *Clock)) {
	t.Helper()
	for name, fresh := range Databases() {
		t.Run(name, func(t *testing.T) {
			clock := &Clock{}
			fn(t, OpenLimited(t, fresh(t), clock, limits), clock)
		})
	}
}

// Databases are the databases at hand, by name: each function makes an empty one, which goes with the test, and gives
// its address for store.Open. SQLite's are files, as in production, since its behaviour in memory differs.
func Databases() map[string]func(t testing.TB) string {
	all := map[string]func(t testing.TB) string{"sqlite": func(t testing.TB) string {
		return "sqlite:" + filepath.Join(t.TempDir(), "pleat.db")
	}}
	if os.Getenv("PLEAT_TEST_POSTGRES") != "" {
		all["postgres"] = Postgres
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
	return OpenLimited(t, address, clock, store.Limits{})
}

// OpenLimited is OpenAt with limits of what one user may have.
func OpenLimited(t testing.TB, address string, clock *Clock, limits store.Limits) *store.Store {
	t.Helper()
	opt := store.Options{Limits: limits}
	if clock != nil {
		opt.Clock = clock.Now
	}
	s, err := store.Open(context.Background(), address, opt)
	if err != nil {
		t.Fatal(err)
	}
	addresses.Store(s, address)
	t.Cleanup(func() {
		addresses.Delete(s)
		_ = s.Close()
	})
	if _, _, err := s.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// made numbers the databases that this process has made, for their names.
var made atomic.Int64

// Postgres makes an empty database on the server named by PLEAT_TEST_POSTGRES; it is dropped with the test, even if a
// connection is open. Without a server the test is skipped.
func Postgres(t testing.TB) string {
	t.Helper()
	server := os.Getenv("PLEAT_TEST_POSTGRES")
	if server == "" {
		t.Skip("PLEAT_TEST_POSTGRES names no server; make test starts one")
	}
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("pleat_%d_%d", os.Getpid(), made.Add(1))
	if _, err := db.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
		_ = db.Close()
	})
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// Count returns how many rows a table of a store has, with those that no verb shows. OpenAt must have opened the store.
func Count(t testing.TB, s *store.Store, table string) int {
	t.Helper()
	address, ok := addresses.Load(s)
	if !ok {
		t.Fatal("storetest.Count needs a store that OpenAt opened")
	}
	db, err := openRaw(address.(string))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n int
	if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
