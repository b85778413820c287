// Package server is the HTTP face of the service: it reads requests, asks the store, and writes what api describes.
//
// It owns routes, credentials, signed links, streams, the OpenAPI document and the page that renders it. It must not
// execute work, hold state that another node would need, or know SQL: two servers on one database are one service.
// Requests are decoded by api.Decode, so that every sentence about a bad one is ours; huma's registry makes the OpenAPI
// document from the same types.
//
// Package openapi, in a folder of this one, makes the document.
//
//	server.go            Config, New, Serve
//	routes.go            what a route is; the mux
//	routes_jobs.go       routes of fold jobs and models
//	routes_workflows.go  routes of workflows and the library
//	routes_webhooks.go   routes of webhooks
//	routes_service.go    routes of keys, sessions and operation
//	middleware.go        what wraps every request: request id, log, panics, 404 and 405, rate limit
//	call.go              one request: body in, response out
//	errors.go            the mapping of errors to HTTP
//	auth.go              keys, sessions, who may see a job
//	create.go            POST /v1/jobs and runs
//	validate.go          POST /v1/jobs/validate
//	exchange.go          import and export of other programs' files
//	align.go             alignments of a library item that a job uses
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

// Config is what a server must know. The zero value of each field but PublicURL serves.
type Config struct {
	// where the world reaches it, such as https://fold.example.org; links are made of it, never of Host
	PublicURL    string
	Hosts        []string // further names under which browsers may use their cookie; loopback always counts
	Quota        int      // creations per user and day (UTC), where the user has no quota of their own; 0: 30
	MaxBody      int64    // bytes of a job's body; 0: 10 MB
	CacheBytes   int64    // for encoded results; 0: 16 MiB, negative: none
	Streams      int      // open event streams per caller; 0: 32
	Rate         float64  // requests per second and caller; 0: unlimited
	Burst        int      // how many of those may come at once; 0: twice Rate
	MetricsToken string   // bearer token that /metrics demands; empty: none
	IngestSecret string   // what POST /v1/webhooks/events/ingest demands; empty: it refuses everything
	FetchPDB     bool     // whether workflows may name an entry of the Protein Data Bank, which a worker fetches
	// whether workflows may name a UniProt accession, whose predicted structure a worker fetches
	FetchUniProt bool
	LibraryQuota int64         // bytes that a user's library may hold; 0: 1 GiB
	LinkFor      time.Duration // how long a link to a private artifact lives at most: 2 to 24 h; 0: 24 h

	StreamHeartbeat time.Duration // between comments on an event stream, when its access is checked again; 0: 15 s
	StreamPoll      time.Duration // between reads of an event stream that is not woken; 0: 1 s
}

// Server answers HTTP. Make one with New; it is safe for many goroutines.
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

	hosts    map[string]bool
	handler  http.Handler
	document []byte // OpenAPI
	docs     []byte // the page of it
	cache    *cache
	resolver *submit.Resolver // decisions that workers share
	limits   *limiter
	streams  streamCount
	checks   chan struct{} // bounds looks at uploaded files
	meters   *meters
	touched  touched
	good     good
	probe    probe

	stop     chan struct{} // closed when streams must end
	stopOnce sync.Once
}

// Deps are what a server works with. Clock and Log may be nil; UI, if set, serves / and /ui/.
type Deps struct {
	Store *store.Store
	Blobs blob.Store
	Ring  *seal.Ring
	Clock func() time.Time
	Log   *slog.Logger
	UI    http.Handler
	Guard *webhook.Guard // where webhooks may go; nil: public addresses over https
	// Figures are shown by /metrics beside the server's own.
	Figures []prometheus.Collector
}

// New makes a server.
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

// Handler is the whole service as a handler.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve answers on a listener until ctx ends, then lets what is in progress finish, for 10 s at most.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler: s.handler,
		// Streams and downloads lift their own deadlines as they go.
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
			s.flushTouched(ctx)
		case <-ctx.Done():
			grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			err := srv.Shutdown(grace)
			if err != nil {
				_ = srv.Close()
			}
			if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
				s.log.Warn("the listener did not end well", "error", end)
			}
			s.flushTouched(grace)
			if errors.Is(err, context.DeadlineExceeded) {
				err = nil // whoever was still reading has had the time agreed
			}
			return err
		}
	}
}

// EndStreams ends all event streams; their readers reconnect elsewhere.
func (s *Server) EndStreams() { s.stopOnce.Do(func() { close(s.stop) }) }

// touched collects when keys were used, so that it costs a write every few seconds and not one per request.
type touched struct {
	mu   sync.Mutex
	keys map[pleat.KeyID]time.Time
}

func (t *touched) note(k pleat.KeyID, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keys == nil {
		t.keys = map[pleat.KeyID]time.Time{}
	}
	t.keys[k] = at
}

func (s *Server) flushTouched(ctx context.Context) {
	s.touched.mu.Lock()
	keys := s.touched.keys
	s.touched.keys = nil
	s.touched.mu.Unlock()
	if len(keys) == 0 {
		return
	}
	if err := s.store.TouchKeys(ctx, keys); err != nil {
		s.log.Warn("could not note when keys were used", "err", err)
	}
}
