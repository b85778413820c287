package local

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// toy is a small model with random weights that 8 bits hold exactly enough.
func toy() *Model {
	rng := rand.New(rand.NewPCG(1, 2))
	m := &Model{Shape: Shape{Half: 2, Full: 1, Coarse: 1, Hidden: 5, K: 3}, Clusters: []Cluster{
		{State: Helix, Phi: -63, Psi: -42, SigmaPhi: 8, SigmaPsi: 8, Rho: -0.5},
		{State: Strand, Phi: -120, Psi: 135, SigmaPhi: 20, SigmaPsi: 15, Rho: 0.2},
		{State: Left, Phi: 178, Psi: 10, SigmaPhi: 10, SigmaPsi: 10},
	}}
	fill := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return v
	}
	for range 2 {
		m.Nets = append(m.Nets, Net{fill(m.Rows() * m.Hidden), fill(m.Hidden), fill(m.Hidden * m.K), fill(m.K)})
	}
	m.Init()
	return m
}

func TestFileKeepsTheModel(t *testing.T) {
	m := toy()
	data, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m.Shape, back.Shape) + cmp.Diff(m.Clusters, back.Clusters); d != "" {
		t.Error(d)
	}
	for k := range m.Nets {
		for i, w := range m.Nets[k].In {
			if math.Abs(float64(w-back.Nets[k].In[i])) > 0.02 { // 8 bits of the row's largest, about 2.5
				t.Fatalf("net %d weight %d: %g became %g", k, i, w, back.Nets[k].In[i])
			}
		}
	}
	again, err := Encode(back)
	if err != nil {
		t.Fatal(err)
	}
	if third, err := Decode(again); err != nil || cmp.Diff(back.Nets, third.Nets) != "" {
		t.Errorf("a second passage through the file changes the weights (%v)", err)
	}
	for _, cut := range []int{0, 10, len(data) / 2, len(data) - 9} {
		if _, err := Decode(data[:cut]); err == nil {
			t.Errorf("a file cut at %d of %d bytes was read", cut, len(data))
		}
	}
}

func TestPredictIsADistributionThatHeedsHistory(t *testing.T) {
	m := toy()
	aa, _ := Index("ACDEFGHIKL")
	r := m.Read(aa)
	history := make([]int8, len(aa))
	for i := range aa {
		sum := 0.0
		for _, p := range r.Predict(history, i, 1) {
			sum += p
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("probabilities at %d sum to %g", i, sum)
		}
	}
	a := append([]float64{}, r.Predict([]int8{0, 0, 0, 0, 0, 0}, 5, 1)...)
	b := append([]float64{}, r.Predict([]int8{0, 0, 0, 0, 1, 0}, 5, 1)...)
	c := append([]float64{}, r.Predict([]int8{0, 0, 0, 0, 0, 2}, 5, 1)...)
	if cmp.Equal(a, b) {
		t.Error("the residue before has no say")
	}
	if !cmp.Equal(a, c) {
		t.Error("a cluster not yet drawn has a say")
	}
}

func TestDrawsFollowTheClusters(t *testing.T) {
	m := toy()
	aa, _ := Index("ACDEFGHIKLMNPQRSTVWY")
	r := m.Read(aa)
	one := r.Draw(rand.New(rand.NewPCG(3, 4)), 1)
	if d := cmp.Diff(one, m.Read(aa).Draw(rand.New(rand.NewPCG(3, 4)), 1)); d != "" {
		t.Errorf("the same seed drew another chain:\n%s", d)
	}
	for k := range uint64(50) {
		c := r.Draw(rand.New(rand.NewPCG(k, 4)), 1)
		for i, x := range c.Cluster {
			cl := m.Clusters[x]
			if a, b := math.Abs(Wrap(c.Phi[i]-cl.Phi)), math.Abs(Wrap(c.Psi[i]-cl.Psi)); a > 3*cl.SigmaPhi ||
				b > 3*cl.SigmaPsi {
				t.Errorf("%.0f, %.0f drawn for the cluster at %.0f, %.0f", c.Phi[i], c.Psi[i], cl.Phi, cl.Psi)
			}
			if c.Phi[i] <= -180 || c.Phi[i] > 180 || c.Psi[i] <= -180 || c.Psi[i] > 180 {
				t.Errorf("angles %g, %g out of range", c.Phi[i], c.Psi[i])
			}
		}
	}
}

func TestDensityIsNormalised(t *testing.T) {
	for _, c := range toy().Clusters {
		sum := 0.0
		for phi := -180.0; phi < 180; phi += 2 {
			for psi := -180.0; psi < 180; psi += 2 {
				sum += 4 * c.Density(phi, psi)
			}
		}
		if math.Abs(sum-1) > 0.01 {
			t.Errorf("the density of the cluster at %.0f, %.0f integrates to %g", c.Phi, c.Psi, sum)
		}
	}
}

func TestIndexRefusesOtherLetters(t *testing.T) {
	if _, ok := Index("ACDX"); ok {
		t.Error("X was taken")
	}
	if _, ok := Index("acd"); ok {
		t.Error("lower case was taken")
	}
	if aa, ok := Index(Letters); !ok || aa[0] != 0 || aa[19] != 19 {
		t.Errorf("the letters themselves gave %v, %v", aa, ok)
	}
}
