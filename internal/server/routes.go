package server

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"pleat"
	"pleat/internal/server/openapi"
	"pleat/internal/workerapi"
)

// route is one operation of the HTTP interface: everything that the mux and the OpenAPI document need to know of it.
type route struct {
	id      string // operation id, unique in the document
	section string // chapter of docs/interface.md that promises the route; its tag in the document
	pattern string // method and path, as http.ServeMux reads them

	shared  fixedWord // its key among the routes of sharedPattern; zero: the mux serves pattern itself
	aliased string    // segment of the path in whose place an alias is accepted; empty: none

	access access      // what credential it demands
	grows  bool        // it makes new work or stores files, which an almost full disk refuses
	scope  pleat.Scope // that the key needs; empty: none
	role   pleat.Role  // that the caller needs in the project; NoRole: the one that the scope asks for
	// operator is what the route does, for the message to those who are no operators; empty: it is not for them alone.
	operator string
	keyOnly  bool // the key itself is needed: a session of it is not enough
	foreign  bool // another program writes the query: parameters that the route does not have are ignored
	bearer   bool // the credential is a bearer token: neither a session nor another header counts
	// verified says that a success of the handler needs a verb of the store that checks the credential itself.
	verified bool
	counted  counting // against which limit of its caller it counts
	summary  string   // one sentence without a full stop
	handler  endpoint // reads the request, writes the response, and carries the schema of both
	errors   []int    // statuses that it may answer besides those that follow from access, path and body
	query    []openapi.Param
	headers  []openapi.Param
}

// needs is the role that a caller needs in the project in which the route works.
func (rt route) needs() pleat.Role {
	switch {
	case rt.operator != "":
		return pleat.Viewer // of whatever project: being an operator decides
	case rt.role != pleat.NoRole:
		return rt.role
	}
	return rt.scope.Role()
}

// method returns the HTTP method of the route.
func (rt route) method() string {
	method, _, _ := strings.Cut(rt.pattern, " ")
	return method
}

// path returns the path of the route, with placeholders such as {id}.
func (rt route) path() string {
	_, path, _ := strings.Cut(rt.pattern, " ")
	return path
}

// action returns what the route does, for a message: its summary up to the first comma or semicolon.
func (rt route) action() string {
	text, _, _ := strings.Cut(rt.summary, ";")
	text, _, _ = strings.Cut(text, ",")
	return strings.ToLower(text[:1]) + text[1:]
}

// operation returns what the OpenAPI document says about the route.
func (rt route) operation() openapi.Operation {
	credentials := map[access]openapi.Access{
		open:   openapi.NoCredential,
		anyone: openapi.OptionalCredential,
		reader: openapi.OptionalCredential,
		user:   openapi.CredentialRequired,
	}
	return openapi.Operation{
		ID:       rt.id,
		Section:  rt.section,
		Method:   rt.method(),
		Path:     rt.path(),
		Summary:  rt.summary,
		Access:   credentials[rt.access],
		Scope:    string(rt.scope),
		Request:  rt.handler.request,
		Optional: rt.handler.optional,
		Status:   rt.handler.status,
		Response: rt.handler.response,
		Errors:   rt.errors,
		Query:    rt.query,
		Headers:  rt.headers,
	}
}

// document makes the OpenAPI document of routes. The paths in it are those of the rows; aliases are not documented
// there.
func document(publicURL string, routes []route) ([]byte, error) {
	operations := make([]openapi.Operation, 0, len(routes))
	for _, rt := range routes {
		operations = append(operations, rt.operation())
	}
	return openapi.Document(openapi.Info{
		PublicURL: publicURL,
		Cookie:    cookieNameOf(publicURL),
		Sections:  sections,
	}, operations)
}

var (
	lastEventHeader = openapi.Param{
		Name: "Last-Event-ID", Kind: "string", Doc: "Id of the last event received: the stream resumes after it.",
	}
	idempotencyHeader = openapi.Param{
		Name: "Idempotency-Key", Kind: "string",
		Doc: "The same key and body within 24 hours return the first answer; another body is refused with 409.",
	}
	cacheControlHeader = openapi.Param{
		Name: "Cache-Control", Kind: "string",
		Doc: "no-cache: compute the run even if there is a cached result of the same input, parameters and seed.",
	}
)

// limitParam describes the limit of a list whose default is def.
func limitParam(def int) openapi.Param {
	return openapi.Param{Name: "limit", Kind: "integer", Doc: fmt.Sprintf("1 to %d; %d by default.", maxPage, def)}
}

// pageOf describes the parameters of a list in pages of def entries by default.
func pageOf(def int) []openapi.Param {
	return []openapi.Param{limitParam(def), {Name: "cursor", Kind: "string", Doc: "next_cursor of the previous page."}}
}

// inProject describes the parameter by which a request names the project in which it works; serveCall reads it.
var inProject = []openapi.Param{{
	Name: projectParam, Kind: "uuid", Doc: "The project; absent: that of the key, else your own.",
}}

// byCreator describes the parameter by which a request narrows a list to what one user created; creatorQuery reads it.
var byCreator = openapi.Param{
	Name: "createdBy", Kind: "string", Doc: "Only what this user created: me, or the id of a user; absent: all.",
}

// projectParam is the name of that parameter.
const projectParam = "projectId"

// signature describes the parameters of a signed link; expiry says what the parameter e means.
func signature(expiry string) []openapi.Param {
	return []openapi.Param{
		{Name: "e", Kind: "integer", Doc: expiry},
		{Name: "s", Kind: "string", Doc: "The link's signature."},
	}
}

// inSection sets the section of routes.
func inSection(name string, routes []route) []route {
	for i := range routes {
		routes[i].section = name
	}
	return routes
}

// operationSection is the section of the routes for operators and their programs.
const operationSection = "Operation"

// sections are the tags of the document, in its order.
var sections = []string{
	"Fold jobs", "Batches", "Alignments", "Workflows", "Comparison", "Library", "Webhooks", "Projects",
	"Keys and sessions",
	operationSection, "Agents", "Operators",
}

// allRoutes returns the whole interface of the service.
func allRoutes() []route {
	return slices.Concat(
		jobRoutes, batchRoutes, alignmentRoutes, workflowRoutes, compareRoutes, libraryRoutes, webhookRoutes,
		projectRoutes, groupRoutes, accountRoutes, loginRoutes, operationRoutes, agentRoutes,
		operatorRoutes)
}

// mux registers the routes, and the page, which New receives as a handler; nil: a line of HTML instead. It panics if
// two patterns conflict, which any test that creates a server finds.
func (s *Server) mux(routes []route, page http.Handler) http.Handler {
	m := http.NewServeMux()
	var sharing []route
	for _, rt := range routes {
		if rt.shared != (fixedWord{}) {
			sharing = append(sharing, rt)
			continue
		}
		for _, pattern := range rt.patterns() {
			m.Handle(pattern, s.serve(rt))
		}
	}
	m.Handle(sharedPattern, s.sharedHandler(sharing))
	m.Handle(agentRoute.pattern, s.serve(agentRoute))
	m.Handle("GET "+metadataPath+agentPath, s.serve(metadataRoute))
	if page == nil {
		page = http.HandlerFunc(placeholderPage)
	} else {
		m.Handle("GET /ui/", page)
		m.Handle("GET /workflow/composer/{id}", page)
		m.Handle("GET /mol/{id}", page)
	}
	m.Handle("GET /{$}", page)
	if s.docs.site != nil {
		m.Handle("GET /docs/", s.docs.site)
	} else {
		m.Handle("GET /docs/{$}", http.RedirectHandler("/docs", http.StatusFound))
	}
	m.Handle(workerapi.Path, s.workers)
	return s.middleware(m)
}

// serve returns the handler of a route. It reads the credential, unless the route is open, and sets the deadline of the
// work, unless the endpoint streams. An error of the checks or of the endpoint becomes the response in fail.
func (s *Server) serve(rt route) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c := callOf(r)
		c.served = rt
		if rt.access != open || rt.counted == byCredential {
			c.cred = s.credentialOf(r)
		}
		if rt.bearer {
			c.cred = bearerOf(r)
		}
		ctx := r.Context()
		if !rt.handler.ownDeadline {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, responseTimeout)
			defer cancel()
		}
		if err := s.serveVerified(ctx, c, rt); err != nil {
			s.fail(c, err)
		}
	})
}

// serveVerified is serveCall. Where the credential was taken for valid because it was so recently, a success has shown
// that it is, and a refusal is told only to a caller who still has one.
func (s *Server) serveVerified(ctx context.Context, c *call, rt route) error {
	err := s.serveCall(ctx, c, rt)
	switch {
	case !c.assumed:
		return err
	case err != nil:
		return s.preferUnauthorized(ctx, c, err)
	}
	s.keyUsage.record(c.who.Key, s.clock())
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
// HEAD of an event stream ends here, since it would not end otherwise. What passes is traced from here. The statuses
// above, 500 and 503 are those that every endpoint may answer; the handlers' comments list the others.
func (s *Server) serveCall(ctx context.Context, c *call, rt route) error {
	if err := s.admit(ctx, c, rt); err != nil {
		return err
	}
	if err := s.authorize(ctx, c, rt); err != nil {
		return err
	}
	if err := checkQuery(c.r, rt); err != nil {
		return err
	}
	if rt.access == user {
		if err := s.enter(ctx, c, projectParam, c.r.URL.Query().Get(projectParam)); err != nil {
			return err
		}
	}
	if rt.operator != "" && !c.who.Operator {
		return errNoOperator(rt.operator)
	}
	if rt.grows {
		if err := s.disk.Check(); err != nil {
			c.drain(c.r.Body)
			retryAfter(c.w.Header(), time.Minute) // an operator must make space
			return err
		}
	}
	if c.r.Method == http.MethodHead && rt.handler.eventStream {
		c.w.Header().Set("Content-Type", "text/event-stream")
		return nil
	}
	return rt.handler.serve(s, s.beginTrace(ctx, c, rt), c)
}

// checkQuery refuses a query that cannot be parsed completely; the standard library would drop the malformed part. It
// refuses NUL bytes too, at which the databases would stop to read, and parameters that the route does not have: they
// would be ignored. The routes of operators ignore them, since their callers, such as probes, send some of their own.
func checkQuery(r *http.Request, rt route) error {
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
	if rt.section == operationSection || rt.foreign {
		return nil
	}
	var known []string
	for _, p := range rt.query {
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

// responseTimeout bounds the work for one response that is not streamed. It is half of the write timeout of Serve, so
// that the error still reaches the client.
const responseTimeout = 30 * time.Second

// placeholderPage answers / where no page is built in.
func placeholderPage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Pleat</title>` +
		`<p>This is Pleat, a service that folds proteins. <a href="/docs">Its interface</a> is at /docs.</p></html>` +
		"\n"))
}
