package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

//go:embed docs.css
var docsCSS string

// Page renders a document for people: one page without scripts and without resources of other origins, so that the
// strict content security policy of the service holds. It fails if the document is not what Document makes.
func Page(document []byte) ([]byte, error) {
	return render(document, func(d docSpec) g.Node {
		return h.Doctype(h.HTML(h.Lang("en"),
			h.Head(
				h.Meta(h.Charset("utf-8")),
				h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
				h.TitleEl(g.Text(d.Info.Title+": interface")),
				h.StyleEl(g.Raw(docsCSS)),
			),
			h.Body(h.Main(
				h.H1(g.Text(d.Info.Title+" "), soft(d.Info.Version)),
				d.reference(),
			)),
		))
	})
}

// Reference renders what Page has below its heading, as a piece of HTML for the page of another.
func Reference(document []byte) ([]byte, error) {
	return render(document, docSpec.reference)
}

// render reads a document and renders what node makes of it.
func render(document []byte, node func(docSpec) g.Node) ([]byte, error) {
	var d docSpec
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err := node(d).Render(&b)
	return b.Bytes(), err
}

// docSpec is as much of an OpenAPI document as the page shows.
type docSpec struct {
	Info       struct{ Title, Version, Description string }
	Tags       []struct{ Name string }
	Paths      map[string]map[string]docOperation
	Webhooks   map[string]struct{ Post docOperation }
	Components struct {
		Schemas   map[string]docSchema
		Responses map[string]docResponse
	}
}

// docOperation is an operation of the document. Method and Path are its keys in the document's paths.
type docOperation struct {
	Method, Path string
	OperationID  string `json:"operationId"`
	Summary      string
	Tags         []string
	Security     []map[string][]string
	Parameters   []docParameter
	RequestBody  *struct {
		Required bool
		Content  map[string]docContent
	}
	Responses map[string]docResponse
}

// docParameter is a parameter of the path, the query or a header.
type docParameter struct {
	Name, In, Description string
	Required              bool
	Schema                docSchema
}

// docContent is a body in one media type. Its examples have titles.
type docContent struct {
	Schema   docSchema
	Examples map[string]docExample
}

// docExample is an example of a body.
type docExample struct{ Value json.RawMessage }

// docResponse is a response, or a reference to one of the components.
type docResponse struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]docContent
}

// anonymous reports whether the operation can be called without a credential; false for a notification.
func (o docOperation) anonymous() bool {
	for _, s := range o.Security {
		if len(s) == 0 {
			return true
		}
	}
	return len(o.Security) == 0 && strings.HasPrefix(o.Path, "/")
}

// docSchema is a schema of the document, with the keywords that the page shows.
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

// operations lists the operations of a section, in the order of their paths, and those of one path by method.
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

// response returns the response that r is or refers to.
func (d docSpec) response(r docResponse) docResponse {
	if name, ok := strings.CutPrefix(r.Ref, responsePrefix); ok {
		return d.Components.Responses[name]
	}
	return r
}

// notifications lists the requests that the service sends, by name, which stands in the place of a path.
func (d docSpec) notifications() []docOperation {
	var out []docOperation
	for _, name := range slices.Sorted(maps.Keys(d.Webhooks)) {
		o := d.Webhooks[name].Post
		o.Method, o.Path = "POST", name
		out = append(out, o)
	}
	return out
}

// refOf returns the name of the component that a schema refers to, itself, in its items or in an alternative; empty if
// there is none. The page links to it.
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

// typeOf returns the type of a schema in words, such as «array of SequenceItem», followed by its bounds.
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
	case len(s.AnyOf) > 1 && s.AnyOf[1].Type == huma.TypeObject:
		words = refOf(s) + " or an empty object"
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

// boundsOf returns a schema's bounds, values and default for the page, after a semicolon; empty if it has none.
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

// exampleOf returns the first example of a schema as JSON; empty if it has none.
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
