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

// The reasons for which a database takes no changes although it can be read.
const (
	faultReadOnly = "the database takes no changes now, as after a failover or by its settings"
	faultFull     = "the disk of the database is full, and its operator must free space"
	faultDisk     = "writes to the disk of the database fail, for example because a quota is used up"
)

// codeReadOnly is the SQLSTATE of a change in a session of PostgreSQL that may only read (read_only_sql_transaction).
const codeReadOnly = "25006"

// writeFault returns why the database takes no changes, if err says so; empty: it does not.
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

// TakesNoChanges reports whether an error says that the database takes no changes although it can be read, such as one
// whose disk is full. That may pass.
func TakesNoChanges(err error) bool { return writeFault(err) != "" }

// fault is what is known of a database that takes no changes. The zero value: it does.
type fault struct {
	mu     sync.Mutex
	why    string // empty: there is none
	logged clock.Stopwatch
	told   bool            // the log has its beginning
	tried  clock.Stopwatch // the last change that was made to learn whether it is over
	trying bool            // such a change is under way
}

const (
	// faultQuiet is how long the log says nothing of faults that come and go: a full disk may have room for small
	// changes.
	faultQuiet = time.Minute
	// faultTries is the time between two changes that are made to learn whether a fault is over.
	faultTries = time.Second
)

// noteFault remembers, and logs once, that a change has shown that the database takes none.
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

// reviewFault tries from time to time whether a fault that is known is over. That other changes succeed does not show
// it: SQLite needs no disk for those that change no row, or temporary ones.
func (s *DB) reviewFault(ctx context.Context) {
	f := &s.fault
	f.mu.Lock()
	try := f.why != "" && !f.trying && f.tried.Elapsed() >= faultTries
	if try {
		f.tried, f.trying = clock.Start(), true // the change commits, too
	}
	f.mu.Unlock()
	if !try {
		return
	}
	_ = s.TryChange(ctx) // it notes what it finds
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trying = false
}

// TryChange makes a change that changes nothing, so that a database that takes none says so.
func (s *DB) TryChange(ctx context.Context) error {
	q := "UPDATE " + VersionTable + " SET version_id = version_id WHERE id = 1"
	if s.sqlite != nil {
		q = "PRAGMA user_version = 0" // it writes a page, which an update to the same values does not
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

// WriteFault returns why the database takes no changes; empty: it does, as far as is known. The last change tells, and
// while it has failed, one is tried from time to time: a service may have nothing to change. On PostgreSQL a session is
// asked too.
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

// dropSessions closes the sessions of PostgreSQL that nobody uses: those that were opened while the database could only
// be read stay so after it can be changed again.
func (s *DB) dropSessions() {
	for _, pool := range []*sql.DB{s.db, s.asyncDB} {
		most := pool.Stats().MaxOpenConnections
		pool.SetMaxIdleConns(0)
		pool.SetMaxIdleConns(most)
	}
}
