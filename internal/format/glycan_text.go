package format

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"pleat"
	"pleat/internal/chem"
)

// readSugars reads a tree of sugars by their CCD codes, each with those that are on it in parentheses: NAG(NAG)(FUC).
// With linkages, as Chai has them, each parenthesis begins with two numbers, NAG(4-1 NAG): the first is that of the
// parent's carbon whose oxygen is bonded, the second that of the sugar's own carbon. The result has a sugar at least.
func readSugars(at, text string, linkages bool) ([]sugar, error) {
	r := sugarReader{at: at, text: text}
	for {
		if err := r.readSugar(linkages); err != nil {
			return nil, err
		}
		for r.next() == ')' && len(r.parents) > 1 {
			r.pos++
			r.parents = r.parents[:len(r.parents)-1]
		}
		switch {
		case r.next() == 0 && len(r.parents) == 1:
			return r.sugars, nil
		case r.next() != '(':
			return nil, r.fault("it must go on with a sugar in parentheses, or end where all parentheses are closed")
		}
		r.pos++
	}
}

// sugarReader reads a tree of sugars.
type sugarReader struct {
	at, text string
	pos      int
	sugars   []sugar
	parents  []int // indices of the sugars on which another may follow, from the first on
}

// next skips white space and returns the next character; 0: the text ends.
func (r *sugarReader) next() byte {
	for r.pos < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.pos]) >= 0 {
		r.pos++
	}
	if r.pos == len(r.text) {
		return 0
	}
	return r.text[r.pos]
}

// fault returns an error at the place that is read.
func (r *sugarReader) fault(must string) error { return glycanFault(r.at, r.text, r.pos, must) }

// glycanFault returns an error at a byte of a glycan.
func glycanFault(at, text string, pos int, must string) error {
	return pleat.Invalidf("%s is %q; at character %d %s", at, pleat.Clip(text), characters(text[:pos])+1, must)
}

// characters returns how many characters a text has.
func characters(text string) int { return len([]rune(text)) }

var (
	sugarLinkage = regexp.MustCompile(`^([1-9])-([1-9])`)
	sugarCode    = regexp.MustCompile(`^[0-9A-Z]{1,5}`)
)

// readSugar reads a sugar with what stands before it in its parenthesis, and makes it the parent of those to come.
func (r *sugarReader) readSugar(linkages bool) error {
	r.next()
	s := sugar{parent: -1}
	if n := len(r.parents); n > 0 {
		s.parent = r.parents[n-1]
	}
	if len(r.sugars) == maxParts {
		return r.fault("is one sugar too many: at most " + strconv.Itoa(maxParts) + " are allowed")
	}
	if linkages && len(r.sugars) > 0 {
		m := sugarLinkage.FindStringSubmatch(r.text[r.pos:])
		if m == nil {
			return r.fault("there must be a linkage, such as 4-1 for O4 of the sugar before and C1 of the one behind")
		}
		s.from, s.to = int(m[1][0]-'0'), int(m[2][0]-'0')
		r.pos += len(m[0])
		r.next()
	}
	if s.code = sugarCode.FindString(r.text[r.pos:]); s.code == "" {
		return r.fault("there must be a sugar by its CCD code, such as NAG")
	}
	s.place = characters(r.text[:r.pos]) + 1
	r.pos += len(s.code)
	r.sugars = append(r.sugars, s)
	r.parents = append(r.parents, len(r.sugars)-1)
	return nil
}

var (
	// iupacToken matches a name, a bracket, or a linkage, whose last number the one of the last sugar lacks.
	iupacToken   = regexp.MustCompile(`^(?:\[|\]|[A-Z][A-Za-z]*(?:5[A-Z][A-Za-z]*)?|\([^()\[\]]{1,10}\)?)`)
	iupacLinkage = regexp.MustCompile(`^\(([abαβ])([1-9])(?:-|->|→)([1-9]?)(\)?)$`)
)

// readIUPAC reads a glycan in the condensed notation of IUPAC, Man(a1-3)[Man(a1-6)]Man(b1-4)GlcNAc(b1-, in which a
// sugar stands before the one that it is on and brackets hold further branches. The last sugar has its anomer, too. The
// result has that sugar first.
func readIUPAC(at, text string) ([]sugar, error) {
	tokens, err := iupacTokens(at, text)
	if err != nil {
		return nil, err
	}
	r := iupacReader{at: at, text: text, parent: -1}
	for i := len(tokens) - 1; i >= 0; i-- {
		if err := r.take(tokens[i]); err != nil {
			return nil, err
		}
	}
	if len(r.sugars) == 0 || len(r.open) > 0 || r.link != nil || r.after != 'n' {
		return nil, r.fault(0, "it must begin with a sugar, and each bracket must be opened")
	}
	return r.sugars, nil
}

// iupacPart is a token and where it stands.
type iupacPart struct {
	text string
	pos  int
}

// iupacTokens splits a glycan. White space at the ends does not count.
func iupacTokens(at, text string) (out []iupacPart, err error) {
	end := len(strings.TrimRightFunc(text, unicode.IsSpace))
	for pos := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace)); pos < end; {
		t := iupacToken.FindString(text[pos:end])
		if t == "" {
			return nil, glycanFault(at, text, pos, "there must be a sugar such as GlcNAc, a linkage such as (b1-4) or "+
				"a bracket")
		}
		if len(out) == 4*maxParts {
			return nil, glycanFault(at, text, pos, "it has more than "+strconv.Itoa(maxParts)+" sugars")
		}
		out = append(out, iupacPart{t, pos})
		pos += len(t)
	}
	return out, nil
}

// iupacReader takes the tokens of a glycan from the last to the first.
type iupacReader struct {
	at, text string
	sugars   []sugar
	parent   int      // index of the sugar that the next one is on; -1: none
	open     []int    // parents of the branches whose brackets are open
	link     []string // the linkage that was taken last, until its sugar comes
	linkAt   int
	after    byte // what was taken last: n for a name, l for a linkage, or a bracket; 0: nothing
}

// fault returns an error at a byte.
func (r *iupacReader) fault(pos int, must string) error { return glycanFault(r.at, r.text, pos, must) }

// take takes a token.
func (r *iupacReader) take(t iupacPart) error {
	before := r.after
	r.after = t.text[0]
	switch t.text[0] {
	case '(':
		r.after = 'l'
		if before == 'l' {
			return r.fault(t.pos, "there must be a sugar between two linkages")
		}
		return r.takeLinkage(t)
	case ']':
		if before != 'n' && before != '[' {
			return r.fault(t.pos, "a bracket must end before a sugar or another bracket")
		}
		r.open = append(r.open, r.parent)
	case '[':
		if before != 'n' || len(r.open) == 0 {
			return r.fault(t.pos, "a bracket must begin with a sugar and end")
		}
		r.parent, r.open = r.open[len(r.open)-1], r.open[:len(r.open)-1]
	default:
		r.after = 'n'
		return r.takeName(t)
	}
	return nil
}

// takeLinkage takes the linkage of the sugar that comes next.
func (r *iupacReader) takeLinkage(t iupacPart) error {
	m := iupacLinkage.FindStringSubmatch(t.text)
	last := len(r.sugars) == 0
	switch {
	case m == nil || !last && (m[3] == "" || m[4] == ""):
		return r.fault(t.pos, "there must be a linkage with its anomer and both carbons, such as (b1-4)")
	case last && m[3] != "":
		return r.fault(t.pos, "the linkage leads to no sugar; the last sugar ends with its anomer alone, as in (b1-")
	}
	r.link, r.linkAt = m, t.pos
	return nil
}

// takeName takes a sugar.
func (r *iupacReader) takeName(t iupacPart) error {
	if r.link == nil {
		return r.fault(t.pos, t.text+" has no linkage behind it, which says whether it is alpha or beta: (b1-4) where "+
			"it is on another sugar, and (b1- where it is the last")
	}
	anomer := byte('a')
	if r.link[1] == "b" || r.link[1] == "β" {
		anomer = 'b'
	}
	known, found := chem.SugarByName(t.text, anomer)
	carbon := int(r.link[2][0] - '0')
	switch {
	case !found:
		return r.fault(t.pos, t.text+"("+r.link[1]+" is no sugar that is known here; those are "+
			strings.Join(chem.SugarNames(), ", ")+", alpha or beta")
	case carbon != known.Carbon:
		return r.fault(r.linkAt, "the linkage begins at C"+r.link[2]+", and the anomeric carbon of "+t.text+" is "+
			known.AnomericAtom())
	case len(r.sugars) == maxParts:
		return r.fault(t.pos, "is one sugar too many: at most "+strconv.Itoa(maxParts)+" are allowed")
	}
	s := sugar{code: known.Code, place: characters(r.text[:t.pos]) + 1, parent: r.parent}
	if r.parent >= 0 {
		s.from, s.to = int(r.link[3][0]-'0'), carbon
	}
	r.sugars = append(r.sugars, s)
	r.parent, r.link = len(r.sugars)-1, nil
	return nil
}
