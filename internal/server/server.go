// Package server is the HTTP interface of the service: it reads requests, calls the store, and writes the types of api.
//
// It owns routes, credentials, signed links and event streams. It must not execute work, hold state that another node
// would need, or know SQL: two servers on one database are one service. Decisions about new runs are in package
// submit. api.Decode reads requests, so that every error message is the service's own; package openapi makes the
// OpenAPI document from the same types.
//
// A request passes through middleware (id, log, panics), the mux, serve (credential, deadline), serveCall (rate limit,
// access) and the endpoint of its route (body), which calls the handler. A handler returns a value, which is sent as
// JSON, or an error, which fail maps to a status and a message. Handlers check in this order: ids of the path, fields
// of the body, then what the database knows; the store checks again, in its transaction, what may have changed since.
//
// The comment of each handler names its route, who may call it (everyone; readers of an object, who are those with a
// role in its project and, if it is public, everyone; any user, who needs a credential; the owner: who has the role in
// the project that the route needs), what it answers, and its own errors.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pleat"
	"pleat/api"
	"pleat/internal/archive"
	"pleat/internal/blob"
	"pleat/internal/fair"
	"pleat/internal/identity"
	"pleat/internal/seal"
	"pleat/internal/server/workers"
	"pleat/internal/store"
	"pleat/internal/submit"
	"pleat/internal/telemetry"
	"pleat/internal/tracing"
	"pleat/internal/webhook"
)

// Config configures a server. The zero value of every field but PublicURL is a usable default.
type Config struct {
	// PublicURL is the address under which clients reach the service, such as https://fold.example.org. Links start
	// with it, never with the Host header, which any client can choose.
	PublicURL string
	// Hosts lists additional host names for which the session cookie is accepted, besides PublicURL's and loopback.
	Hosts []string
	// MaxBody bounds a large request body, in bytes; 0: api.MaxBody, which docs/interface.md promises.
	MaxBody int64
	// CacheBytes bounds the cache of encoded results; 0: 16 MiB, negative: no cache.
	CacheBytes int64
	// TrustedProxies are the networks of the proxies in front of this server, whose X-Forwarded-For is believed; none:
	// every request counts for the address that its connection comes from.
	TrustedProxies []netip.Prefix
	// Streams is how many event streams a user, or an address without a credential, may have open on this node; 0: 32.
	Streams int
	// Rate is how many requests per second a user, or an address without a credential, may send to this node; 0:
	// unlimited.
	Rate float64
	// Burst is how many requests may come at once where Rate limits them; 0: twice Rate.
	Burst int
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
	Login LoginConfig
	// Mails says that the service sends mails to users.
	Mails bool

	// StreamHeartbeat is the time between comments on an event stream, when its access is checked again; 0: 15 s, which
	// docs/interface.md promises. Clients take 45 s of silence for a broken connection.
	StreamHeartbeat time.Duration
	// StreamPoll is the time between reads of an event stream that no notification wakes; 0: 1 s. It bounds the delay
	// of events that another node wrote, if the database cannot notify.
	StreamPoll time.Duration
	// CredentialCheck is the least time between two looks, for all event streams together, at whether their credentials
	// are still valid; 0: 2 s. A stream ends within this and StreamPoll.
	CredentialCheck time.Duration
}

// LoginConfig is how people sign in by the issuer.
type LoginConfig struct {
	// Title names the issuer on the page; empty: its host.
	Title string
	// DeviceClient and Scopes are for programs on terminals, which sign in by themselves.
	DeviceClient string
	Scopes       []string
	// For is how long a session lives; 0: 12 h.
	For time.Duration
	// OperatorsByGroup says that a group decides which of the people who sign in are operators.
	OperatorsByGroup bool
}

// Server serves HTTP. Create it with New; it is safe for many goroutines. What it remembers between requests is only to
// save work or to limit it: the cache, the rate limits and the streams of this node. It can be lost at any time.
type Server struct {
	cfg    Config
	public *url.URL
	store  *store.Store
	blobs  *blob.Monitor
	ring   *seal.Ring
	links  seal.Links
	guard  *webhook.Guard
	clock  func() time.Time
	log    *slog.Logger

	hosts        map[string]bool
	cookieName   string // of the cookie that holds a browser's session
	shareCookie  string // of the cookie that holds the token of a link
	handler      http.Handler
	docs         documentation
	cache        *cache
	compressor   *compressor
	resolver     *submit.Resolver // decisions that workers share
	demand       demandCache
	overviews    overviewCache
	began        time.Time
	limits       limits
	proxies      proxies
	streams      fair.Streams
	open         openCredentials // of the streams
	checks       *fair.Turns     // of uploaded files
	batches      *fair.Turns     // of batches that are checked and stored
	exports      fair.Streams    // files of batches
	entries      fair.Streams    // entries of the Protein Data Bank
	computations fair.Streams    // requests that compare or measure structures, and wait or compute
	computing    *fair.Turns     // of those that compute, and of templates that are checked
	rowCounts    rowCounts
	batchBodies  fair.Bytes
	bodies       fair.Bytes
	disk         *blob.Disk // nil: no limit
	uploads      uploadCount
	meters       *meters
	keyUsage     keyUsage
	known        *recent[knownKey]  // credentials that were valid recently
	logins       *recent[time.Time] // until when logins count before the issuer is asked again
	issuer       *identity.Issuer   // nil: people use API keys alone
	tracer       *tracing.Tracer
	workers      *workers.Gateway
	agents       http.Handler // of the Model Context Protocol; nil: there is none
	agentCalls   fair.Streams
	healthy      *telemetry.Health

	stop     chan struct{} // closed when event streams must end
	stopOnce sync.Once
}

// Deps are the dependencies of a server. Store, Blobs and Ring are required.
type Deps struct {
	Store *store.Store
	Blobs blob.Store
	// Ring holds the keys that seal secrets and sign links. All nodes of a service need the same one.
	Ring *seal.Ring
	// Disk tells when too little space is free for new work and files; nil: there is no limit.
	Disk *blob.Disk
	// Clock returns the present time; nil: time.Now.
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
	// Figures are further metrics that /metrics shows.
	Figures []prometheus.Collector
}

// New creates a server. It fails if cfg.PublicURL is not an http or https URL. It starts no goroutine, does not use the
// store, and leaves the OpenAPI document to the first request for it.
func New(cfg Config, d Deps) (*Server, error) {
	u, err := url.Parse(cfg.PublicURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" ||
		u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("the public address is %q; it must look like https://fold.example.org", cfg.PublicURL)
	}
	defaults(&cfg)
	s := &Server{
		cfg:          cfg,
		public:       u,
		store:        d.Store,
		ring:         d.Ring,
		clock:        d.Clock,
		log:          d.Log,
		stop:         make(chan struct{}),
		checks:       fair.NewTurns(uploadChecks),
		batches:      fair.NewTurns(1),
		exports:      fair.Streams{Each: maxExports, Strangers: strangerExports, Of: "files of batches"},
		entries:      fair.Streams{Each: maxEntries, Of: "entries of the Protein Data Bank"},
		computations: fair.Streams{Each: maxComputations, Strangers: strangerComputations, Of: "computations"},
		computing:    fair.NewTurns(computePlaces),
		batchBodies:  fair.Bytes{Share: maxBatchBody, Most: 2 * maxBatchBody, First: maxBatchBody},
		bodies: fair.Bytes{
			Share: bodyShare * cfg.MaxBody,
			Most:  bodyTotal * cfg.MaxBody,
			First: bodyFirst * cfg.MaxBody,
		},
		open:       openCredentials{checkEvery: cfg.CredentialCheck},
		streams:    fair.Streams{Each: cfg.Streams, Strangers: strangerStreams},
		agentCalls: fair.Streams{Each: cfg.Streams, Of: "calls of " + agentPath},
		disk:       d.Disk,
		known:      newRecent[knownKey](maxKnownKeys),
		logins:     newRecent[time.Time](maxKnownKeys),
		issuer:     d.Issuer,
		tracer:     d.Tracer,
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.began = s.clock()
	s.blobs = blob.NewMonitor(d.Blobs, s.log)
	s.healthy = &telemetry.Health{DB: s.store.DB, Workers: s.store.Workers, Blobs: s.blobs}
	s.workers = workers.New(workers.Config{
		Store:  s.store,
		Blobs:  s.blobs,
		Ring:   d.Ring,
		Tracer: d.Tracer,
		Log:    s.log,
	})
	s.cfg.PublicURL = strings.TrimRight(cfg.PublicURL, "/")
	s.links = seal.Links{Ring: d.Ring, Base: s.cfg.PublicURL, For: cfg.LinkFor}
	s.hosts = hostNames(u.Hostname(), cfg.Hosts)
	s.cookieName, s.shareCookie = cookieNameOf(s.cfg.PublicURL), shareCookieName(s.cfg.PublicURL)
	s.cache = newCache(cfg.CacheBytes)
	s.compressor = newCompressor()
	s.limits = newLimits(cfg.Rate, cfg.Burst)
	s.proxies = cfg.TrustedProxies
	if s.guard = d.Guard; s.guard == nil {
		s.guard = webhook.NewGuard(nil, nil, nil)
	}
	s.resolver = &submit.Resolver{
		People:       s.store.People,
		Runs:         s.store.Runs,
		Workers:      s.store.Workers,
		Batches:      s.store.Batches,
		Webhooks:     s.store.Webhooks,
		Blobs:        s.blobs,
		Guard:        s.guard,
		Ring:         s.ring,
		Log:          s.log,
		FetchPDB:     cfg.ArchiveURLs.PDB != "",
		FetchUniProt: cfg.ArchiveURLs.UniProt != "",
		Archive:      cfg.ArchiveURLs,
		MaxTime:      cfg.MaxTime,
	}
	s.meters = newMeters(s)
	s.meters.registry.MustRegister(d.Figures...)
	routes := allRoutes()
	s.docs = newDocumentation(s.cfg.PublicURL, routes, d.Docs)
	s.handler = s.mux(routes, d.UI)
	if d.Agents != nil {
		s.agents = d.Agents(s.handler, s.stop)
	}
	return s, nil
}

// hostNames returns the names under which the service answers, in small letters: its own, those of this machine, and
// further ones.
func hostNames(own string, further []string) map[string]bool {
	out := map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true, strings.ToLower(own): true}
	for _, name := range further {
		out[strings.ToLower(name)] = true
	}
	return out
}

// defaults fills in the zero fields of a Config.
func defaults(cfg *Config) {
	set := func(p *int64, v int64) {
		if *p == 0 {
			*p = v
		}
	}
	set(&cfg.MaxBody, api.MaxBody)
	set(&cfg.CacheBytes, 16<<20)
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
	if cfg.CredentialCheck == 0 {
		cfg.CredentialCheck = 2 * time.Second
	}
	if cfg.LinkFor == 0 {
		cfg.LinkFor = 24 * time.Hour
	}
	cfg.LinkFor = min(max(cfg.LinkFor, 2*time.Hour), 24*time.Hour)
}

// Endpoint returns what serves health and metrics on an address of their own.
func (s *Server) Endpoint() *telemetry.Endpoint {
	return &telemetry.Endpoint{Health: s.healthy, Metrics: s.meters.registry, Token: s.cfg.MetricsToken, Log: s.log}
}

// Workers returns what answers the calls of workers. Serve runs it; who uses Handler alone runs it too.
func (s *Server) Workers() *workers.Gateway { return s.workers }

// Handler returns the handler of all routes.
func (s *Server) Handler() http.Handler { return s.handler }

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
		MaxHeaderBytes:    2 * maxHeader,
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
	if k == "" { // of a login, which has none
		return
	}
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
	if err := s.store.People.TouchKeys(ctx, keys); err != nil {
		s.log.Warn("cannot record when keys were used", "error", err)
	}
}
