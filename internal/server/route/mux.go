package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"pleat"
)

// Mux returns a mux that serves routes. It panics if two patterns conflict, or if a route contradicts itself, which any
// test that creates a server finds.
func (k *Core) Mux(routes []Route) *http.ServeMux {
	m := http.NewServeMux()
	var fixed []Route
	for _, rt := range routes {
		if rt.Fixed != (FixedWord{}) {
			fixed = append(fixed, rt)
			continue
		}
		for _, pattern := range rt.patterns() {
			m.Handle(pattern, k.Serve(rt))
		}
	}
	m.Handle(fixedPattern, k.fixedHandler(fixed))
	return m
}

// fixedPattern is one pattern for all routes such as …/public/{id} and …/{id}/events: the mux refuses two patterns of
// which neither is more specific than the other.
const fixedPattern = "GET /v1/workflows/{first}/{second}"

// FixedWord identifies a route of [fixedPattern]: the one segment that is fixed. The other segment is the id. The zero
// value is that of a route that the mux serves under its own pattern.
type FixedWord struct{ First, Second string }

// fixedHandler serves the routes of fixedPattern by their fixed words. If both segments are fixed words, the first
// one decides.
func (k *Core) fixedHandler(routes []Route) http.Handler {
	type choice struct {
		pattern string
		handler http.Handler
	}
	choices := map[FixedWord]choice{}
	for _, rt := range routes {
		if _, twice := choices[rt.Fixed]; twice {
			panic("route: " + rt.ID + " has the fixed word of another route")
		}
		choices[rt.Fixed] = choice{rt.Pattern, k.Serve(rt)}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, second := r.PathValue("first"), r.PathValue("second")
		chosen, ok := choices[FixedWord{First: first}]
		id := second
		if !ok {
			chosen, ok = choices[FixedWord{Second: second}]
			id = first
		}
		c := callOf(r)
		if !ok {
			writeError(c.W, http.StatusNotFound, NotFoundMessage)
			return
		}
		c.pattern = chosen.pattern
		r.SetPathValue("id", id)
		chosen.handler.ServeHTTP(w, r)
	})
}

// Serve returns the handler of a route. It panics if the route contradicts itself. The handler reads the credential,
// unless the route is open, and sets the deadline of the work, unless the endpoint streams. An error of the checks or
// of the endpoint becomes the response in fail.
func (k *Core) Serve(rt Route) http.Handler {
	rt.check()
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c := callOf(r)
		c.served, c.Cred = rt, k.credentialFor(rt, r)
		ctx := r.Context()
		if !rt.Handler.ownDeadline {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, responseTimeout)
			defer cancel()
		}
		if err := k.serveVerified(ctx, c, rt); err != nil {
			k.fail(c, c.inTime(ctx, err))
		}
	})
}

// inTime returns the error of a call, which is unavailable if its own time has run out.
func (c *Call) inTime(ctx context.Context, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() == nil || pleat.CodeOf(err) != pleat.CodeInternal {
		return err
	}
	less := fmt.Sprintf("this takes longer than %s now; try again, or ask for less", responseTimeout)
	return &pleat.Error{Code: pleat.CodeUnavailable, Message: cmp.Or(c.Late, less), Err: err}
}

// serveVerified is serveCall. Where the credential was taken for valid because it was so recently, a success has shown
// that it is, and a refusal is told only to a caller who still has one.
func (k *Core) serveVerified(ctx context.Context, c *Call, rt Route) error {
	err := k.serveCall(ctx, c, rt)
	switch {
	case !c.assumed:
		return err
	case err != nil:
		return c.PreferUnauthorized(ctx, err)
	}
	k.callers.usage.record(c.Who.Key, k.clock())
	return nil
}

// serveCall makes the checks that all routes share, in the order of their cost, and calls the endpoint:
//
//  1. the rate limit of the caller (429), which needs the database only for a credential that was not used recently, so
//     that refused requests cost little;
//  2. the credential that the route demands (401), and its scope (403);
//  3. the form of the query (400), the role in the project in which the route works (403, 404), and whether the caller
//     is an operator, where the route is for operators (403);
//  4. the free disk (503), if the route makes new work or stores files.
//
// HEAD of an event stream ends here, since it would not end otherwise. A request that passes is traced from here. The
// statuses above, 500 and 503 are those that every endpoint may answer; the handlers' comments list the others.
func (k *Core) serveCall(ctx context.Context, c *Call, rt Route) error {
	if err := k.admit(ctx, c, rt); err != nil {
		return err
	}
	if err := k.authorize(ctx, c, rt); err != nil {
		return err
	}
	if err := checkQuery(c.R, rt); err != nil {
		return err
	}
	if rt.Who.access == user {
		if err := c.enter(ctx, ProjectParam, c.R.URL.Query().Get(ProjectParam)); err != nil {
			return err
		}
	}
	if rt.Who.operator != "" && !c.Who.Operator {
		return ErrNoOperator(rt.Who.operator)
	}
	if rt.Cost == CostNewWork {
		if err := k.disk.Check(); err != nil {
			c.retryAfter(time.Minute) // an operator must make space
			return err
		}
	}
	if c.R.Method == http.MethodHead && rt.Handler.SendsEvents() {
		c.W.Header().Set("Content-Type", "text/event-stream")
		return nil
	}
	return rt.Handler.serve(k.beginTrace(ctx, c, rt), c)
}

// ErrNoOperator refuses what only operators may do.
func ErrNoOperator(what string) error {
	return pleat.Errorf(pleat.CodeForbidden, "Only an operator of this service may %s", what)
}

// checkQuery refuses a query that cannot be parsed completely; the standard library would drop the malformed part. It
// refuses NUL bytes too, at which the databases would stop to read, and parameters that the route does not have: they
// would be ignored. The routes of operators ignore them, since their callers, such as probes, send some of their own.
func checkQuery(r *http.Request, rt Route) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	for name, values := range q {
		for _, v := range values {
			if i := strings.IndexByte(v, 0); i >= 0 {
				return pleat.InvalidField(pleat.Clip(name), " has a NUL byte at position %d, which is not text", i+1)
			}
		}
	}
	if err != nil {
		return pleat.Invalidf("the query of the URL cannot be parsed: %s; a %% must be followed by two hexadecimal "+
			"digits, and parameters are separated by &", pleat.Clip(err.Error()))
	}
	if rt.Probed || rt.AnyQuery {
		return nil
	}
	var known []string
	for _, p := range rt.Query {
		known = append(known, p.Name)
		if p.Alias != "" {
			known = append(known, p.Alias)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains(known, name) {
			return unknownParameter(name, known)
		}
	}
	return nil
}

// unknownParameter refuses a parameter of a query that a route does not have, with the nearest or all that it has.
func unknownParameter(name string, known []string) error {
	hint := "this route has none"
	if near := pleat.Nearest(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	} else if len(known) > 0 {
		hint = "it may be " + strings.Join(known, ", ")
	}
	return pleat.Invalidf("unknown query parameter %q; %s", pleat.Clip(name), hint).At(name)
}

// responseTimeout bounds the work for one response that is not streamed. It is half of the write timeout of the server,
// so that the error still reaches the client.
const responseTimeout = 30 * time.Second

// NotFoundMessage is the message of every path that no route has.
const NotFoundMessage = "There is nothing at this path; /docs lists every path"
