package engines

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/engine/runner"
)

// revisionInURL finds the revision in the address of a file on Hugging Face.
var revisionInURL = regexp.MustCompile(`/resolve/([^/]+)/`)

// pinned says which content of a weight file is meant: its revision, if the address has one, and its SHA-256.
func pinned(w runner.WeightFile) string {
	var text string
	if m := revisionInURL.FindStringSubmatch(w.URL); m != nil {
		text = "revision " + m[1]
		if !w.Fixed() {
			text += ", whose files may change"
		}
		text += "; "
	}
	if w.SHA256 == "" {
		return text + "its SHA-256 is not known; the first installation records it"
	}
	return text + "SHA-256 " + w.SHA256
}

// end prints what was installed, in which time, and what to do next.
func (i *install) end(took time.Duration, record *weightsRecord, fetched map[string]bool) {
	text := fmt.Sprintf("%s was installed in %s", i.name, took.Round(100*time.Millisecond))
	if i.added.known {
		const packages = "; packages: %d fetched, %d shared with what was fetched before"
		text += fmt.Sprintf(packages, i.added.fetched, i.added.shared)
	}
	if len(fetched) > 0 {
		var size int64
		for name := range fetched {
			size += record.files[name].Bytes
		}
		text += fmt.Sprintf("; weights: %d files fetched, %s", len(fetched), config.Bytes(size))
	}
	i.printf("%s", text)
	dir := i.cfg.WeightsDir(i.manifest.Engine)
	if missing := missingFiles(dir, i.manifest); len(missing) > 0 {
		for _, w := range missing {
			i.printf("missing: %s", filepath.Join(dir, w.File))
		}
	} else if len(i.manifest.Weights) == 0 && i.manifest.WeightsPage != "" {
		i.printf("put the files of %s into %s", i.manifest.WeightsPage, dir)
	}
	i.printf("to try it: %s", i.typed("engines check", i.name))
	engines := i.cfg.Engines
	if !slices.Contains(engines, i.name) {
		engines = append(slices.Clone(engines), i.name)
	}
	i.printf("to serve with it: %s", i.typed("serve", "--engines", strings.Join(engines, ",")))
	i.warnInstalled()
}

// typed returns a command of pleat as it must be typed, with the folders that differ from the defaults.
func (i *install) typed(command string, more ...string) string {
	words := append([]string{"pleat", command}, i.folders()...)
	for _, w := range more {
		words = append(words, quoted(w))
	}
	return strings.Join(words, " ")
}

// folders returns the flags for the file of settings, if one was named, and for the folders that differ from the
// defaults.
func (i *install) folders() []string {
	var out []string
	if file := cli.FlagText(i.cmd, "config"); file != "" {
		out = append(out, "--config", quoted(file))
	}
	def := config.Default()
	usual := map[string]string{}
	for _, s := range def.Settings() {
		usual[s.Key] = s.String()
	}
	for _, s := range i.cfg.Settings() {
		switch s.Key {
		case "data", "runners", "engine-data", "weights":
			if s.String() != usual[s.Key] {
				out = append(out, "--"+s.Key, quoted(s.String()))
			}
		}
	}
	return out
}

// plainWord has no character that means something to a shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// quoted returns a word for a shell.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// addedPackages is how many packages an installation added to an environment: those that it fetched or built, and those
// that uv's cache had from an earlier one.
type addedPackages struct {
	known           bool // pip does not tell
	fetched, shared int
}

// packagesIn returns the names of the packages in folders that match a pattern, such as openmm-8.6.1.dist-info.
func packagesIn(pattern string) map[string]string {
	found, _ := filepath.Glob(filepath.Join(pattern, "*.dist-info")) // the pattern is well formed
	out := map[string]string{}
	for _, path := range found {
		out[path] = filepath.Base(path)
	}
	return out
}

// countAdded returns a function that counts the packages which were added to an environment since the call. A package
// is in the cache as a folder of its own, from which the environment's files are links.
func countAdded(cache, venv string) func() addedPackages {
	inCache, inVenv := filepath.Join(cache, "archive-v*", "*"), filepath.Join(venv, "lib", "python*", "site-packages")
	cached, had := packagesIn(inCache), packagesIn(inVenv)
	return func() addedPackages {
		fresh := map[string]bool{}
		now := packagesIn(inCache)
		for path, name := range now {
			if cached[path] == "" {
				fresh[name] = true
			}
		}
		out := addedPackages{known: len(now) > 0}
		for path, name := range packagesIn(inVenv) {
			switch {
			case had[path] != "":
			case fresh[name]:
				out.fetched++
			default:
				out.shared++
			}
		}
		return out
	}
}
