package engines

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pleat/internal/app"
)

// uvLock is the requirement of uv with the SHA-256 of its files for all systems, and buildLock that of the tools that
// build packages which are published as sources.
var (
	//go:embed locks/uv.lock
	uvLock []byte
	//go:embed locks/build.lock
	buildLock []byte
)

// python returns the path of the Python interpreter of the engine's environment, whether or not it exists.
func (i *install) python() string {
	path, _ := app.Python(i.cfg, i.manifest)
	return path
}

// venv returns the folder of the engine's environment.
func (i *install) venv() string { return filepath.Dir(filepath.Dir(i.python())) }

// environment creates the virtual environment, unless it exists with the same requirements. An environment with other
// requirements is updated. It is marked as installed only after all packages are installed.
func (i *install) environment(ctx context.Context) error {
	if i.manifest.Venv == "" {
		return nil
	}
	sources, want, err := i.requirements()
	if err != nil {
		return err
	}
	venv := i.venv()
	mark := filepath.Join(venv, installedFile)
	if have, err := os.ReadFile(mark); err == nil && strings.TrimSpace(string(have)) == want {
		i.printf("the environment is up to date")
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(venv), 0o755); err != nil { // not secret; another user may run the engine
		return err
	}
	if !exists(i.python()) {
		base, err := i.interpreter(ctx)
		if err != nil {
			return err
		}
		i.printf("creating the environment with %s", base)
		if err := i.command(ctx, base, "-m", "venv", venv).Run(); err != nil {
			return fmt.Errorf("the virtual environment could not be created: %w", err)
		}
	}
	if err := i.packages(ctx, sources); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(want+"\n"), 0o644)
}

// packages installs the locked packages, then the sources from repositories of git, with uv or, where there is no uv,
// with the pip of the environment. An environment without packages is complete as it is.
func (i *install) packages(ctx context.Context, sources []string) error {
	locked, err := os.ReadFile(i.lock())
	if err != nil || countRequirements(locked)+len(sources) == 0 {
		return err
	}
	with, err := i.installer(ctx)
	if err != nil {
		return err
	}
	i.printf("installing the packages with %s", with.name)
	if with.cache != "" {
		count := countAdded(with.cache, i.venv())
		defer func() { i.added = count() }()
	}
	add := func(what ...string) error {
		cmd := i.command(ctx, with.argv[0], slices.Concat(with.argv[1:], what)...)
		cmd.Dir, cmd.Env = with.dir, append(os.Environ(), with.env...)
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("the packages could not be installed: %w; run the command again to resume; "+
				"without a network, see pleat engines install --help", err)
		}
		return nil
	}
	if err := add("--require-hashes", "-r", i.lock()); err != nil {
		return err
	}
	for _, source := range sources {
		if err := add(source); err != nil {
			return err
		}
	}
	return nil
}

// installer is a program that installs packages into the environment. Its arguments end before the packages.
type installer struct {
	name string
	argv []string
	env  []string // added to the environment of this process
	dir  string   // the working directory; empty: that of this process
	// cache has the packages that it fetched; empty: environments share none.
	cache string
}

// installer returns uv with a cache that all environments share: files of the same package are hard links to one file
// there. If uv is neither in the PATH nor can be fetched, it returns the pip of the environment, and says so.
func (i *install) installer(ctx context.Context) (installer, error) {
	pip := []string{i.python(), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-deps",
		"--progress-bar", "off"}
	folder := i.cfg.EngineDir(uvFolder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return installer{}, err
	}
	uv, err := findUV(ctx)
	if err != nil {
		uv, err = i.fetchUV(ctx, folder, pip)
	}
	if ctx.Err() != nil {
		return installer{}, errors.New("the installation was interrupted; run the command again to resume")
	}
	if err != nil {
		i.printf("uv cannot be used: %v; pip installs instead, and environments do not share files", err)
		return installer{name: "pip", argv: pip}, nil
	}
	constraints := filepath.Join(folder, "build.lock")
	if err := os.WriteFile(constraints, buildLock, 0o644); err != nil {
		return installer{}, err
	}
	with := installer{
		name: uv,
		argv: []string{uv, "pip", "install", "--python", i.python(), "--no-deps", "--compile-bytecode",
			"--build-constraints", constraints},
		dir: folder, // uv would obey a uv.toml or pyproject.toml of the directory in which the command is run
	}
	with.cache = cmp.Or(os.Getenv("UV_CACHE_DIR"), filepath.Join(folder, "cache"))
	for name, value := range map[string]string{
		"UV_CACHE_DIR": with.cache, "UV_LINK_MODE": "hardlink", "UV_PYTHON_DOWNLOADS": "never",
	} {
		if os.Getenv(name) == "" {
			with.env = append(with.env, name+"="+value)
		}
	}
	return with, nil
}

// pinnedUV returns the version of uv that uvLock pins.
func pinnedUV() string {
	_, after, _ := strings.Cut(string(uvLock), "\nuv==")
	version, _, _ := strings.Cut(after, " ")
	return version
}

// findUV returns the path of the uv in the PATH. It is an error if there is none, or one older than the pinned version.
func findUV(ctx context.Context) (string, error) {
	path, err := exec.LookPath("uv")
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", err
	}
	var have, want [3]int
	if _, err := fmt.Sscanf(string(out), "uv %d.%d.%d", &have[0], &have[1], &have[2]); err != nil {
		return "", fmt.Errorf("the version of %s is %q: %w", path, out, err)
	}
	if _, err := fmt.Sscanf(pinnedUV(), "%d.%d.%d", &want[0], &want[1], &want[2]); err != nil {
		return "", err
	}
	if slices.Compare(have[:], want[:]) < 0 {
		return "", fmt.Errorf("%s is older than version %s", path, pinnedUV())
	}
	return path, nil
}

// fetchUV returns the path of the pinned uv in the folder, which it fetches with pip the first time. Its files must
// have the hashes of uvLock. It is an error if the program cannot be executed here.
func (i *install) fetchUV(ctx context.Context, folder string, pip []string) (string, error) {
	dir := filepath.Join(folder, "uv-"+pinnedUV())
	uv := filepath.Join(dir, "bin", "uv")
	if exists(uv) {
		return uv, exec.CommandContext(ctx, uv, "--version").Run()
	}
	i.printf("fetching uv %s", pinnedUV())
	part, err := os.MkdirTemp(folder, "part-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part)
	list := filepath.Join(part, "uv.lock")
	if err := os.WriteFile(list, uvLock, 0o644); err != nil {
		return "", err
	}
	target := filepath.Join(part, "uv")
	cmd := i.command(ctx, pip[0], slices.Concat(pip[1:], []string{
		"--only-binary", ":all:", "--target", target, "--require-hashes", "-r", list})...)
	if err := cmd.Run(); err != nil {
		return "", err
	}
	// Another installation may have fetched the same version in the meantime.
	if err := os.Rename(target, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return uv, exec.CommandContext(ctx, uv, "--version").Run()
}

// lock returns the path of the packages with the hashes of their files.
func (i *install) lock() string { return filepath.Join(i.manifest.Dir, lockFile) }

// requirements returns the packages that come from a repository of git, and the SHA-256 of all requirements. Such a
// package has no hash: the commit in its address pins its files.
func (i *install) requirements() (sources []string, sum string, err error) {
	list, err := os.ReadFile(filepath.Join(i.manifest.Dir, requirementsFile))
	if err != nil {
		return nil, "", err
	}
	lock, err := os.ReadFile(i.lock())
	if err != nil {
		const text = "the engine %s has no hashes of its packages: %w; write them with: " +
			"uv pip compile --no-deps --generate-hashes requirements.txt -o requirements.lock"
		return nil, "", fmt.Errorf(text, i.name, err)
	}
	for line := range strings.Lines(string(list)) {
		if line = strings.TrimSpace(line); strings.Contains(line, " @ git+") {
			sources = append(sources, line)
		}
	}
	hash := sha256.Sum256(append(list, lock...))
	return sources, hex.EncodeToString(hash[:]), nil
}

// interpreter returns the newest Python in the PATH that the engine supports. It runs each candidate to read its
// version, since python3 can be any.
func (i *install) interpreter(ctx context.Context) (string, error) {
	var names []string
	oldest, newest := 10, 99
	if len(i.manifest.Python) == 2 {
		oldest, newest = minor(i.manifest.Python[0]), minor(i.manifest.Python[1])
		for v := newest; v >= oldest; v-- {
			names = append(names, "python3."+strconv.Itoa(v))
		}
	}
	for _, name := range append(names, "python3") {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, path, "-c", "import sys; print(sys.version_info.minor)").Output()
		if err != nil {
			continue
		}
		if v, err := strconv.Atoi(strings.TrimSpace(string(out))); err == nil && v >= oldest && v <= newest {
			return path, nil
		}
	}
	if len(i.manifest.Python) == 2 {
		versions := strings.Join(slices.Compact(slices.Clone(i.manifest.Python)), " to ")
		return "", fmt.Errorf("the engine %s needs Python %s, and none is in the PATH", i.name, versions)
	}
	return "", fmt.Errorf("the engine %s needs Python 3.10 or newer, and none is in the PATH", i.name)
}

// minor returns the minor version of a Python version: 12 of 3.12.
func minor(version string) int {
	_, after, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(after) // checked with the manifest
	return n
}

// command returns a command that shows its output on standard error. When ctx ends, it gets SIGINT and 10 s.
func (i *install) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = i.cmd.ErrOrStderr(), i.cmd.ErrOrStderr()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}
