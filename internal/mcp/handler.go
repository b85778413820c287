package mcp

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pleat/api"
	"pleat/internal/clock"
)

// Service is the service that a Handler calls.
type Service struct {
	Handler http.Handler     // of all its routes
	URL     string           // public address, with which its links begin
	Stop    <-chan struct{}  // closed when requests should end soon
	Log     *slog.Logger     // nil: nothing is logged
	Clock   func() time.Time // nil: the machine's
}

// Handler returns what answers POST /mcp: the streamable HTTP transport without sessions, with answers in JSON. The
// caller that serves it has checked the bearer token and the origin of the request, and limits its time and the size of
// its body.
func Handler(s Service) http.Handler {
	inner := &http.Client{Transport: transport{service: s.Handler, base: s.URL}}
	// The schemas of the tools are made for the first request: many servers never get one.
	agents := sync.OnceValue(func() http.Handler {
		server := newServer(func(ctx context.Context) session {
			c := &api.Client{Base: s.URL, HTTP: inner}
			if outer, ok := ctx.Value(outerKey{}).(*http.Request); ok {
				c.Key = bearer(outer)
			}
			return session{Client: c, stop: s.Stop, now: clock.Or(s.Clock)}
		}, s.Log)
		getServer := func(*http.Request) *sdk.Server { return server }
		return sdk.NewStreamableHTTPHandler(getServer, &sdk.StreamableHTTPOptions{
			Stateless:                    true,
			JSONResponse:                 true,
			Logger:                       s.Log,
			DisableLocalhostProtection:   true, // the service checks the origin, and may be behind a proxy
			MaxRequestBodyBytes:          -1,   // the caller that serves it bounds them
			PropagateRequestCancellation: true,
		})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(context.WithValue(r.Context(), outerKey{}, r))
		if id := w.Header().Get("X-Request-Id"); id != "" {
			r.Header.Set("X-Request-Id", id)
		}
		answerMessage(w, r, agents())
	})
}

// bearer returns the bearer token of a request; empty: it has none.
func bearer(r *http.Request) string {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}
