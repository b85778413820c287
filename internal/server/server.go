// Package server is the HTTP interface of the service: it puts the routes of its resources together and serves them.
//
// It must not execute work, hold state that another node would need, or know SQL: two servers on one database are one
// service. A resource is a package of its own below this one, with its routes and their handlers: jobs, flows, batches,
// library, webhooks, people, operators and service. Package route is what they share, package progress tells how runs
// get on, package signin keeps what the issuer says of people, and wire makes the types of api. Decisions about new
// runs are in package submit. api.Decode reads requests, so that every error message is the service's own; package
// openapi makes the OpenAPI document from the same types.
//
// The comment of each handler names its route, who may call it (everyone; readers of an object, who are those with a
// role in its project and, if it is public, everyone; any user, who needs a credential; the owner: who has the role in
// the project that the route needs), what it answers, and its own errors.
package server

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pleat/internal/archive"
	"pleat/internal/blob"
	"pleat/internal/clock"
	"pleat/internal/identity"
	"pleat/internal/seal"
	"pleat/internal/server/route"
	"pleat/internal/server/service"
	"pleat/internal/server/signin"
	"pleat/internal/server/workers"
	"pleat/internal/store"
	"pleat/internal/telemetry"
	"pleat/internal/tracing"
	"pleat/internal/webhook"
	"pleat/internal/workerapi"
)

// Config configures a server. The zero value of every field but PublicURL is a usable default.
type Config struct {
	route.Config // of what all routes share
	// CacheBytes bounds the cache of encoded results; 0: 16 MiB, negative: no cache.
	CacheBytes int64
	// MetricsToken is the bearer token that /metrics demands; empty: see OpenMetrics.
	MetricsToken string
	// OpenMetrics lets everyone read /metrics if there is no MetricsToken: only programs of this machine reach the
	// server. Otherwise /metrics refuses every request.
	OpenMetrics bool
	// IngestSecret is the secret that POST /v1/webhooks/events/ingest demands; empty: it refuses every request.
	IngestSecret string
	// ArchiveURLs are where structures come from that workflows and comparisons name by an id: an entry of the Protein
	// Data Bank, or a UniProt accession. Where there is none, such ids are refused. Workers fetch them for workflows,
	// the server itself for GET /v1/compare.
	ArchiveURLs archive.URLs
	// MaxTime is how long a run of a workflow may be expected to take; 0: no limit.
	MaxTime time.Duration
	// LinkFor is how long a link to a private file lives at most, 2 to 24 h; 0: 24 h. Values outside are brought to the
	// nearest bound: links are equal within an hour, so a shorter one could end right after it was made, and the
	// interface promises that no link outlives a day.
	LinkFor time.Duration
	// Login is for people who sign in by the issuer.
	Login signin.Config
	// Mails says that the service sends mails to users.
	Mails bool
}

// withDefaults returns the configuration without zero fields.
func (c Config) withDefaults() Config {
	c.Config = c.Config.WithDefaults()
	if c.CacheBytes == 0 {
		c.CacheBytes = 16 << 20
	}
	if c.LinkFor == 0 {
		c.LinkFor = 24 * time.Hour
	}
	c.LinkFor = min(max(c.LinkFor, 2*time.Hour), 24*time.Hour)
	return c
}

// Deps are the dependencies of a server. Store, Blobs and Ring are required.
type Deps struct {
	Store *store.Store
	Blobs blob.Store
	// Ring holds the keys that seal secrets and sign links. All nodes of a service need the same one.
	Ring *seal.Ring
	// Disk tells when too little space is free for new work and files; nil: there is no limit.
	Disk *blob.Disk
	// Clock returns the present time; nil: the clock of the machine.
	Clock func() time.Time
	// Log receives a line per request and the causes of faults; nil: nothing is logged.
	Log *slog.Logger
	// UI serves /, /ui/, /workflow/composer/ and /mol/; nil: / is a line of HTML.
	UI http.Handler
	// Docs makes the handler of /docs/, which calls reference for the HTML of the API reference when it is asked for;
	// nil, or where it answers nil: /docs is the reference alone. reference panics if there is a fault in the program,
	// which the server answers with 500.
	Docs func(reference func() []byte) http.Handler
	// Agents makes what answers POST /mcp from the handler of all routes, which it calls with the caller's bearer
	// token, and a channel that is closed when its answers must end soon; nil: there is no such address.
	Agents func(service http.Handler, stop <-chan struct{}) http.Handler
	// Issuer signs people in; nil: they use API keys alone.
	Issuer *identity.Issuer
	// Guard decides which addresses webhooks may use; nil: public ones, over https.
	Guard *webhook.Guard
	// Tracer begins the spans of requests; nil: there are none.
	Tracer *tracing.Tracer
	// Installable are the names of the runners that an operator can install, by their fold models.
	Installable map[string]string
	// Figures are further metrics that /metrics shows.
	Figures []prometheus.Collector
}

// Server serves HTTP. Create it with New; it is safe for many goroutines. The state that it keeps between requests only
// saves work or limits it. It can be lost at any time.
type Server struct {
	core     *route.Core
	handler  http.Handler
	service  *service.Handlers
	workers  *workers.Gateway
	logins   *signin.Logins
	registry *prometheus.Registry
	log      *slog.Logger
}

// New creates a server. It fails if the public URL is not an http or https URL. It starts no goroutine, does not use
// the store, and leaves the OpenAPI document to the first request for it.
func New(cfg Config, d Deps) (*Server, error) {
	site, err := route.NewSite(&cfg.Config)
	if err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	d.Clock = clock.Or(d.Clock)
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Guard == nil {
		d.Guard = webhook.NewGuard(nil, nil, nil)
	}
	blobs := blob.NewMonitor(d.Blobs, d.Log)
	blobs.CompareWith(d.Store.Runs.StoredFile)
	s := &Server{
		registry: newRegistry(&d, blobs),
		logins: signin.New(signin.Logins{
			Issuer: d.Issuer,
			People: d.Store.People,
			Ring:   d.Ring,
			Clock:  d.Clock,
			Log:    d.Log,
			Config: cfg.Login,
		}),
		workers: workers.New(workers.Config{
			Store:  d.Store,
			Blobs:  blobs,
			Ring:   d.Ring,
			Tracer: d.Tracer,
			Log:    d.Log,
		}),
		log: d.Log,
	}
	s.core = route.New(cfg.Config, route.Deps{
		Site:   site,
		DB:     d.Store.DB,
		People: d.Store.People,
		Runs:   d.Store.Runs,
		Logins: s.logins,
		Disk:   d.Disk,
		Meters: route.NewMeters(s.registry),
		Tracer: d.Tracer,
		Clock:  d.Clock,
		Log:    d.Log,
	})
	r := s.newResources(&cfg, &d, blobs)
	s.service = r.service
	routes := r.routes()
	s.service.Docs = service.NewDocumentation(s.core.Site().Base, routes, d.Docs)
	s.handler = s.newHandler(routes, d.UI)
	if d.Agents != nil {
		s.service.Agents = d.Agents(s.handler, s.core.Ending())
	}
	return s, nil
}

// newHandler returns the handler of all routes and of the page; nil: a line of HTML instead.
func (s *Server) newHandler(routes []route.Route, page http.Handler) http.Handler {
	m := s.core.Mux(routes)
	for _, rt := range s.service.AgentRoutes() {
		m.Handle(rt.Pattern, s.core.Serve(rt))
	}
	if page == nil {
		page = http.HandlerFunc(placeholderPage)
	} else {
		m.Handle("GET /ui/", page)
		m.Handle("GET /workflow/composer/{id}", page)
		m.Handle("GET /mol/{id}", page)
	}
	m.Handle("GET /{$}", page)
	if site := s.service.Docs.Site; site != nil {
		m.Handle("GET /docs/", site)
	} else {
		m.Handle("GET /docs/{$}", http.RedirectHandler("/docs", http.StatusFound))
	}
	m.Handle(workerapi.Path, s.workers)
	return s.core.Middleware(m)
}

// placeholderPage answers / where no page is built in.
func placeholderPage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Pleat</title>` +
		`<p>This is Pleat, a service that folds proteins. <a href="/docs">Its interface</a> is at /docs.</p></html>` +
		"\n"))
}

// newRegistry returns the metrics of a server, in a registry of its own, so that tests can have several servers in a
// process. Names and labels are part of the interface that operators use.
func newRegistry(d *Deps, blobs *blob.Monitor) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(telemetry.NewService(d.Store.DB, d.Store.Tasks, d.Store.Workers, d.Clock))
	r.MustRegister(telemetry.Process(d.Store.DB, d.Store.Runs, blobs)...)
	if d.Disk != nil {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "pleat_disk_free_bytes", Help: "Free space of the folder of data or artifacts that has least.",
		}, func() float64 {
			free, err := d.Disk.Free()
			if err != nil {
				return math.NaN()
			}
			return float64(free)
		}))
	}
	r.MustRegister(d.Figures...)
	return r
}

// Endpoint returns what serves health and metrics on an address of their own.
func (s *Server) Endpoint() *telemetry.Endpoint {
	return &telemetry.Endpoint{
		Health: s.service.Health, Metrics: s.registry, Token: s.service.MetricsToken, Log: s.log,
	}
}

// Workers returns what answers the calls of workers. Serve runs it; a program that uses Handler alone runs it too.
func (s *Server) Workers() *workers.Gateway { return s.workers }

// Handler returns the handler of all routes.
func (s *Server) Handler() http.Handler { return s.handler }

// KeepGrants asks the issuer about the people whose keys count, until ctx ends. Every node does it; each person is
// asked about once.
func (s *Server) KeepGrants(ctx context.Context) { s.logins.Keep(ctx) }

// CheckGrants asks the issuer once about the people whose keys count and about whom that is due.
func (s *Server) CheckGrants(ctx context.Context) error { return s.logins.Check(ctx) }

// EndStreams ends all event streams; their clients reconnect to another node.
func (s *Server) EndStreams() { s.core.EndStreams() }

// Serve serves requests of a listener until ctx ends, then ends the event streams and waits up to 10 s for the
// requests in progress. It returns nil after an orderly shutdown. Meanwhile it writes every 5 s when keys were used.
//
// The timeouts defend against clients that send or read slowly to hold connections; endpoints that stream extend their
// own deadlines.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       60 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    2 * route.MaxHeader,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	srv.RegisterOnShutdown(s.EndStreams)
	srv.RegisterOnShutdown(s.workers.EndWaits)
	var gateway sync.WaitGroup
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	gateway.Go(func() { s.workers.Run(run) })
	defer gateway.Wait()
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
			s.core.FlushKeyUsage(ctx)
		case <-ctx.Done():
			grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			err := srv.Shutdown(grace)
			if err != nil {
				_ = srv.Close()
			}
			if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
				s.log.Warn("the listener failed while it was closed", "error", end)
			}
			s.core.FlushKeyUsage(grace)
			if errors.Is(err, context.DeadlineExceeded) {
				err = nil // requests that were still in progress had their time
			}
			return err
		}
	}
}
