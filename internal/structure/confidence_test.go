package structure

import (
	"math"
	"testing"
)

func uniform(n int, e float32) Matrix {
	m := Matrix{N: n, V: make([]float32, n*n)}
	for i := range m.V {
		m.V[i] = e
	}
	return m
}

func TestPTM(t *testing.T) {
	d0 := 1.24*math.Pow(100-15, 1.0/3) - 1.8
	near(t, "no error", PTM(uniform(100, 0)), 1, 1e-12)
	near(t, "an error of d0", PTM(uniform(100, float32(d0))), 0.5, 1e-6)
	short := 1.24*math.Pow(4, 1.0/3) - 1.8 // 19 residues at least
	near(t, "a short chain", PTM(uniform(5, float32(short))), 0.5, 1e-6)
	m := uniform(100, 30)
	for j := range 100 {
		m.V[7*100+j] = 0
	}
	near(t, "one good row", PTM(m), 1, 1e-12)
	for i := range 100 { // a column is not a row
		m.V[7*100+i], m.V[i*100+7] = 30, 0
	}
	if got := PTM(m); got > 0.1 {
		t.Errorf("one good column gives %v", got)
	}
	if got := PTM(Matrix{}); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// crambin and trp-cage side by side, with made-up confidence.
func sideBySide(t *testing.T) *Complex {
	a, b := load(t, "1crn").Chains[0], load(t, "2jof").Chains[0]
	move := sub(Centroid(a.Centres()), Centroid(b.Centres()))
	c := &Complex{}
	for k, chain := range []Chain{a, b} {
		for j := range chain.Residues {
			v, ok := chain.Residues[j].Beta()
			if !ok {
				t.Fatal("a residue without CB and CA")
			}
			if k == 1 {
				for x := range v {
					v[x] = math.Round((v[x]+move[x])*1000) / 1000
				}
				v[0] += 16
			}
			c.Beta = append(c.Beta, v)
			c.Chain = append(c.Chain, k)
			c.PLDDT = append(c.PLDDT, float64(50+len(c.PLDDT)*13%50))
		}
	}
	n := len(c.Chain)
	c.PAE = Matrix{N: n, V: make([]float32, n*n)}
	for i := range n {
		for j := range n {
			c.PAE.V[i*n+j] = float32((i*37+j*91+i*j)%200) / 10
		}
	}
	return c
}

// Values of ipsae.py (DunbrackLab/IPSAE, commit 6174cf9) with the cutoffs 10 and
// 15; its program prints four to six decimals.
func TestInterfacesAgainstIPSAE(t *testing.T) {
	got := sideBySide(t).Interfaces()
	if len(got) != 1 || got[0].A != 0 || got[0].B != 1 {
		t.Fatalf("pairs: %+v", got)
	}
	near(t, "ipSAE A→B", got[0].IPSAEAB, 0.436576, 6e-7)
	near(t, "ipSAE B→A", got[0].IPSAEBA, 0.197979, 6e-7)
	near(t, "ipSAE", got[0].IPSAE, 0.436576, 6e-7)
	near(t, "ipTM", got[0].IPTM, 0.372124, 6e-7)
	near(t, "pDockQ", got[0].PDockQ, 0.1557, 6e-5)
	near(t, "pDockQ2 A→B", got[0].PDockQ2AB, 0.0534, 6e-5)
	near(t, "pDockQ2 B→A", got[0].PDockQ2BA, 0.0435, 6e-5)
}

func TestInterfacesConstructed(t *testing.T) {
	// Two chains of two residues: three of the four pairs are within 8 Å.
	c := &Complex{Chain: []int{7, 7, 3, 3}, PLDDT: []float64{90, 80, 70, 60}, PAE: uniform(4, 5),
		Beta: []Vec{{0, 0, 0}, {4, 0, 0}, {8, 0, 0}, {12, 0, 0}}}
	got := c.Interfaces()[0]
	if got.A != 7 || got.B != 3 || got.Contacts != 3 || got.MinPAE != 5 {
		t.Errorf("got %+v", got)
	}
	near(t, "ipSAE", got.IPSAE, 1.0/26, 1e-9) // d0 is 1 Å
	x := 75 * math.Log10(3)
	near(t, "pDockQ", got.PDockQ, 0.724/(1+math.Exp(-0.052*(x-152.611)))+0.018, 1e-12)
	x = 75 / 1.25
	near(t, "pDockQ2", got.PDockQ2, 1.31/(1+math.Exp(-0.075*(x-84.733)))+0.005, 1e-12)

	c.Nucleic = []bool{false, false, true, true}
	near(t, "ipSAE with RNA", c.Interfaces()[0].IPSAE, 1/(1+2.5*2.5), 1e-9)

	c.Beta[2], c.Beta[3], c.PAE = Vec{50, 0, 0}, Vec{60, 0, 0}, uniform(4, 10)
	if got := c.Interfaces()[0]; got.IPSAE != 0 || got.PDockQ != 0 || got.PDockQ2 != 0 || got.Contacts != 0 {
		t.Errorf("apart, and no error under the cutoff: %+v", got)
	}
	c.PAE = Matrix{}
	if got := c.Interfaces()[0]; got.IPTM != 0 || got.MinPAE != 0 {
		t.Errorf("without errors: %+v", got)
	}
}
