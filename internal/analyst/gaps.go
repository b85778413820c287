package analyst

import (
	"fmt"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/words"
)

// maxGaps is how many gaps and jumps of one chain an answer names.
const maxGaps = 20

// gapList tells broken links with what is missing there, jumps of the numbers at links that are not broken, and links
// that cannot be told.
func (q *query) gapList() part {
	p, chains := part{sure: Measured}, q.polymers()
	q.addGaps(&p, chains)
	if p.text == "" {
		q.addUnbroken(&p, chains)
	}
	for _, c := range chains {
		addJumps(&p, c)
	}
	for _, c := range chains {
		if n := len(c.Untold); n > 0 {
			p.add("Whether %s of chain %s %s broken cannot be told, since the atoms that would show it are not there: %s. ",
				facts.Quantity(n, "link", "links"), c.ID, facts.Plural(n, "is", "are"), followings(c.Untold))
		}
		if c.Circular {
			p.add("Chain %s is circular: %s is bonded to %s. ", c.ID, c.Last, c.First)
		}
	}
	q.addEnds(&p, chains)
	return p
}

// addGaps adds the broken links.
func (q *query) addGaps(p *part, chains []facts.Chain) {
	byNumbers, bySequence := 0, 0
	for _, c := range chains {
		for _, g := range facts.Head(c.Gaps, maxGaps) {
			p.add("Between %s and %s %s", g.After, g.Before, missing(g))
			p.add("%s. ", q.partly(g))
			switch {
			case g.Missing == nil:
			case g.Exact:
				bySequence += *g.Missing
			default:
				byNumbers += *g.Missing
			}
		}
		if n := len(c.Gaps) - maxGaps; n > 0 {
			p.add("Chain %s has %d more broken links. ", c.ID, n)
		}
	}
	if bySequence > 0 {
		p.add("Together %d are missing by the whole sequence of the file. ", bySequence)
	}
	if byNumbers > 0 {
		p.add("Together %d are missing by the numbers. ", byNumbers)
	}
}

// missing says what is missing at a broken link.
func missing(g facts.Gap) string {
	apart := ""
	if g.Distance != nil {
		apart = facts.Angstrom(*g.Distance) + " apart"
	}
	switch {
	case g.Missing == nil, *g.Missing == 0:
		return fmt.Sprintf("the chain is broken (%s)", apart)
	case g.Exact:
		return fmt.Sprintf("%s missing by the whole sequence of the file", facts.Quantity(*g.Missing, "residue is",
			"residues are"))
	}
	return fmt.Sprintf("%s missing by the numbers (%d to %d)", facts.Quantity(*g.Missing, "residue is", "residues are"),
		g.After.Number+1, g.Before.Number-1)
}

// partly says what there is of the residues at a broken link that are there in part.
func (q *query) partly(g facts.Gap) (text string) {
	thin := q.x.Lacks(facts.AllAtoms, q.chainSites(g.After.Chain)).Refusal() != ""
	for i := range q.x.Sites {
		s := &q.x.Sites[i]
		if s.Ref != g.After && s.Ref != g.Before || !s.Kind.Polymer() {
			continue
		}
		if names := q.x.AtomNames([]int{i}); !s.Whole && len(names) <= 3 && !thin {
			text += fmt.Sprintf("; of %s only %s %s there", s.Ref.Short(), words.Join(names, len(names)),
				facts.Plural(len(names), "is", "are"))
		}
	}
	return text
}

// addUnbroken says that no link is broken of the chains that have links which can be told.
func (q *query) addUnbroken(p *part, chains []facts.Chain) {
	ids, jumps, untold, links := words.Join(chainIDs(chains), 20), 0, 0, 0
	for _, c := range chains {
		jumps, untold, links = jumps+len(c.Jumps), untold+len(c.Untold), links+c.Length-1
	}
	switch {
	case jumps+untold == 0:
		p.add("No gaps: the numbers and the links of chain %s are complete. ", ids)
	case untold == 0:
		p.add("No link of chain %s is broken. ", ids)
	case untold < links:
		p.add("No other link of chain %s is broken. ", ids)
	}
}

// addJumps adds the jumps of the numbers at links that are not broken.
func addJumps(p *part, c facts.Chain) {
	if len(c.Jumps) == 0 {
		return
	}
	var list []string
	for _, j := range c.Jumps {
		list = append(list, fmt.Sprintf("from %d%s to %d%s", j.After.Number, j.After.Ins, j.Before.Number, j.Before.Ins))
	}
	p.add("In chain %s the numbers jump where no link is broken: %s. ", c.ID, words.Join(list, maxGaps))
	for _, j := range facts.Head(c.Jumps, maxGaps) {
		p.cited = append(p.cited, j.After, j.Before)
	}
}

// followings names pairs of residues that follow each other.
func followings(list []facts.Following) string {
	var names []string
	for _, f := range list {
		names = append(names, f.After.Short()+"–"+f.Before.Short())
	}
	return words.Join(names, maxGaps)
}

// addEnds says what is missing at the ends of the chains.
func (q *query) addEnds(p *part, chains []facts.Chain) {
	var known []string
	for _, c := range chains {
		if c.Before != nil {
			known = append(known, fmt.Sprintf("of chain %s %d before the first and %d after the last residue", c.ID,
				*c.Before, *c.After))
		}
	}
	if len(known) > 0 {
		p.add("By the whole sequence of the file are missing %s. ", strings.Join(facts.Head(known, maxGaps), ", "))
	}
	if len(known) < len(chains) {
		p.add("What may be missing before the first and after the last residue cannot be told from coordinates.")
	}
	p.text = strings.TrimSpace(p.text)
}
