package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat/internal/structure"
)

// viewed returns a structure of two proteins and a ligand that touch, with confidence of every band and chains of these
// ids and names.
func viewed(ids, names [3]string) *structure.Structure {
	atom := func(name, element string, at structure.Vec, b float64) structure.Atom {
		return structure.Atom{Name: name, Element: element, Pos: at, B: b, Occupancy: 1}
	}
	residue := func(n int, x, y, b float64) structure.Residue {
		return structure.Residue{Comp: "ALA", Seq: n, Auth: n, Atoms: []structure.Atom{
			atom("N", "N", structure.Vec{x - 1.2, y, 0.5}, b), atom("CA", "C", structure.Vec{x, y, 0}, b),
			atom("C", "C", structure.Vec{x + 1.2, y, 0.5}, b),
		}}
	}
	first := structure.Chain{ID: ids[0], Name: names[0], Kind: structure.Protein, Entity: 1}
	for i, b := range []float64{95, 95, 90, 70.5, 60, 50, 20} {
		first.Residues = append(first.Residues, residue(i+1, 3.8*float64(i), 0, b))
	}
	second := structure.Chain{ID: ids[1], Name: names[1], Kind: structure.Protein, Entity: 2}
	second.Residues = []structure.Residue{residue(1, 0, 4, 99), residue(2, 0, 14, 40)}
	ligand := structure.Chain{ID: ids[2], Name: names[2], Kind: structure.Ligand, Entity: 3}
	ligand.Residues = []structure.Residue{{Comp: "LIG", Auth: 1, Het: true, Atoms: []structure.Atom{
		atom("C1", "C", structure.Vec{22.8, 3, 0}, 80), atom("O1", "O", structure.Vec{22.8, 4.4, 0}, 80),
	}}}
	return &structure.Structure{Title: "A pair", Chains: []structure.Chain{first, second, ligand}}
}

// plainView is the view of a structure with usual names.
func plainView(t *testing.T, plddt bool) *View {
	t.Helper()
	s := viewed([3]string{"A", "B", "L"}, [3]string{"bait", "", "a ligand"})
	v, err := NewView(t.Context(), s, ViewOptions{Source: "model.cif", PLDDT: plddt})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A residue is in the band of the AlphaFold database whose lower limit it exceeds.
func TestViewBands(t *testing.T) {
	text := string(plainView(t, true).ChimeraX())
	for _, want := range []string{
		"color /A:1-2 #0053d6\n", "color /B:1 #0053d6\n", "color /A:3-4 #65cbf3\n", "color /A:5 #ffdb13\n",
		"color /A:6-7 #ff7d45\n", "color /B:2 #ff7d45\n", "name chain_A_bait /A\n", "name chain_B /B\n",
		"show /A:1-2,6-7 atoms\n", "show /B:1 atoms\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if text := string(plainView(t, false).ChimeraX()); strings.Contains(text, "#0053d6") ||
		!strings.Contains(text, "color bychain") {
		t.Errorf("without confidence:\n%s", text)
	}
}

// A predicted RMSD has a scale of its own, in which low values are good.
func TestViewOfPredictedRMSD(t *testing.T) {
	s := viewed([3]string{"A", "B", "L"}, [3]string{"bait", "", "a ligand"})
	for i, v := range []float64{0, 0.5, 0.51, 1.5, 2.5, 2.51, 30} {
		r := &s.Chains[0].Residues[i]
		r.PredictedRMSD = &v
		for k := range r.Atoms {
			r.Atoms[k].B = v
		}
	}
	v, err := NewView(t.Context(), s, ViewOptions{Source: "model.cif", PLDDT: true})
	if err != nil {
		t.Fatal(err)
	}
	state, err := v.MolViewSpec()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"ChimeraX": {string(v.ChimeraX()), []string{
			"# Predicted RMSD in Angstrom, low values being good: up to 0.5, 1, 1.5, 2.5, and above.\n",
			"color /A:1-2 #440154\n", "color /A:3 #3b528b\n", "color /A:4 #21918c\n", "color /A:5 #5ec962\n",
			"color /A:6-7 #fde725\n",
		}},
		"PyMOL": {string(v.PyMOL()), []string{
			"set_color predicted_rmsd_0, [68, 1, 84]\ncolor predicted_rmsd_0, fold\n" +
				"set_color predicted_rmsd_0.5, [59, 82, 139]\ncolor predicted_rmsd_0.5, fold and b > 0.5\n",
			"set_color predicted_rmsd_2.5, [253, 231, 37]\ncolor predicted_rmsd_2.5, fold and b > 2.5\n",
		}},
		"Mol*": {string(state), []string{"#440154", "#fde725"}},
	} {
		for _, want := range test.want {
			if !strings.Contains(test.text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, test.text)
			}
		}
		if strings.Contains(strings.ToLower(test.text), "plddt") || strings.Contains(test.text, "#0053d6") {
			t.Errorf("%s is coloured by pLDDT", name)
		}
	}
}

// A state of MolViewSpec colours the polymers, names each chain, and shows the residues that touch another chain.
func TestMolViewSpecComponents(t *testing.T) {
	text, err := plainView(t, true).MolViewSpec()
	if err != nil {
		t.Fatal(err)
	}
	var state mvsState
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	node := state.Root
	for node.Kind != "structure" {
		node = node.Children[0]
	}
	var got []string
	for _, c := range node.Children {
		kinds := make([]string, len(c.Children))
		for i, child := range c.Children {
			kinds[i] = child.Kind
		}
		selector, err := json.Marshal(c.Params["selector"])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(selector)+" "+strings.Join(kinds, ","))
	}
	want := []string{
		`"polymer" representation`,
		`{"auth_asym_id":"A"} tooltip`,
		`{"auth_asym_id":"B"} tooltip`,
		`{"auth_asym_id":"L"} tooltip,representation`,
		`[{"auth_asym_id":"A","beg_auth_seq_id":1,"end_auth_seq_id":2},` +
			`{"auth_asym_id":"A","beg_auth_seq_id":6,"end_auth_seq_id":7},` +
			`{"auth_asym_id":"B","beg_auth_seq_id":1,"end_auth_seq_id":1}] representation`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The names that users and engines give to chains and molecules are no part of a script, whatever they contain. A
// source that a script cannot have is refused.
func TestHostileViews(t *testing.T) {
	s := viewed([3]string{"A;quit", "B\nquit", `C"`},
		[3]string{"x\"; quit\nquit", "'''\nimport os", "<img src=x>, quit"})
	v, err := NewView(t.Context(), s, ViewOptions{Source: "model.cif", PLDDT: true})
	if err != nil {
		t.Fatal(err)
	}
	for ending, text := range map[string][]byte{"cxc": v.ChimeraX(), "pml": v.PyMOL()} {
		if regexp.MustCompile(`(?i)quit|import|img`).Match(text) {
			t.Errorf("%s:\n%s", ending, text)
		}
	}
	s.Chains[0].ID, s.Chains[1].ID, s.Chains[2].ID = "A", "B", "C"
	if v, err = NewView(t.Context(), s, ViewOptions{Source: "model.cif", PLDDT: true}); err != nil {
		t.Fatal(err)
	}
	allowed := regexp.MustCompile(`^[A-Za-z0-9 "#:/,._+()>=\[\]-]*$`)
	for ending, text := range map[string][]byte{"cxc": v.ChimeraX(), "pml": v.PyMOL()} {
		for line := range bytes.Lines(text) {
			code := strings.TrimSuffix(string(line), "\n")
			if !strings.HasPrefix(code, "#") && (!allowed.MatchString(code) || strings.HasPrefix(code, "quit")) {
				t.Errorf("%s: %q", ending, code)
			}
		}
		if !strings.Contains(string(text), "chain_A_x_quit_quit") {
			t.Errorf("%s names no chain:\n%s", ending, text)
		}
	}
	state, err := v.MolViewSpec()
	if err != nil || bytes.ContainsAny(state, "<>&") || bytes.Contains(state, []byte(`\u003c`)) {
		t.Errorf("%v:\n%s", err, state)
	}
	for _, source := range []string{"a b.cif", "a.cif\nquit", "a.cif;quit", "a.cif\",x", "a.cif, b", ""} {
		if _, err := NewView(t.Context(), s, ViewOptions{Source: source}); err == nil {
			t.Errorf("the source %q is accepted", source)
		}
	}
}

// TestViewFiles writes views for scripts/test-views, which opens them with PyMOL and the library of MolViewSpec.
func TestViewFiles(t *testing.T) {
	dir := os.Getenv("PLEAT_TEST_VIEWS")
	if dir == "" {
		t.Skip("scripts/test-views checks the files")
	}
	write := func(name string, content []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := viewed([3]string{"A", "B", "L"}, [3]string{"bait", "x\"; quit", "a ligand"})
	var cif bytes.Buffer
	if err := structure.WriteCIF(&cif, s, structure.Meta{PLDDT: s.Confidence(true).PLDDT}); err != nil {
		t.Fatal(err)
	}
	write("model.cif", cif.Bytes())
	for _, name := range []string{"confidence", "chains"} {
		v, err := NewView(t.Context(), s, ViewOptions{Source: "model.cif", PLDDT: name == "confidence"})
		if err != nil {
			t.Fatal(err)
		}
		for _, ending := range ViewFormats {
			text, err := v.Script(ending)
			if err != nil {
				t.Fatal(err)
			}
			write(name+"."+ending, text)
		}
	}
}
