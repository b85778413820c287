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

func (q *query) overview() part {
	p := part{sure: Geometric}
	if q.f.Confidence != nil || q.f.PredictedRMSD != nil {
		p.sure = Estimated
	}
	p.text, p.cited = q.f.Summary()
	return p
}

func (q *query) chainList() part {
	p := part{sure: Measured}
	p.add("The structure has %s.", words.Quantity(len(q.f.Chains), "chain", "chains"))
	if len(q.polymers()) == 0 {
		p.add(" No chain is %s.", cmp.Or(q.conds.String(), "of a polymer"))
	}
	for _, c := range facts.Head(q.polymers(), maxListed) {
		p.add(" Chain %s (%s): %s.", c.ID, residues(c.Length), facts.KindName(c.Kind))
	}
	if q.has["longest"] {
		q.addLongestChain(&p)
	}
	if q.has["identical"] {
		q.addIdentical(&p)
	}
	if q.f.Renamed != "" {
		p.add(" %s", q.f.Renamed)
	}
	return p
}

// addLongestChain names the chains with the most residues.
func (q *query) addLongestChain(p *part) {
	most := 0
	for _, c := range q.polymers() {
		most = max(most, c.Length)
	}
	longest := chainIDs(keep(q.polymers(), func(c facts.Chain) bool { return c.Length == most }))
	if len(longest) > 0 {
		p.add(" %s %s %s the most residues with coordinates (%d).", words.Plural(len(longest), "Chain", "Chains"),
			words.Join(longest, maxListed), words.Plural(len(longest), "has", "have"), most)
	}
}

// addIdentical names the chains that have the same residues in the same order.
func (q *query) addIdentical(p *part) {
	if len(q.polymers()) < 2 {
		p.add(" There is no other one to compare it with.")
		return
	}
	chains, groups := map[string][]string{}, []string{}
	for _, c := range q.polymers() {
		var key strings.Builder
		for i := c.Polymer.Lo; i < c.Polymer.Hi; i++ {
			key.WriteString(q.x.Sites[i].Canonical() + " ")
		}
		k := string(c.Kind) + " " + key.String()
		if chains[k] = append(chains[k], c.ID); len(chains[k]) == 2 {
			groups = append(groups, k)
		}
	}
	if len(groups) == 0 {
		p.add(" No two of them have the same residues in the same order.")
	}
	for _, k := range facts.Head(groups, maxGroups) {
		p.add(" Chains %s have the same residues in the same order.", words.Join(chains[k], maxListed))
	}
	if n := len(groups) - maxGroups; n > 0 {
		p.add(" So it is with %d more groups of chains.", n)
	}
	p.add(" Residues without coordinates do not count here.")
}

func (q *query) ligandList() part {
	if len(q.conds) > 0 && len(q.chains) == 0 { // the ligands of RNA
		return refusal("%s", q.misplaced(q.conds[0].text))
	}
	p := part{sure: Measured}
	for _, code := range q.ligands {
		if !slices.ContainsFunc(q.f.Ligands, func(l facts.Ligand) bool { return isOneOf(l.Ref, []string{code}) }) {
			p.add("%s ", q.noLigand(code))
		}
	}
	if len(q.ligands) > 0 {
		p.add("Of %s: ", words.Join(q.ligands, 10))
	}
	waters := q.f.Waters
	if len(q.chains) > 0 {
		p.add("In chain %s: ", words.Join(q.chains, 10))
		waters = 0
		for _, c := range q.x.Structure.Chains {
			if c.Kind == structure.Water && slices.Contains(q.chains, c.ID) {
				waters += len(c.Residues)
			}
		}
	}
	count := func(ions bool, one, many string) {
		var refs []facts.ResidueRef
		for _, l := range q.f.Ligands {
			asked := len(q.ligands) == 0 || isOneOf(l.Ref, q.ligands)
			asked = asked && (len(q.chains) == 0 || slices.Contains(q.chains, l.Ref.Chain))
			if asked && ions == (l.Kind == structure.Ion) {
				refs = append(refs, l.Ref)
			}
		}
		p.add("%s", number(len(refs), one, many))
		if len(refs) > 0 {
			p.add(" (%s)", refs)
		}
	}
	count(false, "ligand", "ligands")
	p.add(", ")
	count(true, "ion", "ions")
	p.add(" and %s.", number(waters, "water molecule", "water molecules"))
	p.text = capital(p.text)
	return p
}

// scores gives what a model says of its own prediction: pTM, ipTM, interface scores, affinity and aligned errors.
func (q *query) scores() part {
	p := part{sure: Estimated}
	about := func(id string) bool { return len(q.chains) == 0 || slices.Contains(q.chains, id) }
	general := q.says("ptm score interface")
	if general && q.f.PTM != nil {
		p.add("The model gives a pTM of %.2f. ", *q.f.PTM)
	}
	if general && q.f.IPTM != nil {
		p.add("The model gives an ipTM of %.2f. ", *q.f.IPTM)
	}
	for _, in := range facts.Head(q.f.Interfaces, maxGroups) {
		if general && in.Scores != nil && about(in.A) && about(in.B) {
			p.add("Interface of chains %s and %s: %s. ", in.A, in.B, in.Scores)
		}
	}
	if a := q.f.Affinity; a != nil && q.has["affinity"] {
		p.add("The model estimates a probability of %.3f that the ligand binds, and an affinity value of %.3f "+
			"(log10 of an IC50 in µM, about %.3g µM; the lower, the tighter). ", a.Probability, a.Value,
			math.Pow(10, a.Value))
	}
	if e := q.f.PAE; e != nil && q.says("pae domain") {
		p.add("The mean predicted aligned error is %.1f Å. ", e.Mean)
		for _, e := range facts.Head(slices.Concat(e.Within, e.Between), maxGroups) {
			if about(e.A) && about(e.B) {
				p.add("From chain %s to %s it is %.1f Å on average, %.1f Å at least. ", e.A, e.B, e.Mean, e.Min)
			}
		}
	}
	if p.text == "" {
		return refusal("No such score of a model (pTM, ipTM, affinity, aligned errors) came with this structure, " +
			"and I do not guess it from coordinates.")
	}
	p.add("This is the model's own estimate, not a measurement.")
	return p
}

// pocketList lists the largest pockets that a selected residue lines.
func (q *query) pocketList() part {
	if (q.has["ligand"] || len(q.ligands) > 0) && len(q.f.Ligands) == 0 {
		return refusal("There is no ligand in this structure, and which pocket one would take I do not guess.")
	}
	passes := q.passes()
	pockets := keep(q.f.Pockets, func(p facts.Pocket) bool {
		holds := func(r facts.ResidueRef) bool { return isOneOf(r, q.ligands) }
		return slices.ContainsFunc(p.Residues, passes) && (len(q.ligands) == 0 || slices.ContainsFunc(p.Ligands, holds))
	})
	p, lead := part{sure: Geometric}, q.withResidue()
	if len(q.ligands) > 0 {
		lead += fmt.Sprintf("Holding %s: ", words.Join(q.ligands, 10))
	}
	p.add("%s%s of 30 Å³ or more by geometry alone (a grid scan; shallow clefts do not count).", lead,
		number(len(pockets), "pocket", "pockets"))
	p.text = capital(p.text)
	if len(pockets) == 0 {
		return p
	}
	for _, pocket := range facts.Head(pockets, 5) {
		p.add(" %.0f Å³, lined by %s: %s.", pocket.Volume, residues(pocket.Count), pocket.Residues)
		if len(pocket.Ligands) > 0 {
			p.add(" It holds %s.", pocket.Ligands)
		}
	}
	p.add(" What may bind there, geometry does not say.")
	return p
}
