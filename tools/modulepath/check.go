package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
)

// check reports what is wrong with a path for the module. A path whose first element has no dot, such as that of a copy
// which was never published, is valid as long as the standard library has no such element; warning says what it cannot
// be used for.
func check(path string) (warning string, err error) {
	first, _, _ := strings.Cut(path, "/")
	valid := module.CheckPath
	if !strings.Contains(first, ".") {
		valid = module.CheckImportPath
		warning = fmt.Sprintf(
			"%q has no dot, so it is no host; other modules need a replace directive to use this one", first)
	}
	if err := valid(path); err != nil {
		return "", reason(path, err)
	}
	if _, major, ok := module.SplitPathVersion(path); ok && major != "" {
		return "", fmt.Errorf("%q ends with %s, which is for version 2 and later", path, major)
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	if _, err := os.Stat(filepath.Join(strings.TrimSpace(string(out)), "src", first)); err == nil {
		return "", fmt.Errorf("%q begins with %s, which belongs to the standard library", path, first)
	}
	return warning, nil
}

// reason is the error for a path with the sentence of the Go command on it.
func reason(path string, err error) error {
	var invalid *module.InvalidPathError
	if errors.As(err, &invalid) {
		err = invalid.Err
	}
	return fmt.Errorf("%q is no path for a module: %w", path, err)
}
