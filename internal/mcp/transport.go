package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// transport calls the handler of the service in the same process. The requests look like those of the client that
// called /mcp: they have its address, and the key that the api.Client adds.
type transport struct {
	service http.Handler
	base    string // public address of the service, with which its links begin
}

// outerKey is the key of the request for /mcp in the context of a tool.
type outerKey struct{}

// forwarded are the headers by which the service knows where a request comes from, and the id of a request in its log.
var forwarded = []string{"X-Forwarded-For", "X-Request-Id"}

// errElsewhere refuses an address that is not the service's.
var errElsewhere = errors.New("the address is not one of this service")

// RoundTrip answers a request when the service has sent the head of its response. The body is read while the service
// writes it.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		req.Body = http.NoBody
	}
	path, ok := strings.CutPrefix(req.URL.String(), t.base)
	if !ok || !strings.HasPrefix(path, "/") {
		_ = req.Body.Close()
		return nil, errElsewhere
	}
	ctx, cancel := context.WithCancel(req.Context())
	inner, err := http.NewRequestWithContext(ctx, req.Method, path, req.Body)
	if err != nil {
		cancel()
		return nil, err
	}
	inner.Header, inner.ContentLength, inner.RequestURI = req.Header.Clone(), req.ContentLength, path
	if outer, ok := req.Context().Value(outerKey{}).(*http.Request); ok {
		inner.Host, inner.RemoteAddr, inner.TLS = outer.Host, outer.RemoteAddr, outer.TLS
		for _, name := range forwarded {
			if v := outer.Header.Values(name); len(v) > 0 {
				inner.Header[name] = v
			}
		}
	}
	body, w := newResponse()
	go func() {
		defer req.Body.Close()
		defer w.end()
		t.service.ServeHTTP(w, inner)
	}()
	select {
	case <-w.ready:
	case <-ctx.Done():
		cancel()
		_ = body.Close() // a handler that still writes must not wait for a reader
		return nil, ctx.Err()
	}
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		StatusCode:    w.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        w.sent,
		Body:          &responseBody{PipeReader: body, cancel: cancel},
		ContentLength: -1,
		Request:       req,
	}, nil
}

// response is the ResponseWriter of a call in the process.
type response struct {
	header http.Header
	body   *io.PipeWriter
	once   sync.Once
	ready  chan struct{} // closed when the head was written
	status int           // valid once ready is closed, as is sent
	sent   http.Header
}

func newResponse() (*io.PipeReader, *response) {
	r, w := io.Pipe()
	return r, &response{header: http.Header{}, body: w, ready: make(chan struct{})}
}

// Header returns the header of the response.
func (w *response) Header() http.Header { return w.header }

// WriteHeader sends the head; only the first call counts.
func (w *response) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.ready)
	})
}

// Write sends a part of the body.
func (w *response) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// Flush does nothing: what was written has been read.
func (w *response) Flush() { w.WriteHeader(http.StatusOK) }

// end ends the body. A handler that panics breaks its response, which is how the service shows that it is incomplete.
func (w *response) end() {
	if p := recover(); p != nil {
		w.WriteHeader(http.StatusInternalServerError)
		_ = w.body.CloseWithError(io.ErrUnexpectedEOF)
		return
	}
	w.WriteHeader(http.StatusOK)
	_ = w.body.Close()
}

// responseBody ends the request when its reader has finished with it.
type responseBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close ends the request: what the service still writes is dropped.
func (b *responseBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}
