package main

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// npmPackage is a package of npm whose code is in the page.
type npmPackage struct {
	name, version, licence string
	sha512                 []byte // of its archive in the registry
}

// heading is what the bundler writes for each package of which it put code into the page.
var heading = regexp.MustCompile(`(?m)^## (\S+) - (\S+) \((.+)\)$`)

// locks are the lock files of the page and of the client, which it is built with.
var locks = []string{"web/package-lock.json", "clients/typescript/package-lock.json"}

// pageLicences returns the text that the bundler writes: the packages in the page, and their licences.
func pageLicences(root string) (string, error) {
	in, err := os.Open(filepath.Join(root, "internal/ui/dist/licences.txt.gz"))
	if err != nil {
		return "", fmt.Errorf("the page is not built: %w", err)
	}
	defer in.Close()
	plain, err := gzip.NewReader(in)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(plain)
	return string(text), err
}

// readPage returns the packages in the page.
func readPage(root string) ([]npmPackage, error) {
	text, err := pageLicences(root)
	if err != nil {
		return nil, err
	}
	hashes, err := readLocks(root)
	if err != nil {
		return nil, err
	}
	var packages []npmPackage
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		p := npmPackage{name: m[1], version: m[2], licence: m[3], sha512: hashes[m[1]+"@"+m[2]]}
		if p.sha512 == nil {
			return nil, fmt.Errorf("the page has %s %s, which no lock file names", p.name, p.version)
		}
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("the licences of the page name no package")
	}
	return packages, nil
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
