package db

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var embedded embed.FS

// migrations are the versions of the schema that this program knows. A released one is never changed.
var migrations = func() fs.FS {
	dir, err := fs.Sub(embedded, "migrations")
	if err != nil {
		panic(err)
	}
	return dir
}()

// VersionTable is goose's table of applied versions. Builds before the first release used goose's default table, with
// other version numbers.
const (
	VersionTable           = "schema_version"
	unreleasedVersionTable = "goose_db_version"
)

// ErrUnreleased is the error for a database that was migrated by a build older than the first release.
var ErrUnreleased = errors.New("the database was made by an unreleased build of pleat and cannot be migrated; " +
	"save its jobs and files with that build (pleat jobs export, pleat jobs results), then start with a new database")

// Migrate brings the schema to the newest version and returns the versions before and after. Each version is applied in
// one transaction, and an error leaves those before it applied. Several nodes may call it at once: a lock, in
// PostgreSQL an advisory one, makes them take turns, and all but one find nothing to do. A schema that this program
// does not know is an error: see [RefuseNewer], and [ErrUnreleased].
func (s *DB) Migrate(ctx context.Context) (from, to int64, err error) {
	return s.migrate(ctx, s.known)
}

// migrate is Migrate for a program that knows other versions.
func (s *DB) migrate(ctx context.Context, known fs.FS) (from, to int64, err error) {
	if from, err = s.Version(ctx); err != nil {
		return 0, 0, err
	}
	newest := latest(known)
	if err := refuseNewer(from, newest); err != nil || from == newest {
		return from, from, err // without the lock for which nodes that start at once would wait in turn
	}
	if err := s.checkPlace(ctx, from); err != nil {
		return from, from, err
	}
	p, done, err := s.provider(ctx, known)
	if err != nil {
		return from, from, err
	}
	defer done()
	for to = from; ; {
		_, err = p.Up(ctx)
		at, readErr := p.GetDBVersion(ctx)
		switch {
		case readErr != nil:
			return from, to, errors.Join(err, readErr)
		case err == nil || at == newest:
			return from, at, nil
		case at == to:
			return from, to, fmt.Errorf("migrate: %w", err)
		}
		to = at // on SQLite another process may have been first with a version; the next one is still to be applied
	}
}

// checkPlace refuses a PostgreSQL database in which the first version of the schema cannot be made, or which would not
// keep texts as they are.
func (s *DB) checkPlace(ctx context.Context, from int64) error {
	if s.sqlite != nil || from > 0 {
		return nil
	}
	var schema, path, encoding string
	var mayCreate bool
	err := s.ReadRow(ctx, "SELECT COALESCE(current_schema(), ''), current_setting('search_path'), "+
		"current_setting('server_encoding'), COALESCE(has_schema_privilege(current_schema(), 'CREATE'), true)",
		nil, &schema, &path, &encoding, &mayCreate)
	switch {
	case err != nil:
		return fmt.Errorf("migrate: %w", err)
	case schema == "":
		return fmt.Errorf("the search_path of the database's role is %s, and there is no such schema: "+
			"create it, or change the search_path", path)
	case !mayCreate:
		return fmt.Errorf("the database's role may not create tables in the schema %s: "+
			"GRANT CREATE ON SCHEMA %[1]s TO it, or make it the owner of the database", schema)
	case encoding != "UTF8" && encoding != "SQL_ASCII": // the latter keeps every byte
		return fmt.Errorf("the encoding of the database is %s, which has not all letters: "+
			"create the database with ENCODING 'UTF8' TEMPLATE template0", encoding)
	}
	return nil
}

// RefuseNewer returns an error for a version of the schema that this program does not know: it would write rows that a
// newer program does not expect.
func RefuseNewer(version int64) error { return refuseNewer(version, Latest()) }

func refuseNewer(version, newest int64) error {
	if version > newest {
		const text = "the database is at schema %d and this pleat knows %d; run a newer pleat"
		return fmt.Errorf(text, version, newest)
	}
	return nil
}

// Version is the version of the schema; 0 before the first migration. It may be newer than [Latest], if a later program
// has migrated the database. It returns [ErrUnreleased] for a database of an unreleased build.
func (s *DB) Version(ctx context.Context) (int64, error) {
	there, err := s.HasTable(ctx, VersionTable)
	if there {
		s.seen.Store(true)
	}
	if err == nil && !there {
		if s.sqlite == nil && s.seen.Load() {
			s.dropSessions() // whose search_path may have led elsewhere when they were opened
		}
		if there, err = s.HasTable(ctx, unreleasedVersionTable); there {
			err = ErrUnreleased
		}
		return 0, err
	}
	var v int64
	if err == nil {
		err = s.ReadRow(ctx, "SELECT COALESCE(max(version_id), 0) FROM "+VersionTable, nil, &v)
	}
	return v, err
}

// HasTable reports whether the schema has a table.
func (s *DB) HasTable(ctx context.Context, name string) (bool, error) {
	tables := "SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = $1"
	if s.dialect == "sqlite" {
		tables = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = $1"
	}
	var n int64
	err := s.ReadRow(ctx, tables, []any{name}, &n)
	return n > 0, err
}

// Latest is the version of the schema that this program needs: the highest number of its migrations.
func Latest() int64 { return latest(migrations) }

// latest is the highest number of some migrations.
func latest(known fs.FS) (highest int64) {
	files, err := fs.Glob(known, "*.sql")
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		number, _, _ := strings.Cut(f, "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			panic(err)
		}
		highest = max(highest, n)
	}
	return highest
}

// provider returns what applies migrations, and a function that releases it.
func (s *DB) provider(ctx context.Context, known fs.FS) (*goose.Provider, func(), error) {
	table := goose.WithTableName(VersionTable)
	if s.dialect == "postgres" {
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, nil, err
		}
		db := stdlib.OpenDB(*s.notify.cfg) // the lock is one of a session, which a pooler does not keep
		p, err := goose.NewProvider(goose.DialectPostgres, db, known, table, goose.WithSessionLocker(locker))
		return p, func() { _ = db.Close() }, err
	}
	// goose wants a pool; the writer's connection is pinned, so it gets a handle of its own. SQLite's lock keeps two
	// apart.
	db, err := sql.Open("sqlite", s.sqlite.dsn)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	p, err := goose.NewProvider(goose.DialectSQLite3, db, known, table)
	return p, func() { _ = db.Close() }, err
}
