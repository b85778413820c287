package facts

import (
	"math"
	"slices"
	"sync"

	"pleat/internal/structure"
)

// Site is one residue, ligand or ion, with the facts that belong to it alone.
type Site struct {
	Ref ResidueRef
	// Residue is that of the structure, which must not change.
	Residue *structure.Residue
	Chain   int            // index into Index.Structure.Chains
	Kind    structure.Kind // of the chain
	Letter  byte           // one-letter code of the standard parent residue; 0 outside polymers
	Lo, Hi  int            // its heavy atoms: Index.Atoms[Lo:Hi] and Index.Points[Lo:Hi]
	State   byte           // secondary structure, a letter of DSSP; 0: not assigned
	PLDDT   float64        // from 0 to 100; NaN: not known
	RMSD    float64        // predicted, in Å: lower is better; NaN: not known
	Area    float64        // accessible surface in Å²; meaningful where Whole and Index.HasSurface
	Whole   bool           // its contacts and surface can be told: it and its chain have their atoms, see Need
	Bonded  bool           // a cysteine in a disulfide
	Bridged bool           // in a salt bridge

	undecided bool // a glycine that stands for a residue whose side chain is not decided, see judgeChain
}

// Is reports whether the residue, or the standard residue that it is a modification of, has one of the component
// codes.
func (s *Site) Is(names []string) bool {
	if slices.Contains(names, s.Ref.Name) {
		return true
	}
	std, ok := structure.Component(s.Kind, s.Letter)
	return ok && slices.Contains(names, std)
}

// Polymer is the range of one chain's residues: Index.Sites[Lo:Hi].
type Polymer struct{ Chain, Lo, Hi int }

// Index is the residue-level view of a structure from which the facts are computed: sites in file order, and the
// heavy atoms of everything but water, site by site. It is read-only.
type Index struct {
	Structure *structure.Structure
	// Sites are in file order; those of a polymer are contiguous.
	Sites    []Site
	Polymers []Polymer
	// Atoms, Owner and Points are parallel: heavy atoms, their sites and their positions in Å.
	Atoms         []*structure.Atom
	Owner         []int32 // site of each atom
	Points        []structure.Vec
	HasConfidence bool // Site.PLDDT is set
	HasRMSD       bool // Site.RMSD is set
	// Unrated says in a sentence why no confidence is known, where that is known and HasConfidence is false.
	Unrated    string
	HasSurface bool // Site.Area is set

	// crowded says in a sentence why contacts, surface and pockets were not computed; empty: they were. Neighbours must
	// not be searched for then, because that could take hours.
	crowded string
	// absent is, by chain, how many residues without atoms come before each residue, see present.
	absent [][]int
	// grid finds the atoms within a radius.
	grid *structure.Grid
	// lookup finds sites and chains by what questions call them. It is made when it is first needed.
	lookup func() lookup
	heavy  int // heavy atoms, those of waters included
	waters int
	// linked holds the pairs of sites in contact; it is computed together with the surface.
	linked []link
	// lastLink holds, for each site, where the last link to it is in linked. It is working memory of the surface.
	lastLink []int32
	blockers []int // working memory of accessibleArea
	// examined is the number of pairs of atoms that the digest has looked at, see examine.
	examined int
}

// newIndex collects the sites and heavy atoms of a structure, and sorts the atoms into a grid for neighbours. Waters
// are only counted. Secondary structure, confidence and surface are computed later.
func newIndex(s *structure.Structure) *Index {
	x := &Index{Structure: s, absent: make([][]int, len(s.Chains))}
	for c := range s.Chains {
		ch := &s.Chains[c]
		from := len(x.Sites)
		for r := range ch.Residues {
			res := &ch.Residues[r]
			if ch.Kind != structure.Water {
				x.add(c, ch, res)
				continue
			}
			x.waters++
			for i := range res.Atoms {
				if res.Atoms[i].Heavy() {
					x.heavy++
				}
			}
		}
		if ch.Kind.Polymer() && len(x.Sites) > from {
			x.Polymers = append(x.Polymers, Polymer{c, from, len(x.Sites)})
		}
	}
	x.heavy += len(x.Atoms)
	x.judgeAtoms()
	x.grid = structure.NewGrid(x.Points, surfaceReach)
	x.lookup = sync.OnceValue(x.newLookup)
	return x
}

// add appends the site of one residue and its heavy atoms with finite coordinates.
func (x *Index) add(chain int, ch *structure.Chain, res *structure.Residue) {
	site := Site{
		Ref:     ResidueRef{Chain: ch.ID, Number: res.Auth, Ins: res.Ins, Name: res.Comp},
		Residue: res,
		Chain:   chain,
		Kind:    ch.Kind,
		Lo:      len(x.Atoms),
		PLDDT:   math.NaN(),
		RMSD:    math.NaN(),
	}
	if ch.Kind.Polymer() {
		site.Letter = structure.Letter(ch.Kind, res.Comp)
	}
	for i := range res.Atoms {
		a := &res.Atoms[i]
		if sum := a.Pos[0] + a.Pos[1] + a.Pos[2]; !a.Heavy() || math.IsNaN(sum) || math.IsInf(sum, 0) {
			continue
		}
		x.Atoms = append(x.Atoms, a)
		x.Owner = append(x.Owner, int32(len(x.Sites)))
		x.Points = append(x.Points, a.Pos)
	}
	site.Hi = len(x.Atoms)
	x.Sites = append(x.Sites, site)
}

// Adjacent reports whether two sites follow each other in one chain.
func (x *Index) Adjacent(i, j int) bool {
	return x.Sites[i].Kind.Polymer() && x.Sites[i].Chain == x.Sites[j].Chain && (j-i == 1 || i-j == 1)
}

// Closest returns the pair of heavy atoms of two sites that are nearest to each other, and false where one site has
// none.
func (x *Index) Closest(i, j int) (AtomPair, bool) {
	return x.ClosestAtoms(x.AtomsOf([]int{i}, ""), x.AtomsOf([]int{j}, ""))
}

// Pair describes two atoms, given by their positions in Atoms, and the distance between them.
func (x *Index) Pair(p, q int) AtomPair {
	return AtomPair{
		A:        x.Sites[x.Owner[p]].Ref,
		AtomA:    x.Atoms[p].Name,
		B:        x.Sites[x.Owner[q]].Ref,
		AtomB:    x.Atoms[q].Name,
		Distance: structure.Distance(x.Points[p], x.Points[q]),
	}
}

// Around returns the sites with a heavy atom within radius Å of one of some sites, in no particular order, and for each
// the closest pair of atoms: its own and that of the sites. It takes the atoms and cells of the grid that it looks at
// off left, and returns false once nothing is left.
func (x *Index) Around(sites []int, radius float64, left *int) (map[int][2]int, bool) {
	out := map[int][2]int{}
	cells := int(math.Pow(2*radius/surfaceReach+1, 3))
	var buf []int
	for _, i := range sites {
		for p := x.Sites[i].Lo; p < x.Sites[i].Hi; p++ {
			buf = x.grid.Near(buf[:0], x.Points[p], radius)
			if *left -= cells + len(buf); *left < 0 {
				return nil, false
			}
			for _, q := range buf {
				o := int(x.Owner[q])
				if o == i {
					continue
				}
				old, seen := out[o]
				if !seen || structure.Distance(x.Points[q], x.Points[p]) <
					structure.Distance(x.Points[old[0]], x.Points[old[1]]) {
					out[o] = [2]int{q, p}
				}
			}
		}
	}
	return out, true
}

// Refs returns the names of sites.
func (x *Index) Refs(sites []int) []ResidueRef {
	out := make([]ResidueRef, len(sites))
	for i, s := range sites {
		out[i] = x.Sites[s].Ref
	}
	return out
}

// List names at most n sites in a sentence, each chain once; see RefList.
func (x *Index) List(sites []int, n int) string { return firstRefs(x.Refs(Head(sites, n)), len(sites)) }
