package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"pleat"
	"pleat/internal/seal"
)

// Endpoint serves /healthz, /readyz and /metrics on an address of their own, for processes without the HTTP interface
// and for networks that callers do not reach; and, for callers with the token, what pleat debug bundle reads of a
// process.
type Endpoint struct {
	Health  *Health
	Metrics prometheus.Gatherer
	Token   string // the bearer token that /metrics demands; empty: none
	Log     *slog.Logger
	Recent  *RecentLog // what /debug/log returns; nil: nothing is kept
}

// Handler returns the handler of the paths.
func (e *Endpoint) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, Alive()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		status, err := e.Health.Ready(r.Context())
		var refusal *pleat.Error
		switch {
		case err == nil:
			write(w, http.StatusOK, status)
		case errors.As(err, &refusal):
			write(w, http.StatusServiceUnavailable, map[string]string{"message": refusal.Message})
		default:
			write(w, http.StatusServiceUnavailable, map[string]string{"message": "not ready"})
		}
	})
	metrics := promhttp.HandlerFor(e.Metrics, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if !e.mayRead(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			write(w, http.StatusUnauthorized, map[string]string{"message": "the token is missing or wrong"})
			return
		}
		metrics.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /debug/goroutines", e.debug(func(w io.Writer) {
		// Form 1 has no arguments of functions: they may be parts of a secret.
		_ = pprof.Lookup("goroutine").WriteTo(w, 1)
	}))
	mux.HandleFunc("GET /debug/log", e.debug(func(w io.Writer) { _, _ = e.Recent.WriteTo(w) }))
	return mux
}

// mayRead reports whether a request carries the token of the metrics, if there is one.
func (e *Endpoint) mayRead(r *http.Request) bool {
	return e.Token == "" || seal.Equal(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), e.Token)
}

// debug returns the handler of a text that only the operator may read: unlike metrics it always demands the token, so
// that without one nobody reads it. One request is answered at a time.
func (e *Endpoint) debug(text func(w io.Writer)) http.HandlerFunc {
	var busy sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case e.Token == "":
			write(w, http.StatusForbidden, map[string]string{"message": "metrics-token is not set"})
			return
		case !e.mayRead(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			write(w, http.StatusUnauthorized, map[string]string{"message": "the token is missing or wrong"})
			return
		case !busy.TryLock():
			write(w, http.StatusTooManyRequests, map[string]string{"message": "another request is answered"})
			return
		}
		defer busy.Unlock()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		text(w)
	}
}

// write answers with v as JSON.
func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// Serve serves a listener until ctx ends, and closes it.
func (e *Endpoint) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           e.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(e.Log.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
