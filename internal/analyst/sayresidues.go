package analyst

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pleat/internal/facts"
)

const maxListed = 60 // residues named in one answer

// residuesWith answers which residues pass a filter, how many, what share, whether all or any do, and comparisons.
func (q *query) residuesWith() part {
	if q.has["more"] {
		return q.compare()
	}
	if q.segments != nil {
		return q.segmentsWith()
	}
	if q.relation != nil && q.relation.words["closest"] && q.relation.radius == 0 && len(q.relation.sites) > 0 {
		return q.nearest()
	}
	filter := q.filter()
	if q.has["percent"] && len(filter) == 0 {
		return refusal("%s", q.notUnderstood())
	}
	if q.every && q.opensWithVerb() || q.has["percent"] {
		if base, predicate := q.predicate(filter); predicate != nil {
			p := q.share(base, predicate)
			p.text += q.otherShare(base, predicate)
			return p
		}
	}
	scope, conds := q.scope(filter)
	if len(conds) == 0 {
		scope, _ = q.scope(nil)
		conds = filter
	}
	hits := q.sitesWhere(filter)
	text := fmt.Sprintf("%s%d of %d residues (%s) are %s", q.scopeWords(filter, conds), len(hits), len(scope),
		facts.Percent(float64(len(hits))/float64(max(1, len(scope)))), wordingOf(conds))
	if len(hits) > 0 {
		text += ": " + q.x.List(hits, maxListed)
	}
	text = q.yesOrNo(len(hits) > 0) + text + "." + q.breakdown(conds, hits) + q.besideToo(filter)
	return part{text, q.cite(hits), certaintyOf(filter)}
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
	if q.has["which"] || q.has["howmany"] || q.has["list"] || q.has["what"] || q.has["where"] || q.has["percent"] ||
		!q.opensWithVerb() {
		return ""
	}
	if yes {
		return "Yes: "
	}
	return "No: "
}

// opensWithVerb says whether the question starts like one that yes or no answers.
func (q *query) opensWithVerb() bool {
	for _, it := range q.items {
		if it.concept != "&" && it.concept != "or" {
			return isVerb(it)
		}
	}
	return false
}

// scope separates the conditions on chains and places, which say where to count, from the others.
func (q *query) scope(filter []*condition) (sites []int, rest []*condition) {
	var where []*condition
	for _, c := range filter {
		if !c.not && (c.property == ofChain || c.property == ofPlace) {
			where = append(where, c)
		} else {
			rest = append(rest, c)
		}
	}
	return q.sitesWhere(where), rest
}

// scopeWords says where was counted: "Of SER 20 to GLN 40 (chain A), ".
func (q *query) scopeWords(filter, conds []*condition) string {
	var where []*condition
	for _, c := range filter {
		if !slices.Contains(conds, c) {
			where = append(where, c)
		}
	}
	switch {
	case len(where) == 0:
		return ""
	case len(where) == 1 && where[0].property == ofChain:
		return capital(where[0].String()) + ", "
	}
	return "Of " + q.spanOf(q.sitesWhere(where)) + ", "
}

// segmentsWith counts the helices or strands that have a residue which passes the rest of the filter.
func (q *query) segmentsWith() part {
	filter := q.filter()
	rest := slices.DeleteFunc(slices.Clone(filter), func(c *condition) bool {
		return c == q.segments ||
			c.property == ofChain && !c.not
	})
	where := slices.DeleteFunc(slices.Clone(filter), func(c *condition) bool { return slices.Contains(rest, c) })
	var with []string
	var hits []int
	runs := q.runs(q.sitesWhere(where), true)
	for _, run := range runs {
		in := slices.DeleteFunc(slices.Clone(run), func(i int) bool {
			return slices.ContainsFunc(rest, func(c *condition) bool { return !c.holds(i) })
		})
		if len(in) > 0 {
			with = append(with, fmt.Sprintf("%s %s (%s)", facts.StateName(q.x.Sites[run[0]].State), q.spanOf(run),
				q.x.List(in, 20)))
			hits = append(hits, in...)
		}
	}
	text := fmt.Sprintf("%d of %d segments %s have a residue that is %s", len(with), len(runs), wordingOf(where),
		wordingOf(rest))
	if len(with) > 0 {
		text += ": " + facts.Join(with, 20)
	}
	return part{q.yesOrNo(len(with) == len(runs)) + text + ".", q.cite(hits), Geometric}
}

// predicate separates what is asked (… exposed?) from the residues that it is asked of (all lysines in helices).
func (q *query) predicate(filter []*condition) (base []*condition, predicate *condition) {
	if len(filter) < 2 && !(len(filter) == 1 && (q.has["residue"] || q.every)) {
		return nil, nil
	}
	at := len(filter) - 1
	for i := len(filter) - 1; i >= 0; i-- {
		if filter[i].bare {
			at = i
			break
		}
	}
	for at > 0 && filter[at].property == ofChain && q.has["percent"] {
		at--
	}
	predicate = filter[at]
	return slices.Delete(slices.Clone(filter), at, at+1), predicate
}

// share says how many of the base have a property, which do, and which do not.
func (q *query) share(base []*condition, predicate *condition) part {
	all := q.sitesWhere(base)
	hits := q.sitesWhere(append(slices.Clone(base), predicate))
	what := "residues"
	if len(base) > 0 {
		what = "residues that are " + wordingOf(base)
	}
	if len(all) == 0 {
		return part{text: "There are no " + what + ".", sure: certaintyOf(base)}
	}
	rest := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return slices.Contains(hits, i) })
	answer := ""
	if q.every && q.opensWithVerb() {
		answer = map[bool]string{true: "Yes: ", false: "No: "}[len(rest) == 0]
	}
	text := fmt.Sprintf("%s%d of %d %s (%s) are %s", answer, len(hits), len(all), what,
		facts.Percent(float64(len(hits))/float64(len(all))), predicate)
	if len(hits) > 0 {
		text += ": " + q.x.List(hits, maxListed)
	}
	text += "."
	if q.every && len(rest) > 0 {
		text += " The others: " + q.x.List(rest, maxListed) + "."
		hits = slices.Sorted(slices.Values(slices.Concat(hits, rest)))
	}
	return part{text, q.cite(hits), certaintyOf(append(slices.Clone(base), predicate))}
}

// otherShare adds the share the other way round where a question has no verb and can mean both: the share of
// hydrophobic residues in the first helix.
func (q *query) otherShare(base []*condition, predicate *condition) string {
	all := q.sitesWhere([]*condition{predicate})
	if !q.has["percent"] || len(base) == 0 || predicate.property != ofState || predicate.not || len(all) == 0 ||
		slices.ContainsFunc(q.items, isVerb) {
		return ""
	}
	hits := len(q.sitesWhere(append(slices.Clone(base), predicate)))
	return fmt.Sprintf(" They are %d of the %s (%s) %s.", hits, residues(len(all)),
		facts.Percent(float64(hits)/float64(len(all))), predicate)
}

// breakdown counts the alternatives of a name one by one, and the chains where there are several.
func (q *query) breakdown(conds []*condition, hits []int) string {
	text := ""
	for _, c := range conds {
		if c.property != ofName || c.not || len(c.wording) < 2 || len(c.wording) > 6 {
			continue
		}
		var said []string
		for k, accept := range c.accepts {
			name, _, _ := strings.Cut(c.wording[k], " (")
			said = append(said, fmt.Sprintf("%d %s", q.countOf(hits, accept), name))
		}
		text += " By name: " + facts.Join(said, 6) + "."
	}
	return text + q.byChain(hits)
}

// countOf counts the sites that pass.
func (q *query) countOf(sites []int, accept func(int) bool) (n int) {
	for _, i := range sites {
		if accept(i) {
			n++
		}
	}
	return n
}

// byChain counts hits by chain, where there are several.
func (q *query) byChain(hits []int) string {
	list := q.polymers()
	if len(list) < 2 {
		return ""
	}
	var said []string
	for _, c := range list {
		n := q.countOf(hits, func(i int) bool { return c.Polymer.Lo <= i && i < c.Polymer.Hi })
		said = append(said, fmt.Sprintf("chain %s has %d", c.ID, n))
	}
	return " By chain: " + facts.Join(said, 20) + "."
}

// besideToo names the neighbours in the chain that would pass, did they count as near.
func (q *query) besideToo(filter []*condition) string {
	if q.relation == nil || q.has["inchain"] || q.relation.far || q.relation.not || len(q.relation.mentions) == 0 {
		return ""
	}
	var next []int
	for _, i := range q.relation.beside {
		if !slices.ContainsFunc(filter, func(c *condition) bool { return c.property != ofDistance && !c.holds(i) }) {
			next = append(next, i)
		}
	}
	slices.Sort(next)
	if next = slices.Compact(next); len(next) == 0 {
		return ""
	}
	return " Its neighbours in the chain are not counted: " + q.x.List(next, 4) + "."
}

// nearest answers which of the selected residues is closest to something.
func (q *query) nearest() part {
	if len(q.relation.sites)*len(q.x.Sites) > 20_000_000 {
		return refusal("These are too many residues to compare; name smaller parts.")
	}
	best, found := facts.AtomPair{Distance: math.Inf(1)}, false
	for _, i := range q.sitesWhere(q.conds) {
		for _, a := range q.relation.sites {
			if i == a || slices.Contains(q.relation.sites, i) {
				continue
			}
			if p, ok := q.x.Closest(i, a); ok && p.Distance < best.Distance {
				best, found = p, true
			}
		}
	}
	what := "the residue"
	if len(q.conds) > 0 {
		what += " that is " + wordingOf(q.conds) + " and"
	}
	if !found {
		return part{text: "No residue is " + wordingOf(q.conds) + ".", sure: Measured}
	}
	text := fmt.Sprintf("%s closest to %s is %s: its %s is %s from %s of %s.", capital(what), q.relation.label, best.A,
		best.AtomA,
		facts.Angstrom(best.Distance), best.AtomB, best.B)
	return part{text, []facts.ResidueRef{best.A, best.B}, certaintyOf(q.conds)}
}

// compare counts two names, or one filter in two chains, and says the difference.
func (q *query) compare() part {
	filter := q.filter()
	var sides []group
	if len(q.chains) < 2 && q.has["chain"] && len(q.f.Chains) == 2 {
		q.chains = chainIDs(q.f.Chains)
	}
	switch names, rest := q.alternatives(filter); {
	case len(names) == 2:
		for _, c := range names {
			sides = append(sides, group{c.wording[0], q.sitesWhere(append(slices.Clone(rest), c))})
		}
	case len(q.chains) == 2:
		rest := slices.DeleteFunc(slices.Clone(filter), func(c *condition) bool { return c.property == ofChain })
		for _, id := range q.chains {
			in := q.chainCondition(item{names: []string{id}})
			label := "residues in chain " + id
			if len(rest) > 0 {
				label = wordingOf(rest) + " in chain " + id
			}
			sides = append(sides, group{label, q.sitesWhere(append(slices.Clone(rest), in))})
		}
	default:
		return refusal("A comparison needs two names of residues, or two chains; I cannot tell what to compare here.")
	}
	d := len(sides[0].sites) - len(sides[1].sites)
	text := fmt.Sprintf("%s are %s and %s are %s", residues(len(sides[0].sites)), sides[0].label,
		residues(len(sides[1].sites)), sides[1].label)
	switch {
	case d > 0:
		text += fmt.Sprintf(": %d more %s than %s, a difference of %d.", d, sides[0].label, sides[1].label, d)
	case d < 0:
		text += fmt.Sprintf(": %d fewer %s than %s, a difference of %d.", -d, sides[0].label, sides[1].label, -d)
	default:
		text += ": as many."
	}
	hits := slices.Sorted(slices.Values(slices.Concat(sides[0].sites, sides[1].sites)))
	for _, s := range sides {
		if len(s.sites) > 0 {
			text += fmt.Sprintf(" %s: %s.", capital(s.label), q.x.List(s.sites, maxListed))
		}
	}
	return part{text, q.x.Refs(facts.Head(hits, maxListed)), certaintyOf(filter)}
}

// alternatives returns the names of a filter one by one, and the conditions that are no names.
func (q *query) alternatives(filter []*condition) (names, rest []*condition) {
	for _, c := range filter {
		if c.property != ofName || c.not {
			rest = append(rest, c)
			continue
		}
		for k := range c.wording {
			one := *c
			one.wording, one.accepts = c.wording[k:k+1], c.accepts[k:k+1]
			names = append(names, &one)
		}
	}
	return names, rest
}
