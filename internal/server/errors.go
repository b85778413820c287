package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"pleat"
	"pleat/api"
)

// statuses is the one mapping of refusals to HTTP. 422 is not in it: what is wrong with a request is 400.
var statuses = map[pleat.Code]int{
	pleat.CodeInvalid:      http.StatusBadRequest,
	pleat.CodeUnauthorized: http.StatusUnauthorized,
	pleat.CodeNotFound:     http.StatusNotFound,
	pleat.CodeConflict:     http.StatusConflict,
	pleat.CodeTooLarge:     http.StatusRequestEntityTooLarge,
	pleat.CodeNotJSON:      http.StatusUnsupportedMediaType,
	pleat.CodeLimited:      http.StatusTooManyRequests,
	pleat.CodeUnavailable:  http.StatusServiceUnavailable,
	pleat.CodeInternal:     http.StatusInternalServerError,
}

// refusal is the status and the sentence for an error. What is not a refusal of ours shows nothing of itself.
func refusal(err error) (int, string) {
	var bad *api.Refusal
	if errors.As(err, &bad) {
		return http.StatusBadRequest, bad.Message
	}
	var e *pleat.Error
	if !errors.As(err, &e) || e.Code == pleat.CodeInternal {
		return http.StatusInternalServerError, "internal error"
	}
	if status, ok := statuses[e.Code]; ok {
		return status, e.Message
	}
	return http.StatusInternalServerError, "internal error"
}

// fail answers with an error, if nothing was answered yet, and logs what only the log may see.
func (s *Server) fail(c *call, err error) {
	ctx := c.r.Context()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return // nobody listens any more
	}
	status, message := refusal(err)
	if status >= 500 {
		s.log.LogAttrs(ctx, slog.LevelError, "request failed", slog.String("request", c.id), slog.String("route", c.route()), slog.Any("err", err))
	}
	if c.w.wrote {
		panic(http.ErrAbortHandler) // the only way left to say that the answer is not whole
	}
	h := c.w.Header()
	switch status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if h.Get("Retry-After") == "" {
			h.Set("Retry-After", "1")
		}
	}
	writeError(c.w, status, message)
}

// writeError answers with the one shape of errors.
func writeError(w http.ResponseWriter, status int, message string) {
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "Content-Disposition", "ETag", "Accept-Ranges", "Last-Modified", "Content-Range"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	b, err := json.Marshal(api.Error{Message: message})
	if err != nil {
		return
	}
	_, _ = w.Write(append(b, '\n'))
}

// retryAfter says in how many whole seconds to come back.
func retryAfter(h http.Header, wait time.Duration) {
	h.Set("Retry-After", strconv.Itoa(max(1, int((wait+time.Second-1)/time.Second))))
}
