package submit

import (
	"path/filepath"
	"strings"
	"testing"

	"pleat"
	"pleat/internal/engine/runner"
)

func TestUnknownModel(t *testing.T) {
	r := &Resolver{Installable: installable(t)}
	models := []pleat.Model{{Name: "mini", Kind: pleat.TaskFold}, {Name: "chat", Kind: pleat.TaskQnA}}
	for name, want := range map[string]string{
		"boltz-2": "pleat engines install boltz-2. Models here: mini",
		"simplefold_100M": `"simplefold_100M" has no engine here; the operator can add it with: ` +
			"pleat engines install simplefold. Models here: mini",
		"miny": "did you mean \"mini\"? Models here: mini",
		"alphafold2": `"alphafold2": AlphaFold 2 is called monomer (single chains) or multimer (complexes) here, and has ` +
			"no engine; the operator can add it with: pleat engines install colabfold. Models here: mini",
		"ESMFold": "ESMFold is called esm1b here, and has no engine; the operator can add it with: " +
			"pleat engines install esm1b. Models here: mini",
		"Boltz_2":     "Boltz-2 is called boltz-2 here, and has no engine; the operator can add it with: pleat engines install boltz-2. Models here: mini",
		"AlphaFold 3": "AlphaFold 3 does not run here; boltz-2, chai1, intellifold, openfold3 and protenix fold the same kinds of molecules. Models here: mini",
		"gpt":         "is not a known model. Models here: mini",
	} {
		err := r.unknownModel(models, name, "params.modelName")
		if !strings.HasSuffix(err.Error(), want) || pleat.ErrorsOf(err)[0].Field != "params.modelName" {
			t.Errorf("%s: %v; want %q", name, err, want)
		}
	}
	models = append(models, pleat.Model{Name: "multimer", Kind: pleat.TaskFold})
	err := r.unknownModel(models, "af2", "params.modelName")
	if want := `params.modelName is "af2": AlphaFold 2 is called monomer (single chains) or multimer (complexes) here. ` +
		"Models here: mini, multimer"; err.Error() != want {
		t.Errorf("%v; want %q", err, want)
	}
	if err := r.unknownModel(nil, "mini", "params.modelName"); !strings.Contains(err.Error(), "pleat worker") {
		t.Errorf("no engine: %v", err)
	}
}

// The models of a well-known program exist, and it has none of their names.
func TestPrograms(t *testing.T) {
	known := installable(t)
	for _, p := range programs {
		for _, model := range p.models {
			if known[model] == "" {
				t.Errorf("%s: no runner has the model %s", p.title, model)
			}
		}
		for _, name := range p.names {
			if known[name] != "" {
				t.Errorf("%s: %s is the name of a model here", p.title, name)
			}
		}
	}
}

// installable returns the names of the runners of the repository by their fold models.
func installable(t *testing.T) map[string]string {
	t.Helper()
	manifests, invalid := runner.Manifests(filepath.Join("..", "..", "runners"))
	if len(manifests) == 0 || len(invalid) > 0 {
		t.Fatal(len(manifests), invalid)
	}
	return runner.FoldModels(manifests)
}
