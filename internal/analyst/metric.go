package analyst

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
	"pleat/internal/words"
)

const (
	maxGroups  = 12   // chains or segments described one by one
	maxLetters = 1200 // of a sequence
)

// group is what an answer speaks of together: a chain, a segment of secondary structure, what a filter selects, or an
// end of a distance.
type group struct {
	label string
	sites []int
	chain *facts.Chain // of a whole chain
	atoms []int        // of an end: those that count
}

// groups returns what a metric is computed of: each chain where the filter names nothing smaller; each segment, or each
// range of numbers, where it names these alone; else all selected residues together.
func (q *query) groups() (out []group) {
	if !q.partial() {
		for _, c := range q.polymers() {
			out = append(out, group{label: "chain " + c.ID, sites: q.chainSites(c.ID), chain: &c})
		}
		return out
	}
	sites := q.sites()
	add := func(label string, sites []int) { out = append(out, group{label: label, sites: sites}) }
	ranges := len(q.conds) == 1 && q.conds.only(ofPlace) && len(q.mentions) > 1 && !q.pointMentions()
	switch plain := q.relation == nil && !q.conds.negated(); {
	case len(sites) == 0:
	case plain && ranges:
		for _, run := range q.conds[0].sites {
			add(q.spanWithCount(run), run)
		}
	case plain && q.conds.only(ofState, ofChain):
		states := q.conds.states()
		for _, run := range q.segments(sites, states) {
			add(fmt.Sprintf("%s %s with %s", q.segmentName(run[0], states), q.x.Span(run), residues(len(run))), run)
		}
	case plain && len(q.conds) == 1 && q.conds.only(ofPlace, ofChain) && len(q.x.Runs(sites)) == 1:
		add(q.spanWithCount(sites), sites)
	default:
		add(fmt.Sprintf("the set of %s%s", residues(len(sites)), q.filter().that()), sites)
	}
	return out
}

func (q *query) spanWithCount(sites []int) string {
	return fmt.Sprintf("%s (%s)", q.x.Span(sites), residues(len(sites)))
}

// metric is the answer of a topic that is a value of any group; add writes what follows the name of the group.
func metric(add func(*query, *part, group)) func(*query) part {
	return func(q *query) part { return q.measure(add) }
}

// measure answers with a metric of each group that the question is about.
func (q *query) measure(add func(*query, *part, group)) part {
	if why := q.unknown(); why != "" {
		return refusal("%s", why)
	}
	in, kind := q.topic, "polymer"
	if in.Protein {
		kind = "protein"
	}
	groups := keep(q.groups(), func(g group) bool {
		return !in.Protein || q.x.Sites[g.sites[0]].Kind == structure.Protein
	})
	switch {
	case len(groups) > 0 && in.Name == "length" && q.namesSegments() && !q.conds.negated():
		return q.countedSegments(groups)
	case len(groups) == 0:
		return refusal("The topic “%s” is known of residues of a %s, and none of these is %s.", in.Name, kind,
			cmp.Or(q.filter().String(), "here"))
	case len(groups) > 1 && q.partial():
		groups = append(facts.Head(groups, maxGroups-1), group{label: "all of these together", sites: q.sites()})
	}
	p := part{sure: leastSure(in.Certainty, q.filter().certainty())}
	for _, g := range facts.Head(groups, maxGroups) {
		if q.x.Lacks(needs[in.Name], g.sites).Refusal() != "" {
			continue // a remark tells why
		}
		p.add("%s ", capital(g.label))
		add(q, &p, g)
		p.add(". ")
	}
	if n := len(groups) - maxGroups; n > 0 {
		p.add("%d more are not described. ", n)
	}
	if len(groups) > 1 && !q.partial() {
		q.addTotal(&p, groups)
	}
	p.text = strings.TrimSpace(p.text + in.Remark)
	return p
}

// addTotal adds what all chains have together of a topic that adds up, if it is known of each.
func (q *query) addTotal(p *part, chains []group) {
	sum := 0.0
	switch q.topic.Name {
	case "charge":
		for _, g := range chains {
			sum += q.chargeAt(g.chain)
		}
		p.add("Together these chains have %+.2f e. ", sum)
	case "weight":
		for _, g := range chains {
			if g.chain.Mass == nil || g.chain.Unweighed > 0 {
				return
			}
			sum += *g.chain.Mass
		}
		p.add("Together these chains weigh %.1f Da. ", sum)
	}
}

// noConfidence says that no confidence is known, and why.
func (q *query) noConfidence() string {
	return cmp.Or(q.x.Unrated,
		"No confidence of a model is known for this structure: its file names neither an experiment nor a "+
			"prediction, so that its B-factors are not read as pLDDT. A model is declared by EXPDTA THEORETICAL MODEL "+
			"and a REMARK that its B-factors are pLDDT, or by _ma_qa_metric_local in mmCIF.")
}

// unknown says why a metric is not known of this structure or for what the question asks; empty where it is.
func (q *query) unknown() string {
	switch topic := q.topic.Name; {
	case topic == "confidence" && !q.x.HasConfidence && !q.x.HasRMSD:
		return q.noConfidence()
	case topic == "charge" && (q.pH < 0 || q.pH > 14):
		return fmt.Sprintf("A pH lies between 0 and 14; %g does not.", q.pH)
	case topic == "charge" && q.says("@ph pi whichph") && q.partial():
		return "The isoelectric point, and the charge at a pH, are computed of whole chains only."
	}
	return ""
}

func lengthOf(q *query, p *part, g group) {
	p.add("has %s with coordinates, %s", residues(len(g.sites)), q.ranges(p, g.sites))
	if g.chain == nil {
		p.cited = append(p.cited, q.x.Refs(facts.Head(g.sites, maxListed))...)
	}
}

func atomsOf(q *query, p *part, g group) {
	all, heavy := 0, 0
	for _, i := range g.sites {
		all += len(q.x.Sites[i].Residue.Atoms)
		heavy += q.x.Sites[i].Hi - q.x.Sites[i].Lo
	}
	p.add("has %d atoms, of which %d are heavy (not hydrogen) and %d hydrogen", all, heavy, all-heavy)
}

func (q *query) letters(sites []int) string {
	letters := q.x.Letters(facts.Head(sites, maxLetters))
	if len(sites) > maxLetters {
		letters += fmt.Sprintf("… (the first %d of %d letters)", maxLetters, len(sites))
	}
	return letters
}

func sequenceOf(q *query, p *part, g group) {
	p.add("has the sequence %s, %s", q.letters(g.sites), q.ranges(p, g.sites))
	parents, unknown := q.modified(g.sites)
	if len(parents) > 0 {
		p.add("; modified residues, which have the letters of their parents: %s", q.x.Refs(parents))
	}
	if len(unknown) > 0 {
		p.add("; without a letter: %s", q.ranges(p, unknown))
	}
}

// modified returns the modified residues among some that have the letter of a parent, and those that have none.
func (q *query) modified(sites []int) (parents, unknown []int) {
	for _, i := range sites {
		switch s := &q.x.Sites[i]; {
		case !s.Modified():
		case s.Letter == structure.Unknown:
			unknown = append(unknown, i)
		default:
			parents = append(parents, i)
		}
	}
	return parents, unknown
}

func compositionOf(q *query, p *part, g group) {
	var counts []string
	for _, n := range q.x.Composition(g.sites) {
		counts = append(counts, fmt.Sprintf("%s %d (%s)", n.Name, n.N, percent(n.N, len(g.sites))))
	}
	p.add("is made of, the most common first, %s", strings.Join(counts, ", "))
}

// chargeAt is the net charge of a chain in e.
func (q *query) chargeAt(c *facts.Chain) float64 {
	return q.x.ChargeAt(c.Polymer, q.pH)
}

// chargeOf computes the net charge of a chain, and counts charged side chains. A part of a chain has no free ends.
func chargeOf(q *query, p *part, g group) {
	if !slices.ContainsFunc(g.sites, func(i int) bool { return q.x.Sites[i].Titration() != facts.LeftOut }) {
		p.add("has no residue whose charge is known")
		return
	}
	sum, plus, minus := 0, tally{codes: []string{"LYS", "ARG"}}, tally{codes: []string{"ASP", "GLU"}}
	for _, i := range g.sites {
		charge := q.x.Sites[i].Charge()
		switch sum += charge; {
		case charge > 0:
			plus.count(&q.x.Sites[i], charge)
		case charge < 0:
			minus.count(&q.x.Sites[i], charge)
		}
	}
	sign := strings.Replace(fmt.Sprintf("%+d", sum), "+0", "0", 1)
	if g.chain == nil {
		p.add("has a net charge of %s by its side chains, %d positive (%s) and %d negative (%s)", sign, plus.n,
			plus.names(), minus.n, minus.names())
		q.addTitrations(p, g)
		return
	}
	p.add("has a net charge of %+.2f e at pH %g and ", q.chargeAt(g.chain), q.pH)
	if pI := g.chain.Isoelectric; pI != nil {
		p.add("an isoelectric point of %.2f", *pI)
	} else {
		p.add("an isoelectric point that the constants do not tell")
	}
	if q.pH == 7 && g.chain.FreeEnds {
		p.add("; by count, its %d positive (%s) and %d negative side chains (%s) make %s, and its two ends cancel",
			plus.n, plus.names(), minus.n, minus.names(), sign)
	}
	q.addTitrations(p, g)
}

// tally counts charged side chains, and adds their component codes to those that are always named.
type tally struct {
	n     int
	codes []string
}

func (t *tally) count(s *facts.Site, charge int) {
	t.n++
	code := s.Canonical()
	if charge > 1 || charge < -1 {
		code += fmt.Sprintf(" with %+d", charge)
	}
	if !slices.Contains(t.codes, code) {
		t.codes = append(t.codes, code)
	}
}

func (t *tally) names() string { return strings.Join(t.codes, ", ") }

// addTitrations says which modified residues count by their own groups, as their parents, or not at all.
func (q *query) addTitrations(p *part, g group) {
	by := map[facts.Titration][]int{}
	for _, i := range g.sites {
		if s := &q.x.Sites[i]; s.Kind == structure.Protein {
			by[s.Titration()] = append(by[s.Titration()], i)
		}
	}
	for _, say := range []struct {
		how  facts.Titration
		text string
	}{
		{facts.ByItself, "; by their own groups count %s"},
		{facts.ByParent, "; as their parents count %s"},
		{facts.LeftOut, "; left out, since their charge is not known: %s"},
	} {
		if sites := by[say.how]; len(sites) > 0 {
			p.add(say.text, q.ranges(p, sites))
		}
	}
}

func weightOf(q *query, p *part, g group) {
	mass, _ := q.x.Mass(g.sites)
	if g.chain != nil && g.chain.Mass != nil {
		mass = *g.chain.Mass
	}
	unknown := keep(g.sites, func(i int) bool { _, n := q.x.Mass([]int{i}); return n > 0 })
	if len(unknown) == len(g.sites) {
		p.add("has no residue whose mass is known")
		return
	}
	p.add("weighs %.1f Da (%.2f kDa)", mass, mass/1000)
	if bare := keep(g.sites, q.x.WithoutPhosphate); len(bare) > 0 {
		p.add(", without a 5' phosphate, of which %s has no atom", q.ranges(p, bare))
	}
	if len(unknown) > 0 {
		p.add(", without %s of unknown mass (%s)", residues(len(unknown)), q.ranges(p, unknown))
	}
}

// sizeOf is about heavy atoms, because most structures carry no hydrogens.
func sizeOf(q *query, p *part, g group) {
	first, last := g.sites[0], g.sites[len(g.sites)-1]
	if len(q.x.AtomsOf(g.sites, "")) == 0 {
		p.add("has no heavy atom to measure")
		return
	}
	p.add("has a radius of gyration of %s (heavy atoms, weighed by mass", facts.Angstrom(q.x.Gyration(g.sites)))
	if why := q.x.Lacks(facts.AllAtoms, g.sites).Reason(); why != "" {
		p.add("; of those that there are: %s", why)
	}
	p.add(")")
	if d, ok := q.x.CentreDistance(first, last); ok {
		p.add(" and %s between the centres of %s and %s, its ends", facts.Angstrom(d), q.x.Sites[first].Ref,
			q.x.Sites[last].Ref)
	}
	if s := q.f.Shape; g.chain != nil && s.Longest != nil {
		p.add("; the two residues of the structure farthest apart are %s and %s, %s between their centres", *s.LongestA,
			*s.LongestB, facts.Angstrom(*s.Longest))
	}
}

// segmentStates are the states of DSSP whose segments are listed where a question names none.
const segmentStates = "HGIEB"

// loopStates are those that are neither helix nor strand. A loop is a run of them, whatever they are one by one.
const loopStates = "TS-"

// isLoop reports whether some states are those of loops.
func isLoop(states string) bool { return strings.Contains(states, loopStates) }

// segments cuts sites in file order into helices, strands, turns and bends; what is neither helix nor strand into loops
// if they are among the states.
func (q *query) segments(sites []int, states string) (out [][]int) {
	for _, run := range q.x.Runs(sites) {
		for from, i := 0, 1; i <= len(run); i++ {
			if i == len(run) || q.segmentName(run[from], states) != q.segmentName(run[i], states) {
				out, from = append(out, run[from:i]), i
			}
		}
	}
	return out
}

// segmentName is what the segment with a site is called.
func (q *query) segmentName(site int, states string) string {
	state := q.x.Sites[site].State
	if isLoop(states) && strings.IndexByte(loopStates, state) >= 0 {
		return "loop"
	}
	return facts.StateName(state)
}

// fold answers "how many helices are there", "where is the second strand" and "is it mostly helical". States that the
// question asks for are not a filter, but what is listed; counted segments, such as the second helix, are.
func (q *query) fold() part {
	if len(q.mentions) > 0 && q.pointMentions() {
		return q.identity()
	}
	all := *q
	listed, rest := q.conds.divide(func(c *condition) bool { return c.property == ofState && !c.not && !q.counted })
	for _, c := range listed {
		all.states += c.states
	}
	all.conds = rest
	if groups := all.groups(); len(groups) > 0 && q.namesSegments() {
		return q.countedSegments(groups)
	}
	return all.measure(foldOf)
}

// countedSegments names segments that are counted, such as the longest helix of each chain, or the longest ones of a
// chain, which are equally long.
func (q *query) countedSegments(groups []group) part {
	p, labels, chains := part{sure: Geometric}, []string{}, map[int]bool{}
	for _, g := range groups {
		labels, chains[q.x.Sites[g.sites[0]].Chain] = append(labels, g.label), true
		p.cited = append(p.cited, q.x.Refs(facts.Head(g.sites, maxListed))...)
	}
	counted := q.conds[slices.IndexFunc(q.conds, func(c *condition) bool { return c.counted })]
	names, counting := counted.segments, ""
	if counted.counting != "" {
		counting = " " + capital(counted.counting) + "."
	}
	lead := capital(words.Join(names, maxGroups))
	switch {
	case len(chains) > 1:
		lead += " of each chain"
	case len(groups) > len(names):
		lead += words.Plural(len(names), ", of which several are equally long", ", of which some are equally long")
	}
	p.add("%s: %s.%s %s", lead, words.Join(labels, maxGroups), counting, q.topic.Remark)
	p.text = strings.TrimSpace(p.text)
	return p
}

// namesSegments reports whether a question is about counted segments alone, maybe those of a chain.
func (q *query) namesSegments() bool {
	return q.counted && q.relation == nil && q.conds.only(ofState, ofChain)
}

// foldOf lists the segments in the states that the question asks for, and the shares of all.
func foldOf(q *query, p *part, g group) {
	if q.counted {
		p.add("is %s: %s", strings.TrimPrefix(q.conds.String(), "in "), q.ranges(p, g.sites))
		return
	}
	count, all := map[byte]int{}, 0
	for _, i := range g.sites {
		if state := q.x.Sites[i].State; state != 0 {
			count[structure.ThreeState(state)]++
			all++
		}
	}
	none := ""
	list, missing := q.listSegments(p, g, cmp.Or(q.states, segmentStates))
	if len(list) == 0 {
		list, _ = q.listSegments(p, g, segmentStates)
		none = "no " + strings.Join(missing, " and no ")
		if len(list) > 0 {
			none += ", but "
		}
	}
	p.add("has %s%s. It is %s helix, %s strand and %s neither (%s)", none, strings.Join(list, "; "),
		percent(count['H'], all), percent(count['E'], all), percent(count['-'], all), residues(all))
}

// listSegments lists the segments of a group that are in one of some states, kind by kind (2 β-strands: GLN 2 to THR 7
// (6 residues), …), and the kinds of which there is none.
func (q *query) listSegments(p *part, g group, states string) (list, missing []string) {
	for _, kind := range segmentKinds(states) {
		sites := keep(g.sites, func(i int) bool { return strings.IndexByte(kind, q.x.Sites[i].State) >= 0 })
		one := facts.StateName(kind[0])
		if isLoop(kind) {
			one = "loop"
		}
		many := strings.Replace(one+"s", "helixs", "helices", 1)
		if len(sites) == 0 {
			missing = append(missing, many)
			continue
		}
		var names []string
		for _, run := range q.x.Runs(sites) {
			name := q.spanWithCount(run)
			if g.chain != nil {
				name = strings.Replace(name, " (chain "+g.chain.ID+")", "", 1)
			}
			names = append(names, name)
			p.cited = append(p.cited, q.x.Sites[run[0]].Ref, q.x.Sites[run[len(run)-1]].Ref)
		}
		list = append(list, fmt.Sprintf("%s: %s", words.Quantity(len(names), one, many), words.Join(names, maxListed)))
	}
	return list, missing
}

// segmentKinds divides states into those whose runs are segments of one kind. Turns and bends are parts of loops.
func segmentKinds(states string) []string {
	kinds := []string{"H", "G", "I", "E", "B", "T", "S"}
	if isLoop(states) {
		kinds = []string{"H", "G", "I", "E", "B", loopStates}
	}
	return keep(kinds, func(kind string) bool { return strings.Contains(states, kind) })
}

func confidenceOf(q *query, p *part, g group) {
	pLDDT := func(i int) float64 { return q.x.Sites[i].PLDDT }
	byPLDDT := func(i, j int) int { return cmp.Compare(pLDDT(i), pLDDT(j)) }
	low, high := slices.MinFunc(g.sites, byPLDDT), slices.MaxFunc(g.sites, byPLDDT)
	sum := 0.0
	for _, i := range g.sites {
		sum += pLDDT(i)
	}
	mean := sum / float64(len(g.sites))
	bound, passes := "at 70 or below", func(i int) bool { return pLDDT(i) <= facts.Confident }
	switch {
	case q.has["doubt"] || q.negated:
	case q.has["sure"]:
		bound, passes = "above 90", func(i int) bool { return pLDDT(i) > facts.VeryConfident }
	case q.has["trust"] && q.says("which where list"):
		bound, passes = "above 70", func(i int) bool { return pLDDT(i) > facts.Confident }
	}
	chosen := keep(g.sites, passes)
	p.add("has a mean pLDDT of %.1f (%s), from %s with %.1f to %s with %.1f; %d of %d %s %s", mean, facts.Band(mean),
		q.x.Sites[low].Ref, pLDDT(low), q.x.Sites[high].Ref, pLDDT(high), len(chosen), len(g.sites),
		words.Plural(len(chosen), "is", "are"), bound)
	if len(chosen) > 0 {
		p.add(": %s", q.ranges(p, chosen))
	}
}

// rmsdOf is confidenceOf for a model that gives a predicted RMSD in place of pLDDT: low values are good.
func rmsdOf(q *query, p *part, g group) {
	rmsd := func(i int) float64 { return q.x.Sites[i].RMSD }
	known := keep(g.sites, func(i int) bool { return !math.IsNaN(rmsd(i)) })
	if len(known) == 0 {
		p.add("has no predicted RMSD")
		return
	}
	byRMSD := func(i, j int) int { return cmp.Compare(rmsd(i), rmsd(j)) }
	low, high := slices.MinFunc(known, byRMSD), slices.MaxFunc(known, byRMSD)
	sum := 0.0
	for _, i := range known {
		sum += rmsd(i)
	}
	bound, passes := "above 1.5 Å", func(i int) bool { return rmsd(i) > facts.UncertainRMSD }
	switch {
	case q.has["doubt"] || q.negated:
	case q.has["sure"]:
		bound, passes = "at 0.5 Å or below", func(i int) bool { return rmsd(i) <= 0.5 }
	case q.has["trust"] && q.says("which where list"):
		bound, passes = "at 1.5 Å or below", func(i int) bool { return rmsd(i) <= facts.UncertainRMSD }
	}
	chosen := keep(known, passes)
	p.add("has a mean predicted RMSD of %.2f Å, from %s with %.2f to %s with %.2f; %d of %d %s %s",
		sum/float64(len(known)), q.x.Sites[low].Ref, rmsd(low), q.x.Sites[high].Ref, rmsd(high), len(chosen),
		len(known), words.Plural(len(chosen), "is", "are"), bound)
	if len(chosen) > 0 {
		p.add(": %s", q.ranges(p, chosen))
	}
}

// confidence rates the whole prediction in the words of its page, unless the question is about a part.
func (q *query) confidence() part {
	v, of := q.f.Verdict, confidenceOf
	if !q.x.HasConfidence && q.x.HasRMSD {
		topic := *q.topic
		topic.Remark = structure.RMSDInstead + " It is the model's own estimate, not a measurement."
		q.topic, of = &topic, rmsdOf
	}
	if v == nil || len(q.filter()) > 0 {
		return q.measure(of)
	}
	verdict := v.Title + ". " + strings.Join(v.Lines, " ")
	if v.Tone == "unknown" {
		return refusal("%s", verdict)
	}
	p := q.measure(of)
	p.sure, p.text = Estimated, verdict+"\n"+p.text
	if q.f.Meaning != "" {
		p.text += fmt.Sprintf(" In the words of its engine, this confidence is “%s”.", q.f.Meaning)
	}
	return p
}

func surfaceOf(q *query, p *part, g group) {
	p.add("has %.0f Å² of accessible surface", q.x.Area(g.sites))
	if len(g.sites) == 1 {
		p.add("%s", q.properties(g.sites[0]))
	}
}
