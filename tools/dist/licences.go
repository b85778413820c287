package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenceName matches files that the licence of a module demands to be passed on.
var licenceName = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// writeLicences writes one text with the licences of all modules and of the packages in the page. A module without one
// is an error: nobody may pass it on.
func writeLicences(root, file string, mods map[string]*module) error {
	var text strings.Builder
	text.WriteString("Licences of what is in the program pleat beside its own code.\n")
	for _, path := range slices.Sorted(maps.Keys(mods)) {
		if path == "" {
			continue // its licence is beside the program
		}
		m := mods[path]
		found, err := m.licences()
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s has no file with a licence", m.dir)
		}
		if err != nil {
			return fmt.Errorf("the licence of %s: %w", path, err)
		}
		for _, name := range found {
			licence, err := os.ReadFile(filepath.Join(m.dir, name))
			if err != nil {
				return err
			}
			fmt.Fprintf(&text, "\n%s\n%s %s: %s\n\n%s\n", strings.Repeat("=", 80), path, m.version,
				filepath.ToSlash(name), strings.TrimSpace(string(licence)))
		}
	}
	for _, part := range []struct{ folder, title string }{{"dist", "page"}, {"site", "documentation"}} {
		licences, err := licencesOf(root, part.folder)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "\n%s\nThe %s\n\n%s\n", strings.Repeat("=", 80), part.title, strings.TrimSpace(licences))
	}
	return os.WriteFile(file, []byte(text.String()), 0o644)
}

// licences returns the files with licences of a module, sorted: those in its folder, in those of its packages that are
// in the program, in the folders between, and in its folder licenses.
func (m *module) licences() ([]string, error) {
	folders := map[string]bool{"": true, "licenses": true}
	for folder := range m.folders {
		below, err := filepath.Rel(m.dir, folder)
		if err != nil {
			return nil, err
		}
		for ; below != "."; below = filepath.Dir(below) {
			folders[below] = true
		}
	}
	var found []string
	for folder := range folders {
		files, err := os.ReadDir(filepath.Join(m.dir, folder))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, f := range files {
			isLicence := folder == "licenses" || licenceName.MatchString(f.Name())
			if f.Type().IsRegular() && isLicence && !strings.HasSuffix(f.Name(), ".go") {
				found = append(found, filepath.Join(folder, f.Name()))
			}
		}
	}
	slices.Sort(found)
	return found, nil
}
