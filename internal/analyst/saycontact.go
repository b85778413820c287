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

// Answers about what is near what.

// residueContacts lists what the anchor of a relation touches, or says whether named residues touch it.
func (q *query) residueContacts() part {
	rel := q.relation
	if rel == nil || rel.mutual {
		return q.mutualContacts()
	}
	anchors := rel.sites
	if q.conditionOn(ofChain) { // in chain B, what does residue 7 touch
		anchors = slices.DeleteFunc(slices.Clone(anchors), func(i int) bool {
			return slices.ContainsFunc(q.conds, func(c *condition) bool { return c.property == ofChain && !c.holds(i) })
		})
	}
	if len(q.mentions) > 0 {
		return q.touch(q.sitesWhere(q.conds), rel.sites, rel.cut())
	}
	if len(anchors) == 0 {
		return refusal("There is no such residue in that chain.")
	}
	if len(anchors) > 3 && !slices.ContainsFunc(rel.mentions, mention.single) {
		return q.contactsOfSet(anchors)
	}
	var said []string
	var cited []facts.ResidueRef
	for _, i := range facts.Head(anchors, 10) {
		text, refs := q.neighbours(i, rel.cut())
		said, cited = append(said, text), append(cited, refs...)
	}
	if n := len(anchors); n > 10 {
		said = append(said, fmt.Sprintf("%d more residues were asked about; please ask for them separately.", n-10))
	}
	return part{strings.Join(said, "\n"), cited, Measured}
}

// mutualContacts says whether the residues named touch each other.
func (q *query) mutualContacts() part {
	sites := q.sitesWhere(q.conds)
	if len(sites) < 2 || len(q.mentions) == 0 {
		return refusal("I need two residues to say whether they touch each other.")
	}
	cut := facts.ContactDistance
	if q.relation != nil {
		cut = q.relation.cut()
	}
	return q.touch(sites[:1], sites[1:], cut)
}

// touch says of pairs of residues whether they are within a distance.
func (q *query) touch(from, to []int, cut float64) part {
	var said []string
	for _, i := range facts.Head(from, 10) {
		for _, j := range facts.Head(to, 20) {
			p, ok := q.x.Closest(i, j)
			if !ok || i == j || len(said) >= 40 {
				continue
			}
			word := map[bool]string{true: "touch", false: "do not touch"}[p.Distance <= cut]
			said = append(said, fmt.Sprintf("%s and %s %s: their closest heavy atoms (%s and %s) are %s apart", p.A,
				p.B, word, p.AtomA, p.AtomB,
				q.inUnit(p.Distance)))
		}
	}
	if len(said) == 0 {
		return refusal("There are no two residues with coordinates to compare.")
	}
	cited := q.x.Refs(slices.Concat(facts.Head(from, 10), facts.Head(to, 20)))
	return part{fmt.Sprintf("%s (touching: within %.1f Å).", strings.Join(said, "; "), cut), cited, Measured}
}

// contactsOfSet lists the residues outside a set that touch it.
func (q *query) contactsOfSet(anchors []int) part {
	c := q.distanceCondition(q.relation)
	var near []int
	for i := range q.x.Sites {
		if c.holds(i) {
			near = append(near, i)
		}
	}
	text := fmt.Sprintf("Within %.1f Å of %s (%s) %s: %s", q.relation.cut(), q.relation.label, residues(len(anchors)),
		residues(len(near))+facts.Plural(len(near), " is", " are"), facts.OrNone(q.x.List(near, maxListed)))
	return part{text + "; neighbours in the chain are not counted.", q.x.Refs(facts.Head(near, maxListed)), Measured}
}

// neighbours lists what is within a distance of one residue, nearest first; its neighbours in the chain are named
// separately.
func (q *query) neighbours(i int, cut float64) (string, []facts.ResidueRef) {
	var list, polar, bridges []facts.AtomPair
	var next []string
	for _, j := range q.x.Around(i, cut) {
		if q.x.Adjacent(i, j) {
			next = append(next, q.x.Sites[j].Ref.Short())
			continue
		}
		p, _ := q.x.Closest(i, j)
		list = append(list, p)
		bonds, bridge, bridged := q.x.Polar(i, j)
		polar = append(polar, bonds...)
		if bridged {
			bridges = append(bridges, bridge)
		}
	}
	slices.SortStableFunc(list, func(a, b facts.AtomPair) int { return cmp.Compare(a.Distance, b.Distance) })
	cited := []facts.ResidueRef{q.x.Sites[i].Ref}
	if q.relation.words["closest"] && q.relation.radius == 0 {
		list = facts.Head(list, 1)
	}
	var names []string
	for _, p := range facts.Head(list, facts.MaxNear) {
		names = append(names, fmt.Sprintf("%s at %s", p.B, facts.Angstrom(p.Distance)))
		cited = append(cited, p.B)
	}
	text := fmt.Sprintf("Within %.1f Å of %s (heavy atoms, nearest first) %s", cut, q.x.Sites[i].Ref,
		facts.Plural(len(list), "is", "are"))
	if len(names) == 0 {
		text += " no residue besides its neighbours in the chain"
	} else {
		text += fmt.Sprintf(" %s: %s", residues(len(list)), strings.Join(names, ", "))
	}
	if len(next) > 0 {
		text += "; next to it in the chain: " + strings.Join(next, ", ")
	}
	text += "."
	if q.has["hbond"] || len(polar) > 0 {
		text += " Hydrogen-bond candidates (N or O within 3.5 Å): " + facts.OrNone(facts.PairList(polar, 20)) + "."
	}
	if q.has["bridge"] || len(bridges) > 0 {
		text += " Salt bridges (within 4.0 Å): " + facts.OrNone(facts.PairList(bridges, 20)) + "."
	}
	return text, cited
}

// end is one end of a distance: sites and, where one is named, their atom.
type end struct {
	label string
	atoms []int
	sites []int
}

// distance measures between the two things that a question names: residues or atoms, ligands, ends of a chain, chains.
func (q *query) distance() part {
	ends, problem := q.residueEnds()
	for _, more := range []func() ([]end, string){q.ligandEnds, q.terminusEnd, q.segmentEnds, q.chainEnds} {
		if len(ends) >= 2 || problem != "" {
			break
		}
		var found []end
		if found, problem = more(); len(ends)+len(found) <= 2 {
			ends = append(ends, found...)
		}
	}
	switch {
	case problem != "":
		return refusal("%s", problem)
	case len(ends) == 0 && (q.has["nterm"] || q.has["cterm"]):
		return q.size()
	case len(ends) != 2:
		return refusal("A distance needs two ends; I found %d. Name two residues, a residue and a ligand, or two "+
			"chains.", len(ends))
	}
	return q.between(ends[0], ends[1])
}

// residueEnds are the residues a distance is asked between, each with its atom where one is named.
func (q *query) residueEnds() (ends []end, problem string) {
	mentions := slices.Clone(q.mentions)
	if q.relation != nil {
		mentions = append(mentions, q.relation.mentions...)
	}
	// from K48 to K63
	if len(mentions) == 1 && !mentions[0].single() && mentions[0].first == 0 && mentions[0].half == 0 {
		m := mentions[0]
		mentions = []mention{{chain: m.chain, lo: m.lo, hi: m.lo}, {chain: m.chain, lo: m.hi, hi: m.hi}}
	}
	for k, m := range mentions {
		sites, problem := q.find(m)
		if m.chain == "" && len(q.chains) == 1 {
			sites = slices.DeleteFunc(sites, func(i int) bool { return q.x.Sites[i].Ref.Chain != q.chains[0] })
		}
		atom := ""
		switch {
		case problem != "":
			return nil, problem
		case len(q.atoms) == 1:
			atom = q.atoms[0]
		case len(q.atoms) == len(mentions):
			atom = q.atoms[k]
		case len(q.atoms) > 0:
			return nil, "I cannot tell which atom belongs to which residue; name one atom per residue."
		}
		if len(sites) > 1 && m.single() {
			return nil, fmt.Sprintf("Residue %d is in several chains (%s); say which one you mean.", m.lo,
				q.x.List(sites, 5))
		}
		e, problem := q.end(sites, atom)
		if problem != "" {
			return nil, problem
		}
		ends = append(ends, e)
	}
	return ends, ""
}

// ligandEnds are the ligands: one end for each that is named, or all as one end.
func (q *query) ligandEnds() (ends []end, problem string) {
	codes := slices.Clone(q.ligands)
	if q.relation != nil {
		codes = append(codes, q.relation.ligands...)
	}
	if len(codes) == 0 && (q.has["ligand"] || q.has["ion"]) {
		codes = []string{""}
	}
	for _, code := range codes {
		var sites []int
		for _, l := range q.f.Ligands {
			if code == "" && (l.Kind == structure.Ion) == q.has["ion"] || l.Ref.Name == code {
				sites = append(sites, l.Site)
			}
		}
		if len(sites) == 0 {
			return nil, "There is no such ligand in this structure."
		}
		e, _ := q.end(sites, "")
		ends = append(ends, e)
	}
	return ends, ""
}

// terminusEnd is the end of a chain, where something else is the other end.
func (q *query) terminusEnd() ([]end, string) {
	if q.has["nterm"] == q.has["cterm"] {
		return nil, ""
	}
	list := q.polymers()
	if len(list) != 1 {
		return nil, "There are several chains; say which one's end you mean."
	}
	site := list[0].Polymer.Lo
	if q.has["cterm"] {
		site = list[0].Polymer.Hi - 1
	}
	e, problem := q.end([]int{site}, "")
	return []end{e}, problem
}

// segmentEnds are segments of secondary structure that the question counts: the first and the second helix.
func (q *query) segmentEnds() (ends []end, problem string) {
	for _, c := range q.conds {
		if c.property != ofState || c.not {
			continue
		}
		for k := range c.accepts {
			sites := q.sitesWhere([]*condition{{property: ofState, accepts: c.accepts[k : k+1]}})
			if len(sites) == 0 {
				return nil, "Nothing is " + c.wording[k] + "."
			}
			e, _ := q.end(sites, "")
			e.label = strings.TrimPrefix(c.wording[k], "in ")
			ends = append(ends, e)
		}
	}
	return ends, ""
}

// chainEnds are whole chains, where nothing smaller is named.
func (q *query) chainEnds() (ends []end, problem string) {
	if len(q.mentions) > 0 || q.relation != nil && len(q.relation.mentions) > 0 {
		return nil, ""
	}
	ids := q.chains
	if len(ids) == 0 && len(q.ligands) == 0 && len(q.f.Chains) == 2 {
		ids = chainIDs(q.f.Chains)
	}
	for _, id := range ids {
		e, _ := q.end(q.sitesWhere([]*condition{q.chainCondition(item{names: []string{id}})}), "")
		e.label = "chain " + id
		ends = append(ends, e)
	}
	return ends, ""
}

// end makes one end of a distance, of one atom of each site if it is named.
func (q *query) end(sites []int, atom string) (end, string) {
	e := end{sites: sites, label: q.x.List(sites, 4)}
	for _, i := range sites {
		for p := q.x.Sites[i].Lo; p < q.x.Sites[i].Hi; p++ {
			if atom == "" || q.x.Atoms[p].Name == atom {
				e.atoms = append(e.atoms, p)
			}
		}
	}
	if atom != "" {
		e.label = "atom " + atom + " of " + e.label
	}
	if len(e.atoms) == 0 {
		return e, fmt.Sprintf("There is no %s with coordinates.", strings.TrimPrefix(e.label, "atom "))
	}
	return e, ""
}

// between says how far two ends are apart: their closest atoms and, of two residues, their centres.
func (q *query) between(a, b end) part {
	if len(a.atoms)*len(b.atoms) > 100_000_000 {
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
		return refusal("One of these has no coordinates.")
	}
	pair := q.x.Pair(at[0], at[1])
	cited := []facts.ResidueRef{pair.A, pair.B}
	if len(a.atoms) == 1 && len(b.atoms) == 1 {
		return part{fmt.Sprintf("The distance between %s and %s is %s.", a.label, b.label, q.inUnit(best)), cited,
			Measured}
	}
	text := fmt.Sprintf("The closest heavy atoms of %s and %s are %s %s and %s %s, %s apart.", a.label, b.label,
		pair.A, pair.AtomA, pair.B, pair.AtomB, q.inUnit(best))
	if len(a.sites) == 1 && len(b.sites) == 1 {
		first := &q.x.Sites[a.sites[0]]
		u, okU := first.Residue.Centre()
		v, okV := q.x.Sites[b.sites[0]].Residue.Centre()
		if okU && okV {
			centre := map[bool]string{true: "CA", false: "C1'"}[first.Kind == structure.Protein]
			text += fmt.Sprintf(" Their centres (%s) are %s apart.", centre, q.inUnit(structure.Distance(u, v)))
		}
	}
	return part{text, cited, Measured}
}

// interfaces describes where the chains asked about touch.
func (q *query) interfaces() part {
	named := slices.Clone(q.chains)
	if len(q.f.Chains) < 2 {
		return refusal("There is only one polymer chain here, so there is no interface between chains.")
	}
	if q.relation != nil && q.relation.radius > 0 {
		q.radius = q.relation.radius
	}
	if q.radius > 0 {
		return q.acrossWithin(q.radius)
	}
	list := slices.DeleteFunc(slices.Clone(q.f.Interfaces), func(in facts.Interface) bool {
		a, b := slices.Contains(named, in.A), slices.Contains(named, in.B)
		return len(named) == 1 && !a && !b || len(named) > 1 && !(a && b)
	})
	if len(list) == 0 {
		who := "different chains"
		if len(named) > 1 {
			who = "chains " + facts.Join(named, 10)
		}
		return part{text: fmt.Sprintf("No residues of %s come within 4.5 Å of each other, so there is no interface.",
			who), sure: Measured}
	}
	var said []string
	var cited []facts.ResidueRef
	for i := range facts.Head(list, 6) {
		in := &list[i]
		said = append(said, interfaceText(in))
		cited = slices.Concat(cited, facts.Head(in.ResiduesA, 60), facts.Head(in.ResiduesB, 60),
			facts.PairRefs(facts.Head(in.HBonds, 8)), facts.PairRefs(facts.Head(in.Bridges, 8)))
	}
	if len(list) > 6 {
		said = append(said, fmt.Sprintf("%d more pairs of chains touch.", len(list)-6))
	}
	if q.has["affinity"] {
		said = append(said, "How strongly they bind, the facts do not say.")
	}
	sure := Measured
	if list[0].Scores != nil {
		sure = Estimated
	}
	return part{strings.Join(said, "\n"), cited, sure}
}

// interfaceText describes one interface.
func interfaceText(in *facts.Interface) string {
	text := fmt.Sprintf("Chains %s and %s touch with %d and %d residues in %s within 4.5 Å (%d of them between "+
		"buried residues) and bury %.0f Å² "+
		"of surface (both sides together). On chain %s: %s. On chain %s: %s. Closest: %s. Hydrogen-bond candidates: "+
		"%d%s. Salt bridges: %s.",
		in.A, in.B, in.CountA, in.CountB, facts.Quantity(in.Contacts, "residue pair",
			"residue pairs"), in.Core, in.Buried,
		in.A, facts.ShortRefs(in.ResiduesA, 60), in.B, facts.ShortRefs(in.ResiduesB, 60), in.Closest,
		in.HBondN, lead(facts.PairList(in.HBonds, 8)), facts.OrNone(facts.PairList(in.Bridges, 8)))
	if in.Scores != nil {
		text += fmt.Sprintf(" Scores: %s.", in.Scores)
	}
	return text
}

// acrossWithin lists the residues of the chains asked about that are within a distance of another chain.
func (q *query) acrossWithin(cut float64) part {
	var said []string
	var cited []facts.ResidueRef
	for _, c := range q.f.Chains {
		if len(q.chains) > 0 && !slices.Contains(q.chains, c.ID) {
			continue
		}
		var near []int
		for i := c.Polymer.Lo; i < c.Polymer.Hi; i++ {
			if slices.ContainsFunc(q.x.Around(i, cut), func(j int) bool {
				o := &q.x.Sites[j]
				return o.Kind.Polymer() && o.Chain != c.Polymer.Chain && (len(q.chains) < 2 ||
					slices.Contains(q.chains, o.Ref.Chain))
			}) {
				near = append(near, i)
			}
		}
		said = append(said, fmt.Sprintf("chain %s: %s", c.ID, facts.OrNone(facts.ShortRefs(q.x.Refs(near), 60))))
		cited = append(cited, q.x.Refs(facts.Head(near, 60))...)
	}
	return part{fmt.Sprintf("Residues with a heavy atom within %.1f Å of another of these chains: %s.", cut,
		strings.Join(said, "; ")), cited, Measured}
}

// disulfides lists disulfides with an end in the selection, and cysteines outside.
func (q *query) disulfides() part {
	for _, c := range q.conds {
		if c.property == ofName && !c.not && !slices.Contains(c.wording, "CYS") && !slices.Contains(c.wording, "CYX") {
			return refusal("Disulfides and free sulfurs are a matter of cysteines, not of residues that are %s.", c)
		}
	}
	keep := q.keeps()
	bonds, maybe := q.pairs(q.f.Disulfides), q.pairs(q.f.MaybeSS)
	free := slices.DeleteFunc(slices.Clone(q.f.FreeCys), func(r facts.ResidueRef) bool { return !keep(r) })
	text := "There are no disulfides by distance (SG–SG from 1.8 to 2.5 Å)."
	if len(bonds) > 0 {
		text = fmt.Sprintf("%s by distance (SG–SG from 1.8 to 2.5 Å): %s.", facts.Quantity(len(bonds), "disulfide",
			"disulfides"), facts.PairList(bonds, 40))
	}
	if len(maybe) > 0 {
		text += fmt.Sprintf(" Close, but longer than a bond: %s.", facts.PairList(maybe, 20))
	}
	if len(free) > 0 {
		text += fmt.Sprintf(" Not in a disulfide: %s.", facts.RefList(free, 40))
	} else {
		text += " No cysteine is left outside a disulfide."
	}
	cited := slices.Concat(facts.PairRefs(facts.Head(bonds, 40)), facts.PairRefs(facts.Head(maybe, 20)),
		facts.Head(free, 40))
	return part{q.of("With an end that is") + text, cited, Geometric}
}

// saltBridges lists the salt bridges with an end in the selection.
func (q *query) saltBridges() part {
	if q.negated || q.anyNot() && q.only(ofName) {
		return refusal("I list the salt bridges that there are; which residues have none, please ask by name.")
	}
	list := q.pairs(q.f.Bridges)
	rule := " (ASP or GLU oxygen within 4.0 Å of a LYS or ARG side-chain nitrogen)"
	of := q.of("With an end that is")
	if len(list) == 0 {
		return part{text: of + "There are no salt bridges by distance" + rule + ".", sure: Geometric}
	}
	n := len(list)
	if len(q.filter()) == 0 {
		n = q.f.BridgeN
	}
	return part{fmt.Sprintf("%s%s%s: %s.", of, facts.Quantity(n, "salt bridge", "salt bridges"), rule,
		facts.PairList(list, 40)),
		facts.PairRefs(facts.Head(list, 40)), Geometric}
}

// hydrogenBonds counts the candidates of the structure, or lists those with an end in the selection.
func (q *query) hydrogenBonds() part {
	rule := "a donor and an acceptor (N or O of polymers, within 3.5 Å, residues next to each other left out) that " +
		"may share a hydrogen. " +
		"These are candidates by distance alone; angles and hydrogens are not looked at."
	if len(q.filter()) == 0 {
		return part{text: fmt.Sprintf("There are %d pairs of %s", q.f.HBonds, rule), sure: Geometric}
	}
	list := q.pairs(q.x.HydrogenBonds())
	text := fmt.Sprintf("%sThere are %s of %s", q.of("With an end that is"), facts.Quantity(len(list), "pair",
		"pairs"), rule)
	if len(list) > 0 {
		text += " They are: " + facts.PairList(list, 30) + "."
	}
	return part{text, facts.PairRefs(facts.Head(list, 30)), Geometric}
}
