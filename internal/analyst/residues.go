package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
)

// residuesWith is the answer to most questions with a filter: "3 of 76 residues are LYS and in a helix". It answers
// which residues pass the filter, how many, what share of them, and whether all or any do.
func (q *query) residuesWith() part {
	filter := q.filter()
	if q.relation != nil && q.relation.words["closest"] && q.relation.radius == 0 && len(q.relation.sites) > 0 {
		return q.nearest()
	}
	all := q.every && q.opensWithVerb()
	base, asked := q.subjectAndPredicate(filter, all || q.has["percent"])
	if len(asked) == 0 {
		return refusal("%s", q.notUnderstood())
	}
	from, hits := q.sitesWhere(base...), q.sitesWhere(filter...)
	where, noun := q.amongst(base)
	if len(from) == 0 {
		return part{text: "No residue is " + wordingOf(base) + ".", sure: certaintyOf(base)}
	}
	rest := slices.DeleteFunc(slices.Clone(from), func(i int) bool { return holdAll(filter, i) })
	yes := len(hits) > 0
	if all {
		yes = len(rest) == 0
	}
	text := fmt.Sprintf("%s%s%d of %d %s (%s) are %s", q.yesOrNo(yes), where, len(hits), len(from), noun,
		facts.Percent(share(len(hits), len(from))), wordingOf(asked))
	if len(hits) > 0 {
		text += ": " + q.x.List(hits, maxListed)
	}
	text += "." + q.byChain(hits)
	if all && len(rest) > 0 {
		text += " The others: " + q.x.List(rest, maxListed) + "."
		hits = slices.Sorted(slices.Values(slices.Concat(hits, rest)))
	}
	return part{text, q.cite(hits), certaintyOf(filter)}
}

// subjectAndPredicate finds what "of" in "3 of 7" is. It separates the residues that are counted from (all lysines in
// helices) from what is asked of them (exposed?). Without such a predicate, chains and numbers say where to count, and
// the other conditions are asked.
func (q *query) subjectAndPredicate(filter []*condition, wanted bool) (base, asked []*condition) {
	if at := q.predicateAt(filter); wanted && at >= 0 {
		return slices.Delete(slices.Clone(filter), at, at+1), filter[at : at+1]
	}
	base, asked = divide(filter, (*condition).isWhere)
	switch {
	case q.has["percent"] && len(asked) != 1:
		return nil, nil // of which of them?
	case len(asked) == 0:
		return nil, base
	}
	return base, asked
}

// divide separates the conditions that pass a test from the others.
func divide(conds []*condition, pass func(*condition) bool) (yes, no []*condition) {
	for _, c := range conds {
		if pass(c) {
			yes = append(yes, c)
		} else {
			no = append(no, c)
		}
	}
	return yes, no
}

// predicateAt finds exposed in "are all lysines in helices exposed", else the condition that came last. It is the
// index of the condition that is asked of the others; -1 where there is none.
func (q *query) predicateAt(filter []*condition) int {
	if len(filter) < 2 && !(len(filter) == 1 && (q.has["residue"] || q.every)) {
		return -1
	}
	for i := len(filter) - 1; i >= 0; i-- {
		if filter[i].bare {
			return i
		}
	}
	if q.has["percent"] && !slices.ContainsFunc(q.items, isVerb) {
		return -1
	}
	return len(filter) - 1
}

// amongst writes what "of" counts from. It names what is counted from: a place before the number, other properties
// after the noun.
func (q *query) amongst(base []*condition) (where, noun string) {
	switch {
	case len(base) == 0:
		return "", "residues"
	case slices.ContainsFunc(base, func(c *condition) bool { return !c.isWhere() }):
		return "", "residues that are " + wordingOf(base)
	case len(base) > 1 && !(len(base) == 2 && base[0].property != base[1].property):
		return "Of residues " + wordingOf(base) + ", ", "residues"
	case len(base) == 1 && base[0].property == ofChain:
		return capital(base[0].String()) + ", ", "residues"
	}
	return "Of " + q.spanOf(q.sitesWhere(base...)) + ", ", "residues"
}

// cite lists residues and the anchor of a distance.
func (q *query) cite(hits []int) []facts.ResidueRef {
	cited := q.x.Refs(facts.Head(hits, maxListed))
	if q.relation != nil && len(q.relation.sites) <= 3 {
		cited = append(cited, q.x.Refs(q.relation.sites)...)
	}
	return cited
}

// yesOrNo answers a question that asks for neither a list nor a number.
func (q *query) yesOrNo(yes bool) string {
	if slices.ContainsFunc([]string{"which", "howmany", "list", "what", "where", "percent"},
		func(c string) bool { return q.has[c] }) || !q.opensWithVerb() {
		return ""
	}
	return map[bool]string{true: "Yes: ", false: "No: "}[yes]
}

// opensWithVerb reports whether the question starts like one that yes or no answers.
func (q *query) opensWithVerb() bool {
	k := slices.IndexFunc(q.items, func(it item) bool { return it.concept != "&" && it.concept != "or" })
	return k >= 0 && isVerb(q.items[k])
}

// byChain saves asking again for each chain. It counts hits by chain, where there are several and the question names
// none.
func (q *query) byChain(hits []int) string {
	if len(q.f.Chains) < 2 || q.conditionOn(ofChain) {
		return ""
	}
	var counts []string
	for _, c := range q.f.Chains {
		n := 0
		for _, i := range hits {
			if c.Polymer.Lo <= i && i < c.Polymer.Hi {
				n++
			}
		}
		counts = append(counts, fmt.Sprintf("chain %s has %d", c.ID, n))
	}
	return " By chain: " + facts.Join(counts, 20) + "."
}

// identity names the residues at some numbers, and reports whether they are what the question asks.
func (q *query) identity() part {
	where, asked := divide(q.filter(), func(c *condition) bool {
		return c.property == ofChain || c.property == ofPlace
	})
	sites := q.sitesWhere(where...)
	if len(sites) == 0 {
		return q.none()
	}
	var list []string
	if len(where) > 1 {
		list = []string{"of residues " + wordingOf(where)}
	}
	for _, i := range facts.Head(sites, 30) {
		text := q.x.Sites[i].Ref.String()
		if len(asked) > 0 {
			yes := holdAll(asked, i)
			text = fmt.Sprintf("%s: %s is %s%s", map[bool]string{true: "yes", false: "no"}[yes], text,
				map[bool]string{true: "", false: "not "}[yes], wordingOf(asked))
		}
		if len(sites) <= 3 {
			text += q.properties(i)
		}
		list = append(list, text)
	}
	if len(sites) > 30 {
		list = append(list, fmt.Sprintf("and %d more", len(sites)-30))
	}
	if len(sites) > 2 && len(asked) == 0 {
		list = append(list, "in one-letter codes "+q.letters(facts.Head(sites, maxLetters)))
	}
	return part{capital(strings.Join(list, "; ")) + ".", q.x.Refs(facts.Head(sites, 30)), certaintyOf(q.filter())}
}

// properties are the facts of one residue.
func (q *query) properties(i int) string {
	s := &q.x.Sites[i]
	var list []string
	if s.State != 0 {
		list = append(list, "in "+facts.StateName(s.State))
	}
	if accessible, ok := s.Accessible(); ok && q.x.HasSurface {
		list = append(list, facts.Percent(accessible)+" accessible, so it is "+
			map[bool]string{true: "buried", false: "exposed"}[accessible < facts.BuriedBelow])
	}
	if q.x.HasConfidence {
		list = append(list, fmt.Sprintf("pLDDT %.1f", s.PLDDT))
	}
	return lead(strings.Join(list, ", "))
}
