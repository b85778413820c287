package calvados

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pleat"
	"pleat/internal/structure"
)

// six is ALA 1, GLY 2, ALA 3 of chain A; SER 4, TRP 5, MSE 6 of chain B, and a haem 7; each an atom CA, the haem FE.
func six() *structure.Structure {
	s := &structure.Structure{}
	for i, comp := range []string{"ALA", "GLY", "ALA", "SER", "TRP", "MSE", "HEM"} {
		if i%3 == 0 {
			s.Chains = append(s.Chains, structure.Chain{ID: string(rune('A' + i/3)), Kind: structure.Protein})
		}
		a := structure.Atom{Name: "CA", Element: "C", Occupancy: 1}
		c := &s.Chains[len(s.Chains)-1]
		if comp == "HEM" {
			a, c.Kind = structure.Atom{Name: "FE", Element: "FE", Occupancy: 1}, structure.Ligand
		}
		c.Residues = append(c.Residues, structure.Residue{Comp: comp, Auth: i + 1, Atoms: []structure.Atom{a}})
	}
	return s
}

func picked(s *structure.Structure, sel *Selection) []int {
	out := []int{}
	for i := range s.Chains {
		for j := range s.Chains[i].Residues {
			r := &s.Chains[i].Residues[j]
			if sel.Matches(&s.Chains[i], r, &r.Atoms[0]) {
				out = append(out, r.Auth)
			}
		}
	}
	return out
}

// The answers up to the blank line are those of MDAnalysis 2 on the same six residues (it knows no kind of chain).
func TestSelection(t *testing.T) {
	for expr, want := range map[string][]int{
		"resid 1 or resid 2 and resid 3":   {},
		"resid 3 and resid 2 or resid 1":   {1},
		"not resid 1 and resid 2":          {2},
		"not resid 1 or resid 1":           {1, 2, 3, 4, 5, 6, 7},
		"resid 1:2 4-5":                    {1, 2, 4, 5},
		"resid 1 : 2":                      {1, 2},
		"name C*":                          {1, 2, 3, 4, 5, 6},
		"resname ALA GLY":                  {1, 2, 3},
		"protein":                          {1, 2, 3, 4, 5, 6},
		"chainID A B":                      {1, 2, 3, 4, 5, 6},
		"resid -1":                         {},
		"not (resid 1 or resid 2)":         {3, 4, 5, 6, 7},
		"all and not all":                  {},
		"not not resid 1":                  {1},
		"resname ala":                      {},
		"resid 1 and (resname A*)":         {1},
		"chainid A":                        {1, 2, 3},
		"(resid 1)or(resid 2)":             {1, 2},
		"resid 1 or (resid 2 and resid 3)": {1},
		"\tall\n":                          {1, 2, 3, 4, 5, 6, 7},
		"resname ?L? and not chainID B":    {1, 2, 3},
		"resname *A*":                      {1, 3},
		"name FE":                          {7},
		"resid -5:2":                       {1, 2},
		"segid B and resid 1: 4":           {4},
		"not protein":                      {7},
		"resname AL*A *RP":                 {1, 3, 5},
		strings.Repeat("(", 40) + "all" + strings.Repeat(")", 40): {1, 2, 3, 4, 5, 6, 7},
	} {
		sel, err := ParseSelection(expr)
		if err != nil {
			t.Errorf("%q: %v", expr, err)
			continue
		}
		if got := picked(six(), sel); !slices.Equal(got, want) {
			t.Errorf("%q takes %v, want %v", expr, got, want)
		}
	}
}

func TestSelectionRefuses(t *testing.T) {
	for expr, want := range map[string]string{
		"":                          "empty",
		"  ":                        "empty",
		"(resid 1":                  `character 9: expected ")" for the "(" at character 1`,
		"resid":                     `character 6: expected a value after "resid"`,
		"name CA or":                "character 11: expected a selection, found the end",
		"NAME CA":                   `character 1: "NAME" is not known`,
		"resid 1: and name CA":      `character 7: "1:" is no residue number`,
		"resid 5:3":                 "character 7: the range \"5:3\" ends before it begins",
		"resid 1and resid 1":        `character 7: "1and"`,
		"all all":                   `character 5: expected "and", "or" or the end, found "all"`,
		"all)":                      `character 4: expected "and"`,
		"resid 99999999999999999":   "character 7",
		"name é or name ö CA) x":    "character 20: expected \"and\", \"or\" or the end",
		"around 5 protein":          `"around" is not known`,
		strings.Repeat("not ", 400): "levels",
		strings.Repeat("(", 1999):   "levels",
		strings.Repeat("x", 3000):   "at most 2000",
		"and":                       `character 1: "and" is not known`,
	} {
		_, err := ParseSelection(expr)
		var refusal *pleat.Error
		if !errors.As(err, &refusal) || refusal.Code != pleat.CodeInvalid || !strings.Contains(refusal.Message, want) ||
			!strings.HasPrefix(refusal.Message, "selection") {
			t.Errorf("%.40q: %v, want %q", expr, err, want)
		}
	}
}

func FuzzSelection(f *testing.F) {
	for _, s := range []string{"all", "not (resid 1:5 or name C* and chainID A)", "resid 1 : -3", "resname ?", "((("} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		sel, err := ParseSelection(expr)
		if err != nil {
			return
		}
		not, err := ParseSelection("not (" + expr + ")")
		if err != nil {
			if len(expr) < maxSelection-6 && !strings.Contains(err.Error(), "levels") {
				t.Fatalf("%q is read, its opposite is not: %v", expr, err)
			}
			return
		}
		if n := len(picked(six(), sel)) + len(picked(six(), not)); n != 7 {
			t.Errorf("%q and its opposite take %d of 7", expr, n)
		}
	})
}

func TestExtract(t *testing.T) {
	s := short(t, 12)
	dir := t.TempDir()
	if _, err := Run(t.Context(), s, dir, Hooks{}); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(dir, TopologyFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	top, err := structure.ReadPDB(file, structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	tr := trajectory(t, dir)
	sel, err := ParseSelection("resid 3:5 or resname MET")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	frame, err := Extract(&out, top, tr, FrameRequest{TimeNs: 0.0102, Selection: sel})
	if err != nil {
		t.Fatal(err)
	}
	if frame != (Frame{Index: 9, TimeNs: 0.01, Atoms: 4}) {
		t.Errorf("%+v", frame)
	}
	back, err := structure.ReadPDB(&out, structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := tr.Read(9, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range []int{1, 3, 4, 5} {
		r := back.Chains[0].Residues[k]
		if r.Auth != want || structure.Distance(r.Atoms[0].Pos, x[want-1]) > 0.001 {
			t.Errorf("residue %d at %v, want %d at %v", r.Auth, r.Atoms[0].Pos, want, x[want-1])
		}
	}
	none, err := ParseSelection("resid 99")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Extract(&out, top, tr, FrameRequest{TimeNs: 0.01, Selection: none}); pleat.CodeOf(
		err) != pleat.CodeInvalid {
		t.Errorf("a selection of nothing gives %v", err)
	}
	if _, err := Extract(&out, top, tr, FrameRequest{TimeNs: 7, Selection: sel}); pleat.CodeOf(
		err) != pleat.CodeInvalid {
		t.Errorf("a time beyond the end gives %v", err)
	}
	if _, err := Extract(&out, six(), tr, FrameRequest{TimeNs: 0.01, Selection: sel}); pleat.CodeOf(
		err) != pleat.CodeInvalid {
		t.Errorf("another topology gives %v", err)
	}
}

func trajectory(tb testing.TB, dir string) *Trajectory {
	tb.Helper()
	f, err := os.Open(filepath.Join(dir, TrajectoryFile))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	tr, err := OpenTrajectory(f, info.Size())
	if err != nil {
		tb.Fatal(err)
	}
	return tr
}
