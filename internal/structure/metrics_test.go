package structure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Values of TMscore as Debian packages it in tm-align 20190822.
func TestTMScoreAgainstTMscore(t *testing.T) {
	for _, want := range []struct {
		name string
		tm   float64
	}{{"1ubi", 0.5136}, {"1crn", 0.6162}, {"2jof", 0.1779}} {
		native := load(t, want.name).Chains[0].Centres()
		near(t, want.name+" TM", TMScore(bent(native), native), want.tm, 6e-5)
	}
}

func TestTMScoreEnds(t *testing.T) {
	native := load(t, "1crn").Chains[0].Centres()
	near(t, "itself", TMScore(native, native), 1, 1e-9)
	if got := TMScore(nil, nil); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for n := 1; n < 6; n++ {
		near(t, "short", TMScore(native[:n], native[:n]), 1, 1e-9)
	}
	far := make([]Vec, 5)
	for i := range far {
		far[i] = Vec{float64(i * i * i * 1e4), float64(i%2) * 1e5, 0}
	}
	if got := TMScore(far, native[:5]); !(got >= 0 && got < 0.5) {
		t.Errorf("of points far apart: %v", got)
	}
}

// Values of biotite 1.6.0, structure.lddt on the CA atoms.
func TestLDDTAgainstBiotite(t *testing.T) {
	for _, want := range []struct {
		name   string
		global float64
		first  []float64
	}{
		{"1ubi", 0.39723389, []float64{0.45, 0.50735294, 0.48333333, 0.53723404}},
		{"1crn", 0.66642442, []float64{0.73484848, 0.6547619, 0.6, 0.64375}},
		{"2jof", 0.57681564, []float64{0.56666667, 0.55555556, 0.5, 0.58333333}},
	} {
		native := load(t, want.name).Chains[0].Centres()
		global, per := LDDT(bent(native), native)
		near(t, want.name, global, want.global, 1e-7)
		for i, v := range want.first {
			near(t, want.name+" residue", per[i], v, 1e-7)
		}
	}
}

func TestLDDTEnds(t *testing.T) {
	native := load(t, "1crn").Chains[0].Centres()
	if got, _ := LDDT(native, native); got != 1 {
		t.Errorf("of itself: %v", got)
	}
	blown := make([]Vec, len(native))
	for i, v := range native {
		blown[i] = scale(v, 10)
	}
	if got, _ := LDDT(blown, native); got != 0 {
		t.Errorf("of a tenfold model: %v", got)
	}
	global, per := LDDT([]Vec{{1, 2, 3}}, []Vec{{0, 0, 0}})
	if global != 1 || per[0] != 1 {
		t.Errorf("of one residue: %v %v", global, per)
	}
	lost := append([]Vec(nil), native...)
	lost[3] = Vec{math.NaN(), 0, 0}
	if got, _ := LDDT(lost, native); !(got > 0.8 && got < 1) {
		t.Errorf("with a lost residue: %v", got)
	}
}

// walk is a random chain of CA atoms in a box, the same each time.
func walk(n int) []Vec {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]Vec, n)
	for i := 1; i < n; i++ {
		for k := range 3 {
			x := out[i-1][k] + 4.4*(r.Float64()-0.5)*2
			out[i][k] = min(max(x, -30), 30)
		}
	}
	return out
}

// Long chains take their pairs from a grid, short ones from a double loop.
func TestReferenceByGrid(t *testing.T) {
	native := walk(700)
	slow := &Reference{n: len(native), count: make([]int32, len(native))}
	for i := range native {
		for j := i + 1; j < len(native); j++ {
			if d := Distance(native[i], native[j]); d < 15 {
				slow.pairs = append(slow.pairs, refPair{int32(i), int32(j), d})
				slow.count[i]++
				slow.count[j]++
			}
		}
	}
	if diff := cmp.Diff(slow, NewReference(native), cmp.AllowUnexported(Reference{}, refPair{})); diff != "" {
		t.Error(diff)
	}
}

func TestLDDTAllocatesNothing(t *testing.T) {
	native := load(t, "1ubi").Chains[0].Centres()
	model, ref, per := bent(native), NewReference(native), make([]float64, len(native))
	if n := testing.AllocsPerRun(20, func() { ref.LDDT(model, per) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestGrid(t *testing.T) {
	p := append(walk(300), Vec{math.NaN(), 0, 0}, Vec{math.Inf(1), 0, 0}, Vec{1e300, 0, 0}, Vec{-1e300, 5, 5})
	for _, cell := range []float64{0.5, 6, 1000, 0, math.NaN()} {
		g := NewGrid(p, cell)
		for _, radius := range []float64{0, 3, 12, 500} {
			for i := range p {
				var want []int
				for j := range p {
					if distance2(p[j], p[i]) <= radius*radius {
						want = append(want, j)
					}
				}
				if !finite(p[i]) {
					want = nil
				}
				if diff := cmp.Diff(want, g.Near(nil, p[i], radius)); diff != "" {
					t.Fatalf("cell %v, radius %v, point %d: %s", cell, radius, i, diff)
				}
			}
		}
	}
	if got := new(Grid).Near(nil, Vec{}, 5); got != nil {
		t.Errorf("an empty grid finds %v", got)
	}
	want := []Contact{{0, 1, 2}, {1, 0, 1}}
	a, b := []Vec{{0, 0, 0}, {10, 0, 0}}, []Vec{{11, 0, 0}, {0, 2, 0}}
	if diff := cmp.Diff(want, slices.Collect(Contacts(a, b, 3))); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkLDDT(b *testing.B) {
	native := load(b, "1ubi").Chains[0].Centres()
	model, ref, per := bent(native), NewReference(native), make([]float64, len(native))
	b.ReportAllocs()
	for b.Loop() {
		ref.LDDT(model, per)
	}
}

func BenchmarkTMScore(b *testing.B) {
	native := load(b, "1ubi").Chains[0].Centres()
	model := bent(native)
	for b.Loop() {
		TMScore(model, native)
	}
}

func BenchmarkTMScore1000(b *testing.B) {
	native := walk(1000)
	model := bent(native)
	for b.Loop() {
		TMScore(model, native)
	}
}
