package compare

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"pleat/internal/mini"
	"pleat/internal/structure"
)

// folded returns what mini predicts for a sequence.
func folded(t *testing.T, sequence string, seed uint64) *structure.Structure {
	t.Helper()
	r, err := mini.Fold(t.Context(), sequence, mini.Options{Seed: seed, Workers: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Chain.ID = "A"
	return &structure.Structure{Chains: []structure.Chain{r.Chain}}
}

// peerPairs returns the pairs that TestPeerFiles writes, the reference first.
func peerPairs(t *testing.T) map[string][2]*structure.Structure {
	t.Helper()
	turn, shift := structure.Vec{1, -2, 0.5}, structure.Vec{30, -12, 7}
	ubi, two, copies := only(ubiquitin(t), 0, "A"), read(t, "../analyst/testdata/dimer.pdb"), dimer(t)
	cut := only(ubi, 0, "A")
	cut.Chains[0].Residues = append(append([]structure.Residue{}, cut.Chains[0].Residues[3:20]...),
		cut.Chains[0].Residues[26:]...)
	cage := only(read(t, "../structure/testdata/2jof.pdb"), 0, "A")
	exchanged := rotated(perturbed(copies, 0.7), turn, shift)
	exchanged.Chains[0].ID, exchanged.Chains[1].ID = "B", "A"
	exchanged.Chains[0], exchanged.Chains[1] = exchanged.Chains[1], exchanged.Chains[0]
	misplaced := joined(only(two, 0, "A"), rotated(only(two, 1, "B"), structure.Vec{0.03, 0.05, 0},
		structure.Vec{0.5, 1, 0.5}))
	wrong := joined(only(two, 0, "A"), rotated(only(two, 1, "B"), structure.Vec{2, 1, 0}, structure.Vec{20, 0, 0}))
	predicted := folded(t, cage.Chains[0].Sequence(), 1)
	return map[string][2]*structure.Structure{
		"crambin-slightly":  {only(crambin(t), 0, "A"), rotated(perturbed(only(crambin(t), 0, "A"), 0.4), turn, shift)},
		"ubiquitin-much":    {ubi, rotated(perturbed(ubi, 2), turn, shift)},
		"ubiquitin-cut":     {ubi, rotated(perturbed(cut, 0.8), turn, shift)},
		"mini-seeds":        {predicted, folded(t, cage.Chains[0].Sequence(), 2)},
		"mini-native":       {cage, predicted},
		"dimer-slightly":    {two, rotated(perturbed(two, 1), turn, shift)},
		"dimer-exchanged":   {copies, exchanged},
		"dimer-misplaced":   {two, rotated(misplaced, turn, shift)},
		"dimer-wrong":       {two, rotated(perturbed(wrong, 0.5), turn, shift)},
		"dimer-with-extras": {two, joined(rotated(perturbed(two, 1.2), turn, shift), only(crambin(t), 0, "C"))},
	}
}

// TestPeerFiles writes pairs of structures into the folder that PLEAT_TEST_COMPARE names, with their comparison, for
// programs that are to compute the same: scripts/test-compare.
func TestPeerFiles(t *testing.T) {
	dir := os.Getenv("PLEAT_TEST_COMPARE")
	if dir == "" {
		t.Skip("make test-compare computes the same values with gemmi, tmtools, biotite and DockQ")
	}
	for name, pair := range peerPairs(t) {
		var in []Input
		for i, s := range pair {
			var b bytes.Buffer
			if err := structure.WritePDB(&b, s, structure.Meta{Title: name, Experimental: true}); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, name+"-"+string(rune('a'+i))+".pdb")
			if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			in = append(in, Input{Name: name, Structure: read(t, file)}) // as rounded in the file
		}
		out, err := compareAll(t.Context(), in, 1)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(out)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".json"), text, 0o600)
		}
		if err != nil || math.IsNaN(*out.Pairs[0].RMSD) {
			t.Fatal(err)
		}
	}
}
