package analyst

import (
	"cmp"
	"slices"
	"strings"

	"pleat/internal/facts"
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
	ofRMSD     property = "rmsd"     // with a predicted RMSD above 1.5 Å
	ofDistance property = "distance" // within 5 Å of ZN 202
	ofPlace    property = "place"    // in residues 5 to 12
	ofChain    property = "chain"    // in chain B
)

// certainties are what properties rest on, other than measurement: secondary structure and exposure follow from rules
// over distances, and pLDDT and predicted RMSD are estimates of a model.
var certainties = map[property]Certainty{
	ofLimit: Estimated, ofRMSD: Estimated, ofState: Geometric, ofSurface: Geometric,
}

// condition is one predicate over residues, with its canonical English wording.
type condition struct {
	property property
	not      bool
	// wording and sites are the same alternatives: as they follow "are" (LYS, in a helix), and the sites in order.
	wording []string
	sites   [][]int
	// untold are sites, in order, of which the structure does not tell whether they pass. They pass neither the
	// condition nor its negation.
	untold []int
	// label is what the condition is called as an anchor, if not a residue that is so; mentions, ligands and chains are
	// what it names.
	label           string
	mentions        []mention
	ligands, chains []string
	kind            string // of polymer, by its concept
	problem         string // why the structure does not have what the condition names
	// counted is set for segments named by their position in the chain; states are letters of DSSP. Both are of
	// ofState.
	counted bool
	states  string
	// segments are what the question calls counted segments (the second helix); counting says along what they are
	// counted, where that is not obvious.
	segments []string
	counting string
	class    bool // of amino acids
	inside   bool // "within" announced it: both ends of a bond have to pass
	// text is the condition as the question has it.
	text string
	// union is the sites of the first merged alternatives, in order.
	union  []int
	merged int
}

// tells reports whether the structure tells whether a site passes.
func (c *condition) tells(site int) bool {
	_, untold := slices.BinarySearch(c.untold, site)
	return !untold
}

func (c *condition) holds(site int) bool {
	if !c.tells(site) {
		return false
	}
	if c.merged != len(c.sites) {
		c.union, c.merged = slices.Concat(c.sites...), len(c.sites)
		slices.Sort(c.union)
	}
	_, ok := slices.BinarySearch(c.union, site)
	return c.not != ok
}

// isNoun reports whether the condition names what residues are, and not what they are like.
func (c *condition) isNoun() bool { return !c.not && c.property == ofName }

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

func (c *condition) add(d *condition) {
	for i, w := range d.wording {
		if !slices.Contains(c.wording, w) {
			c.wording, c.sites = append(c.wording, w), append(c.sites, d.sites[i])
			c.segments = append(c.segments, d.segments...)
		}
	}
	c.counting = cmp.Or(c.counting, d.counting)
	c.untold = d.untold // of the same property, and so the same
	c.counted = c.counted || d.counted
	c.states += d.states
}

// filter is conditions that must all hold: "charged residues of chain B in helices" has three.
type filter []*condition

// String names the conditions: LYS and in a helix and exposed.
func (f filter) String() string {
	var list []string
	for _, c := range f {
		list = append(list, c.String())
	}
	return strings.Join(list, " and ")
}

// that is a clause about what the filter selects; empty where there are no conditions.
func (f filter) that() string {
	if len(f) == 0 {
		return ""
	}
	return " that are " + f.String()
}

// states are the letters of DSSP that the filter names.
func (f filter) states() (letters string) {
	for _, c := range f {
		letters += c.states
	}
	return letters
}

func (f filter) holds(site int) bool {
	return !slices.ContainsFunc(f, func(c *condition) bool { return !c.holds(site) })
}

func (f filter) tells(site int) bool {
	return !slices.ContainsFunc(f, func(c *condition) bool { return !c.tells(site) })
}

func (f filter) on(list ...property) bool {
	return slices.ContainsFunc(f, func(c *condition) bool { return slices.Contains(list, c.property) })
}

func (f filter) only(list ...property) bool {
	return !slices.ContainsFunc(f, func(c *condition) bool { return !slices.Contains(list, c.property) })
}

func (f filter) negated() bool {
	return slices.ContainsFunc(f, func(c *condition) bool { return c.not })
}

func (f filter) and(more ...*condition) filter { return slices.Concat(f, more) }

func (f filter) divide(pass func(*condition) bool) (yes, no filter) {
	return keep(f, pass), keep(f, func(c *condition) bool { return !pass(c) })
}

func (f filter) certainty() Certainty {
	list := []Certainty{Measured}
	for _, c := range f {
		list = append(list, certainties[c.property])
	}
	return leastSure(list...)
}

func leastSure(list ...Certainty) Certainty {
	for _, c := range [...]Certainty{Estimated, Geometric, Measured} {
		if slices.Contains(list, c) {
			return c
		}
	}
	return Nothing
}

func keep[T any, L ~[]T](list L, pass func(T) bool) (out L) {
	for _, e := range list {
		if pass(e) {
			out = append(out, e)
		}
	}
	return out
}

// filter returns all conditions of a query, nearness included. It is called once all items are read, since late anchors
// can still change the relation before.
func (q *query) filter() filter {
	rel := q.relation
	if rel == nil {
		return q.conds
	}
	if rel.condition == nil {
		rel.condition = q.distanceCondition(rel)
	}
	return q.conds.and(rel.condition)
}

// partial reports whether the filter picks residues, and not whole chains.
func (q *query) partial() bool {
	return !q.conds.only(ofChain) || q.relation != nil
}

func (q *query) sites() []int { return q.sitesWhere(q.filter()) }

func (q *query) sitesWhere(f filter) []int { return q.x.Select(f.holds) }

func (q *query) chainSites(id string) (sites []int) {
	for _, p := range q.x.PolymersOf(id) {
		sites = append(sites, q.span(p.Lo, p.Hi)...)
	}
	return sites
}

// polymers returns the facts of the chains that the query is about.
func (q *query) polymers() []facts.Chain {
	onChain := keep(q.conds, func(c *condition) bool { return c.property == ofChain })
	return keep(q.f.Chains, func(c facts.Chain) bool { return onChain.holds(c.Polymer.Lo) })
}

// passes returns a function that reports whether a residue of a polymer passes the filter.
func (q *query) passes() func(facts.ResidueRef) bool { return q.among(q.sites()) }

// among returns a function that reports whether a residue is one of some sites.
func (q *query) among(sites []int) func(facts.ResidueRef) bool {
	chosen := map[facts.ResidueRef]bool{}
	for _, i := range sites {
		chosen[q.x.Sites[i].Ref] = true
	}
	return func(r facts.ResidueRef) bool { return chosen[r] }
}
