package runner

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
)

// A runner gets alignments by kind and by sequence, as the protocol defines.
func TestAlignmentsGoToTheRunner(t *testing.T) {
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
