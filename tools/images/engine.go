package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// engineData is the folder of the environments in an image.
const engineData = "/opt/pleat/engines"

// installed are the variables that reach the installation of an engine: where packages come from.
var installed = []string{"PIP_", "UV_", "HTTP_PROXY=", "HTTPS_PROXY=", "NO_PROXY=", "http_proxy=", "https_proxy=",
	"no_proxy=", "SSL_CERT_FILE="}

// ofMachine are the files of this machine by which the installation reaches its network. They are not in the image.
var ofMachine = []string{"etc/resolv.conf", "etc/hosts", "etc/pip.conf", "etc/ssl/certs/ca-certificates.crt"}

// unpackedRunners adds the runners of the program to its layer, as the program itself unpacks them.
func (b *builder) unpackedRunners(t *tree) error {
	dir := filepath.Join(b.scratch, "runners")
	cmd := exec.Command(b.pleat, "engines", "install", "example", "--yes", "--data", filepath.Join(dir, "data"),
		"--engine-data", filepath.Join(dir, "engines"))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Dir = b.scratch
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("unpack the runners: %w\n%s", err, out)
	}
	return t.addFolder(strings.TrimPrefix(engineData, "/"), filepath.Join(dir, "engines"), nil)
}

// environment returns the layer with the environment of the engine, which the program installs inside the image: paths
// in it are those of the image. An engine without packages has only a folder for its caches.
func (b *builder) environment(base, program *tree) (*tree, error) {
	t := newTree()
	t.addDir("weights", 0o755, user)
	defer t.addDir(strings.TrimPrefix(engineData, "/")+"/"+b.engine+"/cache", 0o700, user)
	if ready, err := b.needsNothing(); ready || err != nil {
		return t, err
	}
	root := filepath.Join(b.scratch, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		return nil, err
	}
	for _, layer := range []*tree{base, program} {
		if err := layer.extract(root); err != nil {
			return nil, err
		}
	}
	for _, name := range ofMachine {
		text, err := os.ReadFile("/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(root, name), text, 0o644)
		}
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	cmd := inside(root, "/usr/bin/pleat", "engines", "install", b.engine, "--yes", "--no-weights", "--data", "/data",
		"--engine-data", engineData)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	// Compiled Python then names the hash of its source, and not the time at which it was installed.
	cmd.Env = append(cmd.Env, fmt.Sprintf("SOURCE_DATE_EPOCH=%d", b.created))
	for _, v := range os.Environ() {
		if slices.ContainsFunc(installed, func(p string) bool { return strings.HasPrefix(v, p) }) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("install the engine %s: %w", b.engine, err)
	}
	if err := t.compiled(root); err != nil {
		return nil, err
	}
	return t, t.addFolder(strings.TrimPrefix(engineData, "/"), filepath.Join(root, engineData), func(path string) bool {
		return path == ".runners" || path == ".uv"
	})
}

// compiled adds the compiled files of Python's own library, which the scripts of Debian's packages would make. Nobody
// can write them in a container, so that every start of an engine would compile the library again.
func (t *tree) compiled(root string) error {
	libraries, err := filepath.Glob(filepath.Join(root, "usr/lib/python3.*"))
	if err != nil {
		return err
	}
	for _, library := range libraries {
		name := "usr/lib/" + filepath.Base(library)
		cmd := inside(root, "/usr/bin/python3", "-m", "compileall", "-f", "-q", "--invalidation-mode",
			"unchecked-hash", "/"+name) // -f: the installation has compiled some with their times
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("compile %s: %w\n%s", name, err, out)
		}
		err := t.addFolder(name, library, func(path string) bool {
			info, err := os.Lstat(filepath.Join(library, path))
			return err != nil || !info.IsDir() && !strings.HasSuffix(path, ".pyc")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// needsNothing reports whether the engine works without an environment. An error: there is no such engine.
func (b *builder) needsNothing() (bool, error) {
	out, err := exec.Command(b.pleat, "engines", "list", "--json", "--data", b.scratch).Output()
	if err != nil {
		return false, fmt.Errorf("list the engines: %w", err)
	}
	var all []struct{ Name, State string }
	if err := json.Unmarshal(out, &all); err != nil {
		return false, fmt.Errorf("list the engines: %w", err)
	}
	for _, e := range all {
		if e.Name == b.engine {
			return e.State == "needs nothing", nil
		}
	}
	return false, fmt.Errorf("there is no engine %q", b.engine)
}

// inside returns a command that runs in a root folder of its own, as the root of a user namespace: this needs no
// privileges. It has /proc and /dev.
func inside(root string, argv ...string) *exec.Cmd {
	const script = `mkdir -p "$0/proc" "$0/dev" && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" &&
exec chroot "$0" "$@"`
	args := []string{"--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, root}
	cmd := exec.Command("unshare", append(args, argv...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"}
	return cmd
}
