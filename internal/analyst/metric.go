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
	maxLetters = 1200 // of a sequence
)

// metrics are the topics that are values of any group of residues: a chain, a segment of secondary structure, or what a
// filter selects. Each adds what follows the name of the group.
var metrics = map[string]func(*query, *part, group){
	"length":              lengthOf,
	"atoms":               atomsOf,
	"sequence":            sequenceOf,
	"composition":         compositionOf,
	"size":                sizeOf,
	"charge":              chargeOf,
	"weight":              weightOf,
	"secondary structure": foldOf,
	"surface":             surfaceOf,
	"confidence":          confidenceOf,
}

// measure answers a topic of metrics for each group that the question is about.
func (q *query) measure(in *intent) part {
	if why := q.lacks(in.Name); why != "" {
		return refusal("%s", why)
	}
	groups := slices.DeleteFunc(q.groups(), func(g group) bool {
		return in.Protein && q.x.Sites[g.sites[0]].Kind != structure.Protein
	})
	kind := "polymer"
	if in.Protein {
		kind = "protein"
	}
	switch {
	case len(groups) == 0:
		return refusal("No residue of a %s is %s.", kind, cmp.Or(wordingOf(q.filter()), "here"))
	case len(groups) > 1 && q.partial():
		groups = append(facts.Head(groups, maxGroups-1), group{label: "all of these together", sites: q.sites()})
	}
	p := part{sure: leastSure(in.Certainty, certaintyOf(q.filter()))}
	for _, g := range facts.Head(groups, maxGroups) {
		p.add("%s ", capital(g.label))
		metrics[in.Name](q, &p, g)
		p.add(". ")
	}
	if n := len(groups) - maxGroups; n > 0 {
		p.add("%d more are not described. ", n)
	}
	if sum := 0.0; in.Name == "charge" && len(groups) > 1 && !q.partial() {
		for _, g := range groups {
			sum += q.chargeAt(g.chain)
		}
		p.add("Together these chains have %+.2f e. ", sum)
	}
	p.text = strings.TrimSpace(p.text + in.Remark)
	return p
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
	case topic == "charge" && (q.pH != nil || q.has["pi"] || q.has["whichph"]) && q.partial():
		return "The isoelectric point, and the charge at a pH, are computed of whole chains only."
	}
	return ""
}

// lengthOf counts residues with coordinates.
func lengthOf(q *query, p *part, g group) {
	p.add("has %s with coordinates, %s", residues(len(g.sites)), q.stretches(g.sites))
	if g.chain == nil {
		p.cited = append(p.cited, q.x.Refs(facts.Head(g.sites, maxListed))...)
	}
}

// atomsOf counts the atoms of residues.
func atomsOf(q *query, p *part, g group) {
	all, heavy := 0, 0
	for _, i := range g.sites {
		all += len(q.x.Sites[i].Residue.Atoms)
		heavy += q.x.Sites[i].Hi - q.x.Sites[i].Lo
	}
	p.add("has %d atoms, of which %d are heavy (not hydrogen) and %d hydrogen", all, heavy, all-heavy)
}

// letters returns the one-letter codes of sites, at most maxLetters of them.
func (q *query) letters(sites []int) string {
	var out strings.Builder
	for _, i := range facts.Head(sites, maxLetters) {
		out.WriteByte(q.x.Sites[i].Letter)
	}
	if len(sites) > maxLetters {
		fmt.Fprintf(&out, "… (the first %d of %d letters)", maxLetters, len(sites))
	}
	return out.String()
}

// sequenceOf writes out the one-letter codes.
func sequenceOf(q *query, p *part, g group) {
	p.add("has the sequence %s, %s", q.letters(g.sites), q.stretches(g.sites))
}

// compositionOf counts residues by name.
func compositionOf(q *query, p *part, g group) {
	letters := make([]byte, 0, len(g.sites))
	for _, i := range g.sites {
		letters = append(letters, q.x.Sites[i].Letter)
	}
	var counts []string
	for _, n := range facts.Composition(q.x.Sites[g.sites[0]].Kind, string(letters)) {
		counts = append(counts, fmt.Sprintf("%s %d (%s)", n.Name, n.N, facts.Percent(share(n.N, len(g.sites)))))
	}
	p.add("is made of, the most common first, %s", strings.Join(counts, ", "))
}

// givenPH is the pH that the question names, or 7.
func (q *query) givenPH() float64 {
	if q.pH != nil {
		return *q.pH
	}
	return 7
}

// chargeAt is the net charge of a chain in e.
func (q *query) chargeAt(c *facts.Chain) float64 {
	return facts.ChargeAt(c.Sequence, q.x.BondedIn(c.Polymer), q.givenPH())
}

// chargeOf computes the net charge of a chain, and counts charged side chains. A part of a chain has no free ends.
func chargeOf(q *query, p *part, g group) {
	count := func(letters string) int {
		return len(slices.DeleteFunc(slices.Clone(g.sites), func(i int) bool {
			return strings.IndexByte(letters, q.x.Sites[i].Letter) < 0
		}))
	}
	plus, minus := count("KR"), count("DE")
	sign := strings.Replace(fmt.Sprintf("%+d", plus-minus), "+0", "0", 1)
	if g.chain == nil {
		p.add("has a net charge of %s by its side chains, %d positive (LYS, ARG) and %d negative (ASP, GLU)", sign,
			plus, minus)
		return
	}
	p.add("has a net charge of %+.2f e at pH %g and an isoelectric point of %.2f", q.chargeAt(g.chain), q.givenPH(),
		g.chain.Isoelectric)
	if q.givenPH() == 7 {
		p.add("; by count, its %d positive (LYS, ARG) and %d negative side chains (ASP, GLU) make %s, and its two "+
			"ends cancel", plus, minus, sign)
	}
}

// weightOf sums masses.
func weightOf(q *query, p *part, g group) {
	mass := 0.0
	for _, i := range g.sites {
		mass += facts.ResidueMass(q.x.Sites[i].Kind, q.x.Sites[i].Letter)
	}
	if g.chain != nil {
		mass = g.chain.Mass
	}
	p.add("weighs %.1f Da (%.2f kDa)", mass, mass/1000)
	if g.chain != nil && g.chain.Unweighed > 0 {
		p.add(", without %s of unknown mass", residues(g.chain.Unweighed))
	}
}

// sizeOf is about heavy atoms, because most structures carry no hydrogens. It measures the radius of gyration and the
// distance between the ends and, of chains, the longest dimension of the structure.
func sizeOf(q *query, p *part, g group) {
	first, last := &q.x.Sites[g.sites[0]], &q.x.Sites[g.sites[len(g.sites)-1]]
	p.add("has a radius of gyration of %s (heavy atoms, weighed by mass)", facts.Angstrom(q.x.Gyration(g.sites)))
	u, okU := first.Residue.Centre()
	v, okV := last.Residue.Centre()
	if okU && okV {
		p.add(" and %s between the centres of %s and %s, its ends", facts.Angstrom(structure.Distance(u, v)), first.Ref,
			last.Ref)
	}
	if s := q.f.Shape; g.chain != nil {
		p.add("; the two residues of the structure farthest apart are %s and %s, %s between their centres", s.LongestA,
			s.LongestB, facts.Angstrom(s.Longest))
	}
}

// segmentKinds are the states of DSSP that are counted as segments, each with its singular and plural.
var segmentKinds = [][3]string{{"H", "α-helix", "α-helices"}, {"G", "3-10 helix", "3-10 helices"},
	{"I", "π-helix", "π-helices"}, {"E", "β-strand", "β-strands"},
	{"B", "isolated β-bridge", "isolated β-bridges"}}

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
	return whole.measure(intentNamed("secondary structure"))
}

// foldOf lists the segments in the states that the question asks for, and the shares of all.
func foldOf(q *query, p *part, g group) {
	if q.counted {
		p.add("is %s: %s", strings.TrimPrefix(wordingOf(q.conds), "in "), q.stretches(g.sites))
		return
	}
	count := map[byte]int{}
	for _, i := range g.sites {
		count[structure.ThreeState(q.x.Sites[i].State)]++
	}
	states, none, all := cmp.Or(q.states, "HGIEB"), "", len(g.sites)
	list, missing := q.segments(p, g, states)
	if len(list) == 0 {
		list, _ = q.segments(p, g, "HGIEB")
		none = "no " + strings.Join(missing, " and no ")
		if len(list) > 0 {
			none += ", but "
		}
	}
	p.add("has %s%s. It is %s helix, %s strand and %s neither (%s)", none, strings.Join(list, "; "),
		facts.Percent(share(count['H'], all)), facts.Percent(share(count['E'], all)),
		facts.Percent(share(count['-'], all)), residues(all))
}

// segments lists the segments of a group that are in one of some states, kind by kind (2 β-strands: GLN 2 to THR 7 (6
// residues), …), and the kinds of which there is none.
func (q *query) segments(p *part, g group, states string) (list, missing []string) {
	for _, k := range segmentKinds {
		if !strings.Contains(states, k[0]) {
			continue
		}
		var names []string
		for _, run := range q.segmentRuns(g.sites) {
			if q.x.Sites[run[0]].State != k[0][0] {
				continue
			}
			name := q.spanOf(run)
			if g.chain != nil {
				name = strings.TrimSuffix(name, " (chain "+g.chain.ID+")")
			}
			names = append(names, fmt.Sprintf("%s (%s)", name, residues(len(run))))
			p.cited = append(p.cited, q.x.Sites[run[0]].Ref, q.x.Sites[run[len(run)-1]].Ref)
		}
		if len(names) == 0 {
			missing = append(missing, k[2])
			continue
		}
		list = append(list, fmt.Sprintf("%s: %s", facts.Quantity(len(names), k[1], k[2]), facts.Join(names, maxListed)))
	}
	return list, missing
}

// confidenceOf summarises pLDDT, and lists the residues at 70 or below or, where the question asks for them, those
// above 70 or above 90.
func confidenceOf(q *query, p *part, g group) {
	pLDDT := func(i int) float64 { return q.x.Sites[i].PLDDT }
	byPLDDT := func(i, j int) int { return cmp.Compare(pLDDT(i), pLDDT(j)) }
	low, high := slices.MinFunc(g.sites, byPLDDT), slices.MaxFunc(g.sites, byPLDDT)
	sum := 0.0
	for _, i := range g.sites {
		sum += pLDDT(i)
	}
	mean := sum / float64(len(g.sites))
	bound, passes := "at 70 or below", func(v float64) bool { return v <= facts.Confident }
	switch {
	case q.has["doubt"] || q.negated:
	case q.has["sure"]:
		bound, passes = "above 90", func(v float64) bool { return v > facts.VeryConfident }
	case q.has["trust"] && (q.has["which"] || q.has["where"] || q.has["list"]):
		bound, passes = "above 70", func(v float64) bool { return v > facts.Confident }
	}
	chosen := slices.DeleteFunc(slices.Clone(g.sites), func(i int) bool { return !passes(pLDDT(i)) })
	p.add("has a mean pLDDT of %.1f (%s), from %s with %.1f to %s with %.1f; %d of %d are %s", mean, facts.Band(mean),
		q.x.Sites[low].Ref, pLDDT(low), q.x.Sites[high].Ref, pLDDT(high), len(chosen), len(g.sites), bound)
	if len(chosen) > 0 {
		p.add(": %s", q.stretches(chosen))
	}
}

// confidence rates the whole prediction in the words of its page, and describes its chains. Of a part it describes that
// part alone.
func (q *query) confidence() part {
	in, v := intentNamed("confidence"), q.f.Verdict
	if v == nil || len(q.filter()) > 0 {
		return q.measure(in)
	}
	verdict := v.Title + ". " + strings.Join(v.Lines, " ")
	if v.Tone == "unknown" {
		return refusal("%s", verdict)
	}
	p := q.measure(in)
	p.sure, p.text = Estimated, verdict+"\n"+p.text
	if q.f.Meaning != "" {
		p.text += fmt.Sprintf(" In the words of its engine, this confidence is “%s”.", q.f.Meaning)
	}
	return p
}

// surfaceOf is in Å², with a probe of 1.4 Å. It sums the accessible surface; that of a single residue is compared with
// what it could have.
func surfaceOf(q *query, p *part, g group) {
	area := 0.0
	for _, i := range g.sites {
		area += q.x.Sites[i].Area
	}
	p.add("has %.0f Å² of accessible surface", area)
	if len(g.sites) == 1 {
		p.add("%s", q.properties(g.sites[0]))
	}
}

// share divides counts: it is n of all, 0 where there are none.
func share(n, all int) float64 { return float64(n) / math.Max(1, float64(all)) }
