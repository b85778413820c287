// Package openapi makes the OpenAPI 3.1 document of the service, and its page, from a list of operations and the Go
// types of their requests and responses.
//
// It owns the names of components and what the schemas say beyond the types. It must not know handlers or serve HTTP.
package openapi

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"pleat"
	"pleat/api"
)

// schemaPrefix begins every reference to a component.
const schemaPrefix = "#/components/schemas/"

// responsePrefix begins every reference to the description of an error.
const responsePrefix = "#/components/responses/"

// errorBody is the body of an error. The second form is for requests that accept it.
var errorBody = Content{"application/json": schemaOf[api.Error], api.ProblemType: schemaOf[api.Problem]}

// Operation is one method of one path, as the document describes it.
type Operation struct {
	ID       string // unique; generators name their functions after it
	Section  string // its tag
	Method   string
	Path     string // with placeholders such as {id}
	Summary  string // one sentence without a full stop
	Access   Access
	Scope    string // that the credential needs; empty: none
	Request  Body   // zero: none
	Optional bool   // the body may be absent
	Status   int    // of a success; 0: 200
	Response Content
	Errors   []int // statuses besides those that follow from Access, Path and Request
	Query    []Param
	Headers  []Param
}

// Access is whether an operation reads a credential.
type Access int

const (
	NoCredential       Access = iota // credentials are not read
	OptionalCredential               // the response depends on the caller
	CredentialRequired
)

// Param is a query parameter or a request header. None is required: an endpoint that needs one refuses the request
// with a message of its own.
type Param struct {
	Name string
	Kind string // string, integer, uuid, or the name of a component
	Doc  string

	Alias string // another name of it, which is in Doc alone; empty: none
}

// Info is what the document says about the service.
type Info struct {
	PublicURL string   // of the server
	Cookie    string   // name of the cookie that holds a browser's session
	Sections  []string // tags, in order
}

// Document makes the OpenAPI 3.1 document. It fails if an enumeration has no name.
func Document(info Info, operations []Operation) ([]byte, error) {
	reg := huma.NewMapRegistry(schemaPrefix, huma.DefaultSchemaNamer)
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title:       "Pleat",
			Version:     pleat.Version,
			Description: intro,
			License:     &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Servers: []*huma.Server{{URL: info.PublicURL}},
		Components: &huma.Components{Schemas: reg, SecuritySchemes: map[string]*huma.SecurityScheme{
			"bearer": {Type: "http", Scheme: "bearer", Description: "An API key."},
			"header": {Type: "apiKey", In: "header", Name: "X-API-Key", Description: "An API key."},
			"cookie": {Type: "apiKey", In: "cookie", Name: info.Cookie,
				Description: "A browser's session; writes need a matching Origin."},
		}},
	}
	for _, name := range info.Sections {
		doc.Tags = append(doc.Tags, &huma.Tag{Name: name})
	}
	requests := map[string]bool{}
	for i := range operations {
		doc.AddOperation(describe(reg, &operations[i], requests))
	}
	if err := addExamples(doc); err != nil {
		return nil, err
	}
	doc.Components.Responses = errorResponses(reg, operations)
	doc.Webhooks = notifications(reg)
	schemaOf[api.Event](reg)
	schemaOf[api.Change](reg)
	if err := nameEnums(reg.Map()); err != nil {
		return nil, err
	}
	refine(reg.Map(), requests)
	describeLetters(reg.Map()["Polymer"])
	return doc.MarshalJSON()
}

// addExamples adds the examples of request bodies. It fails for an example of an operation that has no JSON body.
func addExamples(doc *huma.OpenAPI) error {
	all, err := examples()
	if err != nil {
		return fmt.Errorf("the examples: %w", err)
	}
	for _, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Post, item.Put, item.Patch} {
			if op == nil || all[op.OperationID] == nil || op.RequestBody == nil {
				continue
			}
			body := op.RequestBody.Content["application/json"]
			if body == nil {
				continue
			}
			body.Examples = map[string]*huma.Example{}
			for title, value := range all[op.OperationID] {
				body.Examples[title] = &huma.Example{Summary: title, Value: value}
			}
			delete(all, op.OperationID)
		}
	}
	if len(all) > 0 {
		return fmt.Errorf("the examples of %v have no operation", slices.Sorted(maps.Keys(all)))
	}
	return nil
}

// describeLetters adds the alphabet of each kind of polymer, from which the page is generated.
func describeLetters(polymer *huma.Schema) {
	alphabets := map[string]string{}
	for _, kind := range []pleat.EntityKind{pleat.Protein, pleat.RNA, pleat.DNA} {
		alphabets[string(kind)] = pleat.Letters(kind)
	}
	polymer.Properties["sequence"].Extensions = map[string]any{"x-alphabets": alphabets}
}

// intro is the description of the service: paragraphs of Markdown.
const intro = "Folds proteins, nucleic acids and ligands with AI models, answers questions about their structures " +
	"and simulates them.\n\n" +
	"Create a job or a workflow with one request, follow it, and read its results. " +
	"Every error is {\"message\": string}, one sentence that names the fault and its place. Requests that accept " +
	"application/problem+json get a problem detail (RFC 9457) that lists every fault with its field. " +
	"In requests, null equals an absent field. Unknown fields are refused, except inside a destination of " +
	"webhooks, where they are stored. " +
	"Times are UTC, ISO 8601, with six fractional digits and no zone suffix.\n\n" +
	"Send your API key as Authorization: Bearer KEY, or as X-API-Key: KEY. " +
	"An object of another user answers 404, as if it did not exist."

// describe describes one operation. It adds the component of its request to requests.
func describe(reg huma.Registry, o *Operation, requests map[string]bool) *huma.Operation {
	success := cmp.Or(o.Status, http.StatusOK)
	op := &huma.Operation{
		OperationID: o.ID,
		Method:      o.Method,
		Path:        o.Path,
		Summary:     o.Summary,
		Description: scopeNote(o.Scope),
		Tags:        []string{o.Section},
		Parameters:  parameters(o),
		Security:    security(o.Access),
		Responses: map[string]*huma.Response{
			strconv.Itoa(success): {Description: http.StatusText(success), Content: mediaTypes(reg, o.Response)},
		},
	}
	if o.Request.schema != nil {
		schema := o.Request.schema(reg)
		if o.Request.strict {
			requests[componentOf(schema)] = true
		}
		op.RequestBody = &huma.RequestBody{
			Required: !o.Optional,
			Content:  map[string]*huma.MediaType{o.Request.media: {Schema: schema}},
		}
	}
	for _, code := range errorStatuses(o) {
		op.Responses[strconv.Itoa(code)] = &huma.Response{Ref: responsePrefix + errorResponse(code)}
	}
	return op
}

// errorResponse returns the name of the component that describes errors of a status, such as NotFound.
func errorResponse(code int) string {
	return strings.ReplaceAll(http.StatusText(code), " ", "")
}

// errorResponses describes the errors of every status that operations may answer, by the name of the component.
func errorResponses(reg huma.Registry, operations []Operation) map[string]*huma.Response {
	out := map[string]*huma.Response{}
	for i := range operations {
		for _, code := range errorStatuses(&operations[i]) {
			out[errorResponse(code)] = &huma.Response{
				Description: http.StatusText(code),
				Content:     mediaTypes(reg, errorBody),
			}
		}
	}
	return out
}

// scopeNote says which scope a key needs.
func scopeNote(scope string) string {
	if scope == "" {
		return ""
	}
	return "Needs a key with the scope " + scope + "."
}

// errorStatuses returns the statuses of an operation's errors in order: those that follow from what it reads, and its
// own. A path with an id may be 404, a body 413 or 415, a caller 401 or 429, and 403 where a scope is needed; every
// operation may be 400, 500 and 503.
func errorStatuses(o *Operation) []int {
	codes := append([]int{400, 500, 503}, o.Errors...) // any query may be malformed
	if strings.Contains(o.Path, "{") {
		codes = append(codes, 404)
	}
	if o.Request.schema != nil {
		codes = append(codes, 413, 415)
	}
	if o.Access != NoCredential {
		codes = append(codes, 401, 429)
	}
	if o.Scope != "" {
		codes = append(codes, 403)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// security returns the credentials that an operation accepts, any one of which is enough; an empty one among them means
// that none is needed.
func security(a Access) []map[string][]string {
	credentials := []map[string][]string{{"bearer": {}}, {"header": {}}, {"cookie": {}}}
	switch a {
	case NoCredential:
		return []map[string][]string{}
	case CredentialRequired:
		return credentials
	default:
		return append([]map[string][]string{{}}, credentials...)
	}
}

// mediaTypes describes each media type of a response.
func mediaTypes(reg huma.Registry, c Content) map[string]*huma.MediaType {
	out := map[string]*huma.MediaType{}
	for media, schema := range c {
		out[media] = &huma.MediaType{Schema: schema(reg)}
	}
	return out
}

// parameters describes what an operation reads from path, query and headers.
func parameters(o *Operation) []*huma.Param {
	var out []*huma.Param
	for segment := range strings.SplitSeq(o.Path, "/") {
		name, ok := strings.CutPrefix(segment, "{")
		if !ok {
			continue
		}
		p := Param{Name: strings.TrimSuffix(name, "}"), Kind: "string"}
		if p.Name == "id" {
			p.Kind = "uuid"
		}
		out = append(out, &huma.Param{Name: p.Name, In: "path", Required: true, Schema: paramSchema(p)})
	}
	for _, p := range o.Query {
		out = append(out, &huma.Param{Name: p.Name, In: "query", Description: p.Doc, Schema: paramSchema(p)})
	}
	for _, p := range o.Headers {
		out = append(out, &huma.Param{Name: p.Name, In: "header", Description: p.Doc, Schema: paramSchema(p)})
	}
	return out
}

// paramSchema returns the schema of a parameter: a basic type or a reference to a component.
func paramSchema(p Param) *huma.Schema {
	switch p.Kind {
	case "uuid":
		return &huma.Schema{Type: huma.TypeString, Format: "uuid"}
	case huma.TypeString, huma.TypeInteger:
		return &huma.Schema{Type: p.Kind}
	}
	return &huma.Schema{Ref: schemaPrefix + p.Kind}
}

// componentOf returns the name of the component that a schema refers to; empty if it is not a reference.
func componentOf(s *huma.Schema) string { return strings.TrimPrefix(s.Ref, schemaPrefix) }

// nameEnums makes a component of each enumeration, so that generators make one type of it. A property has the name of
// its enumeration in place of the values.
func nameEnums(all map[string]*huma.Schema) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for field, p := range all[name].Properties {
			if len(p.Enum) == 0 {
				continue
			}
			enum := fmt.Sprint(p.Enum[0])
			values := api.Enum(enum)
			if len(p.Enum) > 1 || values == nil {
				return fmt.Errorf("%s.%s: the enumeration %v has no name in package api", name, field, p.Enum)
			}
			if s, ok := all[enum]; ok && len(s.Enum) == 0 {
				return fmt.Errorf("%s.%s: %s is the name of an enumeration and of an object", name, field, enum)
			}
			all[enum] = enumSchema(p.Type, values)
			all[name].Properties[field] = &huma.Schema{Ref: schemaPrefix + enum, Description: p.Description}
			if p.Nullable {
				orNull(all[name], field)
			}
		}
	}
	return nil
}

// enumSchema returns the schema of an enumeration.
func enumSchema(kind string, values []string) *huma.Schema {
	s := &huma.Schema{Type: kind}
	for _, v := range values {
		s.Enum = append(s.Enum, v)
	}
	return s
}

// refine adds to the schemas what Go's types cannot say: which objects may be null, that an item has exactly one kind,
// and that responses may grow new fields while requests may not.
func refine(all map[string]*huma.Schema, requests map[string]bool) {
	orNull(all["Results"], "constraints")
	orNull(all["JobView"], "constraints")
	orNull(all["JobView"], "waiting")
	orNull(all["Workflow"], "waiting")
	orNull(all["Workflow"], "graph")
	orNull(all["Validation"], "cached")
	orNull(all["WebhookEndpoints"], "default_endpoint")
	orNull(all["ModelQueue"], "paused")
	orNull(all["PausedModel"], "paused")
	for _, s := range all {
		if p := s.Properties["createdBy"]; p != nil && p.Ref != "" {
			orNull(s, "createdBy")
		}
	}
	all["SequenceItem"].Not = &huma.Schema{AnyOf: notOneOf((api.SequenceItem{}).Kinds())}
	strict := map[string]bool{}
	for name := range requests {
		markStrict(all, name, strict)
	}
	for name, s := range all {
		switch {
		case s.Type != huma.TypeObject:
		case !strict[name]:
			s.AdditionalProperties = true
		default:
			for field := range s.Properties { // in requests null equals absent
				if !slices.Contains(s.Required, field) {
					orNull(s, field)
				}
			}
		}
	}
}

// notOneOf describes the objects that have none or several of some fields. Its negation says what oneOf would, which
// generators take for a choice of types.
func notOneOf(fields []string) []*huma.Schema {
	var required, out []*huma.Schema
	for i, field := range fields {
		required = append(required, &huma.Schema{Required: []string{field}})
		for _, other := range fields[:i] {
			out = append(out, &huma.Schema{Required: []string{other, field}})
		}
	}
	return append(out, &huma.Schema{Not: &huma.Schema{AnyOf: required}})
}

// markStrict adds a component, and those that it refers to, to strict. These are the objects of requests, in which
// unknown fields are refused; a component of both requests and responses is strict too.
func markStrict(all map[string]*huma.Schema, name string, strict map[string]bool) {
	if name == "" || strict[name] {
		return
	}
	strict[name] = true
	for _, p := range all[name].Properties {
		markStrict(all, componentOf(p), strict)
		if p.Items != nil {
			markStrict(all, componentOf(p.Items), strict)
		}
	}
}

// orNull lets a field be null: a basic type by its nullability, a component by an alternative, since a reference cannot
// have further keywords in the generators that read the document.
func orNull(s *huma.Schema, field string) {
	p := s.Properties[field]
	switch {
	case p.Ref != "":
		s.Properties[field] = &huma.Schema{
			Description: p.Description,
			AnyOf:       []*huma.Schema{{Ref: p.Ref}, {Type: "null"}},
		}
	case p.Type != "":
		p.Nullable = true
	}
}
