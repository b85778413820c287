package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
)

// maxNamed is how many residues an answer names one by one with what they are.
const maxNamed = 6

// residuesWith is the answer to most questions with a filter: "3 of 76 residues are LYS and in a helix". It answers
// which residues pass the filter, how many, what share of them, and whether all or any do.
func (q *query) residuesWith() part {
	if q.relation != nil && q.relation.asksClosest() {
		return q.contacts()
	}
	base, predicate := q.subjectAndPredicate()
	if len(predicate) == 0 {
		return refusal("%s", q.notUnderstood())
	}
	from, hits := keep(q.sitesWhere(base), predicate.tells), q.sites()
	if len(from) == 0 {
		return refusal("No residue is %s.", base)
	}
	p := part{sure: q.filter().certainty()}
	noun, rest := predicate.divide((*condition).isNoun)
	if len(noun) > 0 && len(rest) > 0 && !q.asksAll() && !q.has["percent"] {
		subject := keep(q.sitesWhere(base.and(noun...)), rest.tells)
		names := q.asksYesOrNo() || len(hits) == 0 && !q.has["howmany"]
		switch {
		case len(subject) == 0:
			p.add("%s: 0 of %s%s are %s, so none is %s.", q.noOrNone(), residues(len(from)), base.that(), noun, rest)
			return p
		case names && len(subject) <= maxNamed && len(rest) == 1 && rest.only(ofSurface, ofState, ofLimit, ofRMSD):
			q.addNamed(&p, base, noun, rest[0])
			return p
		case q.asksYesOrNo() || len(hits) == 0:
			base, predicate, from = base.and(noun...), rest, subject
		}
	}
	q.addCount(&p, base, predicate, from, hits)
	return p
}

func (q *query) asksAll() bool { return q.every && q.opensWithVerb() }

func (q *query) addCount(p *part, base, predicate filter, from, hits []int) {
	all, yesOrNo, share := q.asksAll(), q.asksYesOrNo(), q.has["percent"]
	switch {
	case yesOrNo && (all && len(hits) == len(from) || !all && len(hits) > 0):
		p.add("Yes: ")
	case yesOrNo || !all && len(hits) == 0 && !share:
		p.add("%s: ", q.noOrNone())
	}
	p.add("%d of %s%s ", len(hits), residues(len(from)), base.that())
	if len(hits) > 0 || share {
		p.add("(%s) are %s: %s.", percent(len(hits), len(from)), predicate, q.x.Refs(hits))
	} else {
		p.add("are %s.", predicate)
	}
	if all && len(hits) < len(from) {
		others := keep(from, func(i int) bool { return !q.filter().holds(i) })
		p.add(" The others: %s.", q.x.Refs(others))
	}
	if q.relation != nil && len(q.relation.sites) <= 3 {
		p.cited = append(p.cited, q.x.Refs(q.relation.sites)...)
	}
}

func percent(n, all int) string { return facts.Percent(float64(n) / float64(max(1, all))) }

// noOrNone is how an answer begins that no residue passes.
func (q *query) noOrNone() string {
	if q.opensWithVerb() || q.has["any"] {
		return "No"
	}
	return "None"
}

// addNamed says of the few residues of a noun whether they pass a condition, and what they are instead. Is any
// tryptophan buried? No: TRP 6 and TRP 14 are both exposed.
func (q *query) addNamed(p *part, base, noun filter, c *condition) {
	lead, order, groups := q.noOrNone(), []string{}, map[string][]int{}
	subject := base.and(noun...)
	sites := q.sitesWhere(subject)
	for _, i := range sites {
		is := q.predicate(c, i)
		if groups[is] = append(groups[is], i); len(groups[is]) == 1 {
			order = append(order, is)
		}
	}
	if hits := len(groups[c.String()]); hits > 0 {
		lead, order = fmt.Sprintf("Yes, %d of %d", hits, len(sites)), []string{c.String()}
	}
	p.add("%s: ", lead)
	if len(base) > 0 || noun[0].class {
		p.add("of the %s%s, ", residues(len(sites)), subject.that())
	}
	for k, is := range order {
		if k > 0 {
			p.add("; ")
		}
		refs := q.x.Refs(groups[is])
		verb := [...]string{"is", "are both", "are all"}[min(len(refs), 3)-1]
		p.add("%s %s %s", refs, verb, is)
	}
	p.add(".")
}

// predicate says what a residue is: the condition, or what it is instead.
func (q *query) predicate(c *condition, site int) string {
	s := &q.x.Sites[site]
	share, ok := s.Accessible()
	switch {
	case c.holds(site):
		return c.String()
	case !c.tells(site):
		return "not known to be " + strings.TrimPrefix(c.String(), "not ")
	case c.not:
		return strings.TrimPrefix(c.String(), "not ")
	case c.property == ofSurface && ok:
		return exposure(share)
	case c.property == ofState && s.State != 0 && !c.counted:
		return fmt.Sprintf("not %s (%s)", c, facts.StateName(s.State))
	case c.property == ofLimit:
		return fmt.Sprintf("at a pLDDT of %.1f", s.PLDDT)
	case c.property == ofRMSD:
		return fmt.Sprintf("at a predicted RMSD of %.2f Å", s.RMSD)
	}
	return "not " + c.String()
}

// subjectAndPredicate finds what "of" in "3 of 7" is. Where all or a share are asked for, the condition that came last
// is asked of the others: are all lysines in helices exposed? Else chains and numbers say where to count.
func (q *query) subjectAndPredicate() (base, predicate filter) {
	all := q.filter()
	last := len(all) - 1
	if last > 0 && all[last].property == ofDistance && !q.relationLast {
		all = all[:last-1].and(all[last], all[last-1])
	}
	switch {
	case last < 0:
		return nil, nil
	case q.asksAll(), q.has["percent"] && slices.ContainsFunc(q.items, item.isVerb):
		return all[:last], all[last:]
	}
	base, predicate = all.divide(func(c *condition) bool {
		return !c.not && (c.property == ofChain || c.property == ofPlace)
	})
	if q.has["percent"] && len(predicate) != 1 {
		return nil, nil // a share of which of them?
	}
	return base, predicate
}

// identity names the residues at some numbers, and reports whether they are what the question asks.
func (q *query) identity() part {
	where, predicate := q.filter().divide(func(c *condition) bool {
		return c.property == ofChain || c.property == ofPlace
	})
	sites := q.sitesWhere(where)
	if len(sites) == 0 {
		return refusal("No residue is %s.", where)
	}
	p := part{sure: q.filter().certainty()}
	if len(where) > 1 {
		p.add("Of residues %s: ", where)
	}
	// In a helix or a loop?
	either := len(predicate) == 1 && predicate[0].property == ofState && len(predicate[0].wording) > 1
	for _, i := range facts.Head(sites, maxListed) {
		ref := q.x.Sites[i].Ref
		switch {
		case len(predicate) == 0, either:
			p.add("%s", ref)
		case !predicate.tells(i):
			p.add("Not known: whether %s is %s", ref, predicate)
		case predicate.holds(i):
			p.add("Yes: %s is %s", ref, predicate)
		default:
			p.add("No: %s is not %s", ref, predicate)
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

func (q *query) properties(i int) string {
	s := &q.x.Sites[i]
	var list []string
	if s.State != 0 {
		list = append(list, "in "+facts.StateName(s.State))
	}
	if share, ok := s.Accessible(); ok && q.x.HasSurface {
		word, _, _ := strings.Cut(exposure(share), " ")
		list = append(list, fmt.Sprintf("%s accessible, so it is %s", facts.Percent(share), word))
	}
	if q.x.HasConfidence {
		list = append(list, fmt.Sprintf("pLDDT %.1f", s.PLDDT))
	}
	if q.x.HasRMSD {
		list = append(list, fmt.Sprintf("predicted RMSD %.2f Å", s.RMSD))
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}
