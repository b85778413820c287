package db

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"pleat/internal/clock"
)

// The reasons why a database that can be read accepts no writes.
const (
	faultReadOnly = "the database takes no changes now, as after a failover or by its settings"
	faultFull     = "the disk of the database is full, and its operator must free space"
	faultDisk     = "writes to the disk of the database fail, for example because a quota is used up"
)

// SQLSTATEs of a session whose settings are no longer those that the database gives to new ones: it may only read, or
// its search_path leads elsewhere.
const (
	codeReadOnly = "25006"
	codeNoTable  = "42P01"
	codeNoSchema = "3F000"
)

// isStale reports whether an error of PostgreSQL says that its session has outdated settings. Before the schema was
// seen once, a table that is not there is none yet.
func (s *DB) isStale(err *pgconn.PgError) bool {
	switch err.Code {
	case codeReadOnly, codeNoSchema:
		return true
	case codeNoTable:
		return s.seen.Load()
	}
	return false
}

// refusals are the reasons of PostgreSQL, by SQLSTATE, that only its operator can change.
var refusals = map[string]string{
	codeNoTable:  "the database shows none of the service's tables, as after a change of its search_path",
	codeNoSchema: "the database shows no schema, as after a change of its search_path",
	"57014":      "the database cancelled a statement, as its statement_timeout says",
	"55P03":      "the database gave up waiting for a lock, as its lock_timeout says",
	"53300":      "the database has too many connections",
	"42501":      "the role of the service may not do this in the database",
}

// reasonOf returns why PostgreSQL does not do what it was asked; empty: it does not say, or its operator cannot help.
func reasonOf(err error) string {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return ""
	}
	return refusals[pe.Code]
}

// writeFault returns the reason if err says that the database accepts no writes, and "" otherwise.
func writeFault(err error) string {
	var pe *pgconn.PgError
	var se *sqlite.Error
	switch {
	case errors.As(err, &pe) && pe.Code == codeReadOnly:
		return faultReadOnly
	case errors.As(err, &pe) && pe.Code == "53100": // disk_full
		return faultFull
	case errors.As(err, &se) && se.Code()&0xff == lib.SQLITE_FULL:
		return faultFull
	case errors.As(err, &se) && (se.Code() == lib.SQLITE_IOERR_WRITE || se.Code() == lib.SQLITE_IOERR_SHMSIZE):
		return faultDisk
	case errors.As(err, &se) && se.Code()&0xff == lib.SQLITE_READONLY:
		return faultReadOnly
	}
	return ""
}

// TakesNoChanges reports whether an error says that the database accepts no writes although it can be read, for example
// because its disk is full. The fault may be temporary.
func TakesNoChanges(err error) bool { return writeFault(err) != "" }

// fault is a known write fault of the database. The zero value means that the database accepts writes.
type fault struct {
	mu     sync.Mutex
	why    string          // the reason; empty: no fault is known
	logged clock.Stopwatch // started when the log last got the beginning of a fault
	told   bool            // the log has the beginning of this fault
	tried  clock.Stopwatch // started with the last probe, see reviewFault
	trying bool            // a probe is running
}

const (
	// faultQuiet is the shortest time between two log lines about a fault that begins. Faults come and go: a full disk
	// may have space for small writes.
	faultQuiet = time.Minute
	// faultTries is the shortest time between two probes.
	faultTries = time.Second
)

// noteFault records the fault if err says that the database accepts no writes, and logs its beginning once.
func (s *DB) noteFault(err error) {
	why, f := writeFault(err), &s.fault
	if why == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.why == "" && f.logged.Elapsed() >= faultQuiet {
		f.logged, f.told = clock.Start(), true
		s.log.Error("the database takes no changes; what it has is served", "reason", why, "error", err)
	}
	f.why = why
}

// reviewFault probes from time to time whether a known fault is over. The success of another write does not prove it:
// SQLite needs no disk space for a write that changes no row, or that changes temporary tables only.
func (s *DB) reviewFault(ctx context.Context) {
	f := &s.fault
	f.mu.Lock()
	try := f.why != "" && !f.trying && f.tried.Elapsed() >= faultTries
	if try {
		f.tried, f.trying = clock.Start(), true // the commit of the probe calls reviewFault, too
	}
	f.mu.Unlock()
	if !try {
		return
	}
	_ = s.TryChange(ctx) // it records the result
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trying = false
}

// TryChange probes the database with a write that has no effect. If the write succeeds, the fault is over.
func (s *DB) TryChange(ctx context.Context) error {
	q := "UPDATE " + VersionTable + " SET version_id = version_id WHERE id = 1"
	if s.sqlite != nil {
		q = "PRAGMA user_version = 0" // it writes a page; an UPDATE to the same values writes none
	}
	err := s.Write(ctx, "try a change", func(t *Tx) error {
		_, err := t.Exec(q)
		return err
	})
	if err != nil {
		return err
	}
	f := &s.fault
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.told {
		s.log.Info("the database takes changes again", "duration_ms", f.logged.Elapsed())
	}
	f.why, f.told = "", false
	return nil
}

// WriteFault returns why the database accepts no writes; empty: no fault is known. Failed writes tell it. After one, it
// probes from time to time, since the service may have nothing to write. On PostgreSQL it also asks whether the session
// is read-only.
func (s *DB) WriteFault(ctx context.Context) (string, error) {
	if s.sqlite == nil {
		var readOnly bool
		err := s.ReadRow(ctx, "SELECT current_setting('transaction_read_only') = 'on'", nil, &readOnly)
		if err != nil || readOnly {
			return faultReadOnly, Unavailable("ask whether it takes changes", err)
		}
	}
	s.reviewFault(ctx)
	f := &s.fault
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.why, nil
}

// dropSessions closes the idle sessions of PostgreSQL. A session keeps the settings of the time when it was opened: it
// stays read-only after the database accepts writes again.
func (s *DB) dropSessions() {
	for _, pool := range []*sql.DB{s.db, s.asyncDB} {
		most := pool.Stats().MaxOpenConnections
		pool.SetMaxIdleConns(0)
		pool.SetMaxIdleConns(most)
	}
}
