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

func (q *query) residueContacts() part {
	var said []string
	var cited []facts.ResidueRef
	cut := facts.ContactDistance
	if q.radius > 0 {
		cut = q.radius
	}
	if len(q.residues) > 1 && q.has["contact"] && !q.has["which"] && !q.has["what"] && !q.has["howmany"] && !q.has["list"] {
		return q.touch(cut)
	}
	for _, i := range facts.Head(q.sites(), 10) {
		text, refs := q.neighbours(i, cut)
		said, cited = append(said, text), append(cited, refs...)
	}
	if n := len(q.sites()); n > 10 {
		said = append(said, fmt.Sprintf("%d more residues were asked about; ask for them apart.", n-10))
	}
	return part{strings.Join(said, "\n"), cited, Measured}
}

// touch says whether the first residue named touches each of the others.
func (q *query) touch(cut float64) part {
	sites := q.sites()
	var said []string
	for _, j := range facts.Head(sites[1:], 20) {
		p, ok := q.x.Closest(sites[0], j)
		if !ok {
			continue
		}
		word := map[bool]string{true: "touch", false: "do not touch"}[p.Distance <= cut]
		said = append(said, fmt.Sprintf("%s and %s %s: their closest heavy atoms (%s and %s) are %s apart", p.A, p.B, word, p.AtomA, p.AtomB, facts.Angstrom(p.Distance)))
	}
	if len(said) == 0 {
		return no("There are no two residues with coordinates to compare.")
	}
	return part{fmt.Sprintf("%s (touching: within %.1f Å).", strings.Join(said, "; "), cut), q.x.Refs(facts.Head(sites, 21)), Measured}
}

// neighbours lists what is within the cut of one residue, nearest first, those next in the chain apart.
func (q *query) neighbours(i int, cut float64) (string, []facts.ResidueRef) {
	type near struct {
		site int
		pair facts.AtomPair
	}
	var list []near
	var next []string
	var polar, bridges []facts.AtomPair
	for _, j := range q.x.Around(i, cut) {
		if q.x.Adjacent(i, j) {
			next = append(next, q.x.Sites[j].Ref.Short())
			continue
		}
		p, _ := q.x.Closest(i, j)
		list = append(list, near{j, p})
		bonds, bridge, bridged := q.x.Polar(i, j)
		polar = append(polar, bonds...)
		if bridged {
			bridges = append(bridges, bridge)
		}
	}
	slices.SortStableFunc(list, func(a, b near) int { return cmp.Compare(a.pair.Distance, b.pair.Distance) })
	cited := []facts.ResidueRef{q.x.Sites[i].Ref}
	if q.has["closest"] && !q.has["@radius"] {
		list = facts.Head(list, 1)
	}
	var names []string
	for _, n := range facts.Head(list, facts.MaxNear) {
		names = append(names, fmt.Sprintf("%s at %s", n.pair.B, facts.Angstrom(n.pair.Distance)))
		cited = append(cited, n.pair.B)
	}
	text := fmt.Sprintf("Within %.1f Å of %s (heavy atoms, nearest first) %s", cut, q.x.Sites[i].Ref, facts.Plural(len(list), "is", "are"))
	if len(names) == 0 {
		text += " no residue besides its neighbours in the chain"
	} else {
		text += fmt.Sprintf(" %s: %s", facts.Quantity(len(list), "residue", "residues"), strings.Join(names, ", "))
	}
	if len(next) > 0 {
		text += fmt.Sprintf("; next to it in the chain: %s", strings.Join(next, ", "))
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

// group is a set of atoms that distances are taken from.
type group struct {
	label string
	atoms []int
	sites []int
}

func (q *query) distance() part {
	if len(q.residues) == 0 && len(q.ligands) == 0 && (q.has["nterm"] || q.has["cterm"]) {
		return q.size()
	}
	groups, problem := q.residueEnds()
	for _, more := range []func() ([]group, string){q.ligandEnds, q.terminus, q.chainEnds} {
		if len(groups) >= 2 || problem != "" {
			break
		}
		var found []group
		if found, problem = more(); len(groups)+len(found) <= 2 {
			groups = append(groups, found...)
		}
	}
	switch {
	case problem != "":
		return no("%s", problem)
	case len(groups) != 2:
		return no("A distance needs two ends; I found %d. Name two residues, a residue and a ligand, or two chains.", len(groups))
	}
	return q.between(groups[0], groups[1])
}

// residueEnds are the residues a distance is asked between, each with its atom where one is named.
func (q *query) residueEnds() (groups []group, problem string) {
	mentions := q.residues
	if len(mentions) == 1 && !mentions[0].single() && mentions[0].first == 0 { // from K48 to K63
		m := mentions[0]
		mentions = []mention{{chain: m.chain, lo: m.lo, hi: m.lo}, {chain: m.chain, lo: m.hi, hi: m.hi}}
	}
	for k, m := range mentions {
		sites, problem := q.find(m)
		if problem != "" {
			return nil, problem
		}
		atom := ""
		switch {
		case len(q.atoms) == 1:
			atom = q.atoms[0]
		case len(q.atoms) == len(mentions):
			atom = q.atoms[k]
		case len(q.atoms) > 0:
			return nil, "I cannot tell which atom belongs to which residue; name one atom per residue."
		}
		if len(sites) > 1 && m.single() {
			return nil, fmt.Sprintf("Residue %d is in several chains (%s); say which one you mean.", m.lo, q.x.List(sites, 5))
		}
		g, problem := q.group(sites, atom)
		if problem != "" {
			return nil, problem
		}
		groups = append(groups, g)
	}
	return groups, ""
}

// ligandEnds are the ligands: one end for each that is named, or all as one end.
func (q *query) ligandEnds() (groups []group, problem string) {
	if len(q.ligands) == 0 && !q.has["ligand"] {
		return nil, ""
	}
	codes := q.ligands
	if len(codes) == 0 {
		codes = []string{""}
	}
	for _, code := range codes {
		var sites []int
		for _, l := range q.f.Ligands {
			if code == "" || l.Ref.Name == code {
				sites = append(sites, l.Site)
			}
		}
		if len(sites) == 0 {
			return nil, "There is no such ligand in this structure."
		}
		g, _ := q.group(sites, "")
		groups = append(groups, g)
	}
	return groups, ""
}

// terminus is the end of a chain, beside a residue or a ligand.
func (q *query) terminus() ([]group, string) {
	if q.has["nterm"] == q.has["cterm"] {
		return nil, ""
	}
	bare := *q
	bare.residues = nil
	sites := bare.sites()
	if len(sites) != 1 {
		return nil, "There are several chains; say which one's end you mean."
	}
	g, problem := q.group(sites, "")
	return []group{g}, problem
}

// chainEnds are whole chains, where nothing smaller is named.
func (q *query) chainEnds() (groups []group, problem string) {
	if len(q.residues) > 0 || len(q.ligands) > 0 && len(q.chains) == 0 {
		return nil, ""
	}
	for _, r := range q.runs() {
		sites := make([]int, 0, r.Hi-r.Lo)
		for i := r.Lo; i < r.Hi; i++ {
			sites = append(sites, i)
		}
		g, _ := q.group(sites, "")
		g.label = "chain " + q.x.Structure.Chains[r.Chain].ID
		groups = append(groups, g)
	}
	return groups, ""
}

func (q *query) group(sites []int, atom string) (group, string) {
	g := group{sites: sites, label: q.x.List(sites, 4)}
	for _, i := range sites {
		for p := q.x.Sites[i].Lo; p < q.x.Sites[i].Hi; p++ {
			if atom == "" || q.x.Atoms[p].Name == atom {
				g.atoms = append(g.atoms, p)
			}
		}
	}
	if atom != "" {
		g.label = "atom " + atom + " of " + g.label
	}
	if len(g.atoms) == 0 {
		return g, fmt.Sprintf("There is no %s with coordinates.", strings.TrimPrefix(g.label, "atom "))
	}
	return g, ""
}

func (q *query) between(a, b group) part {
	length := facts.Angstrom
	if q.has["nm"] {
		length = func(d float64) string { return fmt.Sprintf("%.3f nm", d/10) }
	}
	points := make([]structure.Vec, len(b.atoms))
	for i, p := range b.atoms {
		points[i] = q.x.Points[p]
	}
	if len(a.atoms)*len(points) > 100_000_000 {
		return no("These are too large to measure between; name smaller parts.")
	}
	best, at := math.Inf(1), facts.AtomPair{}
	for _, p := range a.atoms {
		for i, v := range points {
			if d := structure.Distance(q.x.Points[p], v); d < best {
				best, at = d, q.x.Pair(p, b.atoms[i])
			}
		}
	}
	if math.IsInf(best, 1) {
		return no("One of these has no coordinates.")
	}
	cited := []facts.ResidueRef{at.A, at.B}
	if len(a.atoms) == 1 && len(b.atoms) == 1 {
		return part{fmt.Sprintf("The distance between %s and %s is %s.", a.label, b.label, length(best)), cited, Measured}
	}
	text := fmt.Sprintf("The closest heavy atoms of %s and %s are %s %s and %s %s, %s apart.", a.label, b.label, at.A, at.AtomA, at.B, at.AtomB, length(best))
	if len(a.sites) == 1 && len(b.sites) == 1 {
		u, okU := q.x.Sites[a.sites[0]].Residue.Centre()
		v, okV := q.x.Sites[b.sites[0]].Residue.Centre()
		if okU && okV {
			text += fmt.Sprintf(" Their centres (%s) are %s apart.", centreName(q.x.Sites[a.sites[0]].Kind), length(structure.Distance(u, v)))
		}
	}
	return part{text, cited, Measured}
}

func centreName(k structure.Kind) string {
	if k == structure.Protein {
		return "CA"
	}
	return "C1'"
}

func (q *query) interfaces() part {
	if len(q.f.Chains) < 2 {
		return no("There is only one polymer chain here, so there is no interface between chains.")
	}
	if q.radius > 0 {
		return q.acrossWithin(q.radius)
	}
	var list []facts.Interface
	for _, in := range q.f.Interfaces {
		a, b := slices.Contains(q.chains, in.A), slices.Contains(q.chains, in.B)
		if len(q.chains) == 0 || len(q.chains) == 1 && (a || b) || a && b {
			list = append(list, in)
		}
	}
	if len(list) == 0 {
		return part{text: fmt.Sprintf("No residues of %s come within 4.5 Å of each other, so there is no interface.", map[bool]string{true: "chains " + facts.Join(q.chains, 10), false: "different chains"}[len(q.chains) > 1]), sure: Measured}
	}
	var said []string
	var cited []facts.ResidueRef
	for _, in := range facts.Head(list, 6) {
		text := fmt.Sprintf("Chains %s and %s touch with %d and %d residues in %s within 4.5 Å (%d of them between buried residues) and bury %.0f Å² of surface (both sides together). On chain %s: %s. On chain %s: %s. Closest: %s. Hydrogen-bond candidates: %d%s. Salt bridges: %s.",
			in.A, in.B, in.CountA, in.CountB, facts.Quantity(in.Contacts, "residue pair", "residue pairs"), in.Core, in.Buried,
			in.A, facts.ShortRefs(in.ResiduesA, 60), in.B, facts.ShortRefs(in.ResiduesB, 60), in.Closest, in.HBondN, lead(facts.PairList(in.HBonds, 8)), facts.OrNone(facts.PairList(in.Bridges, 8)))
		if in.Scores != nil {
			text += fmt.Sprintf(" Scores: %s.", in.Scores)
		}
		said = append(said, text)
		cited = append(cited, facts.Head(in.ResiduesA, 60)...)
		cited = append(cited, facts.Head(in.ResiduesB, 60)...)
		cited = append(cited, facts.PairRefs(append(facts.Head(in.HBonds, 8), facts.Head(in.Bridges, 8)...))...)
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

// acrossWithin lists the residues of the chains asked about that come as near to another of them as the question says.
func (q *query) acrossWithin(cut float64) part {
	runs, others := q.runs(), q.runs()
	if len(runs) < 2 { // one chain is named: near any other
		others = q.x.Polymers
	}
	var said []string
	var cited []facts.ResidueRef
	for _, r := range runs {
		var near []int
		for i := r.Lo; i < r.Hi; i++ {
			if slices.ContainsFunc(q.x.Around(i, cut), func(j int) bool {
				return slices.ContainsFunc(others, func(o facts.Polymer) bool { return o != r && o.Lo <= j && j < o.Hi })
			}) {
				near = append(near, i)
			}
		}
		said = append(said, fmt.Sprintf("chain %s: %s", q.x.Structure.Chains[r.Chain].ID, facts.OrNone(facts.ShortRefs(q.x.Refs(near), 60))))
		cited = append(cited, q.x.Refs(facts.Head(near, 60))...)
	}
	return part{fmt.Sprintf("Residues with a heavy atom within %.1f Å of another of these chains: %s.", cut, strings.Join(said, "; ")), cited, Measured}
}

func lead(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func (q *query) ligandList() part {
	if len(q.ligands) > 0 {
		return q.hasLigand()
	}
	var ligands, ions []string
	var cited []facts.ResidueRef
	for _, l := range q.f.Ligands {
		name := fmt.Sprintf("%s (%s)", l.Ref, facts.Quantity(l.Atoms, "heavy atom", "heavy atoms"))
		if l.Name != "" {
			name = fmt.Sprintf("%s, %s (%s)", l.Ref, l.Name, facts.Quantity(l.Atoms, "heavy atom", "heavy atoms"))
		}
		if l.Kind == structure.Ion {
			ions = append(ions, l.Ref.String())
		} else {
			ligands = append(ligands, name)
		}
		cited = append(cited, l.Ref)
	}
	of := func(list []string, one, many string) string {
		if len(list) == 0 {
			return "no " + many
		}
		return facts.Quantity(len(list), one, many) + ": " + facts.Join(list, 30)
	}
	return part{fmt.Sprintf("The structure holds %s; %s; and %s.", of(ligands, "ligand", "ligands"), of(ions, "ion", "ions"), facts.Quantity(q.f.Waters, "water molecule", "water molecules")), facts.Head(cited, 60), Measured}
}

// hasLigand says whether the ligands named are there.
func (q *query) hasLigand() part {
	var said []string
	var cited []facts.ResidueRef
	for _, code := range q.ligands {
		var refs []facts.ResidueRef
		for _, l := range q.f.Ligands {
			if l.Ref.Name == code {
				refs = append(refs, l.Ref)
			}
		}
		if len(refs) == 0 {
			said = append(said, fmt.Sprintf("There is no %s in this structure.", code))
		} else {
			said, cited = append(said, fmt.Sprintf("%s is there %s: %s.", code, facts.Quantity(len(refs), "time", "times"), facts.RefList(refs, 30))), append(cited, facts.Head(refs, 30)...)
		}
	}
	return part{strings.Join(said, " "), cited, Measured}
}

func (q *query) ligandSurroundings() part {
	var said []string
	var cited []facts.ResidueRef
	shown := 0
	for i := range q.f.Ligands {
		l := &q.f.Ligands[i]
		switch {
		case len(q.ligands) > 0 && !slices.Contains(q.ligands, l.Ref.Name):
			continue
		case len(q.ligands) == 0 && !q.has["ion"] && l.Kind == structure.Ion && q.anyMolecule():
			continue
		case len(q.ligands) == 0 && q.has["ion"] && !q.has["ligand"] && l.Kind != structure.Ion:
			continue
		}
		if shown++; shown > 5 {
			continue
		}
		text, refs := q.surroundings(l)
		said, cited = append(said, text), append(cited, refs...)
	}
	switch {
	case shown > 5:
		said = append(said, fmt.Sprintf("%d more ligands were not spoken of; name the one you mean.", shown-5))
	case shown == 0 && len(q.ligands) > 0:
		return no("There is no %s in this structure, and where one would bind I do not guess.", facts.Join(q.ligands, 5))
	case shown == 0:
		return no("There is no ligand in this structure, so what binds one cannot be seen. Pockets found by geometry can be asked for.")
	}
	return part{strings.Join(said, "\n"), cited, Measured}
}

func (q *query) anyMolecule() bool {
	return slices.ContainsFunc(q.f.Ligands, func(l facts.Ligand) bool { return l.Kind != structure.Ion })
}

func (q *query) surroundings(l *facts.Ligand) (string, []facts.ResidueRef) {
	cut, near := facts.ContactDistance, l.Neighbours
	if q.radius > 0 {
		cut, near = q.radius, nil
		for _, j := range q.x.Around(l.Site, cut) {
			if q.x.Sites[j].Kind.Polymer() {
				p, _ := q.x.Closest(j, l.Site)
				near = append(near, facts.Neighbour{Residue: q.x.Sites[j].Ref, Atom: p.AtomA, Ligand: p.AtomB, Distance: p.Distance})
			}
		}
		slices.SortStableFunc(near, func(a, b facts.Neighbour) int { return cmp.Compare(a.Distance, b.Distance) })
	}
	cited := []facts.ResidueRef{l.Ref}
	if len(near) == 0 {
		return fmt.Sprintf("No residue comes within %.1f Å of %s.", cut, l.Ref), cited
	}
	var names []string
	for _, n := range facts.Head(near, facts.MaxNear) {
		names = append(names, fmt.Sprintf("%s at %s", n.Residue, facts.Angstrom(n.Distance)))
		cited = append(cited, n.Residue)
	}
	total := len(near)
	if q.radius == 0 {
		total = l.Count
	}
	text := fmt.Sprintf("Within %.1f Å of %s (heavy atoms, nearest first) %s: %s. Closest: %s %s to its %s, %s.", cut, l.Ref, facts.Quantity(total, "residue is", "residues are"), strings.Join(names, ", "), near[0].Residue, near[0].Atom, near[0].Ligand, facts.Angstrom(near[0].Distance))
	return text + " Hydrogen-bond candidates: " + facts.OrNone(facts.PairList(l.Polar, 10)) + ".", cited
}

func (q *query) affinity() part {
	a := q.f.Affinity
	if a == nil {
		return no("No affinity was computed for this structure, and coordinates alone do not give one.")
	}
	return part{text: fmt.Sprintf("The model estimates a probability of %.3f that the ligand binds, and an affinity value of %.3f (log10 of an IC50 in µM, about %.3g µM; the lower, the tighter). This is an estimate, not a measurement.", a.Probability, a.Value, math.Pow(10, a.Value)), sure: Estimated}
}

func (q *query) disulfides() part {
	for _, n := range q.names {
		if n != "CYS" && n != "CYX" {
			return no("Disulfides and free sulfurs are a matter of cysteines, not of %s.", n)
		}
	}
	keep := func(r facts.ResidueRef) bool {
		if len(q.residues) > 0 {
			return slices.ContainsFunc(q.sites(), func(i int) bool { return q.x.Sites[i].Ref == r })
		}
		return len(q.chains) == 0 || slices.Contains(q.chains, r.Chain)
	}
	pick := func(list []facts.AtomPair) (out []facts.AtomPair) {
		for _, p := range list {
			if keep(p.A) || keep(p.B) {
				out = append(out, p)
			}
		}
		return out
	}
	bonds, maybe := pick(q.f.Disulfides), pick(q.f.MaybeSS)
	free := slices.DeleteFunc(slices.Clone(q.f.FreeCys), func(r facts.ResidueRef) bool { return !keep(r) })
	text := "There are no disulfides by distance (SG–SG from 1.8 to 2.5 Å)."
	if len(bonds) > 0 {
		text = fmt.Sprintf("%s by distance (SG–SG from 1.8 to 2.5 Å): %s.", facts.Quantity(len(bonds), "disulfide", "disulfides"), facts.PairList(bonds, 40))
	}
	if len(maybe) > 0 {
		text += fmt.Sprintf(" Close, but longer than a bond: %s.", facts.PairList(maybe, 20))
	}
	if len(free) > 0 {
		text += fmt.Sprintf(" Not in a disulfide: %s.", facts.RefList(free, 40))
	} else {
		text += " No cysteine is left outside a disulfide."
	}
	if sites := q.sites(); len(sites) > 0 {
		text = fmt.Sprintf("Looking at those with an end in %s: %s", facts.Span(q.x.Sites[sites[0]].Ref, q.x.Sites[sites[len(sites)-1]].Ref), text)
	}
	return part{text, append(facts.PairRefs(facts.Head(bonds, 40)), append(facts.PairRefs(facts.Head(maybe, 20)), facts.Head(free, 40)...)...), Geometric}
}

func (q *query) saltBridges() part {
	list := slices.DeleteFunc(slices.Clone(q.f.Bridges), func(p facts.AtomPair) bool {
		return len(q.chains) > 0 && !slices.Contains(q.chains, p.A.Chain) && !slices.Contains(q.chains, p.B.Chain)
	})
	rule := " (ASP or GLU oxygen within 4.0 Å of a LYS or ARG side-chain nitrogen)"
	if len(list) == 0 {
		return part{text: "There are no salt bridges by distance" + rule + ".", sure: Geometric}
	}
	n := len(list)
	if len(q.chains) == 0 {
		n = q.f.BridgeN
	}
	return part{fmt.Sprintf("%s%s: %s.", facts.Quantity(n, "salt bridge", "salt bridges"), rule, facts.PairList(list, 40)), facts.PairRefs(facts.Head(list, 40)), Geometric}
}

func (q *query) hydrogenBonds() part {
	if len(q.chains) > 0 {
		return no("I count hydrogen-bond candidates of the whole structure, of a residue, of a ligand or between two chains; ask for one of these.")
	}
	return part{text: fmt.Sprintf("There are %d pairs of a donor and an acceptor (N or O of polymers, within 3.5 Å, residues next to each other left out) that may share a hydrogen. These are candidates by distance alone; angles and hydrogens are not looked at.", q.f.HBonds), sure: Geometric}
}
