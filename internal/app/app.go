// Package app builds the running program from a configuration: the database, the blob store, the engines, the server,
// the worker pool and the delivery worker.
//
// It is used by the commands in internal/cli and by cmd/pleat-bench. It owns the order in which parts are opened and
// closed, and the locks that keep processes on one data folder apart. It must not parse a command line, and it must not
// hold rules of the service: those are in the packages that it puts together.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pleat"
	"pleat/internal/archive"
	"pleat/internal/blob"
	"pleat/internal/config"
	"pleat/internal/engine"
	"pleat/internal/msa"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/store/db"
	"pleat/internal/store/ops"
	"pleat/internal/store/webhooks"
	"pleat/internal/telemetry"
	"pleat/internal/work"
)

// App is a process that serves, works or both: the parts that both share, and the locks that it holds. Serve and Work
// make and close one; Options.Ready shows it to a program around the server.
type App struct {
	Store *store.Store

	cfg     config.Config
	log     *slog.Logger
	recent  *telemetry.RecentLog // the last lines of the log; nil: none are kept
	blobs   *blob.Monitor
	ring    *seal.Ring
	disk    *blob.Disk
	engines *engine.Registry // nil if this process does not work
	devices []pleat.Device   // of the engines
	class   pleat.Class      // of the worker; empty if this process does not work
	life    work.Life        // of the worker
	cluster clusterJob       // that this process is
	traces  *telemetry.Traces
	steps   int // of the engine mini, see Options.MiniSteps

	id       pleat.WorkerID
	identity *lockFile // holds id
	server   *lockFile // of an SQLite database that this process serves
}

// open opens the artifacts, the database and the secret keys of a node, and those of a worker its engines. It migrates
// the database only when everything else was found to be right: a node that cannot start must not change the database
// under the others. A UsageError: the artifacts or the secret keys are not those of the database.
func open(ctx context.Context, c config.Config, log *slog.Logger, works bool, opt Options) (_ *App, err error) {
	a := &App{cfg: c, log: log, recent: opt.Recent, steps: opt.MiniSteps}
	a.disk = &blob.Disk{Folders: c.DiskFolders(), Least: int64(c.MinFreeDisk), Clock: time.Now, Log: log}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	if err := a.openTraces(ctx); err != nil {
		return nil, err
	}
	known, err := a.check(ctx)
	if err != nil {
		return nil, err
	}
	if err := HideSecrets(c); err != nil {
		log.Warn("the memory of this process can be read by other processes of its user", "error", err)
	}
	if works {
		if err := a.useClass(ctx); err != nil {
			return nil, err
		}
		if err := a.makeEngines(); err != nil {
			return nil, err
		}
	}
	return a, a.migrate(ctx, known)
}

// makeEngines makes the engines of the worker of this process, whose class is known.
func (a *App) makeEngines() (err error) {
	if a.class.Alignments == pleat.AlignmentsOnly {
		a.engines, err = engine.New(a.log, searched{a.class.Models})
	} else {
		a.engines, a.devices, err = newEngines(a.cfg, a.log, nil, a.steps)
	}
	return err
}

// check opens the artifacts and the database, if there is one, and compares the artifacts and the secret keys with what
// the database knows, which it returns. It changes nothing, except that it generates the key of a new service.
func (a *App) check(ctx context.Context) (known ops.Service, err error) {
	if err := a.cfg.CheckSharedKey(); err != nil {
		return known, UsageError{err}
	}
	if err := makeDataDir(a.cfg); err != nil {
		return known, err
	}
	files, err := blob.Open(ctx, a.cfg.BlobAddress())
	if err != nil {
		return known, err
	}
	a.blobs = blob.NewMonitor(files, a.log)
	seen, err := readMarkers(ctx, a.blobs) // before the database, see checkMarkers
	if err != nil {
		return known, err
	}
	if err := checkWritable(a.cfg); err != nil {
		return known, err
	}
	if _, missing := MissingDatabase(a.cfg); !missing {
		if a.Store, err = openStore(ctx, a.cfg, a.log); err != nil {
			return known, err
		}
	}
	if err := a.checkSchema(ctx); err != nil {
		return known, err
	}
	if a.Store != nil {
		if known, err = a.Store.Ops.Service(ctx); err != nil {
			return known, err
		}
	}
	if err := checkMarkers(ctx, a.cfg, a.blobs, seen, known); err != nil {
		return known, err
	}
	if a.ring, err = loadKeys(a.cfg, known); err != nil {
		return known, err
	}
	if err := checkKeys(ctx, a.cfg, a.Store, known, a.ring); err != nil {
		return known, err
	}
	if first := a.ring.Fingerprints()[0]; len(known.Secrets) > 0 && !slices.Contains(known.Secrets, first) {
		a.log.Warn("the first secret key is new to the database; nodes that do not have it cannot read what this " +
			"node signs and encrypts: to replace a key, start every node with OLD,NEW first")
	}
	return known, nil
}

// checkSchema refuses a newer schema than this program's, and an older one that this node may not migrate.
func (a *App) checkSchema(ctx context.Context) (err error) {
	version, latest := int64(0), db.Latest()
	if a.Store != nil {
		if version, err = a.Store.DB.Version(ctx); err != nil {
			return err
		}
	}
	if version < latest && !a.cfg.Migrate {
		const text = "the database is at schema %d, this pleat needs %d, and migrate is false; run: pleat migrate"
		return fmt.Errorf(text, version, latest)
	}
	return db.RefuseNewer(version)
}

// migrate brings the schema to this program's version, which creates a new database, and lets the database adopt the
// artifacts and the secret keys if it knew none.
func (a *App) migrate(ctx context.Context, known ops.Service) (err error) {
	if a.Store == nil {
		if a.Store, err = openStore(ctx, a.cfg, a.log); err != nil {
			return err
		}
	}
	from, to, err := a.Store.DB.Migrate(ctx)
	if err != nil {
		return err
	}
	if from != to {
		a.log.Info("the database was migrated", "from_version", from, "to_version", to)
	}
	if known.Artifacts == nil {
		if err := adoptFirst(ctx, a.cfg, a.Store, a.blobs); err != nil {
			return err
		}
	}
	if !slices.Equal(known.Secrets, a.ring.Fingerprints()) { // a database that takes no changes now is not changed
		err = a.Store.Ops.AgreeOnSecrets(ctx, a.ring.Fingerprints())
		if errors.Is(err, ops.ErrOtherSecrets) { // another node has started in the meantime
			return cmp.Or(CheckSecrets(ctx, a.cfg, a.Store), err)
		}
		if err != nil {
			return err
		}
	}
	return a.sealAddresses(ctx)
}

// sealAddresses seals the addresses of receivers that an earlier version has stored in the clear.
func (a *App) sealAddresses(ctx context.Context) error {
	n, err := a.Store.Webhooks.SealAddresses(ctx, func(owner pleat.ProjectID, address string) pleat.Address {
		return a.ring.SealAddress(owner, webhooks.AddressColumn, address)
	})
	if n > 0 && err == nil {
		a.log.Info("the addresses of webhook receivers were encrypted")
	}
	return err
}

// openServer is open for a server. A server of an SQLite database must be the only one, since wake-ups and rate limits
// stay in its process. The lock comes first, so that a second server changes nothing.
func openServer(ctx context.Context, c config.Config, log *slog.Logger, opt Options) (*App, error) {
	if c.Classes != "" {
		if _, err := ReadClasses(c); err != nil { // before anything changes
			return nil, err
		}
	}
	if err := makeDataDir(c); err != nil {
		return nil, err
	}
	var lock *lockFile
	if path, ok := c.SQLitePath(); ok {
		var err error
		if lock, err = lockServer(path); err != nil {
			return nil, err
		}
	}
	a, err := open(ctx, c, log, c.Work, opt)
	if err != nil {
		lock.release()
		return nil, err
	}
	a.server = lock
	return a, nil
}

// close closes what is open, in the reverse order. It serves an App that was opened in part. The locks go last: the
// next process must find the database closed.
func (a *App) close() {
	if a.engines != nil {
		a.engines.Close()
	}
	if a.Store != nil {
		if err := a.Store.DB.Close(); err != nil {
			a.log.Warn("closing the database failed", "error", err)
		}
	}
	a.traces.Close()
	a.identity.release()
	a.server.release()
	a.cluster.clean(a.log)
}

// node returns this process's worker identity, which it locks in the scratch folder at the first call.
func (a *App) node() (pleat.WorkerID, error) {
	var err error
	if a.identity == nil {
		a.id, a.identity, err = lockIdentity(a.cfg.ScratchDir())
	}
	return a.id, err
}

// pool makes this process a worker that reaches the database, with the engines that open has made.
func (a *App) pool() (*work.Pool, error) {
	cfg, err := a.workConfig()
	if err != nil {
		return nil, err
	}
	return work.New(cfg, a.Store, a.blobs, a.engines), nil
}

// workConfig returns the configuration of the worker of this process. Scratch files go into a folder of the identity,
// which the worker empties at the start.
func (a *App) workConfig() (work.Config, error) {
	id, err := a.node()
	if err != nil {
		return work.Config{}, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	scratch := filepath.Join(a.cfg.ScratchDir(), "scratch", string(id))
	aligner := newFinder(a.cfg, filepath.Join(scratch, "search"), a.log)
	if err := a.checkSearches(aligner != nil); err != nil {
		return work.Config{}, err
	}
	return work.Config{
		ID:             id,
		Class:          a.cfg.Class,
		ClusterJob:     a.cluster.name,
		Life:           a.life,
		Host:           host,
		Dir:            scratch,
		Slots:          a.cfg.Slots,
		Timeout:        seconds(a.cfg.MaxSeconds),
		Memory:         a.cfg.MemoryLimit(),
		Clock:          time.Now,
		Tracer:         a.traces.Tracer(),
		Log:            a.log,
		Disk:           a.disk,
		Devices:        a.devices,
		ArchiveURLs:    archive.URLs{PDB: a.cfg.PDBURL, UniProt: a.cfg.UniProtURL},
		Aligner:        aligner,
		KeepAlignments: days(a.cfg.MSAKeep),
		Tune:           a.cfg.Migrate,
		Alignments:     a.class.Alignments,
	}, nil
}

// checkSearches compares what the worker's class says of MSA searches with whether this process makes any. A
// UsageError: it would have nothing to do. The folds of a worker that makes no searches wait for another that does.
func (a *App) checkSearches(makes bool) error {
	switch {
	case makes:
	case a.class.Alignments == pleat.AlignmentsOnly:
		return UsageError{a.cfg.Errorf("msa-server", "and msa-command are empty, but the class %s only searches for "+
			"alignments; set one of the two", a.class.Name)}
	case a.class.Alignments == pleat.AlignmentsAlso &&
		slices.ContainsFunc(a.class.Models, func(m pleat.Model) bool { return m.AlignmentsSearched() }):
		a.log.Warn("this worker makes no MSA searches, since neither msa-server nor msa-command is set; folds wait "+
			"until another worker has searched for their alignments", "class", a.class.Name)
	}
	return nil
}

// newFinder returns what runs MSA searches, with programs in a folder below scratch; nil where none are configured. It
// logs to which host sequences are sent, so that an operator can see it.
func newFinder(c config.Config, scratch string, log *slog.Logger) *msa.Finder {
	f := &msa.Finder{
		Pairing: msa.Pairing(c.MSAPairing),
		Shared:  c.MSAShare,
		Timeout: seconds(c.MSATimeout),
		Log:     log,
	}
	switch {
	case c.MSAServer != "":
		log.Info("protein sequences are sent to an MSA server", "host", hostOf(c.MSAServer))
		f.Searcher = &msa.Server{
			URL:       c.MSAServer,
			Mode:      msa.Mode(c.MSAMode),
			Agent:     "pleat/" + pleat.Version,
			Key:       c.MSAKey,
			KeyHeader: c.MSAHeader,
			Clock:     time.Now,
		}
	case c.MSACommand != "":
		f.Searcher = &msa.Command{
			Program: c.MSACommand,
			Target:  c.MSADatabase,
			Mode:    msa.Mode(c.MSAMode),
			Threads: c.Threads,
			Scratch: scratch,
		}
	default:
		return nil
	}
	return f
}

// UsageError is an error that the command line or the configuration caused. The program then exits with the status 2.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// Settings count in seconds or days.
func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
func days(n int) time.Duration    { return time.Duration(n) * 24 * time.Hour }
