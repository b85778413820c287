package structure

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestModelCIFFiles writes models of several kinds for scripts/test-modelcif, which checks them with python-ihm,
// python-modelcif and gemmi against the dictionaries.
func TestModelCIFFiles(t *testing.T) {
	dir := os.Getenv("PLEAT_TEST_MODELCIF")
	if dir == "" {
		t.Skip("make test-modelcif checks the files")
	}
	s, full := predicted()
	full.Components = map[string]string{"LIG": "component of the job, SMILES C/C=C\\C'", "SEP": "component of the job"}
	full.SMILES = map[string]string{"LIG": "C/C=C\\C"}
	bare := Meta{PLDDT: full.PLDDT}
	alone := &Structure{Chains: s.Chains[:1]}
	for name, file := range map[string]struct {
		s *Structure
		m Meta
	}{
		"full":  {s, full},
		"bare":  {s, bare},
		"none":  {s, Meta{}},
		"rmsd":  {s, Meta{PredictedRMSD: full.PLDDT}},
		"alone": {alone, Meta{PLDDT: full.PLDDT[:1], PTM: full.PTM, IPTM: full.PTM}},
	} {
		var out bytes.Buffer
		if err := WriteCIF(&out, file.s, file.m); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".cif"), out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
