package mcp

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pleat/api"
)

// A schema that is written by hand names fields that its type has, and its description those that it leaves out.
func TestSpecialSchemas(t *testing.T) {
	t.Parallel()
	for typ, s := range special {
		if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[api.Time]() {
			continue
		}
		said := regexp.MustCompile(`\w+`).FindAllString(s.Description, -1)
		for _, f := range reflect.VisibleFields(typ) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if _, has := s.Properties[name]; has || name == "" {
				continue
			}
			// property_type is for ligands alone; the parameters are those of list_models.
			if typ != reflect.TypeFor[work]() && typ != reflect.TypeFor[api.Params]() && name != "property_type" &&
				!slices.Contains(said, name) {
				t.Errorf("the schema of %v does not say that it has %s", typ, name)
			}
		}
		for name := range s.Properties {
			if !slices.ContainsFunc(reflect.VisibleFields(typ), func(f reflect.StructField) bool {
				got, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				return got == name
			}) {
				t.Errorf("the schema of %v has %s, which the type does not have", typ, name)
			}
		}
	}
}

// The arguments of a tool have a type each, and a field that may be absent is not required.
func TestArguments(t *testing.T) {
	t.Parallel()
	for _, tool := range allTools() {
		b, err := json.Marshal(argumentsOf(tool.in))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), `"null"`) {
			t.Errorf("%s has arguments that may be null: %s", tool.name, b)
		}
	}
	fold := argumentsOf(foldTool.in)
	if !slices.Equal(fold.Required, []string{"name", "sequences", "params"}) {
		t.Errorf("fold requires %v", fold.Required)
	}
	wait := fold.Properties["waitSeconds"]
	if wait.Type != "integer" || *wait.Maximum != maxWait.Seconds() || wait.Description == "" {
		t.Errorf("waitSeconds is %+v", wait)
	}
}
