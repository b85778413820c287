package yamltree

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"pleat"
)

// Node is a value of a YAML text. The zero value is an absent one.
type Node struct {
	*yaml.Node
	At   string // path, such as sequences[0].protein.id; empty: the whole text
	File string // what messages call the text; empty: the file
}

// place returns a line for a message.
func place(line int, file string) string {
	if file == "" {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("line %d of %s", line, file)
}

// Position returns the node's path for messages.
func (n Node) Position() string {
	switch {
	case n.At != "":
		return n.At
	case n.File != "":
		return n.File
	}
	return "the file"
}

// Place returns the node's path with its file, if that has a name, and its line: entities[1].file in a.yaml (line 9).
func (n Node) Place() string {
	if n.File == "" || n.At == "" {
		return fmt.Sprintf("%s (line %d)", n.Position(), n.Line)
	}
	return fmt.Sprintf("%s in %s (line %d)", n.At, n.File, n.Line)
}

// Fault returns an error about the node: its place, followed by the formatted text, which starts with a space or a
// punctuation mark.
func (n Node) Fault(format string, args ...any) error {
	return pleat.Invalidf("%s"+format, append([]any{n.Place()}, args...)...).At(n.At)
}

// Wrong returns the error for a value of an unexpected shape; want describes the expected one.
func (n Node) Wrong(want string) error {
	switch {
	case n.File != "" && n.Kind == yaml.ScalarNode:
		return n.Fault(" is %q; it must be %s", pleat.Clip(n.Value), want)
	case n.File != "":
		return n.Fault(" must be %s", want)
	case n.Kind == yaml.ScalarNode:
		return pleat.Invalidf("%s is %q (line %d); it must be %s", n.Position(), pleat.Clip(n.Value), n.Line, want)
	}
	return pleat.Invalidf("%s (line %d) must be %s", n.Position(), n.Line, want)
}

// Null reports whether the node is absent or has no value.
func (n Node) Null() bool {
	return n.Node == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// IsList reports whether the node is a list.
func (n Node) IsList() bool { return n.Node != nil && n.Kind == yaml.SequenceNode }

// IsMap reports whether the node is a mapping.
func (n Node) IsMap() bool { return n.Node != nil && n.Kind == yaml.MappingNode }

// child returns a node within n, at a path below that of n.
func (n Node) child(c *yaml.Node, key string) Node {
	if n.At != "" {
		key = n.At + "." + key
	}
	return Node{c, key, n.File}
}

// Unknown returns the error for a key that a mapping must not have.
func (n Node) Unknown(key *yaml.Node, known []string) error {
	hint := "; it may have " + strings.Join(known, ", ")
	if near := pleat.Nearest(key.Value, known); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return pleat.Invalidf("unknown field %q (%s) in %s%s", pleat.Clip(key.Value), place(key.Line, n.File), n.Position(),
		hint)
}

// Fields returns the values of a mapping that may have only the given keys. A key without a value is absent; an
// unknown or repeated key is an error.
func (n Node) Fields(known ...string) (map[string]Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, n.Wrong("a mapping with " + strings.Join(known, ", "))
	}
	out := map[string]Node{}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || !slices.Contains(known, key.Value):
			return nil, n.Unknown(key, known)
		case seen[key.Value]:
			return nil, pleat.Invalidf("duplicate key %q (%s) in %s", key.Value, place(key.Line, n.File), n.Position())
		}
		seen[key.Value] = true
		if v := n.child(n.Content[i+1], key.Value); !v.Null() {
			out[key.Value] = v
		}
	}
	return out, nil
}

// Needs reads a mapping with required and optional keys. A missing required key is an error.
func (n Node) Needs(required []string, optional ...string) (map[string]Node, error) {
	f, err := n.Fields(append(slices.Clone(required), optional...)...)
	if err != nil {
		return nil, err
	}
	for _, key := range required {
		if _, ok := f[key]; !ok {
			return nil, n.child(n.Node, key).Fault(" is required")
		}
	}
	return f, nil
}

// Entry is a key of a mapping and its value.
type Entry struct {
	Key   *yaml.Node
	Value Node
}

// Entries returns the keys and values of a mapping in their order. Another node has none.
func (n Node) Entries() []Entry {
	var out []Entry
	if !n.IsMap() {
		return out
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		out = append(out, Entry{n.Content[i], n.child(n.Content[i+1], n.Content[i].Value)})
	}
	return out
}

// ExactlyOneKey reads a mapping with exactly one of the given keys.
func (n Node) ExactlyOneKey(known ...string) (string, Node, error) {
	f, err := n.Fields(known...)
	if err != nil {
		return "", Node{}, err
	}
	if len(f) != 1 {
		return "", Node{}, pleat.Invalidf("%s must have exactly one of %s", n.Place(), strings.Join(known, ", "))
	}
	for key, v := range f {
		return key, v, nil
	}
	return "", Node{}, nil
}

// List returns the items of a list of at most the given length. Any other value is an error.
func (n Node) List(most int) ([]Node, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, n.Wrong("a list")
	}
	if len(n.Content) > most {
		return nil, pleat.Invalidf("%s has %d items; at most %d are allowed", n.Position(), len(n.Content), most)
	}
	var out []Node
	for i, c := range n.Content {
		out = append(out, Node{c, fmt.Sprintf("%s[%d]", n.At, i), n.File})
	}
	return out, nil
}

// ListOrOne returns the items of a list of at most the given length, or the node itself if it is no list.
func (n Node) ListOrOne(most int) ([]Node, error) {
	if n.IsList() {
		return n.List(most)
	}
	return []Node{n}, nil
}

// truthWords matches the words that readers of YAML 1.1, such as Boltz, convert to booleans when they are not quoted.
var truthWords = regexp.MustCompile(`^(?i:yes|no|on|off|true|false)$`)

// IsTruthWord reports whether the node is an unquoted word that readers of YAML 1.1 convert to a boolean.
func (n Node) IsTruthWord() bool {
	return n.Kind == yaml.ScalarNode && n.unquoted() && truthWords.MatchString(n.Value)
}

// Text returns a scalar as it is written, without conversion.
func (n Node) Text() (string, error) {
	switch {
	case n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle != 0:
		return "", n.Wrong("text; " + bracketHint)
	case n.Kind != yaml.ScalarNode:
		return "", n.Wrong("text")
	}
	return n.Value, nil
}

// unquoted reports whether a scalar is written without quotes.
func (n Node) unquoted() bool {
	return n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// wholeNumber matches whole numbers of at most nine digits, from 0.
var wholeNumber = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})$`)

// IsWhole reports whether the node is an unquoted whole number.
func (n Node) IsWhole() bool {
	return n.Kind == yaml.ScalarNode && n.unquoted() && wholeNumber.MatchString(n.Value)
}

// Whole returns a whole number.
func (n Node) Whole() (int, error) {
	if !n.IsWhole() {
		return 0, n.Wrong("a whole number")
	}
	return strconv.Atoi(n.Value)
}

// Number returns a finite number.
func (n Node) Number() (float64, error) {
	f, err := strconv.ParseFloat(n.Value, 64) // of a list or a mapping, whose Value is empty, an error
	if n.Kind != yaml.ScalarNode || !n.unquoted() || err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, n.Wrong("a number")
	}
	return f, nil
}

// Truth returns the boolean of an unquoted word such as true or no.
func (n Node) Truth() (bool, error) {
	if !n.IsTruthWord() {
		return false, n.Wrong("true or false")
	}
	return slices.Contains([]string{"yes", "on", "true"}, strings.ToLower(n.Value)), nil
}

// Numbers of YAML 1.2: those that JSON writes alike, and the others, which have a sign or zeros in front, or no digit
// on a side of the point.
var (
	jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
	yamlNumber = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

// JSON returns the node as JSON has it: nil, bool, json.Number, string, []any or map[string]any. Unquoted scalars are
// read by the core schema of YAML 1.2, without its numbers in base 8 and 16: no is a string. A number is kept as it is
// written if JSON writes it so; one that no float64 holds is a string.
func (n Node) JSON() any {
	switch {
	case n.Null():
		return nil
	case n.Kind == yaml.SequenceNode:
		out := []any{}
		for _, c := range n.Content {
			out = append(out, Node{Node: c}.JSON())
		}
		return out
	case n.Kind == yaml.MappingNode:
		out := map[string]any{}
		for _, e := range n.Entries() {
			out[e.Key.Value] = e.Value.JSON()
		}
		return out
	}
	return n.scalar()
}

// scalar returns a scalar as JSON has it.
func (n Node) scalar() any {
	text := n.Node.Value
	if !n.unquoted() || !yamlNumber.MatchString(text) {
		if n.unquoted() && slices.Contains([]string{"true", "True", "TRUE"}, text) {
			return true
		}
		if n.unquoted() && slices.Contains([]string{"false", "False", "FALSE"}, text) {
			return false
		}
		return text
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return text
	case jsonNumber.MatchString(text):
		return json.Number(text)
	}
	return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
}
