package calvados

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"pleat/internal/structure"
)

// turned is x rotated about an axis and shifted.
func turned(x []vec, r *noise) []vec {
	a, b, c := 6*r.uniform(), 6*r.uniform(), 6*r.uniform()
	out := make([]vec, len(x))
	for i, p := range x {
		y := vec{p[0]*math.Cos(a) - p[1]*math.Sin(a), p[0]*math.Sin(a) + p[1]*math.Cos(a), p[2]}
		z := vec{y[0], y[1]*math.Cos(b) - y[2]*math.Sin(b), y[1]*math.Sin(b) + y[2]*math.Cos(b)}
		out[i] = vec{z[0] + c, z[1] - c, z[2] + 2*c}
	}
	return out
}

func opened(tb testing.TB, s *System, frames [][]vec) *Trajectory {
	tb.Helper()
	b := dcdHead(s.Len(), int64(len(frames)), s.params.Every(), s.params.Step)
	for _, x := range frames {
		b = appendFrame(b, x, s.params.Box)
	}
	tr, err := OpenTrajectory(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		tb.Fatal(err)
	}
	return tr
}

// A structure that tumbles and of which one bead swings between two places: everything about it can be worked out by
// hand.
func TestAnalyseSwing(t *testing.T) {
	r := newNoise(21)
	p := Defaults()
	p.Preset = SingleGo
	const n, swing = 60, 0.3
	s := mustSystem(t, p, randomFold(&r, []int{n}))
	var frames [][]vec
	for k := range 40 {
		x := s.Start()
		if k%4 != 0 {
			x[17][1] += swing
		}
		frames = append(frames, turned(x, &r))
	}
	a, err := Analyse(t.Context(), s, opened(t, s, frames))
	if err != nil {
		t.Fatal(err)
	}
	if len(a.TimesNs) != 40 || a.TimesNs[0] != 0.01 || a.TimesNs[39] != 0.4 {
		t.Errorf("times %v", a.TimesNs)
	}
	// One bead off by δ among n: superposition takes back about a 1/n of δ² by shifting and a little by turning.
	for k, v := range a.RMSDNm {
		if k%4 == 0 && v > 1e-5 {
			t.Errorf("frame %d is the start turned, and has RMSD %v", k, v)
		}
		if limit := swing / math.Sqrt(n); k%4 != 0 && (v > limit || v < 0.85*limit) {
			t.Errorf("frame %d has RMSD %v, want just under %v", k, v, limit)
		}
	}
	// In place ¾ of the time: √(¾·¼)·δ about its mean.
	if want := swing * math.Sqrt(3.0/16); math.Abs(a.RMSFNm[17]-want) > 0.05*want {
		t.Errorf("RMSF of what swings is %v, want about %v", a.RMSFNm[17], want)
	}
	for i, v := range a.RMSFNm {
		if i != 17 && v > 0.03 {
			t.Errorf("RMSF of bead %d is %v, and it hardly moves", i, v)
		}
	}
	if a.PCShare[0] < 0.99 {
		t.Errorf("the first component of one swing holds %v of it", a.PCShare[0])
	}
	if d := math.Abs(a.PC1Nm[1] - a.PC1Nm[0]); math.Abs(d-swing) > 0.05*swing {
		t.Errorf("along the first component the swing is %v nm, want about %v", d, swing)
	}
	// ¾ against ¼ of the frames: RT ln 3 between the two.
	var depths []float64
	for _, e := range a.ByPC.Energy {
		if !math.IsInf(e, 1) {
			depths = append(depths, e)
		}
	}
	lowest, highest := math.Inf(1), 0.0
	for _, e := range depths {
		lowest, highest = min(lowest, e), max(highest, e)
	}
	if lowest != 0 {
		t.Errorf("the landscape's lowest bin is at %v", lowest)
	}
	if e := s.distance(s.Start(), 0, n-1); math.Abs(a.EndToEndNm[0]-e) > 1e-5 {
		t.Errorf("end-to-end %v, want %v", a.EndToEndNm[0], e)
	}
}

func TestGyration(t *testing.T) {
	s := mustSystem(t, Defaults(), mustSequence(t, "GGGG"))
	m := s.Masses() // 57.05+2, 57.05, 57.05, 57.05+16
	x := []structure.Vec{{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}}
	var mid, total, want float64
	for i, w := range m {
		mid, total = mid+w*x[i][0], total+w
	}
	for i, w := range m {
		want += w / total * (x[i][0] - mid/total) * (x[i][0] - mid/total)
	}
	if got := gyration(m, x); math.Abs(got-math.Sqrt(want)) > 1e-12 {
		t.Errorf("radius of gyration %v, want %v", got, math.Sqrt(want))
	}
}

func TestLandscape(t *testing.T) {
	x := []float64{0, 0, 0, 1, 1}
	l := NewLandscape("x", x, "y", []float64{2, 2, 2, 2, 2}, 2.5)
	if l.X.Bins != 5 || l.Y.Bins != 5 || !(l.Y.Min < 2 && l.Y.Max > 2) {
		t.Fatalf("%+v", l)
	}
	row := l.Y.bin(2)
	if a, b := l.Energy[row*5], l.Energy[row*5+4]; a != 0 || math.Abs(b-2.5*math.Log(1.5)) > 1e-12 {
		t.Errorf("energies %v and %v, want 0 and kT ln 3/2", a, b)
	}
	b, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	var back Landscape
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	for i := range l.Energy {
		if back.Energy[i] != l.Energy[i] {
			t.Errorf("bin %d: %v comes back as %v", i, l.Energy[i], back.Energy[i])
		}
	}
}

// The components found step by step are those of a full decomposition.
func TestPrincipal(t *testing.T) {
	r := newNoise(3)
	for _, size := range [][2]int{{200, 30}, {8, 60}, {2, 9}, {1, 6}, {40, 4}} {
		x := mat.NewDense(size[0], size[1], nil)
		for i := range size[0] {
			for j := range size[1] {
				x.Set(i, j, r.gauss()*math.Exp(-float64(j)/3))
			}
		}
		var svd mat.SVD
		svd.Factorize(x, mat.SVDThin)
		values := append(svd.Values(nil), 0)
		var v mat.Dense
		svd.VTo(&v)
		total := 0.0
		for _, s := range values {
			total += s * s
		}
		axes, share, err := principal(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		for k := range 2 {
			if want := values[k] * values[k] / total; math.Abs(share[k]-want) > 1e-6 {
				t.Errorf("%v: share %d is %v, want %v", size, k, share[k], want)
			}
			if values[k] < 1e-9 {
				continue
			}
			dot := 0.0
			for j := range axes[k] {
				dot += axes[k][j] * v.At(j, k)
			}
			if math.Abs(dot) < 1-1e-4 {
				t.Errorf("%v: axis %d is %v from the right one", size, k, math.Acos(math.Abs(dot)))
			}
		}
	}
	if _, share, err := principal(context.Background(), mat.NewDense(3, 6, nil)); err != nil || share != [2]float64{} {
		t.Errorf("of no motion: %v, %v", share, err)
	}
}

func TestStatistic(t *testing.T) {
	r := newNoise(5)
	v := make([]float64, 1<<14)
	for i := range v { // each like the one before: a memory of about 20
		if v[i] = r.gauss() * math.Sqrt(1-0.9*0.9); i > 0 {
			v[i] += 0.9 * v[i-1]
		}
	}
	s := NewStatistic(v)
	want := math.Sqrt(19.0 / float64(len(v)))
	if math.Abs(s.SD-1) > 0.05 || s.Error < 0.7*want || s.Error > 1.6*want || math.Abs(s.Mean) > 4*want {
		t.Errorf("%+v, want a standard error of about %v", s, want)
	}
	if s := NewStatistic([]float64{1, 2}); s.Mean != 1.5 || !math.IsNaN(s.Error) {
		t.Errorf("%+v of two values", s)
	}
	if s := NewStatistic(nil); !math.IsNaN(s.Mean) {
		t.Errorf("%+v of none", s)
	}
}

func TestAnalyseRefuses(t *testing.T) {
	s := mustSystem(t, Defaults(), mustSequence(t, "GGGG"))
	if _, err := Analyse(t.Context(), s, opened(t, s, nil)); err == nil {
		t.Error("a trajectory without frames was analysed")
	}
	other := mustSystem(t, Defaults(), mustSequence(t, "GGGGG"))
	if _, err := Analyse(t.Context(), other, opened(t, s, [][]vec{s.Start()})); err == nil {
		t.Error("another system's trajectory was analysed")
	}
	a, err := Analyse(t.Context(), s, opened(t, s, [][]vec{s.Start()}))
	if err != nil || a.RMSDNm[0] > 1e-6 {
		t.Errorf("one frame: %v, %v", a, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Analyse(ctx, s, opened(t, s, [][]vec{s.Start()})); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
