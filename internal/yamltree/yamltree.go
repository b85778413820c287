// Package yamltree reads YAML into a tree whose nodes know their path and line, for messages. It is strict: it takes no
// anchors, aliases, tags, merged keys or further documents, and it converts no scalar on its own: a chain called NO is
// NO and not false. The meaning of a text does not depend on a reader's version of YAML.
//
// It is pure: it uses no file, clock, network or randomness.
package yamltree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"pleat"
)

// go.yaml.in/yaml is the library that the YAML project maintains. This package reads its nodes one by one, because
// decoding into types would follow aliases and convert words such as NO to booleans.

// Limits of texts that Read and Check take. MaxDepth holds for Parse too.
const (
	MaxBytes  = 256 << 10
	MaxDepth  = 32     // nested lists and mappings
	MaxValues = 20_000 // scalars, lists and mappings; keys do not count
)

// Parse reads the one document of a text that messages call the file. The caller bounds the text. Duplicate keys are
// left to Node.Fields.
func Parse(text string) (Node, error) {
	root, err := decode(text, "")
	if err != nil {
		return Node{}, err
	}
	c := checker{}
	return root, c.plain(root.Node, 1)
}

// Read reads the one document of a text that messages call file, within all limits. Holds says what it must hold, for
// the message about an empty text. No mapping of the tree has a key twice. The error is a pleat.Error, with
// CodeTooLarge for more than MaxBytes.
func Read(file string, text []byte, holds string) (Node, error) {
	if len(text) > MaxBytes {
		return Node{}, pleat.Errorf(pleat.CodeTooLarge, "%s has %d bytes; at most %d are allowed", pleat.Clip(file),
			len(text), MaxBytes)
	}
	file = pleat.Clip(file)
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return Node{}, pleat.Invalidf("%s is not text in UTF-8", file)
	}
	root, err := decode(string(text), file)
	if errors.Is(err, errEmpty) || err == nil && root.Null() {
		return Node{}, pleat.Invalidf("%s is empty; it must hold %s", file, holds)
	}
	if err != nil {
		return Node{}, err
	}
	c := checker{file: file, strict: true}
	return root, c.plain(root.Node, 1)
}

// Check returns an error unless Read takes a text. It is for files whose meaning is not known yet.
func Check(file string, text []byte) error {
	_, err := Read(file, text, "one YAML document")
	return err
}

// errEmpty is the error of decode for a text without a document.
var errEmpty = pleat.Invalidf("the file holds no YAML document")

// decode reads the one document of a text. File is as in Node.
func decode(text, file string) (Node, error) {
	dec := yaml.NewDecoder(strings.NewReader(text))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) != 1:
		return Node{}, errEmpty
	case err != nil:
		return Node{}, notYAML(text, file, err)
	}
	err := dec.Decode(&more)
	switch {
	case errors.Is(err, io.EOF):
		return Node{Node: doc.Content[0], File: file}, nil
	case file == "":
		return Node{}, pleat.Invalidf("the file has data after its first YAML document; it must hold one")
	case err != nil:
		return Node{}, notYAML(text, file, err)
	}
	return Node{}, pleat.Invalidf("%s has a second document; second documents are not taken", place(more.Line, file))
}

// notYAML returns the error for a text that breaks the syntax of YAML, with the likely cause.
func notYAML(text, file string, err error) error {
	if file == "" {
		file = "the file"
	}
	why := pleat.Clip(strings.TrimPrefix(err.Error(), "yaml: "))
	switch tab := tabIndent.FindStringIndex(text); {
	case tab != nil && (strings.Contains(why, "tab") || strings.Contains(why, "cannot start any token")):
		why = fmt.Sprintf("line %d is indented with a tab; YAML is indented with spaces",
			1+strings.Count(text[:tab[1]], "\n"))
	case strings.Contains(why, "unknown escape"):
		why += "; a backslash in double quotes is written twice"
	default:
		if bracket := bracketText.FindStringIndex(text); bracket != nil {
			why = fmt.Sprintf("line %d: %s", 1+strings.Count(text[:bracket[1]], "\n"), bracketHint)
		}
	}
	return pleat.Invalidf("%s is not YAML: %s", file, why)
}

// tabIndent matches the beginning of a line that is indented with a tab.
var tabIndent = regexp.MustCompile(`(?m)^ *\t`)

// bracketText matches a value that begins as a list does and goes on behind it: a SMILES such as [O-]C(=O)C.
var bracketText = regexp.MustCompile(`(?m):[ \t]+\[[^\[\]\n]*\][^\s,:\]}]`)

// bracketHint is the reason for which a SMILES is no text.
const bracketHint = "in YAML a value that begins with [ is a list; put the text in quotes"

// checker walks a tree once.
type checker struct {
	file   string // as in Node
	strict bool   // keys are text and stand once, and values are counted
	values int
}

// fault returns an error about a line.
func (c *checker) fault(n *yaml.Node, format string, args ...any) error {
	return pleat.Invalidf("%s"+format, append([]any{place(n.Line, c.file)}, args...)...)
}

// plain returns an error for references, tags, nesting that is too deep and, if strict, repeated keys and too many
// values.
func (c *checker) plain(n *yaml.Node, depth int) error {
	c.values++
	switch {
	case depth > MaxDepth:
		return c.fault(n, " is nested more than %d levels deep", MaxDepth)
	case n.Kind == yaml.AliasNode:
		return c.fault(n, " has the alias *%s; write out what it stands for", pleat.Clip(n.Value))
	case n.Anchor != "":
		return c.fault(n, " has the anchor &%s; anchors are not taken", pleat.Clip(n.Anchor))
	case n.Style&yaml.TaggedStyle != 0:
		return c.fault(n, " has the tag %s; tags are not taken", pleat.Clip(n.Tag))
	case c.strict && c.values > MaxValues:
		return c.fault(n, " is beyond the %d values allowed", MaxValues)
	}
	seen := map[string]bool{}
	for i, child := range n.Content {
		key := n.Kind == yaml.MappingNode && i%2 == 0
		if key && child.Value == "<<" {
			return c.fault(child, " merges keys with <<; write them out")
		}
		if err := c.plain(child, depth+1); err != nil {
			return err
		}
		if !key || !c.strict {
			continue
		}
		c.values-- // a key is no value
		switch {
		case child.Kind != yaml.ScalarNode:
			return c.fault(child, " has a list or a mapping as a key; keys must be text")
		case seen[child.Value]:
			return c.fault(child, " has the key %q again; duplicate keys are not taken", pleat.Clip(child.Value))
		}
		seen[child.Value] = true
	}
	return nil
}
