package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// standard is the name of Go's own library among the modules, as in the index of vulnerabilities.
const standard = "stdlib"

// module is a module of Go in the program.
type module struct {
	path, version string
	sum           string          // as in go.sum
	dir           string          // its folder
	folders       map[string]bool // of its packages that are in the program
	needs         map[string]bool // modules that these import
	systems       map[string]bool // on which it is in the program
}

// listed is a package as `go list` prints it.
type listed struct {
	ImportPath, Dir string
	Standard        bool
	Imports         []string
	Module          *struct {
		Path, Version, Sum, Dir string
		Main                    bool
	}
}

// readModules returns the modules of the program on the platforms by their paths. That of the program itself has the
// empty path.
func readModules(root string, platforms []platform) (map[string]*module, error) {
	mods := map[string]*module{}
	for _, p := range platforms {
		packages, err := list(root, p)
		if err != nil {
			return nil, err
		}
		owner := map[string]string{}
		for _, l := range packages {
			owner[l.ImportPath] = addModule(mods, l, p.os)
		}
		for _, l := range packages {
			from := owner[l.ImportPath]
			for _, i := range l.Imports {
				if to, ok := owner[i]; ok && to != from && from != standard { // the library has copies of modules
					mods[from].needs[to] = true
				}
			}
		}
	}
	return mods, addStandard(root, mods[standard])
}

// addModule adds the module of a package and returns its path.
func addModule(mods map[string]*module, l listed, system string) string {
	var m module
	switch {
	case l.Standard || l.Module == nil:
		m.path = standard
	case !l.Module.Main:
		m.path, m.version, m.sum, m.dir = l.Module.Path, l.Module.Version, l.Module.Sum, l.Module.Dir
	}
	if mods[m.path] == nil {
		m.folders, m.needs, m.systems = map[string]bool{}, map[string]bool{}, map[string]bool{}
		mods[m.path] = &m
	}
	if m.path != standard {
		mods[m.path].folders[l.Dir] = true
	}
	mods[m.path].systems[system] = true
	return m.path
}

// addStandard says where Go's own library is and which one.
func addStandard(root string, m *module) error {
	out, err := goCommand(root, "env", "GOROOT", "GOVERSION")
	if err != nil {
		return err
	}
	dir, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	m.dir, m.version = dir, strings.TrimPrefix(version, "go")
	return nil
}

// list returns all packages of the program on a platform.
func list(root string, p platform) ([]listed, error) {
	out, err := goCommand(root, "list", "-deps", "-json=ImportPath,Dir,Standard,Imports,Module", "./cmd/pleat",
		"GOOS="+p.os, "GOARCH="+p.arch)
	if err != nil {
		return nil, err
	}
	var packages []listed
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		err := in.Decode(&l)
		if errors.Is(err, io.EOF) {
			return packages, nil
		}
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages = append(packages, l)
	}
}

// goCommand returns the output of the Go command. Arguments such as GOOS=linux are variables of its environment.
func goCommand(root string, args ...string) ([]byte, error) {
	env := append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	args = slices.DeleteFunc(args, func(a string) bool {
		isVariable := strings.HasPrefix(a, "GO") && strings.Contains(a, "=")
		if isVariable {
			env = append(env, a)
		}
		return isVariable
	})
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = filepath.Clean(root), env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, &stderr)
	}
	return out, nil
}
