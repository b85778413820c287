package engines

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/config"
	"pleat/internal/engine/runner"
)

// Figures are compared for weights of which the SHA-256 is known, and never for random ones.
func TestPublishedFigures(t *testing.T) {
	dir := t.TempDir()
	record, err := readRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := &runner.Manifest{Weights: []runner.WeightFile{{File: "w.bin"}}}
	expect := func(model, want string) {
		t.Helper()
		if _, why := publishedFor(record, m, model); why != want {
			t.Errorf("%s: %q; want %q", model, why, want)
		}
	}
	expect("boltz-2", "no figures are known that the publisher gives for an example")
	expect("esm1b", "the SHA-256 of the weights is not known")
	if err := os.WriteFile(filepath.Join(dir, "w.bin"), []byte("weights"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect("esm1b", "the SHA-256 of the weights is not known")
	if err := checkWeights(record, m, nil, func(string) {}); err != nil { // records it
		t.Fatal(err)
	}
	expect("esm1b", "")
	if err := os.WriteFile(filepath.Join(dir, randomMarker), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expect("esm1b", "the weights are random")
}

// A fold has the published mean pLDDT, or the check says that it differs.
func TestComparePublished(t *testing.T) {
	p := published{plddt: 88.3, within: 1.5, source: "the README"}
	fold := func(v float64) pleat.Output {
		return pleat.Output{Result: &pleat.Result{Predictions: []pleat.Prediction{{MeanPLDDT: &v}}}}
	}
	for _, c := range []struct {
		got    pleat.Output
		differ bool
		want   string
	}{
		{fold(88.3), false, "mean pLDDT 88.3; published is 88.3, and 86.8 to 89.8 is accepted (the README)"},
		{fold(86.9), false, "mean pLDDT 86.9; published is 88.3"},
		{fold(86.7), true, "mean pLDDT 86.7; published is 88.3"},
		{fold(90), true, "mean pLDDT 90.0; published is 88.3"},
		{pleat.Output{Result: &pleat.Result{}}, true, "the fold has no pLDDT"},
	} {
		text, err := p.compare(c.got)
		if err != nil {
			text = err.Error()
		}
		if (err != nil) != c.differ || !strings.HasPrefix(text, c.want) {
			t.Errorf("%q, error %v; want %q", text, err, c.want)
		}
	}
}

// The models of the table exist and accept their examples.
func TestPublishedExamplesAreAccepted(t *testing.T) {
	models := map[string]pleat.Model{}
	manifests, _ := app.Manifests(config.Config{})
	for _, m := range manifests {
		for _, v := range m.ModelsOn(0, 0) {
			models[v.Name] = v
		}
	}
	for name, p := range publishedFigures {
		in, err := foldInput(models[name], p.sequence, p.values)
		if err != nil || in.Params.Model != name || p.source == "" || p.within <= 0 {
			t.Errorf("%s: %+v, %v", name, in, err)
		}
	}
}
