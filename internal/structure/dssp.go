package structure

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Backbone is the main chain of one residue, as DSSP needs it. Positions are in Å.
type Backbone struct {
	N, CA, C, O Vec
	Proline     bool // no amide hydrogen to give
	Start       bool // first residue of a chain, whatever the distance to the one before
}

// The states of DSSP: seven as Kabsch and Sander name them, and Coil for all other residues.
const (
	AlphaHelix = 'H'
	Bridge     = 'B' // a single pair of a ladder
	Strand     = 'E'
	Helix310   = 'G'
	PiHelix    = 'I'
	Turn       = 'T'
	Bend       = 'S'
	Coil       = '-'
)

// newDSSP assigns one of the eight states to each residue, from the energies of the hydrogen bonds between main chains,
// and keeps the bonds and ladders that led to them. A C–N distance over 2.5 Å breaks the chain. Amide hydrogens are
// placed from the preceding residue. Bonds between chains count. The only error is that of ctx.
//
// Source: Kabsch and Sander, Biopolymers 22, 2577 (1983), with the later preference of the DSSP program for π over
// α helices; its state P (polyproline) is left out.
func newDSSP(ctx context.Context, bb []Backbone) (*dssp, error) {
	d := &dssp{
		bb:     bb,
		n:      len(bb),
		state:  make([]byte, len(bb)),
		from:   make([]int, len(bb)),
		accept: make([][2]bond, len(bb)),
		donate: make([][2]bond, len(bb)),
	}
	for i := range bb {
		d.state[i] = Coil
		d.from[i] = i
		if i > 0 && !bb[i].Start && Distance(bb[i-1].C, bb[i].N) <= 2.5 {
			d.from[i] = d.from[i-1]
		}
		for k := range 2 {
			d.accept[i][k].to, d.donate[i][k].to = -1, -1
		}
	}
	if err := d.bonds(ctx); err != nil {
		return nil, err
	}
	d.sheets()
	d.helices()
	return d, nil
}

// ThreeState reduces a state of DSSP to H (H, G, I), E (E, B) or '-' (all others).
func ThreeState(state byte) byte {
	switch state {
	case AlphaHelix, Helix310, PiHelix:
		return 'H'
	case Strand, Bridge:
		return 'E'
	}
	return Coil
}

// SecondaryStructure runs DSSP over all protein chains together. It returns the state of each residue of each
// chain, or 0 where the residue is not of a protein or lacks a main-chain atom. The only error is that of ctx, once it
// ends.
func (s *Structure) SecondaryStructure(ctx context.Context) ([][]byte, error) {
	out := make([][]byte, len(s.Chains))
	for i := range s.Chains {
		out[i] = make([]byte, len(s.Chains[i].Residues))
	}
	d, places, err := s.dssp(ctx)
	if err != nil {
		return nil, err
	}
	for k, state := range d.state {
		out[places[k].chain][places[k].residue] = state
	}
	return out, nil
}

// place locates a residue by the indices of its chain and of the residue within it.
type place struct{ chain, residue int }

// dssp assigns states to the residues of all proteins that have a full main chain, and returns where each of them
// is. The only error is that of ctx.
func (s *Structure) dssp(ctx context.Context) (*dssp, []place, error) {
	var bb []Backbone
	var places []place
	for i := range s.Chains {
		c := &s.Chains[i]
		if c.Kind != Protein {
			continue
		}
		start := true
		for j := range c.Residues {
			if b, ok := c.Residues[j].Backbone(); ok {
				b.Start, start = start, false
				bb, places = append(bb, b), append(places, place{i, j})
			}
		}
	}
	d, err := newDSSP(ctx, bb)
	return d, places, err
}

// run is a helix or strand: the residues from … to of a chain, by index.
type run struct {
	chain, from, to int
	state           byte
	sheet           int // which sheet a strand is of, from 0
}

// secondaryRuns lists helices and strands in order. Strands that pair belong to one sheet; sheets are numbered in
// order of their first strand.
func (s *Structure) secondaryRuns() (helices, strands []run) {
	d, places, _ := s.dssp(context.Background())
	strand := make([]int, d.n) // which run a residue is of; −1: none
	for k := 0; k < d.n; {
		state, end := d.state[k], k
		for end+1 < d.n && d.state[end+1] == state && d.unbroken(k, end+1) {
			end++
		}
		r := run{chain: places[k].chain, from: places[k].residue, to: places[end].residue, state: state}
		for i := k; i <= end; i++ {
			strand[i] = -1
			if state == Strand {
				strand[i] = len(strands)
			}
		}
		switch state {
		case AlphaHelix, Helix310, PiHelix:
			helices = append(helices, r)
		case Strand:
			strands = append(strands, r)
		}
		k = end + 1
	}
	joined := newGroups(len(strands))
	for _, l := range d.found {
		first := -1
		for _, side := range [2][2]int{l.i, l.j} {
			for k := side[0]; k <= side[1]; k++ {
				if strand[k] < 0 {
					continue
				}
				if first < 0 {
					first = strand[k]
				}
				joined.join(strand[k], first)
			}
		}
	}
	sheet := map[int]int{}
	for i := range strands {
		k := joined.find(i)
		if _, ok := sheet[k]; !ok {
			sheet[k] = len(sheet)
		}
		strands[i].sheet = sheet[k]
	}
	return helices, strands
}

// Backbone returns the residue's main chain, or false where one of N, CA, C and O is missing.
func (r *Residue) Backbone() (Backbone, bool) {
	b := Backbone{Proline: r.Comp == "PRO"}
	for _, want := range []struct {
		names [3]string
		to    *Vec
	}{{[3]string{"N"}, &b.N}, {[3]string{"CA"}, &b.CA}, {[3]string{"C"}, &b.C}, {[3]string{"O", "OXT", "OT1"}, &b.O}} {
		found := false
		for _, name := range want.names {
			if a, ok := r.Atom(name); ok && !found && name != "" {
				*want.to, found = a.Pos, true
			}
		}
		if !found {
			return b, false
		}
	}
	return b, true
}

// bond is a hydrogen bond to residue to, −1 for none, with its energy in kcal/mol.
type bond struct {
	to     int
	energy float64
}

// dssp is the working state of one assignment.
type dssp struct {
	bb []Backbone
	// n is the number of residues, and state the letter of each.
	n              int
	state          []byte
	from           []int // first residue of the unbroken stretch each residue is in
	found          []ladder
	accept, donate [][2]bond // the two best partners taking this residue's hydrogen, and giving one to it
}

// unbroken reports whether residues i to j exist and lie in one unbroken stretch.
func (d *dssp) unbroken(i, j int) bool {
	return i >= 0 && j < d.n && d.from[j] <= i
}

// crowd bounds the neighbours examined for a residue. In a protein, the cells around a residue hold some 150. The bound
// keeps time linear where a file puts all its atoms at one point.
const crowd = 512

// bonds places the amide hydrogens and finds the two strongest hydrogen bonds of each residue in both directions. The
// only error is that of ctx.
func (d *dssp) bonds(ctx context.Context) error {
	ca, hydrogen := make([]Vec, d.n), make([]Vec, d.n)
	for i := range d.bb {
		ca[i], hydrogen[i] = d.bb[i].CA, d.bb[i].N
		if !d.bb[i].Proline && d.unbroken(i-1, i) {
			co := sub(d.bb[i-1].C, d.bb[i-1].O)
			if l := norm(co); l > 0 {
				hydrogen[i] = add(d.bb[i].N, scale(co, 1/l))
			}
		}
	}
	const reach = 9.0
	g := NewGrid(ca, reach)
	var near []int
	for i := range ca {
		if err := ctx.Err(); err != nil {
			return err
		}
		near = g.appendNear(near[:0], ca[i], reach, crowd)
		for _, j := range near {
			if j <= i {
				continue
			}
			d.bond(i, j, hydrogen[i])
			if j != i+1 {
				d.bond(j, i, hydrogen[j])
			}
		}
	}
	return nil
}

// bond computes the energy in kcal/mol of the hydrogen bond from i's N–H to j's C=O and records it at both
// residues.
func (d *dssp) bond(i, j int, h Vec) {
	if d.bb[i].Proline {
		return
	}
	n, c, o := d.bb[i].N, d.bb[j].C, d.bb[j].O
	ho, hc, nc, no := Distance(h, o), Distance(h, c), Distance(n, c), Distance(n, o)
	const strongest = -9.9
	e := strongest
	if min(ho, hc, nc, no) >= 0.5 {
		e = 27.888 * (1/no + 1/hc - 1/ho - 1/nc)
		e = max(math.Round(e*1000)/1000, strongest)
	}
	rank(&d.accept[i], bond{j, e})
	rank(&d.donate[j], bond{i, e})
}

// rank inserts b into the two strongest bonds, the strongest first.
func rank(best *[2]bond, b bond) {
	if b.energy < best[0].energy {
		best[1], best[0] = best[0], b
	} else if b.energy < best[1].energy {
		best[1] = b
	}
}

// bonded reports whether a hydrogen bond leads from i's N–H to j's C=O: an energy below −0.5 kcal/mol.
func (d *dssp) bonded(i, j int) bool {
	for _, b := range d.accept[i] {
		if b.to == j && b.energy < -0.5 {
			return true
		}
	}
	return false
}

// ladder is a run of bridges of one type: residues i ascending, and their partners j, as the lowest and highest
// index even where the strands are antiparallel.
type ladder struct {
	anti   bool
	i, j   [2]int // first and last
	single bool
	merged bool
}

// sheets marks the residues of bridges and strands, and numbers the sheets that strands form.
func (d *dssp) sheets() {
	ladders := d.ladders()
	// Ladders that a bulge parts are one, where a strand has at most one extra
	// residue and the other at most four.
	for a := range ladders {
		for b := a + 1; b < len(ladders) && !ladders[a].merged; b++ {
			x, y := &ladders[a], &ladders[b]
			if y.i[0]-x.i[1] >= 6 {
				break
			}
			if !y.merged && d.bulge(x, y) {
				x.i[1] = y.i[1]
				x.j = [2]int{min(x.j[0], y.j[0]), max(x.j[1], y.j[1])}
				x.single, y.merged = false, true
			}
		}
	}
	for _, l := range ladders {
		if l.merged {
			continue
		}
		d.found = append(d.found, l)
		state := byte(Strand)
		if l.single {
			state = Bridge
		}
		for _, side := range [2][2]int{l.i, l.j} {
			for k := side[0]; k <= side[1]; k++ {
				if d.state[k] != Strand {
					d.state[k] = state
				}
			}
		}
	}
}

// bulge reports whether ladders x and y are one ladder interrupted by a bulge.
func (d *dssp) bulge(x, y *ladder) bool {
	if x.anti != y.anti || x.i[1] >= y.i[0] && x.i[0] <= y.i[1] ||
		!d.unbroken(min(x.i[0], y.i[0]), max(x.i[1], y.i[1])) || !d.unbroken(min(x.j[0], y.j[0]), max(x.j[1], y.j[1])) {
		return false
	}
	gap := y.j[0] - x.j[1]
	if x.anti {
		gap = x.j[0] - y.j[1]
		if y.j[0] >= x.j[0] {
			return false
		}
	} else if y.j[0] <= x.j[0] {
		return false
	}
	return gap >= 0 && (gap < 3 || gap < 6 && y.i[0]-x.i[1] < 3)
}

// ladders finds all bridges among the residues that share a bond, and joins adjacent bridges into ladders.
func (d *dssp) ladders() []ladder {
	var candidates [][2]int
	for x := range d.n {
		for _, b := range d.accept[x] {
			if b.to < 0 || b.energy >= -0.5 {
				continue
			}
			for _, p := range [4][2]int{{x - 1, b.to}, {x, b.to + 1}, {x - 1, b.to + 1}, {x, b.to}} {
				i, j := min(p[0], p[1]), max(p[0], p[1])
				if j-i >= 3 && d.unbroken(i-1, i+1) && d.unbroken(j-1, j+1) {
					candidates = append(candidates, [2]int{i, j})
				}
			}
		}
	}
	slices.SortFunc(candidates, func(a, b [2]int) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	candidates = slices.Compact(candidates)
	type end struct {
		i, j int
		anti bool
	}
	open := map[end]int{} // where the bridge that would prolong a ladder lies
	var out []ladder
	for _, p := range candidates {
		i, j := p[0], p[1]
		parallel, anti := d.bridge(i, j)
		if !parallel && !anti {
			continue
		}
		at := end{i, j, anti}
		k, ok := open[at]
		if ok {
			delete(open, at)
			l := &out[k]
			l.i[1], l.single = i, false
			l.j = [2]int{min(l.j[0], j), max(l.j[1], j)}
		} else {
			k = len(out)
			out = append(out, ladder{anti: anti, i: [2]int{i, i}, j: [2]int{j, j}, single: true})
		}
		if anti {
			open[end{i + 1, j - 1, true}] = k
		} else {
			open[end{i + 1, j + 1, false}] = k
		}
	}
	return out
}

// bridge reports whether residues i and j form a parallel or an antiparallel bridge.
func (d *dssp) bridge(i, j int) (parallel, anti bool) {
	if d.bonded(i+1, j) && d.bonded(j, i-1) || d.bonded(j+1, i) && d.bonded(i, j-1) {
		return true, false
	}
	return false, d.bonded(i+1, j-1) && d.bonded(j+1, i-1) || d.bonded(j, i) && d.bonded(i, j)
}

// helices marks helices in the order α, 3₁₀, π, and then turns and bends.
func (d *dssp) helices() {
	turn := func(i, stride int) bool { return i >= 0 && d.unbroken(i, i+stride) && d.bonded(i+stride, i) }
	d.helix(4, AlphaHelix, turn, func(byte) bool { return true })
	d.helix(3, Helix310, turn, func(s byte) bool { return s == Coil || s == Helix310 })
	d.helix(5, PiHelix, turn, func(s byte) bool { return s == Coil || s == PiHelix || s == AlphaHelix })
	for i := 1; i+1 < d.n; i++ {
		if d.state[i] != Coil {
			continue
		}
		if d.inTurn(i, turn) {
			d.state[i] = Turn
		} else if d.unbroken(i-2, i+2) {
			u, v := sub(d.bb[i].CA, d.bb[i-2].CA), sub(d.bb[i+2].CA, d.bb[i].CA)
			if math.Atan2(norm(cross(u, v)), dot(u, v)) > 70*math.Pi/180 {
				d.state[i] = Bend
			}
		}
	}
}

// helix marks residues i … i+stride−1 where turns start at both i−1 and i and every state in between is free.
func (d *dssp) helix(stride int, state byte, turn func(i, stride int) bool, free func(byte) bool) {
	for i := 1; i+stride < d.n; i++ {
		if !turn(i, stride) || !turn(i-1, stride) {
			continue
		}
		ok := true
		for k := i; k < i+stride; k++ {
			ok = ok && free(d.state[k])
		}
		for k := i; ok && k < i+stride; k++ {
			d.state[k] = state
		}
	}
}

// inTurn reports whether residue i lies inside a turn of 3, 4 or 5 residues.
func (d *dssp) inTurn(i int, turn func(i, stride int) bool) bool {
	for stride := 3; stride <= 5; stride++ {
		for k := 1; k < stride; k++ {
			if turn(i-k, stride) {
				return true
			}
		}
	}
	return false
}
