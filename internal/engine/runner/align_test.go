package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
)

// A runner gets alignments by kind and by sequence, as the protocol defines.
func TestAlignmentsGoToTheRunner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "input"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"msa-0.a3m", "msa-paired-0.a3m", "msa-2.a3m", "msa-paired-2.a3m"} {
		if err := os.WriteFile(filepath.Join(dir, "input", name), []byte(">"+name+"\nMK\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	protein := func(chain string) pleat.Sequence {
		return pleat.Sequence{Kind: pleat.Protein, Text: "MK", Chains: []string{chain}, Count: 1}
	}
	fold := pleat.FoldInput{
		Name:      "j",
		Seed:      "1",
		Complex:   true,
		Sequences: []pleat.Sequence{protein("A"), protein("B"), protein("C")},
		Alignments: []pleat.Alignment{
			{
				Sequence: 0,
				File:     "input/msa-0.a3m",
				Paired:   "input/msa-paired-0.a3m",
			}, {Sequence: 2, File: "input/msa-2.a3m", Paired: "input/msa-paired-2.a3m"}},
	}
	files := func(features ...pleat.Feature) [][]wireInput {
		u := runnerAttempt{
			work: pleat.Work{
				Kind:  pleat.TaskFold,
				Task:  "t",
				Dir:   dir,
				Model: pleat.Model{Features: features},
				Fold:  &fold,
			},
			timings: map[string]float64{},
		}
		var out [][]wireInput
		for _, c := range u.foldRequests() {
			m, f := u.message(c, t.TempDir())
			if f != nil {
				t.Fatal(f)
			}
			for _, in := range m.Files {
				raw, err := os.ReadFile(filepath.Join(m.Workdir, in.Path))
				if err != nil || string(raw) != ">"+filepath.Base(in.Path)+"\nMK\n" {
					t.Errorf("%s holds %q, %v", in.Path, raw, err)
				}
			}
			out = append(out, m.Files)
		}
		return out
	}
	zero, two := 0, 2
	want := [][]wireInput{{
		{
			Kind:     "msa",
			Path:     "input/msa-0.a3m",
			Sequence: &zero,
		}, {Kind: "msa_paired", Path: "input/msa-paired-0.a3m", Sequence: &zero},
		{
			Kind:     "msa",
			Path:     "input/msa-2.a3m",
			Sequence: &two,
		}, {Kind: "msa_paired", Path: "input/msa-paired-2.a3m", Sequence: &two}}}
	if d := cmp.Diff(want, files(pleat.FeatureMSA, pleat.FeatureComplex)); d != "" {
		t.Error(d)
	}
	// If each sequence is folded on its own, it is the first of its message and has no paired alignment.
	alone := [][]wireInput{
		{{Kind: "msa", Path: "input/msa-0.a3m", Sequence: &zero}},
		nil,
		{{Kind: "msa", Path: "input/msa-2.a3m", Sequence: &zero}},
	}
	if d := cmp.Diff(alone, files(pleat.FeatureMSA)); d != "" {
		t.Error(d)
	}
}

// A template goes with the sequence that it is for, alone or among others.
func TestTemplatesInRequests(t *testing.T) {
	t.Parallel()
	fold := pleat.FoldInput{
		Sequences: []pleat.Sequence{
			{Kind: pleat.Protein, Text: "MK", Chains: []string{"A"}},
			{Kind: pleat.Protein, Text: "GS", Chains: []string{"B"}},
		},
		Constraints: pleat.Constraints{Templates: []pleat.Template{{Chain: "B", Force: true, MaxDistance: 2.5}}},
		Templates:   []pleat.FoldTemplate{{Template: 0, Sequence: 1, Chain: "B", File: "input/template-1.cif"}},
	}
	for _, c := range []struct {
		features []pleat.Feature
		of       []int // the sequence of the template in each request; -1: it has none
	}{{[]pleat.Feature{pleat.FeatureComplex}, []int{1}}, {nil, []int{-1, 0}}} {
		u := runnerAttempt{work: pleat.Work{Model: pleat.Model{Features: c.features}, Fold: &fold}}
		for i, q := range u.foldRequests() {
			if raw, _ := json.Marshal(q.input); strings.Contains(string(raw), "templates") {
				t.Errorf("the input has the templates: %s", raw)
			}
			switch {
			case c.of[i] < 0 && len(q.files) > 0:
				t.Errorf("request %d has files of another sequence: %+v", i, q.files)
			case c.of[i] < 0:
			case len(q.files) != 1:
				t.Errorf("request %d has the files %+v", i, q.files)
			default:
				f := q.files[0]
				if f.kind != "template" || *f.sequence != c.of[i] || f.chain != "B" || !f.force || f.distance != 2.5 {
					t.Errorf("request %d has the file %+v", i, f)
				}
			}
		}
	}
}

// Components of a SMILES are in the input, without the names in the SMILES; those of files are files.
func TestComponentsInRequests(t *testing.T) {
	t.Parallel()
	fold := pleat.FoldInput{
		Sequences: []pleat.Sequence{{Kind: pleat.Ligand, Text: "LG1", CCD: true, Chains: []string{"A"}}},
		Constraints: pleat.Constraints{Components: []pleat.Component{
			{Code: "LG1", SMILES: "CCO |$CA;CB;OXT$|"}, {Code: "LG2", Item: "private", File: "private.sdf"},
		}},
		Components: []pleat.FoldComponent{{Code: "LG2", File: "input/component-1.cif"}},
	}
	m := pleat.Model{Features: []pleat.Feature{pleat.FeatureComplex}}
	u := runnerAttempt{work: pleat.Work{Model: m, Fold: &fold}}
	q := u.foldRequests()[0]
	raw, err := json.Marshal(q.input)
	want := `"components":[{"code":"LG1","smiles":"CCO","atoms":["CA","CB","OXT"],"leaving":["OXT"]}]`
	if err != nil || !strings.Contains(string(raw), want) || strings.Contains(string(raw), "private") {
		t.Errorf("the input is %s, %v", raw, err)
	}
	if d := cmp.Diff([]inputFile{{kind: "component", path: "input/component-1.cif", code: "LG2"}}, q.files,
		cmp.AllowUnexported(inputFile{})); d != "" {
		t.Error(d)
	}
}
