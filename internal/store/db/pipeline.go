package db

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// pipeline is a transaction of PostgreSQL whose statements are sent together: those that were queued go with the next
// one whose result the verb waits for, the last ones with the COMMIT, and the BEGIN with the first ones. So a verb
// makes as many round trips as it has steps that depend on one another.
type pipeline struct {
	s      *DB
	conn   *pgx.Conn
	begin  string // the statement that begins the transaction
	begun  bool
	queued []Statement
	last   []Statement // right before the COMMIT, as they lock rows that others want
}

// Statement is one that waits to be sent. Each is called for every row of its result; nil: the rows are not read.
type Statement struct {
	SQL  string
	Args []any
	Each func(scan func(...any) error) error
}

// The statements that begin a transaction state its isolation, since an operator may have set another one for the
// database.
const (
	beginVerb     = "BEGIN ISOLATION LEVEL READ COMMITTED"
	beginSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
)

// onPipeline runs fn with a transaction on a connection of a pool. Fn begins it by sending a statement; if fn returns
// an error, it is rolled back.
func (s *DB) onPipeline(ctx context.Context, db *sql.DB, begin string, fn func(p *pipeline) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(c any) error {
		p := &pipeline{s: s, conn: c.(*stdlib.Conn).Conn(), begin: begin}
		err := fn(p)
		if err != nil {
			p.rollback(ctx)
		}
		return err
	})
}

// ReadTogether runs queries of PostgreSQL in one snapshot and one round trip.
func (s *DB) ReadTogether(ctx context.Context, list ...Statement) error {
	s.transactions.Add(1)
	return s.onPipeline(ctx, s.db, beginSnapshot, func(p *pipeline) error {
		p.queued = list
		return p.commit(ctx)
	})
}

// add queues a statement.
func (p *pipeline) add(q string, args []any, each func(scan func(...any) error) error) {
	p.queued = append(p.queued, Statement{q, args, each})
}

// transmit sends what is queued, after the BEGIN if that was not sent. The results are to be read in the order of the
// statements that are returned.
func (p *pipeline) transmit(ctx context.Context) (pgx.BatchResults, []Statement, error) {
	list := p.queued
	p.queued = nil
	if !p.begun {
		list = slices.Insert(list, 0, Statement{SQL: p.begin})
		p.begun = true
	}
	var batch pgx.Batch
	for i := range list {
		args, err := plainArgs(list[i].Args)
		if err != nil {
			return nil, nil, err
		}
		batch.Queue(list[i].SQL, args...)
	}
	p.s.roundTrips.Add(1)
	return p.conn.SendBatch(ctx, &batch), list, nil
}

// flush sends what is queued and reads the results. It returns the tag of the last statement.
func (p *pipeline) flush(ctx context.Context) (pgconn.CommandTag, error) {
	if len(p.queued) == 0 {
		return pgconn.CommandTag{}, nil
	}
	results, list, err := p.transmit(ctx)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := readResults(results, list)
	return tag, cmp.Or(err, closeResults(results, err))
}

// commitGrace is how long a transaction may take to commit once its caller has gone. Its last statements are sent with
// the COMMIT: if the connection were closed at once, nobody would know whether they took effect.
const commitGrace = 5 * time.Second

// commit sends what is queued, and the COMMIT.
func (p *pipeline) commit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p.queued = append(p.queued, p.last...)
	p.add("COMMIT", nil, nil)
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(commitGrace, cancel) })()
	tag, err := p.flush(sending)
	if err == nil && tag.String() != "COMMIT" { // the server rolls back where a statement failed
		err = fmt.Errorf("the transaction was not committed: %s", tag)
	}
	return err
}

// query sends what is queued and a query, whose rows it returns.
func (p *pipeline) query(ctx context.Context, q string, args []any) (Rows, error) {
	p.add(q, args, nil)
	results, list, err := p.transmit(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := readResults(results, list[:len(list)-1]); err != nil {
		_ = results.Close()
		return nil, err
	}
	r, err := results.Query()
	if err != nil {
		_ = results.Close()
		return nil, err
	}
	return &batchRows{r, results}, nil
}

// readResults reads the results of statements, the first of those that are left.
func readResults(results pgx.BatchResults, list []Statement) (tag pgconn.CommandTag, err error) {
	for _, st := range list {
		r, err := results.Query()
		if err != nil {
			return tag, err
		}
		for err == nil && st.Each != nil && r.Next() {
			err = st.Each(r.Scan)
		}
		r.Close()
		if err = cmp.Or(err, r.Err()); err != nil {
			return tag, err
		}
		tag = r.CommandTag()
	}
	return tag, nil
}

// closeResults closes results. After an error it returns nil, since closing would report the same one.
func closeResults(results pgx.BatchResults, err error) error {
	if closing := results.Close(); err == nil {
		return closing
	}
	return nil
}

// rollback ends the transaction without its changes. The connection is closed if that fails, so that nobody else gets
// it with the transaction open.
func (p *pipeline) rollback(ctx context.Context) {
	if !p.begun || p.conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	p.s.roundTrips.Add(1)
	if _, err := p.conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = p.conn.Close(ctx)
	}
}

// plainArgs converts parameters to the types that the driver knows, as database/sql does: a pleat.JobID is a string.
func plainArgs(args []any) ([]any, error) {
	out := make([]any, len(args))
	for i, a := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(a)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// batchRows are the rows of the last statement of a batch. Close frees the connection.
type batchRows struct {
	pgx.Rows
	results pgx.BatchResults
}

// Close ends the reading of the rows and of the batch.
func (r *batchRows) Close() error {
	r.Rows.Close()
	err := r.Rows.Err()
	return cmp.Or(err, closeResults(r.results, err))
}
