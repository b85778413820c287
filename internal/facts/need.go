package facts

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/structure"
	"pleat/internal/words"
)

// Need is what a fact needs of the atoms of residues. Index.Lacks tells which residues lack it.
type Need string

// The needs of facts.
const (
	// Space is that neighbours in space can be searched for at all.
	Space Need = "space"
	// AllAtoms is every heavy atom of a residue, for contacts, surface, pockets and what follows from them. A side
	// chain that is not there leaves a hole in which its neighbours look exposed.
	AllAtoms Need = "all heavy atoms, side chains included"
	// MainChain is N, CA, C and O of a protein residue, for DSSP.
	MainChain Need = "N, CA, C and O of the main chain"
	// Sulfurs is SG of a cysteine.
	Sulfurs Need = "SG of the cysteines"
	// ChargedAtoms are the charged atoms of the side chains of ASP, GLU, LYS and ARG.
	ChargedAtoms Need = "the charged atoms of ASP, GLU, LYS and ARG"
)

// Rules of what a chain must have.
const (
	// mostLacking is the share of a chain's residues that may lack atoms of a fact while it can still be told of the
	// others. Where side chains of four small proteins were cut at CB at random, 1.5 % of the other residues passed
	// between buried and exposed at a tenth of residues cut, 4 % at a quarter and 8 % at half. X-ray structures mostly
	// lack a few percent of their side chains.
	mostLacking = 0.25
	// glycines is the length of a run of glycines from which they stand for residues whose side chains are not decided:
	// programs that design main chains write them so. No protein of the PDB has such a run that is ordered.
	glycines = 10
)

// judgeAtoms sets Site.Whole.
func (x *Index) judgeAtoms() {
	for i := range x.Sites {
		x.Sites[i].Whole = true
	}
	for _, r := range x.Polymers {
		x.judgeChain(r)
	}
}

// judgeChain sets Site.Whole of the residues of a chain.
func (x *Index) judgeChain(r Polymer) {
	lacking := 0
	for i := r.Lo; i < r.Hi; i++ {
		if x.Sites[i].Whole = x.Sites[i].hasAtoms(i == r.Lo); !x.Sites[i].Whole {
			lacking++
		}
	}
	for from := r.Lo; from < r.Hi; {
		to := from
		for to < r.Hi && x.Sites[to].Ref.Name == "GLY" {
			to++
		}
		if to-from >= glycines {
			for i := from; i < to; i++ {
				if x.Sites[i].undecided = true; x.Sites[i].Whole {
					lacking++
					x.Sites[i].Whole = false
				}
			}
		}
		from = max(to, from+1)
	}
	if float64(lacking) > mostLacking*float64(r.Hi-r.Lo) {
		for i := r.Lo; i < r.Hi; i++ {
			x.Sites[i].Whole = false
		}
	}
}

// hasAtoms reports whether a residue has its heavy atoms. The first nucleotide of a chain may lack its phosphate. A
// component whose formula is not known has them if it has more than a main chain and CB; UNK never does.
func (s *Site) hasAtoms(first bool) bool {
	have := s.Hi - s.Lo
	c, ok := s.composition()
	switch {
	case ok && first && s.Kind != structure.Protein:
		return have >= c.heavy()-3
	case ok:
		return have >= c.heavy()
	}
	return have > 5 && s.Ref.Name != "UNK"
}

// Lack is what some residues lack for a fact. The zero value is that they lack nothing.
type Lack struct {
	// Need is what the fact needs, Of how many residues it concerns, and Without those that lack it, in order.
	Need    Need
	Of      int
	Without []int
	// why says what they lack, as clauses.
	why string
}

// Lacks returns which of some sites lack what a fact needs. Sites that the need does not concern, such as ligands, are
// passed over. It is the only place that decides whether a fact can be told.
func (x *Index) Lacks(need Need, sites []int) Lack {
	out := Lack{Need: need}
	if need == "" {
		return out
	}
	if x.crowded != "" && need != MainChain {
		return Lack{Need: need, Of: len(sites), Without: sites, why: x.crowded}
	}
	for _, i := range sites {
		if concerned, has := x.meets(need, &x.Sites[i]); concerned {
			out.Of++
			if !has {
				out.Without = append(out.Without, i)
			}
		}
	}
	if len(out.Without) > 0 {
		out.why = x.describe(need, out.Without)
	}
	return out
}

// meets reports whether a need concerns a residue, and whether the residue meets it.
func (x *Index) meets(need Need, s *Site) (concerned, has bool) {
	protein := s.Kind == structure.Protein
	switch need {
	case AllAtoms:
		return s.Kind.Polymer(), s.Whole
	case MainChain:
		return protein && !s.isCap(), s.State != 0
	case Sulfurs:
		return protein && s.parent() == 'C', x.hasNamed(s, "SG")
	case ChargedAtoms:
		names := chargedAtoms(s)
		unknown := protein && (s.undecided || s.Ref.Name == "UNK")
		has = slices.ContainsFunc(names, func(name string) bool { return x.hasNamed(s, name) })
		return len(names) > 0 || unknown, has
	}
	return false, true
}

// withoutAtoms returns the polymers, by their index, whose contacts and surface cannot be told.
func (x *Index) withoutAtoms() map[int]bool {
	out := map[int]bool{}
	for k, r := range x.Polymers {
		if !slices.ContainsFunc(x.Sites[r.Lo:r.Hi], func(s Site) bool { return s.Whole }) {
			out[k] = true
		}
	}
	return out
}

// sitesOf returns the residues of polymers.
func (x *Index) sitesOf(polymers map[int]bool) (out []int) {
	for k, r := range x.Polymers {
		if polymers[k] {
			out = append(out, r.sites()...)
		}
	}
	return out
}

// noteLacks adds a sentence for each kind of fact that cannot be told of some chain.
func (f *Facts) noteLacks() {
	x := f.index
	if x.crowded != "" {
		return // a note says so
	}
	for _, n := range []struct {
		need  Need
		facts string
	}{
		{MainChain, "Secondary structure cannot be told"},
		{AllAtoms, "Contacts, interfaces, surface, pockets and hydrogen bonds cannot be told"},
		{Sulfurs, "Disulfides cannot be told"},
		{ChargedAtoms, "Salt bridges cannot be told"},
	} {
		lacking := map[int]bool{}
		for k, r := range x.Polymers {
			lacking[k] = x.Lacks(n.need, r.sites()).Refusal() != ""
		}
		if sites := x.sitesOf(lacking); len(sites) > 0 {
			lack := x.Lacks(n.need, sites)
			f.Notes = append(f.Notes, fmt.Sprintf("%s without %s: %s.", n.facts, n.need, lack.why))
		}
	}
}

// hasNamed reports whether a residue has a heavy atom of a name.
func (x *Index) hasNamed(s *Site, name string) bool {
	return slices.ContainsFunc(x.Atoms[s.Lo:s.Hi], func(a *structure.Atom) bool { return a.Name == name })
}

// describe says what residues lack, chain by chain: 60 of the 60 residues of chain A have only CA.
func (x *Index) describe(need Need, without []int) string {
	var clauses []string
	for _, r := range x.Polymers {
		in := func(i int) bool { return i >= r.Lo && i < r.Hi }
		from := slices.IndexFunc(without, in)
		if from < 0 {
			continue
		}
		to := from
		for to < len(without) && in(without[to]) {
			to++
		}
		clauses = append(clauses, x.describeChain(need, r, without[from:to]))
	}
	out := strings.Join(Head(clauses, maxNames), "; ")
	if n := len(clauses) - maxNames; n > 0 {
		out += fmt.Sprintf("; and so it is in %d more chains", n)
	}
	return out
}

// describeChain says what residues of one chain lack.
func (x *Index) describeChain(need Need, r Polymer, without []int) string {
	id := x.Structure.Chains[r.Chain].ID
	switch need {
	case Sulfurs:
		return fmt.Sprintf("%s of chain %s %s no SG", words.Quantity(len(without), "cysteine", "cysteines"), id,
			words.Plural(len(without), "has", "have"))
	case ChargedAtoms:
		return fmt.Sprintf("%s of chain %s that %s or may be ASP, GLU, LYS or ARG %s no charged atom",
			words.Quantity(len(without), "residue", "residues"), id, words.Plural(len(without), "is", "are"),
			words.Plural(len(without), "has", "have"))
	}
	var lacking []int
	undecided, all := 0, r.sites()
	if slices.ContainsFunc(all, func(i int) bool { _, has := x.meets(need, &x.Sites[i]); return has }) {
		all = without // the chain has what it needs but for single residues
	}
	for _, i := range all {
		s := &x.Sites[i]
		if _, ok := s.Residue.Backbone(); need == MainChain && ok || need == AllAtoms && !s.undecided &&
			s.hasAtoms(i == r.Lo) {
			continue
		}
		lacking = append(lacking, i)
		if need == AllAtoms && s.undecided {
			undecided++
		}
	}
	who := x.List(lacking, maxNames)
	if len(lacking) > maxNames || len(lacking) == r.Hi-r.Lo {
		who = fmt.Sprintf("%d of the %d residues of chain %s", len(lacking), r.Hi-r.Lo, id)
	}
	verb := func(one, many string) string { return who + " " + words.Plural(len(lacking), one, many) + " " }
	switch names := x.AtomNames(lacking); {
	case undecided == len(lacking):
		return verb("is", "are") + "GLY in runs of ten or more, as a main chain is written whose side chains are not " +
			"decided"
	case len(names) == 0:
		return verb("has", "have") + "no heavy atom"
	case len(names) <= maxNames:
		return verb("has", "have") + "only " + strings.Join(names, ", ")
	}
	return verb("lacks", "lack") + "atoms"
}

// maxNames is how many atoms or residues the description of a lack names.
const maxNames = 6

// AtomNames returns the names of the heavy atoms of residues, each once, in the order of the file.
func (x *Index) AtomNames(sites []int) (names []string) {
	for _, i := range sites {
		for p := x.Sites[i].Lo; p < x.Sites[i].Hi; p++ {
			if !slices.Contains(names, x.Atoms[p].Name) {
				names = append(names, x.Atoms[p].Name)
			}
		}
	}
	return names
}

// Reason returns what the residues lack, as clauses; empty: nothing.
func (l Lack) Reason() string { return strings.TrimSuffix(l.why, ".") }

// Refusal returns a sentence on why the fact can be told of none of the residues; empty: it can of some.
func (l Lack) Refusal() string {
	switch {
	case l.Of == 0 || len(l.Without) < l.Of:
		return ""
	case strings.HasSuffix(l.why, "."):
		return l.why // the structure is too crowded
	}
	return fmt.Sprintf("This cannot be told: it needs %s, and %s.", l.Need, l.why)
}

// Remark returns a sentence on the residues of which the fact cannot be told, where there are others; else it is empty.
func (l Lack) Remark() string {
	if len(l.Without) == 0 || len(l.Without) == l.Of {
		return ""
	}
	return fmt.Sprintf("It cannot be told of %d of these %d residues: it needs %s, and %s.", len(l.Without), l.Of,
		l.Need, l.why)
}
