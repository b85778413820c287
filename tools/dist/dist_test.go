package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// released returns the one file of a released folder that matches a pattern. scripts/test-dist makes the folder.
func released(t *testing.T, pattern string) string {
	t.Helper()
	dir := os.Getenv("PLEAT_TEST_DIST")
	if dir == "" {
		t.Skip("PLEAT_TEST_DIST names no folder; make test-dist does")
	}
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s has %d files %s: %v", dir, len(found), pattern, err)
	}
	return found[0]
}

// unpack returns the headers and contents of the archive's files by their names below its folder.
func unpack(t *testing.T) (map[string]*tar.Header, map[string][]byte) {
	t.Helper()
	path := released(t, "pleat_[0-9]*.tar.gz")
	packed, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	headers, contents := map[string]*tar.Header{}, map[string][]byte{}
	for in := tar.NewReader(plain); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return headers, contents
		}
		content, readErr := io.ReadAll(in)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		folder, name, _ := strings.Cut(h.Name, "/")
		if folder != strings.TrimSuffix(filepath.Base(path), ".tar.gz") {
			t.Errorf("%s is not in the folder of the archive", h.Name)
		}
		headers[name], contents[name] = h, content
	}
}

// readSBOM returns the SBOM and its components by their addresses.
func readSBOM(t *testing.T) (*cdx.BOM, map[string]cdx.Component) {
	t.Helper()
	in, err := os.Open(released(t, "*.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	bom := new(cdx.BOM)
	if err := cdx.NewBOMDecoder(in, cdx.BOMFileFormatJSON).Decode(bom); err != nil {
		t.Fatal(err)
	}
	components := map[string]cdx.Component{}
	for _, c := range *bom.Components {
		components[c.PackageURL] = c
	}
	if len(components) != len(*bom.Components) {
		t.Errorf("%d of %d components have the address of another", len(*bom.Components)-len(components),
			len(*bom.Components))
	}
	return bom, components
}

func TestArchive(t *testing.T) {
	headers, contents := unpack(t)
	if len(headers) != len(beside)+2 {
		t.Errorf("the archive has %d files", len(headers))
	}
	for name, h := range headers {
		mode := int64(0o644)
		if name == "pleat" {
			mode = 0o755
		}
		if h.Mode != mode || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || !h.ModTime.Equal(headers["pleat"].ModTime) {
			t.Errorf("%s: mode %o, owner %d %q, time %s", name, h.Mode, h.Uid, h.Uname, h.ModTime)
		}
	}
	// The program has the page and the documentation, and not the text about their absence alone.
	for _, file := range []string{"dist/index.html.br", "site/index.html.gz"} {
		content, err := os.ReadFile("../../internal/ui/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(contents["pleat"], content) {
			t.Errorf("the program does not have %s", file)
		}
	}
	for _, path := range []string{os.Getenv("HOME"), must(filepath.Abs("../.."))} {
		if len(path) > 5 && bytes.Contains(contents["pleat"], []byte(path+"/")) {
			t.Errorf("the program has the path %s of the machine that built it", path)
		}
	}
}

func must(s string, err error) string {
	if err != nil {
		panic(err)
	}
	return s
}

// The SBOM lists what the linker recorded in the program, no more and no less, with the same hashes.
func TestSBOMIsOfTheProgram(t *testing.T) {
	_, contents := unpack(t)
	bom, components := readSBOM(t)
	sum := sha256.Sum256(contents["pleat"])
	files := *bom.Metadata.Component.Components
	if got := (*files[0].Hashes)[0].Value; len(files) != 1 || got != hex.EncodeToString(sum[:]) {
		t.Errorf("the SBOM is of %d programs, the first with the hash %s", len(files), got)
	}
	info, err := buildinfo.Read(bytes.NewReader(contents["pleat"]))
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{purl("golang", standard, strings.TrimPrefix(info.GoVersion, "go")): true}
	for _, m := range info.Deps {
		ref := purl("golang", m.Path, m.Version)
		wanted[ref] = true
		if c, ok := components[ref]; !ok || c.Hashes == nil {
			t.Errorf("the SBOM does not have %s with its hash", ref)
		}
	}
	if p := *bom.Metadata.Properties; len(p) != 4 || p[0].Value != strings.TrimPrefix(info.GoVersion, "go") {
		t.Errorf("the SBOM names the tools %v", p)
	}
	pages, documentation := 0, 0
	for ref := range components {
		if strings.HasPrefix(ref, "pkg:npm/") {
			pages++
		} else if strings.HasPrefix(ref, "pkg:pypi/mkdocs-material@") {
			documentation++
		} else if !wanted[ref] {
			t.Errorf("the SBOM has %s, which is not in the program", ref)
		}
	}
	if _, ok := components["pkg:npm/molstar@"+lockedVersion(t, "molstar")]; !ok || pages < 5 || documentation != 1 {
		t.Errorf("the SBOM has %d packages of the page, %d of the documentation, molstar: %v", pages, documentation, ok)
	}
}

// lockedVersion returns the version of a package in the lock file of the page.
func lockedVersion(t *testing.T, name string) string {
	t.Helper()
	hashes, err := readLocks("../..")
	if err != nil {
		t.Fatal(err)
	}
	for key := range hashes {
		if version, ok := strings.CutPrefix(key, name+"@"); ok {
			return version
		}
	}
	t.Fatalf("no lock file has %s", name)
	return ""
}

// Everything that the SBOM names can be reached from the program, and has its licence in the archive.
func TestSBOMIsConnected(t *testing.T) {
	_, contents := unpack(t)
	bom, components := readSBOM(t)
	needs := map[string][]string{}
	for _, d := range *bom.Dependencies {
		if d.Dependencies != nil {
			needs[d.Ref] = *d.Dependencies
		}
	}
	reached := map[string]bool{}
	var visit func(ref string)
	visit = func(ref string) {
		if !reached[ref] {
			reached[ref] = true
			for _, to := range needs[ref] {
				visit(to)
			}
		}
	}
	visit(bom.Metadata.Component.BOMRef)
	licences := string(contents["licences.txt"])
	for ref, c := range components {
		if !reached[ref] {
			t.Errorf("nothing needs %s", ref)
		}
		if !strings.Contains(licences, "\n"+c.Name+" "+c.Version+": ") &&
			!strings.Contains(licences, "\n## "+c.Name+" - "+c.Version+" (") &&
			(c.Name != "mkdocs-material" || !strings.Contains(licences, "\nThe documentation\n\nCopyright")) {
			t.Errorf("licences.txt does not have %s %s", c.Name, c.Version)
		}
	}
}

// A program that needs libraries, or a newer macOS than the tag of its wheel, is refused.
func TestProgramsThatNeedMore(t *testing.T) {
	if err := runsAnywhere("/bin/sh", "linux"); err == nil || !strings.Contains(err.Error(), "needs libraries") {
		t.Errorf("/bin/sh: %v", err)
	}
	// The head of a program for arm64 with the one command that names macOS 13.
	mac := []byte{
		0xcf, 0xfa, 0xed, 0xfe, 0x0c, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x32, 0, 0, 0, 24, 0, 0, 0, 1, 0, 0, 0, 0, 0, 13, 0, 0, 0, 13, 0, 0, 0, 0, 0,
	}
	path := filepath.Join(t.TempDir(), "pleat_darwin_arm64")
	if err := os.WriteFile(path, mac, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := runsAnywhere(path, "darwin"); err == nil || !strings.Contains(err.Error(), "needs macOS 13") {
		t.Errorf("%s: %v", path, err)
	}
	mac[46] = 12
	if err := os.WriteFile(path, mac, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := runsAnywhere(path, "darwin"); err != nil {
		t.Error(err)
	}
}

// A module without a licence cannot be passed on.
func TestModuleWithoutLicence(t *testing.T) {
	m := &module{path: "example.org/x", dir: t.TempDir()}
	mods := map[string]*module{m.path: m}
	err := writeLicences("../..", filepath.Join(t.TempDir(), "licences.txt"), mods)
	if err == nil || !strings.Contains(err.Error(), "has no file with a licence") {
		t.Errorf("the error is %v", err)
	}
	for _, name := range []string{"LICENSE", "COPYING.md", "Notice.txt", "UNLICENSE", "licence-3RD-PARTY"} {
		if !licenceName.MatchString(name) {
			t.Errorf("%s is not taken for a licence", name)
		}
	}
	for _, name := range []string{"license.go", "licenses_test.py", "README.md"} {
		if licenceName.MatchString(name) && !strings.HasSuffix(name, ".go") {
			t.Errorf("%s is taken for a licence", name)
		}
	}
}
