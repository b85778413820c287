package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the schema to the newest version and returns the versions before and after. Each version is applied in
// one transaction, and an error leaves those before it applied. Several nodes may call it at once: a lock, in
// PostgreSQL an advisory one, makes them take turns, and all but one find nothing to do.
func (s *Store) Migrate(ctx context.Context) (from, to int64, err error) {
	p, done, err := s.provider(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer done()
	if from, err = p.GetDBVersion(ctx); err != nil {
		return 0, 0, unavailable("migrate", err)
	}
	if _, err = p.Up(ctx); err != nil {
		return from, from, fmt.Errorf("migrate: %w", err)
	}
	if to, err = p.GetDBVersion(ctx); err == nil {
		err = s.tune(ctx)
	}
	return from, to, err
}

// tune sets how PostgreSQL stores the tables whose rows change often, which SQLite has no settings for. Each page of
// the table task keeps room, so that heartbeats replace rows within it, and is vacuumed when one row in a hundred is
// dead: a claim reads past every dead row of its queue. A page of the table attempt keeps room for the ends.
func (s *Store) tune(ctx context.Context) error {
	if s.dialect != "postgres" {
		return nil
	}
	for _, set := range []struct{ table, fillFactor, more string }{
		{"task", "70", ", autovacuum_vacuum_scale_factor = 0.01"},
		{"attempt", "80", ""},
	} {
		var tuned int
		const q = "SELECT count(*) FROM pg_class WHERE oid = to_regclass($1) AND 'fillfactor=' || $2 = ANY (reloptions)"
		err := s.db.QueryRowContext(ctx, q, set.table, set.fillFactor).Scan(&tuned)
		if err == nil && tuned == 0 {
			_, err = s.db.ExecContext(ctx, "ALTER TABLE "+set.table+" SET (fillfactor = "+set.fillFactor+set.more+")")
		}
		if err != nil {
			return unavailable("tune the tables", err)
		}
	}
	return nil
}

// Version is the version of the schema; 0 before the first migration. It may be newer than Latest, if a later program
// has migrated the database.
func (s *Store) Version(ctx context.Context) (int64, error) {
	var v int64
	if there, err := s.hasTable(ctx, "goose_db_version"); err != nil || !there {
		return 0, err
	}
	err := s.readRow(ctx, "SELECT COALESCE(max(version_id), 0) FROM goose_db_version", nil, &v)
	return v, err
}

// hasTable reports whether the schema has a table.
func (s *Store) hasTable(ctx context.Context, name string) (bool, error) {
	tables := "SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = $1"
	if s.dialect == "sqlite" {
		tables = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = $1"
	}
	var n int64
	err := s.readRow(ctx, tables, []any{name}, &n)
	return n > 0, err
}

// Latest is the version of the schema that this program needs: the highest number of its migrations.
func Latest() int64 {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		panic(err)
	}
	var latest int64
	for _, f := range files {
		number, _, _ := strings.Cut(path.Base(f), "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			panic(err)
		}
		latest = max(latest, n)
	}
	return latest
}

// provider returns what applies migrations, and a function that releases it.
func (s *Store) provider(ctx context.Context) (*goose.Provider, func(), error) {
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, nil, err
	}
	if s.dialect == "postgres" {
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, nil, err
		}
		db := stdlib.OpenDB(*s.notify.cfg) // the lock is one of a session, which a pooler does not keep
		p, err := goose.NewProvider(goose.DialectPostgres, db, dir, goose.WithSessionLocker(locker))
		return p, func() { _ = db.Close() }, err
	}
	// goose wants a pool; the writer's connection is pinned, so it gets a handle of its own. SQLite's lock keeps two
	// apart.
	db, err := sql.Open("sqlite", s.sqlite.dsn)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	p, err := goose.NewProvider(goose.DialectSQLite3, db, dir)
	return p, func() { _ = db.Close() }, err
}
