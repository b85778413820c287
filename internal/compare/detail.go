package compare

import (
	"cmp"
	"context"
	"math"
	"slices"

	"pleat/api"
	"pleat/internal/facts"
	"pleat/internal/structure"
)

const (
	// maxChanges bounds the list of contacts that are gained or lost of one detail, and allChanges those of all details
	// together, since a comparison is stored with its workflow.
	maxChanges = 500
	allChanges = 2000
	// minSeparation is how far apart in a chain two residues must be for a contact to say something about the fold.
	minSeparation = 4
)

// detail compares structure on, onto which the others are superposed, with the other one of the pair by residue, and
// sets the transform of the other one. Where the structure on is b, the pair is reversed first.
func (p *pair) detail(ctx context.Context, on int, out *api.Comparison) error {
	q := *p
	if p.out.B == on+1 {
		q = p.reversed()
	}
	d := api.ComparisonDetail{A: q.out.A, B: q.out.B, Segments: []api.ComparedSegment{}}
	if len(q.matches) == 0 {
		out.Details = append(out.Details, d)
		return nil
	}
	rot, trans, _ := structure.Superpose(q.pointsB, q.pointsA)
	out.Structures[d.B-1].Transform = &api.Transform{Rotation: rot, Translation: trans}
	points := q.lddtCentres()
	per := make([]float64, len(points.points))
	if _, err := points.score(ctx, per); err != nil {
		return err
	}
	first := q.firstPoints()
	for i := range q.matches {
		m := &q.matches[i]
		a, b := &q.a.chains[m.a], &q.b.chains[m.b]
		s := api.ComparedSegment{ChainA: a.ID, ChainB: b.ID, PLDDTChange: []*float64{}}
		for k, r := range m.pairs {
			s.ResiduesA = append(s.ResiduesA, a.Residues[r[0]].Auth)
			s.ResiduesB = append(s.ResiduesB, b.Residues[r[1]].Auth)
			moved := structure.Apply(rot, trans, m.pointsB[k])
			s.Distance = append(s.Distance, facts.Round(structure.Distance(moved, m.pointsA[k]), 3))
			s.LDDT = append(s.LDDT, facts.Round(per[first[m.a][r[0]]], 4))
		}
		if q.a.plddt != nil && q.b.plddt != nil {
			s.PLDDTChange = q.plddtChanges(m)
			for k := range s.PLDDTChange {
				*s.PLDDTChange[k] = facts.Round(*s.PLDDTChange[k], 2)
			}
		}
		d.Segments = append(d.Segments, s)
	}
	if why := q.untold(); why != "" {
		p.out.Reasons["contacts"] = why
	} else {
		d.Contacts = q.contactChanges(min(maxChanges, allChanges/(len(out.Structures)-1)))
	}
	out.Details = append(out.Details, d)
	return ctx.Err()
}

// reversed returns the pair with a and b exchanged, without its scores.
func (p *pair) reversed() pair {
	q := pair{a: p.b, b: p.a, pointsA: p.pointsB, pointsB: p.pointsA}
	q.out.A, q.out.B = p.out.B, p.out.A
	for _, m := range p.matches {
		r := m
		r.a, r.b, r.pointsA, r.pointsB, r.marksA, r.marksB = m.b, m.a, m.pointsB, m.pointsA, m.marksB, m.marksA
		r.pairs = make([][2]int32, len(m.pairs))
		for i, x := range m.pairs {
			r.pairs[i] = [2]int32{x[1], x[0]}
		}
		q.matches = append(q.matches, r)
	}
	return q
}

// firstPoints returns, by polymer and residue of a, the index of the point of lddtCentres.
func (p *pair) firstPoints() [][]int {
	out := make([][]int, len(p.a.chains))
	n := 0
	for i := range p.a.chains {
		for _, has := range p.a.chains[i].has {
			out[i] = append(out[i], n)
			if has {
				n++
			}
		}
	}
	return out
}

// contactChanges compares the contacts of the residues that are aligned. It lists at most a number of changes.
func (p *pair) contactChanges(most int) *api.ContactChanges {
	toB, toA := map[facts.ResidueAt]facts.ResidueAt{}, map[facts.ResidueAt]facts.ResidueAt{}
	for i := range p.matches {
		m := &p.matches[i]
		for _, r := range m.pairs {
			a := facts.ResidueAt{Chain: p.a.chains[m.a].at, Residue: int(r[0])}
			b := facts.ResidueAt{Chain: p.b.chains[m.b].at, Residue: int(r[1])}
			toB[a], toA[b] = b, a
		}
	}
	type ends [2]facts.ResidueAt
	inB := map[ends]bool{}
	for _, c := range p.b.contacts {
		inB[ends{c.A, c.B}] = separate(c)
	}
	out := &api.ContactChanges{Changes: []api.ContactChange{}}
	for _, c := range p.a.contacts {
		x, okX := toB[c.A]
		y, okY := toB[c.B]
		switch {
		case !okX || !okY || !separate(c) || !separate(facts.Contact{A: x, B: y}):
		case inB[ends{x, y}] || inB[ends{y, x}]:
			out.Kept++
			delete(inB, ends{x, y})
			delete(inB, ends{y, x})
		default:
			out.Lost++
			out.Changes = append(out.Changes, p.change("lost", [2]facts.ResidueAt{c.A, c.B}, [2]facts.ResidueAt{x, y}))
		}
	}
	for _, c := range p.b.contacts {
		x, okX := toA[c.A]
		y, okY := toA[c.B]
		if okX && okY && inB[ends{c.A, c.B}] && separate(facts.Contact{A: x, B: y}) {
			out.Gained++
			out.Changes = append(out.Changes,
				p.change("gained", [2]facts.ResidueAt{x, y}, [2]facts.ResidueAt{c.A, c.B}))
		}
	}
	size := func(c api.ContactChange) float64 { return math.Abs(c.DistanceB - c.DistanceA) }
	slices.SortStableFunc(out.Changes, func(x, y api.ContactChange) int { return cmp.Compare(size(y), size(x)) })
	out.Changes = facts.Head(out.Changes, most)
	return out
}

// separate reports whether two residues are in different chains, or far enough apart in one.
func separate(c facts.Contact) bool {
	return c.A.Chain != c.B.Chain || max(c.A.Residue-c.B.Residue, c.B.Residue-c.A.Residue) >= minSeparation
}

// change returns a contact that only one structure has, by its residues in a and in b.
func (p *pair) change(word string, a, b [2]facts.ResidueAt) api.ContactChange {
	out := api.ContactChange{
		Change:    word,
		DistanceA: facts.Round(gap(p.a.Structure, a), 2),
		DistanceB: facts.Round(gap(p.b.Structure, b), 2),
	}
	for k := range 2 {
		out.A[k], out.B[k] = position(p.a.Structure, a[k]), position(p.b.Structure, b[k])
	}
	return out
}

// position names a residue.
func position(s *structure.Structure, at facts.ResidueAt) api.Position {
	c := &s.Chains[at.Chain]
	r := &c.Residues[at.Residue]
	return api.Position{Chain: c.ID, Residue: r.Auth, Name: r.Comp}
}

// gap returns the distance of the closest heavy atoms of two residues in Å; 0 if one has none.
func gap(s *structure.Structure, at [2]facts.ResidueAt) float64 {
	best := math.Inf(1)
	x := &s.Chains[at[0].Chain].Residues[at[0].Residue]
	y := &s.Chains[at[1].Chain].Residues[at[1].Residue]
	for i := range x.Atoms {
		for j := range y.Atoms {
			if x.Atoms[i].Heavy() && y.Atoms[j].Heavy() {
				best = min(best, structure.Distance(x.Atoms[i].Pos, y.Atoms[j].Pos))
			}
		}
	}
	if math.IsInf(best, 1) {
		return 0
	}
	return best
}
