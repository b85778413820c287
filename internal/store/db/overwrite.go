package db

import (
	"context"
	"errors"
)

// Overwriting runs fn while SQLite overwrites what is deleted with zeros (secure_delete). PostgreSQL has nothing like
// it, and runs fn alone. The connection has its setting back afterwards, also if fn fails.
func (t *Tx) Overwriting(fn func() error) (err error) {
	if t.pg != nil {
		return fn()
	}
	// SQLite applies the pragma while it parses it. Tx.Exec keeps statements, and would apply it once.
	var before int
	if err := t.conn.QueryRowContext(t.ctx, "PRAGMA secure_delete").Scan(&before); err != nil {
		return err
	}
	if _, err := t.conn.ExecContext(t.ctx, "PRAGMA secure_delete = ON"); err != nil {
		return err
	}
	defer func() {
		setting := [...]string{"OFF", "ON", "FAST"}[before]
		_, resetErr := t.conn.ExecContext(context.WithoutCancel(t.ctx), "PRAGMA secure_delete = "+setting)
		err = errors.Join(err, resetErr)
	}()
	return fn()
}

// TruncateLog copies SQLite's write-ahead log into the database and empties its file, which has old pages otherwise. It
// waits for those who read and write, and logs if one does not end: then the file has old pages until the last
// connection is closed. PostgreSQL has nothing to do.
func (s *DB) TruncateLog(ctx context.Context) error {
	if s.sqlite == nil {
		return nil
	}
	var busy, frames, copied int
	err := s.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &copied)
	if err == nil && busy != 0 {
		s.log.Warn("the write-ahead log is in use; it has old pages until the database is closed")
	}
	return Unavailable("empty the write-ahead log", err)
}
