package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pleat/internal/mini/local"
)

// helixAndStrand writes two made-up chains: an ideal helix of alanines and an ideal strand of valines.
func helixAndStrand(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, c := range []struct {
		id, aa   string
		phi, psi float64
	}{{"helix", "A", -63, -42}, {"strand", "V", -120, 135}} {
		b.WriteString(">" + c.id + "\n" + strings.Repeat(c.aa, 30) + "\n")
		b.WriteString(rows(30, c.phi, c.psi))
	}
	path := filepath.Join(t.TempDir(), "chains.txt")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestChainsAreReadWithTheirTorsionsAndStates(t *testing.T) {
	chains, err := readChains(helixAndStrand(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(chains) != 2 || chains[0].id != "helix" || len(chains[0].aa) != 30 {
		t.Fatalf("read %d chains", len(chains))
	}
	h, s := chains[0], chains[1]
	if math.Abs(h.phi[10]+63) > 0.5 || math.Abs(h.psi[10]+42) > 0.5 || math.Abs(s.phi[10]+120) > 0.5 {
		t.Errorf("torsions %g %g %g", h.phi[10], h.psi[10], s.phi[10])
	}
	if h.state[10] != local.Helix {
		t.Errorf("the middle of the helix is in state %d", h.state[10])
	}
	if s.state[10] != local.Beta { // a lone strand has no partner
		t.Errorf("the middle of the strand is in state %d", s.state[10])
	}
	if h.state[0] != -1 || h.state[29] != -1 {
		t.Error("the ends have a state without their torsions")
	}
}

func TestReadingRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{">a\nAXA\n", "line 2: a letter that is not a standard residue"},
		{">a\nAA\n1 2 3 4 5 6 7 8 9 10 11 12\n", "a has 2 letters and 1 rows"},
		{">a\nA\n1 2 3 4 5 6 7 8 9 10 11 x\n", "line 3"},
		{">a", "no sequence after the name"},
	} {
		path := filepath.Join(t.TempDir(), "chains.txt")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readChains(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

func TestTrainingLearnsAndRepeatsItself(t *testing.T) {
	chains, err := readChains(helixAndStrand(t))
	if err != nil {
		t.Fatal(err)
	}
	clusters := []local.Cluster{{
		State:    local.Helix,
		Phi:      -63,
		Psi:      -42,
		SigmaPhi: 8,
		SigmaPsi: 8,
	}, {State: local.Alpha, Phi: -80, Psi: -20, SigmaPhi: 8, SigmaPsi: 8},
		{State: local.Beta, Phi: -120, Psi: 135, SigmaPhi: 20, SigmaPsi: 20}}
	s := local.Shape{Half: 2, Full: 1, Coarse: 1, Hidden: 8, K: len(clusters)}
	l := learning{epochs: 60, rate: 0.01, batch: 8, dropIn: 0.1, dropHistory: 0.3, dropHidden: 0.1, substitute: 0.1}
	var files [2][]byte
	for k := range files {
		var lessons []lesson
		for _, c := range chains {
			c.weight = 1
			a := assign(c, clusters)
			for i := range a {
				if a[i] >= 0 {
					lessons = append(lessons, lesson{c, a, i})
				}
			}
		}
		m := &local.Model{Shape: s, Clusters: clusters, Nets: []local.Net{train(s, l, lessons, clusters, 5)}}
		m.Init()
		r := m.Read(chains[0].aa)
		if p := r.Predict(assign(chains[0], clusters), 15, 1); p[0] < 0.8 {
			t.Errorf("helix in the middle of alanines has probability %.2f", p[0])
		}
		r = m.Read(chains[1].aa)
		if p := r.Predict(assign(chains[1], clusters), 15, 1); p[2] < 0.8 {
			t.Errorf("extended in the middle of valines has probability %.2f", p[2])
		}
		if files[k], err = local.Encode(m); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the same training gave other weights")
	}
}

func TestSubstitutesAreLikely(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	count := map[byte]int{}
	for range 4000 {
		count[local.Letters[substitute(rng, strings.IndexByte(local.Letters, 'I'))]]++
	}
	if count['V'] < 4*count['D'] || count['V'] < 400 || count['I'] > 0 {
		t.Errorf("isoleucine gave %d valines, %d aspartates, %d isoleucines", count['V'], count['D'], count['I'])
	}
}
