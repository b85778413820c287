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

// Answers about ligands.

// ligandList lists ligands, ions and the number of waters.
func (q *query) ligandList() part {
	if len(q.ligands) > 0 {
		return q.hasLigand()
	}
	var ligands, ions []string
	var cited []facts.ResidueRef
	for _, l := range q.f.Ligands {
		name := l.Ref.String()
		if l.Name != "" {
			name += ", " + l.Name
		}
		if l.Kind == structure.Ion {
			ions = append(ions, l.Ref.String())
		} else {
			ligands = append(ligands, fmt.Sprintf("%s (%s)", name, facts.Quantity(l.Atoms, "heavy atom",
				"heavy atoms")))
		}
		cited = append(cited, l.Ref)
	}
	count := func(list []string, one, many string) string {
		if len(list) == 0 {
			return "no " + many
		}
		return facts.Quantity(len(list), one, many) + ": " + facts.Join(list, 30)
	}
	return part{fmt.Sprintf("The structure holds %s; %s; and %s.", count(ligands, "ligand", "ligands"), count(ions,
		"ion", "ions"),
		facts.Quantity(q.f.Waters, "water molecule", "water molecules")), facts.Head(cited, 60), Measured}
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
			continue
		}
		said = append(said, fmt.Sprintf("%s is there %s: %s.", code, facts.Quantity(len(refs), "time", "times"),
			facts.RefList(refs, 30)))
		cited = append(cited, facts.Head(refs, 30)...)
	}
	return part{strings.Join(said, " "), cited, Measured}
}

// ligandSurroundings lists the residues around the ligands named, or around all.
func (q *query) ligandSurroundings() part {
	codes := slices.Clone(q.ligands)
	if q.relation != nil {
		codes = append(codes, q.relation.ligands...)
	}
	molecule := slices.ContainsFunc(q.f.Ligands, func(l facts.Ligand) bool { return l.Kind != structure.Ion })
	var said []string
	var cited []facts.ResidueRef
	shown := 0
	for i := range q.f.Ligands {
		l := &q.f.Ligands[i]
		ion := l.Kind == structure.Ion
		if len(codes) > 0 && !slices.Contains(codes, l.Ref.Name) || len(codes) == 0 && ion != (q.has["ion"] ||
			!molecule) {
			continue
		}
		if shown++; shown <= 5 {
			text, refs := q.surroundings(l)
			said, cited = append(said, text), append(cited, refs...)
		}
	}
	switch {
	case shown > 5:
		said = append(said, fmt.Sprintf("%d more ligands were not described; name the one you mean.", shown-5))
	case shown == 0 && len(codes) > 0:
		return refusal("There is no %s in this structure, and where one would bind I do not guess.", facts.Join(codes,
			5))
	case shown == 0:
		return refusal("There is no ligand in this structure, so what binds one cannot be seen. Pockets found by " +
			"geometry can be asked for.")
	}
	return part{strings.Join(said, "\n"), cited, Measured}
}

// surroundings lists the residues around one ligand that pass the filter, nearest first.
func (q *query) surroundings(l *facts.Ligand) (string, []facts.ResidueRef) {
	cut := facts.ContactDistance
	if q.relation != nil {
		cut = q.relation.cut()
	}
	var near []facts.AtomPair
	keep := func(i int) bool {
		return q.x.Sites[i].Kind.Polymer() && !slices.ContainsFunc(q.conds,
			func(c *condition) bool { return !c.holds(i) })
	}
	for _, j := range q.x.Around(l.Site, cut) {
		if keep(j) {
			p, _ := q.x.Closest(j, l.Site)
			near = append(near, p)
		}
	}
	slices.SortStableFunc(near, func(a, b facts.AtomPair) int { return cmp.Compare(a.Distance, b.Distance) })
	cited := []facts.ResidueRef{l.Ref}
	if len(near) == 0 {
		return fmt.Sprintf("No residue%s comes within %.1f Å of %s.", q.thatAre(), cut, l.Ref), cited
	}
	var names []string
	for _, p := range facts.Head(near, facts.MaxNear) {
		names = append(names, fmt.Sprintf("%s at %s", p.A, facts.Angstrom(p.Distance)))
		cited = append(cited, p.A)
	}
	text := fmt.Sprintf("Within %.1f Å of %s (heavy atoms, nearest first) %s%s %s: %s. Closest: %s %s to its %s, %s.",
		cut, l.Ref, residues(len(near)), q.thatAre(),
		facts.Plural(len(near), "is", "are"), strings.Join(names,
			", "), near[0].A, near[0].AtomA, near[0].AtomB, facts.Angstrom(near[0].Distance))
	return text + " Hydrogen-bond candidates: " + facts.OrNone(facts.PairList(l.Polar, 10)) + ".", cited
}

// thatAre names the filter inside a sentence.
func (q *query) thatAre() string {
	if len(q.conds) == 0 {
		return ""
	}
	return " that is " + wordingOf(q.conds)
}

// affinity gives the predicted affinity, where there is one.
func (q *query) affinity() part {
	a := q.f.Affinity
	if a == nil {
		return refusal("No affinity was computed for this structure, and coordinates alone do not give one.")
	}
	return part{text: fmt.Sprintf("The model estimates a probability of %.3f that the ligand binds, and an affinity "+
		"value of %.3f (log10 of an IC50 in µM, about %.3g µM; "+
		"the lower, the tighter). This is an estimate, not a measurement.", a.Probability, a.Value, math.Pow(10,
		a.Value)), sure: Estimated}
}
