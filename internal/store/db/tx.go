package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"pleat"
)

// Tx is one verb's transaction: on SQLite a savepoint inside a group, on PostgreSQL a transaction of its own. Exactly
// one of conn and pg is set. All rows that a verb writes get the same time, now, in microseconds since 1970 UTC.
//
// On PostgreSQL each call of [Tx.Exec], [Tx.Query] and [Tx.Row] is a round trip, and so is the commit. The statements
// of [Tx.Send] and [Tx.Ask] go with the next of them; a verb uses these two for all statements whose result does not
// decide what it does.
type Tx struct {
	ctx  context.Context //nolint:containedctx // a transaction ends with its verb
	s    *DB
	conn *sql.Conn            // SQLite's writer
	stmt map[string]*sql.Stmt // prepared on conn
	pg   *pipeline
	err  error // of a statement of Send or Ask on SQLite, which the next call returns
	Now  int64
	wake []string
	// values are what other packages keep for the time of a transaction, see TxValue.
	values map[any]any
	before []func() // run before the commit, in which they may send statements
	after  []func() // run after the commit, in this process
}

// Rows is the result of a query: *sql.Rows, or those of a batch of PostgreSQL.
type Rows interface {
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

// TxValue returns what a transaction keeps of a type. Begin makes it when the transaction first asks for it.
func TxValue[T any](t *Tx, begin func() *T) *T {
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

// BeforeCommit runs fn when the verb has done its work. On PostgreSQL fn may run several times, as the verb may.
func (t *Tx) BeforeCommit(fn func()) { t.before = append(t.before, fn) }

// AfterCommit runs fn in this process once the transaction has been committed.
func (t *Tx) AfterCommit(fn func()) { t.after = append(t.after, fn) }

// finish runs what BeforeCommit was given.
func (t *Tx) finish() {
	for _, fn := range t.before {
		fn()
	}
}

// Exec runs a statement and returns how many rows it changed. Parameters are $1, $2 … on both databases.
func (t *Tx) Exec(q string, args ...any) (int64, error) {
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

// Send runs a statement without waiting for its result on PostgreSQL. Its error is that of the next call that waits, or
// of the verb.
func (t *Tx) Send(q string, args ...any) {
	if t.pg != nil {
		t.pg.add(q, args, nil)
	} else if t.err == nil {
		_, t.err = t.Exec(q, args...)
	}
}

// SendLast is [Tx.Send] for a statement that PostgreSQL runs right before the COMMIT, since it locks rows that many
// transactions change.
func (t *Tx) SendLast(q string, args ...any) {
	if t.pg != nil {
		t.pg.last = append(t.pg.last, Statement{SQL: q, Args: args})
	} else {
		t.Send(q, args...)
	}
}

// Ask is [Tx.Send] for a statement that returns rows: it calls each for every one, which scans it, before the next call
// that waits returns, or the verb does. Each must not refuse anything by its error: the transaction may be committed
// then.
func (t *Tx) Ask(q string, args []any, each func(scan func(...any) error) error) {
	if t.pg != nil {
		t.pg.add(q, args, each)
	} else if t.err == nil {
		rows, err := t.Query(q, args...)
		t.err = ForEachRow(rows, err, each)
	}
}

// Wait waits until the statements of [Tx.Send] and [Tx.Ask] have run.
func (t *Tx) Wait() error {
	if t.pg != nil {
		_, err := t.pg.flush(t.ctx)
		return err
	}
	return t.err
}

// Query runs a statement that returns rows, for [ForEachRow] or scanOne, which close them.
func (t *Tx) Query(q string, args ...any) (Rows, error) {
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

// Row reads exactly one row into dst; sql.ErrNoRows where there is none.
func (t *Tx) Row(q string, args []any, dst ...any) error {
	rows, err := t.Query(q, args...)
	if err != nil {
		return err
	}
	return scanOne(rows, dst...)
}

// scanOne reads the first row into dst and closes the rows; sql.ErrNoRows where there is none.
func scanOne(rows Rows, dst ...any) error {
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

// ForEachRow calls fn for every row, which fn scans, until one call fails, and closes the rows. The error is that of
// the query, if it failed, so that a query can be passed on unchecked.
func ForEachRow(rows Rows, err error, fn func(scan func(...any) error) error) error {
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

// ListOf returns the rows of a query, each as read returns it. The list is empty, not nil, without rows.
func ListOf[T any](rows Rows, err error, read func(scan func(...any) error) (T, error)) ([]T, error) {
	out := []T{}
	err = ForEachRow(rows, err, func(scan func(...any) error) error {
		v, err := read(scan)
		out = append(out, v)
		return err
	})
	return out, err
}

// OneOf returns the row of a query that has one at most, as read returns it; sql.ErrNoRows where there is none.
func OneOf[T any](rows Rows, err error, read func(scan func(...any) error) (T, error)) (one T, _ error) {
	list, err := ListOf(rows, err, read)
	switch {
	case err != nil:
		return one, err
	case len(list) == 0:
		return one, sql.ErrNoRows
	}
	return list[0], nil
}

// MapOf returns the rows of a query that has two columns: the second one by the first.
func MapOf[K comparable, V any](rows Rows, err error) (map[K]V, error) {
	out := map[K]V{}
	err = ForEachRow(rows, err, func(scan func(...any) error) error {
		var key K
		var value V
		err := scan(&key, &value)
		out[key] = value
		return err
	})
	return out, err
}

// IDsOf returns the ids that a query selects, as parameters of a further one.
func IDsOf(rows Rows, err error) ([]any, error) {
	ids, err := ColumnOf[string](rows, err)
	return Args(ids), err
}

// ColumnOf returns the rows of a query that has one column.
func ColumnOf[T any](rows Rows, err error) ([]T, error) {
	return ListOf(rows, err, func(scan func(...any) error) (v T, err error) {
		err = scan(&v)
		return v, err
	})
}

// prepare returns SQLite's statement for a query. The writer keeps each one until the store closes: the queries of the
// store are few, and the lengths of their lists are powers of two.
func (t *Tx) prepare(q string) (*sql.Stmt, error) {
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

// Postgres reports whether the transaction is one of PostgreSQL.
func (t *Tx) Postgres() bool { return t.pg != nil }

// Notify wakes a topic once the transaction has been committed. A transaction that is rolled back wakes none.
func (t *Tx) Notify(topics ...string) {
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

// Write runs fn in a durable transaction: when it returns nil, what fn did survives a crash of the machine. The verb
// names the transaction in errors. On PostgreSQL fn may run several times, so it must set all that it returns anew, and
// it must not have other effects than on the database.
func (s *DB) Write(ctx context.Context, verb string, fn func(t *Tx) error) error {
	return s.commit(ctx, verb, durable, fn)
}

// WriteAsync is [DB.Write] for what need not survive a crash of the machine, since the work would only be done again:
// claims and progress. It survives a crash of the process, and any durable transaction that commits later makes it
// durable too.
func (s *DB) WriteAsync(ctx context.Context, verb string, fn func(t *Tx) error) error {
	return s.commit(ctx, verb, async, fn)
}

// commit runs fn in a transaction of the dialect and publishes the topics that fn notified, in this process at once, in
// others by NOTIFY.
func (s *DB) commit(ctx context.Context, verb string, d durability, fn func(t *Tx) error) error {
	var done written
	var err error
	s.transactions.Add(1)
	if s.sqlite != nil {
		done, err = s.sqlite.submit(ctx, d, fn)
	} else {
		done, err = s.pgCommit(ctx, d, fn)
	}
	if err != nil {
		s.noteFault(err)
		return Unavailable(verb, err)
	}
	for _, fn := range done.after {
		fn()
	}
	s.hub.publish(done.wake...)
	if s.notify != nil && len(done.wake) > 0 {
		s.notify.send(done.wake)
	}
	s.reviewFault(ctx)
	return nil
}

// Read runs a query outside any transaction, on SQLite by a statement that is kept.
func (s *DB) Read(ctx context.Context, q string, args ...any) (Rows, error) {
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

// Snapshot is a transaction for reading. It holds a connection and must never wait for a second one: if all
// connections were held so, none would come free. A statement that is not kept yet is therefore parsed for this
// transaction alone, and kept when it has ended.
type Snapshot struct {
	s       *DB
	tx      *sql.Tx
	missing []string // portable texts of the statements that were not kept
}

// BeginRead starts a snapshot, which the caller must end.
func (s *DB) BeginRead(ctx context.Context) (*Snapshot, error) {
	s.transactions.Add(1)
	isolation := sql.LevelDefault // a transaction of SQLite always sees one moment
	if s.sqlite == nil {
		isolation = sql.LevelRepeatableRead
	}
	rtx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: isolation, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	return &Snapshot{s: s, tx: rtx}, nil
}

// Query runs a query in the snapshot.
func (r *Snapshot) Query(ctx context.Context, q string, args ...any) (Rows, error) {
	st, wanted := r.s.keptReader(q)
	if st != nil {
		return r.tx.StmtContext(ctx, st).QueryContext(ctx, args...)
	}
	if wanted {
		r.missing = append(r.missing, q)
	}
	return r.tx.QueryContext(ctx, r.s.translate(q), args...)
}

// End frees the connection and then keeps the statements that were missing. Failing to keep one costs time only.
func (r *Snapshot) End(ctx context.Context) {
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
func (s *DB) keptReader(q string) (st *sql.Stmt, wanted bool) {
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
func (s *DB) reader(ctx context.Context, q string) (*sql.Stmt, error) {
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

// WithoutCancel returns a context for reading a few rows by their keys. On SQLite nothing watches for its end, since
// that costs two goroutines a query, more than the rows cost.
func (s *DB) WithoutCancel(ctx context.Context) (context.Context, error) {
	if s.sqlite == nil {
		return ctx, nil
	}
	return context.WithoutCancel(ctx), ctx.Err()
}

// ReadRow reads exactly one row into dst; sql.ErrNoRows where there is none.
func (s *DB) ReadRow(ctx context.Context, q string, args []any, dst ...any) error {
	ctx, err := s.WithoutCancel(ctx)
	if err != nil {
		return err
	}
	rows, err := s.Read(ctx, q, args...)
	if err != nil {
		return err
	}
	return scanOne(rows, dst...)
}

// MapNoRows turns sql.ErrNoRows into a refusal, or into nil if refusal is nil.
func MapNoRows(err error, refusal *pleat.Error) error {
	if errors.Is(err, sql.ErrNoRows) {
		if refusal == nil {
			return nil
		}
		return refusal
	}
	return err
}

// EncodeJSON returns v as JSON text; a nil pointer is the empty text.
func EncodeJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("store: encode: " + err.Error()) // our own types: cannot fail but by a bug
	}
	if string(b) == "null" {
		return ""
	}
	return string(b)
}

// DecodeJSON reads JSON text into v; the empty text leaves v as it is.
func DecodeJSON(text string, v any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return fmt.Errorf("decode a stored column: %w", err)
	}
	return nil
}

// BoolToInt is the form of a bool in a column: 0 or 1, since SQLite has no type for it.
func BoolToInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
