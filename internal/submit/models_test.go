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
		"gpt":     "is not a known model. Models here: mini",
	} {
		err := unknownModel(models, name, "params.modelName")
		if !strings.HasSuffix(err.Error(), want) || pleat.ErrorsOf(err)[0].Field != "params.modelName" {
			t.Errorf("%s: %v; want %q", name, err, want)
		}
	}
	if err := unknownModel(nil, "mini", "params.modelName"); !strings.Contains(err.Error(), "pleat worker") {
		t.Errorf("no engine: %v", err)
	}
}

// The engine that an error tells the operator to install serves the model that was asked for.
func TestInstallable(t *testing.T) {
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
