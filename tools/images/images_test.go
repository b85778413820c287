package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// inputs builds the program and gets the Debian packages, once. CI=true makes it an error that there is no apt.
var inputs = sync.OnceValues(func() (options, error) {
	dir, err := os.MkdirTemp("", "images-test-")
	if err != nil {
		return options{}, err
	}
	inputsDir = dir
	o := options{pleat: filepath.Join(dir, "pleat"), version: "1.2.3", revision: "abc", created: 1_700_000_000}
	module, err := exec.Command("../../scripts/module-path").Output()
	if err != nil {
		return o, fmt.Errorf("read the path of the program's module: %w", err)
	}
	build := exec.Command("go", "build", "-C", "../..", "-trimpath",
		"-ldflags", "-s -w -X "+strings.TrimSpace(string(module))+".Version=1.2.3", "-o", o.pleat, "./cmd/pleat")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return o, fmt.Errorf("build the program: %w\n%s", err, out)
	}
	fetch := exec.Command("../../scripts/debian-packages", "ca-certificates", "dash", "libgomp1", "libstdc++6",
		"python3-venv")
	var stderr bytes.Buffer
	fetch.Stderr = &stderr
	out, err := fetch.Output()
	if err != nil {
		return o, fmt.Errorf("fetch the packages: %w\n%s", err, &stderr)
	}
	o.packages = strings.TrimSpace(string(out))
	return o, nil
})

var inputsDir string // removed by TestMain

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(inputsDir) // os.RemoveAll("") does nothing
	os.Exit(code)
}

// made returns the archive of an image.
func made(t *testing.T, engine string) string {
	t.Helper()
	if _, err := exec.LookPath("apt-get"); err != nil && os.Getenv("CI") == "" {
		t.Skip("there is no apt-get")
	}
	o, err := inputs()
	if err != nil {
		t.Fatal(err)
	}
	o.engine, o.out = engine, t.TempDir()
	path, err := run(o)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// read returns the image of an archive after the library has checked its digests, sizes and media types, and a folder
// with its files.
func read(t *testing.T, archive string) (v1.Image, string) {
	t.Helper()
	dir, root := t.TempDir(), t.TempDir()
	in, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := extract(in, dir); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err == nil {
		err = validate.Index(index)
	}
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("the archive has %d images: %v", len(manifest.Manifests), err)
	}
	if name := manifest.Manifests[0].Annotations[refName]; !strings.HasSuffix(name, ":1.2.3") {
		t.Errorf("the image has the name %q", name)
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	flat := mutate.Extract(img)
	defer flat.Close()
	if err := extract(flat, root); err != nil {
		t.Fatal(err)
	}
	return img, root
}

// namespaces reports whether this machine lets the test run programs in a root folder of their own.
func namespaces(t *testing.T) bool {
	out, err := exec.Command("unshare", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc",
		"true").CombinedOutput()
	if err != nil && os.Getenv("CI") != "" {
		t.Fatalf("there are no user namespaces: %v: %s", err, out)
	}
	return err == nil
}

// output returns the output of a command of the image in its root folder.
func output(t *testing.T, root string, env []string, argv ...string) string {
	t.Helper()
	cmd := inside(root, argv...)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

// entriesOf returns the headers of the files of an image.
func entriesOf(t *testing.T, img v1.Image) map[string]*tar.Header {
	t.Helper()
	flat := mutate.Extract(img)
	defer flat.Close()
	out := map[string]*tar.Header{}
	for in := tar.NewReader(flat); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(h.Name, "/")] = h
	}
}

// contentOf returns the hashes of the files of an image.
func contentOf(t *testing.T, img v1.Image) map[string][32]byte {
	t.Helper()
	flat := mutate.Extract(img)
	defer flat.Close()
	out := map[string][32]byte{}
	for in := tar.NewReader(flat); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		text, readErr := io.ReadAll(in)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		out[h.Name] = sha256.Sum256(text)
	}
}

// configOf checks what the images have in common and returns their configuration.
func configOf(t *testing.T, img v1.Image) v1.Config {
	t.Helper()
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := file.Config
	labels := map[string]string{
		"org.opencontainers.image.version":  "1.2.3",
		"org.opencontainers.image.revision": "abc",
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.created":  "2023-11-14T22:13:20Z",
	}
	for name, want := range labels {
		if c.Labels[name] != want {
			t.Errorf("the label %s is %q; want %q", name, c.Labels[name], want)
		}
	}
	if _, ok := c.Volumes["/data"]; !ok || c.User != "65532:65532" || c.Entrypoint[0] != "/usr/bin/pleat" {
		t.Errorf("user %s, volumes %v, entry point %v", c.User, c.Volumes, c.Entrypoint)
	}
	for name, h := range entriesOf(t, img) {
		if h.ModTime.Unix() != file.Created.Unix() || h.Mode&0o6000 != 0 || h.Uid != 0 && h.Uid != user {
			t.Errorf("%s: time %s, mode %o, owner %d", name, h.ModTime, h.Mode, h.Uid)
		}
	}
	if h := entriesOf(t, img)["data"]; h == nil || h.Uid != user || h.Mode&0o777 != 0o700 {
		t.Errorf("/data is %+v", h)
	}
	return c
}

func TestServerImage(t *testing.T) {
	img, root := read(t, made(t, ""))
	if c := configOf(t, img); c.Cmd[0] != "serve" || len(c.ExposedPorts) != 1 {
		t.Errorf("command %v, ports %v", c.Cmd, c.ExposedPorts)
	}
	// Nothing but the program can be executed.
	for name, h := range entriesOf(t, img) {
		if h.Typeflag == tar.TypeReg && h.Mode&0o111 != 0 && name != "usr/bin/pleat" {
			t.Errorf("%s is executable", name)
		}
	}
	// It is static: without any library it says its version and folds a protein on a server of its own.
	program := filepath.Join(root, "usr/bin/pleat")
	if !namespaces(t) {
		out, err := exec.Command(program, "version").CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "pleat 1.2.3\n") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	if out := output(t, root, nil, "/usr/bin/pleat", "version"); !strings.HasPrefix(out, "pleat 1.2.3\n") {
		t.Errorf("it says %q", out)
	}
	output(t, root, nil, "/usr/bin/pleat", "demo", "--out", "/tmp/demo")
	if _, err := os.Stat(filepath.Join(root, "tmp/demo/model.cif")); err != nil {
		t.Error(err)
	}
}

func TestWorkerImage(t *testing.T) {
	img, root := read(t, made(t, "example"))
	c := configOf(t, img)
	if c.Cmd[0] != "worker" {
		t.Errorf("command %v", c.Cmd)
	}
	if h := entriesOf(t, img)["opt/pleat/engines/example/cache"]; h == nil || h.Uid != user {
		t.Errorf("the folder of caches is %+v", h)
	}
	if !namespaces(t) {
		t.Skip("this machine has no user namespaces")
	}
	out := output(t, root, c.Env, "/usr/bin/pleat", "engines", "check", "example")
	if !strings.Contains(out, "warm     example 1") || strings.Contains(out, "were changed") {
		t.Errorf("it says %s", out)
	}
	// The interpreter has what the environments of engines need.
	output(t, root, c.Env, "/usr/bin/python3", "-m", "venv", "/tmp/venv")
	output(t, root, c.Env, "/tmp/venv/bin/python", "-c", "import ssl, sqlite3, ctypes, pip, zlib, lzma, bz2")
}

// An engine with Python packages is installed twice with one result, and works in its image. It needs the network and
// minutes, so the engine must be named: PLEAT_TEST_ENGINE=openmm.
func TestEngineImage(t *testing.T) {
	engine := os.Getenv("PLEAT_TEST_ENGINE")
	if engine == "" {
		t.Skip("PLEAT_TEST_ENGINE names no engine")
	}
	var archives [2]string
	var sums [2][32]byte
	for i := range sums {
		archives[i] = made(t, engine)
		content, err := os.ReadFile(archives[i])
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = sha256.Sum256(content)
	}
	img, root := read(t, archives[0])
	if sums[0] != sums[1] {
		other, _ := read(t, archives[1])
		a, b := contentOf(t, img), contentOf(t, other)
		for name := range a {
			if a[name] != b[name] {
				t.Errorf("%s differs", name)
			}
		}
		t.Errorf("two archives differ, with %d and %d files", len(a), len(b))
	}
	c := configOf(t, img)
	out := output(t, root, c.Env, "/usr/bin/pleat", "engines", "check", engine)
	if !strings.Contains(out, "warm     "+engine) {
		t.Errorf("it says %s", out)
	}
}

// The same input gives the same archive, byte for byte.
func TestImagesAreReproducible(t *testing.T) {
	for _, engine := range []string{"", "example"} {
		var sums [2][32]byte
		for i := range sums {
			content, err := os.ReadFile(made(t, engine))
			if err != nil {
				t.Fatal(err)
			}
			sums[i] = sha256.Sum256(content)
		}
		if sums[0] != sums[1] {
			t.Errorf("engine %q: two archives differ", engine)
		}
	}
}

func TestPlacesOfPackages(t *testing.T) {
	for from, want := range map[string]string{
		"./": "", "./bin/": "", "./bin/dash": "usr/bin/dash", "./lib64/ld.so": "usr/lib64/ld.so",
		"./usr/lib/x": "usr/lib/x", "./../etc/passwd": "etc/passwd", "./library/x": "library/x",
	} {
		if got := place(from); got != want {
			t.Errorf("place(%q) = %q; want %q", from, got, want)
		}
	}
}
