package app

import (
	"testing"

	"pleat"
	"pleat/internal/config"
)

// A user who asks for a fold model of any runner learns what the operator can install.
func TestInstallable(t *testing.T) {
	t.Parallel()
	c := config.Config{Data: t.TempDir()}
	manifests, invalid := Manifests(c)
	if len(manifests) == 0 || len(invalid) > 0 {
		t.Fatal(len(manifests), invalid)
	}
	known := installable(c)
	for name, m := range manifests {
		for _, model := range m.Models {
			want := name
			if model.Kind != pleat.TaskFold {
				want = ""
			}
			if got := known[model.Name]; got != want {
				t.Errorf("the model %s is of the runner %q; want %q", model.Name, got, want)
			}
		}
	}
}
