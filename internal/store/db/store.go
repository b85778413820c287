// Package db is the kernel of the store: the two databases, transactions, statements that are sent together, migrations
// and wake-ups between processes. Begin with [Open], and give the [DB] to the packages whose verbs it serves.
//
// A verb of those packages is one call of [DB.Write]. Package db knows no table but that of the migrations. It must not
// decide what a row means, and nothing outside internal/store may write through it.
package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pleat"
	"pleat/internal/clock"
)

// Options tune a [DB]. The zero value serves.
type Options struct {
	Clock func() time.Time // nil: the machine's
	Log   *slog.Logger     // nil: discards
	// Connections bounds the connections to the database, at least MinConnections; 0: chosen by the machine.
	Connections int
	// Direct is the address of the same PostgreSQL database without a pooler between, if the address to open is that of
	// one that pools transactions, such as PgBouncer. Wake-ups and migrations need it.
	Direct string
	// CommitGroup is how many SQLite transactions that wait share one commit at most; 0: 512.
	CommitGroup int
	// ClockInterval is the time between two measurements of how far this machine's clock is from PostgreSQL's; 0: 30 s.
	ClockInterval time.Duration
	// Migrations are the files of those that Migrate applies; nil: those of this program. Tests add later ones.
	Migrations fs.FS
}

// MinConnections are needed to work: PostgreSQL's connections for claims, the one that listens, and one more.
const MinConnections = asyncConns + 2

// readers returns how many connections are for everything but claims and listening, where n are by default.
func (o *Options) readers(n int) int {
	if o.Connections > 0 {
		n = max(1, o.Connections-MinConnections+1)
	}
	return n
}

// DB is a database. It is safe for use by many goroutines. Make one with [Open] and end it with [DB.Close].
//
// A verb that changes something is one transaction: on SQLite a savepoint of the one writer, which commits several
// verbs together; on PostgreSQL a transaction of its own, in the isolation READ COMMITTED, repeated up to three times
// after a deadlock or a serialization failure. A verb that returns an error has changed nothing, with one exception: if
// the connection to PostgreSQL breaks during the commit, the change may have been made.
//
// Errors are [*pleat.Error] where the caller is to be refused. A database that does not answer, or not in time, gives
// CodeUnavailable, and a cancelled context gives context.Canceled.
type DB struct {
	dialect    string
	db         *sql.DB // reads on SQLite, everything on PostgreSQL
	clock      func() time.Time
	offset     atomic.Int64 // what to add to the clock so that all nodes agree, in microseconds
	log        *slog.Logger
	hub        hub
	known      fs.FS    // migrations
	translated sync.Map // SQL by its portable text

	readersMu sync.RWMutex
	readers   map[string]*sql.Stmt // SQLite's statements for reading, by their portable text

	transactions atomic.Int64
	roundTrips   atomic.Int64
	fault        fault // that keeps the database from taking changes

	sqlite  *writer     // SQLite's one writer
	notify  *notifier   // PostgreSQL's bridge between processes
	asyncDB *sql.DB     // PostgreSQL's connections whose commits do not wait for the disk
	seen    atomic.Bool // the schema was there
	pooled  bool        // a pooler lends PostgreSQL's connections for one transaction each
}

// Open opens the database at url, «sqlite:PATH» or «postgres://…». It creates the folder and the file of a new SQLite
// database, but no schema: call [DB.Migrate]. With PostgreSQL it also starts the goroutines that carry wake-ups between
// processes and keep the clock in step with the database's; ctx bounds the opening, not their life. Close the store.
func Open(ctx context.Context, url string, opt Options) (*DB, error) {
	s := &DB{
		clock:   clock.Or(opt.Clock),
		known:   opt.Migrations,
		log:     opt.Log,
		readers: map[string]*sql.Stmt{},
	}
	if s.known == nil {
		s.known = migrations
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.hub.topics = map[string]map[chan struct{}]bool{}
	var err error
	switch {
	case strings.HasPrefix(url, "sqlite:"):
		err = s.openSQLite(ctx, strings.TrimPrefix(url, "sqlite:"), opt)
	case IsPostgres(url):
		err = s.openPostgres(ctx, url, opt)
	default:
		err = errors.New("a database is sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME")
	}
	if why := writeFault(err); why != "" {
		return nil, fmt.Errorf("open database: %s: %w", why, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return s, nil
}

// IsPostgres reports whether the address of a database is one of PostgreSQL.
func IsPostgres(url string) bool {
	return strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
}

// Postgres reports whether the database is one of PostgreSQL.
func (s *DB) Postgres() bool { return s.sqlite == nil }

// Logger is the log of the store.
func (s *DB) Logger() *slog.Logger { return s.log }

// Publish wakes those of this process who wait for news on the topics.
func (s *DB) Publish(topics ...string) { s.hub.publish(topics...) }

// Dialect is "sqlite" or "postgres".
func (s *DB) Dialect() string { return s.dialect }

// Close waits for the verbs that are being written, ends the store's goroutines and closes the database. Verbs that
// still wait for the writer return an error. Call it once, after the last user of the store has ended.
func (s *DB) Close() error {
	if s.notify != nil {
		s.notify.close()
	}
	if s.sqlite != nil {
		s.sqlite.close()
	}
	if s.asyncDB != nil {
		_ = s.asyncDB.Close()
	}
	return s.db.Close()
}

// Ping reports whether the database answers: nil, or an error with CodeUnavailable. It reads the schema's version.
func (s *DB) Ping(ctx context.Context) error {
	if _, err := s.Version(ctx); err != nil {
		return Unavailable("ping", err)
	}
	return nil
}

// Micros is the time that all nodes agree on, in microseconds since 1970 UTC: this machine's clock plus the offset that
// was last measured.
func (s *DB) Micros() int64 { return s.clock().UnixMicro() + s.offset.Load() }

// Now is the store's time in UTC. All nodes on one PostgreSQL database agree on it to within the time that a query
// takes, since leases and delays are compared with it. On SQLite it is the machine's clock.
func (s *DB) Now() time.Time { return FromMicros(s.Micros()) }

// Unavailable turns an error of the database into CodeUnavailable, so that the client gets 503 and not 500. It returns
// refusals and cancellations unchanged.
func Unavailable(verb string, err error) error {
	var refusal *pleat.Error
	if err == nil || errors.As(err, &refusal) || errors.Is(err, context.Canceled) {
		return err
	}
	return &pleat.Error{
		Code:    pleat.CodeUnavailable,
		Message: cmp.Or(writeFault(err), reasonOf(err), "the database cannot serve this now") + "; try again",
		Err:     fmt.Errorf("%s: %w", verb, err),
	}
}

// lockingClauses removes the locking clauses of a statement.
var lockingClauses = strings.NewReplacer("FOR UPDATE SKIP LOCKED", "", "FOR UPDATE OF s", "", "FOR UPDATE", "",
	"FOR SHARE OF j", "", "FOR NO KEY UPDATE OF k", "", "FOR NO KEY UPDATE", "")

// translate adapts portable SQL, whose parameters are $1, $2 …, to the dialect. SQLite's drivers number «$n» by first
// appearance, so it gets «?n». SQLite has one writer and no row locks, so locking clauses go.
func (s *DB) translate(q string) string {
	if s.dialect != "sqlite" {
		return q
	}
	if t, ok := s.translated.Load(q); ok {
		return t.(string)
	}
	b := []byte(q)
	for i := 0; i+1 < len(b); i++ {
		if b[i] == '$' && b[i+1] >= '1' && b[i+1] <= '9' {
			b[i] = '?'
		}
	}
	t := lockingClauses.Replace(string(b))
	s.translated.Store(q, t)
	return t
}
