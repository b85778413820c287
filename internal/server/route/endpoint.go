package route

import (
	"context"
	"errors"
	"net/http"

	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
)

// Endpoint is the handler of a route together with the schema of its request and response. The constructors below
// derive the schema from the types that the handler reads and writes, so the document cannot differ from the code.
type Endpoint struct {
	request  openapi.Body    // nil: it reads none
	optional bool            // the body may be absent
	response openapi.Content // of a success
	status   int             // of a success; 0: 200

	ownDeadline bool // it lasts as long as its client sends or reads, not responseTimeout
	eventStream bool // it sends server-sent events until the client leaves
	serve       Handler
}

// Handler handles a request and writes the response itself. Handlers return errors with a [pleat.Code]; fail turns them
// into responses.
type Handler func(ctx context.Context, c *Call) error

// Getter handles a request without a body. Out is the type of the response, which is sent as JSON.
type Getter[Out any] func(ctx context.Context, c *Call) (Out, error)

// Poster handles a request with a JSON body. Out is the response's JSON.
type Poster[In, Out any] func(ctx context.Context, c *Call, in *In) (Out, error)

// NoBody makes an endpoint of a handler that reads no body.
func NoBody[Out any](fn Getter[Out]) Endpoint {
	return Endpoint{response: openapi.JSON[Out](), serve: func(ctx context.Context, c *Call) error {
		out, err := fn(ctx, c)
		if err != nil {
			return err
		}
		return c.JSON(out)
	}}
}

// Limit bounds the bytes of a request body.
type Limit func(*Core) int64

// Large is for bodies with sequences, questions or files of other programs, [Small] for all others.
func Large(k *Core) int64 { return k.cfg.MaxBody }

// Small is 64 KiB.
func Small(*Core) int64 { return 64 << 10 }

// JSONBody makes an endpoint of a handler whose JSON body has at most the bytes that limit allows. The body is decoded
// strictly ([api.Decode]). 400: it is empty or not valid; 413: it is too large; 415: it is not labelled as JSON.
func JSONBody[In, Out any](limit Limit, fn Poster[In, Out]) Endpoint {
	return Endpoint{
		request:  openapi.JSONRequest[In](),
		response: openapi.JSON[Out](),
		serve: func(ctx context.Context, c *Call) error {
			body, done, err := c.RequiredBody(limit(c.core))
			defer done()
			if err != nil {
				return err
			}
			return decodeAndServe(ctx, c, body, fn)
		},
	}
}

// FaultyBody is [JSONBody] for a function that gets the faults of a body of the wrong form too: unknown fields and
// wrong types. 400: the body is empty or not JSON.
func FaultyBody[In, Out any](
	limit Limit, fn func(ctx context.Context, c *Call, in *In, faults []api.FieldError) (Out, error),
) Endpoint {
	e := Endpoint{request: openapi.JSONRequest[In](), response: openapi.JSON[Out]()}
	e.serve = func(ctx context.Context, c *Call) error {
		body, done, err := c.RequiredBody(limit(c.core))
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
			faults = FieldErrors(err)
		}
		out, err := fn(ctx, c, in, faults)
		if err != nil {
			return err
		}
		return c.JSON(out)
	}
	return e
}

// OptionalBody is [JSONBody] for a body that may be absent; In is zero then.
func OptionalBody[In, Out any](limit Limit, fn Poster[In, Out]) Endpoint {
	e := JSONBody(limit, fn)
	e.optional = true
	e.serve = func(ctx context.Context, c *Call) error {
		var body []byte
		if c.R.ContentLength != 0 {
			var done func()
			var err error
			body, done, err = c.readBody(limit(c.core))
			defer done()
			if err != nil {
				return err
			}
			if len(body) == 0 { // an empty body that was sent chunked
				body = nil
			}
		}
		return decodeAndServe(ctx, c, body, fn)
	}
	return e
}

// decodeAndServe decodes a body, unless it is nil, and answers with what fn returns.
func decodeAndServe[In, Out any](ctx context.Context, c *Call, body []byte, fn Poster[In, Out]) error {
	in := new(In)
	if body != nil {
		if err := api.Decode(body, in); err != nil {
			return err
		}
	}
	out, err := fn(ctx, c, in)
	if err != nil {
		return err
	}
	return c.JSON(out)
}

// Reads makes an endpoint of a function that reads a body of its own kind.
func Reads(request openapi.Body, response openapi.Content, fn Handler) Endpoint {
	return Endpoint{request: request, response: response, serve: fn}
}

// Answers makes an endpoint of a function that writes a whole response itself, because it has the bytes already.
func Answers(response openapi.Content, fn Handler) Endpoint {
	return Endpoint{response: response, serve: fn}
}

// Redirects makes an endpoint of a function that sends a browser elsewhere.
func Redirects(status int, fn Handler) Endpoint { return Endpoint{status: status, serve: fn} }

// Streams makes an endpoint of a function that writes for as long as its client reads. The function sets the
// connection's deadlines.
func Streams(response openapi.Content, fn Handler) Endpoint {
	return Answers(response, fn).WithOwnDeadline()
}

// EventStream makes an endpoint of a function that sends server-sent events.
func EventStream(response openapi.Content, fn Handler) Endpoint {
	return Endpoint{response: response, ownDeadline: true, eventStream: true, serve: fn}
}

// Uploads makes an endpoint of a function that reads files of a multipart form and answers with Out.
func Uploads[Out any](fn Handler) Endpoint {
	return Reads(openapi.Files, openapi.JSON[Out](), fn).WithOwnDeadline()
}

// WithOwnDeadline lets the function set the connection's deadlines and bound its own work.
func (e Endpoint) WithOwnDeadline() Endpoint {
	e.ownDeadline = true
	return e
}

// SendsEvents reports whether the endpoint sends server-sent events until its client leaves.
func (e Endpoint) SendsEvents() bool { return e.eventStream }

// Created makes the status of a success 201. Only POST /v1/library/create has it: docs/interface.md keeps 200 for the
// other creations.
func (e Endpoint) Created() Endpoint {
	serve := e.serve
	e.status = http.StatusCreated
	e.serve = func(ctx context.Context, c *Call) error {
		c.status = http.StatusCreated
		return serve(ctx, c)
	}
	return e
}

// Before makes check a condition of the endpoint, before it reads the body.
func (e Endpoint) Before(check Handler) Endpoint {
	serve := e.serve
	e.serve = func(ctx context.Context, c *Call) error {
		if err := check(ctx, c); err != nil {
			return err
		}
		return serve(ctx, c)
	}
	return e
}

// errEmptyBody refuses an empty body.
var errEmptyBody = pleat.Invalidf("the request body is empty; it must be a JSON object")
