package route

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"pleat"
	"pleat/api"
	"pleat/internal/clock"
	"pleat/internal/fair"
	"pleat/internal/store/people"
)

// Call is one request and its response. Middleware creates it; handlers read the request from it, and write through W,
// so that the log and the metrics see what was sent.
type Call struct {
	W  *Answer
	R  *http.Request
	ID string // of the request, in the log and in X-Request-ID

	Cred       Credential
	CountedFor string           // whose limits the call counts against: a user's or an address's
	Who        people.Principal // zero unless the route demands a credential, or a valid one was sent
	In         people.Reach     // the project in which the call creates and lists
	Created    Subject          // for the log
	Late       string           // the error if its own time runs out; empty: one that asks for less

	core    *Core
	user    pleat.UserID // of the credential, for the log; empty: there is none, or it was not valid
	served  Route        // that serves the call
	pattern string       // of the route, if several share one pattern of the mux; empty: that of R
	from    netip.Addr   // of the client, without a zone; invalid: it has none, as on a Unix socket
	status  int          // of a success; 0: 200
	began   clock.Stopwatch
	span    trace.Span // nil: the call is not traced
	assumed bool       // whether the caller was looked up recently; the store will check it
	body    *sentBody  // nil: there is none
	refused error      // why the credential is not valid; nil: it is, or was not looked up
}

// route returns the pattern of the route that serves the call; noRoute if none does.
func (c *Call) route() string { return cmp.Or(c.pattern, c.R.Pattern, noRoute) }

// Answer is the response writer of a call. It records what was written, and replaces the mux's own plain-text errors.
type Answer struct {
	http.ResponseWriter
	c        *Call
	status   int   // sent; 0: none yet
	bytes    int64 // of the body, sent
	wrote    bool  // the status is sent
	replaced bool  // the mux's error was replaced: what it writes is dropped
}

// WriteHeader sends a status. The mux's own 404 and 405 become errors in the service's form.
func (a *Answer) WriteHeader(status int) {
	// A request that matched no route has no pattern.
	if !a.wrote && a.c.R.Pattern == "" && (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) {
		a.c.R.Pattern = noRoute // so that writeError gets through
		noRouteMatches(a, status)
		a.replaced = true
		return
	}
	if !a.wrote {
		a.wrote, a.status = true, status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body, after status 200 if none was sent.
func (a *Answer) Write(b []byte) (int, error) {
	if a.replaced {
		return len(b), nil
	}
	if !a.wrote {
		a.wrote, a.status = true, http.StatusOK
	}
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (a *Answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// JSON writes v as the response, as one line of JSON. An error means that nothing was sent.
func (c *Call) JSON(v any) error {
	b, err := api.Encode(v)
	if err != nil {
		return err
	}
	c.Raw(b)
	return nil
}

// Raw writes bytes that are JSON as the response. Caches must not store them.
func (c *Call) Raw(b []byte) {
	h := c.W.Header()
	h["Content-Type"] = jsonType
	h["Cache-Control"] = noStore
	h["Content-Length"] = []string{strconv.Itoa(len(b))}
	if c.status != 0 {
		c.W.WriteHeader(c.status)
	}
	_, _ = c.W.Write(b)
}

var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
)

// UUID returns the path value that is an id, in lower case; notFound if it is not a UUID, since it identifies nothing.
// A malformed id is therefore 404, never 400.
func (c *Call) UUID(name string, notFound error) (string, error) {
	id := c.R.PathValue(name)
	if !pleat.IsUUID(id) {
		return "", notFound
	}
	return strings.ToLower(id), nil
}

// ActAs makes a user whom the handler has identified the caller.
func (c *Call) ActAs(who people.Principal) { c.Who, c.user = who, who.User }

// SignedIn records who has signed in by the call, for the log.
func (c *Call) SignedIn(user pleat.UserID) { c.user = user }

// Site returns the addresses and cookies of the service.
func (c *Call) Site() *Site { return c.core.site }

// Now returns the present time.
func (c *Call) Now() time.Time { return c.core.clock() }

// Log returns the log of the server.
func (c *Call) Log() *slog.Logger { return c.core.log }

// retryAfter tells a caller who is refused when to try again.
func (c *Call) retryAfter(wait time.Duration) { retryAfter(c.W.Header(), wait) }

// Quiet drops an error if the response has begun: the client has gone away.
func (c *Call) Quiet(err error) error {
	if c.W.wrote {
		return nil
	}
	return err
}

// Attach sets the header of a file that is written by this service.
func (c *Call) Attach(media, name string) {
	h := c.W.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", Disposition(name))
	h.Set("Cache-Control", "no-store")
}

// Attachment sends a file that was made for the request.
func (c *Call) Attachment(media, name string, content []byte) error {
	c.Attach(media, name)
	h := c.W.Header()
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Length", strconv.Itoa(len(content)))
	c.W.WriteHeader(http.StatusOK)
	_, err := c.W.Write(content)
	return c.Quiet(err)
}

// Redirect sends a browser to an address. Caches must not store that.
func (c *Call) Redirect(to string, status int) {
	c.NotStored()
	c.W.Header().Set("Location", to)
	c.W.WriteHeader(status)
}

// NotStored forbids caches to store the response.
func (c *Call) NotStored() { c.W.Header()["Cache-Control"] = noStore }

// Deadline replaces the server's write deadline for the connection and lifts its read deadline. A file gets a minute
// and the time that it takes at the slowest rate that is allowed, so that a client that stops reading is disconnected.
func (c *Call) Deadline(d time.Duration) {
	rc := http.NewResponseController(c.W)
	_ = rc.SetWriteDeadline(clock.Deadline(d))
	_ = rc.SetReadDeadline(time.Time{})
}

// ReadDeadline gives a client some time to send its body, and the response a minute more.
func (c *Call) ReadDeadline(d time.Duration) {
	rc := http.NewResponseController(c.W)
	_ = rc.SetReadDeadline(clock.Deadline(d))
	_ = rc.SetWriteDeadline(clock.Deadline(d + time.Minute))
}

// AllowAllOrigins lets pages of every origin read a response that needs no credential.
func (c *Call) AllowAllOrigins() { c.W.Header().Set("Access-Control-Allow-Origin", "*") }

// Acquire counts one of the things of which a caller may have some at a time on this node, and returns what ends it.
// 429: the caller, or all callers without a valid credential together, have too many.
func (c *Call) Acquire(streams *fair.Streams) (release func(), err error) {
	who, stranger := c.CountedFor, c.Cred.Hash == ""
	if err := streams.Acquire(who, stranger); err != nil {
		return nil, err
	}
	return func() { streams.Release(who, stranger) }, nil
}
