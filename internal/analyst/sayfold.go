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

// Answers about the fold: secondary structure, confidence, size.

// states returns the DSSP letters that the question is about; all where it names none.
func (q *query) states() string {
	states := ""
	for _, c := range q.conds {
		if c.property == ofState && !c.not {
			states += c.states
		}
	}
	return states
}

// secondaryStructure describes the chains, or the residues named.
func (q *query) secondaryStructure() part {
	if q.conditionOn(ofPlace, ofName, ofSurface, ofLimit) || q.relation != nil {
		return q.statesOfSites()
	}
	list := slices.DeleteFunc(q.proteins(), func(c facts.Chain) bool { return c.Secondary == nil })
	if len(list) == 0 {
		return refusal("Secondary structure needs a protein chain with a complete main chain, and there is none here.")
	}
	if slices.ContainsFunc(q.conds, func(c *condition) bool { return c.property == ofState && c.not }) || q.negated {
		return q.statesElsewhere(list)
	}
	var said []string
	var cited []facts.ResidueRef
	for _, c := range facts.Head(list, maxSaid) {
		text, refs := q.chainSegments(c)
		said, cited = append(said, text), append(cited, refs...)
	}
	return part{strings.Join(said, "\n"), cited, Geometric}
}

// chainSegments lists the segments of one chain that the question asks for.
func (q *query) chainSegments(c facts.Chain) (string, []facts.ResidueRef) {
	s, states := c.Secondary, q.states()
	text := fmt.Sprintf("Chain %s is %s helix, %s strand and %s neither (DSSP, %d residues): %s.", c.ID,
		facts.Percent(s.Helix), facts.Percent(s.Strand),
		facts.Percent(s.Other), s.Assigned, s.Character())
	if states != "" && strings.Trim(states, "TS-") == "" {
		sites := q.sitesWhere([]*condition{q.chainCondition(item{names: []string{c.ID}}), {property: ofState,
			accepts: []func(int) bool{
				func(i int) bool { return strings.IndexByte(states, q.x.Sites[i].State) >= 0 },
			}}})
		label := "Neither helix nor strand"
		if states == "T" {
			label = "In turns"
		}
		names, cited := q.stretchNames(sites)
		return text + " " + label + ": " + names + ".", cited
	}
	segments := slices.DeleteFunc(slices.Clone(s.Segments), func(g facts.Segment) bool {
		return states != "" &&
			!strings.Contains(states, g.State)
	})
	for _, k := range q.conds {
		if len(k.segments) == 0 || k.property != ofState {
			continue
		}
		var chosen []string
		for _, g := range k.segments {
			if g.From.Chain == c.ID {
				chosen = append(chosen, fmt.Sprintf("%s %s with %s", g.Kind(), facts.Span(g.From, g.To),
					residues(g.Length)))
			}
		}
		which, _, _ := strings.Cut(strings.TrimPrefix(k.wording[0], "in the "), " ")
		text += " The " + which + ": " + facts.OrNone(facts.Join(chosen, 20)) + "."
	}
	text += " " + countKinds(segments, states)
	var names []string
	var cited []facts.ResidueRef
	for _, g := range segments {
		names = append(names, fmt.Sprintf("%s %s (%s)", g.Kind(), facts.Span(g.From, g.To), residues(g.Length)))
		cited = append(cited, g.From, g.To)
	}
	if len(names) > 0 {
		text += ": " + facts.Join(names, 60)
	}
	return text + ".", cited
}

// countKinds counts segments by their state.
func countKinds(list []facts.Segment, states string) string {
	var out []string
	for _, k := range [...][3]string{{"H", "α-helix", "α-helices"}, {"G", "3-10 helix", "3-10 helices"}, {"I",
		"π-helix", "π-helices"}, {"E", "β-strand", "β-strands"},
		{"B", "isolated β-bridge residue", "isolated β-bridge residues"}} {
		n := 0
		for _, g := range list {
			if g.State == k[0] {
				n++
			}
		}
		if n > 0 || strings.Contains(cmp.Or(states, "HE"), k[0]) && (k[0] == "H" || k[0] == "E") {
			out = append(out, facts.Quantity(n, k[1], k[2]))
		}
	}
	if len(out) == 0 {
		return "It has none of these"
	}
	return "It has " + facts.Join(out, 9)
}

// stretchNames names selected sites as stretches.
func (q *query) stretchNames(sites []int) (string, []facts.ResidueRef) {
	var names []string
	var cited []facts.ResidueRef
	for _, run := range q.runs(sites, false) {
		first, last := q.x.Sites[run[0]].Ref, q.x.Sites[run[len(run)-1]].Ref
		names, cited = append(names, facts.Span(first, last)), append(cited, first, last)
	}
	if len(names) == 0 {
		return "none", nil
	}
	return facts.Quantity(len(names), "stretch, ", "stretches, ") + facts.Join(names, 60), cited
}

// statesElsewhere lists the stretches that are not in a state.
func (q *query) statesElsewhere(list []facts.Chain) part {
	var said []string
	var cited []facts.ResidueRef
	for _, c := range facts.Head(list, maxSaid) {
		sites := slices.DeleteFunc(q.sites(), func(i int) bool {
			return i < c.Polymer.Lo || i >= c.Polymer.Hi ||
				q.x.Sites[i].State == 0
		})
		names, refs := q.stretchNames(sites)
		said = append(said, fmt.Sprintf("In chain %s %d of %d residues (%s) are %s: %s.", c.ID, len(sites),
			c.Secondary.Assigned,
			facts.Percent(float64(len(sites))/float64(c.Secondary.Assigned)), wordingOf(q.conds), names))
		cited = append(cited, refs...)
	}
	return part{strings.Join(said, "\n"), cited, Geometric}
}

// statesOfSites says in which states selected residues are, and how many are in the state asked for.
func (q *query) statesOfSites() part {
	var where, states []*condition
	for _, c := range q.filter() {
		if c.property == ofState {
			states = append(states, c)
		} else {
			where = append(where, c)
		}
	}
	sites := q.sitesWhere(where)
	assigned := slices.DeleteFunc(slices.Clone(sites), func(i int) bool { return q.x.Sites[i].State == 0 })
	if len(sites) == 0 {
		return q.none()
	}
	if len(assigned) == 0 {
		return refusal("Secondary structure is assigned to protein residues with a complete main chain, and %s %s not.",
			q.x.List(sites, 5),
			facts.Plural(len(sites), "is", "are"))
	}
	var said []string
	var cited []facts.ResidueRef
	for _, run := range q.runs(sites, true) {
		s, last := &q.x.Sites[run[0]], q.x.Sites[run[len(run)-1]].Ref
		text := fmt.Sprintf("%s: %s", facts.Span(s.Ref, last), facts.StateName(s.State))
		cited = append(cited, s.Ref, last)
		if len(sites) <= 3 && s.State != 0 && structure.ThreeState(s.State) != '-' {
			lo, hi := q.x.SegmentAt(run[0])
			text += " that runs from " + facts.Span(q.x.Sites[lo].Ref, q.x.Sites[hi].Ref)
			cited = append(cited, q.x.Sites[lo].Ref, q.x.Sites[hi].Ref)
		}
		said = append(said, text)
	}
	text := ""
	if len(states) > 0 {
		hits := slices.DeleteFunc(assigned, func(i int) bool {
			return slices.ContainsFunc(states,
				func(c *condition) bool { return !c.holds(i) })
		})
		text = q.yesOrNo(len(hits) == len(sites)) + fmt.Sprintf("%d of %s %s (%s). ", len(hits),
			facts.Quantity(len(sites), "residue is", "residues are"), wordingOf(states),
			facts.Percent(float64(len(hits))/float64(len(sites))))
	}
	return part{text + capital(strings.Join(facts.Head(said, 60), "; ")) + " (DSSP).", cited, Geometric}
}

// confidence describes pLDDT over chains, or over selected residues.
func (q *query) confidence() part {
	if !q.x.HasConfidence {
		return q.noConfidence()
	}
	limits := slices.IndexFunc(q.conds, func(c *condition) bool { return c.property == ofLimit })
	if limits >= 0 && (!q.only(ofLimit, ofChain) || q.relation != nil || len(q.conds) > 1) {
		return q.residuesWith()
	}
	if q.partial() && limits < 0 {
		sites := q.sites()
		if len(sites) == 0 {
			return q.none()
		}
		return q.confidenceOf(sites)
	}
	var said []string
	var cited []facts.ResidueRef
	list := q.polymers()
	for _, c := range facts.Head(list, maxSaid) {
		if k := c.Confidence; k != nil {
			said = append(said, fmt.Sprintf("Chain %s has a mean pLDDT of %.1f (%s), from %.1f to %.1f: %s of "+
				"residues at 90 or more, %s from 70 to 90, %s from 50 to 70, %s below 50.",
				c.ID, k.Mean, facts.Band(k.Mean), k.Min, k.Max, facts.Percent(k.VeryHigh),
				facts.Percent(k.Confident), facts.Percent(k.Low), facts.Percent(k.VeryLow)))
			text, refs := q.stretchesOf(c)
			said, cited = append(said, text), append(cited, refs...)
		}
	}
	if len(list) > 1 && len(q.conds) == 0 {
		said = append(said, fmt.Sprintf("Over all chains the mean is %.1f.", q.f.Confidence.Mean))
	}
	text := strings.Join(said, " ") + " pLDDT is the model's own estimate, not a measurement."
	if q.has["disorder"] {
		text += " Very low values often go with disorder, but only an experiment shows it."
	}
	return part{text, cited, Estimated}
}

// noConfidence says that no pLDDT is known.
func (q *query) noConfidence() part {
	if q.f.Predicted {
		return refusal("No confidence values came with this prediction, so I cannot say how far to trust it.")
	}
	return refusal("No confidence of a model is known for this structure. If it is an experimental one, its " +
		"B-factors are not a confidence, and I do not read them as one.")
}

// stretchesOf lists the regions of a chain on the side of a bound that the question asks for.
func (q *query) stretchesOf(c facts.Chain) (string, []facts.ResidueRef) {
	word, pass := "below 70", func(v float64) bool { return v < 70 }
	switch {
	case q.has["disorder"]:
		word, pass = "below 50", func(v float64) bool { return v < 50 }
	case q.has["sure"] && !q.has["doubt"] && !q.negated:
		word, pass = "at or above 90", func(v float64) bool { return v >= 90 }
	}
	k := slices.IndexFunc(q.conds, func(c *condition) bool { return c.property == ofLimit })
	var list []facts.Stretch
	if k >= 0 {
		word = q.conds[k].String()
		for _, run := range q.runs(q.sitesWhere([]*condition{q.conds[k],
			q.chainCondition(item{names: []string{c.ID}})}), false) {
			sum := 0.0
			for _, i := range run {
				sum += q.x.Sites[i].PLDDT
			}
			list = append(list, facts.Stretch{From: q.x.Sites[run[0]].Ref, To: q.x.Sites[run[len(run)-1]].Ref,
				Length: len(run), Mean: sum / float64(len(run))})
		}
	} else {
		list = q.x.Stretches(c.Polymer.Lo, c.Polymer.Hi, pass)
	}
	n := 0
	var names []string
	var cited []facts.ResidueRef
	for _, s := range list {
		n += s.Length
		names = append(names, fmt.Sprintf("%s (mean %.1f)", facts.Span(s.From, s.To), s.Mean))
		cited = append(cited, s.From, s.To)
	}
	text := fmt.Sprintf("No residue is %s.", word)
	if n > 0 {
		text = fmt.Sprintf("%d of %s %s: %s.", n, facts.Quantity(c.Length, "residue is", "residues are"), word,
			facts.Join(names, 40))
	}
	lowest, highest := c.Polymer.Lo, c.Polymer.Lo
	for i := c.Polymer.Lo; i < c.Polymer.Hi; i++ {
		if q.x.Sites[i].PLDDT < q.x.Sites[lowest].PLDDT {
			lowest = i
		}
		if q.x.Sites[i].PLDDT > q.x.Sites[highest].PLDDT {
			highest = i
		}
	}
	a, b := &q.x.Sites[lowest], &q.x.Sites[highest]
	return text + fmt.Sprintf(" The lowest is %s with %.1f, the highest %s with %.1f.", a.Ref, a.PLDDT, b.Ref,
		b.PLDDT), cited
}

// confidenceOf summarises the pLDDT of selected residues.
func (q *query) confidenceOf(sites []int) part {
	sum, doubtful := 0.0, 0
	low, high := sites[0], sites[0]
	for _, i := range sites {
		v := q.x.Sites[i].PLDDT
		sum += v
		if v < 70 {
			doubtful++
		}
		if v < q.x.Sites[low].PLDDT {
			low = i
		}
		if v > q.x.Sites[high].PLDDT {
			high = i
		}
	}
	mean := sum / float64(len(sites))
	first, last := q.x.Sites[sites[0]].Ref, q.x.Sites[sites[len(sites)-1]].Ref
	if len(sites) == 1 {
		return part{fmt.Sprintf("%s has a pLDDT of %.1f, which is %s. %s", q.describe(sites), mean, facts.Band(mean),
			advice(mean)), []facts.ResidueRef{first}, Estimated}
	}
	text := fmt.Sprintf("%s: mean pLDDT %.1f, which is %s; from %.1f at %s to %.1f; %d of %d residues are below 70. %s",
		capital(q.describe(sites)), mean, facts.Band(mean),
		q.x.Sites[low].PLDDT, q.x.Sites[low].Ref, q.x.Sites[high].PLDDT, doubtful, len(sites), advice(mean))
	return part{text, []facts.ResidueRef{first, last, q.x.Sites[low].Ref}, Estimated}
}

// advice says how far coordinates of a pLDDT can be relied on.
func advice(v float64) string {
	switch {
	case v >= 90:
		return "By the model's own estimate both main chain and side chains can mostly be relied on."
	case v >= 70:
		return "By the model's own estimate the main chain can mostly be relied on."
	case v >= 50:
		return "By the model's own estimate this should be read with caution."
	}
	return "By the model's own estimate these coordinates should not be interpreted."
}

// alignedError summarises the predicted aligned errors.
func (q *query) alignedError() part {
	p := q.f.PAE
	if p == nil {
		return refusal("No predicted aligned errors came with this structure; without them I do not divide it into " +
			"domains or judge how its parts are placed to each other.")
	}
	said := []string{fmt.Sprintf("The mean predicted aligned error is %.1f Å.", p.Mean)}
	var cited []facts.ResidueRef
	for _, list := range [][]facts.PairError{p.Within, p.Between} {
		for _, e := range facts.Head(list, maxSaid) {
			if len(q.chains) > 0 && (!slices.Contains(q.chains, e.A) || !slices.Contains(q.chains, e.B)) {
				continue
			}
			if e.A == e.B {
				said = append(said, fmt.Sprintf("Within chain %s it is %.1f Å.", e.A, e.Mean))
			} else {
				said = append(said, fmt.Sprintf("Between chains %s and %s it is %.1f Å on average and %.1f Å at "+
					"least, so their relative placement is %s.", e.A, e.B, e.Mean, e.Min, map[bool]string{
					true: "estimated with confidence", false: "not estimated with confidence",
				}[e.Mean < 10]))
			}
		}
	}
	var names []string
	for _, d := range p.Domains {
		if len(q.chains) == 0 || slices.Contains(q.chains, d.From.Chain) {
			names = append(names, fmt.Sprintf("%s (mean error inside %.1f Å)", facts.Span(d.From, d.To), d.Mean))
			cited = append(cited, d.From, d.To)
		}
	}
	if len(names) > 0 {
		said = append(said, fmt.Sprintf("By these errors %d stretches are each placed as a unit: %s.", len(names),
			facts.Join(names, 20)))
	} else {
		said = append(said, "By these errors no chain divides into separate stretches.")
	}
	return part{strings.Join(said, " "), cited, Estimated}
}

// modelScores gives pTM, ipTM and the scores of interfaces.
func (q *query) modelScores() part {
	var said []string
	if q.f.PTM != nil {
		said = append(said, fmt.Sprintf("The model gives a pTM of %.2f.", *q.f.PTM))
	}
	if q.f.IPTM != nil {
		said = append(said, fmt.Sprintf("The model gives an ipTM of %.2f.", *q.f.IPTM))
	}
	for _, in := range facts.Head(q.f.Interfaces, maxSaid) {
		if in.Scores != nil && (len(q.chains) == 0 || slices.Contains(q.chains, in.A) && slices.Contains(q.chains,
			in.B)) {
			said = append(said, fmt.Sprintf("Interface of chains %s and %s: %s.", in.A, in.B, in.Scores))
		}
	}
	if len(said) == 0 {
		return refusal("No scores of a model (pTM, ipTM, errors between chains) came with this structure.")
	}
	return part{text: strings.Join(said, " "), sure: Estimated}
}

// shapeWord compares with the law of Skolnick, Kolinski and Ortiz, J. Mol. Biol. 265, 217 (1997).
func shapeWord(ratio float64) string {
	switch {
	case ratio < 1.15:
		return "about as compact as these"
	case ratio < 1.4:
		return "somewhat more extended than these"
	}
	return "clearly more extended than these"
}

// size measures all polymers and each chain, or the selected residues.
func (q *query) size() part {
	if q.partial() {
		return q.sizeOfPart()
	}
	list := q.polymers()
	if len(list) == 0 {
		return refusal("The structure has no polymer to measure.")
	}
	var said []string
	var cited []facts.ResidueRef
	if len(q.conds) == 0 {
		s := q.f.Shape
		said = append(said, fmt.Sprintf("All polymers together (%s) have a radius of gyration of %s (heavy atoms, "+
			"weighed by mass); the two residues farthest apart are %s and %s, %s between their centres.",
			residues(q.f.Residues), q.inUnit(s.Gyration), s.LongestA, s.LongestB, q.inUnit(s.Longest)))
		cited = append(cited, s.LongestA, s.LongestB)
	}
	for _, c := range facts.Head(list, maxSaid) {
		text := fmt.Sprintf("Chain %s: ", c.ID)
		if len(list) > 1 || len(q.conds) > 0 {
			text += fmt.Sprintf("radius of gyration %s, ", q.inUnit(c.Gyration))
		}
		text += fmt.Sprintf("%s between %s and %s, its ends.", q.inUnit(c.EndToEnd), c.First, c.Last)
		cited = append(cited, c.First, c.Last)
		if c.Kind == structure.Protein && (q.has["compact"] || q.has["size"]) {
			usual := 2.2 * math.Pow(float64(c.Length), 0.38)
			text += fmt.Sprintf(" Globular proteins of %d residues have about %s (2.2·N^0.38 Å), so this chain is %s.",
				c.Length, q.inUnit(usual), shapeWord(c.Gyration/usual))
		}
		said = append(said, text)
	}
	return part{strings.Join(said, " "), cited, Measured}
}

// sizeOfPart measures selected residues: radius of gyration, and the distance between the first and the last one.
func (q *query) sizeOfPart() part {
	var said []string
	var cited []facts.ResidueRef
	for _, g := range facts.Head(q.groups(), maxSaid) {
		first, last := &q.x.Sites[g.sites[0]], &q.x.Sites[g.sites[len(g.sites)-1]]
		text := fmt.Sprintf("%s: radius of gyration %s (heavy atoms, weighed by mass)", capital(g.label),
			q.inUnit(q.x.Gyration(g.sites)))
		u, okU := first.Residue.Centre()
		v, okV := last.Residue.Centre()
		if okU && okV {
			text += fmt.Sprintf(", %s between the centres of %s and %s", q.inUnit(structure.Distance(u, v)), first.Ref,
				last.Ref)
		}
		said, cited = append(said, text+"."), append(cited, first.Ref, last.Ref)
	}
	if len(said) == 0 {
		return q.none()
	}
	return part{strings.Join(said, " "), cited, certaintyOf(append(q.filter(), &condition{property: ofName}))}
}
