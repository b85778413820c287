package remote

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/engine/enginetest"
)

// Limits are checked when the job is created, and again before a call.
func TestNIMBounds(t *testing.T) {
	t.Parallel()
	n := NIM{URL: "http://127.0.0.1:1"}
	protein := func(count, length int) pleat.Sequence {
		return pleat.Sequence{Kind: pleat.Protein, Text: strings.Repeat("A", length), Count: count}
	}
	ligand := pleat.Sequence{Kind: pleat.Ligand, Text: "CCO", Count: 1, PropertyType: "affinity"}
	twice := ligand
	twice.Count = 2
	for want, j := range map[string]pleat.Job{
		"13 chains of residues, copies counted": {Sequences: []pleat.Sequence{protein(13, 5)}},
		"21 ligands": {
			Sequences: []pleat.Sequence{protein(1, 5), {Kind: pleat.Ligand, Text: "C", Count: 21}},
		},
		"2 ligands that ask for an affinity": {Sequences: []pleat.Sequence{protein(1, 5), twice}},
		"4097 residues":                      {Sequences: []pleat.Sequence{protein(1, 4097)}},
		"accepts no contact constraints": {
			Sequences: []pleat.Sequence{protein(1, 5)},
			Constraints: pleat.Constraints{
				Contact: []pleat.Contact{{ChainA: "A", ResidueA: 1, ChainB: "A", ResidueB: 3}},
			},
		},
		"params.seed is not a parameter": {
			Sequences: []pleat.Sequence{protein(1, 5)},
			Params:    pleat.Params{Values: map[string]any{"seed": "1"}},
		},
		"samplingSteps is 5; it must be 10": {
			Sequences: []pleat.Sequence{protein(1, 5)},
			Params:    pleat.Params{Values: map[string]any{"samplingSteps": 5.0}},
		},
	} {
		j.Name = "x"
		err := j.Validate(n.Models()[0])
		if pleat.CodeOf(err) != pleat.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	many := foldOne()
	many.Sequences[0].Chains = strings.Split("A,B,C,D,E,F,G,H,I,J,K,L,M", ",")
	lone := pleat.FoldInput{Sequences: []pleat.Sequence{{Kind: pleat.Ligand, Text: "C", Chains: []string{"A"}}}}
	for want, f := range map[string]pleat.FoldInput{"13 chains of residues": many, "needs at least one": lone} {
		if out, _, _ := runNIM(t, context.Background(), n, f); out.Failure == nil || out.Failure.Retry ||
			!strings.Contains(out.Failure.Message, want) {
			t.Errorf("%v; want %q", out.Failure, want)
		}
	}
}

// Alignments are sent with the chains of their sequence. Paired alignments are not, and a note says so.
func TestNIMAlignments(t *testing.T) {
	t.Parallel()
	s := newNIMServer(t, "")
	s.handle = func(w http.ResponseWriter, _ *http.Request, _ nimRequest) {
		answerWith(w, map[string]any{
			"structures": []any{map[string]any{"structure": nimCIF(t, nimChain(t, "A", 0), nimChain(t, "B", 40))}},
		})
	}
	n, sink := NIM{URL: s.URL}, &enginetest.Sink{}
	w := nimWork(t, n, foldOne())
	w.Fold.Sequences[0].Chains, w.Fold.Complex = []string{"A", "B"}, true
	const a3m = ">query\nDAYAQWLKDGGPSSGRPPPS\n>hit\nDAYAQWLKDGGP----PPPS\n"
	if err := os.WriteFile(filepath.Join(w.Dir, "msa-0.a3m"), []byte(a3m), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Fold.Alignments = []pleat.Alignment{{Sequence: 0, File: "msa-0.a3m", Paired: "msa-paired-0.a3m"}}
	out := enginetest.Registry(t, n).Run(context.Background(), w, sink)
	if out.Failure != nil {
		t.Fatal(out.Failure)
	}
	if len(out.Result.Notes) == 0 || !strings.Contains(out.Result.Notes[0], "paired across chains were not sent") {
		t.Errorf("notes %q", out.Result.Notes)
	}
	in := <-s.requests
	want := nimAlignments{"pleat": {"a3m": {Alignment: a3m, Format: "a3m"}}}
	for _, p := range in.Polymers {
		if diff := cmp.Diff(want, p.MSA); diff != "" {
			t.Error(diff)
		}
	}
	w.Dir = t.TempDir()
	if out := enginetest.Registry(t, n).Run(context.Background(), w, sink); out.Failure == nil ||
		!strings.Contains(out.Failure.Message, "alignment cannot be read") ||
		strings.Contains(out.Failure.Message, w.Dir) {
		t.Errorf("%v", out.Failure)
	}
}
