package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"pleat"
)

// tx is one verb's transaction: on SQLite a savepoint inside a group, on PostgreSQL a transaction of its own. Exactly
// one of conn and pg is set. All rows that a verb writes get the same time, now, in microseconds since 1970 UTC.
//
// On PostgreSQL each call of exec, query and row is a round trip, and so is the commit. What send and ask were given
// goes with the next of them; a verb uses these two for all statements whose result does not decide what it does.
type tx struct {
	ctx  context.Context
	s    *Store
	conn *sql.Conn            // SQLite's writer
	stmt map[string]*sql.Stmt // prepared on conn
	pg   *pipeline
	err  error // of a statement of send or ask on SQLite, which the next call returns
	now  int64
	wake []string
	// values are what other files keep for the time of a transaction, see txValue.
	values map[any]any
	before []func() // run before the commit, in which they may send statements
	after  []func() // run after the commit, in this process
}

// rows is the result of a query: *sql.Rows, or those of a batch of PostgreSQL.
type rows interface {
	Next() bool
	Scan(dst ...any) error
	Err() error
	Close() error
}

// written is what a committed transaction leaves to do in this process.
type written struct {
	wake  []string // topics to publish
	after []func()
}

// txKey is the key of a value of a type in the values of a transaction.
type txKey[T any] struct{}

// txValue returns what a transaction keeps of a type. Begin makes it when the transaction first asks for it.
func txValue[T any](t *tx, begin func() *T) *T {
	if v, ok := t.values[txKey[T]{}]; ok {
		return v.(*T)
	}
	if t.values == nil {
		t.values = map[any]any{}
	}
	v := begin()
	t.values[txKey[T]{}] = v
	return v
}

// beforeCommit runs fn when the verb has done its work. On PostgreSQL fn may run several times, as the verb may.
func (t *tx) beforeCommit(fn func()) { t.before = append(t.before, fn) }

// afterCommit runs fn in this process once the transaction has been committed.
func (t *tx) afterCommit(fn func()) { t.after = append(t.after, fn) }

// finish runs what beforeCommit was given.
func (t *tx) finish() {
	for _, fn := range t.before {
		fn()
	}
}

// exec runs a statement and returns how many rows it changed. Parameters are $1, $2 … on both databases.
func (t *tx) exec(q string, args ...any) (int64, error) {
	if t.pg != nil {
		t.pg.add(q, args, nil)
		tag, err := t.pg.flush(t.ctx)
		return tag.RowsAffected(), err
	}
	if t.err != nil {
		return 0, t.err
	}
	st, err := t.prepare(q)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// send runs a statement without waiting for its result on PostgreSQL. Its error is that of the next call that waits, or
// of the verb.
func (t *tx) send(q string, args ...any) {
	if t.pg != nil {
		t.pg.add(q, args, nil)
	} else if t.err == nil {
		_, t.err = t.exec(q, args...)
	}
}

// sendLast is send for a statement that PostgreSQL runs right before the COMMIT, since it locks rows that many
// transactions change.
func (t *tx) sendLast(q string, args ...any) {
	if t.pg != nil {
		t.pg.last = append(t.pg.last, statement{sql: q, args: args})
	} else {
		t.send(q, args...)
	}
}

// ask is send for a statement that returns rows: it calls each for every one, which scans it, before the next call that
// waits returns, or the verb does. Each must not refuse anything by its error: the transaction may be committed then.
func (t *tx) ask(q string, args []any, each func(scan func(...any) error) error) {
	if t.pg != nil {
		t.pg.add(q, args, each)
	} else if t.err == nil {
		rows, err := t.query(q, args...)
		t.err = forEachRow(rows, err, each)
	}
}

// wait waits until the statements of send and ask have run.
func (t *tx) wait() error {
	if t.pg != nil {
		_, err := t.pg.flush(t.ctx)
		return err
	}
	return t.err
}

// query runs a statement that returns rows, for forEachRow or scanOne, which close them.
func (t *tx) query(q string, args ...any) (rows, error) {
	if t.pg != nil {
		return t.pg.query(t.ctx, q, args)
	}
	if t.err != nil {
		return nil, t.err
	}
	st, err := t.prepare(q)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(t.ctx, args...)
}

// row reads exactly one row into dst; sql.ErrNoRows where there is none.
func (t *tx) row(q string, args []any, dst ...any) error {
	rows, err := t.query(q, args...)
	if err != nil {
		return err
	}
	return scanOne(rows, dst...)
}

// scanOne reads the first row into dst and closes the rows; sql.ErrNoRows where there is none.
func scanOne(rows rows, dst ...any) error {
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := rows.Scan(dst...); err != nil {
		return err
	}
	return rows.Close()
}

// forEachRow calls fn for every row, which fn scans, until one call fails, and closes the rows. The error is that of
// the query, if it failed, so that a query can be passed on unchecked.
func forEachRow(rows rows, err error, fn func(scan func(...any) error) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// columnOf returns the rows of a query that has one column.
func columnOf[T any](rows rows, err error) (out []T, _ error) {
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var v T
		err := scan(&v)
		out = append(out, v)
		return err
	})
	return out, err
}

// prepare returns SQLite's statement for a query. The writer keeps each one until the store closes: the queries of this
// package are few, and the lengths of their lists are powers of two.
func (t *tx) prepare(q string) (*sql.Stmt, error) {
	if st, ok := t.stmt[q]; ok {
		return st, nil
	}
	// The statement outlives this verb, so the verb's deadline must not be the statement's.
	st, err := t.conn.PrepareContext(context.WithoutCancel(t.ctx), t.s.translate(q))
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", q, err)
	}
	t.stmt[q] = st
	return st, nil
}

// postgres reports whether the transaction is one of PostgreSQL.
func (t *tx) postgres() bool { return t.pg != nil }

// notify wakes a topic once the transaction has been committed. A transaction that is rolled back wakes none.
func (t *tx) notify(topics ...string) {
	for _, topic := range topics {
		if !slices.Contains(t.wake, topic) {
			t.wake = append(t.wake, topic)
		}
	}
}

// durability is what a committed transaction survives.
type durability int

// The durabilities, in an order in which the smaller one is the stricter.
const (
	durable durability = iota // a crash of the machine: the commit waits for the disk
	async                     // a crash of the process only: the commit does not wait
)

// write runs fn in a durable transaction: when it returns nil, what fn did survives a crash of the machine. The verb
// names the transaction in errors. On PostgreSQL fn may run several times, so it must set all that it returns anew, and
// it must not have other effects than on the database.
func (s *Store) write(ctx context.Context, verb string, fn func(t *tx) error) error {
	return s.commit(ctx, verb, durable, fn)
}

// writeAsync is write for what need not survive a crash of the machine, since the work would only be done again: claims
// and progress. It survives a crash of the process, and any durable transaction that commits later makes it durable
// too.
func (s *Store) writeAsync(ctx context.Context, verb string, fn func(t *tx) error) error {
	return s.commit(ctx, verb, async, fn)
}

// commit runs fn in a transaction of the dialect and publishes the topics that fn notified, in this process at once, in
// others by NOTIFY.
func (s *Store) commit(ctx context.Context, verb string, d durability, fn func(t *tx) error) error {
	var done written
	var err error
	s.transactions.Add(1)
	if s.sqlite != nil {
		done, err = s.sqlite.submit(ctx, d, fn)
	} else {
		done, err = s.pgCommit(ctx, d, fn)
	}
	if err != nil {
		return unavailable(verb, err)
	}
	for _, fn := range done.after {
		fn()
	}
	s.hub.publish(done.wake...)
	if s.notify != nil && len(done.wake) > 0 {
		s.notify.send(done.wake)
	}
	return nil
}

// read runs a query outside any transaction, on SQLite by a statement that is kept.
func (s *Store) read(ctx context.Context, q string, args ...any) (rows, error) {
	s.transactions.Add(1)
	s.roundTrips.Add(1)
	st, err := s.reader(ctx, q)
	if err != nil {
		return nil, err
	}
	if st == nil {
		return s.db.QueryContext(ctx, s.translate(q), args...)
	}
	return st.QueryContext(ctx, args...)
}

// snapshotRead is a transaction for reading. It holds a connection and must never wait for a second one: if all
// connections were held so, none would come free. A statement that is not kept yet is therefore parsed for this
// transaction alone, and kept when it has ended.
type snapshotRead struct {
	s       *Store
	tx      *sql.Tx
	missing []string // portable texts of the statements that were not kept
}

// beginRead starts a snapshot, which the caller must end.
func (s *Store) beginRead(ctx context.Context) (*snapshotRead, error) {
	s.transactions.Add(1)
	isolation := sql.LevelDefault // a transaction of SQLite always sees one moment
	if s.sqlite == nil {
		isolation = sql.LevelRepeatableRead
	}
	rtx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: isolation, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	return &snapshotRead{s: s, tx: rtx}, nil
}

// query runs a query in the snapshot.
func (r *snapshotRead) query(ctx context.Context, q string, args ...any) (rows, error) {
	st, wanted := r.s.keptReader(q)
	if st != nil {
		return r.tx.StmtContext(ctx, st).QueryContext(ctx, args...)
	}
	if wanted {
		r.missing = append(r.missing, q)
	}
	return r.tx.QueryContext(ctx, r.s.translate(q), args...)
}

// end frees the connection and then keeps the statements that were missing. Failing to keep one costs time only.
func (r *snapshotRead) end(ctx context.Context) {
	_ = r.tx.Rollback()
	for _, q := range r.missing {
		_, _ = r.s.reader(ctx, q)
	}
}

// maxReaders bounds the statements that are kept, since the text of some holds a limit that the caller chose. Queries
// beyond it are parsed each time.
const maxReaders = 256

// keptReader returns the kept statement of a query; nil where there is none. Wanted reports whether it should be kept:
// on SQLite parsing costs more than most queries do, while PostgreSQL's driver keeps its own.
func (s *Store) keptReader(q string) (st *sql.Stmt, wanted bool) {
	if s.sqlite == nil {
		return nil, false
	}
	s.readersMu.RLock()
	defer s.readersMu.RUnlock()
	st = s.readers[q]
	return st, st == nil && len(s.readers) < maxReaders
}

// reader returns the kept statement of a query, which it prepares on first use; nil where none is kept. It may wait
// for a connection, so the caller must not hold one.
func (s *Store) reader(ctx context.Context, q string) (*sql.Stmt, error) {
	st, wanted := s.keptReader(q)
	if !wanted {
		return st, nil
	}
	st, err := s.db.PrepareContext(context.WithoutCancel(ctx), s.translate(q))
	if err != nil {
		return nil, err
	}
	s.readersMu.Lock()
	defer s.readersMu.Unlock()
	if other := s.readers[q]; other != nil {
		_ = st.Close() // it was never used
		return other, nil
	}
	s.readers[q] = st
	return st, nil
}

// withoutCancel returns a context for reading a few rows by their keys. On SQLite nothing watches for its end, since
// that costs two goroutines a query, more than the rows cost.
func (s *Store) withoutCancel(ctx context.Context) (context.Context, error) {
	if s.sqlite == nil {
		return ctx, nil
	}
	return context.WithoutCancel(ctx), ctx.Err()
}

// readRow reads exactly one row into dst; sql.ErrNoRows where there is none.
func (s *Store) readRow(ctx context.Context, q string, args []any, dst ...any) error {
	ctx, err := s.withoutCancel(ctx)
	if err != nil {
		return err
	}
	rows, err := s.read(ctx, q, args...)
	if err != nil {
		return err
	}
	return scanOne(rows, dst...)
}

// mapNoRows turns sql.ErrNoRows into a refusal, or into nil if refusal is nil.
func mapNoRows(err error, refusal *pleat.Error) error {
	if errors.Is(err, sql.ErrNoRows) {
		if refusal == nil {
			return nil
		}
		return refusal
	}
	return err
}

// encodeJSON returns v as JSON text; a nil pointer is the empty text.
func encodeJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("store: encode: " + err.Error()) // our own types: cannot fail but by a bug
	}
	if string(b) == "null" {
		return ""
	}
	return string(b)
}

// decodeJSON reads JSON text into v; the empty text leaves v as it is.
func decodeJSON(text string, v any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return fmt.Errorf("decode a stored column: %w", err)
	}
	return nil
}

// boolToInt is the form of a bool in a column: 0 or 1, since SQLite has no type for it.
func boolToInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
