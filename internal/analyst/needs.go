package analyst

import (
	"cmp"
	"fmt"
	"slices"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// needs are what the answers of topics need of the atoms of the residues that they are about, beyond neighbours in
// space (intent.Geometry). A topic that is not here needs none.
var needs = map[string]facts.Need{
	"secondary structure": facts.MainChain,
	"contacts":            facts.AllAtoms,
	"interface":           facts.AllAtoms,
	"pockets":             facts.AllAtoms,
	"hydrogen bonds":      facts.AllAtoms,
	"candidates":          facts.AllAtoms,
	"surface":             facts.AllAtoms,
	"disulfides":          facts.Sulfurs,
	"salt bridges":        facts.ChargedAtoms,
}

// conditionNeeds are what conditions on properties need.
var conditionNeeds = map[property]facts.Need{ofState: facts.MainChain, ofSurface: facts.AllAtoms}

// lacks returns what the residues that a question is about lack for its answer, one entry for each need.
func (q *query) lacks() []facts.Lack {
	scope := q.scope()
	wanted := []facts.Need{needs[q.topic.Name]}
	for _, c := range q.conds {
		wanted = append(wanted, conditionNeeds[c.property])
	}
	var out []facts.Lack
	if q.relation != nil && q.topic.Name != "distance" {
		wanted = append(wanted, facts.AllAtoms)
		out = append(out, q.x.Lacks(facts.AllAtoms, q.relation.sites))
	}
	slices.Sort(wanted)
	for _, need := range slices.Compact(wanted) {
		out = append(out, q.x.Lacks(need, scope))
	}
	return out
}

// scope returns the residues that a question is about: those that pass its conditions on names, chains and numbers, and
// of candidates those of proteins alone.
func (q *query) scope() []int {
	if q.topic.Name == "interface" && len(q.chains) > 1 {
		return q.x.Select(func(i int) bool { return slices.Contains(q.chains, q.x.Sites[i].Ref.Chain) })
	}
	if q.topic.Name == "interface" {
		return q.x.Residues()
	}
	where := keep(q.conds, func(c *condition) bool {
		return slices.Contains([]property{ofName, ofChain, ofPlace}, c.property)
	})
	return keep(q.sitesWhere(where), func(i int) bool {
		return q.topic.Name != "candidates" || q.x.Sites[i].Kind == structure.Protein
	})
}

// refusesAtoms says why the answer cannot be told without atoms that are not there; empty where it can. Pockets, and
// what they rule out, are told of all chains together, and an interface takes two chains.
func (q *query) refusesAtoms() string {
	for _, lack := range q.lacks() {
		if why := lack.Refusal(); why != "" {
			return why
		}
	}
	if !oneOf(q.topic.Name, "pockets candidates interface") || len(q.scope()) == 0 {
		return ""
	}
	why, complete := "", 0
	for _, c := range q.f.Chains {
		if q.topic.Name == "interface" && len(q.chains) > 1 && !slices.Contains(q.chains, c.ID) {
			continue
		}
		lack := q.x.Lacks(facts.AllAtoms, q.chainSites(c.ID)).Refusal()
		if why = cmp.Or(why, lack); lack == "" {
			complete++
		}
	}
	if q.topic.Name == "interface" && complete > 1 {
		return ""
	}
	return why
}

// addLacks says of which residues the answer could not be told.
func (q *query) addLacks(p *part) {
	var said []string
	for _, lack := range q.lacks() {
		if why := lack.Remark(); why != "" && !slices.Contains(said, why) {
			said = append(said, why)
			p.text += " " + why
		}
	}
	for _, c := range q.conds {
		if why := q.remarkUndefined(c.property); why != "" && !slices.Contains(said, why) {
			said = append(said, why)
			p.text += " " + why
		}
	}
}

// undefinedOf says of which property there is nothing to tell of some residues.
var undefinedOf = map[property]string{
	ofSurface: "Whether a residue is buried or exposed is known of the standard amino acids alone",
	ofState:   "Secondary structure is known of protein alone",
}

// remarkUndefined says how many residues that a question is about have not a property by their kind; empty: none.
func (q *query) remarkUndefined(of property) string {
	scope := q.scope()
	without := q.undefined(of, scope)
	if len(without) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, and so it is not told of %d of these %d residues (%s).", undefinedOf[of], len(without),
		len(scope), facts.ShortRefs(q.x.Refs(without), 6))
}
