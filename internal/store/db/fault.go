package db

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// The reasons for which a database takes no changes although it can be read.
const (
	faultReadOnly = "the database takes no changes now, as after a failover or by its settings"
	faultFull     = "the disk of the database is full, and its operator must free space"
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
	case errors.As(err, &se) && se.Code()&0xff == lib.SQLITE_READONLY:
		return faultReadOnly
	}
	return ""
}

// noteWrite remembers whether the last change has shown that the database takes none.
func (s *DB) noteWrite(err error) {
	if err == nil {
		s.fault.Store(nil)
	} else if why := writeFault(err); why != "" {
		s.fault.Store(&why)
	}
}

// WriteFault returns why the database takes no changes; empty: it does, as far as is known. The last change tells, and
// on PostgreSQL a session is asked, since a service may have nothing to change.
func (s *DB) WriteFault(ctx context.Context) (string, error) {
	if s.sqlite == nil {
		var readOnly bool
		err := s.ReadRow(ctx, "SELECT current_setting('transaction_read_only') = 'on'", nil, &readOnly)
		if err != nil || readOnly {
			return faultReadOnly, Unavailable("ask whether it takes changes", err)
		}
	}
	if why := s.fault.Load(); why != nil {
		return *why, nil
	}
	return "", nil
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
