package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
	"pleat/internal/store/people"
)

// call is one request and its response. middleware creates it; handlers read the request from it, and write through w,
// so that the log and the metrics see what was sent.
type call struct {
	w       *answer
	r       *http.Request
	pattern string     // of the route, if several share one pattern of the mux; empty: that of r
	id      string     // of the request, in the log and in X-Request-ID
	from    netip.Addr // of the client, without a zone; invalid: it has none, as on a Unix socket
	served  route      // that serves the call
	cred    credential
	caller  string       // whose limits the call counts against: a user's or an address's
	user    pleat.UserID // of the credential, for the log; empty: none, or it was not valid
	made    logged       // what the call created, for the log
	status  int          // of a success; 0: 200
	began   time.Time
	span    trace.Span       // nil: the call is not traced
	assumed bool             // who was the caller recently; the store will check it
	refused error            // why the credential is not valid; nil: it is, or was not looked up
	in      people.Reach     // the project in which the call creates and lists
	who     people.Principal // zero unless the route demands a credential, or a valid one was sent
}

// route returns the pattern of the route that serves the call; noRoute if none does.
func (c *call) route() string { return cmp.Or(c.pattern, c.r.Pattern, noRoute) }

// answer is the response writer of a call. It records what was written, and replaces the mux's own plain-text errors.
type answer struct {
	http.ResponseWriter
	c        *call
	status   int   // sent; 0: none yet
	bytes    int64 // of the body, sent
	wrote    bool  // the status is sent
	replaced bool  // the mux's error was replaced: what it writes is dropped
}

// WriteHeader sends a status. The mux's own 404 and 405 become errors in the service's form.
func (a *answer) WriteHeader(status int) {
	// A request that matched no route has no pattern.
	if !a.wrote && a.c.r.Pattern == "" && (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) {
		a.c.r.Pattern = noRoute // so that writeError gets through
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
func (a *answer) Write(b []byte) (int, error) {
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
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// endpoint is the handler of a route together with the schema of its request and response. The constructors below
// derive the schema from the types that the handler reads and writes, so the document cannot differ from the code.
type endpoint struct {
	request  openapi.Body    // nil: it reads none
	optional bool            // the body may be absent
	response openapi.Content // of a success
	status   int             // of a success; 0: 200

	ownDeadline bool // it lasts as long as its client sends or reads, not responseTimeout
	eventStream bool // it sends server-sent events until the client leaves
	serve       func(s *Server, ctx context.Context, c *call) error
}

// handlerFunc handles a request without a body. Out is the type of the response, which is sent as JSON. Handlers return
// errors with a pleat.Code; fail turns them into responses.
type handlerFunc[Out any] func(s *Server, ctx context.Context, c *call) (Out, error)

// bodyHandlerFunc handles a request with a JSON body. Out is the response's JSON.
type bodyHandlerFunc[In, Out any] func(s *Server, ctx context.Context, c *call, in *In) (Out, error)

// noBody makes an endpoint of a handler that reads no body.
func noBody[Out any](fn handlerFunc[Out]) endpoint {
	return endpoint{response: openapi.JSON[Out](), serve: func(s *Server, ctx context.Context, c *call) error {
		out, err := fn(s, ctx, c)
		if err != nil {
			return err
		}
		return c.json(out)
	}}
}

// jsonBody makes an endpoint of a handler whose JSON body has at most the bytes that limit allows. The body is decoded
// strictly (api.Decode). 400: it is empty or not valid; 413: it is too large; 415: it is not labelled as JSON.
func jsonBody[In, Out any](limit func(*Server) int64, fn bodyHandlerFunc[In, Out]) endpoint {
	return endpoint{
		request:  openapi.JSONRequest[In](),
		response: openapi.JSON[Out](),
		serve: func(s *Server, ctx context.Context, c *call) error {
			body, done, err := s.requiredBody(c, limit(s))
			defer done()
			if err != nil {
				return err
			}
			return decodeAndServe(s, ctx, c, body, fn)
		},
	}
}

// faultyBody is jsonBody for a function that gets the faults of a body of the wrong form too: unknown fields and wrong
// types. 400: the body is empty or not JSON.
func faultyBody[In, Out any](
	limit func(*Server) int64,
	fn func(s *Server, ctx context.Context, c *call, in *In, faults []api.FieldError) (Out, error),
) endpoint {
	e := endpoint{request: openapi.JSONRequest[In](), response: openapi.JSON[Out]()}
	e.serve = func(s *Server, ctx context.Context, c *call) error {
		body, done, err := s.requiredBody(c, limit(s))
		defer done()
		if err != nil {
			return err
		}
		in, faults := new(In), []api.FieldError(nil)
		if err := api.Decode(body, in); err != nil {
			var all api.DecodeErrors
			if !errors.As(err, &all) || all[0].Unreadable {
				return err
			}
			faults = fieldErrors(err)
		}
		out, err := fn(s, ctx, c, in, faults)
		if err != nil {
			return err
		}
		return c.json(out)
	}
	return e
}

// requiredBody reads a body that must not be empty; see readBody.
func (s *Server) requiredBody(c *call, limit int64) (body []byte, done func(), err error) {
	if c.r.ContentLength == 0 {
		return nil, func() {}, pleat.Invalidf("the request body is empty; it must be a JSON object")
	}
	return s.readBody(c, limit)
}

// optionalBody is jsonBody for a body that may be absent; In is zero then.
func optionalBody[In, Out any](limit func(*Server) int64, fn bodyHandlerFunc[In, Out]) endpoint {
	e := jsonBody(limit, fn)
	e.optional = true
	e.serve = func(s *Server, ctx context.Context, c *call) error {
		var body []byte
		if c.r.ContentLength != 0 {
			var done func()
			var err error
			body, done, err = s.readBody(c, limit(s))
			defer done()
			if err != nil {
				return err
			}
			if len(body) == 0 { // an empty body that was sent chunked
				body = nil
			}
		}
		return decodeAndServe(s, ctx, c, body, fn)
	}
	return e
}

// decodeAndServe decodes a body, unless it is nil, and answers with what fn returns.
func decodeAndServe[In, Out any](
	s *Server, ctx context.Context, c *call, body []byte, fn bodyHandlerFunc[In, Out],
) error {
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

// writerFunc handles a request and writes the response itself.
type writerFunc func(s *Server, ctx context.Context, c *call) error

// answers makes an endpoint of a function that writes a whole response itself, because it has the bytes already.
func answers(response openapi.Content, fn writerFunc) endpoint {
	return endpoint{response: response, serve: fn}
}

// redirects makes an endpoint of a function that sends a browser elsewhere.
func redirects(status int, fn writerFunc) endpoint { return endpoint{status: status, serve: fn} }

// streams makes an endpoint of a function that writes for as long as its client reads. The function sets the
// connection's deadlines.
func streams(response openapi.Content, fn writerFunc) endpoint {
	return endpoint{response: response, ownDeadline: true, serve: fn}
}

// eventStream makes an endpoint of a function that sends server-sent events.
func eventStream(response openapi.Content, fn writerFunc) endpoint {
	return endpoint{response: response, ownDeadline: true, eventStream: true, serve: fn}
}

// uploads makes an endpoint of a function that reads files of a multipart form and answers with Out.
func uploads[Out any](fn writerFunc) endpoint {
	return endpoint{request: openapi.Files, response: openapi.JSON[Out](), ownDeadline: true, serve: fn}
}

// created makes the status of a success 201. Only POST /v1/library/create has it: docs/interface.md keeps 200 for the
// other creations.
func (e endpoint) created() endpoint {
	serve := e.serve
	e.status = http.StatusCreated
	e.serve = func(s *Server, ctx context.Context, c *call) error {
		c.status = http.StatusCreated
		return serve(s, ctx, c)
	}
	return e
}

// large and small are the limits of request bodies, in bytes: large for bodies with sequences, questions or files of
// other programs, small for all others.
func large(s *Server) int64 { return s.cfg.MaxBody }
func small(*Server) int64   { return 64 << 10 }

// json writes v as the response, as one line of JSON. An error means that nothing was sent.
func (c *call) json(v any) error {
	b, err := api.Encode(v)
	if err != nil {
		return err
	}
	c.raw(b)
	return nil
}

// raw writes bytes that are JSON as the response. Caches must not store them.
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

// checkBody refuses a body that is not JSON or is known to be larger than limit bytes. Compressed bodies are refused: a
// small one could expand to any size.
func (c *call) checkBody(limit int64) error {
	r := c.r
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return pleat.Errorf(pleat.CodeNotJSON, "the Content-Encoding is %q; send the JSON uncompressed",
			pleat.Clip(enc))
	}
	kind := r.Header.Get("Content-Type")
	media, params, err := mime.ParseMediaType(kind)
	charset := params["charset"]
	if err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return pleat.Errorf(pleat.CodeNotJSON, "the Content-Type is %q; it must be application/json",
			pleat.Clip(kind))
	}
	if r.ContentLength > limit {
		c.drain(r.Body)
		return tooLarge(limit)
	}
	return nil
}

// tooLarge returns the error for a body of more than limit bytes.
func tooLarge(limit int64) error {
	return pleat.Errorf(pleat.CodeTooLarge, "the request body is larger than %d bytes", limit)
}

// drain reads the rest of a refused body, for at most 5 s and 64 MiB: if the server closed the connection while its
// client was still sending, the client would see a reset instead of the response.
func (c *call) drain(body io.Reader) {
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.CopyN(io.Discard, body, 64<<20)
}

// uuid returns the path value that is an id, in lower case; notFound if it is not a UUID, since it identifies nothing.
// A malformed id is therefore 404, never 400.
func (c *call) uuid(name string, notFound error) (string, error) {
	id := c.r.PathValue(name)
	if !pleat.IsUUID(id) {
		return "", notFound
	}
	return strings.ToLower(id), nil
}
