package submit

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pleat"
	"pleat/internal/engine/runner"
)

func TestUnknownModel(t *testing.T) {
	models := []pleat.Model{{Name: "mini", Kind: pleat.TaskFold}, {Name: "chat", Kind: pleat.TaskQnA}}
	for name, want := range map[string]string{
		"boltz-2": "pleat engines install boltz-2. Models here: mini",
		"miny":    "did you mean \"mini\"? Models here: mini",
		"alphafold2": `"alphafold2": AlphaFold 2 is called monomer (single chains) or multimer (complexes) here, and has ` +
			"no engine; the operator can add it with: pleat engines install colabfold. Models here: mini",
		"ESMFold": "ESMFold is called esm1b here, and has no engine; the operator can add it with: " +
			"pleat engines install esm1b. Models here: mini",
		"Boltz_2":     "Boltz-2 is called boltz-2 here, and has no engine; the operator can add it with: pleat engines install boltz-2. Models here: mini",
		"AlphaFold 3": "AlphaFold 3 does not run here; boltz-2, chai1, intellifold, openfold3 and protenix fold the same kinds of molecules. Models here: mini",
		"gpt":         "is not a known model. Models here: mini",
	} {
		err := unknownModel(models, name, "params.modelName")
		if !strings.HasSuffix(err.Error(), want) || pleat.ErrorsOf(err)[0].Field != "params.modelName" {
			t.Errorf("%s: %v; want %q", name, err, want)
		}
	}
	models = append(models, pleat.Model{Name: "multimer", Kind: pleat.TaskFold})
	err := unknownModel(models, "af2", "params.modelName")
	if want := `params.modelName is "af2": AlphaFold 2 is called monomer (single chains) or multimer (complexes) here. ` +
		"Models here: mini, multimer"; err.Error() != want {
		t.Errorf("%v; want %q", err, want)
	}
	if err := unknownModel(nil, "mini", "params.modelName"); !strings.Contains(err.Error(), "pleat worker") {
		t.Errorf("no engine: %v", err)
	}
}

// The engine that an error tells the operator to install serves the model that was asked for.
func TestInstallable(t *testing.T) {
	for _, p := range programs {
		for _, model := range p.models {
			if installable[model] == "" {
				t.Errorf("%s: no engine for %s", p.title, model)
			}
		}
		for _, name := range p.names {
			if installable[name] != "" {
				t.Errorf("%s: %s is the name of a model here", p.title, name)
			}
		}
	}
	manifests, _ := runner.Manifests(filepath.Join("..", "..", "runners"))
	for model, engine := range installable {
		if !slices.ContainsFunc(slices.Sorted(maps.Keys(manifests)), func(folder string) bool {
			serves := func(name string) bool {
				return slices.ContainsFunc(manifests[folder].Models, func(m runner.ManifestModel) bool {
					return m.Name == name
				})
			}
			return serves(model) && (folder == engine || serves(engine))
		}) {
			t.Errorf("%s: no engine %s serves it", model, engine)
		}
	}
}
