package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"pleat"
	"pleat/internal/archive"
	"pleat/internal/config"
	"pleat/internal/deliver"
	"pleat/internal/mcp"
	"pleat/internal/queue"
	"pleat/internal/server"
	"pleat/internal/server/route"
	"pleat/internal/store/db"
	"pleat/internal/telemetry"
	"pleat/internal/ui"
	"pleat/internal/webhook"
	"pleat/internal/work"
)

// Options are for those who run a server or a worker inside another program, such as the demonstration, the benchmarks
// and the tests. A worker reads Recent and MiniSteps alone.
type Options struct {
	// Ready, if set, is called once the server listens, with the URL at which this machine reaches it.
	Ready func(a *App, url string)
	// DeliveryStep, if set, is called with the name of each step of a delivery. Crash tests end the process there.
	DeliveryStep func(name string)
	// MiniSteps is the length of the trajectories of the engine mini, for tests that need no accuracy; 0: the whole
	// length.
	MiniSteps int
	// Recent, if set, has the last lines of the log, for callers of the metrics address with the token.
	Recent *telemetry.RecentLog
}

// Serve runs a server until ctx ends, and then lets it and the work in progress end in order. It works on jobs and
// delivers webhooks in the same process, unless the configuration turns that off. It returns nil after an orderly end;
// an error of one part ends the others and is returned.
func Serve(ctx context.Context, c config.Config, log *slog.Logger, opt Options) error {
	// First, so that a server that cannot listen changes nothing. A client that connects waits until the server is
	// ready.
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return listenError("--addr", c.Addr, err)
	}
	defer l.Close()
	metrics, err := listenMetrics(ctx, c, log)
	if err != nil {
		return err
	}
	defer metrics.close()
	a, err := openServer(ctx, c, log, opt)
	if err != nil {
		return err
	}
	defer a.close()
	if c.Work && a.class.Isolation == pleat.IsolationUser {
		return UsageError{errors.New("the class default has isolation user, so that its workers end with their user: " +
			"run them apart, and the server with --work=false")}
	}
	announced := a.announce(ctx)
	if announced != nil && !db.TakesNoChanges(announced) {
		return announced
	}
	local := config.LocalURL(l.Addr().String())
	public := c.PublicURL
	if public == "" {
		public = local
	}
	guard, err := c.WebhookGuard()
	if err != nil {
		return err
	}
	deliverer, sender, err := a.newDeliverer(guard, public, opt.DeliveryStep)
	if err != nil {
		return err
	}
	defer sender.Close()
	mailer, err := a.newMailer(public)
	if err != nil {
		return err
	}
	s, err := a.newServer(l.Addr(), public, guard, deliverer)
	if err != nil {
		return err
	}
	// An error of one part ends the others.
	group, ctx := errgroup.WithContext(ctx)
	if announced != nil { // what the database has can be served
		group.Go(func() error {
			queue.Retry(ctx, log, "the server cannot announce itself", func() error { return a.announce(ctx) })
			return nil
		})
	}
	if c.Work {
		pool, err := a.pool()
		if err != nil {
			return err
		}
		group.Go(func() error {
			if err := pool.Run(ctx); err != nil || ctx.Err() != nil {
				return err
			}
			// An operator has drained the worker. The server goes on, as one without a worker.
			return a.keepUp(ctx, group)
		})
		select { // once the server listens, it must accept jobs for its models, if the database takes them
		case <-pool.Ready():
		case <-ctx.Done():
			return group.Wait()
		}
	} else if err := a.keepUp(ctx, group); err != nil {
		return err
	}
	if c.Deliver {
		group.Go(func() error { return deliverer.Run(ctx) })
	}
	if mailer != nil {
		group.Go(func() error { return mailer.Run(ctx) })
	}
	group.Go(func() error { return s.Serve(ctx, l) })
	group.Go(func() error {
		s.KeepGrants(ctx)
		return nil
	})
	endpoint := s.Endpoint()
	endpoint.Recent = opt.Recent
	group.Go(func() error { return metrics.serve(ctx, endpoint) })
	group.Go(func() error {
		returnMemory(ctx, a.Store, log)
		return nil
	})
	log.Info("serving", "version", pleat.Version, "address", l.Addr().String(), "public", public,
		"database", a.Store.DB.Dialect(), "work", c.Work)
	if opt.Ready != nil {
		opt.Ready(a, local)
	}
	return logEnd(log, group.Wait())
}

// announce stores what a server tells the service when it starts: its classes, and that it could not hear the workers
// that call servers.
func (a *App) announce(ctx context.Context) error {
	if err := a.Store.DB.TryChange(ctx); err != nil { // the rest may have nothing to change
		return err
	}
	if err := a.publishClasses(ctx); err != nil {
		return err
	}
	return a.Store.Runs.ExtendLeases(ctx, 2*pleat.RemoteHeartbeatInterval)
}

// keepUp does in a server without a worker what a worker with a database does besides its tasks: all workers of the
// service may be ones that call servers.
func (a *App) keepUp(ctx context.Context, group *errgroup.Group) error {
	id, err := a.node()
	if err != nil {
		return err
	}
	upkeep := work.Upkeep{
		Store:          a.Store,
		Blobs:          a.blobs,
		Worker:         id,
		MaxTime:        seconds(a.cfg.MaxSeconds),
		Disk:           a.disk,
		KeepAlignments: days(a.cfg.MSAKeep),
		Tune:           a.cfg.Migrate,
		Clock:          time.Now,
		Tracer:         a.traces.Tracer(),
		Log:            a.log,
	}
	group.Go(func() error {
		upkeep.Run(ctx)
		return nil
	})
	if !a.cfg.Deliver { // else the deliverer does
		group.Go(func() error {
			queue.NewPoller(a.Store.DB, a.Store.Runs, time.Now, a.log, func() {}).Run(ctx)
			return nil
		})
	}
	return nil
}

// logEnd logs the orderly end of a process, and returns its error.
func logEnd(log *slog.Logger, err error) error {
	if err == nil {
		log.Info("stopped")
	}
	return err
}

// newServer returns the HTTP server that listens at addr, with the page, the metrics of deliveries and the guard of
// their addresses.
func (a *App) newServer(
	addr net.Addr, public string, guard *webhook.Guard, deliverer *deliver.Pool,
) (*server.Server, error) {
	c := a.cfg
	trusted, err := c.TrustedProxies()
	if err != nil {
		return nil, err
	}
	issuer, err := newIssuer(c)
	if err != nil {
		return nil, err
	}
	tcp, _ := addr.(*net.TCPAddr)
	return server.New(server.Config{
		Config: route.Config{
			PublicURL:      public,
			Hosts:          c.Hosts,
			AgentOrigins:   c.MCPOrigins,
			MaxBody:        int64(c.MaxBody),
			Rate:           c.Rate,
			TrustedProxies: trusted,
		},
		MetricsToken: c.Metrics,
		// A proxy on this machine makes its callers' connections look local.
		OpenMetrics:  tcp != nil && tcp.IP.IsLoopback() && len(trusted) == 0,
		IngestSecret: c.Ingest,
		ArchiveURLs:  archive.URLs{PDB: c.PDBURL, UniProt: c.UniProtURL},
		MaxTime:      seconds(c.MaxSeconds),
		Login:        loginConfig(c),
		Mails:        c.MailURL != "",
	}, server.Deps{
		Store:   a.Store,
		Blobs:   a.blobs,
		Ring:    a.ring,
		Log:     a.log,
		UI:      ui.Handler(),
		Docs:    ui.Docs,
		Guard:   guard,
		Disk:    a.disk,
		Tracer:  a.traces.Tracer(),
		Figures: deliverer.Collectors(),
		Issuer:  issuer,
		Agents: func(service http.Handler, stop <-chan struct{}) http.Handler {
			return mcp.Handler(mcp.Service{
				Handler: service,
				URL:     public,
				Stop:    stop,
				Log:     a.log,
				Clock:   time.Now,
			})
		},
		Installable: installable(c),
	})
}

// Work runs a worker until ctx ends, and then returns unfinished tasks to their queues. At a bound of its life, or
// after a value on drain, it ends when its tasks have ended. The worker checks and migrates the database as a server
// does, and needs no server to run, only the same database and artifacts; or it calls a server and needs nothing else.
func Work(
	ctx context.Context, c config.Config, log *slog.Logger, life work.Life, drain <-chan os.Signal, opt Options,
) error {
	metrics, err := listenMetrics(ctx, c, log)
	if err != nil {
		return err
	}
	defer metrics.close()
	cluster, err := enterClusterJob(&c)
	if err != nil {
		return err
	}
	if c.WorkerServer != "" {
		a := &App{cfg: c, log: log, recent: opt.Recent, steps: opt.MiniSteps, cluster: cluster, life: life}
		return workRemotely(ctx, a, metrics, drain)
	}
	a, err := open(ctx, c, log, true, opt)
	if err != nil {
		cluster.clean(log)
		return err
	}
	defer a.close()
	a.cluster, a.life = cluster, life
	a.boundLife()
	pool, err := a.pool()
	if err != nil {
		return err
	}
	log.Info("working", "version", pleat.Version, "database", a.Store.DB.Dialect(), "slots", c.Slots)
	return logEnd(log, a.work(ctx, pool, metrics, a.workerEndpoint(), drain))
}

// boundLife adds the bounds that the worker's class sets.
func (a *App) boundLife() {
	if a.life.IdleExit == 0 {
		a.life.IdleExit = a.class.IdleExit
	}
	a.life.OneUser = a.class.Isolation == pleat.IsolationUser
}

// work runs a worker until ctx ends, or until it has drained.
func (a *App) work(
	ctx context.Context, pool *work.Pool, metrics metricsListener, e *telemetry.Endpoint, drain <-chan os.Signal,
) error {
	group, ctx := errgroup.WithContext(ctx)
	ctx, end := context.WithCancel(ctx)
	group.Go(func() error {
		defer end() // a worker that has drained ends the process
		return pool.Run(ctx)
	})
	group.Go(func() error {
		select {
		case <-drain:
			pool.Drain("the signal SIGUSR1")
		case <-ctx.Done():
		}
		return nil
	})
	group.Go(func() error { return metrics.serve(ctx, e) })
	group.Go(func() error {
		returnMemory(ctx, a.Store, a.log)
		return nil
	})
	return group.Wait()
}

// listenError returns an error that shows the address and the cause without the network's own words.
func listenError(flag, address string, err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return fmt.Errorf("cannot listen on %s: %w; choose another with %s", address, err, flag)
}

// hostOf returns the host of a URL that was checked. It has no user or password, so it may be logged.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}
