package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/store"
)

// call is one request on its way through a handler.
type call struct {
	w       *answer
	r       *http.Request
	id      string // of the request, in the log and in X-Request-ID
	pattern string // the route's
	cred    credential
	status  int             // of a success; 0: 200
	who     store.Principal // zero unless the route demands a user or a good credential came along
}

// answer remembers what was written.
type answer struct {
	http.ResponseWriter
	status int
	bytes  int64
	wrote  bool
}

func (a *answer) WriteHeader(status int) {
	if !a.wrote {
		a.wrote, a.status = true, status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if !a.wrote {
		a.wrote, a.status = true, http.StatusOK
	}
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// endpoint is a handler together with the types it reads and writes, which the document is made of.
type endpoint struct {
	in, out  reflect.Type // nil: none
	optional bool         // the body may be left out
	media    string       // of an answer that is not JSON
	status   int          // of a success; 0: 200
	slow     bool         // it reads for as long as its caller sends
	serve    func(s *Server, ctx context.Context, c *call) error
}

// gives makes an endpoint of a function without a body.
func gives[Out any](fn func(*Server, context.Context, *call) (Out, error)) endpoint {
	return endpoint{out: reflect.TypeFor[Out](), serve: func(s *Server, ctx context.Context, c *call) error {
		out, err := fn(s, ctx, c)
		if err != nil {
			return err
		}
		return c.json(out)
	}}
}

// takes makes an endpoint of a function with a JSON body of at most the bytes that limit allows.
func takes[In, Out any](limit func(*Server) int64, fn func(*Server, context.Context, *call, *In) (Out, error)) endpoint {
	return endpoint{in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](), serve: func(s *Server, ctx context.Context, c *call) error {
		body, err := c.body(limit(s), false)
		if err != nil {
			return err
		}
		return decodeAnd(s, ctx, c, body, fn)
	}}
}

// mayTake is takes for a body that may be left out, which leaves In zero.
func mayTake[In, Out any](limit func(*Server) int64, fn func(*Server, context.Context, *call, *In) (Out, error)) endpoint {
	e := takes(limit, fn)
	e.optional = true
	e.serve = func(s *Server, ctx context.Context, c *call) error {
		body, err := c.body(limit(s), true)
		if err != nil {
			return err
		}
		return decodeAnd(s, ctx, c, body, fn)
	}
	return e
}

func decodeAnd[In, Out any](s *Server, ctx context.Context, c *call, body []byte, fn func(*Server, context.Context, *call, *In) (Out, error)) error {
	in := new(In)
	if body != nil {
		if err := api.Decode(body, in); err != nil {
			return err
		}
	}
	out, err := fn(s, ctx, c, in)
	if err != nil {
		return err
	}
	return c.json(out)
}

// streams makes an endpoint of a function that writes its own answer.
func streams(media string, fn func(*Server, context.Context, *call) error) endpoint {
	return endpoint{media: media, serve: fn}
}

// uploads makes an endpoint of a function that reads a long body of its own form and answers JSON.
func uploads(fn func(*Server, context.Context, *call) error) endpoint {
	return endpoint{media: "application/json", slow: true, serve: fn}
}

// created makes an endpoint's success 201.
func (e endpoint) created() endpoint {
	serve := e.serve
	e.status = http.StatusCreated
	e.serve = func(s *Server, ctx context.Context, c *call) error {
		c.status = http.StatusCreated
		return serve(s, ctx, c)
	}
	return e
}

func large(s *Server) int64 { return s.cfg.MaxBody }
func small(*Server) int64   { return 64 << 10 }

// json answers with v.
func (c *call) json(v any) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	c.raw(b)
	return nil
}

// encode writes JSON as it is meant: without escaping <, > and &.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// raw answers with bytes that are JSON. Nobody in between may keep them.
func (c *call) raw(b []byte) {
	h := c.w.Header()
	h["Content-Type"] = jsonType
	h["Cache-Control"] = noStore
	h["Content-Length"] = []string{strconv.Itoa(len(b))}
	if c.status != 0 {
		c.w.WriteHeader(c.status)
	}
	_, _ = c.w.Write(b)
}

var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
)

// body reads a request's JSON. Nil, where it may be left out and is.
func (c *call) body(most int64, optional bool) ([]byte, error) {
	r := c.r
	if r.ContentLength == 0 {
		if optional {
			return nil, nil
		}
		return nil, pleat.Invalidf("the request body is empty; it must be a JSON object")
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return nil, pleat.Errorf(pleat.CodeNotJSON, "the Content-Encoding is %q; send the JSON as it is", pleat.Clip(enc))
	}
	kind := r.Header.Get("Content-Type")
	if media, par, err := mime.ParseMediaType(kind); err != nil || media != "application/json" || par["charset"] != "" && !strings.EqualFold(par["charset"], "utf-8") {
		return nil, pleat.Errorf(pleat.CodeNotJSON, "the Content-Type is %q; it must be application/json", pleat.Clip(kind))
	}
	if r.ContentLength > most {
		c.drain(r.Body)
		return nil, tooLarge(most)
	}
	limited := http.MaxBytesReader(c.w, r.Body, most)
	b, err := io.ReadAll(limited)
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		c.drain(r.Body)
		return nil, tooLarge(most)
	case err != nil:
		return nil, pleat.Invalidf("the request body ended before its length was reached")
	case len(b) == 0 && optional:
		return nil, nil
	}
	return b, nil
}

func tooLarge(most int64) error {
	return pleat.Errorf(pleat.CodeTooLarge, "the request body is larger than %d bytes", most)
}

// drain reads on for a while, since a client that is still sending would not see the refusal.
func (c *call) drain(body io.Reader) {
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.CopyN(io.Discard, body, 64<<20)
}

// uuid reads a path value that is an id; notFound where it cannot be one, since it names nothing.
func (c *call) uuid(name string, notFound error) (string, error) {
	id := c.r.PathValue(name)
	if !pleat.IsUUID(id) {
		return "", notFound
	}
	return strings.ToLower(id), nil
}
