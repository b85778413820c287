package analyst

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// capability lists what can be asked.
func (q *query) capability() part {
	var names []string
	for _, in := range intents()[1:] {
		names = append(names, in.name)
	}
	return part{text: "I can answer about: " + strings.Join(names, ", ") +
		". Each can be asked of residues that pass a " +
		"filter: name, class, chain, range, secondary structure, exposure, confidence, distance. I cannot tell what " +
		"is not in " +
		"the coordinates: function, toxicity, partners that are absent, effects of mutations, stability, origin.",
		sure: Measured}
}

// overview summarises the structure.
func (q *query) overview() part {
	text, cited := q.f.Summary()
	if q.f.Confidence != nil {
		return part{text, cited, Estimated}
	}
	return part{text, cited, Geometric}
}

// chainList lists the chains by kind.
func (q *query) chainList() part {
	var kinds []string
	for _, kind := range [...]structure.Kind{structure.Protein, structure.RNA, structure.DNA} {
		var names []string
		for _, c := range q.polymers() {
			if c.Kind == kind {
				names = append(names, fmt.Sprintf("%s (%s)", c.ID, residues(c.Length)))
			}
		}
		name := facts.KindName(kind)
		text := facts.Quantity(len(names), name+" chain", name+" chains")
		if len(names) > 0 {
			text += ": " + facts.Join(names, 20)
		}
		kinds = append(kinds, text)
	}
	text := fmt.Sprintf("The structure has %s; %s.", facts.Quantity(len(q.polymers()), "chain", "chains"),
		strings.Join(kinds, "; "))
	if q.has["oligomer"] {
		text += " Whether this is how the molecule assembles in solution, the structure alone cannot tell."
	}
	return part{text: text, sure: Measured}
}

// ligandList lists the ligands and ions, those named or all, and the number of waters.
func (q *query) ligandList() part {
	var ligands, ions, missing []string
	var cited []facts.ResidueRef
	for _, l := range q.f.Ligands {
		name := l.Ref.String()
		switch {
		case len(q.ligands) > 0 && !slices.Contains(q.ligands, l.Ref.Name):
			continue
		case l.Kind == structure.Ion:
			ions = append(ions, name)
		default:
			ligands = append(ligands, fmt.Sprintf("%s%s with %s", name, lead(l.Name),
				facts.Quantity(l.Atoms, "heavy atom", "heavy atoms")))
		}
		cited = append(cited, l.Ref)
	}
	for _, code := range q.ligands {
		if !slices.ContainsFunc(q.f.Ligands, func(l facts.Ligand) bool { return l.Ref.Name == code }) {
			missing = append(missing, "There is no "+code+" in this structure. ")
		}
	}
	count := func(list []string, one, many string) string {
		if len(list) == 0 {
			return "no " + many
		}
		return facts.Quantity(len(list), one, many) + ": " + facts.Join(list, 30)
	}
	of := "The structure holds"
	if len(q.ligands) > 0 {
		of = "Of " + facts.Join(q.ligands, 10) + " the structure holds"
	}
	return part{fmt.Sprintf("%s%s %s; %s; and %s.", strings.Join(missing, ""), of, count(ligands, "ligand", "ligands"),
		count(ions, "ion", "ions"), facts.Quantity(q.f.Waters, "water molecule", "water molecules")),
		facts.Head(cited, 60), Measured}
}

// scores gives what a model says of its own prediction: pTM, ipTM, interface scores, affinity and aligned errors.
func (q *query) scores() part {
	var list []string
	add := func(wanted bool, value *float64, format string) {
		if wanted && value != nil {
			list = append(list, fmt.Sprintf(format, *value))
		}
	}
	general := q.has["ptm"] || q.has["score"]
	add(general, q.f.PTM, "The model gives a pTM of %.2f.")
	add(general, q.f.IPTM, "The model gives an ipTM of %.2f.")
	for _, in := range facts.Head(q.f.Interfaces, maxGroups) {
		if general && in.Scores != nil && q.aboutChain(in.A) && q.aboutChain(in.B) {
			list = append(list, fmt.Sprintf("Interface of chains %s and %s: %s.", in.A, in.B, in.Scores))
		}
	}
	if a := q.f.Affinity; a != nil && q.has["affinity"] {
		list = append(list,
			fmt.Sprintf("The model estimates a probability of %.3f that the ligand binds, and an affinity "+
				"value of %.3f (log10 of an IC50 in µM, about %.3g µM; the lower, the tighter).", a.Probability,
				a.Value,
				math.Pow(10, a.Value)))
	}
	if p := q.f.PAE; p != nil && (q.has["pae"] || q.has["domain"]) {
		list = append(list, fmt.Sprintf("The mean predicted aligned error is %.1f Å.", p.Mean))
		for _, e := range facts.Head(slices.Concat(p.Within, p.Between), maxGroups) {
			if q.aboutChain(e.A) && q.aboutChain(e.B) {
				list = append(list, fmt.Sprintf("From chain %s to %s it is %.1f Å on average, %.1f Å at least.", e.A,
					e.B,
					e.Mean, e.Min))
			}
		}
		for _, d := range facts.Head(p.Domains, 20) {
			list = append(list, fmt.Sprintf("%s is placed as a unit, with a mean error inside of %.1f Å.",
				facts.Span(d.From, d.To), d.Mean))
		}
	}
	if len(list) == 0 {
		return refusal(
			"No such score of a model (pTM, ipTM, affinity, aligned errors) came with this structure, and I do " +
				"not guess it from coordinates.")
	}
	return part{text: strings.Join(list, " ") + " This is the model's own estimate, not a measurement.",
		sure: Estimated}
}

// aboutChain reports whether the question names a chain, or names none.
func (q *query) aboutChain(id string) bool {
	return len(q.chains) == 0 || slices.Contains(q.chains, id)
}

// pocketList answers by geometry alone, and not which ligand would bind. It lists the pockets that a selected residue
// lines.
func (q *query) pocketList() part {
	if (q.has["ligand"] || len(q.ligands) > 0) && len(q.f.Ligands) == 0 {
		return refusal("There is no ligand in this structure, and which pocket one would take I do not guess.")
	}
	passes := q.passes()
	var list []string
	var cited []facts.ResidueRef
	for _, p := range q.f.Pockets {
		lining := slices.DeleteFunc(slices.Clone(p.Residues), func(r facts.ResidueRef) bool { return !passes(r) })
		if len(lining) == 0 || len(list) == 5 || len(list) == 1 && q.has["longest"] {
			continue
		}
		text := fmt.Sprintf("%.0f Å³, lined by %s: %s", p.Volume, residues(p.Count), facts.RefList(p.Residues, 30))
		if len(q.filter()) > 0 {
			text += "; of the kind asked for: " + facts.RefList(lining, 30)
		}
		if len(p.Ligands) > 0 {
			text += ", and holds " + facts.RefList(p.Ligands, 5)
		}
		list, cited = append(list, text+"."), append(cited, facts.Head(lining, 30)...)
	}
	if len(list) == 0 {
		return part{text: q.withResidue() +
			"By geometry alone no pocket of 30 Å³ or more was found there (a grid scan; " +
			"shallow clefts do not count).", sure: Geometric}
	}
	return part{fmt.Sprintf(
		"%sBy geometry alone %s found, the largest first. %s What may bind there, geometry does not "+
			"say.", q.withResidue(), facts.Quantity(len(list), "pocket was", "pockets were"), strings.Join(list, " ")),
		cited,
		Geometric}
}

// gapList knows gaps by the numbers and by links that are too long. It names where residues are missing, in the chains
// or between the numbers asked about.
func (q *query) gapList() part {
	lo, hi := math.MinInt, math.MaxInt
	for k, m := range q.mentions {
		if m.first != 0 || m.half != 0 {
			return refusal("Gaps are known between numbers, since residues that are not there cannot be counted; " +
				"name the numbers, such as residues 1 to 30.")
		}
		if k == 0 {
			lo, hi = m.lo, m.hi
		}
		lo, hi = min(lo, m.lo), max(hi, m.hi)
	}
	where := "In " + facts.Plural(len(q.polymers()), "chain ", "chains ") + facts.Join(chainIDs(q.polymers()), 20)
	if len(q.mentions) > 0 {
		where = fmt.Sprintf("From %d to %d", lo, hi)
	}
	var list []string
	var cited []facts.ResidueRef
	missing := 0
	for _, c := range q.polymers() {
		for _, g := range facts.Head(c.Gaps, 20) {
			first, last := g.After.Number+1, g.Before.Number-1
			if g.Before.Number <= lo || g.After.Number >= hi {
				continue
			}
			text := fmt.Sprintf("between %s and %s the chain is broken (%s apart)", g.After, g.Before,
				facts.Angstrom(g.Distance))
			if g.Missing > 0 {
				missing += g.Missing
				text = fmt.Sprintf("between %s and %s %s missing by the numbers (%d to %d)", g.After, g.Before,
					facts.Quantity(g.Missing, "residue is", "residues are"), first, last)
			}
			list, cited = append(list, text), append(cited, g.After, g.Before)
		}
	}
	text := " no residue is missing: the numbering does not jump where a link is missing, and every link is there."
	if len(list) > 0 {
		text = fmt.Sprintf(": %s; together %d.", strings.Join(list, "; "), missing)
	}
	return part{where + text + " What may be missing before the first and after the last residue cannot be told from " +
		"coordinates.", cited, Measured}
}

// method names the model of a prediction, or the experiment where it was given.
func (q *query) method() part {
	f := q.f
	text := ""
	if f.Predicted {
		text = "The structure came as a prediction, so it has no experimental method or resolution."
		if f.Model != "" {
			text += " The model is " + f.Model + "."
		}
	}
	if f.Method != "" {
		text += " The method is given as " + f.Method + "."
	}
	if f.Resolution > 0 {
		text += fmt.Sprintf(" The resolution is given as %.2f Å.", f.Resolution)
	}
	if text == "" || q.has["resolution"] && f.Resolution == 0 && !f.Predicted {
		return refusal(
			"The method and resolution were not given with this structure, and coordinates alone do not tell " +
				"them.")
	}
	return part{text: strings.TrimSpace(text), sure: Measured}
}
