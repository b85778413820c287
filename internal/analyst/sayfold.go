package analyst

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// Answers about the fold: secondary structure, confidence, size, surface, pockets.

// wanted says which states the question is about; all where it names none.
func (q *query) wanted() func(byte) bool {
	any := false
	var set string
	for _, c := range []struct{ concept, states string }{{"helix", "HGI"}, {"threeten", "G"}, {"pihelix", "I"}, {"strand", "EB"}, {"coil", "TS-"}, {"turn", "T"}} {
		if q.has[c.concept] {
			any, set = true, set+c.states
		}
	}
	if q.has["threeten"] || q.has["pihelix"] { // more special than helix
		set = strings.ReplaceAll(set, "HGI", "")
	}
	return func(state byte) bool { return state != 0 && (!any || strings.IndexByte(set, state) >= 0) }
}

func (q *query) secondaryStructure() part {
	if sites := q.sites(); len(sites) > 0 {
		return q.statesOf(sites)
	}
	list := q.proteins()
	list = slices.DeleteFunc(list, func(c facts.Chain) bool { return c.Secondary == nil })
	if len(list) == 0 {
		return no("Secondary structure needs a protein chain with a complete main chain, and there is none here.")
	}
	if q.has["not"] {
		return q.statesElsewhere(list)
	}
	var said []string
	var cited []facts.ResidueRef
	wanted := q.wanted()
	for _, c := range facts.Head(list, maxSaid) {
		s := c.Secondary
		text := fmt.Sprintf("Chain %s is %s helix, %s strand and %s neither (DSSP, %d residues): %s.", c.ID, facts.Percent(s.Helix), facts.Percent(s.Strand), facts.Percent(s.Other), s.Assigned, s.Character())
		segments := slices.DeleteFunc(slices.Clone(s.Segments), func(g facts.Segment) bool { return !wanted(g.State[0]) })
		if (q.has["coil"] || q.has["turn"]) && !q.has["helix"] && !q.has["strand"] {
			label := "Neither helix nor strand"
			if !q.has["coil"] {
				label = "In turns"
			}
			said = append(said, text+" "+label+": "+q.runsOf(c, wanted, &cited)+".")
			continue
		}
		if (q.has["longest"] || q.has["shortest"]) && len(segments) > 0 {
			var best []string
			for _, g := range extreme(slices.Clone(segments), q.has["shortest"]) {
				best = append(best, fmt.Sprintf("%s %s with %s", g.Kind(), facts.Span(g.From, g.To), facts.Quantity(g.Length, "residue", "residues")))
			}
			text += " The " + map[bool]string{true: "shortest", false: "longest"}[q.has["shortest"]] + ": " + facts.Join(best, 20) + "."
		}
		text += " " + countKinds(segments, wanted) + ": "
		var names []string
		for _, g := range segments {
			names = append(names, fmt.Sprintf("%s %s (%s)", g.Kind(), facts.Span(g.From, g.To), facts.Quantity(g.Length, "residue", "residues")))
			cited = append(cited, g.From, g.To)
		}
		if len(names) == 0 {
			text = strings.TrimSuffix(text, ": ") + "."
		} else {
			text += facts.Join(names, 60) + "."
		}
		said = append(said, text)
	}
	return part{strings.Join(said, "\n"), cited, Geometric}
}

func extreme(list []facts.Segment, short bool) []facts.Segment {
	best := list[0].Length
	for _, g := range list {
		if short && g.Length < best || !short && g.Length > best {
			best = g.Length
		}
	}
	return slices.DeleteFunc(list, func(g facts.Segment) bool { return g.Length != best })
}

func countKinds(list []facts.Segment, wanted func(byte) bool) string {
	var out []string
	for _, k := range []struct {
		state     byte
		one, many string
	}{{'H', "α-helix", "α-helices"}, {'G', "3-10 helix", "3-10 helices"}, {'I', "π-helix", "π-helices"}, {'E', "β-strand", "β-strands"}, {'B', "isolated β-bridge residue", "isolated β-bridge residues"}} {
		n := 0
		for _, g := range list {
			if g.State[0] == k.state {
				n++
			}
		}
		if n > 0 || wanted(k.state) && (k.state == 'H' || k.state == 'E') {
			out = append(out, facts.Quantity(n, k.one, k.many))
		}
	}
	if len(out) == 0 {
		return "It has none of these"
	}
	return "It has " + facts.Join(out, 9)
}

// runsOf names the stretches of a chain in the wanted states.
func (q *query) runsOf(c facts.Chain, wanted func(byte) bool, cited *[]facts.ResidueRef) string {
	var names []string
	for i := c.Polymer.Lo; i < c.Polymer.Hi; i++ {
		if !wanted(q.x.Sites[i].State) {
			continue
		}
		j := i
		for j+1 < c.Polymer.Hi && wanted(q.x.Sites[j+1].State) {
			j++
		}
		names = append(names, facts.Span(q.x.Sites[i].Ref, q.x.Sites[j].Ref))
		*cited = append(*cited, q.x.Sites[i].Ref, q.x.Sites[j].Ref)
		i = j
	}
	if len(names) == 0 {
		return "none"
	}
	return facts.Quantity(len(names), "stretch, ", "stretches, ") + facts.Join(names, 60)
}

func (q *query) statesElsewhere(list []facts.Chain) part {
	var said []string
	var cited []facts.ResidueRef
	wanted := q.wanted()
	for _, c := range facts.Head(list, maxSaid) {
		other := func(s byte) bool { return s != 0 && !wanted(s) }
		n := 0
		for i := c.Polymer.Lo; i < c.Polymer.Hi; i++ {
			if other(q.x.Sites[i].State) {
				n++
			}
		}
		said = append(said, fmt.Sprintf("In chain %s %d of %d residues (%s) are not in such a state: %s.", c.ID, n, c.Secondary.Assigned, facts.Percent(float64(n)/float64(c.Secondary.Assigned)), q.runsOf(c, other, &cited)))
	}
	return part{strings.Join(said, "\n"), cited, Geometric}
}

// statesOf tells the states of single residues or a range.
func (q *query) statesOf(sites []int) part {
	var said []string
	var cited []facts.ResidueRef
	n, hits := 0, 0
	wanted := q.wanted()
	for _, i := range sites {
		if s := q.x.Sites[i].State; s != 0 {
			n++
			if wanted(s) {
				hits++
			}
		}
	}
	if n == 0 {
		return no("Secondary structure is assigned to protein residues with a complete main chain, and %s %s not.", q.x.List(sites, 5), facts.Plural(len(sites), "is", "are"))
	}
	for at := 0; at < len(sites); {
		end := at
		s := &q.x.Sites[sites[at]]
		for end+1 < len(sites) && sites[end+1] == sites[end]+1 && q.x.Sites[sites[end+1]].State == s.State && q.x.Sites[sites[end+1]].Chain == s.Chain {
			end++
		}
		last := q.x.Sites[sites[end]].Ref
		name := facts.StateName(s.State)
		if s.State == 0 {
			name = "not assigned"
		}
		text := fmt.Sprintf("%s: %s", facts.Span(s.Ref, last), name)
		cited = append(cited, s.Ref, last)
		if len(sites) <= 3 && s.State != 0 && structure.ThreeState(s.State) != '-' {
			lo, hi := q.x.SegmentAt(sites[at])
			text += fmt.Sprintf(" that runs from %s", facts.Span(q.x.Sites[lo].Ref, q.x.Sites[hi].Ref))
			cited = append(cited, q.x.Sites[lo].Ref, q.x.Sites[hi].Ref)
		}
		said = append(said, text)
		at = end + 1
	}
	text := ""
	if q.has["helix"] || q.has["strand"] || q.has["coil"] || q.has["turn"] || q.has["threeten"] || q.has["pihelix"] {
		text = fmt.Sprintf("%d of %s in the state asked for. ", hits, facts.Quantity(n, "residue is", "residues are"))
	}
	return part{text + capital(strings.Join(facts.Head(said, 60), "; ")) + " (DSSP).", cited, Geometric}
}

func (q *query) confidence() part {
	if !q.x.HasConfidence {
		return q.noConfidence()
	}
	if sites := q.sites(); len(sites) > 0 {
		return q.confidenceOf(sites)
	}
	var said []string
	var cited []facts.ResidueRef
	for _, c := range facts.Head(q.about(), maxSaid) {
		k := c.Confidence
		if k == nil {
			continue
		}
		said = append(said, fmt.Sprintf("Chain %s has a mean pLDDT of %.1f (%s), from %.1f to %.1f: %s of residues at 90 or more, %s from 70 to 90, %s from 50 to 70, %s below 50.",
			c.ID, k.Mean, facts.Band(k.Mean), k.Min, k.Max, facts.Percent(k.VeryHigh), facts.Percent(k.Confident), facts.Percent(k.Low), facts.Percent(k.VeryLow)))
		said = append(said, q.stretchesOf(c, &cited))
	}
	if len(q.about()) > 1 && len(q.chains) == 0 {
		said = append(said, fmt.Sprintf("Over all chains the mean is %.1f.", q.f.Confidence.Mean))
	}
	text := strings.Join(said, " ") + " pLDDT is the model's own estimate, not a measurement."
	if q.has["disorder"] {
		text += " Very low values often go with disorder, but only an experiment shows it."
	}
	return part{text, cited, Estimated}
}

func (q *query) noConfidence() part {
	if q.f.Predicted {
		return no("No confidence values came with this prediction, so I cannot say how far to trust it.")
	}
	return no("No confidence of a model is known for this structure. If it is an experimental one, its B-factors are not a confidence, and I do not read them as one.")
}

// stretchesOf lists the regions on the side of a bound that the question asks for.
func (q *query) stretchesOf(c facts.Chain, cited *[]facts.ResidueRef) string {
	limit, above := 70.0, q.has["sure"] && !q.has["doubt"]
	if above {
		limit = 90
	}
	if q.has["disorder"] {
		limit = 50
	}
	if q.limit != nil {
		limit, above = q.limit.value, q.limit.above
	} else if q.has["not"] && (q.has["trust"] || q.has["confidence"]) {
		above = false
	}
	list := q.x.Stretches(c.Polymer.Lo, c.Polymer.Hi, func(v float64) bool { return v < limit != above })
	word := map[bool]string{true: "at or above", false: "below"}[above]
	if len(list) == 0 {
		return fmt.Sprintf("No residue is %s %g.", word, limit)
	}
	n := 0
	var names []string
	for _, s := range list {
		n += s.Length
		names = append(names, fmt.Sprintf("%s (mean %.1f)", facts.Span(s.From, s.To), s.Mean))
		*cited = append(*cited, s.From, s.To)
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
	return fmt.Sprintf("%d of %s %s %g: %s. The lowest is %s with %.1f, the highest %s with %.1f.", n, facts.Quantity(c.Length, "residue is", "residues are"), word, limit, facts.Join(names, 40),
		q.x.Sites[lowest].Ref, q.x.Sites[lowest].PLDDT, q.x.Sites[highest].Ref, q.x.Sites[highest].PLDDT)
}

func (q *query) confidenceOf(sites []int) part {
	sum, low, high, at := 0.0, math.Inf(1), math.Inf(-1), sites[0]
	for _, i := range sites {
		v := q.x.Sites[i].PLDDT
		sum += v
		high = max(high, v)
		if v < low {
			low, at = v, i
		}
	}
	mean := sum / float64(len(sites))
	first, last := q.x.Sites[sites[0]].Ref, q.x.Sites[sites[len(sites)-1]].Ref
	if len(sites) == 1 {
		return part{fmt.Sprintf("%s has a pLDDT of %.1f, which is %s. %s", first, mean, facts.Band(mean), advice(mean)), []facts.ResidueRef{first}, Estimated}
	}
	what := fmt.Sprintf("%s (%d residues)", facts.Span(first, last), len(sites))
	if sites[len(sites)-1]-sites[0] != len(sites)-1 || q.x.Sites[sites[0]].Chain != q.x.Sites[sites[len(sites)-1]].Chain {
		what = q.x.List(sites, 30)
	}
	doubtful := 0
	for _, i := range sites {
		if q.x.Sites[i].PLDDT < 70 {
			doubtful++
		}
	}
	return part{fmt.Sprintf("%s: mean pLDDT %.1f, which is %s; from %.1f at %s to %.1f; %d of %d residues are below 70. %s", what, mean, facts.Band(mean), low, q.x.Sites[at].Ref, high, doubtful, len(sites), advice(mean)),
		[]facts.ResidueRef{first, last, q.x.Sites[at].Ref}, Estimated}
}

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

func (q *query) alignedError() part {
	p := q.f.PAE
	if p == nil {
		return no("No predicted aligned errors came with this structure; without them I do not divide it into domains or judge how its parts are placed to each other.")
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
				said = append(said, fmt.Sprintf("Between chains %s and %s it is %.1f Å on average and %.1f Å at least, so their relative placement is %s.", e.A, e.B, e.Mean, e.Min, map[bool]string{true: "estimated with confidence", false: "not estimated with confidence"}[e.Mean < 10]))
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
		said = append(said, fmt.Sprintf("By these errors %d stretches are each placed as a unit: %s.", len(names), facts.Join(names, 20)))
	} else {
		said = append(said, "By these errors no chain divides into separate stretches.")
	}
	return part{strings.Join(said, " "), cited, Estimated}
}

func (q *query) modelScores() part {
	var said []string
	if q.f.PTM != nil {
		said = append(said, fmt.Sprintf("The model gives a pTM of %.2f.", *q.f.PTM))
	}
	if q.f.IPTM != nil {
		said = append(said, fmt.Sprintf("The model gives an ipTM of %.2f.", *q.f.IPTM))
	}
	for _, in := range facts.Head(q.f.Interfaces, maxSaid) {
		if in.Scores != nil && (len(q.chains) == 0 || slices.Contains(q.chains, in.A) && slices.Contains(q.chains, in.B)) {
			said = append(said, fmt.Sprintf("Interface of chains %s and %s: %s.", in.A, in.B, in.Scores))
		}
	}
	if len(said) == 0 {
		return no("No scores of a model (pTM, ipTM, errors between chains) came with this structure.")
	}
	return part{text: strings.Join(said, " "), sure: Estimated}
}

func (q *query) size() part {
	list := q.about()
	if len(list) == 0 {
		return no("The structure has no polymer to measure.")
	}
	length := facts.Angstrom
	if q.has["nm"] {
		length = func(d float64) string { return fmt.Sprintf("%.3f nm", d/10) }
	}
	var said []string
	var cited []facts.ResidueRef
	if len(q.chains) == 0 {
		s := q.f.Shape
		said = append(said, fmt.Sprintf("All polymers together (%s) have a radius of gyration of %s (heavy atoms, weighed by mass); the two residues farthest apart are %s and %s, %s between their centres.", facts.Quantity(q.f.Residues, "residue", "residues"), length(s.Gyration), s.LongestA, s.LongestB, length(s.Longest)))
		cited = append(cited, s.LongestA, s.LongestB)
	}
	for _, c := range facts.Head(list, maxSaid) {
		text := fmt.Sprintf("Chain %s: ", c.ID)
		if len(list) > 1 || len(q.chains) > 0 {
			text += fmt.Sprintf("radius of gyration %s, ", length(c.Gyration))
		}
		text += fmt.Sprintf("%s between %s and %s, its ends.", length(c.EndToEnd), c.First, c.Last)
		cited = append(cited, c.First, c.Last)
		if c.Kind == structure.Protein && (q.has["compact"] || q.has["size"]) {
			usual := 2.2 * math.Pow(float64(c.Length), 0.38)
			text += fmt.Sprintf(" Globular proteins of %d residues have about %s (2.2·N^0.38 Å), so this chain is %s.", c.Length, length(usual), shapeWord(c.Gyration/usual))
		}
		said = append(said, text)
	}
	return part{strings.Join(said, " "), cited, Measured}
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

func (q *query) surface() part {
	if !q.x.HasSurface || len(q.proteins()) == 0 && len(q.residues) == 0 {
		return no("The accessible surface was not computed for this structure.")
	}
	if sites := q.sites(); len(sites) > 0 && len(q.residues) > 0 {
		var said []string
		for _, i := range facts.Head(sites, 60) {
			s := &q.x.Sites[i]
			text := fmt.Sprintf("%s has %.1f Å² of accessible surface", s.Ref, s.Area)
			if share, ok := s.Accessible(); ok {
				text += fmt.Sprintf(", %s of what it could have, so it is %s", facts.Percent(share), map[bool]string{true: "buried", false: "exposed"}[share < facts.BuriedBelow])
			}
			said = append(said, text)
		}
		return part{strings.Join(said, "; ") + " (buried: less than 20 %).", q.x.Refs(facts.Head(sites, 60)), Geometric}
	}
	exposed := (q.has["exposed"] || q.has["surface"]) != q.has["not"] || q.has["buried"] && q.has["not"]
	if q.has["buried"] && !q.has["not"] {
		exposed = false
	}
	var sites []int
	total, area := 0, 0.0
	for _, c := range q.proteins() {
		for i := c.Polymer.Lo; i < c.Polymer.Hi; i++ {
			s := &q.x.Sites[i]
			share, ok := s.Accessible()
			if !ok || len(q.names) > 0 && !s.Is(q.names) {
				continue
			}
			total++
			area += s.Area
			if share >= facts.BuriedBelow == exposed {
				sites = append(sites, i)
			}
		}
	}
	if total == 0 {
		return no("No such protein residue is there to look at.")
	}
	text := fmt.Sprintf("The accessible surface is %.0f Å² (probe of 1.4 Å, %s). ", area, facts.Quantity(total, "residue", "residues"))
	word := map[bool]string{true: "exposed (20 % accessible or more)", false: "buried (less than 20 % accessible)"}[exposed]
	if q.has["area"] && !q.has["buried"] && !q.has["exposed"] {
		return part{text: strings.TrimSpace(text), sure: Geometric}
	}
	text += fmt.Sprintf("%d of %d residues (%s) are %s", len(sites), total, facts.Percent(float64(len(sites))/float64(total)), word)
	if len(sites) > 0 {
		text += ": " + q.x.List(sites, 80)
	}
	return part{text + ".", q.x.Refs(facts.Head(sites, 80)), Geometric}
}

func (q *query) patches() part {
	for _, c := range q.classes {
		if c != "hydrophobic" {
			return no("I look for patches of hydrophobic residues only, not of %s ones.", c)
		}
	}
	var said []string
	var cited []facts.ResidueRef
	for _, p := range q.f.Patches {
		if len(q.chains) > 0 && !slices.ContainsFunc(p.Residues, func(r facts.ResidueRef) bool { return slices.Contains(q.chains, r.Chain) }) {
			continue
		}
		said = append(said, fmt.Sprintf("%s, %.0f Å²", facts.RefList(p.Residues, 30), p.Area))
		cited = append(cited, facts.Head(p.Residues, 30)...)
	}
	if len(said) == 0 {
		return part{text: "There is no patch of three or more touching hydrophobic residues (ALA, VAL, ILE, LEU, MET, PHE, TRP, PRO) that are each at least 20 % accessible.", sure: Geometric}
	}
	return part{fmt.Sprintf("%s of touching hydrophobic residues at the surface, the largest first: %s. By geometry alone.", facts.Quantity(len(said), "patch", "patches"), strings.Join(said, "; ")), cited, Geometric}
}

func (q *query) pocketList() part {
	if q.has["@ligand"] || q.has["ligand"] {
		if len(q.f.Ligands) == 0 {
			return no("There is no ligand in this structure, and which pocket one would take I do not guess.")
		}
	}
	list := slices.DeleteFunc(slices.Clone(q.f.Pockets), func(p facts.Pocket) bool {
		for _, i := range q.sites() {
			if !slices.Contains(p.Residues, q.x.Sites[i].Ref) {
				return true
			}
		}
		return len(q.chains) > 0 && !slices.ContainsFunc(p.Residues, func(r facts.ResidueRef) bool { return slices.Contains(q.chains, r.Chain) })
	})
	if len(list) == 0 {
		return part{text: "By geometry alone no pocket of 30 Å³ or more was found there (a grid scan; shallow clefts do not count).", sure: Geometric}
	}
	said := []string{fmt.Sprintf("By geometry alone %s found, the largest first.", facts.Quantity(len(list), "pocket was", "pockets were"))}
	var cited []facts.ResidueRef
	if q.has["longest"] {
		list = list[:1]
	}
	for i, p := range facts.Head(list, 5) {
		text := fmt.Sprintf("Pocket %d: %.0f Å³, lined by %s: %s", i+1, p.Volume, facts.Quantity(p.Count, "residue", "residues"), facts.RefList(p.Residues, 30))
		if len(p.Ligands) > 0 {
			text += ", and holds " + facts.RefList(p.Ligands, 5)
		}
		said, cited = append(said, text+"."), append(cited, facts.Head(p.Residues, 30)...)
	}
	return part{strings.Join(said, " ") + " What may bind there, geometry does not say.", cited, Geometric}
}
