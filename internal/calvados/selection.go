package calvados

import (
	"regexp"
	"strconv"
	"strings"

	"pleat"
	"pleat/internal/structure"
)

// Selection selects atoms by a subset of MDAnalysis' selection language:
//
//	all · protein · name CA CB* · resname ALA GL? · resid 5 10:20 · chainID A B
//	and · or · not · ( )
//
// As in MDAnalysis, «and» and «or» have the same precedence, from left to right; «not» binds tighter. Keywords are
// written as here (segid and chainid mean chainID). Names match in their case; in them * matches any letters and ?
// any one letter.
//
// Source: MDAnalysis documentation, «Selection commands».
type Selection struct{ match func(a *candidate) bool }

// candidate is an atom with its residue and chain.
type candidate struct {
	chain   *structure.Chain
	residue *structure.Residue
	atom    *structure.Atom
}

const (
	maxSelection = 2000 // bytes
	maxDepth     = 50
)

// ParseSelection parses an expression. An error gives the character, counted from 1.
func ParseSelection(expr string) (*Selection, error) {
	if len(expr) > maxSelection {
		return nil, pleat.Invalidf("selection has %d bytes; at most %d are read", len(expr), maxSelection)
	}
	p := &selectionParser{}
	p.split(expr)
	if len(p.words) == 1 {
		return nil, pleat.Invalidf("selection is empty; \"all\" selects every atom")
	}
	match, err := p.expression(0)
	if err != nil {
		return nil, err
	}
	if w := p.words[p.at]; w.text != "" {
		return nil, p.errorf(w, "expected \"and\", \"or\" or the end, found %q", pleat.Clip(w.text))
	}
	return &Selection{match}, nil
}

// Matches reports whether the selection includes an atom of a residue of a chain.
func (s *Selection) Matches(c *structure.Chain, r *structure.Residue, a *structure.Atom) bool {
	return s.match(&candidate{c, r, a})
}

// word is one token of a selection and its position in the text, for errors.
type word struct {
	text string // empty: the end
	at   int    // 1-based character
}

// selectionParser is a recursive-descent parser over the words of an expression.
type selectionParser struct {
	words []word
	at    int
}

// errorf returns an error with the position of w.
func (p *selectionParser) errorf(w word, format string, args ...any) error {
	e := pleat.Invalidf(format, args...)
	e.Message = "selection, character " + strconv.Itoa(w.at) + ": " + e.Message
	return e
}

// split separates the expression into words and parentheses, with an empty word at the end.
func (p *selectionParser) split(expr string) {
	start, startAt, n := -1, 0, 0
	flush := func(to int) {
		if start >= 0 {
			p.words = append(p.words, word{expr[start:to], startAt})
			start = -1
		}
	}
	for i, c := range expr {
		n++
		switch {
		case c == '(' || c == ')':
			flush(i)
			p.words = append(p.words, word{string(c), n})
		case strings.ContainsRune(" \t\r\n", c):
			flush(i)
		case start < 0:
			start, startAt = i, n
		}
	}
	flush(len(expr))
	p.words = append(p.words, word{"", n + 1})
}

// next returns the next word and advances, except at the end.
func (p *selectionParser) next() word {
	w := p.words[p.at]
	if w.text != "" {
		p.at++
	}
	return w
}

// expression parses operands joined by «and» and «or».
func (p *selectionParser) expression(depth int) (func(*candidate) bool, error) {
	left, err := p.operand(depth)
	if err != nil {
		return nil, err
	}
	for {
		op := p.words[p.at].text
		if op != "and" && op != "or" {
			return left, nil
		}
		p.at++
		right, err := p.operand(depth)
		if err != nil {
			return nil, err
		}
		a := left
		if op == "and" {
			left = func(c *candidate) bool { return a(c) && right(c) }
		} else {
			left = func(c *candidate) bool { return a(c) || right(c) }
		}
	}
}

// operand parses «not», parentheses, or one keyword with its values. depth bounds the recursion.
func (p *selectionParser) operand(depth int) (func(*candidate) bool, error) {
	w := p.next()
	if depth > maxDepth {
		return nil, p.errorf(w, "more than %d levels of parentheses and \"not\"", maxDepth)
	}
	switch w.text {
	case "not":
		f, err := p.operand(depth + 1)
		if err != nil {
			return nil, err
		}
		return func(c *candidate) bool { return !f(c) }, nil
	case "(":
		f, err := p.expression(depth + 1)
		if err != nil {
			return nil, err
		}
		if end := p.next(); end.text != ")" {
			return nil, p.errorf(end, "expected \")\" for the \"(\" at character %d", w.at)
		}
		return f, nil
	case "all":
		return func(*candidate) bool { return true }, nil
	case "protein":
		return func(c *candidate) bool {
			return c.chain.Kind == structure.Protein || c.chain.Kind == "" &&
				structure.Letter(structure.Protein, c.residue.Comp) != 'X'
		}, nil
	case "name":
		return p.names(w, func(c *candidate) string { return c.atom.Name })
	case "resname":
		return p.names(w, func(c *candidate) string { return c.residue.Comp })
	case "chainID", "chainid", "segid":
		return p.names(w, func(c *candidate) string { return c.chain.ID })
	case "resid":
		return p.numbers(w)
	case "":
		return nil, p.errorf(w, "expected a selection, found the end")
	}
	return nil, p.errorf(w,
		"%q is not known; the words are all, protein, name, resname, resid, chainID, and, or, not and parentheses",
		pleat.Clip(w.text))
}

// keywords end a list of values.
var keywords = map[string]bool{
	"and": true, "or": true, "not": true, "(": true, ")": true, "": true, "all": true, "protein": true,
	"name": true, "resname": true, "resid": true, "chainID": true, "chainid": true, "segid": true,
}

// values returns the words after a keyword, at least one.
func (p *selectionParser) values(after word) ([]word, error) {
	var out []word
	for !keywords[p.words[p.at].text] {
		out = append(out, p.next())
	}
	if len(out) == 0 {
		return nil, p.errorf(p.words[p.at], "expected a value after %q", after.text)
	}
	return out, nil
}

// names parses patterns and returns a match on the name that property returns.
func (p *selectionParser) names(after word, property func(*candidate) string) (func(*candidate) bool, error) {
	values, err := p.values(after)
	if err != nil {
		return nil, err
	}
	return func(c *candidate) bool {
		name := property(c)
		for _, v := range values {
			if glob(v.text, name) {
				return true
			}
		}
		return false
	}, nil
}

// glob reports whether a name matches a pattern with * and ?, in time of at most the product of their lengths.
func glob(pattern, name string) bool {
	p, n, star, back := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			back++
			p, n = star+1, back
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// residRange matches a residue number or a range such as 5:20 or 5-20; numbers may be negative.
var residRange = regexp.MustCompile(`^(-?[0-9]{1,9})(?:[:-](-?[0-9]{1,9}))?$`)

// numbers parses residue numbers and ranges, both ends included.
func (p *selectionParser) numbers(after word) (func(*candidate) bool, error) {
	values, err := p.values(after)
	if err != nil {
		return nil, err
	}
	var joined []word // "1 : 5" is one range
	for k := 0; k < len(values); k++ {
		w := values[k]
		if n := len(joined); n > 0 && (strings.HasPrefix(w.text, ":") || strings.HasSuffix(joined[n-1].text, ":")) {
			joined[n-1].text += w.text
		} else {
			joined = append(joined, w)
		}
	}
	var ranges [][2]int
	for _, w := range joined {
		m := residRange.FindStringSubmatch(w.text)
		if m == nil {
			return nil, p.errorf(w, "%q is no residue number and no range such as 5:20", pleat.Clip(w.text))
		}
		lo, _ := strconv.Atoi(m[1])
		hi := lo
		if m[2] != "" {
			if hi, _ = strconv.Atoi(m[2]); hi < lo {
				return nil, p.errorf(w, "the range %q ends before it begins", pleat.Clip(w.text))
			}
		}
		ranges = append(ranges, [2]int{lo, hi})
	}
	return func(c *candidate) bool {
		for _, r := range ranges {
			if c.residue.Auth >= r[0] && c.residue.Auth <= r[1] {
				return true
			}
		}
		return false
	}, nil
}
