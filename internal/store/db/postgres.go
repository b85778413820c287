package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"pleat"
)

// channel is the NOTIFY channel over which processes wake each other.
const channel = "pleat"

// asyncConns bounds the connections for transactions that do not wait for the disk, claims and progress: they have few
// callers and are short.
const asyncConns = 4

// idleInTransaction bounds how long a transaction may wait for its process: one that was suspended or cut off holds its
// locks until the server gives it up, and no other process could take its tasks over.
const idleInTransaction = "idle_in_transaction_session_timeout"

// openPostgres opens two pools, which differ in synchronous_commit, measures the offset of the clock and starts the
// notifier.
func (s *DB) openPostgres(ctx context.Context, url string, opt Options) error {
	s.dialect = "postgres"
	direct, err := parsePostgres(cmp.Or(opt.Direct, url))
	if err != nil {
		return err
	}
	if direct.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol {
		return errors.New("the PostgreSQL address has default_query_exec_mode=simple_protocol, which sends " +
			"parameters without their types; leave it out, and for a connection pooler " + setDirect)
	}
	setDefault(direct, idleInTransaction, strconv.FormatInt(pleat.LeaseDuration.Milliseconds(), 10))
	cfg := direct.Copy()
	if s.pooled = opt.Direct != ""; s.pooled {
		if cfg, err = parsePostgres(url); err != nil {
			return err
		}
		// A prepared statement would stay with a connection that the next transaction may not get.
		cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	} else {
		// A connection keeps its plans. One that was made while a queue was empty would scan a table that holds a
		// million tasks a minute later, until the next ANALYZE. Every frequent statement has an index.
		setDefault(cfg, "enable_seqscan", "off")
		setDefault(cfg, "jit", "off") // else a scan that has no index is compiled, for a second
	}
	cfg.OnPgError = func(_ *pgconn.PgConn, err *pgconn.PgError) bool { // false closes the connection
		return !strings.EqualFold(err.Severity, "FATAL") && !s.isStale(err)
	}
	s.db = stdlib.OpenDB(*cfg)
	nowait := cfg.Copy()
	if !s.pooled { // what need not survive a crash of the machine says so once, not before each transaction
		nowait.RuntimeParams["synchronous_commit"] = "off"
	}
	s.asyncDB = stdlib.OpenDB(*nowait)
	s.asyncDB.SetMaxOpenConns(asyncConns)
	s.asyncDB.SetMaxIdleConns(asyncConns)
	s.asyncDB.SetConnMaxIdleTime(5 * time.Minute)
	n := opt.readers(max(16, 4*runtime.GOMAXPROCS(0)))
	s.db.SetMaxOpenConns(n)
	s.db.SetMaxIdleConns(n)
	s.db.SetConnMaxIdleTime(5 * time.Minute)
	if err := s.agreeOnTime(ctx); err != nil {
		_ = s.asyncDB.Close()
		_ = s.db.Close()
		return namePooler(err)
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.notify = &notifier{
		s:        s,
		cfg:      direct,
		interval: cmp.Or(opt.ClockInterval, clockInterval),
		cancel:   cancel,
		wake:     make(chan struct{}, 1),
		pending:  map[string]bool{},
	}
	s.notify.wg.Add(3)
	go s.notify.sender(run)
	go s.notify.listener(run)
	go s.notify.timer(run)
	return nil
}

// setDirect is what an operator does who has a connection pooler.
const setDirect = "set database-direct to the address of PostgreSQL itself (docs/operations.md#connection-pooler)"

// namePooler returns the error of a first connection, which says so if a connection pooler has refused it: one takes
// only some of the parameters with which a session starts.
func namePooler(err error) error {
	var pe *pgconn.PgError
	if errors.As(err, &pe) && strings.Contains(pe.Message, "unsupported startup parameter") {
		return fmt.Errorf("the PostgreSQL address is that of a connection pooler, whose sessions lack what the "+
			"service sets; %s: %w", setDirect, err)
	}
	if pe != nil && pe.Code == "42704" { // undefined_object
		return fmt.Errorf("the PostgreSQL address has a parameter that PostgreSQL does not have; leave it out: %w", err)
	}
	return err
}

// parsePostgres reads an address of PostgreSQL.
func parsePostgres(address string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		// The error of pgx has the password.
		return nil, errors.New("the PostgreSQL address cannot be read" + wrongParameter(address))
	}
	e := cfg.RuntimeParams["client_encoding"]
	if e != "" && !strings.EqualFold(strings.ReplaceAll(e, "-", ""), "utf8") {
		return nil, fmt.Errorf("the PostgreSQL address has client_encoding=%s, with which texts would be stored as "+
			"others; leave it out", pleat.Clip(e))
	}
	setDefault(cfg, "application_name", "pleat")
	return cfg, nil
}

// wrongParameter names the parameter of an address without which it could be read; empty: there is none.
func wrongParameter(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	q := u.Query()
	for name, values := range q {
		rest := maps.Clone(q)
		rest.Del(name)
		u.RawQuery = rest.Encode()
		if _, err := pgx.ParseConfig(u.String()); err == nil && !strings.Contains(name, "pass") {
			return fmt.Sprintf(": its parameter %s cannot be %q", pleat.Clip(name),
				pleat.Clip(strings.Join(values, ",")))
		}
	}
	return ""
}

// setDefault sets a parameter of a connection that the address does not set.
func setDefault(cfg *pgx.ConnConfig, name, value string) {
	if cfg.RuntimeParams[name] == "" {
		cfg.RuntimeParams[name] = value
	}
}

// Direct opens connections to PostgreSQL that no pooler lends, for what one session does. The caller closes them.
func (s *DB) Direct() *sql.DB { return stdlib.OpenDB(*s.notify.cfg) }

// Configure runs a statement that changes a setting of the database, outside of transactions.
func (s *DB) Configure(ctx context.Context, statement string) error {
	_, err := s.db.ExecContext(ctx, statement)
	return err
}

// SyncClock measures again how far this machine's clock is from the database's. The reaper calls it after a jump of the
// clock, before it takes leases for expired. SQLite has no clock but the machine's, so there it does nothing.
func (s *DB) SyncClock(ctx context.Context) error {
	if s.dialect != "postgres" {
		return nil
	}
	return Unavailable("read the clock", s.agreeOnTime(ctx))
}

// agreeOnTime measures how far this machine's clock is from the database's, so that leases mean the same on every node.
// It takes the database's time to be that of the middle of the query; the error is at most half the query's duration.
func (s *DB) agreeOnTime(ctx context.Context) error {
	s.transactions.Add(1)
	before := s.clock()
	var db int64
	const q = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
	if err := s.db.QueryRowContext(ctx, q).Scan(&db); err != nil {
		return err
	}
	after := s.clock()
	middle := before.Add(after.Sub(before) / 2).UnixMicro()
	s.offset.Store(db - middle)
	return nil
}

// pgCommit runs fn in a transaction, and again if PostgreSQL asks for it: after a serialization failure (40001) or a
// deadlock (40P01), of which one transaction is the victim. Where the settings of the session are outdated, it tries
// another one once.
func (s *DB) pgCommit(ctx context.Context, d durability, fn func(*Tx) error) (written, error) {
	const tries = 4
	dropped := false
	for i := 1; ; i++ {
		done, err := s.pgOnce(ctx, d, fn)
		var pe *pgconn.PgError
		if err == nil || i == tries || !errors.As(err, &pe) {
			return done, err
		}
		switch pe.Code {
		case "40001", "40P01":
		default:
			if !s.isStale(pe) {
				return done, err
			}
			s.dropSessions()
			if dropped {
				return done, err
			}
			dropped = true
		}
	}
}

// pgOnce runs fn in one transaction and returns what it leaves to do.
func (s *DB) pgOnce(ctx context.Context, d durability, fn func(*Tx) error) (written, error) {
	db := s.db
	if d == async {
		db = s.asyncDB
	}
	var t Tx
	err := s.onPipeline(ctx, db, beginVerb, func(p *pipeline) error {
		t = Tx{ctx: ctx, s: s, pg: p, Now: s.Micros()}
		if s.pooled {
			t.setSession(d)
		}
		if err := fn(&t); err != nil {
			return err
		}
		t.finish()
		return p.commit(ctx)
	})
	if err != nil {
		return written{}, err
	}
	return written{t.wake, t.after}, nil
}

// setSession sets for a transaction what a connection without a pooler has from its start.
func (t *Tx) setSession(d durability) {
	q := "SELECT set_config('" + idleInTransaction + "', $1, true)"
	if d == async {
		q += ", set_config('synchronous_commit', 'off', true)"
	}
	t.Send(q, strconv.FormatInt(pleat.LeaseDuration.Milliseconds(), 10))
}

// notifier carries wake-ups between processes by NOTIFY. It sends outside the transactions that cause them, since
// inside one commits take a global lock and serialise, and joins those that wait into one message.
type notifier struct {
	s         *DB
	cfg       *pgx.ConnConfig
	interval  time.Duration // see Options.ClockInterval
	cancel    context.CancelFunc
	wg        sync.WaitGroup
	listening atomic.Bool // the connection that listens is open

	mu      sync.Mutex
	pending map[string]bool
	wake    chan struct{}
}

// lastNotify is how long a store that closes may take to send the topics that are still queued. A busy server answers
// late, and a revoked key must not stay valid elsewhere for that. One that is gone is known at once, or costs this
// time.
const lastNotify = 10 * time.Second

// close ends the goroutines and waits for them. It sends what is still queued: a command that revokes a key ends right
// after its commit, and servers must hear of it.
func (n *notifier) close() {
	n.cancel()
	n.wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), lastNotify)
	defer cancel()
	_ = n.sendQueued(ctx) // who waits for it polls too
}

// send queues topics for the other processes and returns at once.
func (n *notifier) send(topics []string) {
	n.mu.Lock()
	for _, t := range topics {
		n.pending[t] = true
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// sender sends what is queued. After an error it tries again, once a second.
func (n *notifier) sender(ctx context.Context) {
	defer n.wg.Done()
	for failed := false; ; {
		select {
		case <-n.wake:
		case <-ctx.Done():
			return
		}
		err := n.sendQueued(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failed {
			n.s.log.Warn("store: notify failed; other processes notice by polling", "error", err)
		}
		if failed = err != nil; failed {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
				n.send(nil)
			}
		}
	}
}

// sendQueued sends the topics that are queued, in messages that NOTIFY accepts. Those that could not be sent stay
// queued.
func (n *notifier) sendQueued(ctx context.Context) error {
	const most = 7000 // NOTIFY takes 8,000 bytes
	n.mu.Lock()
	topics := slices.Sorted(maps.Keys(n.pending))
	clear(n.pending)
	n.mu.Unlock()
	for len(topics) > 0 {
		k, size := 0, 0
		for k < len(topics) && size+len(topics[k])+1 < most {
			size += len(topics[k]) + 1
			k++
		}
		n.s.transactions.Add(1)
		_, err := n.s.db.ExecContext(ctx, "SELECT pg_notify($1, $2)", channel, strings.Join(topics[:k], "\n"))
		if err != nil {
			n.mu.Lock()
			defer n.mu.Unlock()
			for _, t := range topics {
				n.pending[t] = true
			}
			return err
		}
		topics = topics[k:]
	}
	return nil
}

// listener publishes what other processes send, and connects again, after a second, when the connection breaks.
func (n *notifier) listener(ctx context.Context) {
	defer n.wg.Done()
	for ctx.Err() == nil {
		err := n.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		n.s.log.Warn("store: lost the connection that listens; trying again", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// listen publishes notifications from one connection until that breaks or ctx ends. This process's own come back too,
// as tokens that are not needed.
func (n *notifier) listen(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, n.cfg.Copy())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	n.s.hub.publishAll() // whatever was missed while nobody listened
	n.listening.Store(true)
	defer n.listening.Store(false)
	for {
		note, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		n.s.hub.publish(strings.Split(note.Payload, "\n")...)
	}
}

// clockInterval is the usual time between two measurements of the offset of the clock.
const clockInterval = 30 * time.Second

// timer measures the offset of the clock from time to time.
func (n *notifier) timer(ctx context.Context) {
	defer n.wg.Done()
	tick := time.NewTicker(n.interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := n.s.agreeOnTime(ctx); err != nil && ctx.Err() == nil {
				n.s.log.Warn("store: cannot read the database's clock", "error", err)
			}
		}
	}
}
