package mini

import (
	"math"
	"math/rand/v2"

	"pleat/internal/mini/local"
)

// The annealing schedule: number of steps, and temperatures at its start and end.
const (
	fullSteps = 15000
	hot       = 3.0
	cold      = 0.6
	gathered  = 0.9 // the share of the steps over which the walk cools; the best is kept from the rest
)

// torsions holds the torsions of a whole chain in degrees, and the local state of each residue.
type torsions struct {
	phi, psi []float64
	state    []uint8
}

// newTorsions returns zero torsions for n residues.
func newTorsions(n int) torsions {
	return torsions{make([]float64, n), make([]float64, n), make([]uint8, n)}
}

// copyRange copies the torsions of o for residues a up to, but not including, b.
func (t *torsions) copyRange(o *torsions, a, b int) {
	copy(t.phi[a:b], o.phi[a:b])
	copy(t.psi[a:b], o.psi[a:b])
	copy(t.state[a:b], o.state[a:b])
}

// walk is one simulated-annealing trajectory over the torsions of a chain. It is not safe for concurrent use; its
// buffers are reused for the next decoy.
type walk struct {
	t     *tables
	l     *locals
	aa    []int
	n     int
	heavy []int // atoms that take part in clashes: glycine has neither CB nor centroid
	donor []bool
	rng   *rand.Rand
	steps int // of a trajectory; a multiple of ten

	// clashScale and radiusScale change with progress; compact is the radius of gyration in Å without penalty.
	clashScale, radiusScale, compact float64

	torsions
	at []residue
	// pairs and near are n×n matrices of which only i<j is used; nb counts the CB within 10 Å.
	pairs    []float64 // energies of i<j
	near     []bool
	nb       []int16
	total    float64 // of everything
	sumPairs float64
	sumLocal float64
	env, rad float64

	old struct { // what a refused step restores
		torsions
		at []residue
	}
	newPairs []float64
	newNear  []bool
	newNB    []int16
}

// newWalk allocates a trajectory for the amino acids aa, given as indices of local.Letters.
func newWalk(t *tables, l *locals, aa []int) *walk {
	n := len(aa)
	w := &walk{t: t, l: l, aa: aa, n: n, steps: fullSteps, heavy: make([]int, n), donor: make([]bool, n),
		torsions: newTorsions(n), at: make([]residue, n),
		pairs: make([]float64, n*n), near: make([]bool, n*n), nb: make([]int16, n),
		newPairs: make([]float64, n*n), newNear: make([]bool, n*n), newNB: make([]int16, n)}
	w.old.torsions, w.old.at = newTorsions(n), make([]residue, n)
	w.compact = 2.2 * math.Pow(float64(n), 0.38)
	for i, a := range aa {
		w.heavy[i] = 6
		if local.Letters[a] == 'G' {
			w.heavy[i] = 4
		}
		w.donor[i] = i > 0 && local.Letters[a] != 'P'
	}
	return w
}

// stage sets the weights for progress f in [0,1] and recomputes everything.
func (w *walk) stage(f float64) {
	w.clashScale = weightVDW * min(1, 0.1+1.2*f)
	w.radiusScale = weightRadius * max(0.15, 1-1.2*f) * float64(w.n) / 10
	w.rebuild()
	w.recompute()
}

// rebuild places every atom from the torsions.
func (w *walk) rebuild() {
	start(&w.at[0])
	for i := 1; i < w.n; i++ {
		follow(&w.at[i-1], &w.at[i], w.psi[i-1], w.phi[i])
	}
	w.dress(0, w.n-1)
}

// dress places the atoms attached to the backbone of residues a..b. The backbone up to b+1 must be placed.
func (w *walk) dress(a, b int) {
	for i := a; i <= b; i++ {
		r := &w.at[i]
		k := 0
		if w.right(i) {
			k = 1
		}
		r.decorate(w.t.centroid[w.aa[i]][k])
		if i > 0 {
			r.amide(w.at[i-1].c)
		}
		var next vec3
		if i+1 < w.n {
			next = w.at[i+1].n
		} else {
			s, c := math.Sincos(w.psi[i] * radian)
			next = bondN.position(r.n, r.a, r.c, s, c)
		}
		r.carbonyl(next)
	}
}

// recompute fills the pair matrix and every sum from the coordinates.
func (w *walk) recompute() {
	w.sumPairs, w.sumLocal = 0, 0
	clear(w.nb)
	for i := range w.n {
		w.sumLocal += w.localEnergy(i)
		for j := i + 1; j < w.n; j++ {
			e, near := w.pairEnergy(i, j)
			w.pairs[i*w.n+j], w.near[i*w.n+j] = e, near
			w.sumPairs += e
			if near {
				w.nb[i]++
				w.nb[j]++
			}
		}
	}
	w.env, w.rad = w.environment(w.nb), w.radius()
	w.total = w.sumPairs + w.sumLocal + w.env + w.rad
}

// localEnergy returns the local term of residue i.
func (w *walk) localEnergy(i int) float64 {
	return float64(weightLocal * w.l.energy[i*cells+cell(w.phi[i], w.psi[i])])
}

// save stores what a step on residues from a on may change.
func (w *walk) save(a int) {
	w.old.copyRange(&w.torsions, a, w.n)
	copy(w.old.at[max(a-1, 0):], w.at[max(a-1, 0):])
}

// restore undoes a step on residues from a on.
func (w *walk) restore(a int) {
	w.copyRange(&w.old.torsions, a, w.n)
	copy(w.at[max(a-1, 0):], w.old.at[max(a-1, 0):])
}

// attraction bounds the energy per residue that terms other than clashes can gain in one step.
const attraction = 3

// try accepts or rejects the torsions of a..b, changed since save(a), by the Metropolis criterion at temperature t.
// It restores the previous state on rejection.
func (w *walk) try(a, b int, t float64) bool {
	w.bend(a, b)
	lcl := 0.0
	for i := a; i <= b; i++ {
		lcl += float64(
			weightLocal * (w.l.energy[i*cells+cell(w.phi[i], w.psi[i])] - w.l.energy[i*cells+
				cell(w.old.phi[i], w.old.psi[i])]))
	}
	rad := w.radius()
	// The most that the rest may cost; a step already beyond it by more than all attraction left is refused without
	// looking further.
	limit := rad - w.rad + lcl + float64(t*math.Log(w.rng.Float64()))
	before := 0.0
	for i := 0; i <= b; i++ {
		for _, e := range w.pairs[i*w.n+max(a, i+1) : (i+1)*w.n] {
			before += e
		}
	}
	hopeless := before - limit + attraction*float64(w.n)
	copy(w.newNB, w.nb)
	after := 0.0
	for i := 0; i <= b; i++ {
		row := i * w.n
		for j := max(a, i+1); j < w.n; j++ {
			e, near := w.pairEnergy(i, j)
			after += e
			w.newPairs[row+j], w.newNear[row+j] = e, near
			if near != w.near[row+j] {
				d := int16(-1)
				if near {
					d = 1
				}
				w.newNB[i] += d
				w.newNB[j] += d
			}
		}
		if after > hopeless {
			w.restore(a)
			return false
		}
	}
	env := w.environment(w.newNB)
	if after-before+env-w.env+limit > 0 {
		w.restore(a)
		return false
	}
	for i := 0; i <= b; i++ {
		row := i * w.n
		from := row + max(a, i+1)
		copy(w.pairs[from:row+w.n], w.newPairs[from:row+w.n])
		copy(w.near[from:row+w.n], w.newNear[from:row+w.n])
	}
	w.nb, w.newNB = w.newNB, w.nb
	w.sumPairs, w.sumLocal, w.env, w.rad = w.sumPairs+after-before, w.sumLocal+lcl, env, rad
	w.total = w.sumPairs + w.sumLocal + env + rad
	return true
}

// bend moves the atoms after the torsions of a..b changed: it rebuilds the window and moves the rest as one rigid
// body.
func (w *walk) bend(a, b int) {
	if a > 0 {
		setPhi(&w.at[a-1], &w.at[a], w.phi[a])
	}
	for i := a + 1; i <= b; i++ {
		follow(&w.at[i-1], &w.at[i], w.psi[i-1], w.phi[i])
	}
	if b+1 < w.n {
		was := w.at[b+1]
		follow(&w.at[b], &w.at[b+1], w.psi[b], w.phi[b+1])
		m := between(&was, &w.at[b+1])
		w.at[b+1] = was
		for i := b + 1; i < w.n; i++ {
			m.move(&w.at[i])
		}
	}
	w.dress(a, b)
}

// step proposes one move at progress f and temperature t.
func (w *walk) step(f, t float64) {
	if w.rng.Float64() < 0.75-0.6*f {
		size := 9
		if f > 0.45 {
			size = 3
		}
		if w.rng.Float64() < 0.1 {
			size = 1 + w.rng.IntN(size)
		}
		w.segment(min(size, w.n), t)
		return
	}
	w.nudge(3+8*(1-f), 5+20*(1-f), t)
}

// segment proposes a window of a drawn chain.
func (w *walk) segment(size int, t float64) {
	d := &w.l.drawn[w.rng.IntN(len(w.l.drawn))]
	a := w.rng.IntN(w.n - size + 1)
	w.save(a)
	w.copyRange(d, a, a+size)
	w.try(a, a+size-1, t)
}

// nudge rotates the torsions of one residue by about single degrees, or shears the peptide between two residues by
// about shear degrees.
func (w *walk) nudge(single, shear, t float64) {
	if w.n < 2 || w.rng.IntN(2) == 0 {
		i := w.rng.IntN(w.n)
		w.save(i)
		w.phi[i] = local.Wrap(w.phi[i] + float64(single*w.rng.NormFloat64()))
		w.psi[i] = local.Wrap(w.psi[i] + float64(single*w.rng.NormFloat64()))
		w.try(i, i, t)
		return
	}
	i := w.rng.IntN(w.n - 1)
	w.save(i)
	d := float64(shear * w.rng.NormFloat64())
	w.psi[i] = local.Wrap(w.psi[i] + d)
	w.phi[i+1] = local.Wrap(w.phi[i+1] - d)
	w.try(i, i+1, t)
}

// decoy is the lowest-energy state of one trajectory.
type decoy struct {
	torsions
	// n, ca and c are the positions of these atoms, one per residue.
	n, ca, c []vec3
	energy   float64
}

// snapshot copies the current state into d.
func (w *walk) snapshot(d *decoy) {
	d.energy = w.total
	if d.phi == nil {
		d.torsions = newTorsions(w.n)
	}
	d.copyRange(&w.torsions, 0, w.n)
	d.n, d.ca, d.c = d.n[:0], d.ca[:0], d.c[:0]
	for i := range w.at {
		d.n, d.ca, d.c = append(d.n, w.at[i].n), append(d.ca, w.at[i].a), append(d.c, w.at[i].c)
	}
}

// run anneals one decoy. It calls stop before every step and returns false once that reports true.
func (w *walk) run(rng *rand.Rand, stop func() bool) (decoy, bool) {
	w.rng = rng
	w.copyRange(&w.l.drawn[rng.IntN(len(w.l.drawn))], 0, w.n)
	best := decoy{energy: math.Inf(1)}
	ratio := math.Log(cold / hot)
	steps := float64(w.steps)
	for k := range w.steps {
		if stop() {
			return decoy{}, false
		}
		f := math.Floor(10*float64(k)/steps) / 10
		if k%(w.steps/10) == 0 {
			w.stage(f)
		}
		t := hot * math.Exp(ratio*min(1, float64(k)/(gathered*steps)))
		w.step(f, t)
		if float64(k) >= gathered*steps && w.total < best.energy {
			w.snapshot(&best)
		}
	}
	return best, true
}
