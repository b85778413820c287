package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// user is the identity of the program in an image: that of «nonroot» in other images without a shell.
const user = 65532

// tree is the files of a layer by their paths, which have no slash at either end. Times and names of owners are not
// kept, so that equal files give equal layers.
type tree struct{ entries map[string]entry }

// entry is a file, a folder or a symbolic link.
type entry struct {
	kind   byte // as in tar.Header
	mode   int64
	owner  int
	target string // of a link
	size   int64
	open   func() (io.ReadCloser, error) // of a file
}

func newTree() *tree { return &tree{entries: map[string]entry{}} }

// add adds an entry and the folders above it. A later one replaces an earlier one.
func (t *tree) add(name string, e entry) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := t.entries[dir]; !ok {
			t.entries[dir] = entry{kind: tar.TypeDir, mode: 0o755}
		}
	}
	t.entries[name] = e
}

// addDir adds a folder with a mode and an owner.
func (t *tree) addDir(name string, mode int64, owner int) {
	t.add(name, entry{kind: tar.TypeDir, mode: mode, owner: owner})
}

// addText adds a file of root with a content.
func (t *tree) addText(name string, text []byte) {
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	t.add(name, entry{kind: tar.TypeReg, mode: 0o644, size: int64(len(text)), open: open})
}

// addFile adds a file of a disk, which is read when the layer is written.
func (t *tree) addFile(name, from string, mode int64) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	open := func() (io.ReadCloser, error) { return os.Open(from) }
	t.add(name, entry{kind: tar.TypeReg, mode: mode, size: info.Size(), open: open})
	return nil
}

// addFolder adds what is below a folder of a disk, without the paths for which skip is true. Everybody may read it, and
// root owns it.
func (t *tree) addFolder(name, from string, skip func(path string) bool) error {
	return filepath.WalkDir(from, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, at)
		if err != nil {
			return err
		}
		if skip != nil && skip(below) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		to := path.Join(name, filepath.ToSlash(below))
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case to == ".":
			return nil
		case d.IsDir():
			t.addDir(to, 0o755, 0)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(at)
			if err != nil {
				return err
			}
			t.add(to, entry{kind: tar.TypeSymlink, mode: 0o777, target: target})
		case d.Type().IsRegular():
			return t.addFile(to, at, 0o444|int64(info.Mode().Perm()&0o111))
		}
		return nil
	})
}

// skeleton adds the users, and the folders that programs expect.
func (t *tree) skeleton() {
	t.addText("etc/passwd", fmt.Appendf(nil,
		"root:x:0:0:root:/root:/sbin/nologin\npleat:x:%d:%d:pleat:/data:/sbin/nologin\n", user, user))
	t.addText("etc/group", fmt.Appendf(nil, "root:x:0:\npleat:x:%d:\n", user))
	t.addText("etc/nsswitch.conf", []byte("passwd: files\ngroup: files\nhosts: files dns\n"))
	for _, name := range []string{"proc", "sys", "dev"} { // where engines for containers mount what they need
		t.addDir(name, 0o755, 0)
	}
	t.addDir("tmp", 0o1777, 0)
	t.addDir("data", 0o700, user)
}

// write writes the tree as a tar archive, sorted by path, with one time.
func (t *tree) write(w io.Writer, at time.Time) error {
	out := tar.NewWriter(w)
	names := make([]string, 0, len(t.entries))
	for name := range t.entries {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		e := t.entries[name]
		if err := e.write(out, name, at); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return out.Close()
}

// write writes one entry.
func (e entry) write(out *tar.Writer, name string, at time.Time) error {
	h := &tar.Header{
		Typeflag: e.kind,
		Name:     name,
		Linkname: e.target,
		Size:     e.size,
		Mode:     e.mode,
		Uid:      e.owner,
		Gid:      e.owner,
		ModTime:  at,
		Format:   tar.FormatPAX,
	}
	if e.kind == tar.TypeDir {
		h.Name += "/"
	}
	if err := out.WriteHeader(h); err != nil || e.open == nil {
		return err
	}
	in, err := e.open()
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, in.Close())
}

// extract writes the tree into a folder of a disk, as far as that needs no privileges.
func (t *tree) extract(dir string) error {
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(t.write(writer, time.Unix(0, 0))) }()
	err := extract(reader, dir)
	return errors.Join(err, reader.Close())
}

// extract writes a tar archive into a folder. Owners are not kept. Names must be inside the folder, which os.Root
// guards.
func extract(from io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	in := tar.NewReader(from)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := extractEntry(root, h, in); err != nil {
			return fmt.Errorf("unpack %s: %w", h.Name, err)
		}
	}
}

// extractEntry writes one entry of an archive. Folders can be written by their owner, who deletes them later.
func extractEntry(root *os.Root, h *tar.Header, content io.Reader) error {
	name, mode := strings.TrimSuffix(h.Name, "/"), fs.FileMode(h.Mode&0o777)
	switch h.Typeflag {
	case tar.TypeDir:
		if err := root.Mkdir(name, mode|0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	}
	out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	return errors.Join(err, out.Close())
}
