package analyst

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// Answers about chains and what they are made of.

const (
	maxSaid    = 12   // chains or groups described one by one
	maxLetters = 1200 // of a sequence
)

// capability lists the topics.
func (q *query) capability() part {
	return part{text: "I can answer about: " + topicNames() + ". Each can be asked of residues that pass a filter: " +
		"name, class, chain, range, " +
		"secondary structure, exposure, confidence, distance. I cannot tell what is not in the coordinates: " +
		"function, toxicity, " +
		"partners that are absent, effects of mutations, stability, origin.", sure: Measured}
}

// overview summarises the structure.
func (q *query) overview() part {
	text, cited := q.f.Summary()
	sure := Geometric
	if q.f.Confidence != nil {
		sure = Estimated
	}
	return part{text, cited, sure}
}

// chainList lists the chains by kind.
func (q *query) chainList() part {
	kinds := map[structure.Kind][]string{}
	for _, c := range q.f.Chains {
		kinds[c.Kind] = append(kinds[c.Kind], fmt.Sprintf("%s (%s)", c.ID, residues(c.Length)))
	}
	var said []string
	for _, k := range [...]structure.Kind{structure.Protein, structure.RNA, structure.DNA} {
		if n := len(kinds[k]); n > 0 {
			name := facts.KindName(k)
			said = append(said, facts.Quantity(n, name+" chain", name+" chains")+": "+facts.Join(kinds[k], 20))
		}
	}
	if len(said) == 0 {
		return part{text: "The structure has 0 polymer chains.", sure: Measured}
	}
	text := fmt.Sprintf("The structure has %s: %s.", facts.Quantity(len(q.f.Chains), "chain", "chains"),
		strings.Join(said, "; "))
	for _, k := range [...]structure.Kind{structure.Protein, structure.RNA, structure.DNA} {
		nucleic := q.has["nucleic"] && k != structure.Protein
		if len(kinds[k]) == 0 && (nucleic || q.has[string(k)]) {
			text += fmt.Sprintf(" It has no %s chain.", facts.KindName(k))
		}
	}
	if q.has["oligomer"] {
		text += " Whether this is how the molecule assembles in solution, the structure alone cannot tell."
	}
	return part{text: text, sure: Measured}
}

// identicalChains groups the chains that have the same sequence.
func (q *query) identicalChains() part {
	list := q.polymers()
	if len(list) < 2 {
		return refusal("There is only one chain to speak of, so there is nothing to compare it with.")
	}
	groups := map[string][]string{}
	var order []string
	for _, c := range list {
		key := string(c.Kind) + c.Sequence
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], c.ID)
	}
	if len(order) == len(list) {
		return part{text: fmt.Sprintf("No two of the chains %s have the same sequence.", facts.Join(chainIDs(list),
			20)), sure: Measured}
	}
	var said []string
	for _, key := range order {
		if ids := groups[key]; len(ids) > 1 {
			said = append(said, fmt.Sprintf("chains %s have the same sequence", facts.Join(ids, 20)))
		} else {
			said = append(said, fmt.Sprintf("chain %s has a sequence of its own", ids[0]))
		}
	}
	return part{text: "By the residues that have coordinates, " + facts.Join(said, 20) + ".", sure: Measured}
}

// length counts the residues of chains, or of what the filter selects.
func (q *query) length() part {
	if q.partial() {
		return q.lengthOfPart()
	}
	list := q.polymers()
	if len(list) == 0 {
		return part{text: "The structure has 0 residues in polymers.", sure: Measured}
	}
	var said []string
	total, gaps := 0, false
	longest, shortest := list[0], list[0]
	for _, c := range list {
		said = append(said, fmt.Sprintf("chain %s has %s (%s %d to %s %d)", c.ID, residues(c.Length), c.First.Name,
			c.First.Number, c.Last.Name, c.Last.Number))
		total, gaps = total+c.Length, gaps || len(c.Gaps) > 0
		if c.Length > longest.Length {
			longest = c
		}
		if c.Length < shortest.Length {
			shortest = c
		}
	}
	text := capital(facts.Join(said, maxSaid)) + "."
	if len(list) > 1 {
		text += fmt.Sprintf(" Together they have %d residues; the longest is chain %s, the shortest chain %s.", total,
			longest.ID, shortest.ID)
	}
	if gaps {
		text += " Residues without coordinates are not counted."
	}
	return part{text: text, sure: Measured}
}

// lengthOfPart counts the selected residues, each segment separately.
func (q *query) lengthOfPart() part {
	var said []string
	var cited []facts.ResidueRef
	ends := q.has["between"] && len(q.mentions) == 1 && q.mentions[0].lo != q.mentions[0].hi
	for _, g := range facts.Head(q.groups(), maxSaid) {
		text := g.label
		if len(q.runs(g.sites, false)) == 1 {
			text = fmt.Sprintf("%s: %s with coordinates, the ends counted", q.spanOf(g.sites), residues(len(g.sites)))
		} else if len(g.sites) > 2 {
			text += ": " + q.x.List(g.sites, maxListed)
		}
		if ends {
			text += fmt.Sprintf(", %d between them", max(0, len(g.sites)-2))
		}
		said, cited = append(said, capital(text)+"."), append(cited, q.x.Refs(facts.Head(g.sites, maxListed))...)
	}
	if len(said) == 0 {
		return q.none()
	}
	return part{strings.Join(said, " "), cited, certaintyOf(q.filter())}
}

// atomCount counts atoms, heavy ones and hydrogens.
func (q *query) atomCount() part {
	if len(q.filter()) == 0 {
		text := fmt.Sprintf("The structure has %d atoms, of which %d are heavy (not hydrogen) and %d hydrogen",
			q.f.Atoms, q.f.HeavyAtoms, q.f.Atoms-q.f.HeavyAtoms)
		if q.f.Waters > 0 {
			text += fmt.Sprintf("; %s are counted in", facts.Quantity(q.f.Waters, "water molecule", "water molecules"))
		}
		return part{text: text + ".", sure: Measured}
	}
	sites := q.sites()
	if len(sites) == 0 {
		return q.none()
	}
	all, heavy := 0, 0
	for _, i := range sites {
		all += len(q.x.Sites[i].Residue.Atoms)
		heavy += q.x.Sites[i].Hi - q.x.Sites[i].Lo
	}
	label := capital(q.describe(sites))
	if !q.partial() {
		label = "Chain " + facts.Join(chainIDs(q.polymers()), 20)
	}
	return part{text: fmt.Sprintf("%s: %d atoms, of which %d are heavy (not hydrogen) and %d hydrogen.", label, all,
		heavy, all-heavy), sure: Measured}
}

// letters returns the one-letter codes of sites.
func (q *query) letters(sites []int) string {
	out := make([]byte, 0, len(sites))
	for _, i := range facts.Head(sites, maxLetters) {
		out = append(out, q.x.Sites[i].Letter)
	}
	return string(out)
}

// sequence writes out chains, or the selected stretches.
func (q *query) sequence() part {
	if q.partial() {
		var said []string
		var cited []facts.ResidueRef
		for _, run := range facts.Head(q.runs(q.sites(), false), 20) {
			said = append(said, fmt.Sprintf("From %s the sequence is %s.", q.spanOf(run), q.letters(run)))
			cited = append(cited, q.x.Sites[run[0]].Ref, q.x.Sites[run[len(run)-1]].Ref)
		}
		if len(said) == 0 {
			return q.none()
		}
		return part{strings.Join(said, "\n"), cited, certaintyOf(q.conds)}
	}
	list := q.polymers()
	if len(list) == 0 {
		return refusal("The structure has no polymer, so there is no sequence.")
	}
	var said []string
	for _, c := range facts.Head(list, maxSaid) {
		s := c.Sequence
		if len(s) > maxLetters {
			s = s[:maxLetters] + fmt.Sprintf("… (the first %d of %d letters)", maxLetters, c.Length)
		}
		said = append(said, fmt.Sprintf("Chain %s (%s, %s): %s.", c.ID, c.Kind, residues(c.Length), s))
	}
	if len(list) > maxSaid {
		said = append(said, fmt.Sprintf("%d more chains are not written out.", len(list)-maxSaid))
	}
	return part{text: strings.Join(said, "\n"), sure: Measured}
}

// identity says which residue has a number, and whether it is what the question says.
func (q *query) identity() part {
	var said []string
	names, _ := q.alternatives(q.conds)
	var place []*condition
	for _, c := range q.conds {
		if c.property != ofName {
			place = append(place, c)
		}
	}
	sites := q.sitesWhere(place)
	for _, i := range facts.Head(sites, 30) {
		s := &q.x.Sites[i]
		text := s.Ref.String()
		switch yes := slices.ContainsFunc(names, func(c *condition) bool { return c.holds(i) }); {
		case len(names) > 0 && names[0].class != "":
			text = map[bool]string{true: "yes: " + text + " is ", false: "no: " + text + " is not "}[yes] +
				names[0].class
		case len(names) > 0 && yes:
			text = "yes: " + text
		case len(names) > 0:
			text = "no: it is " + text + ", not " + names[0].wording[0]
		case len(sites) == 1:
			text += q.remarks(i)
		}
		said = append(said, text)
	}
	if len(sites) == 0 {
		return q.none()
	}
	if len(sites) > 30 {
		said = append(said, fmt.Sprintf("and %d more", len(sites)-30))
	}
	if len(sites) > 2 {
		said = append(said, "in one-letter codes "+q.letters(sites))
	}
	return part{capital(strings.Join(said, "; ")) + ".", q.x.Refs(facts.Head(sites, 30)), Measured}
}

// remarks are the facts of one residue.
func (q *query) remarks(i int) string {
	s := &q.x.Sites[i]
	out := ""
	if s.State != 0 {
		out += ", in " + facts.StateName(s.State)
	}
	if share, ok := s.Accessible(); ok && q.x.HasSurface {
		out += ", " + facts.Percent(share) + " accessible"
	}
	if q.x.HasConfidence && !math.IsNaN(s.PLDDT) {
		out += fmt.Sprintf(", pLDDT %.1f", s.PLDDT)
	}
	return out
}

// composition counts the residues of each chain, or of the selection, by name.
func (q *query) composition() part {
	var said []string
	if q.partial() {
		sites := q.sites()
		if len(sites) == 0 {
			return q.none()
		}
		c := facts.Composition(q.x.Sites[sites[0]].Kind, q.letters(sites))
		said = append(said, capital(q.describe(sites))+": "+compositionText(c, len(sites)))
		return part{said[0], q.x.Refs(facts.Head(sites, maxListed)), certaintyOf(q.conds)}
	}
	for _, c := range facts.Head(q.polymers(), maxSaid) {
		text := fmt.Sprintf("Chain %s is made of %s", c.ID, compositionText(c.Composition, c.Length))
		if none := absentFrom(c.Sequence); c.Kind == structure.Protein && len(none) > 0 {
			text += " Absent: " + strings.Join(none, ", ") + "."
		}
		said = append(said, text)
	}
	if len(said) == 0 {
		return refusal("The structure has no polymer, so there is no composition.")
	}
	return part{text: strings.Join(said, "\n"), sure: Measured}
}

// compositionText lists counts with their shares, and the most and the least common.
func compositionText(list []facts.Count, total int) string {
	var counts, tops, lows []string
	for _, n := range list {
		counts = append(counts, fmt.Sprintf("%s %d (%s)", n.Name, n.N, facts.Percent(float64(n.N)/float64(total))))
		if n.N == list[0].N {
			tops = append(tops, n.Name)
		}
		if n.N == list[len(list)-1].N {
			lows = append(lows, n.Name)
		}
	}
	return fmt.Sprintf("%s. Most common: %s (%d); least common: %s (%d).", strings.Join(counts, ", "), facts.Join(tops,
		20), list[0].N,
		facts.Join(lows, 20), list[len(list)-1].N)
}

// absentFrom lists the standard amino acids that a sequence lacks.
func absentFrom(seq string) (out []string) {
	for _, letter := range "ARNDCQEGHILKMFPSTWYV" {
		if !strings.ContainsRune(seq, letter) {
			name, _ := structure.Component(structure.Protein, byte(letter))
			out = append(out, name)
		}
	}
	return out
}

// termini names the first and the last residue of each chain.
func (q *query) termini() part {
	var said []string
	var cited []facts.ResidueRef
	both := q.has["nterm"] == q.has["cterm"]
	for _, c := range facts.Head(q.polymers(), maxSaid) {
		first, last := "N-terminal", "C-terminal"
		if c.Kind != structure.Protein {
			first, last = "first (5')", "last (3')"
		}
		var ends []string
		if both || q.has["nterm"] {
			ends, cited = append(ends, fmt.Sprintf("the %s residue with coordinates is %s", first,
				c.First)), append(cited, c.First)
		}
		if both || q.has["cterm"] {
			ends, cited = append(ends, fmt.Sprintf("the %s residue with coordinates is %s", last,
				c.Last)), append(cited, c.Last)
		}
		said = append(said, capital(strings.Join(ends, " and "))+".")
	}
	if len(said) == 0 {
		return refusal("The structure has no polymer, so it has no ends.")
	}
	return part{strings.Join(said, " "), cited, Measured}
}

// gapList names where residues are missing, in the chains or between the numbers asked about.
func (q *query) gapList() part {
	list := q.polymers()
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
	if sites := q.sites(); lo == hi && len(sites) > 0 {
		return part{fmt.Sprintf("%s: coordinates are there.", q.x.List(sites, 20)), q.x.Refs(facts.Head(sites, 20)),
			Measured}
	}
	var said []string
	var cited []facts.ResidueRef
	missing, gaps := 0, 0
	if q.absent != "" {
		said = append(said, strings.TrimSuffix(q.absent, "."))
	}
	for _, c := range list {
		for _, g := range facts.Head(c.Gaps, 20) {
			if g.Before.Number <= lo || g.After.Number >= hi {
				continue
			}
			text := fmt.Sprintf("between %s and %s the chain is broken (%s apart) without a jump in the numbers",
				g.After, g.Before, facts.Angstrom(g.Distance))
			if g.Missing > 0 {
				missing, gaps = missing+g.Missing, gaps+1
				text = fmt.Sprintf("between %s and %s %s missing by the numbers", g.After, g.Before,
					facts.Quantity(g.Missing, "residue is", "residues are"))
				if lo, hi := g.After.Number+1, g.Before.Number-1; lo == hi {
					text += fmt.Sprintf(" (%d)", lo)
				} else if hi-lo+1 == g.Missing {
					text += fmt.Sprintf(" (%d to %d)", lo, hi)
				}
			}
			said, cited = append(said, text), append(cited, g.After, g.Before)
		}
	}
	tail := " What may be missing before the first and after the last residue cannot be told from coordinates."
	switch {
	case len(said) == 0 && len(q.mentions) > 0:
		return part{fmt.Sprintf("From %d to %d no residue is missing.", lo, hi), nil, Measured}
	case len(said) == 0:
		return part{fmt.Sprintf("There are no gaps inside %s %s: the numbering does not jump where a link is "+
			"missing, and every link is there.",
			facts.Plural(len(list), "chain", "chains"), facts.Join(chainIDs(list), 20)) + tail, nil, Measured}
	case gaps > 1:
		said = append(said, fmt.Sprintf("together %d", missing))
	}
	text := capital(strings.Join(said, "; "))
	if len(q.mentions) > 0 && lo < hi {
		text = fmt.Sprintf("From %d to %d: %s", lo, hi, strings.Join(said, "; "))
	}
	return part{text + "." + tail, cited, Measured}
}

// method says whether the structure is a prediction, and the experiment where it was given.
func (q *query) method() part {
	f := q.f
	switch {
	case q.has["predicted"] && f.Predicted:
		text := "The structure came as a prediction"
		if f.Model != "" {
			text += " by " + f.Model
		}
		return part{text: text + ".", sure: Measured}
	case f.Method != "" && (q.has["method"] || q.has["predicted"]):
		text := "The method is given as " + f.Method
		if f.Resolution > 0 {
			text += fmt.Sprintf(", at a resolution of %.2f Å", f.Resolution)
		}
		return part{text: text + ".", sure: Measured}
	case f.Resolution > 0 && q.has["resolution"]:
		return part{text: fmt.Sprintf("The resolution is given as %.2f Å.", f.Resolution), sure: Measured}
	case f.Predicted:
		return part{text: "The structure came as a prediction, so it has no experimental method or resolution.",
			sure: Measured}
	}
	return refusal("The method and resolution were not given with this structure, and coordinates alone do not tell " +
		"them.")
}

// modified lists the residues that are not standard ones.
func (q *query) modified() part {
	var refs []facts.ResidueRef
	keep := q.keeps()
	for _, c := range q.f.Chains {
		for _, r := range c.Modified {
			if keep(r) {
				refs = append(refs, r)
			}
		}
	}
	if len(refs) == 0 {
		return part{text: q.of("Of the residues that are") + "All residues of the polymers are standard ones; by " +
			"their component codes none is modified.", sure: Measured}
	}
	return part{q.of("Of the residues that are") + fmt.Sprintf("%s not standard: %s.", facts.Quantity(len(refs),
		"residue is", "residues are"),
		facts.RefList(refs, 40)), facts.Head(refs, 40), Measured}
}
