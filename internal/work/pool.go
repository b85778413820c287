// Package work executes tasks: it claims them, hands them to the engines, stores their results and ends their runs.
//
// A Pool is one worker. Any number may share a service, in one process or on many machines: what two of them must agree
// on is in the store, which a worker reaches itself or through a server. It holds no state that a crash could lose; it
// must not speak HTTP or know what an engine does.
package work

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"pleat"
	"pleat/internal/archive"
	"pleat/internal/blob"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/msa"
	"pleat/internal/queue"
	"pleat/internal/sandbox"
	"pleat/internal/store"
	"pleat/internal/tracing"
)

// Config of a Pool. ID, Dir and Log must be set.
type Config struct {
	// ID is unique, and the same after a restart, so that the leases of the process before are released at once.
	ID pleat.WorkerID
	// Class is the worker's class; empty: pleat.DefaultClass.
	Class string
	// ClusterJob is the job of a cluster that this process is, see pleat.Worker; empty: none.
	ClusterJob string
	// Life bounds how long the worker lives.
	Life Life
	// Host is the machine's name, and Devices are its accelerators, as the list of workers shows them.
	Host    string
	Devices []pleat.Device
	// Dir is the scratch folder of this process alone. Run empties it.
	Dir string
	// Slots is how many tasks of one kind run at once; 0: 1. MSA searches have slots of their own, and engines that use
	// accelerators count those instead.
	Slots int
	// Memory bounds, in bytes, what the tasks in the slots may be expected to use together; 0: unlimited.
	Memory int64
	// Timeout of a run; 0: pleat.MaxRunTime. A run that takes longer fails, counting its attempt and the earlier ones
	// that yielded.
	Timeout time.Duration
	// Turn is how long a simulation keeps its slot before it may have to yield to another user's task; 0: a minute.
	Turn time.Duration
	// Ahead is how long a task that was claimed ahead waits for its accelerator before it returns to its queue;
	// 0: 20 s.
	Ahead time.Duration
	// ArchiveURLs are where structures come from that workflows name by an id.
	ArchiveURLs archive.URLs
	// Aligner makes alignments; nil: the worker makes no MSA searches. New connects it to the blob store.
	Aligner *msa.Finder
	// Alignments says whether the worker makes MSA searches, folds, or both; empty: both.
	Alignments pleat.Alignments
	// KeepAlignments is how long alignments are kept for further jobs; 0: for ever.
	KeepAlignments time.Duration
	// Tune says that this process tunes the database, if it reaches one; see ops.Store.Tune.
	Tune bool
	// Disk tells when too little space is free to start follow-ups; nil: they always start.
	Disk *blob.Disk
	// Tracer begins the spans of attempts; nil: there are none.
	Tracer *tracing.Tracer
	Clock  func() time.Time // nil: the machine's
	Log    *slog.Logger
}

// Pool is one worker. Make it with New or NewRemote, then call Run.
type Pool struct {
	cfg     Config
	service Service
	files   Files
	engines *engine.Registry
	models  map[string]pleat.Model // by queue
	leases  *queue.Leases
	terms   pleat.WorkerTerms // set when the worker is registered

	// upkeep is what a worker that reaches the database does besides its tasks; nil: nothing.
	upkeep *Upkeep

	// searches are the queues in which folds wait for an MSA search, and that of alignments; empty if there are none.
	searches engine.Group

	// sharing logs that pauses of servers of alignments cannot be shared. One search runs at a time: it needs no lock.
	sharing queue.Fault

	// claiming is held while tasks are claimed: two slot groups share the memory, and must not both claim the rest.
	claiming sync.Mutex

	life life

	mu      sync.Mutex
	running map[*runningTask]bool
	paces   map[string]float64 // seconds that the last computation of a queue took, by runningTask.size

	ready chan struct{} // closed once the service knows the worker
}

// New makes a Pool that reaches the database and the artifact store itself, and does the upkeep of the service too. It
// serves the queues of the engines. The caller closes the store, the blobs and the engines after Run has returned.
func New(cfg Config, s *store.Store, b blob.Store, e *engine.Registry) *Pool {
	files := blob.NewMonitor(b, cfg.Log)
	files.CompareWith(s.Runs.StoredFile)
	p := NewRemote(cfg, NewDirect(s.DB, s.People, s.Runs, s.Workers), DirectFiles{files}, e)
	p.upkeep = &Upkeep{
		Store:          s,
		Blobs:          files,
		Worker:         cfg.ID,
		MaxTime:        p.cfg.Timeout,
		Disk:           cfg.Disk,
		KeepAlignments: cfg.KeepAlignments,
		Tune:           cfg.Tune,
		Tracer:         cfg.Tracer,
		Clock:          p.cfg.Clock,
		Log:            cfg.Log,
	}
	return p
}

// NewRemote makes a Pool that knows only the service and its files, which a server may stand for. The caller closes the
// engines after Run has returned.
func NewRemote(cfg Config, service Service, files Files, e *engine.Registry) *Pool {
	cfg.Class = cmp.Or(cfg.Class, pleat.DefaultClass)
	if cfg.Slots == 0 {
		cfg.Slots = 1
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = pleat.MaxRunTime
	}
	if cfg.Turn == 0 {
		cfg.Turn = time.Minute
	}
	if cfg.Ahead == 0 {
		cfg.Ahead = aheadTime
	}
	cfg.Clock = clock.Or(cfg.Clock)
	p := &Pool{
		cfg:     cfg,
		service: service,
		files:   files,
		engines: e,
		models:  map[string]pleat.Model{},
		leases:  queue.NewLeases(service, cfg.ID, cfg.Clock, cfg.Log),
		running: map[*runningTask]bool{},
		paces:   map[string]float64{},
		life:    newLife(cfg.Life, cfg.Clock()),
		ready:   make(chan struct{}),
		sharing: queue.Fault{What: "pauses of alignment servers cannot be shared; another worker may query one"},
	}
	for _, m := range p.offeredModels() {
		p.models[pleat.Queue(m.Kind, m.Name)] = m
		if m.Kind == pleat.TaskAlign {
			p.searches.Queues = append(p.searches.Queues, pleat.Queue(m.Kind, m.Name))
		}
		if m.Kind == pleat.TaskFold && m.Has(pleat.FeatureMSA) && p.makesSearches() {
			p.models[pleat.SearchQueue(m.Name)] = m
			p.searches.Queues = append(p.searches.Queues, pleat.SearchQueue(m.Name))
		}
	}
	p.joinAligner()
	return p
}

// Run works until ctx ends, then stops the running tasks, returns them to the queue and returns. When the worker drains
// it returns as soon as its tasks have ended. It fails only if the scratch folder cannot be made, or if the service
// refuses the worker; while the database or the server is away it waits.
func (p *Pool) Run(ctx context.Context) error {
	if err := sandbox.RemoveAll(p.cfg.Dir); err != nil {
		return fmt.Errorf("empty the scratch folder: %w", err)
	}
	if ok, err := p.register(ctx); !ok {
		return err
	}
	run, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	var duties, tasks, claims sync.WaitGroup
	duties.Go(func() { p.leases.Run(run) })
	duties.Go(func() { p.watch(run) })
	duties.Go(func() { p.probeArtifacts(run) })
	if p.upkeep != nil {
		s := p.upkeep.Store
		poller := queue.NewPoller(s.DB, s.Runs, p.cfg.Clock, p.cfg.Log, p.leases.RenewNow)
		duties.Go(func() { poller.Run(run) })
		duties.Go(func() { p.upkeep.Run(run) })
	}
	duties.Go(func() { p.watchLife(run) })
	claiming, endClaims := context.WithCancel(ctx)
	defer endClaims()
	for _, g := range p.slotGroups() {
		claims.Go(func() { p.claim(claiming, run, &tasks, g) })
		if g.Pool != nil {
			duties.Go(func() { p.turns(run, g) })
		}
	}
	select {
	case <-ctx.Done():
	case <-p.life.draining:
	}
	endClaims()
	claims.Wait()
	if ctx.Err() == nil {
		p.finishTasks(ctx, run, &tasks)
	}
	p.leases.CancelAll(engine.ErrShutdown)
	p.reportStopped(run)
	tasks.Wait()
	stop(engine.ErrShutdown)
	duties.Wait()
	p.awaitSearches()
	return nil
}

// Ready is closed once Run has made the worker's models known, so that jobs for them are accepted, or has failed at it
// for the first time: a server must not wait for a database that takes no changes, whose results it can serve.
func (p *Pool) Ready() <-chan struct{} { return p.ready }

// register makes the scratch folder and makes the service know this worker, trying until it answers and the disk has
// room. It returns false if ctx ended first, or, with an error, if the service refuses the worker. Models that run on
// the CPU in this process can use the worker's memory, so that is the room that they offer.
func (p *Pool) register(ctx context.Context) (bool, error) {
	models := p.offeredModels()
	for i := range models {
		if models[i].Room == 0 && models[i].Device == "cpu" {
			models[i].Room = p.cfg.Memory
		}
	}
	w := pleat.Worker{
		ID:      p.cfg.ID,
		Class:   p.cfg.Class,
		Host:    p.cfg.Host,
		Queues:  p.queues(),
		Models:  models,
		Devices: p.cfg.Devices,
		Memory:  p.cfg.Memory,

		Ends:       p.cfg.Life.Ends,
		ClusterJob: p.cfg.ClusterJob,
	}
	var refusal error
	tried := sync.OnceFunc(func() { close(p.ready) })
	ok := queue.Retry(ctx, p.cfg.Log, "worker cannot register", func() (err error) {
		defer tried()
		if err = os.MkdirAll(p.cfg.Dir, 0o700); blob.DiskFull(err) {
			return err
		} else if err != nil {
			refusal = fmt.Errorf("make the scratch folder: %w", err)
			return nil
		}
		p.terms, err = p.service.RegisterWorker(ctx, w)
		switch pleat.CodeOf(err) {
		case pleat.CodeUnavailable, pleat.CodeInternal:
			return err
		}
		if err != nil {
			refusal = fmt.Errorf("the service refuses this worker: %w", err)
		}
		return nil
	})
	if refusal != nil {
		return false, refusal
	}
	p.leases.SetTerms(p.terms)
	return ok, nil
}

// queues lists the queues that the worker serves.
func (p *Pool) queues() []string {
	if p.cfg.Alignments == pleat.AlignmentsOnly {
		return slices.Clone(p.searches.Queues)
	}
	return append(p.engines.Queues(), p.searches.Queues...)
}

// watch reports that the worker is alive, stops the tasks that their owners cancel, and drains the worker when the
// service asks for that, until ctx ends.
func (p *Pool) watch(ctx context.Context) {
	fault := queue.Fault{What: "worker cannot report that it is alive"}
	for ctx.Err() == nil {
		orders, err := p.service.WatchWorker(ctx, p.cfg.ID)
		switch {
		case err == nil:
			fault.Over(p.cfg.Log)
		case ctx.Err() == nil:
			fault.Warn(p.cfg.Log, err)
			queue.Sleep(ctx, queue.PollInterval)
		}
		for _, id := range orders.Cancel {
			p.leases.Cancel(id, queue.ErrStopped)
		}
		if orders.Drain {
			p.Drain("the service asks for it")
			p.leases.RenewNow() // where the service has ended the session, the leases have ended too
		}
	}
}

// reportStopped records that the worker ends. If the database is away, the worker counts as silent instead.
func (p *Pool) reportStopped(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := p.service.StopWorker(ctx, p.cfg.ID); err != nil {
		p.cfg.Log.Warn("worker cannot report that it ends", "worker", p.cfg.ID, "error", err)
	}
}

const (
	// stopTimeout is how long a worker that ends waits for the database.
	stopTimeout = 5 * time.Second
	// probeInterval is the time between probes of an artifact store that fails.
	probeInterval = 5 * time.Second
)

// probeArtifacts looks whether the artifact store works again, while it fails: nothing is claimed meanwhile, so that no
// task would show it.
func (p *Pool) probeArtifacts(ctx context.Context) {
	for queue.Sleep(ctx, probeInterval) {
		if p.files.Failing() {
			_ = p.files.Probe(ctx) // the monitor keeps and logs the error
		}
	}
}
