package analyst

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

const (
	maxPairs  = 20_000_000 // pairs of atoms that one answer compares
	maxNear   = 20_000_000 // atoms and cells that the relations of one message look at, see facts.Index.Around
	maxAnchor = 400        // residues whose surroundings are described
	maxBonds  = 200_000    // hydrogen-bond candidates that are listed; 400,000 atoms of a protein have half of them
)

// nearby returns the closest pair of atoms of each polymer residue within a distance of the anchors, by its site, and
// separately the neighbours of the anchors in the chain, which do not count as near. B is the atom of the anchor. Where
// too many atoms are near, q.problem says so.
func (q *query) nearby(anchors []int, cut float64) (near map[int]facts.AtomPair, next []int) {
	near = map[int]facts.AtomPair{}
	isAnchor := map[int]bool{}
	for _, a := range anchors {
		isAnchor[a] = true
	}
	around, ok := q.x.Around(anchors, cut, q.near)
	if !ok {
		q.problem = cmp.Or(q.problem, "Too many atoms are so close together; please ask within a smaller distance, or "+
			"near fewer residues.")
	}
	for i, p := range around {
		nextTo := func(a int) bool {
			if !isAnchor[a] || !q.x.Adjacent(a, i) {
				return false
			}
			p, ok := q.x.Closest(i, a)
			return ok && p.Distance <= cut
		}
		switch {
		case !q.x.Sites[i].Kind.Polymer() || isAnchor[i]:
		case nextTo(i-1) || nextTo(i+1):
			next = append(next, i)
		default:
			near[i] = q.x.Pair(p[0], p[1])
		}
	}
	slices.Sort(next)
	return near, next
}

// contacts answers "what does Trp6 touch", "what surrounds the zinc" and "which lysine is closest to it". It lists what
// the anchor of the relation touches.
func (q *query) contacts() part {
	if q.relation == nil {
		q.relation = &relation{words: map[string]bool{}}
		it := item{concept: "ligand", names: q.ligands}
		if q.has["ion"] {
			it.concept = "ion"
		}
		q.relation.sites, q.relation.label = q.ligandSites(it)
	}
	rel := q.relation
	switch {
	case len(rel.mentions) == 1 && rel.mentions[0].single() && len(rel.sites) > 1:
		return refusal("This residue is in several chains (%s); say which one you mean.", q.x.List(rel.sites, 5))
	case len(rel.sites) == 0:
		return refusal("There is no such ligand in this structure, and where one would bind I do not guess.")
	case len(q.mentions) > 0 && q.only(ofPlace, ofChain):
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
		if holdAll(q.conds, i) {
			near = append(near, p)
		}
	}
	slices.SortFunc(near, func(a, b facts.AtomPair) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.A.Chain, b.A.Chain), a.A.Number-b.A.Number)
	})
	next = slices.DeleteFunc(next, func(i int) bool { return !holdAll(q.conds, i) })
	p := part{sure: leastSure(Measured, certaintyOf(q.conds))}
	that := ""
	if len(q.conds) > 0 {
		that = " that are " + wordingOf(q.conds)
	}
	if rel.asksClosest() && len(near) > 0 {
		p.add("Closest: %s. Of the residues%s, this is the one closest to %s.", near[0], that, rel.label)
	} else {
		p.add("Within %.1f Å of %s (heavy atoms) there %s %s%s, the nearest first: %s.", cut, rel.label,
			facts.Plural(len(near), "is", "are"), residues(len(near)), that, near)
	}
	if len(next) > 0 {
		p.add(" Next to it in the chain and not counted: %s.", facts.ShortRefs(q.x.Refs(next), 20))
	}
	return p
}

// end is one end of a distance: sites, and those of their atoms that count.
type end struct {
	label string
	sites []int
	atoms []int
}

// distance measures between the two things that a question names.
func (q *query) distance() part {
	ends, problem := q.ends()
	switch {
	case problem != "":
		return refusal("%s", problem)
	case q.relation != nil && q.relation.not || q.anyNot():
		return refusal("%s", q.notUnderstood())
	case len(ends) != 2:
		return refusal("A distance needs two ends; I found %d. Name two residues, a residue and a ligand, or two "+
			"chains.", len(ends))
	}
	return q.between(ends[0], ends[1])
}

// ends are the things that a question names to measure between: residues, ligands, counted segments, or chains.
func (q *query) ends() (ends []end, problem string) {
	mentions, ligands, chains := q.mentions, q.ligands, q.chains
	if rel := q.relation; rel != nil {
		mentions, ligands = slices.Concat(mentions, rel.mentions), slices.Concat(ligands, rel.ligands)
		chains = rel.chains
	}
	if n := len(q.atoms); n > 1 && n != len(mentions) {
		return nil, "I cannot tell which atom belongs to which residue; name one atom per residue."
	}
	for k, m := range mentions {
		sites, problem := q.find(m)
		atom := ""
		if len(q.atoms) > 0 {
			atom = q.atoms[min(k, len(q.atoms)-1)]
		}
		e := q.end("", sites, atom)
		switch {
		case problem != "":
			return nil, problem
		case len(sites) > 1 && m.single():
			return nil, fmt.Sprintf("This residue is in several chains (%s); say which one you mean.",
				q.x.List(sites, 5))
		case len(e.atoms) == 0:
			return nil, fmt.Sprintf("There is no %s with coordinates.", e.label)
		}
		ends = append(ends, e)
	}
	for _, code := range ligands {
		sites, _ := q.ligandSites(item{names: []string{code}})
		ends = append(ends, q.end("", sites, ""))
	}
	for _, c := range q.conds {
		if c.property == ofState && !c.counted {
			return nil, "Say which helix or strand you mean: the first, the last or the longest."
		}
		for k := 0; c.counted && k < len(c.sites); k++ {
			ends = append(ends, q.end("", c.sites[k], ""))
		}
	}
	for _, id := range chains {
		ends = append(ends, q.end("chain "+id, q.chainSites(id), ""))
	}
	return ends, ""
}

// end makes one end of a distance, of one atom of each site if it is named. Without a label it is named by its sites.
func (q *query) end(label string, sites []int, atom string) end {
	e := end{label: cmp.Or(label, q.spanOf(sites)), sites: sites}
	if atom != "" {
		e.label = "atom " + atom + " of " + e.label
	}
	for _, i := range sites {
		for p := q.x.Sites[i].Lo; p < q.x.Sites[i].Hi; p++ {
			if atom == "" || q.x.Atoms[p].Name == atom {
				e.atoms = append(e.atoms, p)
			}
		}
	}
	return e
}

// between says how far two ends are apart: their closest heavy atoms and, of two residues, their centres (CA, or C1' of
// nucleotides).
func (q *query) between(a, b end) part {
	if len(a.atoms)*len(b.atoms) > maxPairs {
		return refusal("These are too large to measure between; name smaller parts.")
	}
	best, at := math.Inf(1), [2]int{}
	for _, p := range a.atoms {
		for _, r := range b.atoms {
			if d := structure.Distance(q.x.Points[p], q.x.Points[r]); d < best {
				best, at = d, [2]int{p, r}
			}
		}
	}
	if math.IsInf(best, 1) {
		return refusal("These have no coordinates to measure between.")
	}
	out, cut := part{sure: Measured}, facts.ContactDistance
	if q.relation != nil {
		cut = q.relation.cut()
	}
	verb := "do not touch"
	if best <= cut {
		verb = "touch"
	}
	pair := q.x.Pair(at[0], at[1])
	out.add("The closest heavy atoms of %s and %s are %s %s and %s %s, %s apart, so they %s (within %.1f Å).", a.label,
		b.label, pair.A, pair.AtomA, pair.B, pair.AtomB, facts.Angstrom(best), verb, cut)
	if len(a.sites) == 1 && len(b.sites) == 1 && len(q.atoms) == 0 {
		u, okU := q.x.Sites[a.sites[0]].Residue.Centre()
		v, okV := q.x.Sites[b.sites[0]].Residue.Centre()
		if okU && okV {
			out.add(" Their centres (CA, or C1' of nucleotides) are %s apart.",
				facts.Angstrom(structure.Distance(u, v)))
		}
	}
	return out
}

// interfaces answers from the facts of pairs of chains that touch. It describes where the chains asked about touch,
// and how much surface they bury.
func (q *query) interfaces() part {
	p := part{sure: Measured}
	for i := range q.f.Interfaces {
		in := &q.f.Interfaces[i]
		a, b := slices.Contains(q.chains, in.A), slices.Contains(q.chains, in.B)
		if len(q.chains) == 1 && !a && !b || len(q.chains) > 1 && !(a && b) {
			continue
		}
		p.add("Chains %s and %s touch with %d and %d residues in %s within 4.5 Å and bury %.0f Å² of surface (both "+
			"sides together): %s and %s. Closest: %s. Hydrogen-bond candidates: %s. Salt bridges: %s.\n", in.A, in.B,
			in.CountA, in.CountB, facts.Quantity(in.Contacts, "residue pair", "residue pairs"), in.Buried, in.ResiduesA,
			in.ResiduesB, in.Closest, in.HBonds, in.Bridges)
	}
	if p.text == "" {
		p.add("No two chains asked about come within 4.5 Å of each other, so there is no interface.")
	}
	p.text = strings.TrimSpace(p.text)
	return p
}

// bondRules say what each kind of bond is called, one and many, and by what rule it is found, since none is measured.
// A salt bridge is that of Barlow and Thornton, J. Mol. Biol. 168, 867 (1983), without histidine and the chain ends.
var bondRules = map[string][3]string{
	"disulfides": {"disulfide", "disulfides", "by distance, SG–SG from 1.8 to 2.5 Å"},
	"salt bridges": {"salt bridge", "salt bridges",
		"ASP or GLU oxygen within 4.0 Å of a LYS or ARG side-chain nitrogen"},
	"hydrogen bonds": {"pair of a donor and an acceptor", "pairs of a donor and an acceptor",
		"candidates of hydrogen bonds by distance alone: N or O of polymers within 3.5 Å, residues next to each " +
			"other left out"},
}

// pairs answers which disulfides, salt bridges or hydrogen-bond candidates have an end in the selection.
func (q *query) pairs(topic string) part {
	list := map[string][]facts.AtomPair{"disulfides": q.f.Disulfides, "salt bridges": q.f.Bridges}[topic]
	if topic == "hydrogen bonds" {
		if q.f.HBonds > maxBonds {
			return refusal("There are %d hydrogen-bond candidates; I list them where there are at most %d.", q.f.HBonds,
				maxBonds)
		}
		list = q.x.HydrogenBonds()
	}
	if topic != "disulfides" && (q.negated || q.anyNot()) {
		return refusal("I list the bonds that there are; which residues have none, please ask by name.")
	}
	passes := q.passes()
	across := len(q.chains) == 2 && q.has["between"]
	list = slices.DeleteFunc(slices.Clone(list), func(p facts.AtomPair) bool {
		a, b := passes(p.A), passes(p.B)
		return !a && !b || across && (p.A.Chain == p.B.Chain || !a || !b)
	})
	p, rule := part{sure: Geometric}, bondRules[topic]
	lead := q.withResidue()
	if across {
		lead = fmt.Sprintf("Between chains %s and %s: ", q.chains[0], q.chains[1])
	}
	p.add("%s%s (%s)", lead, number(len(list), rule[0], rule[1]), rule[2])
	if len(list) > 0 {
		p.add(": %s", list)
	}
	p.text = capital(p.text) + "."
	switch {
	case topic == "disulfides" && len(q.f.Disulfides)+len(q.f.FreeCys) == 0:
		p.add(" There is no CYS.")
	case topic == "disulfides":
		free := slices.DeleteFunc(slices.Clone(q.f.FreeCys), func(r facts.ResidueRef) bool { return !passes(r) })
		p.add(" Not in a disulfide: %s. Close, but longer than a bond: %s.", free, q.f.MaybeSS)
	case topic == "salt bridges" && lead == "" && len(list) == 0:
		of := func(codes ...string) []int {
			return q.sitesThat(func(i int) bool { return q.x.Sites[i].Is(codes) })
		}
		p.add(" There are %d ASP or GLU and %d LYS or ARG.", len(of("ASP", "GLU")), len(of("LYS", "ARG")))
	}
	return p
}
