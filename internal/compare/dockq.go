package compare

import (
	"context"
	"math"

	"pleat/api"
	"pleat/internal/structure"
)

// Distances of DockQ in Å: residues touch if two heavy atoms are closer than dockqContact, and belong to the interface
// if one is closer than dockqInterface to the other chain.
const (
	dockqContact   = 5.0
	dockqInterface = 10.0
)

// backbone are the atoms whose RMSD DockQ takes. The first four are those of proteins.
var backbone = [...]string{
	"CA", "C", "N", "O", "P", "OP1", "OP2", "O2'", "O3'", "O4'", "O5'", "C1'", "C2'", "C3'", "C4'", "C5'",
}

// dockq computes DockQ of the interfaces of the reference. Only residues that are the same in both structures count as
// counterparts.
//
// Source: Mirabello and Wallner, Bioinformatics 40, btae586 (2024), the program DockQ 2.
func (p *pair) dockq(ctx context.Context) error {
	if !p.isReference {
		p.out.Reasons["dockq"] = "a is not the reference"
		return nil
	}
	if len(p.a.chains) < 2 {
		p.out.Reasons["dockq"] = "the reference has one polymer chain only"
		return nil
	}
	if why := p.untold(); why != "" {
		p.out.Reasons["dockq"] = why
		return nil
	}
	byChain := make([]*match, len(p.a.chains))
	for i := range p.matches {
		byChain[p.matches[i].a] = &p.matches[i]
	}
	sum, n := 0.0, 0
	for i := range p.a.chains {
		for j := i + 1; j < len(p.a.chains); j++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			native := closest(&p.a.chains[i], &p.a.chains[j])
			if native.contacts() == 0 {
				continue
			}
			score := p.interfaceScore(native, byChain[i], byChain[j])
			score.Chains = [2]string{p.a.chains[i].ID, p.a.chains[j].ID}
			if p.out.Interfaces = append(p.out.Interfaces, score); score.DockQ != nil {
				sum += *score.DockQ
				n++
			}
		}
	}
	switch {
	case n > 0:
		p.out.DockQ = new(sum / float64(n))
	case len(p.out.Interfaces) > 0:
		p.out.Reasons["dockq"] = "no interface of the reference has counterparts of both chains"
	default:
		p.out.Reasons["dockq"] = "no two polymer chains of the reference touch"
	}
	return nil
}

// distances holds the smallest distance of the heavy atoms of two residues, one of each of two chains, in Å, of those
// within dockqInterface.
type distances map[[2]int32]float64

// closest returns the distances of the residues of two chains.
func closest(a, b *chain) distances {
	out := distances{}
	pointsA, ownerA := heavyAtoms(a)
	pointsB, ownerB := heavyAtoms(b)
	for c := range structure.Contacts(pointsA, pointsB, dockqInterface) {
		key := [2]int32{ownerA[c.A], ownerB[c.B]}
		if d, ok := out[key]; c.Distance < dockqInterface && (!ok || c.Distance < d) {
			out[key] = c.Distance
		}
	}
	return out
}

// heavyAtoms returns the positions of the heavy atoms of a chain, and their residues.
func heavyAtoms(c *chain) (points []structure.Vec, owner []int32) {
	for i := range c.Residues {
		for k := range c.Residues[i].Atoms {
			if a := &c.Residues[i].Atoms[k]; a.Heavy() {
				points, owner = append(points, a.Pos), append(owner, int32(i))
			}
		}
	}
	return points, owner
}

// contacts counts the pairs of residues that touch.
func (d distances) contacts() int {
	n := 0
	for _, v := range d {
		if v < dockqContact {
			n++
		}
	}
	return n
}

// interfaceScore returns DockQ of an interface of the reference, whose chains have the matches first and second; nil:
// one has none.
func (p *pair) interfaceScore(native distances, first, second *match) api.InterfaceScore {
	out := api.InterfaceScore{Model: []string{}}
	if first == nil || second == nil {
		out.Reason = "not both chains have a counterpart"
		return out
	}
	a := [2]*chain{&p.a.chains[first.a], &p.a.chains[second.a]}
	b := [2]*chain{&p.b.chains[first.b], &p.b.chains[second.b]}
	out.Model = []string{b[0].ID, b[1].ID}
	same := [2]map[int32]int32{identical(first, a[0], b[0]), identical(second, a[1], b[1])}
	fnat, fnon, members := sharedContacts(native, closest(b[0], b[1]), same)
	var sidesA, sidesB, wholeA, wholeB [2][]structure.Vec
	for k := range 2 {
		sidesA[k], sidesB[k] = backbones(a[k], b[k], same[k], members[k])
		wholeA[k], wholeB[k] = backbones(a[k], b[k], same[k], nil)
	}
	if len(sidesA[0])+len(sidesA[1]) < minAligned || len(wholeA[0]) < minAligned || len(wholeA[1]) < minAligned {
		out.Reason = "the chains have too few residues in common at the interface"
		return out
	}
	irmsd := structure.RMSD(append(sidesB[0], sidesB[1]...), append(sidesA[0], sidesA[1]...))
	receptor, ligand := 1, 0 // of equal chains, as DockQ has them
	if len(a[0].Residues) > len(a[1].Residues) {
		receptor, ligand = 0, 1
	}
	rot, trans, _ := structure.Superpose(wholeB[receptor], wholeA[receptor])
	sum := 0.0
	for i, v := range wholeB[ligand] {
		d := structure.Distance(structure.Apply(rot, trans, v), wholeA[ligand][i])
		sum += d * d
	}
	lrmsd := math.Sqrt(sum / float64(len(wholeB[ligand])))
	score := (fnat + 1/(1+(irmsd/1.5)*(irmsd/1.5)) + 1/(1+(lrmsd/8.5)*(lrmsd/8.5))) / 3
	out.DockQ, out.FNat, out.FNon, out.IRMSD, out.LRMSD = &score, &fnat, &fnon, &irmsd, &lrmsd
	return out
}

// sharedContacts compares the contacts of an interface of the reference with those of the model, whose residues same
// maps. It returns the part of the reference's contacts that the model has, the part of the model's contacts that the
// reference does not have, and the residues of the interface, by chain.
func sharedContacts(native, model distances, same [2]map[int32]int32) (fnat, fnon float64, members [2]map[int32]bool) {
	back := [2]map[int32]int32{inverse(same[0]), inverse(same[1])}
	shared, extra, touching := 0, 0, 0
	members = [2]map[int32]bool{{}, {}}
	for key, d := range native {
		r0, ok0 := same[0][key[0]]
		r1, ok1 := same[1][key[1]]
		if !ok0 || !ok1 {
			continue
		}
		members[0][key[0]], members[1][key[1]] = true, true
		if v, near := model[[2]int32{r0, r1}]; near && v < dockqContact && d < dockqContact {
			shared++
		}
	}
	for key, d := range model {
		r0, ok0 := back[0][key[0]]
		r1, ok1 := back[1][key[1]]
		if !ok0 || !ok1 || d >= dockqContact {
			continue
		}
		touching++
		if v, near := native[[2]int32{r0, r1}]; !near || v >= dockqContact {
			extra++
		}
	}
	if touching > 0 {
		fnon = float64(extra) / float64(touching)
	}
	return float64(shared) / float64(native.contacts()), fnon, members
}

// identical returns, by residue of a, the aligned residue of b that has the same letter.
func identical(m *match, a, b *chain) map[int32]int32 {
	out := map[int32]int32{}
	for _, p := range m.pairs {
		if a.sequence[p[0]] == b.sequence[p[1]] && a.sequence[p[0]] != structure.Unknown {
			out[p[0]] = p[1]
		}
	}
	return out
}

// inverse returns a map from values to keys.
func inverse(m map[int32]int32) map[int32]int32 {
	out := make(map[int32]int32, len(m))
	for k, v := range m {
		out[v] = k
	}
	return out
}

// backbones returns the backbone atoms that the same residues of two chains have in common, of all residues or of those
// in members, in the order of the residues.
func backbones(a, b *chain, same map[int32]int32, members map[int32]bool) (pointsA, pointsB []structure.Vec) {
	for i := range a.Residues {
		j, ok := same[int32(i)]
		if !ok || members != nil && !members[int32(i)] {
			continue
		}
		for _, name := range backbone {
			x, okA := a.Residues[i].Atom(name)
			y, okB := b.Residues[j].Atom(name)
			if okA && okB {
				pointsA, pointsB = append(pointsA, x.Pos), append(pointsB, y.Pos)
			}
		}
	}
	return pointsA, pointsB
}
