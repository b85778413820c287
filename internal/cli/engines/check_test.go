package engines

import (
	"os"
	"path/filepath"
	"testing"

	"pleat"
	"pleat/internal/flow"
	"pleat/internal/structure"
)

// An engine for dynamics gets a structure that it can read, and 2 ps of every atom to simulate.
func TestCheckOfDynamics(t *testing.T) {
	dir := t.TempDir()
	w := pleat.Work{Kind: pleat.TaskMD, Model: pleat.Model{Name: "openmm", Kind: pleat.TaskMD}, Dir: dir}
	_, err := checkMD(&w)
	if err != nil || w.MD == nil || w.Fold != nil || w.QnA != nil {
		t.Fatalf("%+v %v", w, err)
	}
	if w.MD.Preset != flow.PresetAllAtom || w.MD.LengthNs != 0.002 || w.MD.Seed != 1 {
		t.Errorf("%+v", w.MD)
	}
	in, err := os.Open(filepath.Join(dir, w.MD.File))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	s, err := structure.ReadPDB(in, structure.Limits{})
	if err != nil || len(s.Chains) != 1 || len(s.Chains[0].Residues) != len(checkHairpin) {
		t.Errorf("%+v %v", s, err)
	}
}
