// Package server is the HTTP interface of the service: it reads requests, calls the store, and writes the types of api.
//
// It owns routes, credentials, signed links and event streams. It must not execute work, hold state that another node
// would need, or know SQL: two servers on one database are one service. Decisions about new runs are in package
// submit. api.Decode reads requests, so that every error message is the service's own; package openapi makes the
// OpenAPI document from the same types.
//
//	server.go            Config, New, Serve
//	routes.go            what a route is; the mux
//	routes_jobs.go       routes of fold jobs and models
//	routes_workflows.go  routes of workflows and the library
//	routes_webhooks.go   routes of webhooks
//	routes_service.go    routes of keys, sessions and operation
//	middleware.go        what wraps every request: request id, log, panics, 404 and 405, rate limit
//	call.go              one request: body in, response out
//	query.go             query parameters; lists in pages
//	errors.go            the mapping of errors to HTTP
//	auth.go              keys, sessions, who may see a job
//	create.go            POST /v1/jobs and runs
//	validate.go          POST /v1/jobs/validate
//	exchange.go          import and export of other programs' files
//	job.go               lists, one job, cancel, visibility, deletion
//	result.go            results and their cache
//	artifact.go          signed links and files
//	workflow.go          workflows: create, execute, change
//	flowview.go          workflows: read, list, linked rows
//	frame.go             a frame of a simulation as a structure
//	library.go           the callers' files, and links to them
//	upload.go            uploads and what they may hold
//	stream.go            server-sent events
//	webhook.go           endpoints, subscriptions, deliveries, ingest
//	account.go           keys, quota, session, models
//	docs.go              GET /openapi.json and /docs
//	operate.go           health, readiness, metrics
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/seal"
	"pleat/internal/server/openapi"
	"pleat/internal/store"
	"pleat/internal/submit"
	"pleat/internal/webhook"
)

// Config configures a server. The zero value of every field but PublicURL is a usable default.
type Config struct {
	// such as https://fold.example.org; links start with it, never with the Host header
	PublicURL string
	// further host names under which browsers may use their cookie, besides PublicURL's and loopback
	Hosts        []string
	Quota        int     // job creations per user and day (UTC), unless the user has an own quota; 0: 30
	MaxBody      int64   // bytes of a large request body; 0: 10 MB
	CacheBytes   int64   // of the cache of encoded results; 0: 16 MiB, negative: no cache
	Streams      int     // open event streams per caller; 0: 32
	Rate         float64 // requests per second and caller; 0: unlimited
	Burst        int     // requests that may come at once; 0: twice Rate
	MetricsToken string  // bearer token that /metrics demands; empty: it is open
	IngestSecret string  // secret that POST /v1/webhooks/events/ingest demands; empty: it refuses every request
	FetchPDB     bool    // whether workflows may name an entry of the Protein Data Bank, which a worker fetches
	// whether workflows may name a UniProt accession, whose predicted structure a worker fetches
	FetchUniProt bool
	LibraryQuota int64         // bytes that a user's library may hold; 0: 1 GiB
	LinkFor      time.Duration // how long a link to a private artifact lives at most: 2 to 24 h; 0: 24 h

	StreamHeartbeat time.Duration // between comments on an event stream, when its access is checked again; 0: 15 s
	StreamPoll      time.Duration // between reads of an event stream that is not woken; 0: 1 s
}

// Server serves HTTP. Create it with New; it is safe for many goroutines.
type Server struct {
	cfg    Config
	public *url.URL
	store  *store.Store
	blobs  blob.Store
	ring   *seal.Ring
	links  seal.Links
	guard  *webhook.Guard
	clock  func() time.Time
	log    *slog.Logger

	hosts     map[string]bool
	handler   http.Handler
	document  []byte // OpenAPI
	docs      []byte // the page of it
	cache     *cache
	resolver  *submit.Resolver // decisions that workers share
	limits    *limiter
	streams   streamCount
	checks    chan struct{} // semaphore: uploaded files that are checked at once
	meters    *meters
	keyUsage  keyUsage
	validKeys validKeys
	probe     probe

	stop     chan struct{} // closed when event streams must end
	stopOnce sync.Once
}

// Deps are the dependencies of a server. Store, Blobs and Ring are required.
type Deps struct {
	Store *store.Store
	Blobs blob.Store
	Ring  *seal.Ring
	Clock func() time.Time // nil: time.Now
	Log   *slog.Logger     // nil: nothing is logged
	UI    http.Handler     // serves / and /ui/; nil: / is a line of HTML
	Guard *webhook.Guard   // which addresses webhooks may use; nil: public ones, over https
	// Figures are further metrics that /metrics shows.
	Figures []prometheus.Collector
}

// New creates a server. It fails if cfg.PublicURL is not an http or https URL.
func New(cfg Config, d Deps) (*Server, error) {
	u, err := url.Parse(cfg.PublicURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" ||
		u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("the public address is %q; it must look like https://fold.example.org", cfg.PublicURL)
	}
	defaults(&cfg)
	s := &Server{
		cfg:    cfg,
		public: u,
		store:  d.Store,
		blobs:  d.Blobs,
		ring:   d.Ring,
		clock:  d.Clock,
		log:    d.Log,
		stop:   make(chan struct{}),
		checks: make(chan struct{}, uploadChecks),
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.cfg.PublicURL = strings.TrimRight(cfg.PublicURL, "/")
	s.links = seal.Links{Ring: d.Ring, Base: s.cfg.PublicURL, For: cfg.LinkFor}
	s.hosts = map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true, strings.ToLower(u.Hostname()): true}
	for _, h := range cfg.Hosts {
		s.hosts[strings.ToLower(h)] = true
	}
	s.cache = newCache(cfg.CacheBytes)
	s.limits = newLimiter(cfg.Rate, cfg.Burst)
	if s.guard = d.Guard; s.guard == nil {
		s.guard = webhook.NewGuard(nil, nil, nil)
	}
	s.resolver = &submit.Resolver{
		Store:        s.store,
		Blobs:        s.blobs,
		Guard:        s.guard,
		Ring:         s.ring,
		FetchPDB:     cfg.FetchPDB,
		FetchUniProt: cfg.FetchUniProt,
	}
	s.meters = newMeters(s)
	s.meters.registry.MustRegister(d.Figures...)
	routes := allRoutes()
	if s.document, err = document(s.cfg.PublicURL, routes); err != nil {
		return nil, fmt.Errorf("make the OpenAPI document: %w", err)
	}
	if s.docs, err = openapi.Page(s.document); err != nil {
		return nil, fmt.Errorf("make /docs: %w", err)
	}
	s.handler = s.mux(routes, d.UI)
	return s, nil
}

// defaults fills in the zero fields of a Config.
func defaults(cfg *Config) {
	set := func(p *int64, v int64) {
		if *p == 0 {
			*p = v
		}
	}
	set(&cfg.MaxBody, 10_000_000)
	set(&cfg.CacheBytes, 16<<20)
	set(&cfg.LibraryQuota, 1<<30)
	if cfg.Quota == 0 {
		cfg.Quota = 30
	}
	if cfg.Streams == 0 {
		cfg.Streams = 32
	}
	if cfg.Burst == 0 {
		cfg.Burst = max(1, int(2*cfg.Rate))
	}
	if cfg.StreamHeartbeat == 0 {
		cfg.StreamHeartbeat = 15 * time.Second
	}
	if cfg.StreamPoll == 0 {
		cfg.StreamPoll = time.Second
	}
	if cfg.LinkFor == 0 {
		cfg.LinkFor = 24 * time.Hour
	}
	cfg.LinkFor = min(max(cfg.LinkFor, 2*time.Hour), 24*time.Hour)
}

// Handler returns the handler of all routes.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve serves requests of a listener until ctx ends, then waits up to 10 s for those in progress. It returns nil
// after an orderly shutdown.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler: s.handler,
		// Streams and downloads extend their own deadlines.
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       60 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	srv.RegisterOnShutdown(s.EndStreams)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
			s.flushKeyUsage(ctx)
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
			s.flushKeyUsage(grace)
			if errors.Is(err, context.DeadlineExceeded) {
				err = nil // requests that were still in progress had their time
			}
			return err
		}
	}
}

// EndStreams ends all event streams; their clients reconnect to another node.
func (s *Server) EndStreams() { s.stopOnce.Do(func() { close(s.stop) }) }

// keyUsage collects when keys were used, so that one write every few seconds records it instead of one per request.
type keyUsage struct {
	mu   sync.Mutex
	keys map[pleat.KeyID]time.Time
}

// record notes that a key was used.
func (t *keyUsage) record(k pleat.KeyID, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keys == nil {
		t.keys = map[pleat.KeyID]time.Time{}
	}
	t.keys[k] = at
}

// flushKeyUsage writes the collected uses to the store; those of a write that fails are dropped.
func (s *Server) flushKeyUsage(ctx context.Context) {
	s.keyUsage.mu.Lock()
	keys := s.keyUsage.keys
	s.keyUsage.keys = nil
	s.keyUsage.mu.Unlock()
	if len(keys) == 0 {
		return
	}
	if err := s.store.TouchKeys(ctx, keys); err != nil {
		s.log.Warn("cannot record when keys were used", "err", err)
	}
}
