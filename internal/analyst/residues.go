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
	if q.relation != nil && q.relation.asksClosest() && len(q.relation.sites) > 0 {
		return q.contacts()
	}
	filter := q.filter()
	all := q.every && q.opensWithVerb()
	base, asked := q.subjectAndPredicate(filter)
	if len(asked) == 0 {
		return refusal("%s", q.notUnderstood())
	}
	from, hits := q.sitesWhere(base...), q.sitesWhere(filter...)
	if len(from) == 0 {
		return refusal("No residue is %s.", wordingOf(base))
	}
	yes := len(hits) > 0
	if all {
		yes = len(hits) == len(from)
	}
	where, noun := q.amongst(base)
	p := part{sure: certaintyOf(filter)}
	p.add("%s%s%d of %d %s (%s) are %s: %s.", q.yesOrNo(yes), where, len(hits), len(from), noun,
		facts.Percent(share(len(hits), len(from))), wordingOf(asked), q.x.Refs(hits))
	if all && !yes {
		rest := slices.DeleteFunc(from, func(i int) bool { return holdAll(filter, i) })
		p.add(" The others: %s.", q.x.Refs(rest))
	}
	if q.relation != nil && len(q.relation.sites) <= 3 {
		p.cited = append(p.cited, q.x.Refs(q.relation.sites)...)
	}
	return p
}

// subjectAndPredicate finds what "of" in "3 of 7" is. It separates the residues that are counted from (all lysines in
// helices) from what is asked of them (exposed?). Without such a predicate, chains and numbers say where to count, and
// the other conditions are asked.
func (q *query) subjectAndPredicate(filter []*condition) (base, asked []*condition) {
	wanted := q.has["percent"] || q.every && q.opensWithVerb()
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

// yesOrNo opens the answer to a question that asks for neither a list nor a number.
func (q *query) yesOrNo(yes bool) string {
	switch {
	case !q.opensWithVerb(), q.has["which"], q.has["howmany"], q.has["list"], q.has["what"], q.has["where"],
		q.has["percent"]:
		return ""
	case yes:
		return "Yes: "
	}
	return "No: "
}

// opensWithVerb reports whether the question starts like one that yes or no answers.
func (q *query) opensWithVerb() bool {
	k := slices.IndexFunc(q.items, func(it item) bool { return it.concept != "&" && it.concept != "or" })
	return k >= 0 && isVerb(q.items[k])
}

// identity names the residues at some numbers, and reports whether they are what the question asks.
func (q *query) identity() part {
	where, asked := divide(q.filter(), func(c *condition) bool {
		return c.property == ofChain || c.property == ofPlace
	})
	sites := q.sitesWhere(where...)
	if len(sites) == 0 {
		return refusal("No residue is %s.", wordingOf(where))
	}
	p := part{sure: certaintyOf(q.filter())}
	if len(where) > 1 {
		p.add("Of residues %s: ", wordingOf(where))
	}
	for _, i := range facts.Head(sites, maxListed) {
		ref := q.x.Sites[i].Ref
		switch {
		case len(asked) == 0:
			p.add("%s", ref)
		case holdAll(asked, i):
			p.add("Yes: %s is %s", ref, wordingOf(asked))
		default:
			p.add("No: %s is not %s", ref, wordingOf(asked))
		}
		if len(sites) <= 3 {
			p.add("%s", q.properties(i))
		}
		p.add(". ")
	}
	if len(sites) > 2 {
		p.add("In one-letter codes: %s.", q.letters(sites))
	}
	p.text = strings.TrimSpace(p.text)
	return p
}

// properties are the facts of one residue.
func (q *query) properties(i int) string {
	s := &q.x.Sites[i]
	var list []string
	if s.State != 0 {
		list = append(list, "in "+facts.StateName(s.State))
	}
	if accessible, ok := s.Accessible(); ok && q.x.HasSurface {
		word := "exposed"
		if accessible < facts.BuriedBelow {
			word = "buried"
		}
		list = append(list, fmt.Sprintf("%s accessible, so it is %s", facts.Percent(accessible), word))
	}
	if q.x.HasConfidence {
		list = append(list, fmt.Sprintf("pLDDT %.1f", s.PLDDT))
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}
