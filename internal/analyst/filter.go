package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// property is what a condition looks at. Conditions on the same property that a question joins by "and" or "or" are
// alternatives; all others must hold together.
type property string

// Properties in the order in which an answer names them.
const (
	ofName     property = "name"     // LYS, charged
	ofState    property = "state"    // in a helix
	ofSurface  property = "surface"  // buried, exposed
	ofLimit    property = "limit"    // with a pLDDT below 70
	ofDistance property = "distance" // within 5 Å of ZN 202
	ofPlace    property = "place"    // in residues 5 to 12
	ofChain    property = "chain"    // in chain B
)

var propertyOrder = []property{ofName, ofState, ofSurface, ofLimit, ofDistance, ofPlace, ofChain}

// condition is one predicate over residues, with its canonical English wording.
type condition struct {
	property property
	not      bool
	wording  []string         // alternatives, as they follow "are": LYS, in a helix
	accepts  []func(int) bool // the same alternatives, over sites
	mentions []mention        // ofPlace
	chains   []string         // ofChain
	bare     bool             // said without a preposition after the noun, as exposed in "are all lysines exposed"
	segments []facts.Segment  // ofState: the segments meant, where the question counts them
	states   string           // ofState: letters of DSSP
	class    string           // ofName: the class, where one is named
	text     string           // as the question has it
}

// holds says whether a site passes.
func (c *condition) holds(site int) bool {
	any := slices.ContainsFunc(c.accepts, func(accept func(int) bool) bool { return accept(site) })
	return any != c.not
}

// holdAll reports whether a site passes all conditions.
func holdAll(conds []*condition, site int) bool {
	return !slices.ContainsFunc(conds, func(c *condition) bool { return !c.holds(site) })
}

// isWhere reports whether the condition says where to look, and not what residues are like.
func (c *condition) isWhere() bool { return !c.not && (c.property == ofChain || c.property == ofPlace) }

// String returns the wording of the condition, as it follows "are".
func (c *condition) String() string {
	text := c.wording[0]
	if n := len(c.wording); n > 1 {
		text = strings.Join(c.wording[:min(n-1, 12)], ", ") + " or " + c.wording[n-1]
	}
	if c.not {
		return "not " + text
	}
	return text
}

// add joins an alternative.
func (c *condition) add(d *condition) {
	for i, w := range d.wording {
		if !slices.Contains(c.wording, w) {
			c.wording, c.accepts = append(c.wording, w), append(c.accepts, d.accepts[i])
		}
	}
	c.mentions = append(c.mentions, d.mentions...)
	c.chains = append(c.chains, d.chains...)
	c.segments = append(c.segments, d.segments...)
	c.states += d.states
	c.bare = c.bare && d.bare
}

// sitesWhere returns the polymer sites at which all conditions hold.
func (q *query) sitesWhere(conds []*condition) []int {
	var out []int
	for _, p := range q.x.Polymers {
		for i := p.Lo; i < p.Hi; i++ {
			if holdAll(conds, i) {
				out = append(out, i)
			}
		}
	}
	return out
}

// wordingOf names conditions: LYS and in a helix and exposed.
func wordingOf(conds []*condition) string {
	var said []string
	for _, p := range propertyOrder {
		for _, not := range [...]bool{false, true} {
			for _, c := range conds {
				if c.property == p && c.not == not {
					said = append(said, c.String())
				}
			}
		}
	}
	return strings.Join(said, " and ")
}

// nameCondition is one residue name; a modified residue counts as its parent.
func (q *query) nameCondition(it item) *condition {
	names := it.names
	return &condition{property: ofName, wording: []string{names[0]}, accepts: []func(int) bool{
		func(i int) bool { return q.x.Sites[i].Is(names) },
	}}
}

// classCondition is a class of amino acids; the wording says which residues count.
func (q *query) classCondition(it item) *condition {
	name, letters := strings.ReplaceAll(it.names[0], "-", " "), it.names[1]
	var codes []string
	for i := range len(letters) {
		code, _ := structure.Component(structure.Protein, letters[i])
		codes = append(codes, code)
	}
	wording := fmt.Sprintf("%s (%s are counted as such)", name, strings.Join(codes, ", "))
	return &condition{property: ofName, class: name, wording: []string{wording}, accepts: []func(int) bool{
		func(i int) bool {
			s := &q.x.Sites[i]
			return s.Kind == structure.Protein && strings.IndexByte(letters, s.Letter) >= 0
		},
	}}
}

// segmentsCondition is a state, or the segments that ordinals name: the first and the second helix.
func (q *query) segmentsCondition(concept string, nth []float64, extreme string) *condition {
	if len(nth) < 2 {
		one := 0.0
		for _, n := range nth {
			one = n
		}
		return q.stateCondition(concept, one, extreme)
	}
	c := q.stateCondition(concept, nth[0], "")
	for _, n := range nth[1:] {
		c.add(q.stateCondition(concept, n, ""))
	}
	return c
}

// statesOf returns the letters of DSSP that a concept stands for, and its words.
func statesOf(concept string) (states, wording string) {
	switch concept {
	case "helix":
		return "HGI", "in a helix"
	case "alphahelix":
		return "H", "in an α-helix"
	case "threeten":
		return "G", "in a 3-10 helix"
	case "pihelix":
		return "I", "in a π-helix"
	case "strand":
		return "EB", "in a β-strand or bridge"
	case "coil":
		return "TS-", "in neither helix nor strand"
	case "turn":
		return "T", "in a turn"
	}
	return "", ""
}

// stateCondition is a state of secondary structure, or counted segments of it: the second helix, the longest strand.
func (q *query) stateCondition(concept string, nth float64, extreme string) *condition {
	states, wording := statesOf(concept)
	c := &condition{property: ofState, states: states, wording: []string{wording}}
	c.accepts = []func(int) bool{func(i int) bool { return strings.IndexByte(states, q.x.Sites[i].State) >= 0 }}
	if nth == 0 && extreme == "" {
		return c
	}
	type place struct{ lo, hi int }
	var chosen []place
	for _, ch := range q.f.Chains {
		if len(q.chains) > 0 && !slices.Contains(q.chains, ch.ID) || ch.Secondary == nil {
			continue
		}
		for _, g := range pickSegments(segmentsOf(ch, states), nth, extreme) {
			c.segments = append(c.segments, g)
			chosen = append(chosen, place{q.siteOf(ch, g.From), q.siteOf(ch, g.To)})
		}
	}
	c.wording[0] = "in " + segmentWording(concept, nth, extreme, c.segments)
	c.accepts[0] = func(i int) bool {
		return slices.ContainsFunc(chosen, func(p place) bool { return p.lo <= i && i <= p.hi })
	}
	return c
}

// segmentsOf lists the segments of a chain in some states. A strand of one residue is an isolated bridge and not
// counted.
func segmentsOf(ch facts.Chain, states string) []facts.Segment {
	return slices.DeleteFunc(slices.Clone(ch.Secondary.Segments), func(g facts.Segment) bool {
		return !strings.Contains(states, g.State) || g.State == "B"
	})
}

// siteOf returns the site of a residue of a chain.
func (q *query) siteOf(ch facts.Chain, ref facts.ResidueRef) int {
	for i := ch.Polymer.Lo; i < ch.Polymer.Hi; i++ {
		if q.x.Sites[i].Ref == ref {
			return i
		}
	}
	return ch.Polymer.Lo
}

// pickSegments chooses the nth segment of a chain, -1 being the last, or its longest or shortest ones.
func pickSegments(list []facts.Segment, nth float64, extreme string) []facts.Segment {
	if len(list) == 0 {
		return nil
	}
	if extreme == "" {
		k := int(nth) - 1
		if nth < 0 {
			k = len(list) - 1
		}
		if k >= len(list) {
			return nil
		}
		return list[k : k+1]
	}
	length := func(a, b facts.Segment) int { return a.Length - b.Length }
	best := slices.MaxFunc(list, length).Length
	if extreme == "shortest" {
		best = slices.MinFunc(list, length).Length
	}
	return slices.DeleteFunc(list, func(g facts.Segment) bool { return g.Length != best })
}

// segmentWording names segments by their position, and says which they are.
func segmentWording(concept string, nth float64, extreme string, segments []facts.Segment) string {
	name := map[string]string{
		"helix": "helix", "alphahelix": "α-helix", "threeten": "3-10 helix", "pihelix": "π-helix", "strand": "strand",
	}[concept]
	which := extreme
	if which == "" {
		which = map[float64]string{1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth",
			7: "seventh", 8: "eighth", 9: "ninth", 10: "tenth", -1: "last"}[nth]
		if which == "" {
			which = fmt.Sprintf("%gth", nth)
		}
	}
	var said []string
	for _, g := range segments {
		said = append(said, g.Kind()+" "+facts.Span(g.From, g.To))
	}
	if len(said) == 0 {
		return "the " + which + " " + name + " (there is none)"
	}
	text := "the " + which + " " + name + " (" + facts.Join(said, 6)
	if concept == "helix" && extreme == "" && nth != 1 {
		text += ", counting α-, 3-10 and π-helices along each chain"
	}
	return text + ")"
}

// surfaceCondition is exposed or buried, with the bound of 20 % accessibility.
func (q *query) surfaceCondition(exposed bool) *condition {
	wording := map[bool]string{true: "exposed (20 % accessible or more)",
		false: "buried (less than 20 % accessible)"}[exposed]
	return &condition{property: ofSurface, wording: []string{wording}, accepts: []func(int) bool{func(i int) bool {
		share, ok := q.x.Sites[i].Accessible()
		return ok && share >= facts.BuriedBelow == exposed
	}}}
}

// limitCondition is a bound of pLDDT, or a band.
func (q *query) limitCondition(it item) *condition {
	wording := fmt.Sprintf("below a pLDDT of %g", it.value)
	accept := func(v float64) bool { return v < it.value }
	switch {
	case it.high > 0:
		wording = fmt.Sprintf("at a pLDDT from %g to %g", it.value, it.high)
		accept = func(v float64) bool { return it.value <= v && v <= it.high }
	case it.above:
		wording = fmt.Sprintf("at a pLDDT of %g or more", it.value)
		accept = func(v float64) bool { return v >= it.value }
	}
	return &condition{property: ofLimit, wording: []string{wording}, accepts: []func(int) bool{func(i int) bool {
		return accept(q.x.Sites[i].PLDDT)
	}}}
}

// chainCondition is one chain.
func (q *query) chainCondition(it item) *condition {
	id := it.names[0]
	return &condition{property: ofChain, wording: []string{"in chain " + id}, chains: []string{id},
		accepts: []func(int) bool{
			func(i int) bool { return q.x.Sites[i].Ref.Chain == id },
		}}
}

// kindCondition is the chains of one kind of polymer.
func (q *query) kindCondition(concept string) *condition {
	wording := map[string]string{"rna": "of RNA", "dna": "of DNA", "nucleic": "of nucleic acid"}[concept]
	return &condition{property: ofChain, wording: []string{wording}, accepts: []func(int) bool{func(i int) bool {
		k := q.x.Sites[i].Kind
		return k == structure.RNA && concept != "dna" || k == structure.DNA && concept != "rna"
	}}}
}

// placeCondition is a residue, a range of numbers, or a part of each chain. problem says why nothing is there.
func (q *query) placeCondition(m mention) (c *condition, problem string) {
	plain := m
	plain.names = nil
	sites, problem := q.find(plain)
	if m.names != nil && problem == "" {
		sites, problem = q.find(m)
	}
	wording := "at " + q.x.List(sites, 4)
	switch {
	case m.half > 0:
		wording = "in the " + [...]string{"first", "second"}[m.half-1] + " half of the chain" + lead(q.spanOf(sites))
	case m.single() && m.first != 0:
		wording = "the " + map[bool]string{true: "first", false: "last"}[m.first > 0] + " residue of the chain" +
			lead(q.spanOf(sites))
	case m.first > 0:
		wording = fmt.Sprintf("among the first %s of the chain%s", residues(m.first), lead(q.spanOf(sites)))
	case m.first < 0:
		wording = fmt.Sprintf("among the last %s of the chain%s", residues(-m.first), lead(q.spanOf(sites)))
	case m.lo != m.hi || len(sites) == 0:
		wording = fmt.Sprintf("at %d to %d", m.lo, m.hi)
	}
	return &condition{property: ofPlace, wording: []string{wording}, mentions: []mention{m}, accepts: []func(int) bool{
		func(i int) bool { _, ok := slices.BinarySearch(sites, i); return ok },
	}}, problem
}

// residues writes a number of residues: 1 residue, 3 residues.
func residues(n int) string { return facts.Quantity(n, "residue", "residues") }

// lead puts text that is not empty in brackets.
func lead(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// spanOf names sites that follow each other by their ends, others one by one.
func (q *query) spanOf(sites []int) string {
	if len(sites) == 0 {
		return ""
	}
	first, last := sites[0], sites[len(sites)-1]
	if last-first == len(sites)-1 && q.x.Sites[first].Chain == q.x.Sites[last].Chain {
		return facts.Span(q.x.Sites[first].Ref, q.x.Sites[last].Ref)
	}
	return q.x.List(sites, 30)
}

// distanceCondition is the sites within a distance of an anchor, or at least that far from it. Neighbours of the anchor
// in the chain do not count as near, unless the question asks for them.
func (q *query) distanceCondition(r *relation) *condition {
	cut := r.cut()
	anchor, near := map[int]bool{}, map[int]bool{}
	for _, a := range r.sites {
		anchor[a] = true
	}
	for _, a := range r.sites {
		for _, i := range q.x.Around(a, cut) {
			near[i] = near[i] || !anchor[i]
		}
	}
	for _, a := range r.sites {
		for _, i := range [...]int{a - 1, a + 1} {
			if !r.far && i >= 0 && i < len(q.x.Sites) && q.x.Adjacent(a, i) && !anchor[i] {
				delete(near, i)
				r.beside = append(r.beside, i)
			}
		}
	}
	wording := fmt.Sprintf("within %.1f Å of %s", cut, r.label)
	if r.far {
		wording = fmt.Sprintf("at least %.1f Å from %s", cut, r.label)
	}
	return &condition{property: ofDistance, not: r.not, wording: []string{wording},
		accepts: []func(int) bool{func(i int) bool {
			if r.far {
				return !near[i] && !anchor[i]
			}
			return near[i]
		}}}
}

// find returns the sites that a mention means, or why there are none.
func (q *query) find(m mention) (sites []int, problem string) {
	for _, p := range q.x.Polymers {
		if id := q.x.Structure.Chains[p.Chain].ID; m.chain != "" && id != m.chain {
			continue
		}
		lo, hi := p.Lo, p.Hi
		switch middle := p.Lo + (p.Hi-p.Lo)/2; {
		case m.half == 1:
			hi = middle
		case m.half == 2:
			lo = middle
		case m.first > 0:
			hi = min(p.Hi, p.Lo+m.first)
		case m.first < 0:
			lo = max(p.Lo, p.Hi+m.first)
		}
		for i := lo; i < hi; i++ {
			n := q.x.Sites[i].Ref.Number
			if m.half != 0 || m.first != 0 || m.lo <= n && n <= m.hi {
				sites = append(sites, i)
			}
		}
	}
	if len(sites) == 0 {
		return nil, q.missing(m)
	}
	if m.names == nil {
		return sites, ""
	}
	named := slices.DeleteFunc(slices.Clone(sites), func(i int) bool { return !q.x.Sites[i].Is(m.names) })
	if len(named) == 0 {
		return nil, fmt.Sprintf("Residue %d is not %s: it is %s.", m.lo, m.names[0], q.x.List(sites, 4))
	}
	return named, ""
}

// missing says that no residue has the numbers asked for, and which numbers there are.
func (q *query) missing(m mention) string {
	what := fmt.Sprintf("residue %d", m.lo)
	if m.lo != m.hi {
		what = fmt.Sprintf("residue from %d to %d", m.lo, m.hi)
	}
	var ranges []string
	for _, c := range q.f.Chains {
		if m.chain == "" || m.chain == c.ID {
			ranges = append(ranges, fmt.Sprintf("chain %s runs from %d to %d", c.ID, c.First.Number, c.Last.Number))
		}
	}
	if len(ranges) == 0 {
		return "There is no " + what + ": the structure has no such polymer."
	}
	return fmt.Sprintf("There is no %s with coordinates: %s.", what, facts.Join(ranges, 6))
}

const maxRadius = 20.0 // Å, of a question

// cannotTell says why a property is not known of the structure; empty where it is.
func (q *query) cannotTell(c *condition) string {
	has := func(pass func(*facts.Site) bool) bool {
		return slices.ContainsFunc(q.x.Sites, func(s facts.Site) bool { return pass(&s) })
	}
	protein := has(func(s *facts.Site) bool { return s.Kind == structure.Protein })
	switch {
	case c.property == ofLimit && !q.x.HasConfidence:
		return q.noConfidence()
	case c.property == ofState && !has(func(s *facts.Site) bool { return s.State != 0 }):
		return "Secondary structure is assigned to protein residues with a complete main chain, and there are none " +
			"here."
	case c.property == ofSurface && (!protein || !q.x.HasSurface):
		return "Whether residues are buried or exposed is known of protein residues with a computed surface, and " +
			"there are none here."
	case c.class != "" && !protein:
		return "These classes are of amino acids, and there are none here."
	}
	return ""
}

// certaintyOf is what a selection rests on.
func certaintyOf(conds []*condition) Certainty {
	out := Measured
	for _, c := range conds {
		switch c.property {
		case ofLimit:
			return Estimated
		case ofState, ofSurface:
			out = Geometric
		}
	}
	return out
}

// leastSure returns the least sure of some certainties.
func leastSure(list ...Certainty) Certainty {
	for _, c := range [...]Certainty{Estimated, Geometric, Measured} {
		if slices.Contains(list, c) {
			return c
		}
	}
	return Nothing
}
