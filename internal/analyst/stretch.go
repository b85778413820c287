package analyst

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pleat/internal/facts"
)

// Stretches of a chain that a question names without two numbers: the last ten residues, the second half, after residue 40,
// the second helix.

var (
	beginWords  = set("first initial opening leading")
	endWords    = set("last final closing trailing")
	afterWords  = set("after past following")
	beforeWords = set("before preceding")

	positionWords = set("position positions number numbers")

	ordinals = map[string]float64{
		"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5, "5th": 5,
		"sixth": 6, "6th": 6, "last": -1, "final": -1,
	}
)

func (r *reader) stretch() bool { return r.end() || r.beside() || r.nth() }

// end reads the first 20 residues, the last ten, the N-terminal 5 amino acids, the second half of the chain.
func (r *reader) end() bool {
	w, n, sign := r.peek(0).low, 1, 0
	switch next := r.peek(1).low; {
	case beginWords[w]:
		sign = 1
	case endWords[w]:
		sign = -1
	case (w == "n" || w == "amino") && (next == "terminal" || next == "term"):
		n, sign = 2, 1
	case (w == "c" || w == "carboxy" || w == "carboxyl") && (next == "terminal" || next == "term"):
		n, sign = 2, -1
	}
	if r.peek(n).low == "half" && (sign != 0 || w == "second") {
		half := 2
		if sign > 0 {
			half = 1
		}
		n++
		if r.peek(n).low == "of" && r.peek(n+1).low == "the" && (r.peek(n+2).low == "sequence" || r.peek(n+2).low == "chain") {
			n += 3
			if r.chains[r.peek(n).raw] { // of the chain B
				n--
			}
		}
		r.add(item{concept: "@residue", mention: mention{half: half}}, n)
		return true
	}
	k, ok := figure(r.peek(n))
	if !ok || sign == 0 || k <= 0 {
		return false
	}
	switch after := r.peek(n + 1).low; {
	case after == "amino":
		n += 2
	case residueWords[after]:
		n++
	case after == "" || after == "," || r.peek(n).low == after || lexicon.entry[after] == "ask":
	default:
		return false // the first two helices
	}
	r.add(item{concept: "@residue", mention: mention{first: sign * k}}, min(n+1, len(r.words)-r.at))
	return true
}

// beside reads after residue 16, before K48, up to position 30, beyond residue 20: all numbers on one side.
func (r *reader) beside() bool {
	w, n := r.peek(0).low, 1
	after, before, upto := afterWords[w], beforeWords[w], false
	switch next := r.peek(1).low; {
	case w == "downstream" && next == "of":
		after, n = true, 2
	case w == "upstream" && next == "of" || w == "prior" && next == "to":
		before, n = true, 2
	case w == "up" && next == "to":
		upto, n = true, 2
	}
	far := w == "beyond" || w == "above" || w == "over"
	near := w == "below" || w == "under"
	announced := false
	for residueWords[r.peek(n).low] || r.peek(n).low == "number" {
		announced = true
		n++
	}
	if far || near { // positions above 40; beyond residue 40
		announced = announced || positionWords[r.peek(-1).low]
		after, before = far && announced, near && announced
	}
	at, _, ok := r.numberOrName(n)
	if !ok || !after && !before && !upto || unitScale(r.peek(n+1)) > 0 {
		return false
	}
	lo, hi := r.pairRefs()
	switch {
	case after:
		lo, hi = at+1, max(hi, at+1)
	case before:
		lo, hi = min(lo, at-1), at-1
	default:
		lo, hi = min(lo, at), at
	}
	r.add(item{concept: "@residue", mention: mention{lo: lo, hi: hi}}, n+1)
	return true
}

// ends is the lowest and the highest number of a polymer's residue.
func (r *reader) pairRefs() (lo, hi int) {
	lo, hi = math.MaxInt32, math.MinInt32
	for _, p := range r.x.Polymers {
		for i := p.Lo; i < p.Hi; i++ {
			lo, hi = min(lo, r.x.Sites[i].Ref.Number), max(hi, r.x.Sites[i].Ref.Number)
		}
	}
	if lo > hi {
		return 0, 0
	}
	return lo, hi
}

// nth reads the ordinal before a helix or strand.
func (r *reader) nth() bool {
	n, ok := ordinals[r.peek(0).low]
	if !ok || r.at+1 >= len(r.words) {
		return false
	}
	switch c, _ := lexicon.look(r.words[r.at+1:], 1); c {
	case "helix", "strand", "threeten", "pihelix":
		r.add(item{concept: "@nth", value: n}, 1)
		return true
	}
	return false
}

// said says whether a concept was read before in this sentence.
func (r *reader) said(concept string) bool {
	for _, it := range r.items {
		if it.concept == concept {
			return true
		}
	}
	return false
}

// nthState takes the n-th helix or strand of the one chain asked about. Bridges of one residue are no strands that are counted;
// where 3-10 helices make a difference, there is no telling which is meant.
func (p *picker) nthState(i int, it item) bool {
	none := &condition{kind: "state", pass: func(int) bool { return false }}
	list := slices.DeleteFunc(p.q.proteins(), func(c facts.Chain) bool { return c.Secondary == nil })
	if len(list) != 1 {
		p.problem = "There are several protein chains; say which one's helix or strand you count."
		return p.add(i, none)
	}
	states := stateKinds[it.concept].states
	switch {
	case it.concept == "strand":
		states = "E"
	case it.concept == "helix" && strings.Contains(strings.ToLower(it.text), "alpha"):
		states = "H"
	}
	g, found := nthSegment(list[0], states, p.nth)
	if alpha, ok := nthSegment(list[0], "H", p.nth); it.concept == "helix" && (ok != found || alpha != g) {
		p.problem = fmt.Sprintf("With the 3-10 helices of chain %s or without them another helix is meant; name its residues, or say α-helix.",
			list[0].ID)
		return p.add(i, none)
	}
	if !found {
		p.problem = fmt.Sprintf("By DSSP chain %s has no such helix or strand.", list[0].ID)
		return p.add(i, none)
	}
	said := fmt.Sprintf("in the %s %s", g.Kind(), facts.Span(g.From, g.To))
	return p.add(i, &condition{kind: "state", said: said, pass: func(i int) bool {
		s := &p.q.x.Sites[i]
		return list[0].Polymer.Lo <= i && i < list[0].Polymer.Hi && g.From.Number <= s.Ref.Number && s.Ref.Number <= g.To.Number
	}})
}

// nthSegment is the n-th segment in one of the states, or the last (-1).
func nthSegment(c facts.Chain, states string, n float64) (facts.Segment, bool) {
	list := slices.DeleteFunc(slices.Clone(c.Secondary.Segments), func(g facts.Segment) bool {
		return strings.IndexByte(states, g.State[0]) < 0
	})
	k := int(n) - 1
	if n < 0 {
		k = len(list) - 1
	}
	if k < 0 || k >= len(list) {
		return facts.Segment{}, false
	}
	return list[k], true
}
