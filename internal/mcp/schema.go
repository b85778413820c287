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

// special are the schemas of types whose JSON is not that of their fields, or whose own schema would be too long: a
// model reads the schemas of all tools before every task. Their descriptions name the parts that are left out.
var special = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage](): {Type: "object"},
	reflect.TypeFor[api.Time]():        {Types: []string{"string", "null"}, Description: "UTC."},
	reflect.TypeFor[api.Params](): {
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"modelName": {Type: "string", Description: "Name of a fold model, as list_models gives it."},
			"seed":      {Type: "string", Description: "0 to 4294967295. The same seed gives the same structure."},
		},
		Required:    []string{"modelName"},
		Description: "Further parameters are those that list_models gives for the model.",
	},
	reflect.TypeFor[api.Constraints](): {
		Type:        "object",
		Description: "It has pocket, bond, contact, templates, components and webhooks, as the HTTP interface.",
	},
	reflect.TypeFor[api.Polymer](): {
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"sequence": {Type: "string", Description: "One letter per residue."},
			"chain_id": {Type: "string", Description: "Absent: A, B, C… in order."},
			"count":    {Type: "integer", Description: "Number of copies; absent: 1."},
		},
		Required: []string{"sequence"},
		Description: "It may have label, cyclic, modifications ([{res_idx, ccd}]) and msa ({libraryItemId, " +
			"fileName}) too.",
	},
	reflect.TypeFor[api.BatchJob]():   entrySchema("It may have name, params and constraints too."),
	reflect.TypeFor[api.BatchEntry](): entrySchema(""),
	reflect.TypeFor[work](): {
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"kind":   {Type: "string"},
			"id":     {Type: "string"},
			"status": {Type: "string"},
			"ended":  {Type: "boolean"},
		},
		Required:    []string{"kind", "id", "status", "ended"},
		Description: "As get_job.",
	},
}

// entrySchema returns the schema of a part of a batch.
func entrySchema(more string) *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"customId": {Type: "string", Description: "Your own id, unique in the batch."},
			"sequences": {Type: "array", Items: &jsonschema.Schema{Type: "object"},
				Description: "As the sequences of the tool fold."},
		},
		Required:    []string{"sequences"},
		Description: more,
	}
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

// argumentsOf is schemaOf for arguments. In those null stands for an absent value, which a model need not know.
func argumentsOf(t reflect.Type) *jsonschema.Schema {
	s := schemaOf(t)
	withoutNull(s)
	return s
}

// withoutNull removes null from the types of a schema.
func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	withoutNull(s.Items)
	for _, p := range s.Properties {
		withoutNull(p)
	}
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

// enumOf returns the values of the enumeration that a tag names, or lists; none for an empty tag.
func enumOf(tag string) []string {
	switch tag {
	case "":
		return nil
	case "WorkKind":
		return []string{aJob, aWorkflow, aBatch}
	}
	if values := api.Enum(tag); values != nil {
		return values
	}
	return strings.Split(tag, ",")
}

// annotate adds what the tag of a field says to the schema of its value.
func annotate(s *jsonschema.Schema, tag reflect.StructTag) {
	if doc := tag.Get("doc"); doc != "" {
		s.Description = strings.TrimSpace(doc + " " + s.Description)
	}
	for _, value := range enumOf(tag.Get("enum")) {
		s.Enum = append(s.Enum, value)
	}
	integer := func(name string) *int {
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
	s.MinLength, s.MaxLength = integer("minLength"), integer("maxLength")
	s.MinItems, s.MaxItems = integer("minItems"), integer("maxItems")
	s.Minimum, s.Maximum = number("minimum"), number("maximum")
}
