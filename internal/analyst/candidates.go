package analyst

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/words"
)

const (
	clearance     = 6.0 // Å, between heavy atoms of a candidate and those of another chain or a ligand
	maxCandidates = 20  // candidates that one answer names
)

// candidates answers "what could I mutate" and "where could I put a tag". A tag goes to an end of a chain.
func (q *query) candidates() part {
	tag, noun, where := q.says("tag tagname"), "a candidate", "residue of a protein"
	rule := "; it is in no salt bridge, and no GLY, no PRO and no CYS in a disulfide"
	if tag {
		noun, where, rule = "a place for a tag", "end of a protein", ""
	}
	modal := func(it item) bool { return oneOf(strings.ToLower(it.text), "can could may might shall should would") }
	isThere := q.says("ask has any where") || q.opensWithVerb()
	if q.has["tagname"] && !q.has["tag"] && isThere && !slices.ContainsFunc(q.items, modal) {
		return refusal("I do not look for tags in a structure; please ask for the sequence, or where a tag could go.")
	}
	sites := keep(q.sites(), func(i int) bool {
		_, ok := q.x.Sites[i].Accessible()
		return ok && (!tag || q.terminus(i) != "")
	})
	if len(sites) == 0 {
		return refusal("No %s is %s.", where, cmp.Or(q.filter().String(), "here"))
	}
	p := part{sure: Geometric}
	if tag || len(sites) <= maxNamed && q.partial() {
		for _, i := range facts.Head(sites, maxCandidates) {
			p.add("%s%s is ", q.terminus(i), q.x.Sites[i].Ref)
			if why := q.against(i); why != "" {
				p.add("not %s: it is %s. ", noun, why)
			} else {
				p.add("%s (%s). ", noun, q.accessible(i))
			}
		}
	} else {
		free := keep(sites, func(i int) bool { return q.against(i) == "" })
		p.add("%d of %s are candidates", len(free), residues(len(sites)))
		q.addMostExposed(&p, free)
	}
	p.add("%s is exposed (20 %% accessible or more), more than %.1f Å from other chains and ligands, and lines none "+
		"of the ten largest pockets%s. This is geometry, and not a prediction of stability or function.", capital(noun),
		clearance, rule)
	return p
}

// addMostExposed lists candidates, the most exposed first, and counts those whose place is not sure.
func (q *query) addMostExposed(p *part, free []int) {
	slices.SortStableFunc(free, func(i, j int) int {
		a, _ := q.x.Sites[i].Accessible()
		b, _ := q.x.Sites[j].Accessible()
		return cmp.Compare(b, a)
	})
	var names []string
	for _, i := range free {
		ref := q.x.Sites[i].Ref
		names = append(names, fmt.Sprintf("%s (chain %s, %s)", ref.Short(), ref.Chain, q.accessible(i)))
	}
	p.cited = append(p.cited, q.x.Refs(facts.Head(free, maxCandidates))...)
	p.cut = len(free) > maxCandidates
	if len(free) > 0 {
		p.add(", the most exposed first: %s", words.Join(names, maxCandidates))
	}
	p.add(". ")
	low := keep(free, func(i int) bool { return q.x.Sites[i].PLDDT <= facts.Confident })
	if len(low) > 0 {
		p.add("%d of them have a pLDDT of 70 or below, where their place is not sure. ", len(low))
	}
	uncertain := keep(free, func(i int) bool { return q.x.Sites[i].RMSD > facts.UncertainRMSD })
	if len(uncertain) > 0 {
		p.add("%d of them have a predicted RMSD above 1.5 Å, where their place is not sure. ", len(uncertain))
	}
}

// terminus names the end of its chain that a residue is; empty where it is none.
func (q *query) terminus(i int) string {
	begins := func(i int) bool { return i == len(q.x.Sites) || i == 0 || q.x.Sites[i-1].Chain != q.x.Sites[i].Chain }
	switch {
	case begins(i):
		return "The N-terminus "
	case begins(i + 1):
		return "The C-terminus "
	}
	return ""
}

func (q *query) accessible(i int) string {
	share, _ := q.x.Sites[i].Accessible()
	if share >= 1 { // an end of a chain has more than the middle of Gly-X-Gly
		return "fully accessible"
	}
	return facts.Percent(share) + " accessible"
}

// against says what speaks against a residue as a place for a tag or for another residue; empty: nothing.
func (q *query) against(i int) string {
	s, tag := &q.x.Sites[i], q.says("tag tagname")
	share, _ := s.Accessible()
	switch {
	case !tag && (s.Letter == 'G' || s.Letter == 'P'):
		return "a " + s.Ref.Name + ", on which the main chain may depend"
	case !tag && s.Bonded:
		return "in a disulfide"
	case !tag && s.Bridged:
		return "in a salt bridge"
	case share < facts.BuriedBelow:
		return "buried (" + q.accessible(i) + ")"
	case slices.ContainsFunc(q.f.Pockets, func(p facts.Pocket) bool { return slices.Contains(p.Residues, s.Ref) }):
		return "at a pocket"
	}
	near, ok := q.x.Around([]int{i}, clearance, q.near)
	if !ok {
		q.problem = "Too many atoms are close together; please ask of fewer residues."
	}
	for j := range near {
		if q.x.Sites[j].Chain != s.Chain {
			return fmt.Sprintf("within %.1f Å of another chain or a ligand", clearance)
		}
	}
	return ""
}
