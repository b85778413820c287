package analyst

import (
	"cmp"
	"maps"
	"slices"

	"pleat/internal/structure"
)

// Interface is where two polymers touch.
type Interface struct {
	A         string       `json:"a"`
	B         string       `json:"b"`
	ResiduesA []ResidueRef `json:"residues_a"`
	ResiduesB []ResidueRef `json:"residues_b"`
	CountA    int          `json:"count_a"`
	CountB    int          `json:"count_b"`
	Contacts  int          `json:"contacts"` // residue pairs within 4.5 Å
	Buried    float64      `json:"buried_area_A2"`
	Core      int          `json:"buried_contacts"` // contacts between two residues that are less than 20 % accessible
	Closest   AtomPair     `json:"closest"`
	HBonds    []AtomPair   `json:"hydrogen_bond_candidates,omitempty"`
	HBondN    int          `json:"hydrogen_bond_count"`
	Bridges   []AtomPair   `json:"salt_bridges,omitempty"`
	Scores    *Scores      `json:"scores,omitempty"`

	runA, runB int
}

// Scores of an interface of a prediction. Zero where what they need was not given.
type Scores struct {
	IPTM    float64 `json:"iptm"`
	IPSAE   float64 `json:"ipsae"`
	PDockQ  float64 `json:"pdockq"`
	PDockQ2 float64 `json:"pdockq2"`
	MinPAE  float64 `json:"min_pae_A"`
	HasPAE  bool    `json:"has_pae"`
}

type link struct {
	a, b int // sites, a before b
	pair [2]int
	d    float64
}

// links collects pairs of sites within the contact distance, with their closest atoms.
type links map[[2]int32]link

// take looks at the atoms near atom p that come after it.
func (l links) take(x *index, p int, near []int) {
	for _, q := range near {
		a, b := x.owner[p], x.owner[q]
		if q <= p || a == b {
			continue
		}
		d := structure.Distance(x.points[p], x.points[q])
		if d > contactCut {
			continue
		}
		if old, ok := l[[2]int32{a, b}]; !ok || d < old.d {
			l[[2]int32{a, b}] = link{int(a), int(b), [2]int{p, q}, d}
		}
	}
}

func (l links) sorted() []link {
	return slices.SortedFunc(maps.Values(l), func(m, n link) int { return cmp.Or(m.a-n.a, m.b-n.b) })
}

// contacts fills in salt bridges, hydrogen-bond candidates and interfaces.
func (f *Facts) contacts() {
	x := f.index
	byPair := map[[2]int]*Interface{}
	sides := map[[2]int]map[int]bool{}
	runs := make([]int, len(x.sites))
	for i := range runs {
		runs[i] = -1
	}
	for k, r := range x.polymers {
		for i := r.lo; i < r.hi; i++ {
			runs[i] = k
		}
	}
	for _, l := range x.linked {
		ra, rb := runs[l.a], runs[l.b]
		if ra < 0 || rb < 0 {
			continue
		}
		bonds, bridge, bridged := x.polar(l.a, l.b)
		if !x.adjacent(l.a, l.b) {
			f.HBonds += len(bonds)
		}
		if bridged {
			f.BridgeN++
			f.Bridges = append(f.Bridges, bridge)
		}
		if ra == rb {
			continue
		}
		key := [2]int{ra, rb}
		in := byPair[key]
		if in == nil {
			in = &Interface{A: x.sites[l.a].ref.Chain, B: x.sites[l.b].ref.Chain, Closest: x.pair(l.pair[0], l.pair[1]), runA: ra, runB: rb}
			byPair[key], sides[key] = in, map[int]bool{}
		}
		in.take(x, l, bonds, bridge, bridged)
		sides[key][l.a], sides[key][l.b] = true, true
	}
	f.Bridges = head(f.Bridges, maxList)
	for key, in := range byPair {
		in.finish(x, sides[key])
		f.Interfaces = append(f.Interfaces, *in)
	}
	slices.SortFunc(f.Interfaces, func(a, b Interface) int { return cmp.Or(a.runA-b.runA, a.runB-b.runB) })
	f.Interfaces = head(f.Interfaces, maxList)
}

func (in *Interface) take(x *index, l link, bonds []AtomPair, bridge AtomPair, bridged bool) {
	in.Contacts++
	if l.d < in.Closest.Distance {
		in.Closest = x.pair(l.pair[0], l.pair[1])
	}
	in.HBondN += len(bonds)
	in.HBonds = append(in.HBonds, bonds...)
	if bridged {
		in.Bridges = append(in.Bridges, bridge)
	}
	ra, okA := x.sites[l.a].accessible()
	rb, okB := x.sites[l.b].accessible()
	if okA && okB && ra < buriedBelow && rb < buriedBelow {
		in.Core++
	}
}

func (in *Interface) finish(x *index, touched map[int]bool) {
	ra, rb := x.polymers[in.runA], x.polymers[in.runB]
	for _, side := range []struct {
		r    run
		refs *[]ResidueRef
		n    *int
	}{{ra, &in.ResiduesA, &in.CountA}, {rb, &in.ResiduesB, &in.CountB}} {
		for i := side.r.lo; i < side.r.hi; i++ {
			if touched[i] {
				*side.n++
				if len(*side.refs) < maxNear {
					*side.refs = append(*side.refs, x.sites[i].ref)
				}
			}
		}
	}
	slices.SortStableFunc(in.HBonds, func(a, b AtomPair) int { return cmp.Compare(a.Distance, b.Distance) })
	in.HBonds, in.Bridges = head(in.HBonds, maxNear), head(in.Bridges, maxNear)
	in.Buried = round(x.buriedArea(ra, rb), 1)
}

// polar lists the hydrogen-bond candidates between two sites, and the salt bridge where the charged atoms are near enough.
func (x *index) polar(i, j int) (bonds []AtomPair, bridge AtomPair, bridged bool) {
	for p := x.sites[i].lo; p < x.sites[i].hi; p++ {
		for q := x.sites[j].lo; q < x.sites[j].hi; q++ {
			d := structure.Distance(x.points[p], x.points[q])
			if d > bridgeCut {
				continue
			}
			if d <= hbondCut && mayBond(&x.sites[i], x.atoms[p], &x.sites[j], x.atoms[q]) {
				bonds = append(bonds, x.pair(p, q))
			}
			qp, qq := chargeOf(&x.sites[i], x.atoms[p].Name), chargeOf(&x.sites[j], x.atoms[q].Name)
			if qp*qq < 0 && (!bridged || d < bridge.Distance) {
				bridge, bridged = x.pair(p, q), true
			}
		}
	}
	return bonds, bridge, bridged
}

// charged atoms of side chains at neutral pH; histidine is left out, being mostly neutral.
var charged = map[string]int{
	"D/OD1": -1, "D/OD2": -1, "E/OE1": -1, "E/OE2": -1, "K/NZ": 1, "R/NE": 1, "R/NH1": 1, "R/NH2": 1,
}

func chargeOf(s *site, atom string) int {
	if s.kind != structure.Protein {
		return 0
	}
	return charged[string(s.letter)+"/"+atom]
}

// mayBond says whether one of two atoms can give a hydrogen that the other can take.
func mayBond(s *site, a *structure.Atom, t *site, b *structure.Atom) bool {
	giveA, takeA := roles(s, a)
	giveB, takeB := roles(t, b)
	return giveA && takeB || giveB && takeA
}

// roles of an atom. Where the chemistry is not known (bases, ligands) an N or O may be both.
func roles(s *site, a *structure.Atom) (gives, takes bool) {
	el := a.Element
	if el == "" {
		el = a.Name[:min(1, len(a.Name))]
	}
	if el != "N" && el != "O" {
		return false, false
	}
	if s.kind != structure.Protein {
		return true, true
	}
	if el == "N" {
		ring := s.letter == 'H' && a.Name != "N"
		return a.Name != "N" || s.letter != 'P', ring
	}
	return a.Name == "OG" || a.Name == "OG1" || a.Name == "OH", true
}

// sulfurs pairs the sulfur atoms of cysteines.
func (f *Facts) sulfurs() {
	x := f.index
	var at []int
	for i := range x.sites {
		if x.sites[i].kind != structure.Protein || x.sites[i].letter != 'C' {
			continue
		}
		for p := x.sites[i].lo; p < x.sites[i].hi; p++ {
			if x.atoms[p].Name == "SG" {
				at = append(at, p)
			}
		}
	}
	points := make([]structure.Vec, len(at))
	for i, p := range at {
		points[i] = x.points[p]
	}
	for _, c := range structure.Contacts(points, points, sulfurMaybe) {
		if c.A >= c.B || c.Distance < sulfurLow {
			continue
		}
		p := x.pair(at[c.A], at[c.B])
		if c.Distance <= sulfurBond {
			f.Disulfides = append(f.Disulfides, p)
			x.sites[x.owner[at[c.A]]].bonded, x.sites[x.owner[at[c.B]]].bonded = true, true
		} else {
			f.MaybeSS = append(f.MaybeSS, p)
		}
	}
	for i := range x.sites {
		if s := &x.sites[i]; s.kind == structure.Protein && s.letter == 'C' && !s.bonded {
			f.FreeCys = append(f.FreeCys, s.ref)
		}
	}
}

// scoreInterfaces adds the scores that predictions have.
func (f *Facts) scoreInterfaces(pae structure.Matrix) {
	x := f.index
	n := 0
	for _, r := range x.polymers {
		n += r.hi - r.lo
	}
	if !x.confOK || len(f.Interfaces) == 0 || n > 6000 {
		return
	}
	c := structure.Complex{}
	var rows []int
	first, ok := x.tokens(pae.N)
	ok = ok && pae.N > 0 && len(pae.V) == pae.N*pae.N
	for k, r := range x.polymers {
		for i := r.lo; i < r.hi; i++ {
			beta, has := x.sites[i].res.Beta()
			if !has {
				return
			}
			c.Chain, c.Beta, c.PLDDT = append(c.Chain, k), append(c.Beta, beta), append(c.PLDDT, x.sites[i].plddt)
			c.Nucleic = append(c.Nucleic, x.sites[i].kind != structure.Protein)
			if ok {
				rows = append(rows, first[k]+i-r.lo)
			}
		}
	}
	if ok {
		c.PAE = submatrix(pae, rows)
	}
	for _, s := range c.Interfaces() {
		for i := range f.Interfaces {
			if in := &f.Interfaces[i]; in.runA == s.A && in.runB == s.B {
				in.Scores = &Scores{round(s.IPTM, 4), round(s.IPSAE, 4), round(s.PDockQ, 4), round(s.PDockQ2, 4), round(s.MinPAE, 2), ok}
			}
		}
	}
}

func submatrix(m structure.Matrix, rows []int) structure.Matrix {
	if len(rows) == m.N {
		return m
	}
	out := structure.Matrix{N: len(rows), V: make([]float32, 0, len(rows)*len(rows))}
	for _, i := range rows {
		for _, j := range rows {
			out.V = append(out.V, m.V[i*m.N+j])
		}
	}
	return out
}
