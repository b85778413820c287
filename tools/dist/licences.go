package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// licenceName matches files that the licence of a module demands to be passed on.
var licenceName = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// writeLicences writes the licences of all modules into a folder, each below its path, and those of the page into
// page.txt. A module without one is an error: nobody may pass it on.
func writeLicences(root, dir string, mods map[string]*module) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for path, m := range mods {
		if path == "" {
			continue // its licence is beside the program
		}
		found, err := m.licences()
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s has no file with a licence", m.dir)
		}
		if err != nil {
			return fmt.Errorf("the licence of %s: %w", path, err)
		}
		for _, from := range found {
			below, err := filepath.Rel(m.dir, from)
			if err == nil {
				err = copyText(from, filepath.Join(dir, filepath.FromSlash(path), below))
			}
			if err != nil {
				return err
			}
		}
	}
	text, err := pageLicences(root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "page.txt"), []byte(text), 0o644)
}

// licences returns the files with licences of a module: those in its folder, in those of its packages that are in the
// program, and in the folders between.
func (m *module) licences() ([]string, error) {
	folders := map[string]bool{m.dir: true}
	for folder := range m.folders {
		for ; len(folder) > len(m.dir) && strings.HasPrefix(folder, m.dir); folder = filepath.Dir(folder) {
			folders[folder] = true
		}
	}
	folders[filepath.Join(m.dir, "licenses")] = true
	var found []string
	for folder := range folders {
		files, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		all := filepath.Base(folder) == "licenses" && folder != m.dir
		for _, f := range files {
			if f.Type().IsRegular() && !strings.HasSuffix(f.Name(), ".go") && (all || licenceName.MatchString(f.Name())) {
				found = append(found, filepath.Join(folder, f.Name()))
			}
		}
	}
	return found, nil
}

// copyText copies a file. Those in Go's folder of modules cannot be written, and their copies shall be.
func copyText(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
