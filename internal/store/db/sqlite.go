package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// maxGroup bounds how many verbs share one commit, and how many may wait for it in the queue before submit blocks.
const maxGroup = 512

// openSQLite opens one connection for writing and several for reading, all in WAL mode, in which readers and the writer
// do not wait for each other. Each connection caches 8 MB of pages and sorts in memory.
func (s *DB) openSQLite(ctx context.Context, path string, opt Options) error {
	s.dialect = "sqlite"
	if path == "" {
		return errors.New("sqlite: needs a path")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := s.makePrivate(path); err != nil {
		return err
	}
	dsn := func(pragmas ...string) string {
		v := url.Values{}
		all := []string{
			"busy_timeout(10000)", "journal_mode(WAL)", "foreign_keys(1)", "cache_size(-8000)", "temp_store(2)",
		}
		for _, p := range append(all, pragmas...) {
			v.Add("_pragma", p)
		}
		return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + v.Encode()
	}
	writing := dsn("synchronous(FULL)", "wal_autocheckpoint(4000)")
	wdb, err := sql.Open("sqlite", writing)
	if err != nil {
		return err
	}
	wdb.SetMaxOpenConns(1)
	conn, err := wdb.Conn(ctx)
	if err != nil {
		return err
	}
	s.db, err = sql.Open("sqlite", dsn("query_only(1)"))
	if err != nil {
		return err
	}
	n := opt.readers(max(4, 2*runtime.GOMAXPROCS(0)))
	s.db.SetMaxOpenConns(n)
	s.db.SetMaxIdleConns(n)
	s.sqlite = &writer{
		s:     s,
		dsn:   writing,
		db:    wdb,
		conn:  conn,
		ops:   make(chan *operation, maxGroup),
		quit:  make(chan struct{}),
		group: maxGroup,
	}
	if opt.CommitGroup > 0 {
		s.sqlite.group = opt.CommitGroup
	}
	s.sqlite.wg.Add(1)
	go s.sqlite.run()
	return nil
}

// CloseIdle closes the connections for reading of SQLite that nobody uses. Each of them keeps up to 8 MB of pages in
// memory. PostgreSQL's close by themselves.
func (s *DB) CloseIdle() {
	if s.sqlite == nil {
		return
	}
	s.db.SetMaxIdleConns(0)
	s.db.SetMaxIdleConns(s.db.Stats().MaxOpenConnections)
}

// SQLiteFiles are the files of an SQLite database: the database, its write-ahead log and the index of the log. The last
// two exist only while it is in use.
func SQLiteFiles(path string) []string { return []string{path, path + "-wal", path + "-shm"} }

// makePrivate creates the file of a database, if there is none, and takes from its files the permissions of other users
// of the machine. SQLite gives the files that it creates the permissions of the database.
func (s *DB) makePrivate(path string) error {
	// Never one that exists: closing it would release the locks that SQLite holds on it in this process.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for _, name := range SQLiteFiles(path) {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm()&0o077 == 0 {
			continue // there is no such file, or nothing to change
		}
		if err := os.Chmod(name, 0o600); err != nil {
			s.log.Warn("other users of the machine may read the database; its owner has to chmod 600", "file", name)
		}
	}
	return nil
}

// writer is SQLite's one writer. It commits in groups: verbs that arrive while a commit waits for the disk share the
// next one, each in a savepoint of its own, so that one that fails takes nothing with it. A commit waits for the disk
// once, however many verbs share it, which is what lets many callers write quickly.
type writer struct {
	s     *DB
	dsn   string
	db    *sql.DB
	conn  *sql.Conn // the only one of db
	ops   chan *operation
	quit  chan struct{}
	once  sync.Once
	wg    sync.WaitGroup
	group int        // most verbs that share one commit
	mode  durability // that the connection is set to
}

// operation is one verb on its way through the writer.
type operation struct {
	ctx        context.Context //nolint:containedctx // of the caller, who waits in another goroutine
	durability durability
	fn         func(*Tx) error
	written    written // what to do once the commit is done
	err        error
	done       chan struct{} // closed when written and err are set
	// settled is set by the first of two: the writer that runs the verb, or the caller that gives it up.
	settled atomic.Bool
}

// errClosed is the error of a verb that comes after Close. Callers get it as CodeUnavailable.
var errClosed = errors.New("the store is closed")

// submit hands a verb to the writer and waits for its commit. A verb that has not started ends with its context. One
// that has started is waited for, since it writes variables that the caller reads.
func (w *writer) submit(ctx context.Context, d durability, fn func(*Tx) error) (written, error) {
	o := &operation{ctx: ctx, durability: d, fn: fn, done: make(chan struct{})}
	select {
	case w.ops <- o:
	case <-w.quit:
		return written{}, errClosed
	case <-ctx.Done():
		return written{}, ctx.Err()
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		if o.settled.CompareAndSwap(false, true) {
			return written{}, ctx.Err()
		}
		<-o.done
	}
	return o.written, o.err
}

// close lets the commit in progress end and closes the connection. It may be called more than once.
func (w *writer) close() {
	w.once.Do(func() { close(w.quit) })
	w.wg.Wait()
	_ = w.conn.Close()
	_ = w.db.Close()
}

// run commits batches until the writer closes. A batch holds the verbs that wait when it begins.
func (w *writer) run() {
	defer w.wg.Done()
	t := &Tx{s: w.s, conn: w.conn, stmt: map[string]*sql.Stmt{}}
	batch := make([]*operation, 0, maxGroup)
	for {
		batch = batch[:0]
		select {
		case o := <-w.ops:
			batch = append(batch, o)
		case <-w.quit:
			w.rejectPending()
			return
		}
	gather:
		for len(batch) < w.group {
			select {
			case o := <-w.ops:
				batch = append(batch, o)
			default:
				break gather
			}
		}
		w.commit(t, batch)
		for _, o := range batch {
			close(o.done)
		}
	}
}

// rejectPending fails the verbs that still wait when the store closes.
func (w *writer) rejectPending() {
	for {
		select {
		case o := <-w.ops:
			o.err = errClosed
			close(o.done)
		default:
			return
		}
	}
}

// commit runs a batch in one transaction. A verb whose caller has gone is skipped. If the transaction itself cannot
// begin or commit, all of the batch fail with it.
func (w *writer) commit(t *Tx, batch []*operation) {
	bg := context.Background()
	t.ctx = bg
	mode := async
	for _, o := range batch {
		mode = min(mode, o.durability) // one durable verb makes the whole commit durable
	}
	err := w.setMode(bg, mode)
	if err == nil {
		_, err = t.Exec("BEGIN IMMEDIATE")
	}
	if err != nil {
		fail(batch, err)
		return
	}
	t.Now = w.s.Micros()
	for _, o := range batch {
		if o.err = o.ctx.Err(); o.err == nil && o.settled.CompareAndSwap(false, true) {
			o.err = w.runInSavepoint(t, o)
		}
	}
	if _, err := t.Exec("COMMIT"); err != nil {
		_, _ = w.conn.ExecContext(bg, "ROLLBACK")
		fail(batch, fmt.Errorf("commit: %w", err))
	}
}

// setMode chooses whether the next commit waits for the disk. In WAL mode, NORMAL syncs at checkpoints only.
func (w *writer) setMode(ctx context.Context, d durability) error {
	if d == w.mode {
		return nil
	}
	pragma := "PRAGMA synchronous=FULL"
	if d == async {
		pragma = "PRAGMA synchronous=NORMAL"
	}
	if _, err := w.conn.ExecContext(ctx, pragma); err != nil {
		return err
	}
	w.mode = d
	return nil
}

// runInSavepoint runs one verb of a batch. An error or a panic rolls back what that verb did, and nothing else.
func (w *writer) runInSavepoint(t *Tx, o *operation) (err error) {
	if _, err := t.Exec("SAVEPOINT verb"); err != nil {
		return err
	}
	t.wake, t.values, t.before, t.after, t.err = nil, nil, nil, nil, nil
	defer func() {
		if r := recover(); r != nil {
			w.s.log.Error("store: a verb panicked", "error", fmt.Sprint(r), "stack", stack())
			err = fmt.Errorf("panic: %v", r)
		}
		t.err = nil
		if err != nil {
			if _, back := t.Exec("ROLLBACK TO verb"); back != nil {
				err = errors.Join(err, back)
			}
		}
		if _, rel := t.Exec("RELEASE verb"); rel != nil && err == nil {
			err = rel
		}
		o.written = written{t.wake, t.after}
	}()
	if err := o.fn(t); err != nil {
		return err
	}
	t.finish()
	return t.Wait()
}

// fail gives every verb of a batch the same error.
func fail(batch []*operation, err error) {
	for _, o := range batch {
		o.err = err
	}
}

// stack returns the stack of this goroutine, quoted for one line of the log, at most 16 KiB of it.
func stack() string {
	b := make([]byte, 16<<10)
	return strconv.Quote(string(b[:runtime.Stack(b, false)]))
}
