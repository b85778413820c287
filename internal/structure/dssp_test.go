package structure

import (
	"strings"
	"testing"
	"time"
)

// States of mkdssp 4.2.2 (PDB-REDO), its P written as coil.
var mkdssp = map[string]string{
	"1ubi": "-EEEEEETTS-EEEEE--TT-BHHHHHHHHHHHH---GGGEEEEETTEE--TTSBGGGGT--TT-EEEEEE--S--",
	"1crn": "-EE-SSHHHHHHHHHHHTTT--HHHHHHHHS-EE-SSS---GGG--",
	"2jof": "-HHHHHHHHTGGGG------",
}

// statesOf returns the states of all residues.
func statesOf(t *testing.T, s *Structure) [][]byte {
	t.Helper()
	states, err := s.SecondaryStructure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return states
}

func TestDSSPAgainstMkdssp(t *testing.T) {
	for name, want := range mkdssp {
		if got := string(statesOf(t, load(t, name))[0]); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

func TestDSSPBreaks(t *testing.T) {
	s := load(t, "1ubi")
	c := &s.Chains[0]
	c.Residues = append(c.Residues[:27:27], c.Residues[30:]...) // within the helix
	got := string(statesOf(t, s)[0])
	if !strings.Contains(got[20:34], "-") || strings.Contains(got[20:34], "HHHHHHHHH") {
		t.Errorf("the helix runs over a break: %s", got)
	}
	c.Residues[10].Atoms = c.Residues[10].Atoms[:2] // no C, no O
	if states := statesOf(t, s)[0]; states[10] != 0 {
		t.Errorf("a residue without main chain has the state %c", states[10])
	}
	if got, err := newDSSP(t.Context(), nil); err != nil || len(got.state) != 0 {
		t.Errorf("without residues: %q, %v", got.state, err)
	}
}

func TestSheets(t *testing.T) {
	helices, strands := load(t, "1ubi").secondaryRuns()
	if len(helices) != 3 || len(strands) != 5 {
		t.Fatalf("%d helices and %d strands, want 3 and 5", len(helices), len(strands))
	}
	for _, r := range strands {
		if r.sheet != 0 {
			t.Errorf("strand %d–%d is of sheet %d; ubiquitin has one", r.from, r.to, r.sheet)
		}
	}
}

func TestThreeState(t *testing.T) {
	out := []byte{}
	for _, s := range []byte("HGIEBTS-") {
		out = append(out, ThreeState(s))
	}
	if string(out) != "HHHEE---" {
		t.Errorf("got %s", out)
	}
}

// A file may put everything in one place, or in two.
func TestDSSPCrowded(t *testing.T) {
	bb := make([]Backbone, 30000)
	for i := range bb {
		x := float64(i % 2 * 10)
		bb[i] = Backbone{N: Vec{x, 0, 0}, CA: Vec{x, 0, 0}, C: Vec{x, 0, 0}, O: Vec{x, 0, 0}}
	}
	start := time.Now()
	if _, err := newDSSP(t.Context(), bb); err != nil {
		t.Fatal(err)
	}
	// 2.4 s alone and without the race detector; a search of all pairs takes many minutes
	if d := time.Since(start); d > 90*time.Second {
		t.Errorf("took %v", d)
	}
}
