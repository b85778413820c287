package app

import (
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"pleat"
)

// classEntry is a class in the file of classes. docs/operations.md describes it.
type classEntry struct {
	Name         string            `yaml:"name"`
	Engines      []string          `yaml:"engines"`
	Alignments   string            `yaml:"alignments"`
	Isolation    string            `yaml:"isolation"`
	Devices      int               `yaml:"devices"`
	DeviceMemory string            `yaml:"device-memory"`
	Cores        int               `yaml:"cores"`
	Memory       string            `yaml:"memory"`
	MinWorkers   int               `yaml:"min-workers"`
	MaxWorkers   int               `yaml:"max-workers"`
	TargetWait   time.Duration     `yaml:"target-wait"`
	IdleExit     *time.Duration    `yaml:"idle-exit"`
	Walltime     time.Duration     `yaml:"walltime"`
	Driver       string            `yaml:"driver"`
	Options      map[string]string `yaml:"options"`
}

// valueForms says what the value of a key must be, by its type in classEntry.
var valueForms = map[reflect.Type]string{
	reflect.TypeFor[string]():            "a text, such as small",
	reflect.TypeFor[int]():               "a whole number",
	reflect.TypeFor[time.Duration]():     "a time with its unit, such as 30m or 12h",
	reflect.TypeFor[*time.Duration]():    "a time with its unit, such as 30m or 12h",
	reflect.TypeFor[[]string]():          "a list of names, such as [mini]",
	reflect.TypeFor[map[string]string](): "a mapping, such as {partition: gpu}",
}

// parseClasses reads the text of a file of classes. Its errors name the line, the class and the key: those of the
// decoder name types of Go.
func parseClasses(text []byte) ([]classEntry, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if document.IsZero() || isNull(document.Content[0]) {
		return nil, nil
	}
	if err := checkClassesFile(resolved(document.Content[0])); err != nil {
		return nil, err
	}
	var file struct {
		Classes []classEntry `yaml:"classes"`
	}
	err := document.Decode(&file)
	return file.Classes, err
}

// checkClassesFile checks the form of the file, whose only key is classes.
func checkClassesFile(file *yaml.Node) error {
	if file.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: the file is %s; it must begin with the key classes:, and the list of classes "+
			"below it", file.Line, formOf(file))
	}
	if err := checkRepeated(file, ""); err != nil {
		return err
	}
	for key, value := range pairs(file) {
		switch {
		case key.Value != "classes":
			return unknownKey(key, "", []string{"classes"})
		case isNull(value):
		case value.Kind != yaml.SequenceNode:
			return fmt.Errorf("line %d: classes is %s; it must be a list, in which each class begins with - name:",
				value.Line, formOf(value))
		default:
			for i, e := range value.Content {
				if err := checkClassEntry(i+1, resolved(e)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkClassEntry checks the keys of a class and the forms of their values.
func checkClassEntry(number int, entry *yaml.Node) error {
	where := fmt.Sprintf("class %d", number)
	if entry.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %s is %s; it must be a mapping with keys such as name: and engines:", entry.Line,
			where, formOf(entry))
	}
	for key, value := range pairs(entry) {
		if key.Value == "name" && value.Kind == yaml.ScalarNode {
			where = fmt.Sprintf("class %d (%s)", number, pleat.Clip(value.Value))
		}
	}
	where += ": "
	if err := checkRepeated(entry, where); err != nil {
		return err
	}
	fields := classFields()
	for key, value := range pairs(entry) {
		if key.Value == "<<" {
			continue
		}
		field, ok := fields[key.Value]
		if !ok {
			return unknownKey(key, where, classKeys())
		}
		if value.Kind == yaml.MappingNode {
			if err := checkRepeated(value, where); err != nil {
				return err
			}
		}
		if err := checkClassValue(key.Value, value, field); err != nil {
			return fmt.Errorf("line %d: %s%w", value.Line, where, err)
		}
	}
	return nil
}

// checkClassValue checks that the value of a key can be decoded.
func checkClassValue(key string, value *yaml.Node, field reflect.Type) error {
	if key == "engines" && value.Kind == yaml.SequenceNode {
		for i, e := range value.Content {
			switch e = resolved(e); {
			case isNull(e):
				return fmt.Errorf("engines has no name at position %d, where YAML reads an empty value; "+
					"write \"null\" in quotes if you mean the engine null", i+1)
			case e.Kind != yaml.ScalarNode:
				return fmt.Errorf("engines has %s at position %d; it must be the name of an engine", formOf(e), i+1)
			}
		}
	}
	if key == "options" && value.Kind == yaml.MappingNode {
		for name, e := range pairs(value) {
			if e.Kind != yaml.ScalarNode {
				return fmt.Errorf("the option %s is %s; it must be a text", pleat.Clip(name.Value), formOf(e))
			}
		}
	}
	truncated := field.Kind() == reflect.Int && value.ShortTag() == "!!float" // 1.5 is decoded as 1
	if truncated || value.Decode(reflect.New(field).Interface()) != nil {
		return fmt.Errorf("%s is %s; it must be %s", key, formOf(value), valueForms[field])
	}
	return nil
}

// checkRepeated refuses a mapping that has a key twice.
func checkRepeated(mapping *yaml.Node, where string) error {
	lines := map[string]int{}
	for key := range pairs(mapping) {
		if first := lines[key.Value]; first > 0 {
			return fmt.Errorf("line %d: %sthe key %q is repeated; it is in line %d already", key.Line, where,
				pleat.Clip(key.Value), first)
		}
		lines[key.Value] = key.Line
	}
	return nil
}

// unknownKey returns the error of a key that is none of those of its mapping.
func unknownKey(key *yaml.Node, where string, keys []string) error {
	if near := pleat.Nearest(key.Value, keys); near != "" {
		return fmt.Errorf("line %d: %sunknown key %q; did you mean %q?", key.Line, where, pleat.Clip(key.Value), near)
	}
	return fmt.Errorf("line %d: %sunknown key %q; the keys here are %s", key.Line, where, pleat.Clip(key.Value),
		strings.Join(keys, ", "))
}

// classFields returns the types of the keys of a class.
func classFields() map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for f := range reflect.TypeFor[classEntry]().Fields() {
		fields[f.Tag.Get("yaml")] = f.Type
	}
	return fields
}

// classKeys returns the keys of a class, in their order.
func classKeys() []string {
	var keys []string
	for f := range reflect.TypeFor[classEntry]().Fields() {
		keys = append(keys, f.Tag.Get("yaml"))
	}
	return keys
}

// pairs returns the keys of a mapping with their values.
func pairs(mapping *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			if !yield(mapping.Content[i], resolved(mapping.Content[i+1])) {
				return
			}
		}
	}
}

// resolved returns what an alias stands for.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// isNull reports whether YAML reads a value as none: null, ~ or nothing at all.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// formOf names a value for a message.
func formOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "empty"
	}
	return strconv.Quote(pleat.Clip(n.Value))
}
