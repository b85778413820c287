package route

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/workerapi"
)

type callKey struct{}

// callOf returns the call that Middleware began for a request.
func callOf(r *http.Request) *Call { return r.Context().Value(callKey{}).(*Call) }

// Middleware wraps the mux for every request. The order matters:
//
//  1. It creates the call and its request id first, so that every later log line and every response has the id.
//  2. It sets the headers that every response has, errors included: the id, nosniff (a browser must not guess the type
//     of content that users made), no-referrer (paths hold ids, and queries hold signatures) and, where the public URL
//     is https, Strict-Transport-Security.
//  3. The mux runs inside the deferred function, which turns a panic into a 500 and then logs and counts the request
//     with its final status.
//
// Credentials, rate limits and deadlines depend on the route; Core.Serve and serveCall apply them after the mux has
// chosen it. The mux's own 404 and 405 become JSON in Answer.
func (k *Core) Middleware(m *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &Call{core: k, ID: requestID(r), from: proxies(k.cfg.TrustedProxies).client(r), began: clock.Start()}
		c.W = &Answer{ResponseWriter: w, c: c}
		c.R = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
		if r.ContentLength != 0 {
			c.body = &sentBody{r.Body, strings.EqualFold(r.Header.Get("Expect"), "100-continue")}
			c.R.Body = c.body
		}
		h := w.Header()
		h.Set("X-Request-ID", c.ID)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		if k.site.secure {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		k.site.forPages(h, r)
		k.meters.flying.Inc()
		defer func() {
			k.meters.flying.Dec()
			if p := recover(); p != nil {
				k.panicked(c, p)
			}
			k.logRequest(c, c.began.Elapsed())
			c.endTrace()
		}()
		if headerBytes(r) > MaxHeader {
			writeError(c.W, http.StatusRequestHeaderFieldsTooLarge,
				headerTooLarge(r))
			return
		}
		m.ServeHTTP(c.W, c.R)
	})
}

// MaxHeader bounds the address and the header of a request, in bytes. The connection takes twice as much, beyond which
// net/http itself answers 431, in plain text.
const MaxHeader = 32 << 10

// headerBytes returns the size of the address and the header of a request, as they were sent except for white space.
func headerBytes(r *http.Request) int {
	n := len(r.RequestURI) + len(r.Host)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return n
}

// panicked answers 500 after a panic. If part of the response is sent already, it breaks the connection instead, since
// the client could take the part for the whole. http.ErrAbortHandler is that same break, asked for by fail; it is not
// logged as a panic.
func (k *Core) panicked(c *Call, p any) {
	if p != http.ErrAbortHandler {
		k.log.Error("a handler panicked", "request", c.ID, "route", c.route(), "error", fmt.Sprint(p), "stack",
			string(debug.Stack()))
	}
	if c.W.wrote {
		k.logRequest(c, 0)
		c.endTrace()
		panic(http.ErrAbortHandler)
	}
	writeError(c.W, http.StatusInternalServerError, internalError)
}

// noRoute is the name of requests that matched no route, in metrics.
const noRoute = "none"

// noRouteMatches answers for the mux: 404, or 405 with the methods that the path has.
func noRouteMatches(w *Answer, status int) {
	if status == http.StatusMethodNotAllowed {
		allow := w.Header().Get("Allow")
		writeError(w, status, fmt.Sprintf("this path does not support %s; it supports %s", pleat.Clip(w.c.R.Method),
			allow))
		return
	}
	writeError(w, status, NotFoundMessage)
}

// logRequest writes the log line of a request and counts it in the metrics. The query is never logged: it may hold
// the signature of a link. Neither are the names of files, which users choose, and the tokens of links. Status 499
// stands for a client that left before the response began.
func (k *Core) logRequest(c *Call, took time.Duration) {
	status := c.W.status
	if !c.W.wrote {
		status = 499 // the client closed the connection
	}
	k.meters.record(c.route(), status, took)
	level := slog.LevelInfo
	worker := strings.HasPrefix(c.R.URL.Path, workerapi.Path)
	switch {
	case worker && (status < 400 || status == http.StatusServiceUnavailable):
		// Workers call all the time, and again later: the gateway has logged why it cannot serve now.
		level = slog.LevelDebug
	case status >= 500:
		level = slog.LevelError
	}
	ctx := c.traced(c.R.Context())
	if !k.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request", c.ID),
		slog.String("method", pleat.Clip(c.R.Method)),
		slog.String("path", pleat.Clip(loggedPath(c.R))),
		slog.Int("status", status),
		slog.Int64("bytes", c.W.bytes),
		slog.Duration("duration_ms", took),
		slog.String("user", string(cmp.Or(c.Who.User, c.user))),
		slog.String("from", c.Address()),
	}
	k.log.LogAttrs(ctx, level, "request", append(attrs, c.subject().attrs()...)...)
}

// Subject is the ids of what a request is about.
type Subject struct {
	Job      pleat.JobID
	Workflow pleat.WorkflowID
	Run      pleat.RunID
}

// attrs are the ids that are known.
func (l Subject) attrs() []slog.Attr {
	var out []slog.Attr
	add := func(key, id string) {
		if id != "" {
			out = append(out, slog.String(key, id))
		}
	}
	add("job", string(l.Job))
	add("workflow", string(l.Workflow))
	add("run", string(l.Run))
	return out
}

// subject returns what a call is about: what it has created, or what its path names.
func (c *Call) subject() Subject {
	out, id := c.Created, strings.ToLower(c.R.PathValue("id"))
	switch route := c.route(); {
	case !pleat.IsUUID(id):
	case strings.Contains(route, "/jobs/{id}"):
		out.Job = pleat.JobID(id)
	case strings.Contains(route, "/workflows/{id}"):
		out.Workflow = pleat.WorkflowID(id)
	}
	return out
}

// loggedPath returns the path of a request with {name} in place of the name of a file.
func loggedPath(r *http.Request) string {
	if name := r.PathValue("name"); name != "" {
		return strings.TrimSuffix(r.URL.Path, name) + "{name}"
	}
	if strings.HasPrefix(r.URL.Path, SharePath) { // also with more or less behind the token
		return SharePath + "{token}"
	}
	return r.URL.Path
}

// requestID returns the X-Request-ID of a request if it is well formed, else a new one. Other ids are not used: they
// would reach the log, where they could imitate other lines.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-ID")
	ok := id != "" && len(id) <= 64
	for i := 0; ok && i < len(id); i++ {
		ch := id[i]
		ok = ch >= '0' && ch <= '9' || ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch == '-' || ch == '_' ||
			ch == '.'
	}
	if ok {
		return id
	}
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
