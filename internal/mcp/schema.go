package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"pleat/api"
)

// special are the schemas of types whose JSON is not that of their fields.
var special = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage](): {Type: "object"},
	reflect.TypeFor[api.Time]():        {Types: []string{"string", "null"}, Description: "UTC."},
	reflect.TypeFor[api.Params](): {Type: "object", Required: []string{"modelName"},
		Properties: map[string]*jsonschema.Schema{
			"modelName": {Type: "string", Description: "Name of a fold model, as list_models gives it."},
			"seed":      {Type: "string", Description: "0 to 4294967295. The same seed gives the same structure."},
		},
		Description: "The model and its parameters, those that list_models gives for it."},
	reflect.TypeFor[api.Constraints](): {Type: "object",
		Description: "pocket, bond, contact, templates, components and webhooks, as docs/interface.md, 4.3, has them."},
}

// schemaOf returns the schema of a type of arguments or results: the one of its fields, with what their tags say. The
// tags are those of package api.
func schemaOf(t reflect.Type) *jsonschema.Schema {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: special})
	if err != nil {
		panic(fmt.Errorf("the schema of %v: %w", t, err)) // a fault of the program, which any test finds
	}
	describe(s, t)
	return s
}

// describe adds to a schema what the tags of its type say.
func describe(s *jsonschema.Schema, t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if _, known := special[t]; known || s == nil {
		return
	}
	switch t.Kind() {
	case reflect.Slice:
		describe(s.Items, t.Elem())
	case reflect.Map:
		describe(s.AdditionalProperties, t.Elem())
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if p := s.Properties[field]; p != nil && !f.Anonymous {
				describe(p, f.Type)
				annotate(p, f.Tag)
			}
		}
	}
}

// annotate adds what the tag of a field says to the schema of its value.
func annotate(s *jsonschema.Schema, tag reflect.StructTag) {
	if doc := tag.Get("doc"); doc != "" {
		s.Description = doc
	}
	for value := range strings.SplitSeq(tag.Get("enum"), ",") {
		if value != "" {
			s.Enum = append(s.Enum, value)
		}
	}
	whole := func(name string) *int {
		if n, err := strconv.Atoi(tag.Get(name)); err == nil {
			return &n
		}
		return nil
	}
	number := func(name string) *float64 {
		if v, err := strconv.ParseFloat(tag.Get(name), 64); err == nil {
			return &v
		}
		return nil
	}
	s.MinLength, s.MaxLength = whole("minLength"), whole("maxLength")
	s.MinItems, s.MaxItems = whole("minItems"), whole("maxItems")
	s.Minimum, s.Maximum = number("minimum"), number("maximum")
}
