package format

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"pleat"
)

// node is a value of a YAML file and its path, such as sequences[0].protein.id, for messages.
type node struct {
	*yaml.Node
	// at is such as sequences[0].protein.id; it is empty for the whole file.
	at string // path; empty: the whole file
}

// go.yaml.in/yaml is the library that the YAML project maintains. This file reads its nodes one by one, because
// decoding into types would follow aliases and convert words such as NO to booleans.

// parseYAML reads one document. Aliases, anchors, tags and merged keys are errors, and so are several documents:
// what a file means must not depend on the reader's version of YAML.
func parseYAML(text string) (node, error) {
	if err := checkOne(text); err != nil {
		return node{}, err
	}
	dec := yaml.NewDecoder(strings.NewReader(text))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) != 1:
		return node{}, pleat.Invalidf("the file holds no YAML document")
	case err != nil:
		return node{}, pleat.Invalidf("the file is not YAML: %s", pleat.Clip(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return node{}, pleat.Invalidf("the file has data after its first YAML document; it must hold one")
	}
	root := node{doc.Content[0], ""}
	return root, plain(root.Node, 1)
}

// plain returns an error for references, tags, and nesting that is too deep.
func plain(n *yaml.Node, depth int) error {
	switch {
	case depth > MaxDepth:
		return pleat.Invalidf("line %d is nested more than %d levels deep", n.Line, MaxDepth)
	case n.Kind == yaml.AliasNode:
		return pleat.Invalidf("line %d has the alias *%s; write out what it stands for", n.Line, pleat.Clip(n.Value))
	case n.Anchor != "":
		return pleat.Invalidf("line %d has the anchor &%s; anchors are not taken", n.Line, pleat.Clip(n.Anchor))
	case n.Style&yaml.TaggedStyle != 0:
		return pleat.Invalidf("line %d has the tag %s; tags are not taken", n.Line, pleat.Clip(n.Tag))
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && c.Value == "<<" {
			return pleat.Invalidf("line %d merges keys with <<; write them out", c.Line)
		}
		if err := plain(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// position returns the node's path for messages.
func (n node) position() string {
	if n.at == "" {
		return "the file"
	}
	return n.at
}

// wrong returns the error for a value of an unexpected shape; want describes the expected one.
func (n node) wrong(want string) error {
	got := ""
	if n.Kind == yaml.ScalarNode {
		got = fmt.Sprintf(" is %q (line %d); it", pleat.Clip(n.Value), n.Line)
	} else {
		got = fmt.Sprintf(" (line %d)", n.Line)
	}
	return pleat.Invalidf("%s%s must be %s", n.position(), got, want)
}

// null reports whether the node is absent or has no value.
func (n node) null() bool {
	return n.Node == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// fields returns the values of a mapping that may have only the given keys. A key without a value is absent; an
// unknown or repeated key is an error.
func (n node) fields(known ...string) (map[string]node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, n.wrong("a mapping with " + strings.Join(known, ", "))
	}
	out := map[string]node{}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || !slices.Contains(known, key.Value):
			hint := "; it may have " + strings.Join(known, ", ")
			if near := pleat.Nearest(key.Value, known); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
			return nil, pleat.Invalidf("unknown field %q (line %d) in %s%s", pleat.Clip(key.Value), key.Line,
				n.position(),
				hint)
		case seen[key.Value]:
			return nil, pleat.Invalidf("duplicate key %q (line %d) in %s", key.Value, key.Line, n.position())
		}
		seen[key.Value] = true
		at := key.Value
		if n.at != "" {
			at = n.at + "." + at
		}
		if v := (node{n.Content[i+1], at}); !v.null() {
			out[key.Value] = v
		}
	}
	return out, nil
}

// exactlyOneKey reads a mapping with exactly one of the given keys.
func (n node) exactlyOneKey(known ...string) (string, node, error) {
	f, err := n.fields(known...)
	if err != nil {
		return "", node{}, err
	}
	if len(f) != 1 {
		return "", node{}, pleat.Invalidf("%s (line %d) must have exactly one of %s", n.position(), n.Line,
			strings.Join(known, ", "))
	}
	for key, v := range f {
		return key, v, nil
	}
	return "", node{}, nil
}

// list returns the items of a list of at most the given length. Any other value is an error.
func (n node) list(most int) ([]node, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, n.wrong("a list")
	}
	if len(n.Content) > most {
		return nil, pleat.Invalidf("%s has %d items; at most %d are allowed", n.position(), len(n.Content), most)
	}
	var out []node
	for i, c := range n.Content {
		out = append(out, node{c, fmt.Sprintf("%s[%d]", n.at, i)})
	}
	return out, nil
}

// truthWords matches the words that readers of YAML 1.1, such as Boltz, convert to booleans when they are not quoted.
var truthWords = regexp.MustCompile(`^(?i:yes|no|on|off|true|false)$`)

// scalar returns a scalar as it is written, without conversion: a chain called NO is NO and not false. A note
// reports unquoted words that YAML 1.1 would convert.
func (n node) scalar(out *notes) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", n.wrong("text")
	}
	if n.unquoted() && truthWords.MatchString(n.Value) {
		out.addNote("%s is %s without quotes (line %d), which YAML 1.1 takes for a truth value; it was read as the "+
			"text %q", n.position(), n.Value, n.Line, n.Value)
	}
	return n.Value, nil
}

// unquoted reports whether a scalar is written without quotes.
func (n node) unquoted() bool {
	return n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// wholeNumber matches whole numbers of at most nine digits, from 0.
var wholeNumber = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})$`)

// isWhole reports whether the node is an unquoted whole number.
func (n node) isWhole() bool {
	return n.Kind == yaml.ScalarNode && n.unquoted() && wholeNumber.MatchString(n.Value)
}

// whole returns a whole number.
func (n node) whole() (int, error) {
	if !n.isWhole() {
		return 0, n.wrong("a whole number")
	}
	return strconv.Atoi(n.Value)
}

// number returns a finite number.
func (n node) number() (float64, error) {
	f, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || !n.unquoted() || err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, n.wrong("a number")
	}
	return f, nil
}

// truth returns the boolean of an unquoted word such as true or no.
func (n node) truth() (bool, error) {
	if n.Kind != yaml.ScalarNode || !n.unquoted() || !truthWords.MatchString(n.Value) {
		return false, n.wrong("true or false")
	}
	return slices.Contains([]string{"yes", "on", "true"}, strings.ToLower(n.Value)), nil
}

// Written text is always quoted, because YAML 1.1 converts many words.

// yamlText returns a string in double quotes, so that no reader converts it.
func yamlText(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: s}
}

// yamlInt returns a whole number.
func yamlInt(n int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(n)}
}

// yamlFloat returns a number with at least one decimal.
func yamlFloat(f float64) *yaml.Node {
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: s}
}

// yamlTrue returns the boolean true.
func yamlTrue() *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"} }

// yamlMap returns a mapping from alternating keys and values. Pairs whose value is nil are omitted.
func yamlMap(pairs ...any) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(pairs); i += 2 {
		if v := pairs[i+1].(*yaml.Node); v != nil {
			m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: pairs[i].(string)}, v)
		}
	}
	return m
}

// yamlList returns a list with one item a line.
func yamlList(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Content: items}
}

// yamlRow returns a list on one line.
func yamlRow(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: items}
}
