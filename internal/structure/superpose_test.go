package structure

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func points(t *rapid.T, n int) []Vec {
	out := make([]Vec, n)
	for i := range out {
		for k := range 3 {
			out[i][k] = rapid.Float64Range(-100, 100).Draw(t, "x")
		}
	}
	return out
}

func determinant(m [3][3]float64) float64 {
	return dot(Vec(m[0]), cross(Vec(m[1]), Vec(m[2])))
}

// axisAngle is the rotation about an axis by Rodrigues' formula, which Superpose
// does not use.
func axisAngle(axis Vec, angle float64) (m [3][3]float64) {
	u := scale(axis, 1/norm(axis))
	for k := range 3 {
		e := Vec{}
		e[k] = 1
		c := add(add(scale(e, math.Cos(angle)), scale(cross(u, e), math.Sin(angle))),
			scale(u, dot(u, e)*(1-math.Cos(angle))))
		for j := range 3 {
			m[j][k] = c[j]
		}
	}
	return m
}

func TestSuperposeRecoversAMove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := points(t, rapid.IntRange(1, 12).Draw(t, "n"))
		axis := Vec{rapid.Float64Range(0.1, 1).Draw(t, "u"), rapid.Float64Range(-1, 1).Draw(t, "v"),
			rapid.Float64Range(-1, 1).Draw(t, "w")}
		turned := axisAngle(axis, rapid.Float64Range(-math.Pi, math.Pi).Draw(t, "angle"))
		move := points(t, 1)[0]
		q := make([]Vec, len(p))
		for i := range p {
			q[i] = Apply(turned, move, p[i])
		}
		rot, trans, rmsd := Superpose(p, q)
		if rmsd > 1e-6 {
			t.Fatalf("rmsd %g after a rigid move", rmsd)
		}
		if d := determinant(rot); math.Abs(d-1) > 1e-9 {
			t.Fatalf("determinant %v", d)
		}
		for i := range p {
			if Distance(Apply(rot, trans, p[i]), q[i]) > 1e-5 {
				t.Fatalf("point %d is not brought back", i)
			}
		}
	})
}

// No small turn away from the optimum may be better.
func TestSuperposeIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 10).Draw(t, "n")
		p, q := points(t, n), points(t, n)
		rot, _, rmsd := Superpose(p, q)
		cp, cq := Centroid(p), Centroid(q)
		for k := range 6 {
			axis := Vec{}
			axis[k%3] = 1
			extra := axisAngle(axis, []float64{0.01, -0.01}[k/3])
			sum := 0.0
			for i := range p {
				sum += distance2(rotate(&extra, rotate(&rot, sub(p[i], cp))), sub(q[i], cq))
			}
			if other := math.Sqrt(sum / float64(n)); other < rmsd-1e-9 {
				t.Fatalf("turning by 0.01 gives %v, better than %v", other, rmsd)
			}
		}
	})
}

func TestSuperposeDegenerate(t *testing.T) {
	line := []Vec{{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}
	up := []Vec{{0, 0, 5}, {0, 0, 6}, {0, 0, 7}}
	same := []Vec{{3, 3, 3}, {3, 3, 3}}
	mirror := []Vec{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	flipped := []Vec{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, -1}}
	for _, test := range []struct {
		name string
		a, b []Vec
		low  float64
		high float64
	}{
		{"none", nil, nil, 0, 0},
		{"one", []Vec{{1, 2, 3}}, []Vec{{4, 5, 6}}, 0, 1e-12},
		{"line", line, up, 0, 1e-9},
		{"line reversed", line, []Vec{{2, 0, 0}, {1, 0, 0}, {0, 0, 0}}, 0, 1e-9},
		{"one place", same, []Vec{{0, 0, 0}, {0, 0, 0}}, 0, 1e-9},
		{"mirror image", mirror, flipped, 0.3, 1},
	} {
		rot, _, rmsd := Superpose(test.a, test.b)
		if !(rmsd >= test.low && rmsd <= test.high) {
			t.Errorf("%s: rmsd %v, want %v to %v", test.name, rmsd, test.low, test.high)
		}
		if math.Abs(determinant(rot)-1) > 1e-9 {
			t.Errorf("%s: determinant %v", test.name, determinant(rot))
		}
	}
}

// Values of biotite 1.6.0, structure.superimpose and structure.rmsd.
func TestRMSDAgainstBiotite(t *testing.T) {
	for name, want := range map[string]float64{"1ubi": 22.522245, "1crn": 1.742829, "2jof": 1.5801396} {
		native := load(t, name).Chains[0].Centres()
		near(t, name, RMSD(bent(native), native), want, 2e-5)
	}
}

// The value of biotite 1.6.0 on the CA atoms of 2jof: structure.gyration_radius.
func TestGeometryAgainstBiotite(t *testing.T) {
	p := load(t, "2jof").Chains[0].Centres()
	near(t, "radius of gyration", RadiusOfGyration(p), 6.910665246, 1e-6)
}

func TestCentreOfMass(t *testing.T) {
	c := CentreOfMass([]Atom{
		{Element: "O", Pos: Vec{0, 0, 0}}, {Element: "H", Pos: Vec{1, 0, 0}}, {Element: "H", Pos: Vec{0, 1, 0}},
	})
	near(t, "x", c[0], 1.008/18.015, 1e-9)
	near(t, "y", c[1], 1.008/18.015, 1e-9)
	if got := CentreOfMass(nil); got != (Vec{}) {
		t.Errorf("of no atoms: %v", got)
	}
}

func BenchmarkSuperpose(b *testing.B) {
	native := load(b, "1ubi").Chains[0].Centres()
	model := bent(native)
	b.ReportAllocs()
	for b.Loop() {
		Superpose(model, native)
	}
}
