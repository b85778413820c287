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

// maxPairs bounds the pairs of atoms or residues that one answer compares.
const maxPairs = 20_000_000

// nearby returns the closest pair of atoms of each polymer residue within a distance of the anchors, the nearest first,
// and separately the neighbours of the anchors in the chain. B is the atom of the anchor. Filter limits the residues.
func (q *query) nearby(anchors []int, cut float64, filter []*condition) (near []facts.AtomPair, next []int) {
	best := map[int]facts.AtomPair{}
	for _, a := range anchors {
		for _, i := range q.x.Around(a, cut) {
			p, ok := q.x.Closest(i, a)
			if old, seen := best[i]; !ok || !q.x.Sites[i].Kind.Polymer() || slices.Contains(anchors, i) ||
				!holdAll(filter, i) || seen && old.Distance <= p.Distance {
				continue
			}
			if q.x.Adjacent(a, i) {
				next = append(next, i)
				continue
			}
			best[i] = p
		}
	}
	slices.Sort(next)
	next = slices.Compact(next)
	for i, p := range best {
		if !slices.Contains(next, i) {
			near = append(near, p)
		}
	}
	slices.SortFunc(near, func(a, b facts.AtomPair) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.A.Chain, b.A.Chain), a.A.Number-b.A.Number)
	})
	return near, next
}

// contacts answers "what does Trp6 touch", "what surrounds the zinc" and "do W6 and P19 touch". It lists what the
// anchor of the relation touches, or reports whether named residues touch it.
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
	case len(q.mentions) > 0:
		return q.distance()
	case len(rel.sites) > 400:
		return refusal("These are too many residues to describe; name smaller parts.")
	}
	near, next := q.nearby(rel.sites, rel.cut(), q.conds)
	if rel.words["closest"] && rel.radius == 0 {
		near = facts.Head(near, 1)
	}
	cited := q.x.Refs(facts.Head(rel.sites, 3))
	var names []string
	for _, p := range facts.Head(near, facts.MaxNear) {
		names = append(names, fmt.Sprintf("%s at %s", p.A, facts.Angstrom(p.Distance)))
		cited = append(cited, p.A)
	}
	filter := ""
	if len(q.conds) > 0 {
		filter = " that are " + wordingOf(q.conds)
	}
	text := fmt.Sprintf("Within %.1f Å of %s (heavy atoms, nearest first) there are %s%s: %s", rel.cut(), rel.label,
		residues(len(near)), filter, facts.OrNone(strings.Join(names, ", ")))
	if len(next) > 0 {
		text += "; next to it in the chain: " + facts.ShortRefs(q.x.Refs(next), 20)
	}
	text += "."
	if len(near) > 0 {
		text += fmt.Sprintf(" Closest: %s.", near[0])
	}
	return part{text, cited, leastSure(Measured, certaintyOf(q.conds))}
}

// nearest answers which of the selected residues is closest to something.
func (q *query) nearest() part {
	rel := q.relation
	chosen := q.sitesWhere(q.conds...)
	if len(rel.sites)*len(chosen) > maxPairs {
		return refusal("These are too many residues to compare; name smaller parts.")
	}
	chosen = slices.DeleteFunc(chosen, func(i int) bool { return slices.Contains(rel.sites, i) })
	best := facts.AtomPair{Distance: math.Inf(1)}
	for _, i := range chosen {
		for _, a := range rel.sites {
			if p, ok := q.x.Closest(i, a); ok && p.Distance < best.Distance {
				best = p
			}
		}
	}
	if math.IsInf(best.Distance, 1) {
		return part{text: "No residue is " + wordingOf(q.conds) + ".", sure: Measured}
	}
	what := "The residue closest to "
	if len(q.conds) > 0 {
		what = "The residue that is " + wordingOf(q.conds) + " and closest to "
	}
	return part{fmt.Sprintf("%s%s is %s: its %s is %s from %s of %s.", what, rel.label, best.A, best.AtomA,
		facts.Angstrom(best.Distance), best.AtomB, best.B), []facts.ResidueRef{best.A, best.B}, certaintyOf(q.conds)}
}

// end is one end of a distance: sites, of which only the atoms of one name count where it is given.
type end struct {
	label string
	sites []int
	atoms []int
}

// distance measures between the two things that a question names, or from one to each of several.
func (q *query) distance() part {
	ends, problem := q.ends()
	switch {
	case problem != "":
		return refusal("%s", problem)
	case q.relation != nil && (q.relation.far || q.relation.not) || q.anyNot():
		return refusal("%s", q.notUnderstood())
	case len(ends) != 2:
		return refusal("A distance needs two ends; I found %d. Name two residues, a residue and a ligand, or two "+
			"chains.", len(ends))
	}
	text, cited := q.between(ends[0], ends[1])
	return part{text, cited, Measured}
}

// ends are the things that a question names to measure between: residues, ligands, counted segments, or chains.
func (q *query) ends() (ends []end, problem string) {
	mentions := slices.Clone(q.mentions)
	var ligands []string
	if q.relation != nil {
		mentions, ligands = append(mentions, q.relation.mentions...), q.relation.ligands
	}
	if m := mentions; len(m) == 1 && m[0].isRange() { // from K48 to K63
		mentions = []mention{
			{chain: m[0].chain, lo: m[0].lo, hi: m[0].lo}, {chain: m[0].chain, lo: m[0].hi, hi: m[0].hi},
		}
	}
	if n := len(q.atoms); n > 1 && n != len(mentions) {
		return nil, "I cannot tell which atom belongs to which residue; name one atom per residue."
	}
	for k, m := range mentions {
		e, problem := q.residueEnd(m, k)
		if problem != "" {
			return nil, problem
		}
		ends = append(ends, e)
	}
	for _, code := range slices.Concat(q.ligands, ligands) {
		sites, _ := q.ligandSites(item{names: []string{code}})
		ends = append(ends, q.end("", sites, ""))
	}
	for _, c := range q.conds {
		for k := range c.accepts {
			sites := q.sitesWhere(&condition{accepts: c.accepts[k : k+1]})
			if c.property == ofState && c.segments == nil {
				return nil, "Say which helix or strand you mean: the first, the last or the longest."
			}
			if c.property == ofState && len(sites) > 0 {
				ends = append(ends, q.end(strings.TrimPrefix(c.wording[k], "in "), sites, ""))
			}
		}
	}
	if len(ends) > 0 {
		return ends, ""
	}
	ids := q.chains
	if len(ids) == 0 && len(q.f.Chains) == 2 {
		ids = chainIDs(q.f.Chains)
	}
	for _, id := range ids {
		ends = append(ends, q.end("chain "+id, q.chainSites(id), ""))
	}
	return ends, ""
}

// residueEnd is the residue that the kth mention of a distance names, with its atom where one is named.
func (q *query) residueEnd(m mention, k int) (e end, problem string) {
	sites, problem := q.find(m)
	if m.chain == "" && len(q.chains) == 1 {
		sites = slices.DeleteFunc(sites, func(i int) bool { return q.x.Sites[i].Ref.Chain != q.chains[0] })
	}
	atom := ""
	if len(q.atoms) > 0 {
		atom = q.atoms[min(k, len(q.atoms)-1)]
	}
	switch e = q.end("", sites, atom); {
	case problem != "":
		return e, problem
	case len(sites) > 1 && m.single():
		return e, fmt.Sprintf("This residue is in several chains (%s); say which one you mean.", q.x.List(sites, 5))
	case len(e.atoms) == 0:
		return e, fmt.Sprintf("There is no %s with coordinates.", e.label)
	}
	return e, ""
}

// end makes one end of a distance, of one atom of each site if it is named. Without a label it is named by its sites.
func (q *query) end(label string, sites []int, atom string) end {
	e := end{label: cmp.Or(label, q.x.List(sites, 4)), sites: sites}
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
// nucleotides), in Å or nm.
func (q *query) between(a, b end) (string, []facts.ResidueRef) {
	best, at := math.Inf(1), [2]int{}
	for _, p := range a.atoms {
		for _, r := range b.atoms[:min(len(b.atoms), maxPairs/max(1, len(a.atoms)))] {
			if d := structure.Distance(q.x.Points[p], q.x.Points[r]); d < best {
				best, at = d, [2]int{p, r}
			}
		}
	}
	if math.IsInf(best, 1) || len(a.atoms)*len(b.atoms) > maxPairs {
		return "These have no coordinates, or are too large to measure between.", nil
	}
	pair := q.x.Pair(at[0], at[1])
	cited := []facts.ResidueRef{pair.A, pair.B}
	if len(a.atoms) == 1 && len(b.atoms) == 1 {
		return fmt.Sprintf("The distance between %s and %s is %s.", a.label, b.label, q.inUnit(best)), cited
	}
	cut := facts.ContactDistance
	if q.relation != nil {
		cut = q.relation.cut()
	}
	text := fmt.Sprintf(
		"The closest heavy atoms of %s and %s are %s %s and %s %s, %s apart, so they %s (within %.1f Å).",
		a.label, b.label, pair.A, pair.AtomA, pair.B, pair.AtomB, q.inUnit(best),
		map[bool]string{true: "touch", false: "do not touch"}[best <= cut], cut)
	if len(a.sites) == 1 && len(b.sites) == 1 {
		first := &q.x.Sites[a.sites[0]]
		u, okU := first.Residue.Centre()
		v, okV := q.x.Sites[b.sites[0]].Residue.Centre()
		if okU && okV {
			centre := map[bool]string{true: "CA", false: "C1'"}[first.Kind == structure.Protein]
			text += fmt.Sprintf(" Their centres (%s) are %s apart.", centre, q.inUnit(structure.Distance(u, v)))
		}
	}
	return text, cited
}

// interfaces answers from the facts of pairs of chains that touch. It describes where the chains asked about touch,
// and how much surface they bury.
func (q *query) interfaces() part {
	if len(q.f.Chains) < 2 {
		return refusal("There is only one polymer chain here, so there is no interface between chains.")
	}
	list := slices.DeleteFunc(slices.Clone(q.f.Interfaces), func(in facts.Interface) bool {
		a, b := slices.Contains(q.chains, in.A), slices.Contains(q.chains, in.B)
		return len(q.chains) == 1 && !a && !b || len(q.chains) > 1 && !(a && b)
	})
	if len(list) == 0 {
		return part{text: "No residues of these chains come within 4.5 Å of each other, so there is no interface.",
			sure: Measured}
	}
	var sentences []string
	var cited []facts.ResidueRef
	for i := range facts.Head(list, 6) {
		in := &list[i]
		sentences = append(sentences,
			fmt.Sprintf("Chains %s and %s touch with %d and %d residues in %s within 4.5 Å (%d "+
				"of them between buried residues) and bury %.0f Å² of surface (both sides together). On chain %s: "+
				"%s. On "+
				"chain %s: %s. Closest: %s. Hydrogen-bond candidates: %d%s. Salt bridges: %s.", in.A, in.B, in.CountA,
				in.CountB, facts.Quantity(in.Contacts, "residue pair", "residue pairs"), in.Core, in.Buried,
				in.A, facts.ShortRefs(in.ResiduesA, 60), in.B, facts.ShortRefs(in.ResiduesB, 60), in.Closest,
				in.HBondN, lead(facts.PairList(in.HBonds, 8)), facts.OrNone(facts.PairList(in.Bridges, 8))))
		cited = slices.Concat(cited, facts.Head(in.ResiduesA, 60), facts.Head(in.ResiduesB, 60),
			facts.PairRefs(facts.Head(in.HBonds, 8)), facts.PairRefs(facts.Head(in.Bridges, 8)))
	}
	if len(list) > 6 {
		sentences = append(sentences, fmt.Sprintf("%d more pairs of chains touch.", len(list)-6))
	}
	return part{strings.Join(sentences, "\n"), cited, Measured}
}

// pairs answers which disulfides, salt bridges or hydrogen-bond candidates have an end in the selection.
func (q *query) pairs(topic string) part {
	rule, one, list, total := " (ASP or GLU oxygen within 4.0 Å of a LYS or ARG side-chain nitrogen)", "salt bridge",
		q.f.Bridges, q.f.BridgeN
	switch topic {
	case "disulfides":
		rule, one, list, total = " by distance (SG–SG from 1.8 to 2.5 Å)", "disulfide", q.f.Disulfides,
			len(q.f.Disulfides)
	case "hydrogen bonds":
		rule, one, list = " of a donor and an acceptor (N or O of polymers within 3.5 Å, residues next to each other "+
			"left out). These are candidates by distance alone; angles and hydrogens are not looked at", "pair", nil
		if total = q.f.HBonds; len(q.filter()) > 0 {
			list = q.x.HydrogenBonds()
		}
	}
	if topic != "disulfides" && (q.negated || q.anyNot()) {
		return refusal("I list the bonds that there are; which residues have none, please ask by name.")
	}
	passes := q.passes()
	list = slices.DeleteFunc(slices.Clone(list), func(p facts.AtomPair) bool {
		across := len(q.chains) == 2 && q.has["between"]
		return !passes(p.A) && !passes(p.B) || across && (p.A.Chain == p.B.Chain || !passes(p.A) || !passes(p.B))
	})
	if len(q.filter()) > 0 {
		total = len(list)
	}
	text := fmt.Sprintf("There are no %ss%s.", one, rule)
	if total > 0 {
		text = fmt.Sprintf("%s%s: %s.", facts.Quantity(total, one, one+"s"), rule,
			cmp.Or(facts.PairList(list, 40), "not listed without a filter"))
	}
	cited := facts.PairRefs(facts.Head(list, 40))
	if topic == "disulfides" {
		free, close := q.f.FreeCys, facts.OrNone(facts.PairList(q.f.MaybeSS, 20))
		free = slices.DeleteFunc(slices.Clone(free), func(r facts.ResidueRef) bool { return !passes(r) })
		text += fmt.Sprintf(" Not in a disulfide: %s. Close, but longer than a bond: %s.",
			facts.OrNone(facts.RefList(free, 40)), close)
		cited = append(cited, facts.Head(free, 40)...)
	}
	return part{q.withResidue() + text, cited, Geometric}
}
