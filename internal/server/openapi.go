package server

import (
	"cmp"
	"context"
	"fmt"
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

func init() {
	// This service sends [] where a list is empty. huma has no other way to say so than this variable of its package;
	// nothing else in the program uses it.
	huma.DefaultArrayNullable = false
}

// schemaFunc returns a schema and registers the components that it refers to.
type schemaFunc func(huma.Registry) *huma.Schema

// content is what a response may hold: a schema for each media type.
type content map[string]schemaFunc

// body is what a request must hold.
type body struct {
	media  string
	schema schemaFunc
	strict bool // unknown fields are refused, and null equals absent
}

func schemaOf[T any](reg huma.Registry) *huma.Schema {
	return reg.Schema(reflect.TypeFor[T](), true, "")
}

// jsonRequest describes a JSON body that api.Decode reads.
func jsonRequest[T any]() body {
	return body{media: "application/json", schema: schemaOf[T], strict: true}
}

// filesRequest describes a form with files.
var filesRequest = body{media: "multipart/form-data", schema: func(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type:     huma.TypeObject,
		Required: []string{"files"},
		Properties: map[string]*huma.Schema{
			"files": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		},
	}
}}

// jsonOf describes a JSON response.
func jsonOf[T any]() content { return content{"application/json": schemaOf[T]} }

// fileOf describes a response that is a file.
func fileOf(media string) content {
	return content{media: func(huma.Registry) *huma.Schema {
		return &huma.Schema{Type: huma.TypeString, Format: "binary"}
	}}
}

// plainText describes a response that is text.
func plainText(media, doc string) content {
	return content{media: func(huma.Registry) *huma.Schema {
		return &huma.Schema{Type: huma.TypeString, Description: doc}
	}}
}

var (
	// anyObject is a JSON object without a schema.
	anyObject = content{"application/json": func(huma.Registry) *huma.Schema {
		return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
	}}

	// exportedFile is the file that an export writes: JSON for AlphaFold, YAML for Boltz, FASTA as text.
	exportedFile = content{
		"text/plain":       plainText("", "The file.")[""],
		"application/yaml": plainText("", "The file.")[""],
		"application/json": func(reg huma.Registry) *huma.Schema {
			return &huma.Schema{AnyOf: []*huma.Schema{
				schemaOf[api.ExportedJob](reg),
				{Description: "The file.", Type: huma.TypeObject, AdditionalProperties: true},
				{Description: "The file.", Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject}},
			}}
		},
	}

	runEvents = plainText("text/event-stream", "Server-sent events named state, stage, log and artifact; their data "+
		"is an Event. The stream ends after the event of a terminal state; 204 means that there are no more events.")
	changeEvents = plainText("text/event-stream",
		"Server-sent events named job or workflow; their data is a Change.")
)

// enumNames are the names of the enumerations, by their values in order. Each becomes one component, wherever it is
// used.
var enumNames = map[string]string{
	"PENDING,INITIALIZED,RUNNING,COMPLETED,FAILED,STOPPED": "JobStatus",
	"DRAFT,QUEUED,RUNNING,COMPLETED,FAILED,STOPPED":        "WorkflowStatus",
	"QUEUED,RUNNING,COMPLETED,FAILED,STOPPED":              "TaskStatus",
	"COMPLETED,FAILED,STOPPED":                             "FinalStatus",
	"PENDING,RUNNING,SUCCEEDED,FAILED":                     "DeliveryStatus",
	"SUCCEEDED,FAILED":                                     "FinishedDeliveryStatus",
	"running,done,failed,released,lost":                    "AttemptOutcome",
	"protein,rna,dna,ligand":                               "EntityType",
	"state,stage,log,artifact":                             "EventKind",
	"fold,qna,md":                                          "ModelKind",
	"integer,number,boolean,string":                        "ParamType",
	"fasta,alphafold-server,alphafold3,boltz":              "JobFileFormat",
	"plain,cloudevents":                                    "PayloadFormat",
	"v1,v1a":                                               "SignatureScheme",
	"custom_http,qna,md":                                   "DestinationType",
	"fold_job,workflow,test":                               "DeliverySource",
	"fold_job,workflow":                                    "EventSource",
	"on_complete,on_failed":                                "EventName",
	"file,folder":                                          "LibraryItemType",
	"draft":                                                "CreateMode",
	"affinity":                                             "LigandProperty",
}

// document makes the OpenAPI 3.1 document from the routes and the types that they read and write.
func document(publicURL string, routes []route) ([]byte, error) {
	reg := huma.NewMapRegistry(schemaPrefix, huma.DefaultSchemaNamer)
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title:       "Pleat",
			Version:     pleat.Version,
			Description: intro,
			License:     &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Servers: []*huma.Server{{URL: publicURL}},
		Components: &huma.Components{Schemas: reg, SecuritySchemes: map[string]*huma.SecurityScheme{
			"bearer": {Type: "http", Scheme: "bearer", Description: "An API key."},
			"header": {Type: "apiKey", In: "header", Name: "X-API-Key", Description: "An API key."},
			"cookie": {Type: "apiKey", In: "cookie", Name: cookieName,
				Description: "A browser's session; writes need a matching Origin."},
		}},
	}
	for _, name := range sections {
		doc.Tags = append(doc.Tags, &huma.Tag{Name: name})
	}
	requests := map[string]bool{}
	for _, rt := range routes {
		doc.AddOperation(operation(reg, rt, requests))
	}
	schemaOf[api.Event](reg)
	schemaOf[api.Change](reg)
	if err := nameEnums(reg.Map()); err != nil {
		return nil, err
	}
	refine(reg.Map(), requests)
	return doc.MarshalJSON()
}

const intro = `Folds proteins, nucleic acids and ligands with AI models, answers questions about their structures and simulates them.

Create a job or a workflow with one request, follow it, read its results. Every refusal is {"message": string}, one sentence that says what is wrong and where. In requests null equals absent, and unknown fields are refused; only inside workflow_input and inside a destination of webhooks are they kept. Times are UTC, ISO 8601, with six fractional digits and no zone suffix.

Send your API key as Authorization: Bearer KEY, or as X-API-Key: KEY. What belongs to somebody else is answered 404, as if it were not there.`

// operation describes one route. It adds the name of its request's schema to requests.
func operation(reg huma.Registry, rt route, requests map[string]bool) *huma.Operation {
	success := cmp.Or(rt.handler.status, http.StatusOK)
	op := &huma.Operation{
		OperationID: rt.id,
		Method:      rt.method(),
		Path:        rt.path(),
		Summary:     rt.summary,
		Tags:        []string{rt.section},
		Parameters:  parameters(rt),
		Security:    security(rt.access),
		Responses: map[string]*huma.Response{
			strconv.Itoa(success): {
				Description: http.StatusText(success), Content: mediaTypes(reg, rt.handler.response),
			},
		},
	}
	if req := rt.handler.request; req.schema != nil {
		schema := req.schema(reg)
		if req.strict {
			requests[componentOf(schema)] = true
		}
		op.RequestBody = &huma.RequestBody{
			Required: !rt.handler.optional,
			Content:  map[string]*huma.MediaType{req.media: {Schema: schema}},
		}
	}
	for _, code := range errorStatuses(rt) {
		op.Responses[strconv.Itoa(code)] = &huma.Response{
			Description: http.StatusText(code),
			Content:     mediaTypes(reg, jsonOf[api.Error]()),
		}
	}
	return op
}

// errorStatuses returns the statuses of a route's errors: those that follow from what it reads, and its own.
func errorStatuses(rt route) []int {
	codes := append([]int{400, 500, 503}, rt.errors...) // any query may be malformed
	if strings.Contains(rt.path(), "{") {
		codes = append(codes, 404)
	}
	if rt.handler.request.schema != nil {
		codes = append(codes, 413, 415)
	}
	if rt.access != open {
		codes = append(codes, 401, 429)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// security returns the credentials that a route takes; an empty one among them means none is needed.
func security(a access) []map[string][]string {
	credentials := []map[string][]string{{"bearer": {}}, {"header": {}}, {"cookie": {}}}
	switch a {
	case open:
		return []map[string][]string{}
	case user:
		return credentials
	default:
		return append([]map[string][]string{{}}, credentials...)
	}
}

func mediaTypes(reg huma.Registry, c content) map[string]*huma.MediaType {
	out := map[string]*huma.MediaType{}
	for media, schema := range c {
		out[media] = &huma.MediaType{Schema: schema(reg)}
	}
	return out
}

// parameters describes what a route reads from path, query and headers.
func parameters(rt route) []*huma.Param {
	var out []*huma.Param
	for segment := range strings.SplitSeq(rt.path(), "/") {
		name, ok := strings.CutPrefix(segment, "{")
		if !ok {
			continue
		}
		p := param{name: strings.TrimSuffix(name, "}"), kind: "string"}
		if p.name == "id" {
			p.kind = "uuid"
		}
		out = append(out, &huma.Param{Name: p.name, In: "path", Required: true, Schema: paramSchema(p)})
	}
	for _, p := range rt.query {
		out = append(out, &huma.Param{Name: p.name, In: "query", Description: p.doc, Schema: paramSchema(p)})
	}
	for _, p := range rt.headers {
		out = append(out, &huma.Param{Name: p.name, In: "header", Description: p.doc, Schema: paramSchema(p)})
	}
	return out
}

func paramSchema(p param) *huma.Schema {
	switch p.kind {
	case "uuid":
		return &huma.Schema{Type: huma.TypeString, Format: "uuid"}
	case huma.TypeString, huma.TypeInteger:
		return &huma.Schema{Type: p.kind}
	}
	return &huma.Schema{Ref: schemaPrefix + p.kind}
}

// componentOf returns the name of the component that a schema refers to; empty if it is none.
func componentOf(s *huma.Schema) string { return strings.TrimPrefix(s.Ref, schemaPrefix) }

// nameEnums makes a component of each enumeration, so that generators make one type of it.
func nameEnums(all map[string]*huma.Schema) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for field, p := range all[name].Properties {
			if len(p.Enum) == 0 {
				continue
			}
			values := make([]string, 0, len(p.Enum))
			for _, v := range p.Enum {
				values = append(values, fmt.Sprint(v))
			}
			enum, ok := enumNames[strings.Join(values, ",")]
			if !ok {
				return fmt.Errorf("%s.%s: the enumeration %v has no name", name, field, values)
			}
			if s, ok := all[enum]; ok && len(s.Enum) == 0 {
				return fmt.Errorf("%s.%s: %s is the name of an enumeration and of an object", name, field, enum)
			}
			all[enum] = &huma.Schema{Type: p.Type, Enum: p.Enum}
			all[name].Properties[field] = &huma.Schema{Ref: schemaPrefix + enum, Description: p.Description}
		}
	}
	return nil
}

// refine adds to the schemas what Go's types cannot say: which objects may be null, that an item has exactly one kind,
// and that responses may grow new fields while requests may not.
func refine(all map[string]*huma.Schema, requests map[string]bool) {
	orNull(all["Results"], "constraints")
	orNull(all["JobView"], "constraints")
	for _, kind := range (api.SequenceItem{}).Kinds() {
		all["SequenceItem"].OneOf = append(all["SequenceItem"].OneOf, &huma.Schema{Required: []string{kind}})
	}
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

// markStrict adds a component, and those that it refers to, to strict.
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

// orNull lets a field be null.
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

// openAPI is GET /openapi.json.
func (s *Server) openAPI(_ context.Context, c *call) error {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Cache-Control", "public, max-age=300")
	_, err := c.w.Write(s.document)
	return quiet(c, err)
}
