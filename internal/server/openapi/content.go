package openapi

import (
	_ "embed"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"pleat/api"
)

func init() {
	// This service sends [] where a list is empty. huma has no other way to say so than this variable of its package;
	// nothing else in the program uses it.
	huma.DefaultArrayNullable = false
}

// examplesJSON holds examples of request bodies by operation and title. A test sends each of them.
//
//go:embed examples.json
var examplesJSON []byte

// examples reads examplesJSON.
func examples() (map[string]map[string]json.RawMessage, error) {
	var all map[string]map[string]json.RawMessage
	err := json.Unmarshal(examplesJSON, &all)
	return all, err
}

// schemaFunc returns a schema and registers the components that it refers to.
type schemaFunc func(huma.Registry) *huma.Schema

// Content is what a response may hold: a schema for each media type.
type Content map[string]schemaFunc

// Body is what a request must have as its body. The zero value is that of an operation without one.
type Body struct {
	media  string
	schema schemaFunc
	strict bool // unknown fields are refused, and null equals absent
}

// schemaOf returns a reference to the component of a type.
func schemaOf[T any](reg huma.Registry) *huma.Schema {
	return reg.Schema(reflect.TypeFor[T](), true, "")
}

// JSONRequest describes a JSON body that api.Decode reads.
func JSONRequest[T any]() Body {
	return Body{media: "application/json", schema: schemaOf[T], strict: true}
}

// TextRequest describes a body that is text.
func TextRequest(media string) Body {
	return Body{media: media, schema: func(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeString} }}
}

// Files describes a form with files, all in the field files. It is not strict: api.Decode does not read it.
var Files = Body{media: "multipart/form-data", schema: func(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type:     huma.TypeObject,
		Required: []string{"files"},
		Properties: map[string]*huma.Schema{
			"files": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		},
	}
}}

// JSON describes a JSON response.
func JSON[T any]() Content { return Content{"application/json": schemaOf[T]} }

// Binary describes a response that is a file.
func Binary(media, doc string) Content {
	return Content{media: func(huma.Registry) *huma.Schema {
		return &huma.Schema{Type: huma.TypeString, Format: "binary", Description: doc}
	}}
}

// Text describes a response that is text.
func Text(media, doc string) Content {
	return Content{media: func(huma.Registry) *huma.Schema {
		return &huma.Schema{Type: huma.TypeString, Description: doc}
	}}
}

var (
	// AnyObject is a JSON object without a schema.
	AnyObject = Content{"application/json": func(huma.Registry) *huma.Schema {
		return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
	}}

	// ExportedFile is the file that an export writes: JSON for AlphaFold, YAML for Boltz, FASTA as text.
	ExportedFile = Content{
		"text/plain":       Text("", "The file.")[""],
		"application/yaml": Text("", "The file.")[""],
		"application/json": func(reg huma.Registry) *huma.Schema {
			return &huma.Schema{AnyOf: []*huma.Schema{
				schemaOf[api.ExportedJob](reg),
				{Description: "The file.", Type: huma.TypeObject, AdditionalProperties: true},
				{Description: "The file.", Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject}},
			}}
		},
	}

	// RunEvents is the event stream of one run.
	RunEvents = Text("text/event-stream", "Server-sent events named state, stage, log and artifact; their data "+
		"is an Event. The stream ends after the event of a terminal state; 204 means that there are no more events.")
	// BatchEvents is the event stream of a batch.
	BatchEvents = Text("text/event-stream", "Server-sent events named batch, at most one a second; their data is a "+
		"Batch. The stream ends after the event in which finishedAt is not null.")
	// ChangeEvents is the event stream of all jobs and workflows of a caller.
	ChangeEvents = Text("text/event-stream",
		"Server-sent events named job or workflow; their data is a Change.")
)
