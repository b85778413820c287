package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/blob"
	"pleat/internal/config"
	"pleat/internal/engine"
	"pleat/internal/engine/builtin"
	"pleat/internal/seal"
	"pleat/internal/server"
	"pleat/internal/server/route"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

// database is a kind of database on which a part is measured.
type database struct {
	// name is sqlite or postgres.
	name string
	// server is the address of the PostgreSQL server; empty: SQLite.
	server string
	// sync is the duration of an fsync on the disk of the benchmark.
	sync time.Duration
}

// create returns the address of a new, empty database: on SQLite a file in dir. drop removes it.
func (d database) create(ctx context.Context, dir string) (address string, drop func() error, err error) {
	if d.server == "" {
		return "sqlite:" + filepath.Join(dir, "pleat.db"), func() error { return nil }, nil
	}
	db, err := sql.Open("pgx", d.server)
	if err != nil {
		return "", nil, err
	}
	name := fmt.Sprintf("pleat_bench_%d_%d", os.Getpid(), time.Now().UnixNano())
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, errors.Join(err, db.Close())
	}
	drop = func() error {
		_, err := db.ExecContext(context.WithoutCancel(ctx), "DROP DATABASE "+name+" WITH (FORCE)")
		return errors.Join(err, db.Close())
	}
	u, err := url.Parse(d.server)
	if err != nil {
		return "", nil, errors.Join(errors.New("PLEAT_TEST_POSTGRES is not a postgres:// address"), drop())
	}
	u.Path = "/" + name
	return u.String(), drop, nil
}

// service is a service over a fresh database: the server's own handler behind a listener on loopback, with its log
// going to a file, and one user with a key per client.
type service struct {
	// dir is the folder of the service, and database the address of its database.
	dir, database string
	log           *slog.Logger
	store         *store.Store
	blobs         blob.Store
	// addr is the host and port of the server.
	addr string
	// users has one user per client, and keys their API keys.
	users []people.Reach
	keys  []string
	closers
}

// newService returns a service over a fresh database, with its server listening. The caller closes it.
func (b *bench) newService(ctx context.Context, d database, opt store.Options) (_ *service, err error) {
	h := &service{}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	if h.dir, err = os.MkdirTemp(b.dir, d.name+"-"); err != nil {
		return h, err
	}
	h.later(func() error { return os.RemoveAll(h.dir) })
	logFile, err := os.Create(filepath.Join(h.dir, "log"))
	if err != nil {
		return h, err
	}
	h.later(logFile.Close)
	h.log = app.NewLog(logFile, config.Default())
	address, drop, err := d.create(ctx, h.dir)
	if err != nil {
		return h, err
	}
	h.database = address
	h.later(drop)
	opt.DB.Log = h.log
	if h.store, err = store.Open(ctx, address, opt); err != nil {
		return h, err
	}
	h.later(h.store.DB.Close)
	if err := storetest.Migrate(ctx, h.store); err != nil {
		return h, err
	}
	if h.blobs, err = blob.Open(ctx, "dir:"+filepath.Join(h.dir, "blobs")); err != nil {
		return h, err
	}
	for i := range clients {
		name := userName(i)
		key, err := app.CreateKey(ctx, h.store, name, people.NewKey{})
		if err != nil {
			return h, err
		}
		u, err := h.store.People.EnsureUser(ctx, name)
		if err != nil {
			return h, err
		}
		h.users, h.keys = append(h.users, people.Own(u.ID)), append(h.keys, key)
	}
	return h, h.serve(ctx)
}

// userName is the name of a user of the service.
func userName(i int) string { return fmt.Sprintf("bench-%02d", i) }

// serve starts the server. No worker runs, but one is registered: jobs are refused for a model that no worker has.
func (h *service) serve(ctx context.Context) error {
	err := h.store.Workers.RegisterWorker(ctx, pleat.Worker{
		ID:     "bench",
		Host:   "bench",
		Queues: []string{nullQueue},
		Models: builtin.Null{}.Models(),
	})
	if err != nil {
		return err
	}
	ring, err := seal.Load("", filepath.Join(h.dir, "secret.key"))
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h.addr = l.Addr().String()
	deps := server.Deps{Store: h.store, Blobs: h.blobs, Ring: ring, Log: h.log}
	s, err := server.New(server.Config{Config: route.Config{PublicURL: "http://" + h.addr}}, deps)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	h.later(start(ctx, func(ctx context.Context) error { return s.Serve(ctx, l) }))
	return nil
}

// start runs a function until stop ends its context and awaits it.
func start(ctx context.Context, run func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return func() error { cancel(); return <-ended }
}

// closers undo the steps of an opening, in its order.
type closers []func() error

// later adds a step that close undoes.
func (c *closers) later(undo func() error) { *c = append(*c, undo) }

// close undoes all steps, the last one first.
func (c *closers) close() error {
	var errs []error
	for _, undo := range slices.Backward(*c) {
		errs = append(errs, undo())
	}
	*c = nil
	return errors.Join(errs...)
}

// startedEngine is the null engine, and reports when a run starts. No figure includes the work of an engine.
type startedEngine struct {
	builtin.Null
	began func(pleat.RunID)
}

// Run reports the start, then returns the empty result of the null engine.
func (e startedEngine) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	e.began(w.Fold.Run)
	return e.Null.Run(ctx, w, sink)
}

// newPool returns a worker with the null engine, which folds nothing and takes no time. It calls began at the start of
// each run.
func newPool(
	s *store.Store, blobs blob.Store, log *slog.Logger, dir string, began func(pleat.RunID),
) (*work.Pool, error) {
	engines, err := engine.New(log, startedEngine{began: began})
	if err != nil {
		return nil, err
	}
	return work.New(work.Config{
		ID:    pleat.WorkerID("bench-" + filepath.Base(dir)),
		Host:  "bench",
		Dir:   filepath.Join(dir, "scratch"),
		Slots: slots,
		Log:   log,
	}, s, blobs, engines), nil
}

// slots is the number of jobs that a worker of the benchmark runs at once.
const slots = 4

// nullQueue is the queue of the null engine's folds.
var nullQueue = pleat.Queue(pleat.TaskFold, "null")

// ubiquitin is human ubiquitin, UniProt P0CG48 residues 1 to 76: a job of typical size.
const ubiquitin = "MQIFVKTLTGKTITLEVEPSDTIENVKAKIQDKEGIPPDQQRLIFAGKQLEDGRTLSDYNIQKESTLHLVLRLRGG"

// jobBody is the body of a request that creates a job.
const jobBody = `{"name":"ubiquitin","sequences":[{"proteinChain":{"sequence":"` + ubiquitin +
	`"}}],"params":{"modelName":"null"}}`

// newJob returns the job of jobBody, as the server passes it to the store.
func newJob(by people.Reach) runs.NewJob {
	return foldJob(by, builtin.Null{}.Models()[0], "ubiquitin", ubiquitin, "2718281828", map[string]any{})
}

// foldJob returns a job that folds one protein by a model.
func foldJob(by people.Reach, m pleat.Model, name, protein, seed string, values map[string]any) runs.NewJob {
	params := pleat.Params{Model: m.Name, Values: values}
	return runs.NewJob{
		Job: pleat.Job{
			Owner:     by.Project,
			Creator:   by.User,
			Name:      name,
			Params:    params,
			Sequences: []pleat.Sequence{{Kind: pleat.Protein, Text: protein, Chains: []string{"A"}, Count: 1}},
		},
		Run: runs.RunSpec{
			Model:     m.Name,
			WeightSet: m.WeightSet,
			Method:    m.Method,
			Seed:      seed,
			Params:    params,
			Queue:     pleat.Queue(pleat.TaskFold, m.Name),
		},
	}
}
