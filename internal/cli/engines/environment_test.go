package engines

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pleat/internal/config"
	"pleat/internal/engine/runner"
)

// packageFolder is a folder of packages that takes the place of an index.
type packageFolder struct {
	t   *testing.T
	dir string
}

// newPackageFolder returns a folder of packages, from which alone uv and pip install.
func newPackageFolder(t *testing.T) packageFolder {
	f := packageFolder{t: t, dir: t.TempDir()}
	for name, value := range map[string]string{
		"UV_FIND_LINKS": f.dir, "UV_OFFLINE": "1", "PIP_FIND_LINKS": f.dir, "PIP_NO_INDEX": "1",
		"UV_CACHE_DIR": "", "UV_LINK_MODE": "",
	} {
		t.Setenv(name, value)
	}
	return f
}

// write stores a file and returns its SHA-256.
func (f packageFolder) write(name string, content []byte) (sum string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), content, 0o600); err != nil {
		f.t.Fatal(err)
	}
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}

// wheel makes a built package with a module of its name and returns its SHA-256.
func (f packageFolder) wheel(name, version string) (sum string) {
	f.t.Helper()
	return f.write(name+"-"+version+"-py3-none-any.whl", builtPackage(f.t, name, version))
}

// builtPackage returns a built package with a module of its name.
func builtPackage(t *testing.T, name, version string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	record := ""
	for _, file := range [][2]string{
		{name + ".py", "version = '" + version + "'\n"},
		{"METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n"},
		{"WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"RECORD", ""},
	} {
		path := file[0]
		if !strings.HasSuffix(path, ".py") {
			path = name + "-" + version + ".dist-info/" + path
		}
		record += path + ",,\n"
		if file[0] == "RECORD" {
			file[1] = record
		}
		w, err := z.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(w, file[1])
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// source makes a package that setuptools must build, and returns its SHA-256.
func (f packageFolder) source(name, version string) (sum string) {
	f.t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	w := tar.NewWriter(packed)
	for path, content := range map[string]string{
		"PKG-INFO": "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n",
		"setup.py": "from setuptools import setup\nsetup(name='" + name + "', version='" + version + "')\n",
	} {
		header := tar.Header{Name: name + "-" + version + "/" + path, Mode: 0o600, Size: int64(len(content))}
		if err := w.WriteHeader(&header); err != nil {
			f.t.Fatal(err)
		}
		fmt.Fprint(w, content)
	}
	if err := w.Close(); err != nil {
		f.t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		f.t.Fatal(err)
	}
	return f.write(name+"-"+version+".tar.gz", out.Bytes())
}

// installPackage makes the environment of an engine that needs one package, and returns what is printed.
func installPackage(t *testing.T, dir, engine, requirement, sum string) (string, error) {
	t.Helper()
	out, _, err := installPackages(t, dir, engine, requirement, requirement+" --hash=sha256:"+sum)
	return out, err
}

// installPackages makes the environment of an engine from its requirements, as they are and locked, and returns what is
// printed and which packages were added.
func installPackages(t *testing.T, dir, engine, requirements, locked string) (string, addedPackages, error) {
	t.Helper()
	runners := filepath.Join(dir, "runners", engine)
	if err := os.MkdirAll(runners, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		requirementsFile: requirements + "\n",
		lockFile:         locked + "\n",
	} {
		if err := os.WriteFile(filepath.Join(runners, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	cmd := enginesInstallCmd()
	cmd.SetContext(t.Context())
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	i := &install{
		cmd:      cmd,
		cfg:      config.Config{Data: dir},
		name:     engine,
		manifest: &runner.Manifest{Engine: engine, Version: "1", Venv: engine, Dir: runners},
	}
	err := i.environment(t.Context())
	return out.String(), i.added, err
}

// TestRealEnginesInstall installs packages with uv and with pip. Environments share the files of a package, packages
// and tools with other hashes are refused, and an environment that changes leaves the others as they are.
func TestRealEnginesInstall(t *testing.T) {
	uv := os.Getenv("PLEAT_TEST_UV")
	if uv == "" {
		t.Skip("needs uv: scripts/with-engines go test -run RealEngines ./internal/cli")
	}
	dir, folder, path := t.TempDir(), newPackageFolder(t), os.Getenv("PATH")
	first, second := folder.wheel("shared", "1"), folder.wheel("shared", "2")
	falsified := strings.Repeat("0", 64)
	try := func(engine, requirement, sum string, refused bool, want ...string) {
		t.Helper()
		said, err := installPackage(t, dir, engine, requirement, sum)
		if (err != nil) != refused {
			t.Errorf("%s: error %v", requirement, err)
		}
		for _, text := range want {
			if !strings.Contains(said, text) {
				t.Errorf("%s: said %s; want %q", requirement, said, text)
			}
		}
	}
	module := func(engine string) (path, content string) {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(dir, "engines", engine, "venv/lib/python*/site-packages/shared.py"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		raw, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		return found[0], string(raw)
	}

	useUV(t, path, func(link string) error { return os.Symlink(uv, link) })
	try("one", "shared==1", first, false, "installing the packages with")
	try("one", "shared==1", first, false, "the environment is up to date")
	try("two", "shared==1", first, false)
	one, _ := module("one")
	two, _ := module("two")
	if !sameFile(t, one, two) {
		t.Error("two environments have a file each of the same package")
	}
	if compiled, _ := filepath.Glob(filepath.Join(filepath.Dir(one), "__pycache__/shared.*.pyc")); len(compiled) != 1 {
		t.Error("the module is not compiled, and runners cannot write to their environment")
	}
	try("one", "shared==2", falsified, true, "Hash mismatch")
	folder.wheel("setuptools", "84.2.1")
	t.Chdir(t.TempDir())
	if err := os.WriteFile("uv.toml", []byte("[pip]\nno-build-isolation = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	try("one", "built==1", folder.source("built", "1"), true, "Hash mismatch for `setuptools==84.2.1`")

	// An old uv is not used, and a uv with other hashes is not accepted.
	useUV(t, path, func(link string) error {
		return os.WriteFile(link, []byte("#!/bin/sh\necho uv 0.1.0\n"), 0o700) //nolint:gosec // it must be executable
	})
	folder.wheel("uv", pinnedUV())
	try("two", "shared==2", falsified, true, "DO NOT MATCH THE HASHES", "uv cannot be used: ")
	try("two", "shared==2", second, false, "pip installs instead", "installing the packages with pip")
	if _, content := module("two"); content != "version = '2'\n" {
		t.Errorf("the updated environment has %s", content)
	}
	if _, content := module("one"); content != "version = '1'\n" {
		t.Errorf("the other environment has %s", content)
	}
}

// TestRealEnginesFetchOnce installs two engines from an index. Files that both need are fetched once, which the
// requests to the index show, and the installation says so.
func TestRealEnginesFetchOnce(t *testing.T) {
	uv := os.Getenv("PLEAT_TEST_UV")
	if uv == "" {
		t.Skip("needs uv: scripts/with-engines go test -run RealEngines ./internal/cli")
	}
	names := []string{"shared", "alone", "late"}
	files, locks := map[string][]byte{}, map[string]string{}
	for _, name := range names {
		files[name] = builtPackage(t, name, "1")
		locks[name] = fmt.Sprintf("%s==1 --hash=sha256:%x", name, sha256.Sum256(files[name]))
	}
	var mu sync.Mutex
	fetched := map[string]int{}
	index := http.NewServeMux()
	index.HandleFunc("GET /simple/{name}/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		name := r.PathValue("name")
		fmt.Fprintf(w, `<a href="/files/%s-1-py3-none-any.whl#sha256=%x">%[1]s-1-py3-none-any.whl</a>`, name,
			sha256.Sum256(files[name]))
	})
	index.HandleFunc("GET /files/{file}", func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(r.PathValue("file"), "-")
		mu.Lock()
		fetched[name]++
		mu.Unlock()
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(files[name]))
	})
	s := httptest.NewServer(index)
	defer s.Close()
	for name, value := range map[string]string{
		"UV_DEFAULT_INDEX": s.URL + "/simple", "UV_CACHE_DIR": "", "UV_LINK_MODE": "",
	} {
		t.Setenv(name, value)
	}
	useUV(t, os.Getenv("PATH"), func(link string) error { return os.Symlink(uv, link) })
	dir := t.TempDir()
	install := func(engine string, want addedPackages, packages ...string) {
		t.Helper()
		var requirements, locked []string
		for _, name := range packages {
			requirements, locked = append(requirements, name+"==1"), append(locked, locks[name])
		}
		said, added, err := installPackages(t, dir, engine,
			strings.Join(requirements, "\n"), strings.Join(locked, "\n"))
		if err != nil || added != want {
			t.Errorf("%s: %+v, want %+v; %v: %s", engine, added, want, err, said)
		}
	}
	install("one", addedPackages{true, 2, 0}, "shared", "alone")
	mu.Lock()
	first := maps.Clone(fetched)
	mu.Unlock()
	install("two", addedPackages{true, 1, 1}, "shared", "late")
	install("one", addedPackages{true, 0, 1}, "shared", "alone", "late")
	mu.Lock()
	defer mu.Unlock()
	if first["shared"] == 0 || fetched["shared"] != first["shared"] || fetched["late"] != first["shared"] {
		t.Errorf("the index has sent %v files for one engine, and %v for both", first, fetched)
	}
}

// useUV puts a program uv in front of a PATH.
func useUV(t *testing.T, path string, write func(link string) error) {
	t.Helper()
	dir := t.TempDir()
	if err := write(filepath.Join(dir, "uv")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+path)
}

// sameFile reports whether two paths are links to one file.
func sameFile(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := os.Stat(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.Stat(b)
	if err != nil {
		t.Fatal(err)
	}
	return os.SameFile(x, y)
}
