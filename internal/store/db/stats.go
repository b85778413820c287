package db

import (
	"context"
	"database/sql"
	"time"
)

// Transactions is how many transactions this process has begun since it opened the store. A read outside a transaction
// counts as one.
func (s *DB) Transactions() int64 { return s.transactions.Load() }

// RoundTrips is how often this process has waited for the database since it opened the store: once for each query, and
// for each batch of statements that were sent together. The driver's own round trips, such as to prepare a statement
// that a connection has not seen, do not count, nor does NOTIFY. On SQLite only reads count.
func (s *DB) RoundTrips() int64 { return s.roundTrips.Load() }

// ClockAhead is how far this machine's clock was ahead of the database's when that was last measured: at the start and
// every 30 s. It is 0 on SQLite, which has no clock of its own.
func (s *DB) ClockAhead() time.Duration { return -time.Duration(s.offset.Load()) * time.Microsecond }

// Pools are the states of the pools of connections, by name: «main», and on PostgreSQL «nowait» for transactions that
// do not wait for the disk.
func (s *DB) Pools() map[string]sql.DBStats {
	out := map[string]sql.DBStats{"main": s.db.Stats()}
	if s.asyncDB != nil {
		out["nowait"] = s.asyncDB.Stats()
	}
	return out
}

// ServerVersion returns the version of the database program, such as «16.4» of PostgreSQL.
func (s *DB) ServerVersion(ctx context.Context) (string, error) {
	q := "SELECT sqlite_version()"
	if s.dialect == "postgres" {
		q = "SELECT current_setting('server_version')"
	}
	var out string
	err := s.ReadRow(ctx, q, nil, &out)
	return out, Unavailable("read the version", err)
}

// OldestSnapshot returns how long the oldest snapshot of the database has been held; 0 where none is, and on SQLite.
// While a session of PostgreSQL holds one, such as a dump or a report, no dead row can be removed, and every claim
// reads past those of its queue. Sessions of other users are seen only by a role with pg_read_all_stats.
func (s *DB) OldestSnapshot(ctx context.Context) (time.Duration, error) {
	if s.dialect != "postgres" {
		return 0, nil
	}
	var micros int64
	err := s.ReadRow(ctx, `
		SELECT COALESCE(CAST(extract(epoch FROM max(clock_timestamp() - xact_start)) * 1000000 AS bigint), 0)
		FROM pg_stat_activity
		WHERE backend_xmin IS NOT NULL AND datname = current_database() AND pid <> pg_backend_pid()`,
		nil, &micros)
	return time.Duration(max(0, micros)) * time.Microsecond, Unavailable("read snapshots", err)
}

// Notified reports whether wake-ups of other processes arrive at the moment: on PostgreSQL, while the connection that
// listens is open.
func (s *DB) Notified() bool { return s.notify != nil && s.notify.listening.Load() }
