package analyst

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pleat/internal/facts"
)

// filter returns all conditions of a query, nearness included. It is called once all items are read, since late anchors
// can still change the relation before.
func (q *query) filter() []*condition {
	rel := q.relation
	if rel == nil || len(rel.sites) == 0 {
		return q.conds
	}
	if rel.condition == nil {
		rel.condition = q.distanceCondition(rel)
	}
	return append(slices.Clone(q.conds), rel.condition)
}

// sites returns the polymer residues that pass the filter.
func (q *query) sites() []int { return q.sitesWhere(q.filter()...) }

// partial reports whether the filter picks residues, and not whole chains.
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

// group is some residues that an answer speaks of together.
type group struct {
	label string
	sites []int
	// chain is set where the group is a whole chain.
	chain *facts.Chain
}

// groups returns what a metric is computed of: each chain where the filter names nothing smaller; each segment, or each
// range of numbers, where it names these alone; else all selected residues together.
func (q *query) groups() (out []group) {
	if !q.partial() {
		for _, c := range q.polymers() {
			sites := q.chainSites(c.ID)
			out = append(out, group{"chain " + c.ID, sites, &c})
		}
		return out
	}
	sites := q.sites()
	switch one := len(q.conds) == 1 && q.relation == nil; {
	case len(sites) == 0:
	case one && q.only(ofPlace) && len(q.mentions) > 1 && !q.pointMentions() && !q.conds[0].not:
		for _, run := range q.conds[0].sites {
			out = append(out, group{label: fmt.Sprintf("%s (%s)", q.spanOf(run), residues(len(run))), sites: run})
		}
	case q.only(ofState, ofChain) && q.relation == nil && !q.anyNot():
		for _, run := range q.segmentRuns(sites) {
			label := fmt.Sprintf("%s %s with %s", facts.StateName(q.x.Sites[run[0]].State), q.spanOf(run),
				residues(len(run)))
			out = append(out, group{label: label, sites: run})
		}
	default:
		out = []group{{label: q.describe(sites), sites: sites}}
	}
	return out
}

// runs cuts sites into stretches of a chain without a gap.
func (q *query) runs(sites []int) [][]int {
	return cutRuns(sites, func(a, b int) bool { return q.x.Sites[a].Chain == q.x.Sites[b].Chain })
}

// segmentRuns cuts sites into stretches of a chain without a gap and of one state of secondary structure.
func (q *query) segmentRuns(sites []int) [][]int {
	return cutRuns(sites, func(a, b int) bool {
		return q.x.Sites[a].Chain == q.x.Sites[b].Chain && q.x.Sites[a].State == q.x.Sites[b].State
	})
}

// cutRuns cuts sites where one does not follow the other, or does not go with it.
func cutRuns(sites []int, together func(a, b int) bool) (out [][]int) {
	for at := 0; at < len(sites); {
		end := at + 1
		for end < len(sites) && sites[end] == sites[end-1]+1 && together(sites[at], sites[end]) {
			end++
		}
		out = append(out, sites[at:end])
		at = end
	}
	return out
}

// describe is the label of a group, so that every answer says what it is about: a stretch by its ends where the filter
// names numbers alone, else the filter.
func (q *query) describe(sites []int) string {
	if q.only(ofPlace, ofChain) && !q.anyNot() && q.relation == nil && len(q.conds) == 1 && len(q.runs(sites)) == 1 {
		return fmt.Sprintf("%s (%s)", q.spanOf(sites), residues(len(sites)))
	}
	return fmt.Sprintf("the set of %s that are %s", residues(len(sites)), wordingOf(q.filter()))
}

// passes returns a function that reports whether a residue passes the filter. Without a filter every residue passes.
func (q *query) passes() func(facts.ResidueRef) bool {
	if len(q.filter()) == 0 {
		return func(facts.ResidueRef) bool { return true }
	}
	chosen := map[facts.ResidueRef]bool{}
	for _, i := range q.sites() {
		chosen[q.x.Sites[i].Ref] = true
	}
	return func(r facts.ResidueRef) bool { return chosen[r] }
}

// withResidue names the filter at the beginning of an answer.
func (q *query) withResidue() string {
	if len(q.filter()) == 0 {
		return ""
	}
	return "With a residue that is " + wordingOf(q.filter()) + ": "
}

// capital makes the first letter a capital.
func capital(s string) string {
	if s == "" || s[0] >= utf8.RuneSelf {
		return s // α-helix
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// chainSites returns the sites of a chain.
func (q *query) chainSites(id string) []int {
	return q.sitesThat(func(i int) bool { return q.x.Sites[i].Ref.Chain == id })
}

// number writes how many there are; none is no salt bridges.
func number(n int, one, many string) string {
	if n == 0 {
		return "no " + many
	}
	return facts.Quantity(n, one, many)
}

// residues writes a number of residues: 1 residue, 3 residues.
func residues(n int) string { return facts.Quantity(n, "residue", "residues") }

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

// stretches shortens long lists of residues. It names sites as stretches without a gap.
func (q *query) stretches(sites []int) []stretch {
	var out []stretch
	for _, run := range q.runs(sites) {
		out = append(out, stretch{q.x.Sites[run[0]].Ref, q.x.Sites[run[len(run)-1]].Ref})
	}
	return out
}
