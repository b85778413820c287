package main

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// webPackage is a package whose code is in the page or in the documentation site.
type webPackage struct {
	kind, name, version, licence string // the kind is npm or pypi
	sha512                       []byte // of its archive in the registry; nil for pypi, whose packages have several
	part                         string // page or documentation
}

// heading is what the bundler writes for each package of which it put code into the page.
var heading = regexp.MustCompile(`(?m)^## (\S+) - (\S+) \((.+)\)$`)

// locks are the lock files of the page and of the client, which it is built with.
var locks = []string{"web/package-lock.json", "clients/typescript/package-lock.json"}

// theme is the package whose scripts and styles are in the documentation site, in the lock file of the site.
var theme = regexp.MustCompile(`(?m)^(mkdocs-material)==(\S+)`)

// licencesOf returns the text with the licences of the page (dist) or of the documentation (site), which their builds
// write. That of the page names its packages.
func licencesOf(root, folder string) (string, error) {
	in, err := os.Open(filepath.Join(root, "internal/ui", folder, "licences.txt.gz"))
	if err != nil {
		return "", fmt.Errorf("the page or the documentation is not built: %w", err)
	}
	defer in.Close()
	plain, err := gzip.NewReader(in)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(plain)
	return string(text), err
}

// readPage returns the packages in the page and in the documentation.
func readPage(root string) ([]webPackage, error) {
	text, err := licencesOf(root, "dist")
	if err != nil {
		return nil, err
	}
	hashes, err := readLocks(root)
	if err != nil {
		return nil, err
	}
	var packages []webPackage
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		p := webPackage{"npm", m[1], m[2], m[3], hashes[m[1]+"@"+m[2]], "page"}
		if p.sha512 == nil {
			return nil, fmt.Errorf("the page has %s %s, which no lock file names", p.name, p.version)
		}
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		return nil, errors.New("the licences of the page name no package")
	}
	lock, err := os.ReadFile(filepath.Join(root, "site/requirements.lock"))
	if err != nil {
		return nil, err
	}
	m := theme.FindStringSubmatch(string(lock))
	if m == nil {
		return nil, errors.New("site/requirements.lock does not name the theme of the documentation")
	}
	return append(packages, webPackage{"pypi", m[1], m[2], "MIT", nil, "documentation"}), nil
}

// readLocks returns the hashes of packages by name and version, such as preact@11.2.0.
func readLocks(root string) (map[string][]byte, error) {
	hashes := map[string][]byte{}
	for _, name := range locks {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		var lock struct {
			Packages map[string]struct{ Version, Integrity string }
		}
		if err := json.Unmarshal(text, &lock); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for path, p := range lock.Packages {
			encoded, ok := strings.CutPrefix(p.Integrity, "sha512-")
			if !ok {
				continue // a folder of this repository
			}
			hash, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				return nil, fmt.Errorf("%s: the hash of %s: %w", name, path, err)
			}
			const folder = "node_modules/"
			hashes[path[strings.LastIndex(path, folder)+len(folder):]+"@"+p.Version] = hash
		}
	}
	return hashes, nil
}
