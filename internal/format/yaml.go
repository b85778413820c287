package format

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"pleat/internal/yamltree"
)

// node is a value of a YAML file and its path, for messages.
type node = yamltree.Node

// parseYAML reads the one document of a file.
func parseYAML(text string) (node, error) {
	if err := checkOne(text); err != nil {
		return node{}, err
	}
	return yamltree.Parse(text)
}

// scalar returns a scalar as it is written, without conversion: a chain called NO is NO and not false. A note
// reports unquoted words that YAML 1.1 would convert.
func scalar(n node, out *notes) (string, error) {
	text, err := n.Text()
	if err == nil && n.IsTruthWord() {
		out.addNote("%s is %s without quotes (line %d), which YAML 1.1 takes for a truth value; it was read as the "+
			"text %q", n.Position(), text, n.Line, text)
	}
	return text, err
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
