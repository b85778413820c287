package calvados

import (
	"math"
	"testing"

	"pleat/internal/structure"
)

func TestScreening(t *testing.T) {
	a, kappa := screening(293.15, 0.15)
	if math.Abs(kappa-1.26985716) > 5e-9 {
		t.Errorf("κ = %.9f /nm at 0.15 M and 293.15 K, want 1.26985716", kappa)
	}
	if math.Abs(a-1.73122599) > 5e-9 {
		t.Errorf("A = %.9f kJ·nm/mol at 293.15 K, want 1.73122599", a)
	}
}

func TestEndsAndHistidine(t *testing.T) {
	for _, c := range []struct {
		termini           Termini
		pH                float64
		first, last, hist float64
	}{
		{"", 7.5, 0, 0, 1 / (1 + math.Pow(10, 1.5))}, // D and R, their ends added
		{TerminiBoth, 6, 0, 0, 0.5},
		{TerminiN, 7, 0, 1, 1.0 / 11},
		{TerminiC, 7, -1, 0, 1.0 / 11},
		{TerminiNone, 4, -1, 1, 1 / 1.01},
	} {
		p := Defaults()
		p.Termini, p.PH = c.termini, c.pH
		s := mustSystem(t, p, mustSequence(t, "DHR"))
		b := s.beads
		for k, want := range []float64{c.first, c.hist, c.last} {
			if math.Abs(b[k].charge-want) > 1e-12 {
				t.Errorf("termini %q at pH %v: charge %d is %v, want %v", c.termini, c.pH, k, b[k].charge, want)
			}
		}
		if got := [3]float64{b[0].mass, b[1].mass, b[2].mass}; got != [3]float64{115.09 + 2, 137.14, 156.19 + 16} {
			t.Errorf("masses %v", got)
		}
	}
}

// The trust in pairs, their restraints and bonds, at chosen figures worked out by the formulas of the model.
func TestTrust(t *testing.T) {
	m := &Molecule{placed: true, Chains: []Chain{{ID: "A"}}}
	for i, plddt := range []float64{95, 95, 90, 76, 40} {
		m.Chains[0].Sites = append(m.Chains[0].Sites, Site{
			Letter: 'A',
			Number: i + 1,
			PLDDT:  plddt,
			Pos:    structure.Vec{4 * float64(i), 0.3 * float64(i*i), 0},
		})
	}
	m.PAE = structure.Matrix{N: 5, V: make([]float32, 25)}
	for k := range m.PAE.V {
		m.PAE.V[k] = 1
	}
	m.PAE.V[0*5+1], m.PAE.V[1*5+0] = 7, 2.5 // ½(7+2.5)/10 = 0.475 nm
	p := Defaults()
	p.Preset = SingleGo
	s := mustSystem(t, p, m)
	sig := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	sure01 := sig(50*(0.95-0.8)) * sig(-15*(0.475-0.3))
	sure03 := sig(50*(0.76-0.8)) * sig(-15*(0.1-0.3))
	if sure01 < 0.05 || sure01 > 0.15 || sure03 < 0.05 || sure03 > 0.15 {
		t.Fatalf("the case tests nothing: s = %v and %v", sure01, sure03)
	}
	d := func(i, j int) float64 { return s.distance(s.start, i, j) }
	b01, b13 := sig(-80*(sure01-0.1)), sig(-80*(sure03-0.1))
	wantBonds := []float64{b01*0.38 + (1-b01)*d(0, 1), d(1, 2), b13*0.38 + (1-b13)*d(2, 3), 0.38}
	for k, want := range wantBonds {
		if got := s.bonds[k].r0; math.Abs(got-want) > 1e-12 {
			t.Errorf("bond %d: r0 = %v, want %v", k, got, want)
		}
	}
	// Beads 0 and 3 lie beyond 0.9 nm and bead 4 is not trusted, so that 0–2 and 1–3 are left.
	if len(s.contacts) != 2 || len(s.weak) != 1 {
		t.Fatalf("%d restraints and %d scaled pairs, want 2 and 1: %+v", len(s.contacts), len(s.weak), s.contacts)
	}
	if c := s.contacts[0]; c.i != 0 || c.j != 2 || math.Abs(c.k-15*sig(50*(0.9-0.8))*sig(-15*(0.1-0.3))) > 1e-12 ||
		c.d != d(0, 2) {
		t.Errorf("restraint %+v", c)
	}
	if f := s.weak[0]; f.i != 1 || f.j != 3 || math.Abs(f.b-b13) > 1e-12 {
		t.Errorf("scaled pair %+v, want b %v", f, b13)
	}
}

// naive sums the model's terms over all pairs as the publication writes them, from the system in plain numbers.
func naive(d *Description, x []vec) (e Energy, size float64, force []vec) {
	n := len(x)
	force = make([]vec, n)
	type pair struct{ bond, d, k, b float64 } // 0: not there
	pairs := make([]pair, n*n)
	for _, b := range d.Bonds {
		pairs[b.I*n+b.J].bond = b.R0
	}
	for _, r := range d.Restraints {
		pairs[r.I*n+r.J].d, pairs[r.I*n+r.J].k = r.D, r.K
	}
	for _, p := range d.Scaled {
		pairs[p.I*n+p.J].b = p.B
	}
	for i := range n {
		for j := i + 1; j < n; j++ {
			var u vec
			r := 0.0
			for k := range u {
				u[k] = x[i][k] - x[j][k]
				u[k] -= d.Box * math.Round(u[k]/d.Box)
				r += u[k] * u[k]
			}
			r = math.Sqrt(r)
			term := func(to *float64, energy, slope float64) {
				*to += energy
				size += math.Abs(energy)
				for k := range u {
					force[i][k] -= slope * u[k] / r
					force[j][k] += slope * u[k] / r
				}
			}
			b, whole, z := 1.0, true, pairs[i*n+j]
			if z.bond != 0 {
				term(&e.Bond, 0.5*d.BondK*(r-z.bond)*(r-z.bond), d.BondK*(r-z.bond))
				continue
			}
			if z.k != 0 {
				q := z.d / r
				term(&e.Restraint, z.k*(5*math.Pow(q, 12)-6*math.Pow(q, 10)),
					z.k*60*(math.Pow(q, 10)-math.Pow(q, 12))/r)
				if z.b == 0 {
					continue
				}
				b, whole = z.b, false
			}
			p, q := d.Beads[i], d.Beads[j]
			sigma, lambda := (p.Sigma+q.Sigma)/2, (p.Lambda+q.Lambda)/2
			if r < d.CutAH || !whole {
				six, at := math.Pow(sigma/r, 6), math.Pow(sigma/d.CutAH, 6)
				lj, shift := six*six-six, at*at-at
				slope := 4 * d.Epsilon * (6*six - 12*six*six) / r
				if r >= math.Pow(2, 1.0/6)*sigma {
					term(&e.AshbaughHatch, b*4*d.Epsilon*lambda*(lj-shift), b*lambda*slope)
				} else {
					term(&e.AshbaughHatch, b*(4*d.Epsilon*(lj-lambda*shift)+d.Epsilon*(1-lambda)), b*slope)
				}
			}
			if r < d.CutDH || !whole {
				yukawa := math.Exp(-d.Kappa*r) / r
				qq := b * p.Charge * q.Charge * d.CoulombA
				term(&e.DebyeHuckel, qq*(yukawa-math.Exp(-d.Kappa*d.CutDH)/d.CutDH), -qq*yukawa*(d.Kappa+1/r))
			}
		}
	}
	return e, size, force
}

func TestFastEqualsNaive(t *testing.T) {
	r := newNoise(11)
	for k := range 100 {
		p := Defaults()
		p.Box = []float64{8, 9.3, 12, 20}[k%4]
		p.Ionic = []float64{0.15, 0.02, 0, 1.5, 5}[k%5]
		p.PH = 5 + float64(k%4)
		if k%2 == 1 {
			p.Residues = Calvados3
		}
		var s *System
		if k%3 == 0 {
			s = mustSystem(t, p, mustSequence(t, randomSequence(&r, 20+k/2)))
		} else {
			p.Preset = SingleGo
			s = mustSystem(t, p, randomFold(&r, []int{30 + k/2, 25, 12}[:1+k%3]))
		}
		x := randomWalks(&r, s)
		d := s.Describe()
		want, size, wantForce := naive(&d, x)
		for _, v := range kernels() {
			vector = v
			got := s.Energy(x)
			for name, pair := range map[string][2]float64{
				"bond": {got.Bond, want.Bond}, "Ashbaugh–Hatch": {got.AshbaughHatch, want.AshbaughHatch},
				"Debye–Hückel": {got.DebyeHuckel, want.DebyeHuckel}, "restraint": {got.Restraint, want.Restraint},
			} {
				if !(math.Abs(pair[0]-pair[1]) <= 1e-9*size) {
					t.Errorf("configuration %d, vector %v, %s energy %v, naive %v", k, v, name, pair[0], pair[1])
				}
			}
			if worst := worstForce(s.Forces(x), wantForce); !(worst <= 1e-9) {
				t.Errorf("configuration %d, vector %v: forces differ by %.2g of their rms", k, v, worst)
			}
		}
		vector = hadVector
	}
}

// Lists of cells list what trying all pairs does.
func TestCells(t *testing.T) {
	p := Defaults()
	p.Box = 45
	s := mustSystem(t, p, mustSequence(t, mixture(1300)))
	r := newNoise(3)
	x := randomWalks(&r, s)
	d := s.Describe()
	_, _, want := naive(&d, x)
	if worst := worstForce(s.Forces(x), want); !(worst <= 1e-9) {
		t.Errorf("forces differ by %.2g of their rms", worst)
	}
	f := newField(s)
	f.forces(x, nil)
	if f.lists.cells.side < 4 {
		t.Error("no cells were used")
	}
}

// Lists hold until beads have moved by the skin: small moves, one list, the same forces as from lists made afresh.
func TestListsHold(t *testing.T) {
	p := Defaults()
	p.Box = 8
	r := newNoise(5)
	p.Preset = SingleGo
	s := mustSystem(t, p, randomFold(&r, []int{40, 40}))
	x := randomWalks(&r, s)
	f := newField(s)
	for range 300 {
		f.forces(x, nil)
		if worst := worstForce(forcesOf(f), s.Forces(x)); !(worst <= 1e-9) {
			t.Fatalf("forces from kept lists differ by %.2g of their rms", worst)
		}
		for i := range x {
			for k := range 3 {
				x[i][k] += 0.02 * r.gauss()
			}
		}
	}
}

func TestForceIsMinusSlope(t *testing.T) {
	r := newNoise(2)
	p := Defaults()
	p.Box = 10
	p.Preset = SingleGo
	s := mustSystem(t, p, randomFold(&r, []int{30, 20}))
	tried := 0
	for range 20 {
		x := randomWalks(&r, s)
		const h = 1e-5
		if nearCutoff(s, x, 4*h) {
			continue
		}
		tried++
		force := s.Forces(x)
		rms := rmsOf(force)
		for i := range x {
			for k := range 3 {
				was := x[i][k]
				x[i][k] = was + h
				up := s.Energy(x).Total()
				x[i][k] = was - h
				down := s.Energy(x).Total()
				x[i][k] = was
				if got := -(up - down) / (2 * h); math.Abs(got-force[i][k]) > 1e-6*rms {
					t.Fatalf("bead %d axis %d: force %v, −∂E/∂x %v, rms %v", i, k, force[i][k], got, rms)
				}
			}
		}
	}
	if tried < 5 {
		t.Fatalf("only %d configurations were away from the cutoffs", tried)
	}
}

func nearCutoff(s *System, x []vec, h float64) bool {
	for i := range x {
		for j := range i {
			r := s.distance(x, j, i)
			if math.Abs(r-cutAH) < h || math.Abs(r-cutDH) < h || math.Abs(r-s.params.Box/2) < h {
				return true
			}
		}
	}
	return false
}

var hadVector = vector

// kernels are the values of vector that this processor can run.
func kernels() []bool {
	if hadVector {
		return []bool{false, true}
	}
	return []bool{false}
}

func rmsOf(f []vec) float64 {
	sum := 0.0
	for _, v := range f {
		sum += v[0]*v[0] + v[1]*v[1] + v[2]*v[2]
	}
	return math.Sqrt(sum / float64(3*len(f)))
}

func worstForce(got, want []vec) float64 {
	worst := 0.0
	for i := range got {
		for k := range 3 {
			if d := math.Abs(got[i][k] - want[i][k]); !(d <= worst) {
				worst = d
			}
		}
	}
	return worst / rmsOf(want)
}

func forcesOf(f *field) []vec {
	out := make([]vec, f.s.Len())
	for i := range out {
		out[i] = vec(f.force[i][:3])
	}
	return out
}

func mustSequence(tb testing.TB, sequence string) *Molecule {
	tb.Helper()
	m, err := FromSequence(sequence)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func mustSystem(tb testing.TB, p Params, m *Molecule) *System {
	tb.Helper()
	s, err := NewSystem(p, m)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func randomSequence(r *noise, n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = residues[r.bits()%20].letter
	}
	return string(out)
}

// walk adds n beads about 0.38 nm apart, none within 0.42 nm of another but its neighbours, in a ball about the middle.
func walk(r *noise, x []vec, n int, middle vec, radius float64) []vec {
	first := len(x)
	for tries := 0; len(x)-first < n; {
		var p vec
		if len(x) == first {
			p = vec{middle[0] + r.gauss()*radius/2, middle[1] + r.gauss()*radius/2, middle[2] + r.gauss()*radius/2}
		} else {
			q := x[len(x)-1]
			d := vec{r.gauss(), r.gauss(), r.gauss()}
			l := (0.38 + 0.01*r.gauss()) / math.Sqrt(d[0]*d[0]+d[1]*d[1]+d[2]*d[2])
			p = vec{q[0] + l*d[0], q[1] + l*d[1], q[2] + l*d[2]}
		}
		ok := math.Hypot(math.Hypot(p[0]-middle[0], p[1]-middle[1]), p[2]-middle[2]) < radius
		for j := range x {
			ok = ok && (j == len(x)-1 && len(x) > first ||
				math.Hypot(math.Hypot(p[0]-x[j][0], p[1]-x[j][1]), p[2]-x[j][2]) > 0.42)
		}
		if ok {
			x = append(x, p)
			tries = 0
		} else if tries++; tries > 200 { // a dead end: back some steps
			x = x[:max(first, len(x)-10)]
			tries = 0
		}
	}
	return x
}

// randomWalks places the system's chains anew, each about a place of its own, some outside the box.
func randomWalks(r *noise, s *System) []vec {
	var x []vec
	for c := range s.molecule.Chains {
		middle := vec{r.gauss() * s.params.Box, r.gauss() * 2, float64(c) * 3}
		x = walk(r, x, len(s.molecule.Chains[c].Sites), middle, 1.2+0.25*math.Cbrt(float64(len(s.beads))))
	}
	return x
}

// randomFold is a compact molecule of chains of such lengths with confidence of every kind.
func randomFold(r *noise, lengths []int) *Molecule {
	m := &Molecule{placed: true}
	var x []vec
	n := 0
	for _, l := range lengths {
		n += l
	}
	for c, l := range lengths {
		from := len(x)
		x = walk(r, x, l, vec{}, 0.6+0.25*math.Cbrt(float64(n)))
		chain := Chain{ID: string(rune('A' + c))}
		letters := randomSequence(r, l)
		for i := range l {
			p := x[from+i]
			chain.Sites = append(chain.Sites, Site{
				Letter: letters[i],
				Number: i + 1,
				PLDDT:  70 + 25*r.uniform(),
				Pos:    structure.Vec{p[0] * 10, p[1] * 10, p[2] * 10},
			})
		}
		m.Chains = append(m.Chains, chain)
	}
	m.PAE = structure.Matrix{N: n, V: make([]float32, n*n)}
	for k := range m.PAE.V {
		m.PAE.V[k] = float32(0.3 + 7*r.uniform())
	}
	return m
}

// Forces returns the forces at positions x in nm, in kJ/mol/nm. It panics where x has another number of beads.
func (s *System) Forces(x [][3]float64) [][3]float64 {
	s.checkLen(x)
	f := newField(s)
	f.forces(x, nil)
	out := make([]vec, len(x))
	for i := range out {
		out[i] = vec(f.force[i][:3])
	}
	return out
}
