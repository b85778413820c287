package analyst

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// filter returns all conditions of a query, nearness included.
func (q *query) filter() []*condition {
	if q.relation == nil || len(q.relation.sites) == 0 {
		return q.conds
	}
	return append(slices.Clone(q.conds), q.distanceCondition(q.relation))
}

// sites returns the polymer residues that pass the filter.
func (q *query) sites() []int { return q.sitesWhere(q.filter()) }

// partial says whether the filter picks residues, and not whole chains.
func (q *query) partial() bool {
	return !q.only(ofChain) || q.relation != nil && len(q.relation.sites) > 0
}

// polymers returns the facts of the chains that the query is about.
func (q *query) polymers() []facts.Chain {
	return slices.DeleteFunc(slices.Clone(q.f.Chains), func(c facts.Chain) bool {
		return slices.ContainsFunc(q.conds, func(k *condition) bool {
			return k.property == ofChain &&
				!k.holds(c.Polymer.Lo)
		})
	})
}

// proteins returns the protein chains that the query is about.
func (q *query) proteins() []facts.Chain {
	return slices.DeleteFunc(q.polymers(), func(c facts.Chain) bool { return c.Kind != structure.Protein })
}

// group is some residues that an answer speaks of together.
type group struct {
	label string
	sites []int
}

// groups returns the selected residues: each segment on its own where the filter is a state of secondary structure
// alone, as in "the charge of the helix", else all of them together.
func (q *query) groups() []group {
	sites := q.sites()
	if len(sites) == 0 {
		return nil
	}
	place := facts.Head(q.conds, 1)
	if len(place) == 1 && q.only(ofPlace) && len(q.mentions) > 1 && !q.pointMentions() && !place[0].not {
		return q.alternativeGroups(place[0])
	}
	state := slices.IndexFunc(q.conds, func(c *condition) bool { return c.property == ofState })
	if state < 0 || q.conds[state].not || !q.only(ofState, ofChain) || q.relation != nil {
		return []group{{q.describe(sites), sites}}
	}
	var out []group
	for _, run := range q.runs(sites, true) {
		name := facts.StateName(q.x.Sites[run[0]].State) + " " + q.spanOf(run)
		out = append(out, group{fmt.Sprintf("%s (%s)", name, residues(len(run))), run})
	}
	return out
}

// alternativeGroups are the ranges that a question names, one by one: residues 1-14 and residues 15-28.
func (q *query) alternativeGroups(c *condition) (out []group) {
	for _, accept := range c.accepts {
		sites := q.sitesWhere([]*condition{{property: ofPlace, accepts: []func(int) bool{accept}}})
		if len(sites) > 0 {
			out = append(out, group{fmt.Sprintf("%s (%s)", q.spanOf(sites), residues(len(sites))), sites})
		}
	}
	return out
}

// runs cuts sites into stretches without a gap, and of one state of secondary structure if wanted.
func (q *query) runs(sites []int, byState bool) (out [][]int) {
	for at := 0; at < len(sites); {
		end := at + 1
		for end < len(sites) && sites[end] == sites[end-1]+1 &&
			q.x.Sites[sites[end]].Chain == q.x.Sites[sites[at]].Chain &&
			(!byState || q.x.Sites[sites[end]].State == q.x.Sites[sites[at]].State) {
			end++
		}
		out = append(out, sites[at:end])
		at = end
	}
	return out
}

// describe names selected residues: a stretch by its ends, others by the filter.
func (q *query) describe(sites []int) string {
	if len(q.runs(sites, false)) == 1 && q.only(ofPlace, ofChain, ofState) && q.relation == nil && len(sites) > 1 {
		return fmt.Sprintf("%s (%s)", q.spanOf(sites), residues(len(sites)))
	}
	if len(sites) <= 2 && q.only(ofPlace, ofChain) && q.relation == nil {
		return q.x.List(sites, 2)
	}
	if len(sites) <= 2 {
		return q.x.List(sites, 2) + ", the only " + facts.Plural(len(sites), "one that is ", "ones that are ") +
			wordingOf(q.filter())
	}
	return fmt.Sprintf("the %s that are %s", residues(len(sites)), wordingOf(q.filter()))
}

// none says that nothing passes the filter.
func (q *query) none() part {
	return part{text: "No residue of the structure is " + wordingOf(q.filter()) + ".", sure: Measured}
}

// keeps returns a function that reports whether a residue passes the filter. Without a filter every residue passes.
func (q *query) keeps() func(facts.ResidueRef) bool {
	if len(q.conds) == 0 && !q.partial() {
		return func(facts.ResidueRef) bool { return true }
	}
	kept := map[facts.ResidueRef]bool{}
	for _, i := range q.sites() {
		kept[q.x.Sites[i].Ref] = true
	}
	return func(r facts.ResidueRef) bool { return kept[r] }
}

// pairs returns the pairs of atoms of which an end passes the filter; both ends must where the query names two chains.
func (q *query) pairs(list []facts.AtomPair) (out []facts.AtomPair) {
	keep := q.keeps()
	for _, p := range list {
		a, b := keep(p.A), keep(p.B)
		if len(q.chains) == 2 && q.has["between"] {
			a = a && b && p.A.Chain != p.B.Chain
			b = a
		}
		if a || b {
			out = append(out, p)
		}
	}
	return out
}

// of names the filter at the beginning of an answer: "With an end at residues that are in a helix: ".
func (q *query) of(prefix string) string {
	if len(q.filter()) == 0 {
		return ""
	}
	return prefix + " " + wordingOf(q.filter()) + ": "
}

// capital makes the first letter a capital.
func capital(s string) string {
	if s == "" || s[0] >= utf8.RuneSelf {
		return s // α-helix
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// inUnit writes a length, in nm where the question asks for it.
func (q *query) inUnit(d float64) string {
	if q.has["nm"] {
		return fmt.Sprintf("%.3f nm", d/10)
	}
	return facts.Angstrom(d)
}
