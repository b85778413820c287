// Package route is what all routes of the server share: who may call one, against which limits a call counts, how its
// body is read and its response written, and how event streams and files are sent.
//
// It must not know what a route does: each resource is a package of its own, whose Handlers have Routes. Two servers on
// one database are one service, so that what a Core remembers between requests only saves work or limits it.
//
// A request passes through Core.Middleware (id, log, panics), the mux, Core.Serve (credential, deadline), serveCall
// (rate limit, access) and the endpoint of its route (body), which calls the handler. A handler returns a value, which
// is sent as JSON, or an error, which fail maps to a status and a message. Handlers check in this order: ids of the
// path, fields of the body, then what the database knows; the store checks again, in its transaction, what may have
// changed since.
package route

import (
	"log/slog"
	"net/netip"
	"time"

	"pleat/api"
	"pleat/internal/blob"
	"pleat/internal/fair"
	"pleat/internal/server/signin"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/tracing"
)

// Config configures what all routes share. The zero value of every field but PublicURL is a usable default.
type Config struct {
	// PublicURL is the address under which clients reach the service, such as https://fold.example.org. Links start
	// with it, never with the Host header, which any client can choose.
	PublicURL string
	// Hosts lists additional host names for which the session cookie is accepted, besides PublicURL's and loopback.
	Hosts []string
	// AgentOrigins lists the origins whose pages may call AgentPath, besides the service's own, as browsers send them:
	// https://chat.example.org.
	AgentOrigins []string
	// MaxBody bounds a large request body, in bytes; 0: api.MaxBody, which docs/interface.md promises.
	MaxBody int64
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

// WithDefaults returns the configuration without zero fields.
func (c Config) WithDefaults() Config {
	if c.MaxBody == 0 {
		c.MaxBody = api.MaxBody
	}
	if c.Streams == 0 {
		c.Streams = 32
	}
	if c.Burst == 0 {
		c.Burst = max(1, int(2*c.Rate))
	}
	if c.StreamHeartbeat == 0 {
		c.StreamHeartbeat = 15 * time.Second
	}
	if c.StreamPoll == 0 {
		c.StreamPoll = time.Second
	}
	if c.CredentialCheck == 0 {
		c.CredentialCheck = 2 * time.Second
	}
	return c
}

// Core is what all routes of a server share. Create it with [New]; it is safe for many goroutines. The state that it
// keeps between requests can be lost at any time.
type Core struct {
	cfg     Config
	site    *Site
	stores  stores
	callers callers
	limits  limits
	streams openStreams
	bodies  fair.Bytes
	disk    *blob.Disk // nil: no limit
	meters  *Meters
	tracer  *tracing.Tracer // nil: no call is traced
	clock   func() time.Time
	log     *slog.Logger
}

// stores are the tables that the checks of all routes read.
type stores struct {
	db     *db.DB
	people *people.Store
	runs   *runs.Store
}

// Deps are the dependencies of a [Core]. All but Disk and Tracer are required.
type Deps struct {
	Site   *Site
	DB     *db.DB
	People *people.Store
	Runs   *runs.Store
	Logins *signin.Logins
	Disk   *blob.Disk // nil: no route is refused because it is almost full
	Meters *Meters
	Tracer *tracing.Tracer // nil: no call is traced
	Clock  func() time.Time
	Log    *slog.Logger
}

// New creates a [Core].
func New(cfg Config, d Deps) *Core {
	cfg = cfg.WithDefaults()
	return &Core{
		cfg:     cfg,
		site:    d.Site,
		stores:  stores{d.DB, d.People, d.Runs},
		callers: newCallers(d.Logins),
		limits:  newLimits(cfg.Rate, cfg.Burst),
		streams: newOpenStreams(cfg),
		bodies: fair.Bytes{
			Share: BodyShare * cfg.MaxBody,
			Most:  BodyTotal * cfg.MaxBody,
			First: BodyFirst * cfg.MaxBody,
		},
		disk:   d.Disk,
		meters: d.Meters,
		tracer: d.Tracer,
		clock:  d.Clock,
		log:    d.Log,
	}
}

// Site returns the addresses and cookies of the service.
func (k *Core) Site() *Site { return k.site }

// EndStreams ends all event streams; their clients reconnect to another node.
func (k *Core) EndStreams() { k.streams.end() }

// Ending returns a channel that is closed when event streams must end.
func (k *Core) Ending() <-chan struct{} { return k.streams.ending }
