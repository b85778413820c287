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
	p, that := part{sure: certaintyOf(filter)}, ""
	if len(base) > 0 {
		that = " that are " + wordingOf(base)
	}
	switch {
	case !q.asksYesOrNo():
	case all && len(hits) == len(from), !all && len(hits) > 0:
		p.add("Yes: ")
	default:
		p.add("No: ")
	}
	p.add("%d of %s%s (%s) are %s: %s.", len(hits), residues(len(from)), that,
		facts.Percent(share(len(hits), len(from))), wordingOf(asked), q.x.Refs(hits))
	if all && len(hits) < len(from) {
		rest := slices.DeleteFunc(from, func(i int) bool { return holdAll(filter, i) })
		p.add(" The others: %s.", q.x.Refs(rest))
	}
	if q.relation != nil && len(q.relation.sites) <= 3 {
		p.cited = append(p.cited, q.x.Refs(q.relation.sites)...)
	}
	return p
}

// subjectAndPredicate finds what "of" in "3 of 7" is. Where all or a share are asked for, the condition that came last
// is asked of the others: are all lysines in helices exposed? Else chains and numbers say where to count.
func (q *query) subjectAndPredicate(filter []*condition) (base, asked []*condition) {
	last := len(filter) - 1
	if last > 0 && filter[last].property == ofDistance && !q.relationLast {
		filter = append(filter[:last-1:last-1], filter[last], filter[last-1])
	}
	switch {
	case last < 0:
		return nil, nil
	case q.every && q.opensWithVerb(), q.has["percent"] && slices.ContainsFunc(q.items, isVerb):
		return filter[:last], filter[last:]
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

// asksYesOrNo reports whether the question asks for neither a list nor a number.
func (q *query) asksYesOrNo() bool {
	lists := slices.ContainsFunc([]string{"which", "howmany", "list", "what", "where", "percent"},
		func(c string) bool { return q.has[c] })
	return q.opensWithVerb() && !lists
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
