package compare

import (
	"context"
	"math"

	"pleat/internal/structure"
)

// lddtRadius is the inclusion radius of lDDT in Å.
const lddtRadius = 15.0

// lddtPoint is an atom of the reference, and its counterpart.
type lddtPoint struct {
	residue int // counted over all polymers of the reference
	model   structure.Vec
	has     bool // there is a counterpart
	// swap is the index of the atom whose name the counterpart could have as well, see sameByNature; -1: none.
	swap int
}

// lddtPoints are atoms of the reference; points holds their positions.
type lddtPoints struct {
	points []structure.Vec
	info   []lddtPoint
}

// lddt computes the lDDT of both kinds, with a as the reference. Distances to residues of a that have no counterpart in
// b count as not preserved, as do those to atoms that b lacks; in a residue that is another one in b, only the atoms
// that both have count.
//
// Source: Mariani et al., Bioinformatics 29, 2722 (2013), without its stereochemical checks.
func (p *pair) lddt(ctx context.Context) error {
	centres := p.lddtCentres()
	score, err := centres.score(ctx, nil)
	if err != nil {
		return err
	}
	if p.out.LDDTCA = score; score == nil {
		p.out.Reasons["lddtCA"] = "no two residues of the reference are within 15 Å"
	}
	if why := p.untold(); why != "" {
		p.out.Reasons["lddtAllAtom"] = why
		return nil
	}
	atoms := p.lddtAtoms()
	if err := atoms.swapNames(ctx); err != nil {
		return err
	}
	if p.out.LDDTAllAtom, err = atoms.score(ctx, nil); err != nil {
		return err
	}
	if p.out.LDDTAllAtom == nil {
		p.out.Reasons["lddtAllAtom"] = "no two residues of the reference are within 15 Å"
	}
	return nil
}

// eachResidue calls f for each residue of a, with its polymer and position there, the residue of b that corresponds,
// nil if none does, and its number over all polymers.
func (p *pair) eachResidue(f func(c *chain, j int, other *structure.Residue, residue int)) {
	other := p.counterparts()
	residue := 0
	for i := range p.a.chains {
		for j := range p.a.chains[i].Residues {
			f(&p.a.chains[i], j, other[i][j], residue)
			residue++
		}
	}
}

// counterparts returns, by polymer and residue of a, the residue of b that corresponds; nil: none does.
func (p *pair) counterparts() [][]*structure.Residue {
	out := make([][]*structure.Residue, len(p.a.chains))
	for i := range out {
		out[i] = make([]*structure.Residue, len(p.a.chains[i].Residues))
	}
	for i := range p.matches {
		m := &p.matches[i]
		for _, r := range m.pairs {
			out[m.a][r[0]] = &p.b.chains[m.b].Residues[r[1]]
		}
	}
	return out
}

// lddtCentres returns one point for each residue of the reference that has a centre.
func (p *pair) lddtCentres() *lddtPoints {
	out := &lddtPoints{}
	p.eachResidue(func(c *chain, j int, other *structure.Residue, residue int) {
		if !c.has[j] {
			return
		}
		point := lddtPoint{residue: residue, swap: -1}
		if other != nil {
			point.model, point.has = other.Centre()
		}
		out.points, out.info = append(out.points, c.centres[j]), append(out.info, point)
	})
	return out
}

// lddtAtoms returns one point for each heavy atom of the reference's polymers.
func (p *pair) lddtAtoms() *lddtPoints {
	out := &lddtPoints{}
	p.eachResidue(func(c *chain, j int, other *structure.Residue, residue int) {
		out.add(&c.Residues[j], other, residue)
	})
	return out
}

// add adds the heavy atoms of a residue with its counterpart, which may be nil.
func (l *lddtPoints) add(r, other *structure.Residue, residue int) {
	from := len(l.points)
	names := map[string]int{}
	for k := range r.Atoms {
		atom := &r.Atoms[k]
		if !atom.Heavy() {
			continue
		}
		point := lddtPoint{residue: residue, swap: -1}
		if other != nil {
			if b, ok := other.Atom(atom.Name); ok {
				point.model, point.has = b.Pos, true
			} else if r.Comp != other.Comp {
				continue
			}
		}
		names[atom.Name] = len(l.points)
		l.points, l.info = append(l.points, atom.Pos), append(l.info, point)
	}
	if other == nil || r.Comp != other.Comp || len(l.points) == from {
		return
	}
	for _, two := range sameByNature[r.Comp] {
		x, okX := names[two[0]]
		y, okY := names[two[1]]
		if okX && okY && l.info[x].has && l.info[y].has {
			l.info[x].swap, l.info[y].swap = y, x
		}
	}
}

// sameByNature are the atoms of amino acids that are the same but for their names: lDDT takes the naming that agrees
// better with the reference.
var sameByNature = map[string][][2]string{
	"ARG": {{"NH1", "NH2"}},
	"ASP": {{"OD1", "OD2"}},
	"GLU": {{"OE1", "OE2"}},
	"LEU": {{"CD1", "CD2"}},
	"PHE": {{"CD1", "CD2"}, {"CE1", "CE2"}},
	"TYR": {{"CD1", "CD2"}, {"CE1", "CE2"}},
	"VAL": {{"CG1", "CG2"}},
}

// swapNames exchanges the counterparts of atoms that are the same by nature, in the residues where this preserves more
// of their distances to atoms with one name only.
func (l *lddtPoints) swapNames(ctx context.Context) error {
	grid := structure.NewGrid(l.points, lddtRadius/2)
	var near []int
	for from := 0; from < len(l.info); {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := from
		for to < len(l.info) && l.info[to].residue == l.info[from].residue {
			to++
		}
		asIs, swapped := 0, 0
		for i := from; i < to; i++ {
			if l.info[i].swap < 0 {
				continue
			}
			near = grid.Near(near[:0], l.points[i], lddtRadius)
			for _, j := range near {
				if q := &l.info[j]; q.residue != l.info[i].residue && q.has && q.swap < 0 {
					d := structure.Distance(l.points[i], l.points[j])
					asIs += preserved(d, structure.Distance(l.info[i].model, q.model))
					swapped += preserved(d, structure.Distance(l.info[l.info[i].swap].model, q.model))
				}
			}
		}
		if swapped > asIs {
			for i := from; i < to; i++ {
				if k := l.info[i].swap; k > i {
					l.info[i].model, l.info[k].model = l.info[k].model, l.info[i].model
				}
			}
		}
		from = to
	}
	return nil
}

// preserved returns by how many of the four thresholds, 0.5, 1, 2 and 4 Å, two distances agree.
func preserved(a, b float64) int {
	switch d := math.Abs(a - b); {
	case d < 0.5:
		return 4
	case d < 1:
		return 3
	case d < 2:
		return 2
	case d < 4:
		return 1
	}
	return 0
}

// score returns the lDDT, nil if the reference has no distances. per, if not nil, has one element for each point and
// gets the lDDT of that point's distances; 1 if it has none.
func (l *lddtPoints) score(ctx context.Context, per []float64) (*float64, error) {
	total, hits, looked := 0, 0, 0
	count := make([]int, len(per))
	structure.NewGrid(l.points, lddtRadius/2).Pairs(lddtRadius, func(i, j int, d2 float64) bool {
		if looked++; looked%65536 == 0 && ctx.Err() != nil {
			return false
		}
		a, b := &l.info[i], &l.info[j]
		if a.residue == b.residue {
			return true
		}
		total++
		n := 0
		if a.has && b.has {
			n = preserved(math.Sqrt(d2), structure.Distance(a.model, b.model))
		}
		hits += n
		if per != nil {
			per[i] += float64(n)
			per[j] += float64(n)
			count[i]++
			count[j]++
		}
		return true
	})
	for i := range per {
		if count[i] == 0 {
			per[i] = 1
		} else {
			per[i] /= 4 * float64(count[i])
		}
	}
	if total == 0 {
		return nil, ctx.Err()
	}
	return new(float64(hits) / float64(4*total)), ctx.Err()
}
