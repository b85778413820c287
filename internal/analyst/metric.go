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
	maxGroups  = 12   // chains or segments described one by one
	maxListed  = 60   // residues named in one answer
	maxLetters = 1200 // of a sequence
)

// metric is a value of any group of residues: a chain, a segment of secondary structure, or what a filter
// selects.
type metric struct {
	certainty Certainty
	// protein is set where only protein chains have the value.
	protein bool
	// of returns what follows the name of the group, and the residues that it names.
	of func(*query, group) (string, []facts.ResidueRef)
	// whole adds what is true of the whole structure, where there is no filter; it may be nil.
	whole func(*query, []group) string
	// remark ends the answer: how the value was computed.
	remark string
}

// metrics are the topics that are answered by a metric.
func metrics() map[string]metric {
	return map[string]metric{
		"length":      {certainty: Measured, of: lengthOf, whole: longestChain},
		"atoms":       {certainty: Measured, of: atomsOf, whole: allAtoms},
		"sequence":    {certainty: Measured, of: sequenceOf},
		"composition": {certainty: Measured, of: compositionOf},
		"size":        {certainty: Measured, of: sizeOf, whole: wholeSize},
		"charge": {
			certainty: Measured,
			of:        chargeOf,
			protein:   true,
			remark: "Computed from residues with coordinates " +
				"and pKa values of single residues; the ends count in whole chains only, and the surroundings in the " +
				"fold do not.",
		},
		"weight": {certainty: Measured, of: weightOf, remark: "Average masses, cysteines reduced, without ligands; a " +
			"part of a chain has no water for its ends."},
		"secondary structure": {certainty: Geometric, of: foldOf, protein: true, remark: "By DSSP."},
		"surface": {
			certainty: Geometric,
			of:        surfaceOf,
			protein:   true,
			remark:    "The probe has a radius of 1.4 Å.",
		},
		"confidence": {certainty: Estimated, of: confidenceOf, remark: "pLDDT is the model's own estimate, not a " +
			"measurement."},
	}
}

// measure answers a topic of metrics for each group that the question is about.
func (q *query) measure(topic string) part {
	m := metrics()[topic]
	if why := q.lacks(topic); why != "" {
		return refusal("%s", why)
	}
	groups := slices.DeleteFunc(q.groups(), func(g group) bool {
		return m.protein && q.x.Sites[g.sites[0]].Kind != structure.Protein
	})
	switch {
	case len(groups) == 0 && len(q.filter()) > 0:
		return q.none()
	case len(groups) == 0:
		return refusal("The structure has no chain that this can be computed of.")
	case len(groups) > 1 && q.partial():
		groups = append(facts.Head(groups, maxGroups-1), group{label: "all of these together", sites: q.sites()})
	}
	var sentences []string
	var cited []facts.ResidueRef
	for _, g := range facts.Head(groups, maxGroups) {
		text, refs := m.of(q, g)
		sentences, cited = append(sentences, capital(g.label)+" "+text+"."), append(cited, refs...)
	}
	if n := len(groups) - maxGroups; n > 0 {
		sentences = append(sentences, fmt.Sprintf("%d more are not described.", n))
	}
	if m.whole != nil && len(q.filter()) == 0 {
		sentences = append(sentences, m.whole(q, groups))
	}
	text := strings.Join(append(sentences, m.remark), " ")
	return part{strings.Join(strings.Fields(text), " "), cited, leastSure(m.certainty, certaintyOf(q.filter()))}
}

const noConfidence = "No confidence of a model is known for this structure. If it is an experimental one, its " +
	"B-factors are not a confidence, and I do not read them as one."

// lacks says why a metric is not known of this structure or for what the question asks; empty where it is.
func (q *query) lacks(topic string) string {
	switch {
	case topic == "confidence" && !q.x.HasConfidence:
		return noConfidence
	case topic == "surface" && !q.x.HasSurface:
		return "The accessible surface was not computed for this structure."
	case topic == "charge" && q.pH != nil && (*q.pH < 0 || *q.pH > 14):
		return fmt.Sprintf("A pH lies between 0 and 14; %g does not.", *q.pH)
	case topic == "charge" && (q.has["pi"] || q.has["whichph"]) && q.partial():
		return "The isoelectric point is computed of whole chains only."
	}
	return ""
}

// lengthOf counts residues with coordinates. Of a stretch it also says how many lie between the ends, since "between"
// can mean either.
func lengthOf(q *query, g group) (string, []facts.ResidueRef) {
	if g.chain != nil {
		return fmt.Sprintf("has %s with coordinates, %s", residues(len(g.sites)), q.spanOf(g.sites)), nil
	}
	text := "has " + residues(len(g.sites)) + " with coordinates"
	if len(q.runs(g.sites)) == 1 {
		text += fmt.Sprintf(", the ends counted, %d between them", max(0, len(g.sites)-2))
	}
	return text, q.x.Refs(facts.Head(g.sites, maxListed))
}

// longestChain is empty for a single chain. It compares the lengths of the chains.
func longestChain(q *query, chains []group) string {
	size := func(a, b group) int { return len(a.sites) - len(b.sites) }
	if len(chains) < 2 {
		return ""
	}
	return fmt.Sprintf("Together they have %s; the longest is %s, the shortest %s.", residues(q.f.Residues),
		slices.MaxFunc(chains, size).label, slices.MinFunc(chains, size).label)
}

// allAtoms counts all atoms of the structure.
func allAtoms(q *query, _ []group) string {
	return fmt.Sprintf("The structure has %d atoms, of which %d are heavy (not hydrogen) and %d hydrogen, ligands and "+
		"%s counted in.", q.f.Atoms, q.f.HeavyAtoms, q.f.Atoms-q.f.HeavyAtoms,
		facts.Quantity(q.f.Waters, "water molecule", "water molecules"))
}

// wholeSize measures all polymers together.
func wholeSize(q *query, _ []group) string {
	s := q.f.Shape
	return fmt.Sprintf("All polymers together have a radius of gyration of %s; the two residues farthest apart are %s "+
		"and %s, %s between their centres.", q.inUnit(s.Gyration), s.LongestA, s.LongestB, q.inUnit(s.Longest))
}

// atomsOf counts the atoms of residues.
func atomsOf(q *query, g group) (string, []facts.ResidueRef) {
	all, heavy := 0, 0
	for _, i := range g.sites {
		all += len(q.x.Sites[i].Residue.Atoms)
		heavy += q.x.Sites[i].Hi - q.x.Sites[i].Lo
	}
	return fmt.Sprintf("has %d atoms, of which %d are heavy (not hydrogen) and %d hydrogen", all, heavy, all-heavy), nil
}

// letters returns the one-letter codes of sites.
func (q *query) letters(sites []int) string {
	out := make([]byte, 0, len(sites))
	for _, i := range sites {
		out = append(out, q.x.Sites[i].Letter)
	}
	return string(out)
}

// sequenceOf writes out each stretch without a gap in the selection.
func sequenceOf(q *query, g group) (string, []facts.ResidueRef) {
	runs := [][]int{g.sites}
	if g.chain == nil {
		runs = facts.Head(q.runs(g.sites), 20)
	}
	var list []string
	var cited []facts.ResidueRef
	for _, run := range runs {
		text := q.letters(facts.Head(run, maxLetters))
		if len(run) > maxLetters {
			text += fmt.Sprintf("… (the first %d of %d letters)", maxLetters, len(run))
		}
		if len(runs) > 1 {
			text += " from " + q.spanOf(run)
		}
		list, cited = append(list, text), append(cited, q.x.Sites[run[0]].Ref, q.x.Sites[run[len(run)-1]].Ref)
	}
	return "has the sequence " + facts.Join(list, 20), cited
}

// compositionOf counts residues by name, the most common first, and names the amino acids that are absent where the
// question asks for these.
func compositionOf(q *query, g group) (string, []facts.ResidueRef) {
	kind, letters := q.x.Sites[g.sites[0]].Kind, q.letters(g.sites)
	list := facts.Composition(kind, letters)
	var counts, tops, lows []string
	for _, n := range list {
		counts = append(counts, fmt.Sprintf("%s %d (%s)", n.Name, n.N, facts.Percent(share(n.N, len(g.sites)))))
		if n.N == list[0].N {
			tops = append(tops, n.Name)
		}
		if n.N == list[len(list)-1].N {
			lows = append(lows, n.Name)
		}
	}
	text := fmt.Sprintf("is made of %s. Most common: %s (%d); least common: %s (%d)", strings.Join(counts, ", "),
		facts.Join(tops, 20), list[0].N, facts.Join(lows, 20), list[len(list)-1].N)
	var absent []string
	for _, letter := range "ARNDCQEGHILKMFPSTWYV" {
		if name, _ := structure.Component(kind, byte(letter)); kind == structure.Protein &&
			!strings.ContainsRune(letters, letter) {
			absent = append(absent, name)
		}
	}
	if q.has["absent"] {
		text += "; absent: " + facts.OrNone(strings.Join(absent, ", "))
	}
	return text, nil
}

// chargeOf has two rules, since a part of a chain has no free ends. It computes the net charge of a chain, or sums the
// charged side chains of a part of it.
func chargeOf(q *query, g group) (string, []facts.ResidueRef) {
	pH := 7.0
	if q.pH != nil {
		pH = *q.pH
	}
	if g.chain != nil {
		return fmt.Sprintf("has a net charge of %+.2f e at pH %g and an isoelectric point of %.2f",
			facts.ChargeAt(g.chain.Sequence, q.x.BondedIn(g.chain.Polymer), pH), pH, g.chain.Isoelectric), nil
	}
	var plus, minus []int
	net := 0.0
	for _, i := range g.sites {
		s := &q.x.Sites[i]
		net += facts.SideChainCharge(s, pH)
		switch s.Letter {
		case 'K', 'R':
			plus = append(plus, i)
		case 'D', 'E':
			minus = append(minus, i)
		}
	}
	sign := strings.Replace(fmt.Sprintf("%+d", len(plus)-len(minus)), "+0", "0", 1)
	text := fmt.Sprintf("has a net charge of %s by its side chains, %d positive (LYS, ARG) and %d negative (ASP, GLU)",
		sign, len(plus), len(minus))
	if q.pH != nil {
		text += fmt.Sprintf("; at pH %g, with pKa values of single residues, %+.2f e", pH, net)
	}
	return text, q.x.Refs(facts.Head(slices.Concat(plus, minus), maxListed))
}

// weightOf sums masses.
func weightOf(q *query, g group) (string, []facts.ResidueRef) {
	mass, text := 0.0, ""
	if g.chain != nil {
		mass = g.chain.Mass
		if n := g.chain.Unweighed; n > 0 {
			text = fmt.Sprintf(", without %s of unknown mass", residues(n))
		}
	} else {
		for _, i := range g.sites {
			mass += facts.ResidueMass(q.x.Sites[i].Kind, q.x.Sites[i].Letter)
		}
	}
	return fmt.Sprintf("weighs %.1f Da (%.2f kDa)%s", mass, mass/1000, text), nil
}

// sizeOf is about heavy atoms, because most structures carry no hydrogens. It measures the radius of gyration and the
// distance between the ends.
func sizeOf(q *query, g group) (string, []facts.ResidueRef) {
	first, last := &q.x.Sites[g.sites[0]], &q.x.Sites[g.sites[len(g.sites)-1]]
	text := fmt.Sprintf("has a radius of gyration of %s (heavy atoms, weighed by mass)",
		q.inUnit(q.x.Gyration(g.sites)))
	u, okU := first.Residue.Centre()
	v, okV := last.Residue.Centre()
	if okU && okV {
		text += fmt.Sprintf(" and %s between the centres of %s and %s, its ends", q.inUnit(structure.Distance(u, v)),
			first.Ref, last.Ref)
	}
	return text, []facts.ResidueRef{first.Ref, last.Ref}
}

// segmentKinds are the states of DSSP that are counted as segments, each with its singular and plural.
var segmentKinds = [][3]string{{"H", "α-helix", "α-helices"}, {"G", "3-10 helix", "3-10 helices"},
	{"I", "π-helix", "π-helices"}, {"E", "β-strand", "β-strands"},
	{"B", "isolated β-bridge residue", "isolated β-bridge residues"}}

// fold answers "how many helices are there", "where is the second strand" and "is it mostly helical". It describes the
// secondary structure. States that the question asks for are not a filter, but what is listed;
// counted segments, such as the second helix, are.
func (q *query) fold() part {
	whole := *q
	listed, rest := divide(q.conds, func(c *condition) bool { return c.property == ofState && !c.not && !q.counted })
	for _, c := range listed {
		whole.states += c.states
	}
	whole.conds = rest
	if len(q.mentions) > 0 && q.pointMentions() {
		return q.identity()
	}
	return whole.measure("secondary structure")
}

// foldOf lists the segments in the states that the question asks for, and the shares of all.
func foldOf(q *query, g group) (string, []facts.ResidueRef) {
	count, number := map[byte]int{}, map[byte]int{}
	var assigned, chosen []int
	for _, i := range g.sites {
		if state := q.x.Sites[i].State; state != 0 {
			assigned = append(assigned, i)
			count[structure.ThreeState(state)]++
			if strings.IndexByte(cmp.Or(q.states, "HGIEB"), state) >= 0 {
				chosen = append(chosen, i)
			}
		}
	}
	switch {
	case len(assigned) == 0:
		return "has no secondary structure assigned: that needs protein residues with a complete main chain", nil
	case q.counted:
		return "is " + strings.TrimPrefix(wordingOf(q.conds), "in "), []facts.ResidueRef{q.x.Sites[g.sites[0]].Ref,
			q.x.Sites[g.sites[len(g.sites)-1]].Ref}
	case q.states != "" && strings.Trim(q.states, "TS-") == "":
		names, cited := q.stretches(chosen)
		return fmt.Sprintf("has %s that are %s: %s", residues(len(chosen)),
			map[bool]string{true: "in turns", false: "in neither helix nor strand"}[q.states == "T"], names), cited
	}
	var names, kinds []string
	var cited []facts.ResidueRef
	for _, run := range q.segmentRuns(chosen) {
		state := q.x.Sites[run[0]].State
		number[state]++
		lo, hi := q.x.SegmentAt(run[0])
		text := facts.StateName(state) + " " + q.spanOf(run)
		if hi-lo >= len(run) && structure.ThreeState(state) != '-' {
			text += " of " + facts.Span(q.x.Sites[lo].Ref, q.x.Sites[hi].Ref)
		}
		names = append(names, fmt.Sprintf("%s (%s)", text, residues(len(run))))
		cited = append(cited, q.x.Sites[run[0]].Ref, q.x.Sites[run[len(run)-1]].Ref)
	}
	for _, k := range segmentKinds {
		if n := number[k[0][0]]; n > 0 || strings.Contains(cmp.Or(q.states, "HE"), k[0]) &&
			(k[0] == "H" || k[0] == "E") {
			kinds = append(kinds, facts.Quantity(n, k[1], k[2]))
		}
	}
	return fmt.Sprintf("is %s helix, %s strand and %s neither (%s). It has %s: %s",
		facts.Percent(share(count['H'], len(assigned))), facts.Percent(share(count['E'], len(assigned))),
		facts.Percent(share(count['-'], len(assigned))), residues(len(assigned)),
		cmp.Or(facts.Join(kinds, 9), "none of these"), facts.OrNone(facts.Join(names, 60))), cited
}

// confidenceOf summarises pLDDT, and lists the stretches on the side of a bound that the question asks for.
func confidenceOf(q *query, g group) (string, []facts.ResidueRef) {
	pLDDT := func(i int) float64 { return q.x.Sites[i].PLDDT }
	byPLDDT := func(i, j int) int { return cmp.Compare(pLDDT(i), pLDDT(j)) }
	low, high := slices.MinFunc(g.sites, byPLDDT), slices.MaxFunc(g.sites, byPLDDT)
	sum := 0.0
	for _, i := range g.sites {
		sum += pLDDT(i)
	}
	mean := sum / float64(len(g.sites))
	if len(g.sites) == 1 {
		return fmt.Sprintf("has a pLDDT of %.1f, which is %s", mean, facts.Band(mean)), q.x.Refs(g.sites)
	}
	bound, beyond := "below 70", func(i int) bool { return pLDDT(i) < 70 }
	switch {
	case q.has["disorder"]:
		bound, beyond = "below 50", func(i int) bool { return pLDDT(i) < 50 }
	case q.has["sure"] && !q.has["doubt"] && !q.negated:
		bound, beyond = "at or above 90", func(i int) bool { return pLDDT(i) >= 90 }
	}
	chosen := slices.DeleteFunc(slices.Clone(g.sites), func(i int) bool { return !beyond(i) })
	names, cited := q.stretches(chosen)
	text := fmt.Sprintf("has a mean pLDDT of %.1f, which is %s; the lowest is %s with %.1f, the highest %s with %.1f; "+
		"%d of %d are %s: %s", mean, facts.Band(mean), q.x.Sites[low].Ref, pLDDT(low), q.x.Sites[high].Ref, pLDDT(high),
		len(chosen), len(g.sites), bound, names)
	if g.chain == nil {
		cited = append(cited, q.x.Refs([]int{g.sites[0], g.sites[len(g.sites)-1], low})...)
	}
	return text, append(cited, q.x.Sites[high].Ref)
}

// stretches shortens long lists of residues. It names sites as stretches without a gap, and returns their ends.
func (q *query) stretches(sites []int) (string, []facts.ResidueRef) {
	var names []string
	var cited []facts.ResidueRef
	for _, run := range q.runs(sites) {
		names = append(names, q.spanOf(run))
		cited = append(cited, q.x.Sites[run[0]].Ref, q.x.Sites[run[len(run)-1]].Ref)
	}
	return facts.OrNone(facts.Join(names, 60)), cited
}

// surfaceOf is in Å², with a probe of 1.4 Å. It sums the accessible surface; that of a single residue is compared with
// what it could have.
func surfaceOf(q *query, g group) (string, []facts.ResidueRef) {
	area := 0.0
	for _, i := range g.sites {
		area += q.x.Sites[i].Area
	}
	text := fmt.Sprintf("has %.0f Å² of accessible surface", area)
	if accessible, ok := q.x.Sites[g.sites[0]].Accessible(); ok && len(g.sites) == 1 {
		text += fmt.Sprintf(", %s of what it could have, so it is %s (buried: less than 20 %%)",
			facts.Percent(accessible),
			map[bool]string{true: "buried", false: "exposed"}[accessible < facts.BuriedBelow])
	}
	return text, q.x.Refs(facts.Head(g.sites, maxListed))
}

// share divides counts: it is n of all, 0 where there are none.
func share(n, all int) float64 { return float64(n) / math.Max(1, float64(all)) }
