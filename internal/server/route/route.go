package route

import (
	"cmp"
	"fmt"
	"strings"

	"pleat"
	"pleat/internal/server/openapi"
)

// Route is one operation of the HTTP interface: everything that the mux and the OpenAPI document need to know of it.
type Route struct {
	ID      string // operation id, unique in the document
	Section string // chapter of docs/interface.md that promises the route; its tag in the document
	Pattern string // method and path, as http.ServeMux reads them

	// Fixed is the key of the route among those of fixedPattern; zero: the mux serves Pattern itself.
	Fixed FixedWord
	// Aliased is the segment of the path in whose place an alias is accepted; empty: none.
	Aliased string

	Who     Who
	Cost    Cost
	Summary string   // one sentence without a full stop
	Handler Endpoint // reads the request, writes the response, and carries the schema of both
	Errors  []int    // statuses that it may answer besides those that follow from who, path and body
	Query   []openapi.Param
	Headers []openapi.Param
	// AnyQuery is for a route whose query another program writes: parameters that the route does not have are ignored.
	AnyQuery bool
	// Probed is for a route that programs of operators call all the time: its calls are not traced, and those programs
	// may send parameters of their own.
	Probed bool
}

// check panics if the route contradicts itself, which any test that creates a server finds.
func (rt Route) check() {
	fixed := rt.Fixed == (FixedWord{}) || strings.HasPrefix(rt.Pattern, "GET /v1/workflows/")
	for _, c := range []struct {
		ok    bool
		fault string
	}{
		{rt.ID != "" && rt.Section != "" && rt.Summary != "", "lacks its id, section or summary"},
		{rt.Handler.serve != nil, "has no handler"},
		{rt.Who.access != unset, "does not say who may call it"},
		{rt.Cost.fits(rt.Who), "has a cost that does not fit who may call it"},
		{fixed, "has a fixed word, but not the pattern that goes with it"},
		{len(rt.patterns()) > 0, "has an aliased segment without aliases"},
	} {
		if !c.ok {
			panic("route: " + rt.ID + " " + c.fault)
		}
	}
}

// Method returns the HTTP method of the route.
func (rt Route) Method() string {
	method, _, _ := strings.Cut(rt.Pattern, " ")
	return method
}

// Path returns the path of the route, with placeholders such as {id}.
func (rt Route) Path() string {
	_, path, _ := strings.Cut(rt.Pattern, " ")
	return path
}

// action returns what the route does, for a message: its summary up to the first comma or semicolon.
func (rt Route) action() string {
	text, _, _ := strings.Cut(rt.Summary, ";")
	text, _, _ = strings.Cut(text, ",")
	return strings.ToLower(text[:1]) + text[1:]
}

// patterns returns the patterns under which the mux serves a route: that of the document and, if it has an aliased
// segment, one for each alias.
func (rt Route) patterns() []string {
	if rt.Aliased == "" {
		return []string{rt.Pattern}
	}
	var out []string
	for _, alias := range pleat.AliasesOf(rt.Aliased) {
		out = append(out, strings.Replace(rt.Pattern, "/"+rt.Aliased+"/", "/"+alias+"/", 1))
	}
	return out
}

// operation returns what the OpenAPI document says about the route.
func (rt Route) operation() openapi.Operation {
	return openapi.Operation{
		ID:       rt.ID,
		Section:  rt.Section,
		Method:   rt.Method(),
		Path:     rt.Path(),
		Summary:  rt.Summary,
		Access:   rt.Who.Access(),
		Scope:    string(rt.Who.Scope()),
		Request:  rt.Handler.request,
		Optional: rt.Handler.optional,
		Status:   rt.Handler.status,
		Response: rt.Handler.response,
		Errors:   rt.Errors,
		Query:    rt.Query,
		Headers:  rt.Headers,
	}
}

// Document makes the OpenAPI document of routes. The paths in it are those of the routes; aliases are not documented
// there.
func Document(publicURL string, routes []Route) ([]byte, error) {
	operations := make([]openapi.Operation, 0, len(routes))
	for _, rt := range routes {
		operations = append(operations, rt.operation())
	}
	return openapi.Document(openapi.Info{
		PublicURL: publicURL,
		Cookie:    cookieName(publicURL, "pleat_session"),
		Sections:  Sections,
	}, operations)
}

// Sections are the tags of the document, in its order.
var Sections = []string{
	"Fold jobs", "Batches", "Alignments", "Workflows", "Comparison", "Library", "Webhooks", "Projects",
	"Keys and sessions", "Operation", "Agents", "Operators",
}

// InSection sets the section of routes that have none.
func InSection(name string, routes []Route) []Route {
	for i := range routes {
		routes[i].Section = cmp.Or(routes[i].Section, name)
	}
	return routes
}

// Headers that several routes read.
var (
	LastEventHeader = openapi.Param{
		Name: "Last-Event-ID", Kind: "string", Doc: "Id of the last event received: the stream resumes after it.",
	}
	IdempotencyHeader = openapi.Param{
		Name: "Idempotency-Key", Kind: "string",
		Doc: "The same key and body within 24 hours return the first answer; another body is refused with 409.",
	}
	CacheControlHeader = openapi.Param{
		Name: "Cache-Control", Kind: "string",
		Doc: "no-cache: compute the run even if there is a cached result of the same input, parameters and seed.",
	}
)

// LimitParam describes the limit of a list whose default is def.
func LimitParam(def int) openapi.Param {
	return openapi.Param{Name: "limit", Kind: "integer", Doc: fmt.Sprintf("1 to %d; %d by default.", MaxPage, def)}
}

// PageParams describes the parameters of a list in pages of def entries by default.
func PageParams(def int) []openapi.Param {
	return []openapi.Param{LimitParam(def), {Name: "cursor", Kind: "string", Doc: "next_cursor of the previous page."}}
}

// ProjectParam is the name of the parameter by which a request names the project in which it works.
const ProjectParam = "projectId"

// InProject describes that parameter; serveCall reads it.
var InProject = []openapi.Param{{
	Name: ProjectParam, Kind: "uuid", Doc: "The project; absent: that of the key, else your own.",
}}

// ByCreator describes the parameter by which a request narrows a list to what one user created; [Call.CreatorQuery]
// reads it.
var ByCreator = openapi.Param{
	Name: "createdBy", Kind: "string", Doc: "Only what this user created: me, or the id of a user; absent: all.",
}

// SignatureParams describes the parameters of a signed link; expiry says what the parameter e means.
func SignatureParams(expiry string) []openapi.Param {
	return []openapi.Param{
		{Name: "e", Kind: "integer", Doc: expiry},
		{Name: "s", Kind: "string", Doc: "The link's signature."},
	}
}
