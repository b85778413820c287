package analyst

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
)

// Answers about the surface and the pockets in it.

// surface sums the accessible surface, and lists what is buried or exposed.
func (q *query) surface() part {
	if !q.x.HasSurface {
		return refusal("The accessible surface was not computed for this structure.")
	}
	var where []*condition
	var exposure *condition
	for _, c := range q.filter() {
		if c.property == ofSurface {
			exposure = c
		} else {
			where = append(where, c)
		}
	}
	sites := slices.DeleteFunc(q.sitesWhere(where), func(i int) bool { _, ok := q.x.Sites[i].Accessible(); return !ok })
	if len(sites) == 0 {
		return refusal("There is no such protein residue whose surface is computed.")
	}
	if topics := q.topics(); slices.Contains(topics, "longest") || slices.Contains(topics, "shortest") {
		return q.surfaceRanking(sites)
	}
	area := 0.0
	for _, i := range sites {
		area += q.x.Sites[i].Area
	}
	var said []string
	if len(q.mentions) > 0 && len(sites) <= 30 || len(sites) <= 5 {
		for _, i := range sites {
			s := &q.x.Sites[i]
			share, _ := s.Accessible()
			said = append(said, fmt.Sprintf("%s has %.1f Å² of accessible surface, %s of what it could have, so it "+
				"is %s", s.Ref, s.Area, facts.Percent(share),
				map[bool]string{true: "buried", false: "exposed"}[share < facts.BuriedBelow]))
		}
		text := strings.Join(said, "; ") + " (buried: less than 20 %)."
		if len(sites) > 1 {
			text += fmt.Sprintf(" Together they have %.0f Å².", area)
		}
		return part{text, q.x.Refs(sites), Geometric}
	}
	text := fmt.Sprintf("The accessible surface%s is %.0f Å² (probe of 1.4 Å, %s).", q.surfaceOf(where, sites), area,
		residues(len(sites)))
	if exposure == nil && q.has["area"] {
		return part{text: text, sure: Geometric}
	}
	if exposure == nil {
		exposure = q.surfaceCondition(true)
	}
	hits := slices.DeleteFunc(slices.Clone(sites), func(i int) bool { return !exposure.holds(i) })
	text += fmt.Sprintf(" %d of %d residues (%s) are %s", len(hits), len(sites),
		facts.Percent(float64(len(hits))/float64(len(sites))), exposure)
	if len(hits) > 0 {
		text += ": " + q.x.List(hits, 80)
	}
	return part{text + ".", q.x.Refs(facts.Head(hits, 80)), Geometric}
}

// surfaceRanking names the five selected residues with the largest or smallest accessible surface in Å².
func (q *query) surfaceRanking(sites []int) part {
	if !q.has["residue"] && !q.conditionOn(ofName) || !q.has["area"] || q.has["percent"] {
		return refusal("%s", q.notUnderstood())
	}
	order, sign := "largest", -1
	if q.has["shortest"] {
		order, sign = "smallest", 1
	}
	ranked := slices.SortedStableFunc(slices.Values(sites), func(i, j int) int {
		return sign * cmp.Compare(q.x.Sites[i].Area, q.x.Sites[j].Area)
	})
	ranked = facts.Head(ranked, 5)
	var said []string
	for _, i := range ranked {
		s := &q.x.Sites[i]
		share, _ := s.Accessible()
		said = append(said, fmt.Sprintf("%s with %.1f Å² (%s of what it could have)", s.Ref, s.Area,
			facts.Percent(share)))
	}
	return part{fmt.Sprintf("The %s accessible surface of %s (probe of 1.4 Å): %s.", order, residues(len(sites)),
		strings.Join(said, ", then ")), q.x.Refs(ranked), Geometric}
}

// surfaceOf names what the surface was summed over.
func (q *query) surfaceOf(where []*condition, sites []int) string {
	if len(where) == 0 {
		return ""
	}
	if len(where) == 1 && where[0].property == ofChain {
		return " of the residues " + where[0].String()
	}
	if len(q.runs(sites, false)) == 1 {
		return " of " + q.spanOf(sites)
	}
	return " of the residues that are " + wordingOf(where)
}

// patches lists the hydrophobic patches that have a selected residue.
func (q *query) patches() part {
	for _, c := range q.conds {
		if c.class != "" && c.class != "hydrophobic" {
			return refusal("I look for patches of hydrophobic residues only, not of residues that are %s.", c)
		}
	}
	keep := q.keeps()
	var said []string
	var cited []facts.ResidueRef
	for _, p := range q.f.Patches {
		if slices.ContainsFunc(p.Residues, keep) {
			said = append(said, fmt.Sprintf("%s, %.0f Å²", facts.RefList(p.Residues, 30), p.Area))
			cited = append(cited, facts.Head(p.Residues, 30)...)
		}
	}
	of := q.of("With a residue that is")
	if len(said) == 0 {
		return part{text: of + "There is no patch of three or more touching hydrophobic residues (ALA, VAL, ILE, " +
			"LEU, MET, PHE, TRP, PRO) that are each at least 20 % accessible.", sure: Geometric}
	}
	return part{of + fmt.Sprintf("%s of touching hydrophobic residues at the surface, the largest first: %s. By "+
		"geometry alone.", facts.Quantity(len(said), "patch", "patches"),
		strings.Join(said, "; ")), cited, Geometric}
}

// pocketList lists the pockets that a selected residue lines.
func (q *query) pocketList() part {
	if (q.has["ligand"] || len(q.ligands) > 0) && len(q.f.Ligands) == 0 {
		return refusal("There is no ligand in this structure, and which pocket one would take I do not guess.")
	}
	keep := q.keeps()
	list := slices.DeleteFunc(slices.Clone(q.f.Pockets),
		func(p facts.Pocket) bool { return !slices.ContainsFunc(p.Residues, keep) })
	of := q.of("With a residue that is")
	if len(list) == 0 {
		return part{text: of + "By geometry alone no pocket of 30 Å³ or more was found there (a grid scan; shallow " +
			"clefts do not count).", sure: Geometric}
	}
	said := []string{of + fmt.Sprintf("By geometry alone %s found, the largest first.", facts.Quantity(len(list),
		"pocket was", "pockets were"))}
	var cited []facts.ResidueRef
	if q.has["longest"] {
		list = list[:1]
	}
	for i, p := range facts.Head(list, 5) {
		lining := slices.DeleteFunc(slices.Clone(p.Residues), func(r facts.ResidueRef) bool { return !keep(r) })
		text := fmt.Sprintf("Pocket %d: %.0f Å³, lined by %s: %s", i+1, p.Volume, residues(p.Count),
			facts.RefList(p.Residues, 30))
		if of != "" {
			text += fmt.Sprintf("; of the kind asked for: %s", facts.RefList(lining, 30))
		}
		if len(p.Ligands) > 0 {
			text += ", and holds " + facts.RefList(p.Ligands, 5)
		}
		said, cited = append(said, text+"."), append(cited, facts.Head(lining, 30)...)
	}
	return part{strings.Join(said, " ") + " What may bind there, geometry does not say.", cited, Geometric}
}
