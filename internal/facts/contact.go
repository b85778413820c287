package facts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"pleat/internal/structure"
)

// Interface describes the contact of two polymers: residues with heavy atoms within 4.5 Å of each other.
type Interface struct {
	A string `json:"a"`
	B string `json:"b"`
	// ResiduesA and ResiduesB are the residues in contact; CountA and CountB are complete where the lists are cut.
	ResiduesA []ResidueRef `json:"residues_a"`
	ResiduesB []ResidueRef `json:"residues_b"`
	CountA    int          `json:"count_a"`
	CountB    int          `json:"count_b"`
	Contacts  int          `json:"contacts"` // residue pairs within 4.5 Å
	// Buried is the accessible surface of both chains alone minus that of the pair.
	Buried  float64  `json:"buried_area_A2"`
	Core    int      `json:"buried_contacts"` // contacts between two residues that are less than 20 % accessible
	Closest AtomPair `json:"closest"`
	// Hbonds are assigned by distance alone, because most structures have no hydrogens.
	HBonds  []AtomPair `json:"hydrogen_bond_candidates,omitempty"`
	HBondN  int        `json:"hydrogen_bond_count"`
	Bridges []AtomPair `json:"salt_bridges,omitempty"`
	Scores  *Scores    `json:"scores,omitempty"`

	// polymerA and polymerB are indices into Index.Polymers.
	polymerA, polymerB int
}

// Scores are the scores of an interface of a prediction. A score is zero where its input is missing; HasPAE reports
// whether there was a predicted aligned error.
type Scores struct {
	IPTM    float64 `json:"iptm"`
	IPSAE   float64 `json:"ipsae"`
	PDockQ  float64 `json:"pdockq"`
	PDockQ2 float64 `json:"pdockq2"`
	MinPAE  float64 `json:"min_pae_A"`
	HasPAE  bool    `json:"has_pae"`
}

// link is a pair of sites in contact, with the closest pair of their atoms and its distance d in Å. There can be
// millions, so it is small.
type link struct {
	a, b int32 // sites, a before b
	// pair holds the indices of the closest atoms, in the order of the sites.
	pair [2]int32
	d    float64
}

// link records, for heavy atom p and its neighbours, the closest pair of atoms of its site and each later one within
// ContactDistance. The atoms of a site must follow each other; from is where the links of this site begin.
func (x *Index) link(p int, near []int, from int) {
	for _, q := range near {
		a, b := x.Owner[p], x.Owner[q]
		if q <= p || a == b {
			continue
		}
		d := structure.Distance(x.Points[p], x.Points[q])
		if d > ContactDistance {
			continue
		}
		found := link{a, b, [2]int32{int32(p), int32(q)}, d}
		at := x.lastLink[b]
		if int(at) < from || int(at) >= len(x.linked) || x.linked[at].b != b {
			x.lastLink[b] = int32(len(x.linked))
			x.linked = append(x.linked, found)
		} else if d < x.linked[at].d {
			x.linked[at] = found
		}
	}
}

// sortLinks puts the links from an index on, which are those of one site, in the order of their second sites.
func (x *Index) sortLinks(from int) {
	slices.SortFunc(x.linked[from:], func(m, n link) int { return int(m.b - n.b) })
}

// contacts fills in salt bridges, hydrogen-bond candidates and interfaces.
func (f *Facts) contacts(ctx context.Context) error {
	x := f.index
	lacking := x.withoutAtoms()
	hbonds, bridges := 0, 0
	byPair := map[[2]int]*Interface{}
	sides := map[[2]int]map[int]bool{}
	lastA := 0 // the first polymer of the newest interface
	runs := x.polymerOf()
	for _, l := range x.linked {
		ra, rb := runs[l.a], runs[l.b]
		if ra < 0 || rb < 0 {
			continue
		}
		a, b := int(l.a), int(l.b)
		if err := x.examine(ctx, x.pairsOf(a, b)); err != nil {
			return err
		}
		bonds, bridge, bridged := x.polar(a, b)
		if !x.Adjacent(a, b) {
			hbonds += len(bonds)
		}
		if bridged {
			x.Sites[a].Bridged, x.Sites[b].Bridged = true, true
			bridges++
			f.Bridges = Head(append(f.Bridges, bridge), maxList)
		}
		if ra == rb || lacking[ra] || lacking[rb] {
			continue
		}
		key := [2]int{ra, rb}
		in := byPair[key]
		if in == nil && len(byPair) >= maxList && ra > lastA {
			continue // it would be beyond the list, since links are in order of their sites
		}
		if in == nil {
			lastA = ra
			in = &Interface{
				A:        x.Sites[l.a].Ref.Chain,
				B:        x.Sites[l.b].Ref.Chain,
				Closest:  x.Pair(int(l.pair[0]), int(l.pair[1])),
				polymerA: ra,
				polymerB: rb,
			}
			byPair[key], sides[key] = in, map[int]bool{}
		}
		in.add(x, l, bonds)
		if bridged {
			in.Bridges = Head(append(in.Bridges, bridge), maxNear)
		}
		sides[key][a], sides[key][b] = true, true
	}
	if len(lacking) == 0 {
		f.HBonds = &hbonds
	}
	if x.Lacks(ChargedAtoms, x.Residues()).Refusal() == "" {
		f.BridgeN = &bridges
	}
	return f.listInterfaces(ctx, byPair, sides)
}

// listInterfaces adds the first interfaces, which are those of two polymers, with the sites of each.
func (f *Facts) listInterfaces(
	ctx context.Context, byPair map[[2]int]*Interface, sides map[[2]int]map[int]bool,
) error {
	order := slices.SortedFunc(maps.Keys(byPair), func(a, b [2]int) int { return cmp.Or(a[0]-b[0], a[1]-b[1]) })
	for _, key := range Head(order, maxList) {
		in := byPair[key]
		if err := in.finish(ctx, f.index, sides[key]); err != nil {
			return err
		}
		f.Interfaces = append(f.Interfaces, *in)
	}
	return nil
}

// polymerOf returns, for each site, the index of its polymer; -1 outside polymers.
func (x *Index) polymerOf() []int {
	out := make([]int, len(x.Sites))
	for i := range out {
		out[i] = -1
	}
	for k, r := range x.Polymers {
		for i := r.Lo; i < r.Hi; i++ {
			out[i] = k
		}
	}
	return out
}

// add counts one contact of the interface, with its hydrogen bonds.
func (in *Interface) add(x *Index, l link, bonds []AtomPair) {
	in.Contacts++
	if l.d < in.Closest.Distance {
		in.Closest = x.Pair(int(l.pair[0]), int(l.pair[1]))
	}
	in.HBondN += len(bonds)
	if in.HBonds = append(in.HBonds, bonds...); len(in.HBonds) > manyPairs {
		in.HBonds = nearest(in.HBonds)
	}
	ra, okA := x.Sites[l.a].Accessible()
	rb, okB := x.Sites[l.b].Accessible()
	if okA && okB && ra < BuriedBelow && rb < BuriedBelow {
		in.Core++
	}
}

// finish sorts the lists of an interface and computes the area that it buries.
func (in *Interface) finish(ctx context.Context, x *Index, touched map[int]bool) error {
	ra, rb := x.Polymers[in.polymerA], x.Polymers[in.polymerB]
	for _, side := range []struct {
		r    Polymer
		refs *[]ResidueRef
		n    *int
	}{{ra, &in.ResiduesA, &in.CountA}, {rb, &in.ResiduesB, &in.CountB}} {
		for i := side.r.Lo; i < side.r.Hi; i++ {
			if touched[i] {
				*side.n++
				if len(*side.refs) < maxNear {
					*side.refs = append(*side.refs, x.Sites[i].Ref)
				}
			}
		}
	}
	in.HBonds = nearest(in.HBonds)
	buried, err := x.buriedArea(ctx, ra, rb)
	in.Buried = Round(buried, 1)
	return err
}

// manyPairs is the length at which a list of pairs is cut to the nearest ones while it grows.
const manyPairs = 2 * maxNear

// nearest returns the maxNear closest pairs, the closest first, and of equal ones the first of the list.
func nearest(list []AtomPair) []AtomPair {
	slices.SortStableFunc(list, func(a, b AtomPair) int { return cmp.Compare(a.Distance, b.Distance) })
	return slices.Clone(Head(list, maxNear))
}

// pairsOf returns the number of pairs of atoms of two sites.
func (x *Index) pairsOf(i, j int) int {
	return (x.Sites[i].Hi - x.Sites[i].Lo) * (x.Sites[j].Hi - x.Sites[j].Lo)
}

// polar returns the hydrogen-bond candidates between two sites (a donor and an acceptor within 3.5 Å; angles are
// not considered) and the salt bridge between them, if their charged atoms are within 4.0 Å.
func (x *Index) polar(i, j int) (bonds []AtomPair, bridge AtomPair, bridged bool) {
	for p := x.Sites[i].Lo; p < x.Sites[i].Hi; p++ {
		for q := x.Sites[j].Lo; q < x.Sites[j].Hi; q++ {
			d := structure.Distance(x.Points[p], x.Points[q])
			if d > bridgeCut {
				continue
			}
			if d <= hbondCut && x.mayBond(p, q) {
				bonds = append(bonds, x.Pair(p, q))
			}
			qp, qq := chargeOf(&x.Sites[i], x.Atoms[p].Name), chargeOf(&x.Sites[j], x.Atoms[q].Name)
			if qp*qq < 0 && (!bridged || d < bridge.Distance) {
				bridge, bridged = x.Pair(p, q), true
			}
		}
	}
	return bonds, bridge, bridged
}

// charged lists the charged atoms of side chains at neutral pH. Histidine is omitted because it is mostly neutral.
var charged = map[string]int{
	"D/OD1": -1, "D/OD2": -1, "E/OE1": -1, "E/OE2": -1, "K/NZ": 1, "R/NE": 1, "R/NH1": 1, "R/NH2": 1,
}

// chargeOf returns the sign of the charge of a side-chain atom; 0 where it has none. A modified residue has its
// parent's only where it counts as its parent.
func chargeOf(s *Site, atom string) int {
	letter := s.parent()
	if nearGroups[s.Ref.Name] {
		letter = s.Letter
	}
	return charged[string(letter)+"/"+atom]
}

// chargedAtoms returns the names of the charged atoms that the side chain of a residue has when it is complete.
func chargedAtoms(s *Site) (names []string) {
	for _, name := range [...]string{"OD1", "OD2", "OE1", "OE2", "NZ", "NE", "NH1", "NH2"} {
		if chargeOf(s, name) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// sulfurs finds the disulfides, the pairs of sulfurs that are close but not bonded, and the free cysteines.
func (f *Facts) sulfurs(ctx context.Context) error {
	x := f.index
	var at []int
	for i := range x.Sites {
		if x.Sites[i].parent() != 'C' {
			continue
		}
		for p := x.Sites[i].Lo; p < x.Sites[i].Hi; p++ {
			if x.Atoms[p].Name == "SG" {
				at = append(at, p)
			}
		}
	}
	points := make([]structure.Vec, len(at))
	for i, p := range at {
		points[i] = x.Points[p]
	}
	for c := range structure.Contacts(points, points, sulfurMaybe) {
		if c.A >= c.B || c.Distance < sulfurLow {
			continue
		}
		if len(f.Disulfides)+len(f.MaybeSS) > len(at) { // a sulfur of a molecule has one partner
			return errCrowded
		}
		if err := x.examine(ctx, 1); err != nil {
			return err
		}
		p := x.Pair(at[c.A], at[c.B])
		if c.Distance <= sulfurBond {
			f.Disulfides = append(f.Disulfides, p)
			x.Sites[x.Owner[at[c.A]]].Bonded, x.Sites[x.Owner[at[c.B]]].Bonded = true, true
		} else {
			f.MaybeSS = append(f.MaybeSS, p)
		}
	}
	for i := range x.Sites {
		if s := &x.Sites[i]; s.parent() == 'C' && !s.Bonded && x.hasNamed(s, "SG") {
			f.FreeCys = append(f.FreeCys, s.Ref)
		}
	}
	return nil
}

// scoreInterfaces adds the scores of a prediction to its interfaces. Complexes of more than 6,000 residues get
// none.
func (f *Facts) scoreInterfaces(pae structure.Matrix) {
	x := f.index
	n := 0
	for _, r := range x.Polymers {
		n += r.Hi - r.Lo
	}
	if !x.HasConfidence || len(f.Interfaces) == 0 || n > 6000 {
		return
	}
	c := structure.Complex{}
	var rows []int
	first, ok := x.tokens(pae.N)
	ok = ok && pae.N > 0 && len(pae.V) == pae.N*pae.N
	for k, r := range x.Polymers {
		for i := r.Lo; i < r.Hi; i++ {
			beta, has := x.Sites[i].Residue.Beta()
			if !has {
				return
			}
			c.Chain, c.Beta, c.PLDDT = append(c.Chain, k), append(c.Beta, beta), append(c.PLDDT, x.Sites[i].PLDDT)
			c.Nucleic = append(c.Nucleic, x.Sites[i].Kind != structure.Protein)
			if ok {
				rows = append(rows, first[k]+i-r.Lo)
			}
		}
	}
	if ok {
		c.PAE = pae.Select(rows)
	}
	for i := range f.Interfaces { // not of every two chains: a file can have millions of such pairs
		in := &f.Interfaces[i]
		s := c.Interface(in.polymerA, in.polymerB)
		in.Scores = &Scores{Round(s.IPTM, 4), Round(s.IPSAE, 4), Round(s.PDockQ, 4), Round(s.PDockQ2, 4),
			Round(s.MinPAE, 2), ok}
	}
}

// String returns the scores in words. It omits those that need the predicted aligned error where it is missing.
func (s *Scores) String() string {
	out := fmt.Sprintf("pDockQ %.3f", s.PDockQ)
	if s.HasPAE {
		out += fmt.Sprintf(", ipTM of the pair %.3f, ipSAE %.3f, pDockQ2 %.3f, lowest error between them %.1f Å",
			s.IPTM, s.IPSAE, s.PDockQ2, s.MinPAE)
	}
	return out
}

// HydrogenBonds returns the hydrogen-bond candidates between polymer residues that are not adjacent in a chain, of
// chains that have their atoms.
func (x *Index) HydrogenBonds() (out []AtomPair) {
	lacking, polymer := x.withoutAtoms(), x.polymerOf()
	for _, l := range x.linked {
		a, b := int(l.a), int(l.b)
		if x.Adjacent(a, b) || !x.Sites[a].Kind.Polymer() || !x.Sites[b].Kind.Polymer() ||
			lacking[polymer[a]] || lacking[polymer[b]] {
			continue
		}
		bonds, _, _ := x.polar(a, b)
		out = append(out, bonds...)
	}
	return out
}
