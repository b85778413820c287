package server

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
	"pleat/internal/workerapi"
)

type callKey struct{}

// callOf returns the call that middleware began for a request.
func callOf(r *http.Request) *call { return r.Context().Value(callKey{}).(*call) }

// middleware wraps the mux for every request. The order matters:
//
//  1. It creates the call and its request id first, so that every later log line and every response has the id.
//  2. It sets the headers that every response has, errors included: the id, nosniff (a browser must not guess the type
//     of content that users made), no-referrer (paths hold ids, and queries hold signatures) and, where the public URL
//     is https, Strict-Transport-Security.
//  3. The mux runs inside the deferred function, which turns a panic into a 500 and then logs and counts the request
//     with its final status.
//
// Credentials, rate limits and deadlines depend on the route; serve and serveCall apply them after the mux has chosen
// it. The mux's own 404 and 405 become JSON in answer.
func (s *Server) middleware(m *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{id: requestID(r), from: s.proxies.client(r), began: time.Now()}
		c.w = &answer{ResponseWriter: w, c: c}
		c.r = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
		h := w.Header()
		h.Set("X-Request-ID", c.id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		if s.public.Scheme == "https" {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		s.meters.flying.Inc()
		defer func() {
			s.meters.flying.Dec()
			if p := recover(); p != nil {
				s.panicked(c, p)
			}
			s.logRequest(c, time.Since(c.began))
			c.endTrace()
		}()
		if headerBytes(r) > maxHeader {
			writeError(c.w, http.StatusRequestHeaderFieldsTooLarge,
				fmt.Sprintf("the request's address and header have more than %d KiB", maxHeader>>10))
			return
		}
		m.ServeHTTP(c.w, c.r)
	})
}

// maxHeader bounds the address and the header of a request, in bytes. The connection takes twice as much, beyond which
// net/http itself answers 431, in plain text.
const maxHeader = 32 << 10

// headerBytes returns the size of the address and the header of a request, as they were sent but for white space.
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
func (s *Server) panicked(c *call, p any) {
	if p != http.ErrAbortHandler {
		s.log.Error("a handler panicked", "request", c.id, "route", c.route(), "error", fmt.Sprint(p), "stack",
			string(debug.Stack()))
	}
	if c.w.wrote {
		s.logRequest(c, 0)
		c.endTrace()
		panic(http.ErrAbortHandler)
	}
	writeError(c.w, http.StatusInternalServerError, internalError)
}

// noRoute is the name of requests that matched no route, in metrics.
const noRoute = "none"

// noRouteMatches answers for the mux: 404, or 405 with the methods that the path has.
func noRouteMatches(w *answer, status int) {
	if status == http.StatusMethodNotAllowed {
		allow := w.Header().Get("Allow")
		writeError(w, status, fmt.Sprintf("this path does not support %s; it supports %s", pleat.Clip(w.c.r.Method),
			allow))
		return
	}
	writeError(w, status, notFoundMessage)
}

// logRequest writes the log line of a request and counts it in the metrics. The query is never logged: it may hold
// the signature of a link. Neither are the names of files, which users choose, and the tokens of links. Status 499
// stands for a client that left before the response began.
func (s *Server) logRequest(c *call, took time.Duration) {
	status := c.w.status
	if !c.w.wrote {
		status = 499 // the client closed the connection
	}
	s.meters.record(c.route(), status, took)
	level := slog.LevelInfo
	worker := strings.HasPrefix(c.r.URL.Path, workerapi.Path)
	switch {
	case worker && (status < 400 || status == http.StatusServiceUnavailable):
		// Workers call all the time, and again later: the gateway has logged why it cannot serve now.
		level = slog.LevelDebug
	case status >= 500:
		level = slog.LevelError
	}
	ctx := c.traced(c.r.Context())
	if !s.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request", c.id),
		slog.String("method", pleat.Clip(c.r.Method)),
		slog.String("path", pleat.Clip(loggedPath(c.r))),
		slog.Int("status", status),
		slog.Int64("bytes", c.w.bytes),
		slog.Duration("duration_ms", took),
		slog.String("user", string(cmp.Or(c.who.User, c.user))),
		slog.String("from", c.address()),
	}
	s.log.LogAttrs(ctx, level, "request", append(attrs, c.subject().attrs()...)...)
}

// logged are the ids of what a request is about.
type logged struct {
	job      pleat.JobID
	workflow pleat.WorkflowID
	run      pleat.RunID
}

// attrs are the ids that are known.
func (l logged) attrs() []slog.Attr {
	var out []slog.Attr
	add := func(key, id string) {
		if id != "" {
			out = append(out, slog.String(key, id))
		}
	}
	add("job", string(l.job))
	add("workflow", string(l.workflow))
	add("run", string(l.run))
	return out
}

// subject returns what a call is about: what it has created, or what its path names.
func (c *call) subject() logged {
	out, id := c.made, strings.ToLower(c.r.PathValue("id"))
	switch route := c.route(); {
	case !pleat.IsUUID(id):
	case strings.Contains(route, "/jobs/{id}"):
		out.job = pleat.JobID(id)
	case strings.Contains(route, "/workflows/{id}"):
		out.workflow = pleat.WorkflowID(id)
	}
	return out
}

// loggedPath returns the path of a request with {name} in place of the name of a file.
func loggedPath(r *http.Request) string {
	if name := r.PathValue("name"); name != "" {
		return strings.TrimSuffix(r.URL.Path, name) + "{name}"
	}
	if strings.HasPrefix(r.URL.Path, sharePath) { // also with more or less behind the token
		return sharePath + "{token}"
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
