package design

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
)

var update = flag.Bool("update", false, "write the golden files anew")

// backboneFiles returns the spec and the structure that the engine of pleat.SequenceOnly gets.
func backboneFiles(t *testing.T, file string, text []byte, fields string) (spec, structure string) {
	t.Helper()
	files := map[string][]byte{file: text}
	s, err := ReadSpec("x.yaml", []byte("entities:\n- file: {path: "+file+", "+fields+"}\n"), files)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.EngineFiles(pleat.SequenceOnly, files)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Path != "spec.yaml" || got[1].Path != "structure-1.cif" || got[1].Name != file {
		t.Fatalf("%+v", got)
	}
	return string(got[0].Text), string(got[1].Text)
}

// The tests of the runner of ProteinMPNN read the same files. What each has is in runners/proteinmpnn/tests.
func TestBackboneFiles(t *testing.T) {
	const include = "include: [{chain: {id: A}}, {chain: {id: B}}]"
	for _, c := range []struct{ file, fields string }{
		{"testdata/gaps.pdb", include + ", design: [{chain: {id: A, res_index: 3..}}]"},
		{"../analyst/testdata/ligand.pdb", "design: [{chain: {id: A}}]"},
	} {
		text, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		_, got := backboneFiles(t, filepath.Base(c.file), text, c.fields)
		golden := strings.TrimSuffix(filepath.Base(c.file), ".pdb") + ".cif"
		golden = filepath.Join("..", "..", "runners", "vectors", "backbones", golden)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s:\n%s", golden, d)
		}
	}
}

// The spec for the engine has the selection alone: a chain that is not included is not in the file.
func TestBackboneSpec(t *testing.T) {
	const design = `design: [{chain: {id: B, res_index: "2..5,9"}}]`
	spec, text := backboneFiles(t, "target.cif", target, "include: [{chain: {id: B}}], "+design)
	const want = `{"entities":[{"file":{"design":[{"chain":{"id":"B","res_index":"2..5,9"}}],` +
		`"path":"structure-1.cif"}}]}`
	if got := strings.Join(strings.Fields(spec), ""); got != want {
		t.Errorf("%s", got)
	}
	if strings.Contains(text, " A ") || !strings.Contains(text, " B ") {
		t.Errorf("the file has the chain A, or not B")
	}
	s, err := ReadSpec("x.yaml", []byte(binder), map[string][]byte{"target.cif": target})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.EngineFiles(pleat.SequenceOnly, nil); pleat.CodeOf(err) != pleat.CodeInvalid {
		t.Errorf("a design of a binder: %v", err)
	}
	other, err := s.EngineFiles("protein-anything", nil)
	if err != nil || len(other) != 2 || other[1].Text != nil || !bytes.Equal(other[0].Text, s.Engine()[0].Text) {
		t.Errorf("%+v, %v", other, err)
	}
}
