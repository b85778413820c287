package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// merged are the folders at the root that are links into usr, as Debian has them.
var merged = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"}

// unneeded are folders of packages that no program reads. Copyright files stay, as their licences demand.
var unneeded = []string{
	"usr/share/man/", "usr/share/info/", "usr/share/locale/", "usr/share/lintian/", "usr/share/doc-base/",
	"usr/share/bug/", "usr/share/pixmaps/", "usr/share/applications/",
}

// packages adds the files of all Debian packages in a folder, and the list of them that scanners read. Scripts of the
// packages are not run: what is needed of them is added here.
func (t *tree) packages(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.deb"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no Debian packages", folder)
	}
	if err != nil {
		return err
	}
	slices.Sort(files)
	for _, name := range merged[:3] {
		t.add(name, entry{kind: tar.TypeSymlink, mode: 0o777, target: "usr/" + name})
	}
	t.add("lib64", entry{kind: tar.TypeSymlink, mode: 0o777, target: "usr/lib64"})
	var status bytes.Buffer
	for _, file := range files {
		content, err := exec.Command("dpkg-deb", "--fsys-tarfile", file).Output()
		if err == nil {
			err = t.addPackage(content)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		control, err := exec.Command("dpkg-deb", "--field", file).Output()
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		name, rest, _ := strings.Cut(string(control), "\n")
		fmt.Fprintf(&status, "%s\nStatus: install ok installed\n%s\n", name, rest)
	}
	t.addText("var/lib/dpkg/status", status.Bytes())
	return nil
}

// addPackage adds the files of one package from its archive. Hard links become copies.
func (t *tree) addPackage(content []byte) error {
	in := tar.NewReader(bytes.NewReader(content))
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := place(h.Name)
		if name == "" || slices.ContainsFunc(unneeded, func(p string) bool { return strings.HasPrefix(name, p) }) ||
			strings.HasPrefix(name, "usr/share/doc/") && path.Base(name) != "copyright" {
			continue
		}
		switch h.Typeflag {
		case tar.TypeDir:
			if _, ok := t.entries[name]; !ok {
				t.addDir(name, h.Mode&0o7777, 0)
			}
		case tar.TypeSymlink:
			t.add(name, entry{kind: tar.TypeSymlink, mode: 0o777, target: h.Linkname})
		case tar.TypeLink:
			t.add(name, t.entries[place(h.Linkname)])
		case tar.TypeReg:
			text, err := io.ReadAll(in)
			if err != nil {
				return err
			}
			t.addText(name, text)
			e := t.entries[name]
			e.mode = h.Mode & 0o777 // without the set-user-ID bit
			t.entries[name] = e
		}
	}
}

// place returns where a path of a package is in the image; empty for the root and for the folders that are links.
func place(name string) string {
	name = strings.Trim(path.Clean("/"+name), "/")
	first, _, below := strings.Cut(name, "/")
	if slices.Contains(merged, first) {
		if !below {
			return ""
		}
		return "usr/" + name
	}
	return name
}

// certificates adds the certificates of authorities in one file, as Debian's package makes it when it is installed.
func (t *tree) certificates(folder string) error {
	found, err := filepath.Glob(filepath.Join(folder, "ca-certificates_*.deb"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%s has %d packages ca-certificates: %w", folder, len(found), err)
	}
	content, err := exec.Command("dpkg-deb", "--fsys-tarfile", found[0]).Output()
	if err != nil {
		return err
	}
	all := newTree()
	if err := all.addPackage(content); err != nil {
		return err
	}
	var names []string
	for name := range all.entries {
		if strings.HasPrefix(name, "usr/share/ca-certificates/") && strings.HasSuffix(name, ".crt") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var bundle bytes.Buffer
	for _, name := range names {
		in, err := all.entries[name].open()
		if err == nil {
			_, err = bundle.ReadFrom(in)
		}
		if err != nil {
			return err
		}
	}
	if len(names) < 50 {
		return fmt.Errorf("%s has %d certificates", filepath.Base(found[0]), len(names))
	}
	t.addText("etc/ssl/certs/ca-certificates.crt", bundle.Bytes())
	return nil
}
