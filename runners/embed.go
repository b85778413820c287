// Package runners holds the runners that are part of the program: their manifests, their Python code and the lists of
// their packages. A binary of Pleat alone is enough to install and run an engine.
//
// It owns which files are embedded and how they get onto a disk. It must not know what a manifest means (package
// engine/runner does), nor where the folder is (package config).
package runners

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"sync"
)

// Embedded are only the files that a runner needs when it is installed or works: no tests, no test vectors and nothing
// that writes the lists of packages. The scripts in testing/ match a pattern and are left out by files.
//
//go:embed */manifest.json */*.py */requirements.txt */requirements.lock
var embedded embed.FS

// shared is a folder that belongs to no runner: scripts for tests.
const shared = "testing"

// files returns the embedded files by their paths, such as boltz/runner.py.
var files = sync.OnceValue(func() map[string][]byte {
	out := map[string][]byte{}
	err := fs.WalkDir(embedded, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(path, shared+"/") {
			return err
		}
		out[path], err = embedded.ReadFile(path)
		return err
	})
	if err != nil {
		panic(fmt.Sprintf("runners: the embedded files cannot be read: %v", err)) // not possible: they are in memory
	}
	return out
})

// Hash returns the name of the embedded runners: the first 24 hexadecimal digits of a SHA-256 of their paths and
// contents. Two programs with equal runners have equal hashes.
var Hash = sync.OnceValue(func() string {
	h := sha256.New()
	for _, path := range sorted(files()) {
		fmt.Fprintf(h, "%q %x\n", path, sha256.Sum256(files()[path]))
	}
	return hex.EncodeToString(h.Sum(nil))[:24]
})

// Names returns the names of the embedded runners in order. A runner is a folder with a manifest.
func Names() []string {
	var out []string
	for _, path := range sorted(files()) {
		if name, ok := strings.CutSuffix(path, "/manifest.json"); ok {
			out = append(out, name)
		}
	}
	return out
}

// File returns a file of the embedded runners by its path, such as boltz/manifest.json, and whether it exists. The
// caller must not change it.
func File(path string) ([]byte, bool) {
	b, ok := files()[path]
	return b, ok
}
