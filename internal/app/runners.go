package app

import (
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/config"
	"pleat/internal/engine/runner"
	"pleat/runners"
)

// Manifests returns the manifests of all runners: the embedded ones, and those of the folder of one's own. If two have
// one name, the folder's counts if the setting runners names it, since somebody asked for it; a folder that was merely
// found may be left from an older version, and only adds to the embedded ones. The keys are the names of the runners'
// folders; a manifest that cannot be read has an entry in invalid. It writes no files: see UnpackRunner.
func Manifests(c config.Config) (manifests map[string]*runner.Manifest, invalid map[string]error) {
	manifests, invalid = map[string]*runner.Manifest{}, map[string]error{}
	if dir := c.RunnersDir(); dir != "" {
		manifests, invalid = runner.Manifests(dir)
	}
	for _, name := range runners.Names() {
		if installed := manifests[name] != nil || invalid[name] != nil; installed && c.Runners != "" {
			continue
		}
		delete(manifests, name)
		delete(invalid, name)
		m, err := embeddedManifest(c, name)
		if err != nil {
			invalid[name] = err
			continue
		}
		manifests[name] = m
	}
	return manifests, invalid
}

// embeddedManifest returns the manifest of an embedded runner. Its folder need not exist yet.
func embeddedManifest(c config.Config, name string) (*runner.Manifest, error) {
	raw, ok := runners.File(name + "/" + runner.ManifestFile)
	if !ok {
		return nil, fs.ErrNotExist
	}
	m, err := runner.ParseManifest(filepath.Join(runners.Dir(c.EmbeddedRunnersDir()), name), raw)
	if err != nil {
		return nil, err
	}
	m.Release = runners.Hash()
	return m, nil
}

// installable returns the names of the embedded runners by their fold models.
func installable(c config.Config) map[string]string {
	embedded := map[string]*runner.Manifest{}
	for _, name := range runners.Names() {
		if m, err := embeddedManifest(c, name); err == nil { // Manifests reports an error
			embedded[name] = m
		}
	}
	return runner.FoldModels(embedded)
}

// readManifest returns the manifest of the runner in a folder of a name. An error lists the engines that there are, or
// says what is wrong with the manifest.
func readManifest(c config.Config, name string) (*runner.Manifest, error) {
	manifests, invalid := Manifests(c)
	if m := manifests[name]; m != nil {
		return m, nil
	}
	if err := invalid[name]; err != nil {
		return nil, fmt.Errorf("the engine %s has a manifest that cannot be used: %w", name, err)
	}
	return nil, UnknownEngine(c, name, append(pleat.BuiltInNames(), slices.Sorted(maps.Keys(manifests))...))
}

// UnknownEngine returns an error for an engine that does not exist. It says where it was looked for, lists the engines
// that there are, and suggests the one that was probably meant.
func UnknownEngine(c config.Config, name string, known []string) error {
	where, hint := "", "."
	if dir := c.RunnersDir(); dir != "" {
		where = ", neither embedded nor in " + dir
	}
	if n := pleat.Nearest(name, known); n != "" {
		hint = fmt.Sprintf("; did you mean %q?", n)
	}
	return fmt.Errorf("there is no engine %q%s%s There are %s", pleat.Clip(name), where, hint,
		strings.Join(known, ", "))
}

// RunnerFile returns a file of a runner's folder, whether or not the runner has been unpacked.
func RunnerFile(m *runner.Manifest, name string) ([]byte, error) {
	if m.Release == "" {
		return os.ReadFile(filepath.Join(m.Dir, name))
	}
	raw, ok := runners.File(filepath.Base(m.Dir) + "/" + name)
	if !ok {
		return nil, fmt.Errorf("%s: %w", filepath.Join(m.Dir, name), fs.ErrNotExist)
	}
	return raw, nil
}

// UnpackRunner makes sure that the folder of a runner and the module that it shares with others exist: embedded runners
// are written below the folder of the environments. It returns the folder of the module. A file that somebody has
// changed there is logged and replaced: changes belong in a folder of one's own, which the setting runners names.
func UnpackRunner(c config.Config, m *runner.Manifest, log *slog.Logger) (library string, err error) {
	folder := filepath.Dir(m.Dir)
	if m.Release == "" && hasLibrary(folder) {
		return folder, nil
	}
	if c.EngineData == "" {
		if err := makeDataDir(c); err != nil {
			return "", err
		}
	}
	parent := c.EmbeddedRunnersDir()
	changed, err := runners.Unpack(parent)
	if changed != "" {
		const text = "the unpacked runners were changed, and were replaced; for your own, see the setting runners"
		log.Warn(text, "file", changed, "folder", runners.Dir(parent))
	}
	if err != nil {
		return "", fmt.Errorf("%w; set engine-data to a folder that can be written", err)
	}
	return runners.Dir(parent), nil
}

// hasLibrary reports whether a folder of runners has foldrun, the module that they share.
func hasLibrary(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "foldrun"))
	return err == nil
}
