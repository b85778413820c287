package analyst

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// condition makes the condition that an item stands for; nil where it stands for none.
func (r *reader) condition(it item) *condition {
	switch it.concept {
	case "@name": // a modified residue counts as its parent
		return r.newCondition(ofName, it.names[0], func(s *facts.Site) bool { return s.Is(it.names) })
	case "@class":
		return r.classCondition(strings.ReplaceAll(it.names[0], "-", " "), it.names[1])
	case "modified":
		return r.modifiedCondition()
	case "@chain":
		return r.chainCondition(it.names[0])
	case "rna", "dna", "nucleic", "protein", "residue", "chain", "composition":
		return r.kindCondition(it)
	case "buried":
		return r.surfaceCondition(exposure(0))
	case "exposed", "surface":
		return r.surfaceCondition(exposure(1))
	case "@limit":
		if it.above {
			return r.newCondition(ofLimit, fmt.Sprintf("at a pLDDT of %g or more", it.value),
				func(s *facts.Site) bool { return s.PLDDT >= it.value })
		}
		return r.newCondition(ofLimit, fmt.Sprintf("below a pLDDT of %g", it.value),
			func(s *facts.Site) bool { return s.PLDDT < it.value })
	case "@rmsd":
		if it.above {
			return r.newCondition(ofRMSD, fmt.Sprintf("at a predicted RMSD of %g Å or more", it.value),
				func(s *facts.Site) bool { return s.RMSD >= it.value })
		}
		return r.newCondition(ofRMSD, fmt.Sprintf("below a predicted RMSD of %g Å", it.value),
			func(s *facts.Site) bool { return s.RMSD < it.value })
	case "@residue":
		return r.placeCondition(it.mention)
	case "@ligand":
		return r.ligandCondition(it)
	}
	if st, ok := vocabulary().states[it.concept]; ok {
		return r.stateCondition(st)
	}
	return nil
}

// newCondition makes a condition on a property of single sites.
func (q *query) newCondition(p property, wording string, accept func(s *facts.Site) bool) *condition {
	c := &condition{property: p, wording: []string{wording}, sites: [][]int{nil}}
	if q.look(len(q.x.Sites)) {
		c.sites[0] = q.x.Select(func(i int) bool { return accept(&q.x.Sites[i]) })
	}
	return c
}

// modifiedCondition is the residues whose component is not standard, by their codes; caps of peptides are none of them.
func (q *query) modifiedCondition() *condition {
	c := q.newCondition(ofName, "modified (not a standard component)", func(s *facts.Site) bool {
		return s.Modified() && structure.Cap(s.Ref.Name) == ""
	})
	c.class = true
	return c
}

// kinds are the kinds of polymers by their concepts, and what they are called.
var kinds = map[string]struct {
	name string
	of   []structure.Kind
}{
	"protein": {"protein", []structure.Kind{structure.Protein}},
	"rna":     {"RNA", []structure.Kind{structure.RNA}},
	"dna":     {"DNA", []structure.Kind{structure.DNA}},
	"nucleic": {"nucleic acid", []structure.Kind{structure.RNA, structure.DNA}},
}

// kindCondition is the residues of a kind of polymer; nil where an item means none. A noun such as protein or amino
// acid is no condition where all polymers are of its kind, and a problem where none is.
func (q *query) kindCondition(it item) *condition {
	kind := kinds[it.kind()]
	if kind.name == "" {
		return nil
	}
	if !it.is("rna dna nucleic") {
		switch n := len(q.polymersOf(it.kind())); n {
		case len(q.x.Polymers):
			return nil
		case 0:
			q.problem = cmp.Or(q.problem, q.noKind(it.kind()))
			return nil
		}
	}
	c := q.newCondition(ofChain, "of "+kind.name, func(s *facts.Site) bool { return slices.Contains(kind.of, s.Kind) })
	c.kind = it.kind()
	return c
}

func (q *query) surfaceCondition(wording string) *condition {
	c := q.newCondition(ofSurface, wording, func(s *facts.Site) bool {
		share, ok := s.Accessible()
		return ok && exposure(share) == wording
	})
	c.untold = q.untold(c.property)
	return c
}

// untold returns the residues of which a condition on a property cannot be told.
func (q *query) untold(p property) []int {
	out := slices.Concat(q.x.Lacks(conditionNeeds[p], q.x.Residues()).Without, q.undefined(p, q.x.Residues()))
	slices.Sort(out)
	return out
}

// undefined returns those of some sites that are of no kind that has a property: the accessibility of a residue is
// relative to an amino acid in Gly-X-Gly, and DSSP is of proteins.
func (q *query) undefined(p property, sites []int) []int {
	return keep(sites, func(i int) bool {
		s := &q.x.Sites[i]
		_, ok := s.Accessible()
		return p == ofSurface && s.Whole && !ok || p == ofState && s.Kind != structure.Protein
	})
}

// exposure is the wording for a residue of which a share can be reached by water.
func exposure(share float64) string {
	if share < facts.BuriedBelow {
		return "buried (less than 20 % accessible)"
	}
	return "exposed (20 % accessible or more)"
}

// chainCondition is the residues of a chain, which must exist.
func (q *query) chainCondition(id string) *condition {
	q.problem = cmp.Or(noChain(q.x, id), q.problem)
	c := q.newCondition(ofChain, "in chain "+id, func(s *facts.Site) bool { return s.Ref.Chain == id })
	c.label, c.chains = "chain "+id, []string{id}
	return c
}

func chainIDs(list []facts.Chain) (ids []string) {
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}

// classCondition is a class of amino acids; the wording says which residues count. A modified residue does where it has
// the groups of its parent.
func (q *query) classCondition(name, letters string) *condition {
	var codes []string
	for i := range len(letters) {
		code, _ := structure.Component(structure.Protein, letters[i])
		codes = append(codes, code)
	}
	wording := fmt.Sprintf("%s (%s are counted as such)", name, strings.Join(codes, ", "))
	c := q.newCondition(ofName, wording, func(s *facts.Site) bool {
		return s.Kind == structure.Protein && strings.IndexByte(letters, s.Letter) >= 0 && s.LikeParent()
	})
	c.class = true
	return c
}

// stateCondition is a state of secondary structure or, with the ordinals or extremes that wait for it, segments counted
// along each chain: the second helix, the longest strand.
func (r *reader) stateCondition(st state) *condition {
	if r.neighbour(1) != "residue" && oneOf(r.neighbour(-1), "howmany which all list") {
		r.countsSegments = true
	}
	c := r.newCondition(ofState, st.wording, func(s *facts.Site) bool {
		return strings.IndexByte(st.letters, s.State) >= 0
	})
	c.states, c.untold = st.letters, r.untold(c.property)
	if len(r.which) == 0 {
		return c
	}
	segments := &condition{property: ofState, counted: true, states: st.letters}
	for _, which := range r.which {
		segments.add(r.segment(st, c.sites[0], which))
	}
	r.counted, r.which = true, nil
	return segments
}

// segment counts the segments of each chain that the question is about, and makes the condition of one of them. A
// strand of one residue is an isolated bridge and not counted.
func (q *query) segment(st state, all []int, which item) *condition {
	var names []string
	var sites []int
	counting := ""
	q.look(len(all))
	for _, ch := range q.f.Chains {
		if len(q.chains) > 0 && !slices.Contains(q.chains, ch.ID) {
			continue
		}
		from, _ := slices.BinarySearch(all, ch.Polymer.Lo)
		to, _ := slices.BinarySearch(all, ch.Polymer.Hi)
		listed := keep(all[from:to], func(i int) bool { return q.x.Sites[i].State != structure.Bridge })
		for _, run := range pickRuns(q.segments(listed, st.letters), which) {
			sites = append(sites, run...)
			names = append(names, q.segmentName(run[0], st.letters)+" "+q.x.Span(run))
		}
	}
	text := cmp.Or(words.Join(names, 6), "there is none")
	if st.noun == "helix" && which.value > 1 && len(names) > 0 {
		counting = "counting α-, 3-10 and π-helices along each chain"
		text += ", " + counting
	}
	ordinal := strings.ToLower(which.text)
	if which.concept != "@nth" {
		ordinal = which.concept
	}
	segment := fmt.Sprintf("the %s %s", ordinal, st.noun)
	return &condition{wording: []string{fmt.Sprintf("in %s (%s)", segment, text)}, sites: [][]int{sites},
		segments: []string{segment}, counting: counting}
}

// pickRuns chooses the nth segment of a chain, -1 being the last, or its longest or shortest ones.
func pickRuns(runs [][]int, which item) [][]int {
	n := int(which.value)
	switch {
	case len(runs) == 0 || n > len(runs):
		return nil
	case which.concept == "longest":
		return ofLength(runs, len(slices.MaxFunc(runs, byLength)))
	case which.concept == "shortest":
		return ofLength(runs, len(slices.MinFunc(runs, byLength)))
	case n < 0:
		return runs[len(runs)-1:]
	}
	return runs[n-1 : n]
}

func byLength(a, b []int) int { return len(a) - len(b) }

func ofLength(runs [][]int, n int) [][]int {
	return keep(runs, func(run []int) bool { return len(run) == n })
}

// isOneOf reports whether a ligand has one of some names: HEM, HEM 1, HEM of chain B, HEM 1 of chain B, FE/FE2.
func isOneOf(r facts.ResidueRef, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		name, chain, onChain := strings.Cut(name, " of chain ")
		codes, number, numbered := strings.Cut(name, " ")
		return slices.Contains(strings.Split(codes, "/"), r.Name) && (!onChain || chain == r.Chain) &&
			(!numbered || number == strings.TrimPrefix(r.Short(), r.Name+" "))
	})
}

// noLigand says that a structure has no ligand of a name. Where the name is that of an element, it names the larger
// molecules that have such atoms: the iron of a heme is no ion.
func (q *query) noLigand(name string) string {
	var sites []int
	for _, l := range q.f.Ligands {
		atoms := q.x.Sites[l.Site].Residue.Atoms
		if slices.ContainsFunc(atoms, func(a structure.Atom) bool { return a.Element == name }) {
			sites = append(sites, l.Site)
		}
	}
	if len(sites) == 0 {
		return fmt.Sprintf("There is no %s in this structure.", name)
	}
	return fmt.Sprintf("There is no ion %s in this structure; %s atoms are in %s.", name, name, q.x.List(sites, 6))
}

// ligandCondition is the ligands that an item names: by their code, or all molecules or ions. They are of no polymer,
// and so an anchor or an end only.
func (q *query) ligandCondition(it item) *condition {
	var sites []int
	molecule := slices.ContainsFunc(q.f.Ligands, func(l facts.Ligand) bool { return l.Kind != structure.Ion })
	for _, l := range q.f.Ligands {
		general := len(it.names) == 0 && (l.Kind == structure.Ion) == (it.concept == "ion" || !molecule)
		if general || isOneOf(l.Ref, it.names) {
			sites = append(sites, l.Site)
		}
	}
	c := &condition{ligands: it.names, sites: [][]int{sites}, label: q.x.List(sites, 6)}
	if len(sites) == 0 {
		c.label, c.problem = it.text, q.noLigand(append(it.names, it.concept)[0])+" Nothing can be near one."
	}
	return c
}
