package analyst

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// property is what a condition looks at. Conditions on the same property that a question joins by "and" or "or" are
// alternatives; all others must hold together.
type property string

// Properties of residues.
const (
	ofName     property = "name"     // LYS, charged
	ofState    property = "state"    // in a helix
	ofSurface  property = "surface"  // buried, exposed
	ofLimit    property = "limit"    // with a pLDDT below 70
	ofDistance property = "distance" // within 5 Å of ZN 202
	ofPlace    property = "place"    // in residues 5 to 12
	ofChain    property = "chain"    // in chain B
)

// condition is one predicate over residues, with its canonical English wording. A filter is a list of conditions:
// "charged residues of chain B in helices" has three.
type condition struct {
	property property
	not      bool
	// wording and sites are the same alternatives: as they follow "are" (LYS, in a helix), and the sites in order.
	wording []string
	sites   [][]int
	// counted is set for segments named by their position in the chain; states are letters of DSSP. Both are of
	// ofState.
	counted bool
	states  string
	// class is set for a class of amino acids, apart for one that follows its noun, and so must hold as well: residues
	// that are charged and aromatic.
	class, apart bool
	// text is the condition as the question has it.
	text string
}

// newCondition makes a condition on a property of single sites.
func (q *query) newCondition(p property, wording string, accept func(s *facts.Site) bool) *condition {
	sites := q.sitesThat(func(i int) bool { return accept(&q.x.Sites[i]) })
	return &condition{property: p, wording: []string{wording}, sites: [][]int{sites}}
}

// holds reports whether a site passes.
func (c *condition) holds(site int) bool {
	return slices.ContainsFunc(c.sites, func(list []int) bool {
		_, ok := slices.BinarySearch(list, site)
		return ok
	}) != c.not
}

// holdAll reports whether a site passes all conditions.
func holdAll(conds []*condition, site int) bool {
	return !slices.ContainsFunc(conds, func(c *condition) bool { return !c.holds(site) })
}

// isWhere reports whether the condition says where to look, and not what residues are like: "3 of 21 residues" counts
// from the chain or the numbers that the question names.
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
			c.wording, c.sites = append(c.wording, w), append(c.sites, d.sites[i])
		}
	}
	c.counted = c.counted || d.counted
	c.states += d.states
}

// sitesWhere returns the polymer sites at which all conditions hold.
func (q *query) sitesWhere(conds ...*condition) []int {
	return q.sitesThat(func(i int) bool { return holdAll(conds, i) })
}

// sitesThat returns the polymer sites that accept reports true for.
func (q *query) sitesThat(accept func(site int) bool) (out []int) {
	for _, p := range q.x.Polymers {
		for i := p.Lo; i < p.Hi; i++ {
			if accept(i) {
				out = append(out, i)
			}
		}
	}
	return out
}

// wordingOf names conditions: LYS and in a helix and exposed.
func wordingOf(conds []*condition) string {
	var list []string
	for _, c := range conds {
		list = append(list, c.String())
	}
	return strings.Join(list, " and ")
}

// state is a kind of secondary structure as the question names it, which can be several states of DSSP: letters of
// DSSP, how a condition says it, and the noun of a segment.
type state struct{ letters, wording, noun string }

var states = map[string]state{
	"helix":      {"HGI", "in a helix", "helix"},
	"alphahelix": {"H", "in an α-helix", "α-helix"},
	"threeten":   {"G", "in a 3-10 helix", "3-10 helix"},
	"pihelix":    {"I", "in a π-helix", "π-helix"},
	"strand":     {"EB", "in a β-strand or bridge", "strand"},
	"coil":       {"TS-", "in neither helix nor strand", "loop"},
	"turn":       {"T", "in a turn", "turn"},
}

// entityCondition makes the condition that an entity stands for; nil where it stands for none.
func (q *query) entityCondition(it item) *condition {
	switch it.concept {
	case "@name": // a modified residue counts as its parent
		return q.newCondition(ofName, it.names[0], func(s *facts.Site) bool { return s.Is(it.names) })
	case "@class":
		return q.classCondition(strings.ReplaceAll(it.names[0], "-", " "), it.names[1])
	case "@chain":
		id := it.names[0]
		if !slices.Contains(chainIDs(q.f.Chains), id) {
			q.problem = fmt.Sprintf("There is no chain %s. The structure has %s %s.", id,
				facts.Plural(len(q.f.Chains), "chain", "chains"), facts.OrNone(facts.Join(chainIDs(q.f.Chains), 20)))
		}
		return q.newCondition(ofChain, "in chain "+id, func(s *facts.Site) bool { return s.Ref.Chain == id })
	case "rna", "dna", "nucleic":
		wording := map[string]string{"rna": "of RNA", "dna": "of DNA", "nucleic": "of nucleic acid"}[it.concept]
		return q.newCondition(ofChain, wording, func(s *facts.Site) bool {
			return s.Kind == structure.RNA && it.concept != "dna" || s.Kind == structure.DNA && it.concept != "rna"
		})
	case "buried", "exposed", "surface":
		share := 1.0
		if it.concept == "buried" {
			share = 0
		}
		return q.newCondition(ofSurface, exposure(share), func(s *facts.Site) bool {
			share, ok := s.Accessible()
			return ok && (share < facts.BuriedBelow) == (it.concept == "buried")
		})
	case "@limit":
		if it.above {
			return q.newCondition(ofLimit, fmt.Sprintf("at a pLDDT of %g or more", it.value),
				func(s *facts.Site) bool { return s.PLDDT >= it.value })
		}
		return q.newCondition(ofLimit, fmt.Sprintf("below a pLDDT of %g", it.value),
			func(s *facts.Site) bool { return s.PLDDT < it.value })
	}
	return nil
}

// exposure is the wording for a residue of which a share can be reached by water.
func exposure(share float64) string {
	if share < facts.BuriedBelow {
		return "buried (less than 20 % accessible)"
	}
	return "exposed (20 % accessible or more)"
}

// classCondition is a class of amino acids; the wording says which residues count.
func (q *query) classCondition(name, letters string) *condition {
	var codes []string
	for i := range len(letters) {
		code, _ := structure.Component(structure.Protein, letters[i])
		codes = append(codes, code)
	}
	wording := fmt.Sprintf("%s (%s are counted as such)", name, strings.Join(codes, ", "))
	c := q.newCondition(ofName, wording, func(s *facts.Site) bool {
		return s.Kind == structure.Protein && strings.IndexByte(letters, s.Letter) >= 0
	})
	c.class = true
	return c
}

// stateCondition is a state of secondary structure or, with an ordinal or an extreme, a segment counted along each
// chain: the second helix, the longest strand. A strand of one residue is an isolated bridge and not counted.
func (q *query) stateCondition(st state, which item) *condition {
	c := q.newCondition(ofState, st.wording, func(s *facts.Site) bool {
		return strings.IndexByte(st.letters, s.State) >= 0
	})
	c.states = st.letters
	if which.concept == "" {
		return c
	}
	var names []string
	var chosen []int
	for _, ch := range q.f.Chains {
		runs := q.segmentRuns(slices.DeleteFunc(slices.Clone(c.sites[0]), func(i int) bool {
			return i < ch.Polymer.Lo || i >= ch.Polymer.Hi || q.x.Sites[i].State == structure.Bridge ||
				len(q.chains) > 0 && !slices.Contains(q.chains, ch.ID)
		}))
		for _, run := range pickRuns(runs, which) {
			chosen = append(chosen, run...)
			names = append(names, facts.StateName(q.x.Sites[run[0]].State)+" "+q.spanOf(run))
		}
	}
	text := cmp.Or(facts.Join(names, 6), "there is none")
	if st.noun == "helix" && which.value > 1 && len(names) > 0 {
		text += ", counting α-, 3-10 and π-helices along each chain"
	}
	ordinal := strings.ToLower(which.text)
	if which.concept != "@nth" {
		ordinal = which.concept
	}
	c.counted, c.sites[0] = true, chosen
	c.wording[0] = fmt.Sprintf("in the %s %s (%s)", ordinal, st.noun, text)
	return c
}

// pickRuns chooses the nth segment of a chain, -1 being the last, or its longest ones.
func pickRuns(runs [][]int, which item) [][]int {
	n := int(which.value)
	switch {
	case len(runs) == 0 || n > len(runs):
		return nil
	case which.concept == "longest":
		best := len(slices.MaxFunc(runs, func(a, b []int) int { return len(a) - len(b) }))
		return slices.DeleteFunc(runs, func(run []int) bool { return len(run) != best })
	case n < 0:
		return runs[len(runs)-1:]
	}
	return runs[n-1 : n]
}

// placeCondition is a residue, a range of numbers, or a part of each chain. Where no residue is there, q.problem says
// so.
func (q *query) placeCondition(m mention) *condition {
	sites, problem := q.find(m)
	q.problem = cmp.Or(q.problem, problem)
	wording, end := "at "+q.x.List(sites, 4), "first"
	if m.first < 0 {
		end = "last"
	}
	switch {
	case m.first != 0:
		wording = fmt.Sprintf("among the %s %s of the chain (%s)", end, residues(max(m.first, -m.first)),
			q.spanOf(sites))
	case m.lo != m.hi || len(sites) == 0:
		wording = fmt.Sprintf("at %d to %d", m.lo, m.hi)
	}
	return &condition{property: ofPlace, wording: []string{wording}, sites: [][]int{sites}}
}

// find returns the sites that a mention means, or why there are none.
func (q *query) find(m mention) (sites []int, problem string) {
	var ranges []string
	for _, c := range q.f.Chains {
		p := c.Polymer
		if m.chain != "" && c.ID != m.chain {
			continue
		}
		ranges = append(ranges, fmt.Sprintf("chain %s runs from %d to %d", c.ID, c.First.Number, c.Last.Number))
		lo, hi := p.Lo, p.Hi
		switch {
		case m.first > 0:
			hi = min(p.Hi, p.Lo+m.first)
		case m.first < 0:
			lo = max(p.Lo, p.Hi+m.first)
		}
		for i := lo; i < hi; i++ {
			n := q.x.Sites[i].Ref.Number
			if m.first != 0 || m.lo <= n && n <= m.hi {
				sites = append(sites, i)
			}
		}
	}
	named := slices.DeleteFunc(slices.Clone(sites), func(i int) bool {
		return m.names != nil && !q.x.Sites[i].Is(m.names)
	})
	switch {
	case len(sites) == 0:
		number := strconv.Itoa(m.lo)
		if m.lo != m.hi {
			number = fmt.Sprintf("from %d to %d", m.lo, m.hi)
		}
		problem = fmt.Sprintf("There is no residue %s with coordinates: %s.", number,
			facts.OrNone(facts.Join(ranges, 6)))
	case len(named) == 0:
		problem = fmt.Sprintf("Residue %d is not %s: it is %s.", m.lo, m.names[0], q.x.List(sites, 4))
	}
	return named, problem
}

// cannotTell says why a property is not known of the structure; empty where it is. Without it "no residue is buried"
// would be the answer of a structure whose surface was not computed.
func (q *query) cannotTell(c *condition) string {
	has := func(pass func(facts.Site) bool) bool { return slices.ContainsFunc(q.x.Sites, pass) }
	protein := has(func(s facts.Site) bool { return s.Kind == structure.Protein })
	switch {
	case c.property == ofLimit && !q.x.HasConfidence:
		return noConfidence
	case c.property == ofState && !has(func(s facts.Site) bool { return s.State != 0 }):
		return "Secondary structure is assigned to protein residues with a complete main chain, and there are none " +
			"here."
	case c.property == ofSurface && (!protein || !q.x.HasSurface):
		return "Whether residues are buried or exposed is known of protein residues with a computed surface, and " +
			"there are none here."
	case c.class && !protein:
		return "These classes are of amino acids, and there are none here."
	}
	return ""
}

// certainties are what properties rest on, other than measurement: secondary structure and exposure follow from rules
// over distances, and pLDDT is a model's estimate.
var certainties = map[property]Certainty{ofLimit: Estimated, ofState: Geometric, ofSurface: Geometric}

// certaintyOf is what a selection rests on.
func certaintyOf(conds []*condition) Certainty {
	list := []Certainty{Measured}
	for _, c := range conds {
		list = append(list, certainties[c.property])
	}
	return leastSure(list...)
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
