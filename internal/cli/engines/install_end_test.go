package engines

import (
	"testing"

	"pleat/internal/config"
	"pleat/internal/engine/runner"
)

// A description of a weight file names its revision and its SHA-256, or that they are not known.
func TestPinned(t *testing.T) {
	const commit = "6fdef46d763fee7fbb83ca5501ccceff43b85607"
	for _, c := range []struct {
		file runner.WeightFile
		want string
	}{
		{runner.WeightFile{URL: "https://hub.invalid/a/b/resolve/" + commit + "/w.ckpt", SHA256: "ab12"},
			"revision " + commit + "; SHA-256 ab12"},
		{runner.WeightFile{URL: "https://hub.invalid/a/b/resolve/main/w.ckpt"},
			"revision main, whose files may change; its SHA-256 is not known; the first installation records it"},
		{runner.WeightFile{}, "its SHA-256 is not known; the first installation records it"},
	} {
		if got := pinned(c.file); got != c.want {
			t.Errorf("%q; want %q", got, c.want)
		}
	}
}

// The commands that an installation names can be typed as they are.
func TestCommandsToType(t *testing.T) {
	i := &install{cmd: enginesInstallCmd(), cfg: config.Default(), name: "boltz"}
	if got := i.typed("engines check", i.name); got != "pleat engines check boltz" {
		t.Error(got)
	}
	i.cfg.Data, i.cfg.Runners = "my data", "it's"
	if err := i.cmd.Flags().Set("config", "/etc/pleat.yaml"); err != nil {
		t.Fatal(err)
	}
	want := `pleat serve --config /etc/pleat.yaml --data 'my data' --runners 'it'\''s' --engines mini,boltz`
	if got := i.typed("serve", "--engines", "mini,boltz"); got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
