package analyst

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/words"
)

const (
	maxPairs  = 20_000_000 // pairs of atoms that one answer compares
	maxAnchor = 400        // residues whose surroundings are described
	maxBonds  = 200_000    // hydrogen-bond candidates that are listed; 400,000 atoms of a protein have half of them
)

// contacts answers "what does Trp6 touch", "what surrounds the zinc" and "which lysine is closest to it".
func (q *query) contacts() part {
	if q.relation == nil {
		q.relation = q.ligandRelation()
	}
	rel := q.relation
	switch {
	case len(rel.mentions) == 1 && rel.mentions[0].single() && len(rel.sites) > 1:
		return refusal("%s", q.inSeveralChains(rel.sites))
	case len(rel.sites) == 0:
		return refusal("There is no such ligand in this structure, and where one would bind I do not guess.")
	case len(q.mentions) > 0 && q.conds.only(ofPlace, ofChain):
		return q.distance()
	case len(rel.sites) > maxAnchor:
		return refusal("These are too many residues to describe; name smaller parts.")
	}
	cut := rel.cut()
	if rel.asksClosest() {
		cut = maxRadius
	}
	around, next := q.nearby(rel.sites, cut)
	var near []facts.AtomPair
	for i, p := range around {
		if q.conds.holds(i) {
			near = append(near, p)
		}
	}
	slices.SortFunc(near, func(a, b facts.AtomPair) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.A.Chain, b.A.Chain), a.A.Number-b.A.Number)
	})
	next = keep(next, q.conds.holds)
	p := part{sure: q.conds.certainty()}
	if rel.asksClosest() && len(near) > 0 {
		p.add("Closest: %s. Of the residues%s, this is the one closest to %s.", near[0], q.conds.that(), rel.label)
	} else {
		p.add("Within %.1f Å of %s (heavy atoms) there %s %s%s, the nearest first: %s.", cut, rel.label,
			words.Plural(len(near), "is", "are"), residues(len(near)), q.conds.that(), near)
	}
	if len(next) > 0 {
		p.add(" Next to it in the chain and not counted: %s.", facts.ShortRefs(q.x.Refs(next), 20))
	}
	return p
}

// ligandRelation is nearness to the ligands that a question names as its topic: what binds the ion?
func (q *query) ligandRelation() *relation {
	it := item{concept: "ligand", names: q.ligands}
	if q.has["ion"] {
		it.concept = "ion"
	}
	c := q.ligandCondition(it)
	return &relation{sites: c.sites[0], label: c.label}
}

func (q *query) inSeveralChains(sites []int) string {
	return fmt.Sprintf("This residue is in several chains (%s); say which one you mean.", q.x.List(sites, 5))
}

// distance measures between the two things that a question names.
func (q *query) distance() part {
	ends, problem := q.ends()
	switch {
	case problem != "":
		return refusal("%s", problem)
	case q.relation != nil && q.relation.not || q.conds.negated():
		return refusal("%s", q.notUnderstood())
	case len(ends) != 2:
		return refusal("A distance needs two ends; I found %d. Name two residues, a residue and a ligand, or two "+
			"chains.", len(ends))
	}
	return q.between(ends[0], ends[1])
}

// ends are the things that a question names to measure between: residues, ligands, counted segments, or chains.
func (q *query) ends() (ends []group, problem string) {
	rel := cmp.Or(q.relation, &relation{chains: q.chains})
	if ends, problem = q.residueEnds(slices.Concat(q.mentions, rel.mentions)); problem != "" {
		return nil, problem
	}
	add := func(label string, sites []int) {
		ends = append(ends, group{label: label, sites: sites, atoms: q.x.AtomsOf(sites, "")})
	}
	for _, code := range slices.Concat(q.ligands, rel.ligands) {
		c := q.ligandCondition(item{names: []string{code}})
		if c.problem != "" {
			return nil, c.problem
		}
		add(q.x.Span(c.sites[0]), c.sites[0])
	}
	for _, c := range q.conds {
		switch {
		case c.property == ofState && !c.counted:
			return nil, "Say which helix or strand you mean: the first, the last or the longest."
		case c.counted:
			for _, sites := range c.sites {
				add(q.x.Span(sites), sites)
			}
		}
	}
	if q.relation != nil && len(rel.mentions)+len(rel.ligands)+len(rel.chains) == 0 {
		add(rel.label, rel.sites) // the ligand, the ions
	}
	for _, id := range rel.chains {
		add("chain "+id, q.chainSites(id))
	}
	return ends, ""
}

// residueEnds are residues to measure between, each with its atom if the question names atoms.
func (q *query) residueEnds(mentions []mention) (ends []group, problem string) {
	if n := len(q.atoms); n > 1 && n != len(mentions) {
		return nil, "I cannot tell which atom belongs to which residue; name one atom per residue."
	}
	for k, m := range mentions {
		sites, problem := q.find(m)
		if problem != "" { // too many, since one that is not there was a problem when its mention was read
			return nil, problem
		}
		label, atom := q.x.Span(sites), ""
		if len(q.atoms) > 0 {
			atom = q.atoms[min(k, len(q.atoms)-1)]
			label = "atom " + atom + " of " + label
		}
		e := group{label: label, sites: sites, atoms: q.x.AtomsOf(sites, atom)}
		switch {
		case len(sites) > 1 && m.single():
			return nil, q.inSeveralChains(sites)
		case len(e.atoms) == 0:
			return nil, fmt.Sprintf("There is no %s with coordinates.", e.label)
		}
		ends = append(ends, e)
	}
	return ends, ""
}

// between says how far two ends are apart: their closest heavy atoms and, of two residues, their centres.
func (q *query) between(a, b group) part {
	if len(a.atoms)*len(b.atoms) > maxPairs {
		return refusal("These are too large to measure between; name smaller parts.")
	}
	if why := q.untoldClosest(a, b); why != "" {
		return q.betweenCentres(a, b, why)
	}
	pair, ok := q.x.ClosestAtoms(a.atoms, b.atoms)
	if !ok {
		return refusal("These have no coordinates to measure between.")
	}
	p, cut, verb := part{sure: Measured}, cmp.Or(q.relation, &relation{}).cut(), "do not touch"
	if pair.Distance <= cut {
		verb = "touch"
	}
	p.add("The closest heavy atoms of %s and %s are %s %s and %s %s, %s apart, so they %s (within %.1f Å).", a.label,
		b.label, pair.A, pair.AtomA, pair.B, pair.AtomB, facts.Angstrom(pair.Distance), verb, cut)
	if len(a.sites) == 1 && len(b.sites) == 1 && len(q.atoms) == 0 {
		if d, ok := q.x.CentreDistance(a.sites[0], b.sites[0]); ok {
			p.add(" Their centres (CA, or C1' of nucleotides) are %s apart.", facts.Angstrom(d))
		}
	}
	return p
}

// untoldClosest says why the closest atoms of two ends cannot be told: one of them has not its atoms, and the question
// names none. It is empty where they can.
func (q *query) untoldClosest(a, b group) string {
	if len(q.atoms) > 0 {
		return ""
	}
	for _, end := range []group{a, b} {
		if lack := q.x.Lacks(facts.AllAtoms, end.sites); lack.Refusal() != "" {
			return fmt.Sprintf("The closest atoms of %s and %s cannot be told, since %s.", a.label, b.label,
				lack.Reason())
		}
	}
	return ""
}

// betweenCentres says how far the centres of two residues are apart, and why no more can be told.
func (q *query) betweenCentres(a, b group, why string) part {
	if len(a.sites) == 1 && len(b.sites) == 1 {
		if d, ok := q.x.CentreDistance(a.sites[0], b.sites[0]); ok {
			p := part{sure: Measured}
			p.add("The centres (CA, or C1' of nucleotides) of %s and %s are %s apart. %s",
				q.x.Sites[a.sites[0]].Ref, q.x.Sites[b.sites[0]].Ref, facts.Angstrom(d), why)
			return p
		}
	}
	return refusal("%s", why)
}

func (q *query) interfaces() part {
	p := part{sure: Measured}
	touch := q.interfacesOf()
	for _, in := range q.f.Interfaces {
		a, b := slices.Contains(q.chains, in.A), slices.Contains(q.chains, in.B)
		if len(q.chains) == 1 && !a && !b || len(q.chains) > 1 && !(a && b) || !touch(in) {
			continue
		}
		p.add("Chains %s and %s touch with %d and %d residues in %s within 4.5 Å and bury %.0f Å² of surface (both "+
			"sides together): %s and %s. Closest: %s. Hydrogen-bond candidates: %s. Salt bridges: %s.\n", in.A, in.B,
			in.CountA, in.CountB, words.Quantity(in.Contacts, "residue pair", "residue pairs"), in.Buried, in.ResiduesA,
			in.ResiduesB, in.Closest, in.HBonds, in.Bridges)
	}
	if p.text == "" {
		p.add("No two chains asked about come within 4.5 Å of each other, so there is no interface.")
	}
	p.text = strings.TrimSpace(p.text)
	return p
}

// interfacesOf returns which interfaces have the kinds of polymers that the question names: one at least of their
// chains, or, between kinds, one chain of each or both chains of the only one.
func (q *query) interfacesOf() func(facts.Interface) bool {
	isOf := func(sites []int, id string) bool {
		return slices.ContainsFunc(q.chainSites(id), func(i int) bool {
			_, found := slices.BinarySearch(sites, i)
			return found
		})
	}
	var sides [][]int
	for _, c := range q.conds {
		if c.kind != "" {
			sides = append(sides, c.sites...)
		}
	}
	return func(in facts.Interface) bool {
		switch {
		case len(sides) == 0:
			return true
		case len(sides) == 1 && !q.has["between"]:
			return isOf(sides[0], in.A) || isOf(sides[0], in.B)
		}
		one, other := sides[0], sides[len(sides)-1]
		return isOf(one, in.A) && isOf(other, in.B) || isOf(one, in.B) && isOf(other, in.A)
	}
}

// bonds answers which disulfides, salt bridges or hydrogen-bond candidates have an end in the selection. They are not
// measured, so the answer states the rule. A salt bridge is that of Barlow and Thornton, J. Mol. Biol. 168, 867 (1983),
// without histidine and the chain ends.
func (q *query) bonds() part {
	topic, list := q.topic.Name, q.f.Disulfides
	notInChain := func(c *condition) bool { return c.not && c.property == ofChain }
	switch {
	case topic == "hydrogen bonds" && q.f.HBonds != nil && *q.f.HBonds > maxBonds:
		return refusal("There are %d hydrogen-bond candidates; I list them where there are at most %d.", *q.f.HBonds,
			maxBonds)
	case topic != "disulfides" && (q.negated || q.conds.negated()), slices.ContainsFunc(q.conds, notInChain):
		return refusal("I list the bonds that there are; which residues have none, please ask by name.")
	case topic == "disulfides" && !q.has["disulfide"] && q.conds.on(ofName, ofPlace) &&
		!strings.Contains(q.conds.String(), "CYS"):
		return refusal("I tell which cysteines are free or paired; no other pairs of residues are computed.")
	case topic == "hydrogen bonds":
		list = q.x.HydrogenBonds()
	case topic == "salt bridges":
		list = q.f.Bridges
	}
	joined, lead, why := q.joins()
	passes := q.passes()
	if why != "" {
		return refusal("%s", why)
	}
	list = keep(list, joined)
	p := part{sure: Geometric}
	p.add("%s%s (%s)", lead, number(len(list), q.topic.Nouns[0], q.topic.Nouns[1]), q.topic.Rule)
	if len(list) > 0 {
		p.add(": %s", list)
	}
	p.text = capital(p.text) + "."
	switch {
	case topic == "disulfides" && len(q.f.Disulfides)+len(q.f.FreeCys) == 0:
		p.add(" There is no CYS.")
	case topic == "disulfides":
		among := ""
		if q.x.Lacks(facts.Sulfurs, q.x.Residues()).Reason() != "" {
			among = " among the SG that there are"
		}
		p.add(" Not in a disulfide%s: %s. Close, but longer than a bond: %s.", among, keep(q.f.FreeCys, passes),
			keep(q.f.MaybeSS, joined))
	case topic == "salt bridges" && lead == "" && len(list) == 0:
		count := func(codes ...string) int {
			return len(q.x.Select(func(i int) bool { return q.x.Sites[i].Is(codes) && q.x.Sites[i].LikeParent() }))
		}
		p.add(" There are %d ASP or GLU and %d LYS or ARG.", count("ASP", "GLU"), count("LYS", "ARG"))
	}
	return p
}

// joins returns which bonds the question is about, and how the answer begins. They have an end in the selection, or,
// between two things, an end in each. It says why where it is not clear what these are.
func (q *query) joins() (joined func(facts.AtomPair) bool, lead, why string) {
	places, others := q.conds.divide(func(c *condition) bool { return !c.not && c.property == ofPlace })
	if len(places) == 2 { // does Cys3 pair with Cys40?
		places[0].add(places[1])
		q.conds = others.and(places[0])
	}
	passes := q.passes()
	if !q.has["between"] && len(places) != 2 {
		return q.withEnd(passes)
	}
	pairs, rest := q.filter().divide(func(c *condition) bool { return !c.not && len(c.sites) == 2 })
	// Between serines, but not between the protein and chain A where all chains are protein.
	ofChains := slices.ContainsFunc(rest, func(c *condition) bool { return c.property == ofChain && c.kind == "" })
	if len(pairs) == 0 && len(rest) == 1 && !(ofChains && q.has["protein"]) {
		return func(p facts.AtomPair) bool { return passes(p.A) && passes(p.B) },
			"Between residues that are " + rest.String() + ": ", ""
	}
	if len(pairs) != 1 {
		return nil, "", "It is not clear between which two things; please name two residues, two kinds of " +
			"residues or two chains."
	}
	two := pairs[0]
	lead = fmt.Sprintf("Between a residue that is %s and one that is %s: ", two.wording[0], two.wording[1])
	if len(q.chains) == 2 {
		lead = fmt.Sprintf("Between chains %s and %s: ", q.chains[0], q.chains[1])
	}
	one, other := q.among(keep(two.sites[0], rest.holds)), q.among(keep(two.sites[1], rest.holds))
	return func(p facts.AtomPair) bool { return one(p.A) && other(p.B) || one(p.B) && other(p.A) }, lead, ""
}

// withEnd is joins for bonds of which one end at least passes the filter, and both do what they are within.
func (q *query) withEnd(passes func(facts.ResidueRef) bool) (joined func(facts.AtomPair) bool, lead, why string) {
	inside, rest := q.conds.divide(func(c *condition) bool { return c.inside })
	lead = strings.TrimSuffix(q.withResidue(), ": ")
	switch {
	case slices.ContainsFunc(inside, func(c *condition) bool { return len(c.sites) > 1 }):
		return nil, "", "It is not clear whether both ends are within the same one of these; please ask of one at a " +
			"time."
	case len(inside) > 0 && len(rest) == 0 && q.relation == nil:
		lead = "Between residues that are " + inside.String()
	case len(inside) > 0:
		lead += ", both ends " + inside.String()
	}
	holds, across, within := q.among(q.sitesWhere(inside)), q.has["interface"], q.has["onechain"]
	if within {
		lead = strings.TrimPrefix(lead+", within one chain", ", ")
	}
	if lead != "" {
		lead += ": "
	}
	return func(p facts.AtomPair) bool {
		same := p.A.Chain == p.B.Chain
		return (passes(p.A) || passes(p.B)) && holds(p.A) && holds(p.B) && !(across && same) && !(within && !same)
	}, lead, ""
}
