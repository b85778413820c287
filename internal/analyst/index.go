package analyst

import (
	"math"
	"strings"

	"pleat/internal/structure"
)

// site is one residue, ligand or ion, with what was computed of it alone.
type site struct {
	ref    ResidueRef
	res    *structure.Residue
	chain  int // of the structure
	kind   structure.Kind
	letter byte // parent's one-letter code; 0 outside polymers
	lo, hi int  // its heavy atoms in index.atoms
	state  byte // of DSSP; 0: not assigned
	plddt  float64
	area   float64 // accessible surface, Å²
	bonded bool    // a cysteine in a disulfide
}

// run is one chain's sites.
type run struct{ chain, lo, hi int }

// index lists heavy atoms outside waters, residue by residue.
type index struct {
	s        *structure.Structure
	sites    []site
	polymers []run
	atoms    []*structure.Atom
	owner    []int32 // site of each atom
	points   []structure.Vec
	grid     *structure.Grid
	heavy    int // with waters
	waters   int
	linked   []link // sites that touch; set with the surface
	confOK   bool   // plddt is set
	surfOK   bool   // area is set
}

func newIndex(s *structure.Structure) *index {
	x := &index{s: s}
	for c := range s.Chains {
		ch := &s.Chains[c]
		from := len(x.sites)
		for r := range ch.Residues {
			res := &ch.Residues[r]
			if ch.Kind == structure.Water {
				x.waters++
				for i := range res.Atoms {
					if !hydrogen(&res.Atoms[i]) {
						x.heavy++
					}
				}
				continue
			}
			x.add(c, ch, res)
		}
		if ch.Kind.Polymer() && len(x.sites) > from {
			x.polymers = append(x.polymers, run{c, from, len(x.sites)})
		}
	}
	x.heavy += len(x.atoms)
	x.grid = structure.NewGrid(x.points, surfaceReach)
	return x
}

func (x *index) add(c int, ch *structure.Chain, res *structure.Residue) {
	st := site{
		ref: ResidueRef{Chain: ch.ID, Number: res.Auth, Ins: res.Ins, Name: res.Comp}, res: res, chain: c, kind: ch.Kind,
		lo: len(x.atoms), plddt: math.NaN(),
	}
	if ch.Kind.Polymer() {
		st.letter = structure.Letter(ch.Kind, res.Comp)
	}
	for i := range res.Atoms {
		a := &res.Atoms[i]
		if sum := a.Pos[0] + a.Pos[1] + a.Pos[2]; hydrogen(a) || math.IsNaN(sum) || math.IsInf(sum, 0) {
			continue
		}
		x.atoms = append(x.atoms, a)
		x.owner = append(x.owner, int32(len(x.sites)))
		x.points = append(x.points, a.Pos)
	}
	st.hi = len(x.atoms)
	x.sites = append(x.sites, st)
}

func hydrogen(a *structure.Atom) bool {
	if a.Element != "" {
		return a.Element == "H" || a.Element == "D"
	}
	return strings.HasPrefix(strings.TrimLeft(a.Name, "0123456789"), "H")
}

// adjacent says whether two sites follow each other in one chain.
func (x *index) adjacent(i, j int) bool {
	return x.sites[i].kind.Polymer() && x.sites[i].chain == x.sites[j].chain && (j-i == 1 || i-j == 1)
}

// closest is the pair of heavy atoms of two sites that are nearest to each other; false where one has none.
func (x *index) closest(i, j int) (AtomPair, bool) {
	a, b := &x.sites[i], &x.sites[j]
	best, at := math.Inf(1), [2]int{}
	for p := a.lo; p < a.hi; p++ {
		for q := b.lo; q < b.hi; q++ {
			if d := structure.Distance(x.points[p], x.points[q]); d < best {
				best, at = d, [2]int{p, q}
			}
		}
	}
	if math.IsInf(best, 1) {
		return AtomPair{}, false
	}
	return x.pair(at[0], at[1]), true
}

func (x *index) pair(p, q int) AtomPair {
	return AtomPair{
		A: x.sites[x.owner[p]].ref, AtomA: x.atoms[p].Name, B: x.sites[x.owner[q]].ref, AtomB: x.atoms[q].Name,
		Distance: structure.Distance(x.points[p], x.points[q]),
	}
}

// around lists the sites with a heavy atom within radius of one of site i, ascending, without i.
func (x *index) around(i int, radius float64) []int {
	seen := map[int]bool{i: true}
	var out, buf []int
	for p := x.sites[i].lo; p < x.sites[i].hi; p++ {
		buf = x.grid.Near(buf[:0], x.points[p], radius)
		for _, q := range buf {
			if o := int(x.owner[q]); !seen[o] {
				seen[o] = true
				out = append(out, o)
			}
		}
	}
	return out
}

func (x *index) refs(sites []int) []ResidueRef {
	out := make([]ResidueRef, len(sites))
	for i, s := range sites {
		out[i] = x.sites[s].ref
	}
	return out
}
