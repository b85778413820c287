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

const maxSaid = 12 // chains spoken of one by one

func (q *query) capability() part {
	return part{text: "I can answer about: " + topics() + ". I cannot tell what is not in the coordinates: function, toxicity, partners that are absent, effects of mutations, stability, origin.", sure: Measured}
}

func (q *query) overview() part {
	if len(q.residues) > 0 {
		return q.identity()
	}
	text, cited := q.f.Summary()
	return part{text, cited, basis(q.f)}
}

// basis of statements that include a model's estimates.
func basis(f *facts.Facts) Certainty {
	if f.Confidence != nil {
		return Estimated
	}
	return Geometric
}

func (q *query) chainList() part {
	kinds := map[structure.Kind][]string{}
	for _, c := range q.f.Chains {
		kinds[c.Kind] = append(kinds[c.Kind], fmt.Sprintf("%s (%s)", c.ID, facts.Quantity(c.Length, "residue", "residues")))
	}
	var said []string
	for _, k := range []structure.Kind{structure.Protein, structure.RNA, structure.DNA} {
		if len(kinds[k]) > 0 {
			said = append(said, facts.Quantity(len(kinds[k]), facts.KindName(k)+" chain", facts.KindName(k)+" chains")+": "+facts.Join(kinds[k], 20))
		}
	}
	if len(said) == 0 {
		return part{text: "The structure has 0 polymer chains.", sure: Measured}
	}
	text := fmt.Sprintf("The structure has %s: %s.", facts.Quantity(len(q.f.Chains), "chain", "chains"), strings.Join(said, "; "))
	for _, k := range []structure.Kind{structure.RNA, structure.DNA} {
		if len(kinds[k]) == 0 && (q.has["nucleic"] || q.has[string(k)]) {
			text += fmt.Sprintf(" It has no %s chain.", facts.KindName(k))
		}
	}
	if q.has["oligomer"] {
		text += " Whether this is how the molecule assembles in solution, the structure alone cannot tell."
	}
	return part{text: text, sure: Measured}
}

func (q *query) identicalChains() part {
	list := q.about()
	if len(list) < 2 {
		return no("There is only one chain to speak of, so there is nothing to compare it with.")
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
	var said []string
	for _, key := range order {
		if ids := groups[key]; len(ids) > 1 {
			said = append(said, fmt.Sprintf("chains %s have the same sequence", facts.Join(ids, 20)))
		} else {
			said = append(said, fmt.Sprintf("chain %s has a sequence of its own", ids[0]))
		}
	}
	if len(order) == len(list) {
		return part{text: fmt.Sprintf("No two of the chains %s have the same sequence.", facts.Join(chainIDs(list), 20)), sure: Measured}
	}
	return part{text: "By the residues that have coordinates, " + facts.Join(said, 20) + ".", sure: Measured}
}

func chainIDs(list []facts.Chain) []string {
	var ids []string
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}

func (q *query) length() part {
	list := q.about()
	if len(list) == 0 {
		return part{text: "The structure has 0 residues in polymers.", sure: Measured}
	}
	if len(q.residues) > 0 {
		sites := q.sites()
		first, last := q.x.Sites[sites[0]].Ref, q.x.Sites[sites[len(sites)-1]].Ref
		text := fmt.Sprintf("%s with coordinates, the ends counted", facts.Quantity(len(sites), "residue", "residues"))
		if len(q.residues) == 2 && q.residues[0].single() && q.residues[1].single() && q.has["between"] {
			text = fmt.Sprintf("%s with coordinates and %d between them", facts.Quantity(len(sites), "residue", "residues"), max(0, len(sites)-2))
		}
		return part{fmt.Sprintf("%s: %s.", facts.Span(first, last), text), []facts.ResidueRef{first, last}, Measured}
	}
	var said []string
	total := 0
	longest := list[0]
	for _, c := range list {
		said = append(said, fmt.Sprintf("chain %s has %s (%s %d to %s %d)", c.ID, facts.Quantity(c.Length, "residue", "residues"), c.First.Name, c.First.Number, c.Last.Name, c.Last.Number))
		total += c.Length
		if c.Length > longest.Length {
			longest = c
		}
	}
	text := capital(facts.Join(said, maxSaid)) + "."
	if len(list) > 1 {
		text += fmt.Sprintf(" Together they have %d residues; the longest is chain %s.", total, longest.ID)
	}
	if slices.ContainsFunc(list, func(c facts.Chain) bool { return len(c.Gaps) > 0 }) {
		text += " Residues without coordinates are not counted."
	}
	return part{text: text, sure: Measured}
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func (q *query) atomCount() part {
	if len(q.chains) == 0 {
		text := fmt.Sprintf("The structure has %d atoms, of which %d are heavy (not hydrogen) and %d hydrogen", q.f.Atoms, q.f.HeavyAtoms, q.f.Atoms-q.f.HeavyAtoms)
		if q.f.Waters > 0 {
			text += fmt.Sprintf("; %s are counted in", facts.Quantity(q.f.Waters, "water molecule", "water molecules"))
		}
		return part{text: text + ".", sure: Measured}
	}
	var said []string
	for _, r := range q.runs() {
		all, heavy := 0, 0
		for i := r.Lo; i < r.Hi; i++ {
			all += len(q.x.Sites[i].Residue.Atoms)
			heavy += q.x.Sites[i].Hi - q.x.Sites[i].Lo
		}
		said = append(said, fmt.Sprintf("chain %s has %d atoms, of which %d are heavy and %d hydrogen", q.x.Structure.Chains[r.Chain].ID, all, heavy, all-heavy))
	}
	return part{text: capital(facts.Join(said, maxSaid)) + ".", sure: Measured}
}

const maxLetters = 1200

func (q *query) sequence() part {
	if len(q.residues) > 0 {
		sites := q.sites()
		letters := make([]byte, 0, len(sites))
		for _, i := range facts.Head(sites, maxLetters) {
			letters = append(letters, q.x.Sites[i].Letter)
		}
		return part{fmt.Sprintf("From %s the sequence is %s.", facts.Span(q.x.Sites[sites[0]].Ref, q.x.Sites[sites[len(sites)-1]].Ref), letters),
			[]facts.ResidueRef{q.x.Sites[sites[0]].Ref, q.x.Sites[sites[len(sites)-1]].Ref}, Measured}
	}
	list := q.about()
	if len(list) == 0 {
		return no("The structure has no polymer, so there is no sequence.")
	}
	var said []string
	for _, c := range facts.Head(list, maxSaid) {
		s := c.Sequence
		if len(s) > maxLetters {
			s = s[:maxLetters] + fmt.Sprintf("… (the first %d of %d letters)", maxLetters, c.Length)
		}
		said = append(said, fmt.Sprintf("Chain %s (%s, %s): %s.", c.ID, c.Kind, facts.Quantity(c.Length, "residue", "residues"), s))
	}
	if len(list) > maxSaid {
		said = append(said, fmt.Sprintf("%d more chains are not written out.", len(list)-maxSaid))
	}
	return part{text: strings.Join(said, "\n"), sure: Measured}
}

// identity says what stands at a position, and whether it is what the question says.
func (q *query) identity() part {
	var said []string
	var cited []facts.ResidueRef
	for _, m := range facts.Head(q.residues, maxSaid) {
		plain := m
		plain.names = nil
		sites, problem := q.find(plain)
		if problem != "" {
			return no("%s", problem)
		}
		wanted := q.names
		if wrong := slices.DeleteFunc(slices.Clone(sites), func(i int) bool { return !q.x.Sites[i].Is(m.names) }); m.names != nil && len(wrong) == 0 {
			wanted = m.names
		}
		letters := make([]byte, 0, len(sites))
		for _, i := range facts.Head(sites, maxLetters) {
			letters = append(letters, q.x.Sites[i].Letter)
		}
		for _, i := range facts.Head(sites, 30) {
			s := &q.x.Sites[i]
			text := s.Ref.String()
			switch {
			case len(wanted) > 0 && s.Is(wanted):
				text = "yes: " + text
			case len(wanted) > 0:
				text = "no: it is " + text + ", not " + wanted[0]
			case len(q.classes) > 0 && inClass(s.Letter, q.classes[0]):
				text = "yes: " + text + " is " + q.classes[0]
			case len(q.classes) > 0:
				text = "no: " + text + " is not " + q.classes[0]
			}
			if q.has["overview"] || len(sites) == 1 && len(wanted)+len(q.classes) == 0 {
				text += remarks(q.x, i)
			}
			said, cited = append(said, text), append(cited, s.Ref)
		}
		if len(sites) > 30 {
			said = append(said, fmt.Sprintf("and %d more", len(sites)-30))
		}
		if len(sites) > 2 {
			said = append(said, "in one-letter codes "+string(letters))
		}
	}
	return part{capital(strings.Join(said, "; ")) + ".", cited, Measured}
}

// remarks are the facts of one residue.
func remarks(x *facts.Index, i int) string {
	s := &x.Sites[i]
	var out []string
	if s.State != 0 {
		out = append(out, "in "+facts.StateName(s.State))
	}
	if share, ok := s.Accessible(); ok && x.HasSurface {
		out = append(out, facts.Percent(share)+" accessible")
	}
	if x.HasConfidence && !math.IsNaN(s.PLDDT) {
		out = append(out, fmt.Sprintf("pLDDT %.1f", s.PLDDT))
	}
	if len(out) == 0 {
		return ""
	}
	return ", " + strings.Join(out, ", ")
}

func (q *query) composition() part {
	list := q.about()
	if len(list) == 0 {
		return no("The structure has no polymer, so there is no composition.")
	}
	if len(q.residues) > 0 {
		return no("I count the composition of chains; of single residues or a range I count residues by name or class only.")
	}
	var said []string
	for _, c := range facts.Head(list, maxSaid) {
		var counts []string
		for _, n := range c.Composition {
			counts = append(counts, fmt.Sprintf("%s %d (%s)", n.Name, n.N, facts.Percent(float64(n.N)/float64(c.Length))))
		}
		top, low := extremes(c.Composition)
		text := fmt.Sprintf("Chain %s is made of %s. Most common: %s; least common: %s.", c.ID, strings.Join(counts, ", "), top, low)
		if c.Kind == structure.Protein {
			if none := absentFrom(c.Sequence); len(none) > 0 {
				text += " Absent: " + strings.Join(none, ", ") + "."
			}
		}
		said = append(said, text)
	}
	return part{text: strings.Join(said, "\n"), sure: Measured}
}

func extremes(list []facts.Count) (top, low string) {
	var tops, lows []string
	for _, n := range list {
		if n.N == list[0].N {
			tops = append(tops, n.Name)
		}
		if n.N == list[len(list)-1].N {
			lows = append(lows, n.Name)
		}
	}
	return fmt.Sprintf("%s (%d)", facts.Join(tops, 20), list[0].N), fmt.Sprintf("%s (%d)", facts.Join(lows, 20), list[len(list)-1].N)
}

func absentFrom(seq string) (out []string) {
	for _, letter := range "ARNDCQEGHILKMFPSTWYV" {
		if !strings.ContainsRune(seq, letter) {
			name, _ := structure.Component(structure.Protein, byte(letter))
			out = append(out, name)
		}
	}
	return out
}

func (q *query) charge() part {
	list := q.proteins()
	if len(list) == 0 {
		return no("Net charge is computed for protein chains, and there is none here to compute it of.")
	}
	if len(q.residues) > 0 {
		return q.chargeOfSites()
	}
	pH := 7.0
	if q.ph != nil {
		pH = *q.ph
	}
	if pH < 0 || pH > 14 {
		return no("A pH lies between 0 and 14; %g does not.", pH)
	}
	var said []string
	sum := 0.0
	for _, c := range list {
		z := facts.ChargeAt(c.Sequence, q.x.BondedIn(c.Polymer), pH)
		sum += z
		said = append(said, fmt.Sprintf("chain %s has a net charge of %+.2f e at pH %g and an isoelectric point of %.2f", c.ID, z, pH, c.Isoelectric))
	}
	text := capital(facts.Join(said, maxSaid))
	if len(list) > 1 {
		text += fmt.Sprintf("; together %+.2f e", sum)
	}
	return part{text: text + ". Computed from the residues with coordinates, free ends and pKa values of single residues; the surroundings in the fold are not taken into account.", sure: Measured}
}

// chargeOfSites counts charged side chains of residues or a range, where an isoelectric point or a pH has no meaning.
func (q *query) chargeOfSites() part {
	if q.ph != nil || q.has["pi"] || q.has["whichph"] {
		return no("At a pH of choice, and for the isoelectric point, I compute the charge of whole chains only.")
	}
	sites := q.sites()
	var plus, minus []int
	for _, i := range sites {
		switch s := &q.x.Sites[i]; {
		case s.Kind == structure.Protein && inClass(s.Letter, "positively charged"):
			plus = append(plus, i)
		case s.Kind == structure.Protein && inClass(s.Letter, "negatively charged"):
			minus = append(minus, i)
		}
	}
	first, last := q.x.Sites[sites[0]].Ref, q.x.Sites[sites[len(sites)-1]].Ref
	text := fmt.Sprintf("By its side chains %s (%s) has a net charge of %+d: %d positive (LYS, ARG), %d negative (ASP, GLU)", facts.Span(first, last), facts.Quantity(len(sites), "residue", "residues"), len(plus)-len(minus), len(plus), len(minus))
	return part{text + "; the chain's ends and pKa values are not looked at.", q.x.Refs(facts.Head(append(plus, minus...), maxChosen)), Measured}
}

func (q *query) weight() part {
	list := q.about()
	if len(list) == 0 {
		return no("The structure has no polymer to weigh.")
	}
	var said []string
	sum := 0.0
	for _, c := range list {
		sum += c.Mass
		text := fmt.Sprintf("chain %s weighs %.1f Da (%.2f kDa)", c.ID, c.Mass, c.Mass/1000)
		if c.Unweighed > 0 {
			text += fmt.Sprintf(" without %s of unknown mass", facts.Quantity(c.Unweighed, "residue", "residues"))
		}
		said = append(said, text)
	}
	text := capital(facts.Join(said, maxSaid))
	if len(list) > 1 {
		text += fmt.Sprintf("; together %.1f Da", sum)
	}
	return part{text: text + ". Average mass of the residues with coordinates, cysteines reduced; ligands are not counted.", sure: Measured}
}

func (q *query) termini() part {
	var said []string
	var cited []facts.ResidueRef
	for _, c := range facts.Head(q.about(), maxSaid) {
		first, last := "N-terminal", "C-terminal"
		if c.Kind != structure.Protein {
			first, last = "first (5')", "last (3')"
		}
		var ends []string
		both := q.has["nterm"] == q.has["cterm"]
		if both || q.has["nterm"] {
			ends, cited = append(ends, fmt.Sprintf("the %s residue with coordinates is %s", first, c.First)), append(cited, c.First)
		}
		if both || q.has["cterm"] {
			ends, cited = append(ends, fmt.Sprintf("the %s residue with coordinates is %s", last, c.Last)), append(cited, c.Last)
		}
		said = append(said, capital(strings.Join(ends, " and "))+".")
	}
	if len(said) == 0 {
		return no("The structure has no polymer, so it has no ends.")
	}
	return part{strings.Join(said, " "), cited, Measured}
}

func (q *query) gapList() part {
	list := q.about()
	if len(list) == 0 || q.problem != "" && len(q.residues) == 0 {
		return no("%s", chainNames(q.f))
	}
	lo, hi := math.MinInt, math.MaxInt // the numbers asked about
	if len(q.residues) > 0 {
		lo, hi = math.MaxInt, math.MinInt
		for _, m := range q.residues {
			if m.first != 0 || m.half != 0 {
				return no("Gaps are told between numbers, since residues that are not there cannot be counted; name the numbers, such as residues 1 to 30.")
			}
			lo, hi = min(lo, m.lo), max(hi, m.hi)
		}
	}
	if sites := q.sites(); lo == hi && len(sites) > 0 {
		return part{fmt.Sprintf("%s: coordinates are there.", q.x.List(sites, 20)), q.x.Refs(facts.Head(sites, 20)), Measured}
	}
	var said []string
	var cited []facts.ResidueRef
	missing, gaps := 0, 0
	for _, c := range list {
		for _, g := range facts.Head(c.Gaps, 20) {
			if g.Before.Number <= lo || g.After.Number >= hi {
				continue
			}
			text := fmt.Sprintf("between %s and %s the chain is broken (%s apart) without a jump in the numbers", g.After, g.Before, facts.Angstrom(g.Distance))
			if g.Missing > 0 {
				missing, gaps = missing+g.Missing, gaps+1
				text = fmt.Sprintf("between %s and %s %s missing by the numbers", g.After, g.Before, facts.Quantity(g.Missing, "residue is", "residues are"))
			}
			said, cited = append(said, text), append(cited, g.After, g.Before)
		}
	}
	tail := " What may be missing before the first and after the last residue cannot be told from coordinates."
	if q.problem != "" {
		said = append([]string{strings.TrimSuffix(q.problem, ".")}, said...)
	}
	if len(said) == 0 && len(q.residues) > 0 {
		return part{fmt.Sprintf("From %d to %d no residue is missing.", lo, hi), nil, Measured}
	}
	if len(said) == 0 {
		return part{fmt.Sprintf("There are no gaps inside %s %s: the numbering does not jump where a link is missing, and every link is there.", facts.Plural(len(list), "chain", "chains"), facts.Join(chainIDs(list), 20)) + tail, nil, Measured}
	}
	if gaps > 1 {
		said = append(said, fmt.Sprintf("together %d", missing))
	}
	text := capital(strings.Join(said, "; "))
	if len(q.residues) > 0 && lo < hi {
		text = fmt.Sprintf("From %d to %d: %s", lo, hi, strings.Join(said, "; "))
	}
	return part{text + "." + tail, cited, Measured}
}

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
		return part{text: "The structure came as a prediction, so it has no experimental method or resolution.", sure: Measured}
	}
	return no("The method and resolution were not given with this structure, and coordinates alone do not tell them.")
}

func (q *query) modified() part {
	var refs []facts.ResidueRef
	for _, c := range q.about() {
		refs = append(refs, c.Modified...)
	}
	if len(refs) == 0 {
		return part{text: "All residues of the polymers are standard ones; by their component codes none is modified.", sure: Measured}
	}
	return part{fmt.Sprintf("%s not standard: %s.", facts.Quantity(len(refs), "residue is", "residues are"), facts.RefList(refs, 40)), facts.Head(refs, 40), Measured}
}
