package component

import (
	"strings"

	"pleat"
)

// Block is one component of a file with several: the name of its data block, by which the file knows it, and its text.
type Block struct{ Code, Text string }

// Split splits a text in mmCIF into its data blocks, each a component, and does not check what these hold. An error has
// pleat.CodeInvalid and is a sentence without its subject, the text.
func Split(text string) ([]Block, error) {
	var out []Block
	seen := map[string]bool{}
	field := false // within a text field, whose lines mean nothing
	start, at := 0, 0
	for line := range strings.Lines(text) {
		head, _, _ := strings.Cut(strings.TrimSpace(line)+" ", " ")
		isName := !field && len(head) > len(dataPrefix) && strings.EqualFold(head[:len(dataPrefix)], dataPrefix)
		switch {
		case strings.HasPrefix(line, ";"):
			field = !field
		case isName:
			name := head[len(dataPrefix):]
			if seen[name] {
				return nil, pleat.Invalidf("has two data blocks called %q", pleat.Clip(name))
			}
			seen[name] = true
			if len(out) > 0 {
				out[len(out)-1].Text = text[start:at]
			}
			start = at
			out = append(out, Block{Code: name})
		case len(out) == 0 && head != "" && head[0] != '#':
			return nil, pleat.Invalidf("does not begin with a data block, such as data_LIG")
		}
		at += len(line)
	}
	if len(out) == 0 {
		return nil, pleat.Invalidf("has no data block; a component begins with one, such as data_LIG")
	}
	out[len(out)-1].Text = text[start:]
	return out, nil
}

// dataPrefix begins a data block, in any case.
const dataPrefix = "data_"
