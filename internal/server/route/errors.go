package route

import (
	"context"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/store/people"
)

// Refusal returns the status and the message for an error. An error that is neither a [pleat.Error] nor an
// [api.DecodeError], and one with CodeInternal, is 500 and reveals nothing.
func Refusal(err error) (int, string) {
	var bad *api.DecodeError
	if errors.As(err, &bad) {
		return http.StatusBadRequest, bad.Message
	}
	var e *pleat.Error
	if !errors.As(err, &e) || e.Code == pleat.CodeInternal {
		return http.StatusInternalServerError, internalError
	}
	status := e.Code.Status()
	if status == http.StatusInternalServerError {
		return status, internalError
	}
	return status, e.Message
}

// internalError is the message of every fault of the service; the cause is in the log, under the request's id.
const internalError = "internal error"

// FieldErrors lists the faults in an error that [Refusal] maps to 400 or another status of the caller. It is empty for
// nil and for faults of the service.
func FieldErrors(err error) []api.FieldError {
	var out []api.FieldError
	var bad api.DecodeErrors
	if errors.As(err, &bad) {
		for _, e := range bad {
			out = append(out, api.FieldError{Field: e.Field, Message: e.Message})
		}
		return out
	}
	for _, e := range pleat.ErrorsOf(err) {
		if e.Code != pleat.CodeInternal {
			out = append(out, api.FieldError{Field: e.Field, Message: e.Message})
		}
	}
	return out
}

// fail answers with an error and logs the cause of a fault of the service. 401 names the scheme in WWW-Authenticate,
// as RFC 9110 demands; 429 and 503 have a Retry-After of at least a second. If a part of the response is sent already,
// fail breaks the connection.
func (k *Core) fail(c *Call, err error) {
	ctx := c.R.Context()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return // the client has gone
	}
	status, message := Refusal(err)
	if status >= 500 {
		k.log.LogAttrs(ctx, slog.LevelError, "request failed",
			slog.String("request", c.ID), slog.String("route", c.route()), slog.Any("error", err))
	}
	if c.W.wrote {
		panic(http.ErrAbortHandler) // the only way left to show that the answer is incomplete
	}
	h := c.W.Header()
	switch status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", k.challenge(c.served))
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if errors.Is(err, people.ErrBudget) { // whatever quota the call counts against
			retryAfter(h, k.stores.people.EndOfMonth().Sub(k.stores.db.Now()))
		}
		if h.Get("Retry-After") == "" {
			h.Set("Retry-After", "1")
		}
	}
	var faults []api.FieldError
	if status == http.StatusBadRequest {
		faults = FieldErrors(err)
	}
	writeError(c.W, status, message, faults...)
}

// representation lists the headers of a success that an error response must not have. A handler may have set them
// before it failed.
var representation = []string{
	"Content-Length", "Content-Encoding", "Content-Disposition", "ETag", "Accept-Ranges", "Last-Modified",
	"Content-Range",
}

// writeError answers with a status and a message: as {"message": …}, or as a problem detail of RFC 9457 if the request
// prefers it. faults are the errors of the problem detail. Vary tells caches that Accept decides the form.
func writeError(w *Answer, status int, message string, faults ...api.FieldError) {
	w.c.drain()
	h := w.Header()
	for _, name := range representation {
		h.Del(name)
	}
	media, body := "application/json", any(api.Error{Message: message})
	if prefersProblem(w.c.R) {
		media, body = api.ProblemType, api.Problem{
			Type:   "about:blank",
			Title:  http.StatusText(status),
			Status: status,
			Detail: message,
			Errors: append([]api.FieldError{}, faults...),
		}
	}
	h.Set("Content-Type", media)
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept")
	w.WriteHeader(status)
	if b, err := api.Encode(body); err == nil {
		_, _ = w.Write(b)
	}
}

// prefersProblem reports whether a request asks for errors as problem details: whether its Accept header names
// application/problem+json, with a quality above 0 that is not lower than the one it gives application/json.
// Wildcards do not count, since every browser and curl sends them.
func prefersProblem(r *http.Request) bool {
	problem, plain := 0.0, 0.0
	for _, line := range r.Header.Values("Accept") {
		for item := range strings.SplitSeq(line, ",") {
			media, params, err := mime.ParseMediaType(item)
			if err != nil {
				continue
			}
			quality := 1.0
			if q, ok := params["q"]; ok {
				if quality, err = strconv.ParseFloat(q, 64); err != nil {
					continue
				}
			}
			switch media {
			case api.ProblemType:
				problem = quality
			case "application/json":
				plain = quality
			}
		}
	}
	return problem > 0 && problem >= plain
}

// retryAfter sets Retry-After to a wait, rounded up to whole seconds.
func retryAfter(h http.Header, wait time.Duration) {
	h.Set("Retry-After", strconv.Itoa(max(1, int((wait+time.Second-1)/time.Second))))
}
