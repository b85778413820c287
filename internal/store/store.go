// Package store owns every row: the SQL for SQLite and PostgreSQL, the migrations, and the verbs that move a job
// through its life.
//
// Each verb is one transaction. It leaves the database consistent, or changes nothing; there is no Begin to call. The
// package must not execute tasks, read or write blobs, or speak HTTP. FinishRun, and the verbs that end a run without a
// worker, write the terminal state, its event and the deliveries of the event together. Its files:
//
//	store.go              Store, wake-ups
//	poll.go               what no wake-up told of
//	glance.go             what the service does at a moment
//	operate.go            what operators see
//	stats.go              figures of the database and of this process
//	metrics.go            metrics of the runs that this process starts and ends
//	sqlite.go, postgres.go, migrate.go  the databases
//	tx.go, pipeline.go, sqlbatch.go  transactions, reads, statements that are sent together or are about many rows
//	types.go              what the verbs take and return
//	account.go, key.go, session.go  users, their keys, sessions of the page
//	erase.go              what is stored about a person, and its deletion
//	reach.go              who asks, and in which project
//	project.go, member.go, service_user.go  projects, and who has which role in them
//	mail.go      which mails a user gets; mail_queue.go: the mails, from their cause until they were sent
//	identity.go  people who sign in by an issuer, their groups, and what groups may do
//	invitation.go, share.go, move.go  links into a project and to one job, moves between projects
//	audit.go              who changed keys, endpoints, roles and shares
//	quota.go, limits.go   what one project may have
//	accounting.go, budget.go  what runs have spent, and what a project may spend in a month
//	job.go, view.go, head.go  jobs and their runs
//	batch.go, batch_advance.go  batches: many jobs that end together
//	batch_table.go, batch_rows.go  the table of their scores
//	page.go, names.go     lists of a project's rows, searches by name
//	design.go, design_fold.go  what a design has besides, and the folds of designs
//	workflow.go, followup.go  questions and simulations, and how a fold starts them
//	claim.go, task.go     the queue: claims, tasks that workers hold
//	pause.go              models whose tasks nobody claims
//	heartbeat.go          the renewal of leases, for many workers at once
//	search.go             searches for alignments, each by one worker
//	held.go               all tasks that one worker holds
//	finish.go, reap.go    ends, expired leases
//	yield.go              tasks that make room for another tenant's
//	artifact.go, cached_result.go  files of runs, results that later runs reuse
//	endpoint.go, named_endpoint.go, delivery.go  endpoints, events and their deliveries
//	claim_deliveries.go, claim_plan.go, finish_deliveries.go  attempts at deliveries
//	library.go  library items
//	worker.go, class.go, speed.go  workers, their classes, how fast they are
//	fleet.go              tokens of programs that scale the workers
//	purge.go, expire.go   the deletion of jobs and workflows
//	service.go            what all processes of a service agree on, the files that rows refer to
package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pleat"
)

// Options tune a Store. The zero value serves.
type Options struct {
	Clock func() time.Time // nil: time.Now
	Log   *slog.Logger     // nil: discards
	// Connections bounds the connections to the database, at least MinConnections; 0: chosen by the machine.
	Connections int
	// Direct is the address of the same PostgreSQL database without a pooler between, if the address to open is that of
	// one that pools transactions, such as PgBouncer. Wake-ups and migrations need it.
	Direct string
	// CommitGroup is how many SQLite transactions that wait share one commit at most; 0: 512.
	CommitGroup int
	// ClockInterval is the time between two measurements of how far this machine's clock is from PostgreSQL's; 0: 30 s.
	ClockInterval time.Duration
	// Limits are what one project may have. Workers need them too, since follow-ups count.
	Limits Limits
	// Bounds are for tests, which reach them with few rows.
	Bounds Bounds
}

// Bounds are sizes that no setting changes. A service has those of DefaultBounds, which stand for fields that are 0.
type Bounds struct {
	HeldTasks    int // running tasks that one statement selects
	Endpoints    int // whose queues one claim looks at, which bounds how long its transaction is
	Batches      int // open ones that AdvanceBatches reads at once
	InputRows    int // of a batch that BatchInputs reads at once
	Tests        int // test deliveries of one user that are kept, or that wait
	Audit        int // entries of each action that a user has: a flood of one displaces no other
	ProjectAudit int // Audit in a project of several users
}

// DefaultBounds are the bounds of a service.
func DefaultBounds() Bounds {
	return Bounds{
		HeldTasks:    1000,
		Endpoints:    256,
		Batches:      100,
		InputRows:    500,
		Tests:        100,
		Audit:        500,
		ProjectAudit: 10_000,
	}
}

// orDefault returns the bounds with the defaults for fields that are 0.
func (b Bounds) orDefault() Bounds {
	d := DefaultBounds()
	return Bounds{
		HeldTasks:    cmp.Or(b.HeldTasks, d.HeldTasks),
		Endpoints:    cmp.Or(b.Endpoints, d.Endpoints),
		Batches:      cmp.Or(b.Batches, d.Batches),
		InputRows:    cmp.Or(b.InputRows, d.InputRows),
		Tests:        cmp.Or(b.Tests, d.Tests),
		Audit:        cmp.Or(b.Audit, d.Audit),
		ProjectAudit: cmp.Or(b.ProjectAudit, d.ProjectAudit),
	}
}

// MinConnections are needed to work: PostgreSQL's connections for claims, the one that listens, and one more.
const MinConnections = asyncConns + 2

// readers returns how many connections are for everything but claims and listening, where n are by default.
func (o *Options) readers(n int) int {
	if o.Connections > 0 {
		n = max(1, o.Connections-MinConnections+1)
	}
	return n
}

// Store is a database with verbs. It is safe for use by many goroutines. Make one with Open and end it with Close.
//
// A verb that changes something is one transaction: on SQLite a savepoint of the one writer, which commits several
// verbs together; on PostgreSQL a transaction of its own, in the isolation READ COMMITTED, repeated up to three times
// after a deadlock or a serialization failure. A verb that returns an error has changed nothing, with one exception: if
// the connection to PostgreSQL breaks during the commit, the change may have been made.
//
// Errors are *pleat.Error where the caller is to be refused. A database that does not answer, or not in time, gives
// CodeUnavailable, and a cancelled context gives context.Canceled.
type Store struct {
	dialect    string
	limits     Limits
	bounds     Bounds
	db         *sql.DB // reads on SQLite, everything on PostgreSQL
	clock      func() time.Time
	offset     atomic.Int64 // what to add to the clock so that all nodes agree, in microseconds
	log        *slog.Logger
	hub        hub
	translated sync.Map // SQL by its portable text

	readersMu sync.RWMutex
	readers   map[string]*sql.Stmt // SQLite's statements for reading, by their portable text

	transactions atomic.Int64
	metrics      *metrics
	roundTrips   atomic.Int64
	measuredMu   sync.Mutex
	measured     map[string]int // tasks that ended here, by queue

	sqlite  *writer   // SQLite's one writer
	notify  *notifier // PostgreSQL's bridge between processes
	asyncDB *sql.DB   // PostgreSQL's connections whose commits do not wait for the disk
	pooled  bool      // a pooler lends PostgreSQL's connections for one transaction each
}

// Open opens the database at url, «sqlite:PATH» or «postgres://…». It creates the folder and the file of a new SQLite
// database, but no schema: call Migrate. With PostgreSQL it also starts the goroutines that carry wake-ups between
// processes and keep the clock in step with the database's; ctx bounds the opening, not their life. Close the store.
func Open(ctx context.Context, url string, opt Options) (*Store, error) {
	s := &Store{
		clock:   opt.Clock,
		log:     opt.Log,
		limits:  opt.Limits,
		bounds:  opt.Bounds.orDefault(),
		readers: map[string]*sql.Stmt{},
		metrics: newMetrics(),
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.hub.topics = map[string]map[chan struct{}]bool{}
	var err error
	switch {
	case strings.HasPrefix(url, "sqlite:"):
		err = s.openSQLite(ctx, strings.TrimPrefix(url, "sqlite:"), opt)
	case IsPostgres(url):
		err = s.openPostgres(ctx, url, opt)
	default:
		err = errors.New("a database is sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME")
	}
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return s, nil
}

// IsPostgres reports whether the address of a database is one of PostgreSQL.
func IsPostgres(url string) bool {
	return strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
}

// postgres reports whether the database is one of PostgreSQL.
func (s *Store) postgres() bool { return s.sqlite == nil }

// logger is the log of the store.
func (s *Store) logger() *slog.Logger { return s.log }

// publish wakes those of this process who wait for news on the topics.
func (s *Store) publish(topics ...string) { s.hub.publish(topics...) }

// Dialect is "sqlite" or "postgres".
func (s *Store) Dialect() string { return s.dialect }

// Close waits for the verbs that are being written, ends the store's goroutines and closes the database. Verbs that
// still wait for the writer return an error. Call it once, after the last user of the store has ended.
func (s *Store) Close() error {
	if s.notify != nil {
		s.notify.close()
	}
	if s.sqlite != nil {
		s.sqlite.close()
	}
	if s.asyncDB != nil {
		_ = s.asyncDB.Close()
	}
	return s.db.Close()
}

// Ping reports whether the database answers: nil, or an error with CodeUnavailable. It reads the schema's version.
func (s *Store) Ping(ctx context.Context) error {
	if _, err := s.Version(ctx); err != nil {
		return unavailable("ping", err)
	}
	return nil
}

// now is the time that all nodes agree on, in microseconds since 1970 UTC: this machine's clock plus the offset that
// was last measured.
func (s *Store) now() int64 { return s.clock().UnixMicro() + s.offset.Load() }

// Now is the store's time in UTC. All nodes on one PostgreSQL database agree on it to within the time that a query
// takes, since leases and delays are compared with it. On SQLite it is the machine's clock.
func (s *Store) Now() time.Time { return fromMicros(s.now()) }

// unavailable turns an error of the database into CodeUnavailable, so that the client gets 503 and not 500. It returns
// refusals and cancellations unchanged.
func unavailable(verb string, err error) error {
	var refusal *pleat.Error
	if err == nil || errors.As(err, &refusal) || errors.Is(err, context.Canceled) {
		return err
	}
	return &pleat.Error{
		Code:    pleat.CodeUnavailable,
		Message: "the database cannot serve this now; try again",
		Err:     fmt.Errorf("%s: %w", verb, err),
	}
}

// lockingClauses removes the locking clauses of a statement.
var lockingClauses = strings.NewReplacer("FOR UPDATE SKIP LOCKED", "", "FOR UPDATE OF s", "", "FOR UPDATE", "",
	"FOR SHARE OF j", "", "FOR NO KEY UPDATE OF k", "", "FOR NO KEY UPDATE", "")

// translate adapts portable SQL, whose parameters are $1, $2 …, to the dialect. SQLite's drivers number «$n» by first
// appearance, so it gets «?n». SQLite has one writer and no row locks, so locking clauses go.
func (s *Store) translate(q string) string {
	if s.dialect != "sqlite" {
		return q
	}
	if t, ok := s.translated.Load(q); ok {
		return t.(string)
	}
	b := []byte(q)
	for i := 0; i+1 < len(b); i++ {
		if b[i] == '$' && b[i+1] >= '1' && b[i+1] <= '9' {
			b[i] = '?'
		}
	}
	t := lockingClauses.Replace(string(b))
	s.translated.Store(q, t)
	return t
}

// hub wakes goroutines of this process that wait for news on a topic. A token holds no content: a token that comes for
// nothing is harmless, and one that is lost, as on a broken connection, is made up for by polling.
type hub struct {
	mu     sync.Mutex
	topics map[string]map[chan struct{}]bool
}

// Subscribe returns a channel that holds a token after news on the topic, and a function that ends the subscription.
// Tokens coalesce, and news comes after its commit: subscribe, read the database, wait for a token, read again. Topics
// are BatchesTopic and those made by QueueTopic, RunTopic, OwnerTopic, BatchTopic, KeyTopic, WorkerTopic and
// DeliveryTopic. News from other processes
// arrives only on PostgreSQL.
func (s *Store) Subscribe(topic string) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	s.SubscribeTo(topic, ch)
	return ch, func() { s.hub.remove(topic, ch) }
}

// SubscribeTo is Subscribe for one channel with several topics. The channel needs a buffer of one. Unsubscribe ends it.
func (s *Store) SubscribeTo(topic string, ch chan struct{}) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.hub.topics[topic] == nil {
		s.hub.topics[topic] = map[chan struct{}]bool{}
	}
	s.hub.topics[topic][ch] = true
}

// Subscribed reports whether somebody of this process waits for news on a topic.
func (s *Store) Subscribed(topic string) bool {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return len(s.hub.topics[topic]) > 0
}

// subscriptions returns the topics that somebody of this process waits for, in order.
func (s *Store) subscriptions() []string {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return slices.Sorted(maps.Keys(s.hub.topics))
}

// Unsubscribe ends what SubscribeTo began.
func (s *Store) Unsubscribe(topic string, ch chan struct{}) { s.hub.remove(topic, ch) }

// remove ends a subscription. The channel stays open, since a publisher may be about to use it.
func (h *hub) remove(topic string, ch chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.topics[topic], ch)
	if len(h.topics[topic]) == 0 {
		delete(h.topics, topic)
	}
}

// publish puts a token into every channel of the topics that has none.
func (h *hub) publish(topics ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		h.wake(t)
	}
}

// wake puts a token into every channel of a topic that has none. The caller holds mu.
func (h *hub) wake(topic string) {
	for ch := range h.topics[topic] {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// publishAll is publish for every topic: after a gap in the connection that listens, any of them may have news.
func (h *hub) publishAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for topic := range h.topics {
		h.wake(topic)
	}
}
