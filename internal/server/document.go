package server

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"pleat"
	"pleat/api"
)

const schemaPrefix = "#/components/schemas/"

// document makes the OpenAPI 3.1 document from the routes and the types they read and write.
func document(publicURL string, routes []route) ([]byte, error) {
	huma.DefaultArrayNullable = false
	reg := huma.NewMapRegistry(schemaPrefix, huma.DefaultSchemaNamer)
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{Title: "Pleat", Version: pleat.Version, Description: intro,
			License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}},
		Servers: []*huma.Server{{URL: publicURL}},
		Components: &huma.Components{Schemas: reg, SecuritySchemes: map[string]*huma.SecurityScheme{
			"bearer": {Type: "http", Scheme: "bearer", Description: "An API key."},
			"header": {Type: "apiKey", In: "header", Name: "X-API-Key", Description: "An API key."},
			"cookie": {Type: "apiKey", In: "cookie", Name: cookieName, Description: "A browser's session; writes need a matching Origin."},
		}},
	}
	for _, name := range []string{"Fold jobs", "Workflows", "Library", "Webhooks", "Keys and session", "Operation"} {
		doc.Tags = append(doc.Tags, &huma.Tag{Name: name})
	}
	requests := map[string]bool{}
	for _, rt := range routes {
		doc.AddOperation(operation(reg, rt, requests))
	}
	reg.Schema(reflect.TypeFor[api.Event](), true, "")
	reg.Schema(reflect.TypeFor[api.Change](), true, "")
	polish(reg.Map(), requests)
	return doc.MarshalJSON()
}

const intro = `Folds proteins, nucleic acids and ligands with AI models, answers questions about their structures and simulates them.

Create a job or a workflow with one request, follow it, read its results. Every refusal is {"message": string}, one sentence that says what is wrong and where. In requests null equals absent, and unknown fields are refused; only inside workflow_input and inside a destination of webhooks are they kept. Times are UTC, ISO 8601, with six fractional digits and no zone suffix.

Send your API key as Authorization: Bearer KEY, or as X-API-Key: KEY. What belongs to somebody else is answered 404, as if it were not there.`

// operation describes one route.
func operation(reg huma.Registry, rt route, requests map[string]bool) *huma.Operation {
	op := &huma.Operation{
		Method: rt.method, Path: rt.path, Summary: rt.summary, Tags: []string{rt.section}, OperationID: operationID(rt),
		Responses: map[string]*huma.Response{strconv.Itoa(cmp.Or(rt.do.status, 200)): {Description: http.StatusText(cmp.Or(rt.do.status, 200)), Content: content(reg, rt)}},
	}
	for rest := rt.path; ; {
		_, after, found := strings.Cut(rest, "{")
		if !found {
			break
		}
		name, tail, _ := strings.Cut(after, "}")
		schema := &huma.Schema{Type: huma.TypeString}
		if name == "id" {
			schema.Format = "uuid"
		}
		op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "path", Required: true, Schema: schema})
		rest = tail
	}
	for _, p := range rt.query {
		op.Parameters = append(op.Parameters, &huma.Param{Name: p.name, In: "query", Description: p.doc, Schema: paramSchema(p)})
	}
	for _, p := range rt.header {
		op.Parameters = append(op.Parameters, &huma.Param{Name: p.name, In: "header", Description: p.doc, Schema: paramSchema(p)})
	}
	if rt.do.in != nil {
		schema := reg.Schema(rt.do.in, true, "")
		requests[strings.TrimPrefix(schema.Ref, schemaPrefix)] = true
		op.RequestBody = &huma.RequestBody{Required: !rt.do.optional, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
	}
	if strings.HasSuffix(rt.path, "/upload-files") {
		files := &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {
			Schema: &huma.Schema{Type: huma.TypeObject, Required: []string{"files"}, Properties: map[string]*huma.Schema{"files": files}}}}}
	}
	codes := append([]int{400, 500, 503}, rt.also...) // any query may be malformed
	switch rt.who {
	case user:
		op.Security = []map[string][]string{{"bearer": {}}, {"header": {}}, {"cookie": {}}}
		codes = append(codes, 401, 429)
	case reader, anyone:
		op.Security = []map[string][]string{{}, {"bearer": {}}, {"header": {}}, {"cookie": {}}}
		codes = append(codes, 401, 429)
	case open:
		op.Security = []map[string][]string{}
		if rt.path == "/v1/artifacts/{id}/{name}" || rt.path == "/metrics" || rt.path == "/v1/session" {
			codes = append(codes, 401)
		}
	}
	slices.Sort(codes)
	fault := reg.Schema(reflect.TypeFor[api.Error](), true, "")
	for _, code := range slices.Compact(codes) {
		op.Responses[strconv.Itoa(code)] = &huma.Response{Description: http.StatusText(code), Content: map[string]*huma.MediaType{"application/json": {Schema: fault}}}
	}
	return op
}

func operationID(rt route) string {
	parts := strings.FieldsFunc(rt.path, func(r rune) bool { return r == '/' || r == '{' || r == '}' || r == '.' })
	return strings.ToLower(rt.method) + "-" + strings.Join(parts, "-")
}

func paramSchema(p param) *huma.Schema {
	if p.kind == "uuid" {
		return &huma.Schema{Type: huma.TypeString, Format: "uuid"}
	}
	return &huma.Schema{Type: p.kind}
}

// content describes a route's answer.
func content(reg huma.Registry, rt route) map[string]*huma.MediaType {
	switch {
	case rt.do.out != nil:
		return map[string]*huma.MediaType{"application/json": {Schema: reg.Schema(rt.do.out, true, "")}}
	case rt.path == "/v1/jobs/{id}/results":
		return map[string]*huma.MediaType{"application/json": {Schema: reg.Schema(reflect.TypeFor[api.Results](), true, "")}}
	case rt.path == "/v1/jobs/{id}/export":
		text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
		return map[string]*huma.MediaType{"text/plain": text, "application/yaml": text,
			"application/json": {Schema: &huma.Schema{AnyOf: []*huma.Schema{reg.Schema(reflect.TypeFor[api.ExportedJob](), true, ""), {Description: "The file."}}}}}
	case rt.path == "/v1/library/{id}/upload-files":
		return map[string]*huma.MediaType{"application/json": {Schema: reg.Schema(reflect.TypeFor[api.UploadedFiles](), true, "")}}
	case strings.HasSuffix(rt.path, "/{id}/events"):
		return map[string]*huma.MediaType{rt.do.media: {Schema: &huma.Schema{Type: huma.TypeString,
			Description: "Server-sent events named state, stage, log and artifact; their data is an Event. The stream ends after the event of a terminal state; 204 says that there is nothing left to tell."}}}
	case rt.path == "/v1/events":
		return map[string]*huma.MediaType{rt.do.media: {Schema: &huma.Schema{Type: huma.TypeString, Description: "Server-sent events named job or workflow; their data is a Change."}}}
	case rt.do.media == "application/json":
		return map[string]*huma.MediaType{rt.do.media: {Schema: &huma.Schema{Type: huma.TypeObject}}}
	case strings.HasPrefix(rt.do.media, "text/"):
		return map[string]*huma.MediaType{rt.do.media: {Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	return map[string]*huma.MediaType{rt.do.media: {}}
}

// polish says in the schemas what Go's types cannot: which objects may be null, that an item has exactly one kind, and
// that answers may grow new fields while requests may not.
func polish(all map[string]*huma.Schema, requests map[string]bool) {
	orNull(all["Results"], "constraints")
	orNull(all["JobView"], "constraints")
	for _, kind := range (api.SequenceItem{}).Kinds() {
		all["SequenceItem"].OneOf = append(all["SequenceItem"].OneOf, &huma.Schema{Required: []string{kind}})
	}
	strict := map[string]bool{}
	var mark func(name string)
	mark = func(name string) {
		if name == "" || strict[name] {
			return
		}
		strict[name] = true
		for _, p := range all[name].Properties {
			mark(strings.TrimPrefix(p.Ref, schemaPrefix))
			if p.Items != nil {
				mark(strings.TrimPrefix(p.Items.Ref, schemaPrefix))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		mark(name)
	}
	for name, s := range all {
		if !strict[name] {
			s.AdditionalProperties = true
			continue
		}
		for field := range s.Properties { // in requests null equals absent
			if !slices.Contains(s.Required, field) {
				orNull(s, field)
			}
		}
	}
}

// orNull lets a field be null.
func orNull(s *huma.Schema, field string) {
	p := s.Properties[field]
	switch {
	case p.Ref != "":
		s.Properties[field] = &huma.Schema{Description: p.Description, AnyOf: []*huma.Schema{{Ref: p.Ref}, {Type: "null"}}}
	case p.Type != "":
		p.Nullable = true
		if len(p.Enum) > 0 {
			p.Enum = append(p.Enum, nil)
		}
	}
}

// openAPI is GET /openapi.json.
func (s *Server) openAPI(_ context.Context, c *call) error {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Cache-Control", "public, max-age=300")
	_, err := c.w.Write(s.document)
	return quiet(c, err)
}

// readDocs is GET /docs.
func (s *Server) readDocs(_ context.Context, c *call) error {
	h := c.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Cache-Control", "public, max-age=300")
	_, err := c.w.Write(s.docs)
	return quiet(c, err)
}

//go:embed docs.html
var docsHTML string

// docsPage renders the document for people: one page, no script, nothing from elsewhere.
func docsPage(document []byte) ([]byte, error) {
	var doc docSpec
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, err
	}
	t, err := template.New("docs").Funcs(template.FuncMap{
		"paragraphs": func(s string) []string { return strings.Split(s, "\n\n") },
		"type":       typeOf, "ref": refOf, "join": strings.Join,
		"example":    func(s docSchema) string { return exampleOf(s) },
		"required":   func(s docSchema, name string) bool { return slices.Contains(s.Required, name) },
		"operations": doc.operations,
	}).Parse(docsHTML)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, doc)
	return b.Bytes(), err
}

// docSpec is as much of an OpenAPI document as the page shows.
type docSpec struct {
	Info       struct{ Title, Version, Description string }
	Tags       []struct{ Name string }
	Paths      map[string]map[string]docOperation
	Components struct{ Schemas map[string]docSchema }
}

type docOperation struct {
	Method, Path string
	OperationID  string `json:"operationId"`
	Summary      string
	Tags         []string
	Security     []map[string][]string
	Parameters   []struct {
		Name, In, Description string
		Required              bool
		Schema                docSchema
	}
	RequestBody *struct {
		Required bool
		Content  map[string]struct{ Schema docSchema }
	}
	Responses map[string]struct {
		Description string
		Content     map[string]struct{ Schema docSchema }
	}
}

// Anonymous reports whether the operation can be called without a credential.
func (o docOperation) Anonymous() bool {
	for _, s := range o.Security {
		if len(s) == 0 {
			return true
		}
	}
	return len(o.Security) == 0
}

type docSchema struct {
	Ref         string `json:"$ref"`
	Type        any
	Format      string
	Description string
	Properties  map[string]docSchema
	Required    []string
	Items       *docSchema
	AnyOf       []docSchema
	Enum        []any
	Default     any
	Examples    []any
	Minimum     *float64
	Maximum     *float64
	MinItems    *int
	MaxItems    *int
	MaxLength   *int
}

// operations lists those of a section, in the order of their paths.
func (d docSpec) operations(tag string) []docOperation {
	var out []docOperation
	order := []string{"get", "post", "put", "patch", "delete"}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range order {
			if o, ok := d.Paths[path][method]; ok && slices.Contains(o.Tags, tag) {
				o.Method, o.Path = strings.ToUpper(method), path
				out = append(out, o)
			}
		}
	}
	return out
}

// refOf is the name of the schema that a schema leads to, if it leads to one.
func refOf(s docSchema) string {
	if s.Ref != "" {
		return strings.TrimPrefix(s.Ref, schemaPrefix)
	}
	if s.Items != nil {
		return refOf(*s.Items)
	}
	for _, a := range s.AnyOf {
		if r := refOf(a); r != "" {
			return r
		}
	}
	return ""
}

// typeOf is a schema's type in words.
func typeOf(s docSchema) string {
	words := ""
	switch t := s.Type.(type) {
	case string:
		words = t
	case []any:
		var all []string
		for _, one := range t {
			all = append(all, fmt.Sprint(one))
		}
		words = strings.Join(all, " or ")
	}
	switch {
	case s.Items != nil && refOf(*s.Items) != "":
		words = "array of " + refOf(*s.Items)
	case s.Items != nil:
		words = "array of " + typeOf(*s.Items)
	case s.Ref != "":
		words = refOf(s)
	case len(s.AnyOf) > 0:
		words = refOf(s) + " or null"
	case words == "":
		words = "any"
	}
	if s.Format != "" && s.Format != "int64" && s.Format != "double" {
		words += " (" + s.Format + ")"
	}
	return words + boundsOf(s)
}

func boundsOf(s docSchema) string {
	var all []string
	if s.Minimum != nil {
		all = append(all, fmt.Sprintf("≥ %g", *s.Minimum))
	}
	if s.Maximum != nil {
		all = append(all, fmt.Sprintf("≤ %g", *s.Maximum))
	}
	if s.MinItems != nil {
		all = append(all, fmt.Sprintf("%d items or more", *s.MinItems))
	}
	if s.MaxItems != nil {
		all = append(all, fmt.Sprintf("at most %d items", *s.MaxItems))
	}
	if s.MaxLength != nil {
		all = append(all, fmt.Sprintf("at most %d characters", *s.MaxLength))
	}
	if len(s.Enum) > 0 {
		var e []string
		for _, v := range s.Enum {
			if v == nil {
				continue
			}
			e = append(e, fmt.Sprint(v))
		}
		all = append(all, strings.Join(e, ", "))
	}
	if s.Default != nil {
		all = append(all, fmt.Sprintf("default %v", s.Default))
	}
	if len(all) == 0 {
		return ""
	}
	return "; " + strings.Join(all, "; ")
}

func exampleOf(s docSchema) string {
	if len(s.Examples) == 0 {
		return ""
	}
	b, err := json.Marshal(s.Examples[0])
	if err != nil {
		return ""
	}
	return string(b)
}
