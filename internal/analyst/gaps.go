package analyst

import (
	"cmp"
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
	if len(chains) == 0 {
		return refusal("No chain is %s, so there are no links of which to tell gaps.",
			cmp.Or(q.conds.String(), "of a polymer"))
	}
	for i := range chains {
		chains[i].Links = q.x.Links(chains[i].Polymer)
	}
	each(&p, chains, "broken links", func(c facts.Chain) bool { return len(c.Gaps) > 0 }, q.addGaps)
	addMissing(&p, chains)
	unbroken := p.text == ""
	each(&p, chains, "links that cannot be told", func(c facts.Chain) bool { return len(c.Untold) > 0 }, addUntold)
	if unbroken {
		q.addUnbroken(&p, chains)
	}
	each(&p, chains, "jumps of the numbers", func(c facts.Chain) bool { return len(c.Jumps) > 0 }, addJumps)
	each(&p, chains, "their ends bonded", func(c facts.Chain) bool { return c.Circular },
		func(p *part, c facts.Chain) {
			p.add("Chain %s is circular: %s is bonded to %s. ", c.ID, c.Last, c.First)
		})
	addEnds(&p, chains)
	return p
}

// each adds something of the first chains that have it, and how many others do.
func each(p *part, chains []facts.Chain, what string, has func(facts.Chain) bool, add func(*part, facts.Chain)) {
	chains = keep(chains, has)
	for _, c := range facts.Head(chains, maxGroups) {
		add(p, c)
	}
	if n := len(chains) - maxGroups; n > 0 {
		p.add("%d more %s %s. ", n, words.Plural(n, "chain has", "chains have"), what)
	}
}

// addGaps adds the broken links of a chain.
func (q *query) addGaps(p *part, c facts.Chain) {
	sites := map[facts.ResidueRef]int{}
	for i := c.Polymer.Lo; i < c.Polymer.Hi; i++ {
		sites[q.x.Sites[i].Ref] = i
	}
	thin := q.x.Lacks(facts.AllAtoms, q.chainSites(c.ID)).Refusal() != ""
	for _, g := range facts.Head(c.Gaps, maxGaps) {
		p.add("%s", g)
		p.cited = append(p.cited, g.After, g.Before)
		for _, ref := range []facts.ResidueRef{g.After, g.Before} {
			if !thin {
				p.add("%s", q.partly(sites[ref]))
			}
		}
		p.add(". ")
	}
	if n := len(c.Gaps) - maxGaps; n > 0 {
		p.add("Chain %s has %d more broken links. ", c.ID, n)
	}
}

// addMissing adds how many residues are missing at all broken links.
func addMissing(p *part, chains []facts.Chain) {
	byNumbers, bySequence := 0, 0
	for _, c := range chains {
		for _, g := range c.Gaps {
			switch {
			case g.Missing == nil:
			case g.Exact:
				bySequence += *g.Missing
			default:
				byNumbers += *g.Missing
			}
		}
	}
	if bySequence > 0 {
		p.add("Together %d are missing by the whole sequence of the file. ", bySequence)
	}
	if byNumbers > 0 {
		p.add("Together %d are missing by the numbers. ", byNumbers)
	}
}

// partly says what there is of a residue of which only a few atoms are there; empty: there are more.
func (q *query) partly(site int) string {
	names := q.x.AtomNames([]int{site})
	if q.x.Sites[site].Whole || len(names) > 3 {
		return ""
	}
	return fmt.Sprintf("; of %s only %s %s there", q.x.Sites[site].Ref.Short(), words.Join(names, len(names)),
		words.Plural(len(names), "is", "are"))
}

// addUnbroken says that no link is broken of the chains that have links which can be told.
func (q *query) addUnbroken(p *part, chains []facts.Chain) {
	named := words.Plural(len(chains), "chain ", "chains ") + words.Join(chainIDs(chains), 20)
	jumps, untold, links := 0, 0, 0
	for _, c := range chains {
		jumps, untold, links = jumps+len(c.Jumps), untold+len(c.Untold), links+c.Length-1
	}
	switch {
	case jumps+untold == 0:
		p.add("No gaps: the numbers and the links of %s are complete. ", named)
		q.addInsertions(p, chains)
	case untold == 0:
		p.add("No link of %s is broken. ", named)
	case untold < links:
		p.add("No other link of %s is broken. ", named)
	}
}

// addInsertions names the residues with insertion codes, which the numbers do not count.
func (q *query) addInsertions(p *part, chains []facts.Chain) {
	var inserted []facts.ResidueRef
	for _, c := range chains {
		for _, i := range q.chainSites(c.ID) {
			if ref := q.x.Sites[i].Ref; ref.Ins != "" {
				inserted = append(inserted, ref)
			}
		}
	}
	if len(inserted) > 0 {
		p.add("The numbers have insertion codes: %s. ", inserted)
	}
}

// addJumps adds the jumps of the numbers at links that are not broken.
func addJumps(p *part, c facts.Chain) {
	var list []string
	for _, j := range c.Jumps {
		list = append(list, fmt.Sprintf("from %d%s to %d%s", j.After.Number, j.After.Ins, j.Before.Number,
			j.Before.Ins))
	}
	p.add("In chain %s the numbers jump where no link is broken: %s. ", c.ID, words.Join(list, maxGaps))
	for _, j := range facts.Head(c.Jumps, maxGaps) {
		p.cited = append(p.cited, j.After, j.Before)
	}
}

// addUntold adds the links that cannot be told.
func addUntold(p *part, c facts.Chain) {
	which := "links of chain " + c.ID + " are"
	if n := len(c.Untold); n < c.Length-1 {
		which = fmt.Sprintf("%s %s of chain %s %s", words.Plural(n, "link", "links"), followings(c.Untold), c.ID,
			words.Plural(n, "is", "are"))
	}
	p.add("Whether the %s broken cannot be told: the atoms that would show it are not there. ", which)
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
func addEnds(p *part, chains []facts.Chain) {
	var known []string
	for _, c := range chains {
		if c.Before != nil {
			known = append(known, fmt.Sprintf("chain %s lacks %s before its first and %d after its last", c.ID,
				residues(*c.Before), *c.After))
		}
	}
	if len(known) > 0 {
		p.add("By the whole sequence of the file, %s. ", strings.Join(facts.Head(known, maxGaps), ", "))
	}
	told := len(known)
	for _, c := range chains {
		if c.Circular && c.Before == nil {
			told++ // it has no ends
		}
	}
	if told < len(chains) {
		p.add("What may be missing before the first and after the last residue cannot be told from coordinates.")
	}
	p.text = strings.TrimSpace(p.text)
}
