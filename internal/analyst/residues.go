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
	p := part{sure: certaintyOf(filter)}
	noun, rest := divide(asked, func(c *condition) bool { return c.property == ofName && !c.not })
	subject := q.sitesWhere(append(slices.Clone(base), noun...)...)
	yesOrNo := q.asksYesOrNo()
	switch {
	case all || q.has["percent"] || len(noun) == 0 || len(rest) == 0:
	case len(subject) == 0:
		p.add("%s: 0 of %s%s are %s, so none is %s.", q.noOrNone(), residues(len(from)), that(base), wordingOf(noun),
			wordingOf(rest))
		return p
	case len(rest) == 1 && len(subject) <= maxNamed && oneOf(string(rest[0].property), "surface state limit") &&
		(yesOrNo || len(hits) == 0 && !q.has["howmany"]):
		q.addNamed(&p, base, noun, rest[0])
		return p
	case yesOrNo || len(hits) == 0:
		base, asked, from = append(slices.Clone(base), noun...), rest, subject
	}
	switch {
	case all && len(hits) == len(from) && yesOrNo, !all && len(hits) > 0 && yesOrNo:
		p.add("Yes: ")
	case yesOrNo || !all && len(hits) == 0 && !q.has["percent"]:
		p.add("%s: ", q.noOrNone())
	}
	p.add("%d of %s%s ", len(hits), residues(len(from)), that(base))
	if len(hits) > 0 || q.has["percent"] {
		p.add("(%s) are %s: %s.", facts.Percent(share(len(hits), len(from))), wordingOf(asked), q.x.Refs(hits))
	} else {
		p.add("are %s.", wordingOf(asked))
	}
	if all && len(hits) < len(from) {
		rest := slices.DeleteFunc(from, func(i int) bool { return holdAll(filter, i) })
		p.add(" The others: %s.", q.x.Refs(rest))
	}
	if q.relation != nil && len(q.relation.sites) <= 3 {
		p.cited = append(p.cited, q.x.Refs(q.relation.sites)...)
	}
	return p
}

// maxNamed is how many residues an answer names one by one with what they are.
const maxNamed = 6

// that is the clause of the residues that conditions select; empty where there are no conditions.
func that(conds []*condition) string {
	if len(conds) == 0 {
		return ""
	}
	return " that are " + wordingOf(conds)
}

// noOrNone is how an answer begins that no residue passes.
func (q *query) noOrNone() string {
	if q.opensWithVerb() || q.has["any"] {
		return "No"
	}
	return "None"
}

// addNamed says of the few residues of a noun whether they pass a condition, and what they are instead. Is any
// tryptophan buried? No: TRP 6 and TRP 14 are both exposed.
func (q *query) addNamed(p *part, base, noun []*condition, c *condition) {
	lead, order, groups := q.noOrNone(), []string{}, map[string][]int{}
	subject := append(slices.Clone(base), noun...)
	sites := q.sitesWhere(subject...)
	for _, i := range sites {
		is := q.opposite(c, i)
		if c.holds(i) {
			is = c.String()
		}
		if groups[is] = append(groups[is], i); len(groups[is]) == 1 {
			order = append(order, is)
		}
	}
	if hits := len(groups[c.String()]); hits > 0 {
		lead, order = fmt.Sprintf("Yes, %d of %d", hits, len(sites)), []string{c.String()}
	}
	p.add("%s: ", lead)
	if len(base) > 0 || noun[0].class {
		p.add("of the %s%s, ", residues(len(sites)), that(subject))
	}
	for k, is := range order {
		refs := q.x.Refs(groups[is])
		verb := [...]string{"is", "are both", "are all"}[min(len(refs), 3)-1]
		p.add("%s %s %s%s", refs, verb, is, [...]string{"; ", "."}[(k+1)/len(order)])
	}
}

// opposite says what a residue is that does not pass a condition.
func (q *query) opposite(c *condition, site int) string {
	s := &q.x.Sites[site]
	share, ok := s.Accessible()
	switch {
	case c.not:
		return strings.TrimPrefix(c.String(), "not ")
	case c.property == ofSurface && ok:
		return exposure(share)
	case c.property == ofState && s.State != 0 && !c.counted:
		return fmt.Sprintf("not %s (%s)", c, facts.StateName(s.State))
	case c.property == ofLimit:
		return fmt.Sprintf("at a pLDDT of %.1f", s.PLDDT)
	}
	return "not " + c.String()
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
		case len(asked) == 0, len(asked) == 1 && asked[0].property == ofState && len(asked[0].wording) > 1:
			p.add("%s", ref) // in a helix or a loop?
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
		word, _, _ := strings.Cut(exposure(accessible), " ")
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
