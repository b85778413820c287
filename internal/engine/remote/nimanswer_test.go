package remote

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pleat"
	"pleat/internal/structure"
)

// Values that the answer does not have are absent, and B-factors that cannot be pLDDT are not used as such.
func TestNIMAbsent(t *testing.T) {
	t.Parallel()
	mean := func(v any) map[string]any {
		c := nimChain(t, "A", 0)
		return map[string]any{
			"structures":           []any{map[string]any{"format": "mmcif", "structure": nimCIF(t, c)}},
			"complex_plddt_scores": []any{v},
		}
	}
	bare := nimChain(t, "A", 0)
	unitB := nimChain(t, "A", 0)
	for i := range bare.Residues {
		for j := range bare.Residues[i].Atoms {
			bare.Residues[i].Atoms[j].B = 0
			unitB.Residues[i].Atoms[j].B /= 100
		}
	}
	only := func(c structure.Chain, more map[string]any) map[string]any {
		out := map[string]any{"structures": []any{map[string]any{"structure": nimCIF(t, c)}}}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	for name, c := range map[string]struct {
		answer map[string]any
		plddt  any
		first  any // pLDDT of the first residue
	}{
		"nothing but coordinates": {only(bare, nil), nil, nil},
		"B-factors alone":         {mean(nil), 80.5, 90.0},
		"a mean that contradicts": {mean(0.3), 30.0, nil},
		"a mean alone": {
			only(bare, map[string]any{"complex_plddt_scores": []float64{0.3}}),
			30.0,
			nil,
		},
		"0 to 1, and a mean to tell": {
			only(unitB, map[string]any{"complex_plddt_scores": []float64{0.805}}),
			80.5,
			90.0,
		},
		"0 to 1, and nothing to tell":   {only(unitB, nil), nil, nil},
		"a mean that is no probability": {only(bare, map[string]any{"complex_plddt_scores": []float64{80}}), nil, nil},
	} {
		s := newNIMServer(t, "")
		s.handle = func(w http.ResponseWriter, _ *http.Request, _ nimRequest) { answerWith(w, c.answer) }
		out, _, w := runNIM(t, context.Background(), NIM{URL: s.URL}, foldOne())
		if out.Failure != nil {
			t.Fatal(name, out.Failure)
		}
		p := out.Result.Predictions[0]
		var metrics struct {
			Predictions []struct {
				PLDDT map[string][]float64 `json:"plddt"`
			}
		}
		readJSON(t, filepath.Join(w.Dir, "metrics.json"), &metrics)
		var first any
		if v := metrics.Predictions[0].PLDDT["A"]; len(v) > 0 {
			first = v[0]
		}
		var plddt any
		if p.MeanPLDDT != nil {
			plddt = *p.MeanPLDDT
		}
		if plddt != c.plddt || first != c.first || p.PTM != nil || p.MaxPAE != nil {
			t.Errorf("%s: mean %v, first %v, %+v; want %v, %v", name, plddt, first, p, c.plddt, c.first)
		}
	}
}

// The structure of another job is refused, whatever its scores.
func TestNIMWrongStructure(t *testing.T) {
	t.Parallel()
	short := nimChain(t, "A", 0)
	short.Residues = short.Residues[:19]
	for want, answer := range map[string]map[string]any{
		"has 19 residues":   {"structures": []any{map[string]any{"structure": nimCIF(t, short)}}},
		"lacks the chain A": {"structures": []any{map[string]any{"structure": nimCIF(t, nimChain(t, "Q", 0))}}},
		"must have 2": {
			"structures": []any{map[string]any{"structure": nimCIF(t, nimChain(t, "A", 0))}},
			"pae":        []any{[][]float64{{1, 2}, {1}}},
		},
		"arrays have 3": {
			"structures": []any{map[string]any{"structure": nimCIF(t, nimChain(t, "A", 0))}},
			"pae":        [][][]float64{nimPAE(3)},
		},
		"must be a number of Å from 0": {
			"structures": []any{map[string]any{"structure": nimCIF(t, nimChain(t, "A", 0))}},
			"pae":        []any{[][]float64{{-1}}},
		},
		"at most 25 can be": {"structures": make([]map[string]any, 26)},
		"has 2 chains; the": {
			"structures": []any{map[string]any{"structure": nimCIF(t, nimChain(t, "A", 0), nimChain(t, "Q", 0))}},
		},
	} {
		s := newNIMServer(t, "")
		s.handle = func(w http.ResponseWriter, _ *http.Request, _ nimRequest) { answerWith(w, answer) }
		out, _, _ := runNIM(t, context.Background(), NIM{URL: s.URL}, foldOne())
		if out.Failure == nil || out.Failure.Kind != pleat.FailOutputInvalid ||
			!strings.Contains(out.Failure.Message, want) {
			t.Errorf("%v; want %q", out.Failure, want)
		}
	}
}
